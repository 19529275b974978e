"""The ports: what the gateway, the audit and the measurements ask of the world. Each has one contract suite."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from teto.physics.device import Device
from teto.physics.precision import WeightBytes
from teto.physics.shape import Shape
from teto.receipt import Receipt
from teto.wire.chat import ChatRequest
from teto.wire.generation import Finish, Piece

__all__ = [
    "Capability",
    "Clock",
    "DriftStore",
    "Engine",
    "EngineFacts",
    "EngineState",
    "Ledger",
    "PowerMeter",
    "PowerReading",
    "PromptCount",
    "Upstream",
    "UpstreamAnswer",
    "UpstreamFacts",
]

Capability = Literal["logprobs", "schema"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """What is true of an engine while it runs.

    `fingerprint` identifies everything that a calibration depends on. Speeds are those of one stream, None when
    nobody measured them. A prompt goes in by batches of `prefill_batch_tokens`, each with the head at its end; None:
    nobody knows how. Shape, weights and device are None where the engine does not show its model file.
    """

    name: str
    model: str
    fingerprint: str
    context_tokens: int
    slots: int
    capabilities: frozenset[Capability]
    prefill_tokens_per_s: float | None
    decode_tokens_per_s: float | None
    prefill_batch_tokens: int | None = None
    shape: Shape | None = None
    weights: WeightBytes | None = None
    device: Device | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineState:
    """An engine at this moment: `expected_wait_s` is what a new request would wait for a slot."""

    ready: bool
    active: int
    waiting: int
    expected_wait_s: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCount:
    """The tokens of a prompt after its template; `cached_tokens` of them need no prefill now."""

    tokens: int
    cached_tokens: int
    exact: bool


class Engine(Protocol):
    """Runs a model here."""

    @property
    def facts(self) -> EngineFacts:
        """What is true of it while it runs."""

    def state(self) -> EngineState:
        """How busy it is now."""

    async def count(self, request: ChatRequest) -> PromptCount:
        """The tokens of the request's prompt.

        Raises:
            EngineError: it cannot answer now.
        """

    def generate(self, request: ChatRequest, *, output_limit_tokens: int) -> AsyncGenerator[Piece | Finish, None]:
        """Pieces, then exactly one Finish. Closing the iterator stops the work and frees its slot.

        Raises:
            EngineBusyError: more wait than its queue holds.
            EngineDiedError: its process ended.
            EngineError: it cannot answer now.
        """

    async def close(self) -> None:
        """Stop it, and everything it started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamFacts:
    """A remote API: the name in the settings, and the model that is called when the client named none."""

    name: str
    base_url: str
    model: str


class UpstreamAnswer(Protocol):
    """An answer with status 200 whose body is still arriving."""

    @property
    def content_type(self) -> str:
        """The body's type as the upstream named it."""

    def chunks(self) -> AsyncIterator[bytes]:
        """The body's bytes as they arrive.

        Raises:
            UpstreamCutError: the connection broke, or the gap between chunks passed its limit.
        """


class Upstream(Protocol):
    """A remote API that takes chat completions."""

    @property
    def facts(self) -> UpstreamFacts:
        """What the settings say of it."""

    def send(self, body: bytes) -> AbstractAsyncContextManager[UpstreamAnswer]:
        """Send a chat completion; leaving the context stops the work.

        Raises:
            UpstreamUnreachableError: no answer.
            UpstreamStatusError: an answer other than 200.
        """

    async def close(self) -> None:
        """Close its connections."""


class Ledger(Protocol):
    """Keeps receipts."""

    async def append(self, receipt: Receipt) -> None:
        """Keep a receipt; when this returns, a killed process loses it no more."""

    async def recent(self, *, limit: int, since_s: float | None = None) -> Sequence[Receipt]:
        """The newest receipts first, at most `limit`, none older than the Unix time `since_s`."""

    async def find(self, receipt_id: str) -> Receipt | None:
        """The receipt of that id."""

    async def close(self) -> None:
        """Write what waits, and close."""


class DriftStore(Protocol):
    """Keeps the state of the drift alarms, as the bytes that it was given."""

    def load(self) -> bytes | None:
        """What was saved last; None where nothing was."""

    async def save(self, state: bytes) -> None:
        """Replace it, whole or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerReading:
    """An energy counter's value: joules since an arbitrary start, or None with the reason in `note`."""

    joules: float | None
    boundary: str | None
    note: str


class PowerMeter(Protocol):
    """Reads an energy counter."""

    def read(self) -> PowerReading:
        """The counter now; a difference of two readings is the energy between them."""


class Clock(Protocol):
    """Time, passed in so that tests can own it."""

    def monotonic_s(self) -> float:
        """Seconds of a clock that never steps, from nanosecond ticks."""

    def unix_s(self) -> float:
        """Seconds since 1970."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""
