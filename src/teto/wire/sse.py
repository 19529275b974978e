"""Server-sent events, split and joined at the level of bytes, so that no character is ever cut."""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["DONE", "SseEvent", "SseSplitter", "sse"]

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class SseEvent:
    """One event: the bytes as they came, its separator included, and its data; None for a comment or ping."""

    raw: bytes
    data: bytes | None


def sse(data: bytes) -> bytes:
    """An event that carries `data`, which holds no newline."""
    return b"data: " + data + b"\n\n"


class SseSplitter:
    """Splits a byte stream into events; chunks may end anywhere."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """The events that `chunk` completes."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._lines.append(line + b"\n")
            if line in {b"", b"\r"}:
                yield self._event()

    def flush(self) -> Iterator[SseEvent]:
        """What the end of the stream leaves: an event whose blank line never came."""
        if self._rest:
            self._lines.append(self._rest)
            self._rest = b""
        if self._lines:
            yield self._event()

    def _event(self) -> SseEvent:
        raw = b"".join(self._lines)
        fields = [line.rstrip(b"\r\n") for line in self._lines]
        self._lines = []
        parts = [field[5:].removeprefix(b" ") for field in fields if field.startswith(b"data:")]
        return SseEvent(raw=raw, data=b"\n".join(parts) if parts else None)
