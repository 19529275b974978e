"""Pulling into the weights store: what it refuses, and what survives an interruption."""

import errno
import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.tiny_weights import CONTENT, Notes, make_entry
from teto.catalog.weights import WeightsEntry
from teto.engines.weights import WeightsStore
from teto.engines.weights_part import PartFile, PartState, PullProgress
from teto.engines.weights_sources import FileSource, WeightsSource
from teto.errors import (
    CorruptWeightsError,
    DiskFullError,
    MissingWeightsError,
    WeightsError,
)


class ScriptedSource:
    """Writes what it is told, in steps of a kilobyte, and raises what it is told after so many bytes."""

    def __init__(
        self,
        name: str,
        content: bytes = b"",
        *,
        fails: BaseException | None = None,
        after_bytes: int = 0,
    ) -> None:
        self.name = name
        self.content = content
        self.fails = fails
        self.after_bytes = after_bytes
        self.began_at: list[int] = []

    def spare_bytes(self, entry: WeightsEntry) -> int:  # noqa: ARG002 - the protocol's signature
        """None."""
        return 0

    def fetch(self, entry: WeightsEntry, part: PartFile, progress: PullProgress) -> None:  # noqa: ARG002
        """Go on from where it stopped."""
        begin = part.present_bytes() if part.left_by(self.name) else 0
        self.began_at.append(begin)
        if self.fails and self.after_bytes == 0:
            raise self.fails
        with part.opened(PartState(writer=self.name, joined_bytes=begin), progress) as stream:
            for offset in range(begin, len(self.content), 1024):
                if self.fails and offset >= self.after_bytes:
                    raise self.fails
                stream.write(self.content[offset : offset + 1024])


def make_store(folder: Path, *sources: WeightsSource, free_bytes: int = 10**9) -> WeightsStore:
    """A store whose disk has so much room."""
    return WeightsStore(folder=folder / "store", sources=sources, free_bytes=lambda _: free_bytes)


def test_pulled_weights_are_found_by_their_hash(tmp_path: Path) -> None:
    """What was pulled lies under its sha256 with its exact bytes, and locate gives it without a source."""
    entry = make_entry()
    pulled = make_store(tmp_path, ScriptedSource("one", CONTENT)).pull(entry, Notes())
    assert pulled.path == tmp_path / "store" / "sha256" / f"{entry.sha256}.gguf"
    assert pulled.path.read_bytes() == CONTENT
    assert make_store(tmp_path).locate(entry) == pulled
    assert [path.suffix for path in (tmp_path / "store" / "parts").iterdir()] in ([".lock"], [])


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_folders_are_for_their_owner_alone(tmp_path: Path) -> None:
    """Every folder of the store has mode 0700."""
    make_store(tmp_path, ScriptedSource("one", CONTENT)).pull(make_entry(), Notes())
    folders = [path for path in (tmp_path / "store").rglob("*") if path.is_dir()]
    assert len(folders) == 2
    for folder in [tmp_path / "store", *folders]:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_present_weights_are_not_fetched_again(tmp_path: Path) -> None:
    """A second pull asks no source."""
    store = make_store(tmp_path, source := ScriptedSource("one", CONTENT))
    store.pull(make_entry(), Notes())
    store.pull(make_entry(), Notes())
    assert source.began_at == [0]


def test_room_is_checked_before_any_source(tmp_path: Path) -> None:
    """With too small a disk no source is asked; the error gives what is needed, what is free, and where."""
    source = ScriptedSource("one", CONTENT)
    with pytest.raises(DiskFullError) as raised:
        make_store(tmp_path, source, free_bytes=len(CONTENT) - 1).pull(make_entry(), Notes())
    assert source.began_at == []
    for named in (f"{len(CONTENT)} bytes", f"{len(CONTENT) - 1} bytes", str(tmp_path / "store")):
        assert named in raised.value.message


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_keeps_the_part(tmp_path: Path, code: int) -> None:
    """A write that finds no room is a DiskFullError at once, and the next pull goes on from there."""
    full = ScriptedSource("one", CONTENT, fails=OSError(code, "full"), after_bytes=2048)
    other = ScriptedSource("two", CONTENT)
    with pytest.raises(DiskFullError, match=f"{len(CONTENT) - 2048} bytes"):
        make_store(tmp_path, full, other).pull(make_entry(), Notes())
    assert other.began_at == []
    again = ScriptedSource("one", CONTENT)
    make_store(tmp_path, again, free_bytes=len(CONTENT) - 2048).pull(make_entry(), Notes())
    assert again.began_at == [2048]


def test_an_interrupted_pull_goes_on(tmp_path: Path) -> None:
    """After Ctrl-C half way the next pull fetches only the rest."""
    stopped = ScriptedSource("one", CONTENT, fails=KeyboardInterrupt(), after_bytes=3072)
    with pytest.raises(KeyboardInterrupt):
        make_store(tmp_path, stopped).pull(make_entry(), Notes())
    store = make_store(tmp_path, again := ScriptedSource("one", CONTENT))
    assert store.pull(make_entry(), Notes()).path.read_bytes() == CONTENT
    assert again.began_at == [3072]


def test_a_source_never_continues_the_bytes_of_another(tmp_path: Path) -> None:
    """When a source fails half way, the next one starts at nothing and the result is whole."""
    bad = ScriptedSource("bad", b"x" * len(CONTENT), fails=WeightsError("cut"), after_bytes=1024)
    good = ScriptedSource("good", CONTENT)
    located = make_store(tmp_path, bad, good).pull(make_entry(), notes := Notes())
    assert located.path.read_bytes() == CONTENT
    assert good.began_at == [0]
    assert 0 in notes.positions[1:]  # and the person saw it start again


def test_a_whole_part_needs_no_source(tmp_path: Path) -> None:
    """A process killed between the last byte and the check leaves nothing to fetch."""
    entry = make_entry()
    part = PartFile(path=tmp_path / "store" / "parts" / f"{entry.sha256}.part", size_bytes=entry.size_bytes)
    part.path.parent.mkdir(parents=True)
    part.path.write_bytes(CONTENT)
    assert make_store(tmp_path).pull(entry, Notes()).path.read_bytes() == CONTENT


def test_wrong_bytes_are_deleted_and_the_next_source_tried(tmp_path: Path) -> None:
    """Bytes with another hash are deleted and named, and the next source is tried."""
    bad = ScriptedSource("bad", bytes(len(CONTENT)))
    located = make_store(tmp_path, bad, ScriptedSource("good", CONTENT)).pull(make_entry(), notes := Notes())
    assert located.path.read_bytes() == CONTENT
    told = next(line for line in notes.lines if "trying good because bad failed" in line)
    assert hashlib.sha256(bytes(len(CONTENT))).hexdigest() in told
    assert "whoever uploaded the bytes" in told


def test_only_wrong_bytes_is_a_corrupt_error(tmp_path: Path) -> None:
    """When every source gave other bytes the error has both hashes, and nothing is left."""
    entry = make_entry()
    with pytest.raises(CorruptWeightsError) as raised:
        make_store(tmp_path, ScriptedSource("bad", bytes(len(CONTENT)))).pull(entry, Notes())
    assert entry.sha256 in raised.value.message
    assert hashlib.sha256(bytes(len(CONTENT))).hexdigest() in raised.value.message
    left = [path for path in (tmp_path / "store").rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert left == []


def test_more_bytes_than_the_catalog_says_are_refused(tmp_path: Path) -> None:
    """A source that sends without end is stopped at the catalog's size."""
    with pytest.raises(WeightsError, match="sends more than"):
        make_store(tmp_path, ScriptedSource("long", CONTENT * 2)).pull(make_entry(), Notes())


def test_all_sources_failing_is_one_error(tmp_path: Path) -> None:
    """One error gives each source's reason and what to run."""
    sources = [
        ScriptedSource("first", fails=WeightsError("no network")),
        ScriptedSource("second", fails=OSError(errno.EIO, "broken disk")),
    ]
    with pytest.raises(WeightsError) as raised:
        make_store(tmp_path, *sources).pull(make_entry(), Notes())
    assert "first failed: no network; second failed: [Errno 5] broken disk" in raised.value.message
    assert "teto models pull tiny --from FILE" in str(raised.value.fix)


def test_remove_deletes_the_file_and_the_part(tmp_path: Path) -> None:
    """Removing gives back the bytes of the file or of an interrupted pull; a second time it is missing."""
    store = make_store(tmp_path, ScriptedSource("one", CONTENT))
    store.pull(make_entry(), Notes())
    assert store.remove(make_entry()) == len(CONTENT)
    stopped = ScriptedSource("one", CONTENT, fails=WeightsError("cut"), after_bytes=2048)
    with pytest.raises(WeightsError, match="cut"):
        make_store(tmp_path, stopped).pull(make_entry(), Notes())
    assert store.remove(make_entry()) == 2048
    with pytest.raises(MissingWeightsError):
        store.remove(make_entry())


SLOW_PULL = """
import sys, time
from pathlib import Path
from teto.catalog.weights import WeightsEntry
from teto.engines.weights import WeightsStore
from teto.engines.weights_sources import FileSource

class Slow(FileSource):
    def fetch(self, entry, part, progress):
        with open(sys.argv[3], "a") as log:
            log.write("fetched\\n")
        time.sleep(1.0)
        super().fetch(entry, part, progress)

class Out:
    def note(self, text): print(text, flush=True)
    def at(self, done_bytes): pass

entry = WeightsEntry(id="tiny", title="", sha256=sys.argv[4], size_bytes=int(sys.argv[5]), license="",
                     purpose="", source="", checked_on="")
store = WeightsStore(folder=Path(sys.argv[1]), sources=[Slow(Path(sys.argv[2]))], free_bytes=lambda _: 10**9)
print(store.pull(entry, Out()).path.stat().st_size)
"""


def test_two_processes_pull_once(tmp_path: Path) -> None:
    """Of two processes that pull at once one fetches; the other says that it waits, and finds the file."""
    entry = make_entry()
    (tmp_path / "origin").write_bytes(CONTENT)
    arguments = [str(tmp_path / name) for name in ("store", "origin", "log")]
    command = [sys.executable, "-c", SLOW_PULL, *arguments, entry.sha256, str(entry.size_bytes)]
    pulls = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [pull.communicate(timeout=60)[0] for pull in pulls]
    assert [pull.returncode for pull in pulls] == [0, 0]
    assert all(output.endswith(f"{entry.size_bytes}\n") for output in outputs)
    assert (tmp_path / "log").read_text() == "fetched\n"
    assert sum("another process is pulling it" in output for output in outputs) == 1
    assert make_store(tmp_path).verify(entry).path.read_bytes() == CONTENT


def test_a_file_can_be_given(tmp_path: Path) -> None:
    """A file stands in for the store's sources and is copied; one of another size is refused uncopied."""
    (tmp_path / "mine").write_bytes(CONTENT)
    (tmp_path / "other").write_bytes(CONTENT + b"!")
    store = make_store(tmp_path)
    with pytest.raises(WeightsError, match=r"mine-not failed: it cannot be read"):
        store.pull(make_entry(), Notes(), sources=[FileSource(tmp_path / "mine-not")])
    with pytest.raises(WeightsError, match=f"has {len(CONTENT) + 1} bytes"):
        store.pull(make_entry(), Notes(), sources=[FileSource(tmp_path / "other")])
    located = store.pull(make_entry(), Notes(), sources=[FileSource(tmp_path / "mine")])
    assert located.path.read_bytes() == (tmp_path / "mine").read_bytes() == CONTENT
