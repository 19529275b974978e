"""The cache of tunings: one for each machine and weights, and nothing that cannot be read."""

from pathlib import Path

import pytest

from teto.engines.tune import Measured, Tuning, TuningCache, Variant, machine_fingerprint, usable_cores

_SHA = "ab" * 32


def make_tuning(*, seconds: float = 9.5) -> Tuning:
    """A tuning of this machine."""
    variant = Variant(decode_threads=2, prefill_threads=2, wait_policy="active", repack=True)
    measured = Measured(prefill_tokens_per_s=95.5, decode_tokens_per_s=35.7)
    return Tuning(
        machine=machine_fingerprint(),
        weights_sha256=_SHA,
        engine_version="2026.10",
        variant=variant,
        measured=measured,
        tried=((variant, measured),),
        seconds=seconds,
        at_unix_s=1.8e9,
    )


def only_file(folder: Path) -> Path:
    """The one file in the folder."""
    (path,) = folder.iterdir()
    return path


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    """A tuning comes back as it was, from a folder that did not exist, and no partial file is left."""
    folder = tmp_path / "a" / "b"
    TuningCache(folder, engine_version="2026.10").save(make_tuning())
    assert TuningCache(folder, engine_version="2026.10").load(_SHA) == make_tuning()
    assert only_file(folder).suffix == ".json"


def test_nothing_saved_is_nothing_loaded(tmp_path: Path) -> None:
    """Without a folder, and for other weights, there is no tuning."""
    cache = TuningCache(tmp_path / "none", engine_version="2026.10")
    assert cache.load(_SHA) is None
    cache.save(make_tuning())
    assert cache.load("cd" * 32) is None


def test_a_newer_tuning_replaces_the_older(tmp_path: Path) -> None:
    """Saving again leaves one file, the newer one."""
    cache = TuningCache(tmp_path, engine_version="2026.10")
    cache.save(make_tuning())
    cache.save(make_tuning(seconds=3.0))
    assert cache.load(_SHA) == make_tuning(seconds=3.0)
    assert only_file(tmp_path).is_file()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"machine": 1}', b"\xff\xfe\x00", b'{"machine": "m"}'],
)
def test_a_file_that_cannot_be_read_is_ignored(tmp_path: Path, content: bytes) -> None:
    """An empty, cut, foreign or binary file is no tuning and no error, and can be replaced."""
    cache = TuningCache(tmp_path, engine_version="2026.10")
    cache.save(make_tuning())
    only_file(tmp_path).write_bytes(content)
    assert cache.load(_SHA) is None
    cache.save(make_tuning())
    assert cache.load(_SHA) == make_tuning()


def test_the_tuning_of_another_machine_is_ignored(tmp_path: Path) -> None:
    """In a home folder that machines share, each finds only its own tuning."""
    cache = TuningCache(tmp_path, engine_version="2026.10")
    cache.save(make_tuning())
    mine = only_file(tmp_path)
    mine.rename(mine.with_name(mine.name.replace(machine_fingerprint(), "0" * 16)))
    assert cache.load(_SHA) is None


def test_the_machine_is_recognised_again() -> None:
    """The fingerprint of a machine is the same each time, and cores are counted from 1."""
    assert machine_fingerprint() == machine_fingerprint()
    assert len(machine_fingerprint()) == 16
    assert usable_cores() >= 1


def test_the_tuning_of_another_engine_version_is_ignored(tmp_path: Path) -> None:
    """An upgraded engine is tuned anew: its speeds and its name in receipts are its own."""
    TuningCache(tmp_path, engine_version="2026.10").save(make_tuning())
    assert TuningCache(tmp_path, engine_version="2026.11").load(_SHA) is None
