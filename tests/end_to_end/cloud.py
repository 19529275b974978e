"""A small OpenAI-compatible cloud, in a thread of this process, that remembers what it was sent."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

__all__ = ["CLOUD_ANSWER", "CLOUD_KEY", "CLOUD_MODEL", "CLOUD_USAGE", "Cloud", "open_cloud"]

CLOUD_ANSWER: Final = "from the cloud, não daqui"
CLOUD_KEY: Final = "sk-only-for-the-cloud"
CLOUD_MODEL: Final = "big-1"
CLOUD_USAGE: Final = {"prompt_tokens": 31, "completion_tokens": 7, "total_tokens": 38}
_HEAD: Final[dict[str, Any]] = {"id": "chatcmpl-cloud", "created": 1_800_000_000, "model": CLOUD_MODEL}


@dataclass(slots=True)
class Cloud:
    """Where it is, and the bodies that came."""

    base_url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Call the tool if there is one, else say the one thing that it says."""
        if request.headers.get("Authorization") != f"Bearer {CLOUD_KEY}":
            return web.json_response({"error": {"message": "who are you?"}}, status=401)
        body = await request.json()
        self.bodies.append(body)
        if body.get("stream"):
            return await self._stream(request)
        message: dict[str, Any] = {"role": "assistant", "content": CLOUD_ANSWER}
        finish = "stop"
        if tools := body.get("tools"):
            function = {"name": tools[0]["function"]["name"], "arguments": '{"city": "Belém"}'}
            calls = [{"id": "call-1", "type": "function", "function": function}]
            message, finish = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        whole = {**_HEAD, "object": "chat.completion", "choices": [choice], "usage": CLOUD_USAGE}
        return web.json_response(whole)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": word} for word in CLOUD_ANSWER.split(" ")]
        choices: list[list[dict[str, Any]]] = [[{"index": 0, "delta": d, "finish_reason": None}] for d in deltas]
        choices += [[{"index": 0, "delta": {}, "finish_reason": "stop"}]]
        events: list[dict[str, Any]] = [{"choices": choice} for choice in choices]
        for event in [*events, {"choices": [], "usage": CLOUD_USAGE}]:
            data = json.dumps({**_HEAD, "object": "chat.completion.chunk", **event})
            await response.write(f"data: {data}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


@contextmanager
def open_cloud() -> Iterator[Cloud]:
    """A cloud on a free port, for as long as the context lasts."""
    loop = asyncio.new_event_loop()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        cloud = Cloud(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
        application = web.Application()
        application.router.add_post("/v1/chat/completions", cloud.answer)
        runner = web.AppRunner(application)

        async def start() -> None:
            await runner.setup()
            await web.SockSite(runner, listener).start()

        loop.run_until_complete(start())
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            yield cloud
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
