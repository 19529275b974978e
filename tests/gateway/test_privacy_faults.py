"""Ten thousand private requests through every fault there is, beside public ones: zero bytes of them go up.

The service is driven in this process, with hedges and shadows in half of the batches. Each batch has an engine,
clouds, settings and breakers of its own; its requests, private and public, run at once; the mode switches under them,
clients leave, sends and receipts fail. The clouds record every body. Without the rule, or for the public requests, the
same batches do reach them.
"""

import asyncio
import functools
import gc
import hashlib
import random
import types
from collections import Counter
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import orjson
import pytest

from tests.fakes import (
    FakeClock,
    FakeEngine,
    FakeMeter,
    FakeUpstream,
    MemoryDriftStore,
    MemoryLedger,
    engine_facts,
    sure_pieces,
)
from tests.gateway.test_calibrated import calibration
from teto.catalog.task_model import shipped_task_model
from teto.config import DriftSettings, GatewaySettings, Mode, PolicySettings, PrivacySettings, RouteSettings
from teto.errors import EngineBusyError, EngineDiedError, EngineError, TetoError, UpstreamStatusError
from teto.errors import UpstreamUnreachableError as Unreachable
from teto.gateway.chat import ChatService
from teto.gateway.exchange import Exchange
from teto.gateway.life import Life
from teto.gateway.parts import ChatParts
from teto.gateway.privacy import sealed
from teto.gateway.routing import Router, Target
from teto.gateway.served import ServedCall
from teto.physics.cost import Cost, unknown_cost
from teto.ports import Upstream, UpstreamFacts
from teto.receipt import Receipt
from teto.traffic.tokens import TokenVector
from teto.triage.calibration import Calibration
from teto.wire.chat import parse_chat_request

PRIVATE_PER_BATCH: Final = 20
PUBLIC_PER_BATCH: Final = 5
BATCHES: Final = 500
CONTROL_BATCHES: Final = 60

KEY: Final = "sk-of-hr"
RULES: Final = (
    PrivacySettings(name="people", detect=("all",)),
    PrivacySettings(name="key", key=(hashlib.sha256(KEY.encode()).hexdigest()[:12],)),
    PrivacySettings(name="header", header={"x-class": "secret*"}),
    PrivacySettings(name="tag", tag=("hr",)),
)
ROUTES: Final = (
    RouteSettings(match="gpt-*", upstream="second"),
    RouteSettings(match="far", to="cloud", upstream="second"),
    RouteSettings(match="near", to="local"),
)
MODELS: Final = (*("teto/auto",) * 7, "gpt-4o", "gpt-4o", "teto/local", "near", "teto/cloud", "far", "unknown")
MODES: Final[tuple[Mode, ...]] = ("auto", "auto", "auto", "auto", "observe", "observe", "local", "cloud")
TASKS: Final = (
    "Is it good? Text: 'adorei o atendimento, {mark}, muito bom mesmo'. Answer yes or no.",
    "Classify the sentiment as positive or negative.\n\nText: the waiter was kind to {mark} and the soup was hot",
    "Classify the sentiment as positive or negative.\n\nText: the waiter was kind to {mark} and the soup was hot",
    "Classify the sentiment: 'adorei o atendimento {mark}'. Answer positive or negative.",
    "Explain why {mark} matters.",
    'Rewrite in formal English: "hey {mark}, whats up with the order"',
    "{mark}",
)
SECRETS: Final = (
    "111.444.777-35",
    "4111 1111 1111 1111",
    "ana@example.com",
    "DE89370400440532013000",
    "AKIA" + "A1" * 8,
)
TOOLS: Final = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
SCHEMA: Final = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}

Headers = list[tuple[str, str]]


# Every way there is to a cloud, by the reason that a receipt gives for it.
CLOUD_PATHS: Final = ("forced_cloud", "observe", "task_open", "too_slow", "unsure", "engine_error", "hedged")


@dataclass(slots=True, kw_only=True)
class Ask:
    """One request to come: its body, its headers, when its client leaves, and whether its sends fail."""

    body: bytes
    headers: Headers
    is_private: bool
    leaves_after: int | None
    sends: int | None


@dataclass(slots=True)
class FailingLedger(MemoryLedger):
    """Fails as often as it is told."""

    dice: random.Random = field(default_factory=random.Random)
    failing_fraction: float = 0.0

    async def append(self, receipt: Receipt) -> None:
        """Keep it, or fail."""
        await asyncio.sleep(0)
        if self.dice.random() < self.failing_fraction:
            raise TetoError("The disk is full on purpose.")
        self.receipts[receipt.id] = receipt


class MovingClock(FakeClock):
    """A clock that moves on at every look, so that breakers open and close."""

    def monotonic_s(self) -> float:
        """A little later each time."""
        self.now_s += 0.05
        return self.now_s


def answer_of_a_cloud(*, stream: bool) -> list[bytes]:
    """A whole chat completion, or the events of one."""
    choice = {"index": 0, "finish_reason": "stop"}
    if not stream:
        return [orjson.dumps({"choices": [{**choice, "message": {"role": "assistant", "content": "from a cloud"}}]})]
    events = [{"choices": [{"index": 0, "delta": {"content": "from"}}]}, {"choices": [{**choice, "delta": {}}]}]
    return [*(b"data: " + orjson.dumps(event) + b"\n\n" for event in events), b"data: [DONE]\n\n"]


def make_cloud(dice: random.Random, name: str) -> FakeUpstream:
    """A cloud that answers, refuses, breaks off, or cannot be reached; a third of them only answer."""
    stream = dice.random() < 0.3
    if dice.random() < 0.33:
        facts = UpstreamFacts(name=name, base_url="http://127.0.0.1:9/v1", model=f"{name}-big")
        return FakeUpstream(chunks=answer_of_a_cloud(stream=False), given_facts=facts)
    status = dice.choice([400, 401, 429, 500, 503])
    error = dice.choice(
        [None, None, Unreachable("Gone.", upstream=name), UpstreamStatusError("No.", upstream=name, status=status)]
    )
    return FakeUpstream(
        chunks=answer_of_a_cloud(stream=stream),
        content_type="text/event-stream" if stream else "application/json",
        error=error,
        cut_after=dice.choice([None, None, None, 0, 1]),
        given_facts=UpstreamFacts(name=name, base_url="http://127.0.0.1:9/v1", model=f"{name}-big"),
    )


def make_engine(dice: random.Random) -> FakeEngine | None:
    """An engine that is sure, unsure, slow, full, broken, dead, wrong, or not there; a third only answer well."""
    if dice.random() < 0.05:
        return None
    if dice.random() < 0.33:
        logprob = dice.choice([-0.001, -0.3])
        return FakeEngine(pieces=sure_pieces("positive", logprob=logprob), given_facts=engine_facts(slots=32))
    errors: list[Any] = [EngineError("E."), EngineDiedError("D."), EngineBusyError("B."), RuntimeError("a defect")]
    engine = FakeEngine(
        pieces=sure_pieces(
            dice.choice(["positive", "positive", "positive", "yes", "a b c d e f g h i", "", '{"a": 1}']),
            logprob=dice.choice([-0.01, -0.01, -0.01, -1.0]),
        ),
        finish_reason=dice.choice(["stop", "stop", "stop", "stop", "length"]),
        delay_s=dice.choice([0.0, 0.0, 0.0, 0.0, 0.001]),
        error=dice.choice([*(None,) * 8, *errors]),
        fails_after=dice.randrange(4),
        prompt_tokens=dice.choice([20, 20, 20, 20, 20, 20, 20, 5000]),
        queue_limit=dice.choice([0, 2, 100, 100]),
        given_facts=engine_facts(slots=dice.choice([1, 32, 32])),
    )
    engine.closed = dice.random() < 0.05
    return engine


def make_ask(dice: random.Random, mark: str, *, is_private: bool) -> Ask:
    """A request whose text holds the mark; a private one is so by its text, its key, its header or its tag."""
    headers: Headers = []
    fields: dict[str, Any] = {"model": dice.choice(MODELS), "stream": dice.random() < 0.5}
    text = dice.choice(TASKS).format(mark=mark)
    by = dice.choice(["text", "text", "tool", "unknown", "media", "key", "header", "tag"]) if is_private else ""
    content: Any = f"{text} {dice.choice(SECRETS)}" if by == "text" else text
    if by == "media":
        content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": "https://x.example/a"}}]
    if by == "unknown":
        fields["x_unknown"] = {"deep": [dice.choice(SECRETS)]}
    if by == "key":
        headers.append(("authorization", f"Bearer {KEY}"))
    if by == "header":
        headers.append(("X-Class", "Secret"))
    if by == "tag":
        fields["metadata"] = {"tags": ["hr"]}
    messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
    if by == "tool":
        call = {"function": {"name": "f", "arguments": orjson.dumps({"it": dice.choice(SECRETS)}).decode()}}
        messages.insert(0, {"role": "assistant", "tool_calls": [call]})
    if dice.random() < 0.1:
        fields["tools"] = TOOLS
    if dice.random() < 0.1:
        fields["response_format"] = SCHEMA
    return Ask(
        body=orjson.dumps({**fields, "messages": messages}),
        headers=headers,
        is_private=is_private,
        leaves_after=dice.choice([None, None, None, dice.randrange(30)]),
        sends=dice.choice([None, None, None, None, dice.randrange(4)]),
    )


@functools.cache
def calibrated() -> Calibration:
    """A calibration of the engine, by which some answers are kept; made once."""
    return calibration()


def no_price(upstream: Upstream, model: str, tokens: TokenVector, at_unix_s: float) -> Cost:
    """No price is known."""
    del upstream, model, tokens, at_unix_s
    return unknown_cost("no price in this test")


def make_parts(
    dice: random.Random, clouds: Sequence[FakeUpstream], rules: tuple[PrivacySettings, ...], ledger: MemoryLedger
) -> ChatParts:
    """Everything a service is given, some of it broken."""
    by_name: dict[str, Upstream] = {cloud.facts.name: cloud for cloud in clouds}
    return ChatParts(
        engine=make_engine(dice),
        engine_note="No engine in this batch.",
        upstreams=by_name,
        router=Router(ROUTES, by_name),
        ledger=ledger,
        power=FakeMeter(),
        clock=MovingClock(),
        price=no_price,
        gateway=GatewaySettings(
            mode=dice.choice(MODES), degraded=dice.choice(["admissible", "best_effort"]), privacy=rules
        ),
        policy=PolicySettings(
            added_delay_limit_s=dice.choice([0.0002, 60.0, 60.0, 60.0]), hedge_above=dice.choice([0.0, 1.0])
        ),
        task_model=shipped_task_model(),
        calibration=dice.choice([None, calibrated()]),
        drift=DriftSettings(shadow_fraction=dice.choice([0.0, 1.0])),
        drift_store=MemoryDriftStore(),
        keep_texts=dice.choice([True, False]),
        mean_power_w=0.0,
    )


@dataclass(slots=True)
class Told:
    """What clients were told and what receipts tell, over all batches.

    `marked_rightly`: local-only in the headers of all private requests, and of no other. `paths` counts the reasons
    of the receipts with a cloud in them, and the private ones among these.
    """

    statuses: Counter[int] = field(default_factory=Counter)
    private_statuses: Counter[int] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    marked_rightly: bool = True
    paths: Counter[str] = field(default_factory=Counter)

    def read(self, receipts: Iterable[Receipt]) -> None:
        """Count the paths of these receipts."""
        for receipt in receipts:
            asked = receipt.cloud is not None
            self.paths.update({reason.code for reason in receipt.decision.reasons if asked})
            self.paths["shadow of a kept answer"] += asked and receipt.route == "local" and receipt.truth is not None
            self.paths["private with a cloud"] += receipt.decision.privacy is not None and (
                asked or receipt.truth is not None or receipt.route == "cloud"
            )


async def run_one(service: ChatService, ask: Ask, told: Told) -> None:
    """One request to its end, as the application runs it; its client may leave on the way."""
    sent = 0

    async def send(message: MutableMapping[str, Any]) -> None:
        nonlocal sent
        if ask.sends is not None and sent >= ask.sends:
            raise ConnectionError("the client's socket broke on purpose")
        sent += 1
        await asyncio.sleep(0)
        if message["type"] == "http.response.start":
            headers = dict(message["headers"])
            (told.private_statuses if ask.is_private else told.statuses)[message["status"]] += 1
            told.reasons[headers.get(b"x-teto-reason", b"").decode()] += ask.is_private
            if b"x-teto-receipt" in headers:
                told.marked_rightly &= (headers.get(b"x-teto-privacy") == b"local-only") is ask.is_private

    request = parse_chat_request(ask.body)
    work = asyncio.ensure_future(service.serve(request, Exchange(send), headers=ask.headers, arrived_s=0.0))
    if ask.leaves_after is not None:
        for _ in range(ask.leaves_after):
            await asyncio.sleep(0)
        work.cancel()
    await asyncio.gather(work, return_exceptions=True)


async def run_batch(seed: int, rules: tuple[PrivacySettings, ...], told: Told) -> list[bytes]:
    """A batch of requests at once on parts of their own; the bodies that reached any cloud."""
    dice = random.Random(seed)  # noqa: S311 - a seed, so that a leak can be run again
    clouds = [make_cloud(dice, "first"), make_cloud(dice, "second")]
    ledger = FailingLedger(dice=dice, failing_fraction=dice.choice([0.0, 0.0, 0.3]))
    service = ChatService(make_parts(dice, clouds, rules, ledger))
    for breaker in service._shared.clouds.breakers.values():
        for _ in range(dice.randrange(5)):
            breaker.failed("it was down before")
    asks = [make_ask(dice, f"PRIVATE-{seed}-{n}", is_private=True) for n in range(PRIVATE_PER_BATCH)]
    asks += [make_ask(dice, f"PUBLIC-{seed}-{n}", is_private=False) for n in range(PUBLIC_PER_BATCH)]
    dice.shuffle(asks)
    running = [asyncio.ensure_future(run_one(service, ask, told)) for ask in asks]
    for _ in range(dice.randrange(3)):
        for _ in range(dice.randrange(20)):
            await asyncio.sleep(0)
        service.mode = dice.choice(MODES)
    if dice.random() < 0.05:
        service.stop()
    await asyncio.gather(*running)
    await service.drain()
    told.read(ledger.receipts.values())
    return [body for cloud in clouds for body in cloud.bodies]


@pytest.mark.timeout(110)
async def test_zero_bytes_of_ten_thousand_private_requests_go_up(caplog: pytest.LogCaptureFixture) -> None:
    """In no run does a cloud see a private request, while it sees hundreds of the public ones beside them."""
    caplog.set_level("CRITICAL")  # the defects are on purpose
    told = Told()
    bodies: list[bytes] = []
    for seed in range(BATCHES):
        bodies += await run_batch(seed, RULES, told)
    assert BATCHES * PRIVATE_PER_BATCH == 10_000
    assert sum(len(body) for body in bodies if b"PUBLIC-" not in body or b"PRIVATE-" in body) == 0
    assert len(bodies) > 300
    assert told.marked_rightly
    assert told.paths["private with a cloud"] == 0
    # The runs were what they claim to be: answers, refusals of every kind, faults.
    assert {200, 403, 413, 422, 500, 503} <= set(told.private_statuses)
    assert min(told.private_statuses[status] for status in (200, 403, 422, 503)) > 200
    assert {"confident", "degraded", "forced_local", "private_request", "private_unanswered"} <= set(told.reasons)


async def test_the_same_runs_without_the_rules_do_send_them_up(caplog: pytest.LogCaptureFixture) -> None:
    """What holds the private requests back is the rule: without it the same batches send them to the clouds."""
    caplog.set_level("CRITICAL")
    told = Told()
    bodies: list[bytes] = []
    for seed in range(CONTROL_BATCHES):
        bodies += await run_batch(seed, (), told)
    assert sum(b"PRIVATE-" in body for body in bodies) > 100
    assert min(told.paths[path] for path in CLOUD_PATHS) > 0, told.paths


def reachable(root: object) -> Iterator[object]:
    """Every object that can be got at from this one through attributes, items and what functions close over."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, type | types.ModuleType | types.BuiltinFunctionType):
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, types.FunctionType):
            waiting += [item.__closure__, item.__defaults__, item.__kwdefaults__]
        else:
            waiting += gc.get_referents(item)


def life_of(parts: ChatParts, target: Target) -> Life:
    """The life of a request on these parts."""
    body = msgspec.json.encode({"model": "teto/auto", "messages": [{"role": "user", "content": "x"}]})
    call = ServedCall(id="r-1", request=parse_chat_request(body), mode="auto", arrived_s=0.0, created_s=0.0)

    async def send(message: MutableMapping[str, Any]) -> None:
        del message

    return Life(parts, ChatService(parts)._shared, call, target, Exchange(send))


@pytest.mark.parametrize("model", ["teto/auto", "teto/local", "teto/cloud", "gpt-4o", "far"])
def test_from_a_private_life_no_upstream_can_be_reached(model: str) -> None:
    """No chain of attributes leads from the life of a private request to a cloud; from a public one it does."""
    dice = random.Random(1)  # noqa: S311
    clouds = [make_cloud(dice, "first"), make_cloud(dice, "second")]
    parts = make_parts(dice, clouds, RULES, MemoryLedger())
    closed = sealed(parts)
    private = life_of(closed, closed.router.resolve_private(model, "auto"))
    assert not [item for item in reachable(private) if isinstance(item, FakeUpstream)]
    public = life_of(parts, parts.router.resolve(model, "auto"))
    assert [item for item in reachable(public) if isinstance(item, FakeUpstream)]
