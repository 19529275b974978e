"""What the weights store has: by id, by path, by listing, and whether its bytes are still the same."""

import hashlib
import os
from pathlib import Path

import pytest

from tests.engines.tiny_weights import CONTENT, Notes, make_entry
from teto.catalog.weights import known_weights
from teto.engines.weights import WeightsStore, free_disk_bytes
from teto.engines.weights_sources import FileSource
from teto.errors import CorruptWeightsError, MissingWeightsError, UnknownNameError


def make_store(folder: Path) -> WeightsStore:
    """A store with room, whose only source is a file beside it."""
    origin = folder / "origin"
    origin.write_bytes(CONTENT)
    return WeightsStore(folder=folder / "store", sources=[FileSource(origin)], free_bytes=lambda _: 10**9)


def test_missing_weights_say_what_to_run() -> None:
    """Without weights, locate names the id, the path it looked at and the command that fetches them."""
    store = WeightsStore(folder=Path("/nowhere/at/all"), sources=(), free_bytes=lambda _: 0)
    with pytest.raises(MissingWeightsError, match=r"smollm2.*/nowhere/at/all") as raised:
        store.locate("smollm2-135m-instruct-q4_1")
    assert raised.value.fix == "Run `teto models pull smollm2-135m-instruct-q4_1` (98.4 MB)."


def test_unknown_id_names_the_nearest(tmp_path: Path) -> None:
    """An id that is in no catalog is refused with the nearest ones."""
    with pytest.raises(UnknownNameError, match="smollm2-135m"):
        make_store(tmp_path).locate("smolm2")


def test_locate_refuses_a_wrong_size(tmp_path: Path) -> None:
    """A file in the store that was cut short is refused with both sizes, and pull replaces it."""
    entry = make_entry()
    store = make_store(tmp_path)
    path = store.pull(entry, Notes()).path
    path.write_bytes(CONTENT[:100])
    with pytest.raises(CorruptWeightsError, match=f"has 100 bytes.*{len(CONTENT)}"):
        store.locate(entry)
    assert store.pull(entry, Notes()).path.read_bytes() == CONTENT


def test_verify_names_a_corrupt_file(tmp_path: Path) -> None:
    """A file whose bytes changed under the same size is found by verify, with its path and both hashes."""
    entry = make_entry()
    store = make_store(tmp_path)
    path = store.pull(entry, Notes()).path
    assert store.verify(entry).path == path
    changed = bytes(len(CONTENT))
    path.write_bytes(changed)
    with pytest.raises(CorruptWeightsError) as raised:
        store.verify(entry)
    for named in (str(path), hashlib.sha256(changed).hexdigest(), entry.sha256, "teto models rm tiny"):
        assert named in str(raised.value)


def test_a_path_stands_in_for_an_id(tmp_path: Path) -> None:
    """Any path ending in .gguf can be given; it is hashed once, and again only when the file changes."""
    path = tmp_path / "mine.gguf"
    path.write_bytes(CONTENT)
    first = make_store(tmp_path).locate(str(path))
    assert (first.path, first.sha256, first.entry) == (path, make_entry().sha256, None)
    before = path.stat()
    path.write_bytes(bytes(len(CONTENT)))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert make_store(tmp_path).locate(str(path)).sha256 == first.sha256  # remembered: nothing was read
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    found = make_store(tmp_path).locate(str(path)).sha256
    assert found == hashlib.sha256(bytes(len(CONTENT))).hexdigest()


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A path without a file is refused by name."""
    with pytest.raises(MissingWeightsError, match=r"none\.gguf"):
        make_store(tmp_path).locate(str(tmp_path / "none.gguf"))


def test_listing_reads_sizes_not_bytes(tmp_path: Path) -> None:
    """The listing has every entry of the catalog, and knows the present one by its name and size alone."""
    entry = known_weights()["smollm2-135m-instruct-q4_1"]
    path = tmp_path / "store" / "sha256" / f"{entry.sha256}.gguf"
    path.parent.mkdir(parents=True)
    with path.open("wb") as sparse:
        sparse.truncate(entry.size_bytes)
    listed = {one.entry.id: one.path for one in make_store(tmp_path).listing()}
    assert listed.keys() == known_weights().keys()
    assert [path for path in listed.values() if path] == [path]


def test_the_disk_has_room() -> None:
    """The real measure of free room answers for a folder that exists."""
    assert free_disk_bytes(Path(__file__).parent) > 0
