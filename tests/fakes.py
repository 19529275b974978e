"""Fakes of every port; each passes the port's contract suite, and is passed in, never patched."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field

from teto.engines.slots import Slots
from teto.errors import EngineError, TetoError, UpstreamCutError
from teto.ports import EngineFacts, EngineState, PowerReading, PromptCount, UpstreamAnswer, UpstreamFacts
from teto.receipt import Receipt
from teto.wire.chat import ChatRequest
from teto.wire.generation import Finish, FinishReason, Piece, RunTimings, TokenLogprob

__all__ = [
    "FakeClock",
    "FakeEngine",
    "FakeMeter",
    "FakeUpstream",
    "MemoryLedger",
    "engine_facts",
    "sure_pieces",
]


class FakeClock:
    """A clock that moves only when it is slept on or pushed."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic_s(self) -> float:
        """Seconds of the fake."""
        return self.now_s

    def unix_s(self) -> float:
        """Seconds of the fake, as if since 1970."""
        return 1_800_000_000.0 + self.now_s

    async def sleep(self, seconds: float) -> None:
        """Move the clock on at once."""
        self.now_s += seconds
        await asyncio.sleep(0)


def engine_facts(*, context_tokens: int = 4096, slots: int = 2) -> EngineFacts:
    """Facts of a quick engine without a model file."""
    return EngineFacts(
        name="fake",
        model="fake-model",
        fingerprint="fake:1",
        context_tokens=context_tokens,
        slots=slots,
        capabilities=frozenset({"logprobs", "schema"}),
        prefill_tokens_per_s=1000.0,
        decode_tokens_per_s=100.0,
    )


def sure_pieces(text: str, *, logprob: float = -0.01) -> list[Piece]:
    """The text, word by word, each word one token of that logprob."""
    words = [word if index == 0 else f" {word}" for index, word in enumerate(text.split(" "))]
    return [Piece(text=word, tokens=(TokenLogprob(text=word, logprob=logprob),)) for word in words]


@dataclass(slots=True)
class FakeEngine:
    """Says `pieces`; `delay_s` before each, `fails_after` pieces it raises `error`. Remembers what was stopped."""

    pieces: Sequence[Piece] = field(default_factory=lambda: sure_pieces("positive"))
    finish_reason: FinishReason = "stop"
    delay_s: float = 0.0
    error: TetoError | None = None
    fails_after: int = 0
    prompt_tokens: int = 20
    given_facts: EngineFacts = field(default_factory=engine_facts)
    started: int = 0
    stopped_early: int = 0
    closed: bool = False
    queue_limit: int = 100
    limits: list[int] = field(default_factory=list)
    slots: Slots = field(init=False)

    def __post_init__(self) -> None:
        """Slots as the real engines have them."""
        self.slots = Slots(self.given_facts.slots, queue_limit=self.queue_limit)

    @property
    def active(self) -> int:
        """Answers being said."""
        return self.slots.active

    def _check_open(self) -> None:
        if self.closed:
            raise EngineError("The fake is closed.")

    @property
    def facts(self) -> EngineFacts:
        """Facts of the fake."""
        return self.given_facts

    def state(self) -> EngineState:
        """Ready until it is closed."""
        return EngineState(
            ready=not self.closed, active=self.slots.active, waiting=self.slots.waiting, expected_wait_s=0.0
        )

    async def count(self, request: ChatRequest) -> PromptCount:
        """The same count for every prompt."""
        del request
        self._check_open()
        return PromptCount(tokens=self.prompt_tokens, cached_tokens=0, exact=True)

    async def generate(self, request: ChatRequest, *, output_limit_tokens: int) -> AsyncGenerator[Piece | Finish, None]:
        """Say the pieces."""
        del request
        self._check_open()
        async with self.slots.hold(()):
            self.limits.append(output_limit_tokens)
            self.started += 1
            said, ended = 0, False
            try:
                for piece in self.pieces[:output_limit_tokens]:
                    if self.error is not None and said >= self.fails_after:
                        break
                    await asyncio.sleep(self.delay_s)
                    said += 1
                    yield piece
                ended = True
                if self.error is not None:
                    raise self.error
                cut = len(self.pieces) > output_limit_tokens
                yield Finish(reason="length" if cut else self.finish_reason, timings=self._timings(said, cut=cut))
            finally:
                self.stopped_early += not ended

    def _timings(self, said: int, *, cut: bool) -> RunTimings:
        return RunTimings(
            prefilled_tokens=self.prompt_tokens,
            cached_tokens=0,
            output_tokens=said if cut else said + 1,  # the end token is an output too
            decode_steps=max(0, said - 1) if cut else said,
            prefill_s=0.02,
            decode_s=0.01 * said,
            source="fake",
        )

    async def close(self) -> None:
        """Not ready any more."""
        self.closed = True


@dataclass(slots=True)
class FakeUpstream:
    """Answers every body with `chunks`; raises `error` instead of answering, or `cut_after` chunks breaks off."""

    chunks: Sequence[bytes] = ()
    content_type: str = "application/json"
    error: TetoError | None = None
    cut_after: int | None = None
    delay_s: float = 0.0
    bodies: list[bytes] = field(default_factory=list)
    left_open: int = 0
    closed: bool = False
    given_facts: UpstreamFacts = field(
        default_factory=lambda: UpstreamFacts(name="fake", base_url="http://127.0.0.1:9/v1", model="big")
    )

    @property
    def facts(self) -> UpstreamFacts:
        """Facts of the fake."""
        return self.given_facts

    @contextlib.asynccontextmanager
    async def send(self, body: bytes) -> AsyncIterator[UpstreamAnswer]:
        """Remember the body and answer."""
        self.bodies.append(body)
        if self.error is not None:
            raise self.error
        self.left_open += 1
        try:
            yield _FakeAnswer(self)
        finally:
            self.left_open -= 1

    async def close(self) -> None:
        """Remember it."""
        self.closed = True


@dataclass(slots=True)
class _FakeAnswer:
    upstream: FakeUpstream

    @property
    def content_type(self) -> str:
        return self.upstream.content_type

    async def chunks(self) -> AsyncIterator[bytes]:
        for index, chunk in enumerate(self.upstream.chunks):
            if self.upstream.cut_after == index:
                raise UpstreamCutError("cut on purpose", upstream=self.upstream.facts.name)
            await asyncio.sleep(self.upstream.delay_s)
            yield chunk
        if self.upstream.cut_after is not None and self.upstream.cut_after >= len(self.upstream.chunks):
            raise UpstreamCutError("cut on purpose", upstream=self.upstream.facts.name)


@dataclass(slots=True)
class MemoryLedger:
    """Receipts in a dictionary."""

    receipts: dict[str, Receipt] = field(default_factory=dict)
    closed: bool = False

    async def append(self, receipt: Receipt) -> None:
        """Keep it."""
        self.receipts[receipt.id] = receipt

    async def recent(self, *, limit: int, since_s: float | None = None) -> Sequence[Receipt]:
        """The newest first."""
        found = [r for r in self.receipts.values() if since_s is None or r.created_s >= since_s]
        return sorted(found, key=lambda r: (r.created_s, r.id), reverse=True)[:limit]

    async def find(self, receipt_id: str) -> Receipt | None:
        """By id."""
        return self.receipts.get(receipt_id)

    async def close(self) -> None:
        """Remember it."""
        self.closed = True


@dataclass(slots=True)
class MemoryDriftStore:
    """Keeps the drift alarms' state in memory."""

    state: bytes | None = None

    def load(self) -> bytes | None:
        """What was saved last."""
        return self.state

    async def save(self, state: bytes) -> None:
        """Replace it."""
        self.state = state


@dataclass(slots=True)
class FakeMeter:
    """A counter that rises by `step_j` at each reading, or has none."""

    step_j: float | None = None
    joules: float = 0.0

    def read(self) -> PowerReading:
        """The counter."""
        if self.step_j is None:
            return PowerReading(joules=None, boundary=None, note="no counter in this test")
        self.joules += self.step_j
        return PowerReading(joules=self.joules, boundary="fake package", note="fake counter")
