"""The catalog of weights: every entry is whole and of one mind with the others."""

import re
from datetime import date

import pytest

from teto.catalog.weights import WeightsEntry, find_weights, known_weights
from teto.errors import UnknownNameError

ENTRIES = list(known_weights().values())
SHA256 = re.compile(r"[0-9a-f]{64}")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_an_entry_is_whole(entry: WeightsEntry) -> None:
    """An entry has digests in hex, a size, a licence, a source, a date, and somewhere to be had."""
    assert SHA256.fullmatch(entry.sha256)
    assert entry.size_bytes > 1e6
    assert entry.id == entry.id.lower()
    assert all((entry.title, entry.license, entry.purpose, entry.source))
    assert date.fromisoformat(entry.checked_on).isoformat() == entry.checked_on
    assert entry.hub
    assert all(hub.file.endswith(".gguf") for hub in entry.hub)


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.carriers], ids=lambda entry: entry.id)
def test_carriers_are_pinned(entry: WeightsEntry) -> None:
    """Every carrier has its version and digest, none comes twice, and parts are in the order of their numbers."""
    assert all(SHA256.fullmatch(wheel.sha256) for wheel in entry.carriers)
    assert all(re.fullmatch(r"\d+(\.\d+)+", wheel.version) for wheel in entry.carriers)
    assert len({wheel.sha256 for wheel in entry.carriers}) == len(entry.carriers)
    parts = [int(found[1]) for wheel in entry.carriers if (found := re.search(r"part(\d+)\.bin$", wheel.member))]
    assert parts in ([], list(range(1, len(entry.carriers) + 1)))


def test_there_is_one_default() -> None:
    """Exactly one entry is the default, and it comes first."""
    assert [entry.default for entry in ENTRIES] == [True] + [False] * (len(ENTRIES) - 1)


def test_ids_and_contents_are_unique() -> None:
    """No two entries share an id or a file."""
    assert all(found.id == known for known, found in known_weights().items())
    assert len({entry.sha256 for entry in ENTRIES}) == len(ENTRIES)


def test_an_id_finds_its_entry() -> None:
    """An entry is found by its id."""
    assert find_weights("smollm2-135m-instruct-q4_1").size_bytes == 98_362_432


def test_an_unknown_id_lists_the_nearest() -> None:
    """A misspelt id is refused with the one that was meant."""
    with pytest.raises(UnknownNameError, match=r"'smollm-135m'; the nearest are smollm2-135m-instruct-q4_1") as raised:
        find_weights("smollm-135m")
    assert raised.value.fix == "Run `teto models list`, or give the path of a .gguf file."


def test_an_id_like_no_other_lists_all() -> None:
    """Where nothing is near, every id is named."""
    with pytest.raises(UnknownNameError) as raised:
        find_weights("§§§")
    assert all(entry.id in raised.value.message for entry in ENTRIES)
