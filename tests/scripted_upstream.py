"""A scripted OpenAI-compatible upstream on a real socket: each test sets what it answers and reads what it saw."""

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

from teto.ports import UpstreamFacts
from teto.upstreams.http import HttpUpstream, HttpUpstreamSetup

__all__ = [
    "CLOUD_KEY",
    "CLOUD_MODEL",
    "USAGE",
    "Reply",
    "ScriptedUpstream",
    "Seen",
    "closed_port_url",
    "connect",
    "fault",
    "open_scripted",
    "sse_events",
    "streamed",
    "until",
    "whole",
]

CLOUD_KEY = "sk-of-the-cloud"
CLOUD_MODEL = "big-1"
USAGE: Mapping[str, Any] = {
    "prompt_tokens": 31,
    "completion_tokens": 7,
    "total_tokens": 38,
    "prompt_tokens_details": {"cached_tokens": 11},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer: `delay_s` passes before its status line, `gap_s` before each chunk.

    `end` is how it ends: whole, with the socket aborted, or with silence until the client leaves.
    """

    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: Sequence[bytes] = ()
    delay_s: float = 0.0
    gap_s: float = 0.0
    end: Literal["whole", "cut", "silent"] = "whole"


@dataclass(slots=True, kw_only=True)
class Seen:
    """One request as it came; `gone_s` (monotonic) is when the client left before the answer's end."""

    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    gone_s: float | None = None

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


class ScriptedUpstream:
    """Answers every request with `reply`, which a test may change between requests."""

    def __init__(self, base_url: str, reply: Reply) -> None:
        self.base_url = base_url
        self.reply = reply
        self.requests: list[Seen] = []
        self._connections = 0
        self._serving: set[asyncio.Task[Any]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve the requests of one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        self._connections += 1
        try:
            await self._converse(reader, writer, self._connections)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client left, or the test is over
        finally:
            self._serving.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        while True:
            seen = await _read_request(reader, connection)
            self.requests.append(seen)
            play = asyncio.create_task(_play(self.reply, writer))
            watch = asyncio.create_task(_wait_for_end(reader))
            try:
                await asyncio.wait({play, watch}, return_when=asyncio.FIRST_COMPLETED)
                if not play.done():
                    seen.gone_s = time.monotonic()
                    return
            finally:
                play.cancel()
                watch.cancel()
                await asyncio.gather(play, watch, return_exceptions=True)

    async def close(self) -> None:
        """End what is still being answered."""
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def wait_for_requests(self, count: int = 1) -> None:
        """Wait until that many requests have come."""
        await until(lambda: len(self.requests) >= count)

    async def wait_until_gone(self, index: int = -1) -> float:
        """Wait until the client of a request has left; when that was."""
        await until(lambda: self.requests[index].gone_s is not None)
        return self.requests[index].gone_s or 0.0


async def until(holds: Callable[[], bool], *, limit_s: float = 5.0) -> None:
    """Wait until something holds that no event announces.

    Raises:
        TimeoutError: it does not hold within the limit.
    """
    async with asyncio.timeout(limit_s):
        while not holds():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.002)


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(path=first.split(" ")[1], headers=headers, body=body, connection=connection)


async def _wait_for_end(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        await reader.read(1)


async def _play(reply: Reply, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(reply.delay_s)
    fields = {"Content-Type": reply.content_type, "Transfer-Encoding": "chunked", **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}", *(f"{k}: {v}" for k, v in fields.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    await writer.drain()
    for chunk in reply.chunks:
        await asyncio.sleep(reply.gap_s)
        writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        await writer.drain()
    if reply.end == "silent":
        await asyncio.Event().wait()
    elif reply.end == "cut":
        await asyncio.sleep(0.02)  # what was written leaves before the connection breaks
        writer.transport.abort()
    else:
        writer.write(b"0\r\n\r\n")
        await writer.drain()


@contextlib.asynccontextmanager
async def open_scripted(reply: Reply | None = None) -> AsyncIterator[ScriptedUpstream]:
    """A scripted upstream on a free port, for as long as the context lasts."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        upstream = ScriptedUpstream(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", reply or whole())
        server = await asyncio.start_server(upstream.serve, sock=listener, backlog=512)
        try:
            yield upstream
        finally:
            server.close()
            await upstream.close()
            await server.wait_closed()


def closed_port_url() -> str:
    """A base URL at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


def connect(
    base_url: str,
    *,
    name: str = "cloud",
    api_key: str | None = CLOUD_KEY,
    first_token_timeout_s: float = 5.0,
    gap_timeout_s: float = 5.0,
    total_timeout_s: float = 30.0,
) -> HttpUpstream:
    """The real upstream client, for a scripted server or a port where nobody is."""
    return HttpUpstream(
        HttpUpstreamSetup(
            facts=UpstreamFacts(name=name, base_url=base_url, model=CLOUD_MODEL),
            api_key=api_key,
            api_key_env="CLOUD_API_KEY",
            connect_timeout_s=2.0,
            first_token_timeout_s=first_token_timeout_s,
            gap_timeout_s=gap_timeout_s,
            total_timeout_s=total_timeout_s,
        )
    )


# -- answers as a cloud writes them ------------------------------------------------------------------------------


def whole(
    content: str | None = "from the cloud",
    *,
    usage: Mapping[str, Any] | None = USAGE,
    finish_reason: str = "stop",
    delay_s: float = 0.0,
    message: Mapping[str, Any] | None = None,
) -> Reply:
    """A whole chat completion."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_800_000_000,
        "model": "big-1-2026-10",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **(message or {})},
                "finish_reason": finish_reason,
            }
        ],
        "usage": usage,
        "x_cloud_only": {"kept": 1.50},
    }
    return Reply(chunks=[json.dumps(body).encode()], delay_s=delay_s)


def _chunk_event(choices: Sequence[Any], **more: Any) -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_800_000_000, "model": "big-1-2026-10"}
    return b"data: " + json.dumps({**head, "choices": choices, **more}, ensure_ascii=False).encode() + b"\n\n"


def sse_events(
    words: Sequence[str] = ("from", " the", " cloud"),
    *,
    usage: Mapping[str, Any] | None = USAGE,
    finish_reason: str | None = "stop",
    done: bool = True,
) -> list[bytes]:
    """The events of a stream: the role first, then the words, the finish, the usage, and the end mark."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": word} for word in words)]
    events = [_chunk_event([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    if finish_reason is not None:
        events.append(_chunk_event([{"index": 0, "delta": {}, "finish_reason": finish_reason}]))
    if usage is not None:
        events.append(_chunk_event([], usage=usage))
    return [*events, b"data: [DONE]\n\n"] if done else events


def streamed(
    events: Sequence[bytes] | None = None,
    *,
    gap_s: float = 0.0,
    delay_s: float = 0.0,
    end: Literal["whole", "cut", "silent"] = "whole",
) -> Reply:
    """A stream of server-sent events."""
    return Reply(
        content_type="text/event-stream; charset=utf-8",
        chunks=sse_events() if events is None else events,
        gap_s=gap_s,
        delay_s=delay_s,
        end=end,
    )


def fault(status: int, *, headers: Mapping[str, str] | None = None, message: str = "refused by the script") -> Reply:
    """An error as a cloud words it."""
    body = {"error": {"message": message, "type": "cloud_error", "param": "messages", "code": "of_the_cloud"}}
    return Reply(status=status, headers=headers or {}, chunks=[json.dumps(body).encode()])
