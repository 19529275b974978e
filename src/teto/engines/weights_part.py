"""Weights while they are pulled: `<sha256>.part`, and beside it who wrote it and how far it is good."""

import errno
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from teto.errors import WeightsError

__all__ = ["PartFile", "PartState", "PullProgress", "is_disk_full", "replace_file"]

_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class PullProgress(Protocol):
    """What a pull tells the person who waits for it."""

    def note(self, text: str) -> None:
        """One line: which source is used and why, or what is being waited for."""

    def at(self, done_bytes: int) -> None:
        """How many bytes of the file are on disk now; it can go back when a source starts again."""


class PartState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who wrote a part file, and how much of it that writer stands behind."""

    writer: str
    parts_joined: int = 0
    joined_bytes: int = 0


def is_disk_full(error: BaseException) -> bool:
    """Whether the error says that the disk, or the user's share of it, has no room left."""
    return isinstance(error, OSError) and error.errno in _DISK_FULL


def _sync_folder(folder: Path) -> None:
    """Make a rename inside `folder` survive a power cut; where folders cannot be synced, do nothing."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def replace_file(path: Path, content: bytes) -> None:
    """Write a small file so that a reader sees the old content or the new one, never a mixture."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with beside.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


class _PartWriter(io.BufferedWriter):
    """Reports every write, and refuses to grow past the size that the catalog gives."""

    def __init__(self, raw: io.FileIO, *, limit_bytes: int, progress: PullProgress) -> None:
        super().__init__(raw)
        self._limit_bytes = limit_bytes
        self._progress = progress

    def write(self, chunk: "memoryview | bytes", /) -> int:  # type: ignore[override]
        end_bytes = self.tell() + len(chunk)
        if end_bytes > self._limit_bytes:
            raise WeightsError(f"it sends more than the {self._limit_bytes} bytes that the catalog gives.")
        written = super().write(chunk)
        self._progress.at(end_bytes)
        return written


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFile:
    """The part file at `path`, which will hold `size_bytes` when it is whole."""

    path: Path
    size_bytes: int

    @property
    def state_path(self) -> Path:
        """The JSON beside the part file."""
        return self.path.with_suffix(".json")

    @property
    def scratch_folder(self) -> Path:
        """Where a source may keep what it needs for a moment; a killed one leaves it behind."""
        return self.path.with_suffix(".scratch")

    def present_bytes(self) -> int:
        """The bytes on disk now, whoever wrote them."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def left_by(self, writer: str) -> PartState | None:
        """The state that `writer` left; None if another wrote the part: sources never share a prefix."""
        try:
            state = msgspec.json.decode(self.state_path.read_bytes(), type=PartState)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        usable = state.writer == writer and 0 <= state.joined_bytes <= self.present_bytes() <= self.size_bytes
        return state if usable else None

    def save(self, state: PartState) -> None:
        """Record how far the part file is good."""
        replace_file(self.state_path, msgspec.json.encode(state))

    @contextmanager
    def opened(self, state: PartState, progress: PullProgress) -> Iterator[io.BufferedWriter]:
        """The part file cut back to `state.joined_bytes`, to be written from there; synced when it closes.

        Only a source that has something to write may open it: opening takes it over from the last writer.
        """
        self.path.touch(mode=0o600)
        # Before the state, which so never claims bytes that are not there.
        os.truncate(self.path, state.joined_bytes)
        self.save(state)
        progress.at(state.joined_bytes)
        raw = io.FileIO(self.path, "r+")
        with _PartWriter(raw, limit_bytes=self.size_bytes, progress=progress) as stream:
            stream.seek(0, os.SEEK_END)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())

    def move_to(self, target: Path) -> None:
        """Put the whole file where it belongs, so that a power cut leaves it there whole or not at all."""
        with self.path.open("r+b") as stream:
            os.fsync(stream.fileno())  # a writer that was killed did not
        self.path.replace(target)
        _sync_folder(target.parent)
        self.remove()

    def remove(self) -> int:
        """Delete the part file and what is beside it; returns the bytes of the part file."""
        freed_bytes = self.present_bytes()
        shutil.rmtree(self.scratch_folder, ignore_errors=True)
        self.path.unlink(missing_ok=True)
        self.state_path.unlink(missing_ok=True)
        return freed_bytes
