"""One HTTP response in the making, over ASGI."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Closing", "Exchange", "Outlet", "Send"]

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """The last bytes of an answer, sent once its receipt is kept: all of it, unless it was streamed."""

    body: bytes
    content_type: str = "application/json"


class Outlet(Protocol):
    """Where an answer that is still arriving goes: its status once, then its body in parts."""

    started: bool

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status and headers."""

    async def write(self, data: bytes) -> None:
        """Send some of the body."""


class Exchange:
    """Sends a response whole, or starts it and streams; `started` says that its status cannot change any more."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False
        self.finished = False

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status and headers."""
        self.started = True
        pairs = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    async def write(self, data: bytes) -> None:
        """Send some of the body."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def finish(self, data: bytes = b"") -> None:
        """Send the last of the body."""
        self.finished = True
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def close(self, closing: Closing, headers: Mapping[str, str]) -> None:
        """Send the end of a stream that has started, or the whole answer."""
        if self.started:
            await self.finish(closing.body)
        else:
            await self.respond(200, {"content-type": closing.content_type, **headers}, closing.body)

    async def respond(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Send a whole response."""
        await self.start(status, {**headers, "content-length": str(len(body))})
        await self.finish(body)
