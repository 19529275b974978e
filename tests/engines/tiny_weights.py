"""A few kilobytes that pass for weights, and what the store's tests do with them."""

import hashlib
from pathlib import Path

from teto.catalog.weights import CarrierWheel, HubFile, WeightsEntry
from teto.engines.weights import WeightsStore
from teto.engines.weights_sources import WeightsSource

__all__ = ["CONTENT", "HUB_FILE", "Notes", "make_entry", "make_store"]

CONTENT = b"GGUF" + bytes(range(256)) * 16
HUB_FILE = HubFile(repo="someone/tiny-GGUF", file="tiny.gguf")


def make_entry(
    content: bytes = CONTENT, *, hub: tuple[HubFile, ...] = (), carriers: tuple[CarrierWheel, ...] = ()
) -> WeightsEntry:
    """The entry of that content."""
    return WeightsEntry(
        id="tiny",
        title="Tiny",
        sha256=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
        license="Apache-2.0",
        purpose="tests",
        source="made here",
        checked_on="2026-11-30",
        hub=hub,
        carriers=carriers,
    )


class Notes:
    """Progress that is remembered; it can stop the pull as Ctrl-C would, once so many bytes are there."""

    def __init__(self, *, stop_at_bytes: int | None = None) -> None:
        self.lines: list[str] = []
        self.positions: list[int] = []
        self._stop_at_bytes = stop_at_bytes

    @property
    def done_bytes(self) -> int:
        """The last position."""
        return self.positions[-1] if self.positions else 0

    def note(self, text: str) -> None:
        """Remember the line."""
        self.lines.append(text)

    def at(self, done_bytes: int) -> None:
        """Remember the position, and perhaps stop."""
        self.positions.append(done_bytes)
        if self._stop_at_bytes is not None and done_bytes >= self._stop_at_bytes:
            raise KeyboardInterrupt


def make_store(folder: Path, *sources: WeightsSource) -> WeightsStore:
    """A store with room."""
    return WeightsStore(folder=folder / "store", sources=sources, free_bytes=lambda _: 10**9)
