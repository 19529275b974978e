"""The drift alarms' state in a file."""

import asyncio
from pathlib import Path

__all__ = ["DriftFile"]


class DriftFile:
    """The `DriftStore` port on one file of its own; the last of two processes that write it wins."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> bytes | None:
        """What the file holds."""
        return self._path.read_bytes() if self._path.exists() else None

    async def save(self, state: bytes) -> None:
        """Write beside it, then rename; the loop serves others meanwhile."""
        await asyncio.to_thread(self._write, state)

    def _write(self, state: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = self._path.with_suffix(".part")
        beside.write_bytes(state)
        beside.replace(self._path)
