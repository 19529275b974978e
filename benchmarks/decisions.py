"""Decision honesty: 40 closed prompts that may stay here and 20 that must go up, through a real gateway.

    python benchmarks/decisions.py

The prompts (data/decision_prompts.jsonl) were committed before any code had seen them. The cloud is a server on
loopback whose answers are recognisable. Two passes: with the default added-delay limit, where a slow machine
sends up what it could have answered, and without it, where only the decision itself is seen.
"""

import asyncio
import json
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from report import Report
from teto.cli.server import bind, run_in_background
from teto.cli.wiring import open_gateway
from teto.config import LedgerSettings, Settings, UpstreamSettings

_PROMPTS = Path(__file__).parent / "data" / "decision_prompts.jsonl"
_NO_LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one prompt; `right` is None when the cloud answered."""

    id: str
    expect: str
    kind: str
    language: str
    route: str
    reason: str
    right: bool | None
    answer: str
    confidence: float | None


def _words(text: str) -> str:
    return " " + " ".join(re.findall(r"\w+", text.lower())) + " "


def is_right(check: dict[str, Any], answer: str) -> bool:
    """Whether an answer passes the prompt's own check."""
    if check["type"] == "label":
        named = [label for label in check["labels"] if _words(label) in _words(answer)]
        return bool(named) and all(label in check["accept"] for label in named)
    if check["type"] == "json":
        try:
            value = json.loads(answer)
        except ValueError:
            return False
        return all(_same(value.get(key), wanted) for key, wanted in check["equals"].items())
    lowered = answer.lower()
    return all(part.lower() in lowered for part in check.get("all", ())) and not any(
        part.lower() in lowered for part in check.get("none", ())
    )


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(found, str) and isinstance(wanted, str):
        return found.strip().lower() == wanted.strip().lower()
    return bool(found == wanted)


async def _cloud(_: web.Request) -> web.Response:
    message = {"role": "assistant", "content": "CLOUD"}
    return web.json_response(
        {
            "id": "c",
            "object": "chat.completion",
            "created": 0,
            "model": "big",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
    )


async def _ask(session: aiohttp.ClientSession, url: str, item: dict[str, Any]) -> Outcome:
    body = {"model": "teto/auto", **item["body"]}
    async with session.post(f"{url}/v1/chat/completions", json=body) as response:
        content = await response.json()
        headers = response.headers
    async with session.get(f"{url}/teto/receipts/{headers['x-teto-receipt']}") as response:
        receipt = await response.json()
    answer = content["choices"][0]["message"]["content"]
    local = headers["x-teto-route"] == "local"
    judged = is_right(item["check"], answer) if local and item["expect"] == "local" else None
    return Outcome(
        id=item["id"],
        expect=item["expect"],
        kind=item["kind"],
        language=item["language"],
        route=headers["x-teto-route"],
        reason=headers["x-teto-reason"] if local else _why_up(receipt),
        right=judged,
        answer=answer if local else "",
        confidence=receipt["decision"]["confidence"],
    )


def _why_up(receipt: dict[str, Any]) -> str:
    codes = [reason["code"] for reason in receipt["decision"]["reasons"]]
    return "task_open" if "task_open" in codes else codes[-1]


async def run_pass(limit_s: float) -> list[Outcome]:
    """Send every prompt through a gateway with that added-delay limit."""
    runner = web.AppRunner(_cloud_app())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    cloud_port = runner.addresses[0][1]
    with tempfile.TemporaryDirectory() as folder, bind("127.0.0.1", 0, has_keys=False) as listener:
        base = Settings()
        settings = replace(
            base,
            policy=replace(base.policy, added_delay_limit_s=limit_s),
            ledger=LedgerSettings(path=f"{folder}/receipts.sqlite"),
            upstreams={"cloud": UpstreamSettings(base_url=f"http://127.0.0.1:{cloud_port}/v1", model="big")},
        )
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        items = [json.loads(line) for line in _PROMPTS.read_text().split("\n") if line]
        async with (
            open_gateway(settings, print) as app,
            run_in_background(app, listener),
            aiohttp.ClientSession() as session,
        ):
            outcomes = [await _ask(session, url, item) for item in items]
    await runner.cleanup()
    return outcomes


def _cloud_app() -> web.Application:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", _cloud)
    return app


def summarise(outcomes: list[Outcome]) -> dict[str, Any]:
    """The three counts that the bar is about, their parts, and why prompts went up."""
    closed = [one for one in outcomes if one.expect == "local"]
    kept = [one for one in closed if one.route == "local"]
    up = [one for one in outcomes if one.expect == "cloud"]
    reasons: dict[str, int] = {}
    for one in closed:
        if one.route != "local":
            reasons[one.reason] = reasons.get(one.reason, 0) + 1
    parts = sorted({(one.kind, one.language) for one in closed})
    return {
        "closed": len(closed),
        "closed_kept": len(kept),
        "kept_right": sum(bool(one.right) for one in kept),
        "must_go_up": len(up),
        "must_go_up_kept": sum(one.route == "local" for one in up),
        "closed_sent_up_because": reasons,
        "kept_by_kind": {
            f"{kind} {language}": sum(one.kind == kind and one.language == language for one in kept)
            for kind, language in parts
        },
        "wrong": [{"id": one.id, "answer": one.answer, "confidence": one.confidence} for one in kept if not one.right],
    }


def main() -> None:
    """Run both passes and write the report."""
    report = Report("decisions")
    for name, limit_s in (
        ("default_delay_limit", Settings().policy.added_delay_limit_s),
        ("no_delay_limit", _NO_LIMIT_S),
    ):
        outcomes = asyncio.run(run_pass(limit_s))
        figures = summarise(outcomes)
        kept, right = figures["closed_kept"], figures["kept_right"]
        met = kept >= 20 and right >= 0.9 * kept and figures["must_go_up_kept"] <= 2
        report.add(name, figures, bar=">= 20 of 40 kept, >= 90 % of kept right, <= 2 of 20 must-go-up kept", met=met)
        report.add(f"{name}_outcomes", [[one.id, one.route, one.reason, one.confidence, one.right] for one in outcomes])
    report.write()


if __name__ == "__main__":
    main()
