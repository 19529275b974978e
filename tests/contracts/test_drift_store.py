"""Every DriftStore keeps what it was given, whole."""

import asyncio
from pathlib import Path

import pytest

from tests.fakes import MemoryDriftStore
from teto.ledger.drift_file import DriftFile
from teto.ports import DriftStore


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> DriftStore:
    """Each of them, empty."""
    return MemoryDriftStore() if request.param == "memory" else DriftFile(tmp_path / "state" / "drift.json")


async def test_an_empty_store_has_nothing(store: DriftStore) -> None:
    """Before the first save there is nothing to load."""
    assert store.load() is None


async def test_the_last_state_is_kept(store: DriftStore) -> None:
    """A save replaces the one before."""
    await store.save(b'{"a": 1}')
    await store.save(b'{"b": 2}')
    assert store.load() == b'{"b": 2}'


def test_a_file_outlives_its_store(tmp_path: Path) -> None:
    """Another store on the same path finds it, and no half-written file is left beside it."""
    asyncio.run(DriftFile(tmp_path / "drift.json").save(b"state"))
    assert DriftFile(tmp_path / "drift.json").load() == b"state"
    assert [path.name for path in tmp_path.iterdir()] == ["drift.json"]
