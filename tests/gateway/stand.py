"""A gateway on a real socket with everything in it replaceable, and a client to ask it."""

import contextlib
import json
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import aiohttp

from tests.fakes import FakeEngine, FakeMeter, MemoryDriftStore, MemoryLedger, engine_facts, sure_pieces
from tests.scripted_upstream import Reply, ScriptedUpstream, connect, open_scripted, until
from teto.catalog.prices import own_cost
from teto.catalog.task_model import shipped_task_model
from teto.cli.server import new_server
from teto.config import DriftSettings, GatewaySettings, PolicySettings, RouteSettings
from teto.errors import TetoError
from teto.gateway.app import App, create_app
from teto.gateway.parts import ChatParts
from teto.gateway.routing import Router
from teto.measure.clock import SystemClock
from teto.physics.cost import Cost
from teto.ports import Clock, DriftStore, PowerMeter, Upstream
from teto.receipt import Receipt
from teto.traffic.tokens import TokenVector
from teto.triage.calibration import Calibration

__all__ = [
    "CLASSIFY",
    "EXPLAIN",
    "USD_PER_MTOK",
    "Answer",
    "Stand",
    "chat",
    "dead_engine",
    "open_both",
    "open_stand",
    "slow_engine",
    "unsure_engine",
]

CLASSIFY = "Classify the sentiment: 'adorei o atendimento'. Answer positive or negative."
EXPLAIN = "Explain why the sky is blue."
USD_PER_MTOK = (Decimal("2.5"), Decimal(10))


def chat(text: str = CLASSIFY, *, model: str = "teto/auto", **fields: Any) -> dict[str, Any]:
    """The body of a chat completion request with one user message."""
    return {"model": model, "messages": [{"role": "user", "content": text}], **fields}


def unsure_engine() -> FakeEngine:
    """An engine whose answer has the right form and a low probability."""
    return FakeEngine(pieces=sure_pieces("positive", logprob=-1.0))


def slow_engine() -> FakeEngine:
    """An engine that predicts 20 s of prefill for its 20 tokens."""
    return FakeEngine(given_facts=replace(engine_facts(), prefill_tokens_per_s=1.0))


def dead_engine(error: TetoError, *, after: int = 0, text: str = "positive") -> FakeEngine:
    """An engine that fails after some pieces."""
    return FakeEngine(pieces=sure_pieces(text), error=error, fails_after=after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the client received."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body of a whole answer."""
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The data of a stream's events; the end mark stays the text it is."""
        lines = [line.removeprefix(b"data: ") for line in self.body.split(b"\n") if line.startswith(b"data: ")]
        return ["[DONE]" if line == b"[DONE]" else json.loads(line) for line in lines]

    @property
    def text(self) -> str:
        """The content, streamed or whole."""
        if not self.headers["content-type"].startswith("text/event-stream"):
            return str(self.json["choices"][0]["message"]["content"])
        chunks = [event for event in self.events if isinstance(event, dict) and event.get("choices")]
        return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)

    @property
    def error(self) -> Any:
        """The error object of a whole body, or of the last event of a stream."""
        if self.headers["content-type"].startswith("text/event-stream"):
            return self.events[-1]["error"]
        return self.json["error"]

    @property
    def reason(self) -> str:
        """The code of the reason that decided."""
        return self.headers["x-teto-reason"]

    @property
    def route(self) -> str:
        """Where the answer comes from."""
        return self.headers["x-teto-route"]


@dataclass(slots=True, kw_only=True)
class Stand:
    """A running gateway and what is in it."""

    url: str
    http: aiohttp.ClientSession
    app: App
    engine: FakeEngine
    ledger: MemoryLedger

    async def ask(self, text: str = CLASSIFY, **fields: Any) -> Answer:
        """Send a chat completion."""
        return await self.request("POST", "/v1/chat/completions", json=chat(text, **fields))

    async def request(self, method: str, path: str, **options: Any) -> Answer:
        """Send any request."""
        async with self.http.request(method, f"{self.url}{path}", **options) as response:
            return Answer(status=response.status, headers=response.headers, body=await response.read())

    async def switch(self, mode: str) -> Answer:
        """Switch the mode."""
        return await self.request("POST", "/teto/mode", json={"mode": mode})

    def kept_receipt(self, answer: Answer) -> Receipt:
        """The receipt that is in the ledger now."""
        return self.ledger.receipts[answer.headers["x-teto-receipt"]]

    async def receipt(self, answer: Answer) -> Receipt:
        """The receipt once nothing is left to be written."""
        await self.app.service.drain()
        return self.kept_receipt(answer)

    async def only_receipt(self) -> Receipt:
        """The one receipt there is, once nothing is left to be written."""
        await self.app.service.drain()
        (receipt,) = self.ledger.receipts.values()
        return receipt


def _own_price(upstream: Upstream, model: str, tokens: TokenVector, at_unix_s: float) -> Cost:
    del upstream, model, at_unix_s
    return own_cost(tokens, USD_PER_MTOK)


@contextlib.asynccontextmanager
async def _served(app: App, listener: socket.socket) -> AsyncIterator[None]:
    """The server of `run_in_background`, without its tenths of a second at start and stop: hundreds of tests wait."""
    server = new_server(app)
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup(sockets=[listener])
    try:
        yield
    finally:
        for listening in server.servers:
            listening.close()
        await until(lambda: not server.server_state.connections and not server.server_state.tasks)


@contextlib.asynccontextmanager
async def open_stand(
    *,
    engine: FakeEngine | None = None,
    has_engine: bool = True,
    upstreams: Sequence[Upstream] = (),
    routes: Sequence[RouteSettings] = (),
    gateway: GatewaySettings | None = None,
    policy: PolicySettings | None = None,
    clock: Clock | None = None,
    power: PowerMeter | None = None,
    ledger: MemoryLedger | None = None,
    calibration: Calibration | None = None,
    drift: DriftSettings | None = None,
    drift_store: DriftStore | None = None,
    keep_texts: bool = False,
) -> AsyncIterator[Stand]:
    """A gateway with these parts, served by uvicorn in this loop, and closed in order."""
    engine = engine or FakeEngine()
    ledger = ledger or MemoryLedger()
    by_name = {upstream.facts.name: upstream for upstream in upstreams}
    app = create_app(
        ChatParts(
            engine=engine if has_engine else None,
            engine_note="No engine in this test.",
            upstreams=by_name,
            router=Router(routes, by_name),
            ledger=ledger,
            power=power or FakeMeter(),
            clock=clock or SystemClock(),
            price=_own_price,
            gateway=gateway or GatewaySettings(),
            policy=policy or PolicySettings(),
            task_model=shipped_task_model(),
            calibration=calibration,
            drift=drift or DriftSettings(),
            drift_store=drift_store or MemoryDriftStore(),
            keep_texts=keep_texts,
            mean_power_w=0.0,
        )
    )
    async with contextlib.AsyncExitStack() as stack:
        for upstream in upstreams:
            stack.push_async_callback(upstream.close)
        stack.push_async_callback(app.service.drain)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        await stack.enter_async_context(_served(app, listener))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        yield Stand(url=url, http=http, app=app, engine=engine, ledger=ledger)


@contextlib.asynccontextmanager
async def open_both(reply: Reply | None = None, **parts: Any) -> AsyncIterator[tuple[Stand, ScriptedUpstream]]:
    """A gateway and the scripted cloud that it may go up to."""
    async with open_scripted(reply) as cloud, open_stand(upstreams=[connect(cloud.base_url)], **parts) as stand:
        yield stand, cloud
