"""What an escalated request pays: its added delay over going straight to the cloud, with and without a hedge.

    python benchmarks/escalation.py [N]

N closed items of the untouched quarter (default 80), streamed through a real gateway with the default engine and its
calibration, one at a time. The cloud is a server on loopback that needs 400 ms to its first token and 20 ms a token.
The same requests also go straight to the cloud; the added delay is the first token's, over the median of those.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from statistics import median
from typing import Any

import aiohttp
import numpy as np
from aiohttp import web

from report import Report
from teto.cli.server import bind, run_in_background
from teto.cli.wiring import open_gateway
from teto.closed_tasks.items import closed_task_items, part_of
from teto.config import LedgerSettings, Settings, UpstreamSettings

_FIRST_S, _TOKEN_S, _TOKENS = 0.4, 0.02, 12
_NO_LIMIT_S = 600.0


async def _cloud(request: web.Request) -> web.StreamResponse:
    await request.read()
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    await asyncio.sleep(_FIRST_S)
    for index in range(_TOKENS):
        await response.write(_event({"content": f"w{index} "}, None))
        await asyncio.sleep(_TOKEN_S)
    await response.write(_event({}, "stop"))
    await response.write(b"data: [DONE]\n\n")
    return response


def _event(delta: dict[str, str], finish: str | None) -> bytes:
    body: dict[str, Any] = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "big"}
    body["choices"] = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return b"data: " + json.dumps(body).encode() + b"\n\n"


@asynccontextmanager
async def _cloud_server() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", _cloud)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def _ask(session: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> tuple[float, dict[str, str]]:
    """Seconds to the first token with text, and the headers."""
    start_s = time.monotonic()
    async with session.post(f"{url}/chat/completions", json=body) as response:
        first_s: float | None = None
        async for line in response.content:
            if first_s is None and b'"content":' in line and b'"content":""' not in line:
                first_s = time.monotonic() - start_s
        return first_s if first_s is not None else time.monotonic() - start_s, dict(response.headers)


async def _pass(items: list[dict[str, Any]], hedge_above: float) -> dict[str, Any]:
    base = Settings()
    with tempfile.TemporaryDirectory() as folder, bind("127.0.0.1", 0, has_keys=False) as listener:
        async with _cloud_server() as cloud_url:
            settings = replace(
                base,
                policy=replace(base.policy, added_delay_limit_s=_NO_LIMIT_S, hedge_above=hedge_above),
                ledger=LedgerSettings(path=f"{folder}/receipts.sqlite"),
                upstreams={"cloud": UpstreamSettings(base_url=cloud_url, model="big")},
            )
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            async with (
                open_gateway(settings, print) as app,
                run_in_background(app, listener),
                aiohttp.ClientSession() as session,
            ):
                return await _measure(session, items, url, cloud_url)


async def _measure(
    session: aiohttp.ClientSession, items: list[dict[str, Any]], url: str, cloud_url: str
) -> dict[str, Any]:
    straight, added, routes = [], [], {"local": 0, "cloud": 0}
    for item in items:
        body = {"model": "teto/auto", "messages": item["messages"], "stream": True}
        if item["response_format"] is not None:
            body["response_format"] = item["response_format"]
        straight.append((await _ask(session, cloud_url, {**body, "model": "big"}))[0])
        first_s, headers = await _ask(session, url, body)
        route = headers.get("x-teto-route", headers.get("X-Teto-Route", ""))
        routes[route] += 1
        if route == "cloud":
            added.append(first_s)
    base_s = median(straight)
    delays = [first_s - base_s for first_s in added]
    return {
        "routes": routes,
        "straight_first_token_p50_s": round(base_s, 3),
        "added_p50_s": round(float(np.quantile(delays, 0.5)), 3) if delays else None,
        "added_p99_s": round(float(np.quantile(delays, 0.99)), 3) if delays else None,
    }


def main() -> None:
    """Both passes, and the report."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 80
    items = [item for item in closed_task_items() if part_of(item["id"]) == "untouched"][:n]
    report = Report("escalation")
    report.add("no_hedge", asyncio.run(_pass(items, 1.0)))
    report.add("hedge_above_0.3", asyncio.run(_pass(items, 0.3)))
    report.write()


if __name__ == "__main__":
    main()
