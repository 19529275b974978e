"""An OpenAI-compatible server that answers by a fixed rule, with logprobs, in a thread of its own."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import log
from typing import Any

from aiohttp import web

__all__ = ["labelling_server"]


def _answer(text: str) -> tuple[str, float]:
    """What it says to a text, and how surely: `kind` is positive, `cold` negative, and of others it is not sure."""
    if "kind" in text:
        return "positive", 0.99
    if "cold" in text:
        return "negative", 0.97
    return "positive", 0.55


def _event(delta: dict[str, Any], finish: str | None, logprobs: Any = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": logprobs}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


async def _chat(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    text, chance = _answer(body["messages"][-1]["content"])
    other = "negative" if text == "positive" else "positive"
    tops = [{"token": text, "logprob": log(chance)}, {"token": other, "logprob": log(1 - chance)}]
    logprobs = {"content": [{"token": text, "logprob": log(chance), "top_logprobs": tops}]}
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    await response.write(_event({"content": text}, None, logprobs if body.get("logprobs") else None))
    await response.write(_event({}, "stop"))
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    last = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [], "usage": usage}
    await response.write(b"data: " + json.dumps(last).encode() + b"\n\ndata: [DONE]\n\n")
    return response


@contextmanager
def labelling_server() -> Iterator[str]:
    """Its base URL, while it runs."""
    loop = asyncio.new_event_loop()
    started = threading.Event()
    found: list[str] = []

    async def start() -> web.AppRunner:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", _chat)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        found.append(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        started.set()
        return runner

    runners: list[web.AppRunner] = []

    def run() -> None:
        runners.append(loop.run_until_complete(start()))
        loop.run_forever()
        loop.run_until_complete(runners[0].cleanup())
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    started.wait(10)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
