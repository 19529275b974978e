"""One attempt of the engine at a request: run, held back, released or stopped, and accounted for."""

import hashlib
from dataclasses import dataclass
from typing import Final

from teto.errors import EngineError
from teto.physics.energy import Energy, derived_energy, unknown_energy
from teto.physics.precision import Dtype
from teto.physics.roofline import Work, ceiling, decode, prefill
from teto.ports import Clock, Engine, EngineFacts, PowerMeter, PowerReading, PromptCount
from teto.receipt import LocalRun, Phase, RunOutcome
from teto.wire.chat import ChatRequest
from teto.wire.generation import Finish, Piece, RunTimings

__all__ = ["LocalAttempt", "LocalTools"]

_COMPUTE_DTYPES: Final[tuple[Dtype, ...]] = ("fp32",)  # what the probe measures
_UNEXPLAINED_ABOVE: Final = 0.30  # the share of a phase's time that its ceiling leaves unexplained


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTools:
    """What an attempt works with; `mean_power_w` is 0 when the operator stated none."""

    engine: Engine
    clock: Clock
    power: PowerMeter
    mean_power_w: float


class LocalAttempt:
    """Reads the engine's stream; whoever made it must `stop` it, on every path."""

    def __init__(self, request: ChatRequest, tools: LocalTools, *, output_limit_tokens: int) -> None:
        self._tools = tools
        self._stream = tools.engine.generate(request, output_limit_tokens=output_limit_tokens)
        self._start_s = tools.clock.monotonic_s()
        self._start_power = tools.power.read()
        self._first_s: float | None = None
        self._end_s: float | None = None
        self._end_power: PowerReading | None = None
        self.failed = False
        self.pieces: list[Piece] = []
        self.finish: Finish | None = None

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def model(self) -> str:
        """The model that answers."""
        return self._tools.engine.facts.model

    async def hold_back(self, n_tokens: int | None) -> None:
        """Read until `n_tokens` have come, or to the end if None."""
        held = sum(max(1, len(piece.tokens)) for piece in self.pieces)
        while n_tokens is None or held < n_tokens:
            piece = await self.next()
            if piece is None:
                return
            held += max(1, len(piece.tokens))

    async def next(self) -> Piece | None:
        """The next piece, which is also kept in `pieces`; None at the end."""
        if self.finish is not None:
            return None
        try:
            event = await anext(self._stream)
        except EngineError:
            self.failed = True
            raise
        if isinstance(event, Finish):
            self.finish = event
            await self.stop()
            return None
        self._first_s = self._first_s if self._first_s is not None else self._tools.clock.monotonic_s()
        self.pieces.append(event)
        return event

    async def stop(self) -> None:
        """Stop the engine's work on this request; nothing if it has ended."""
        if self._end_s is None:
            self._end_s = self._tools.clock.monotonic_s()
            self._end_power = self._tools.power.read()
        await self._stream.aclose()

    def account(self, outcome: RunOutcome, *, count: PromptCount, note: str = "") -> LocalRun:
        """What the attempt did. A stopped one is accounted from this side's clock, with the tokens that came.

        Before the first token nobody knows how much of the prompt was computed: its phases are None then.
        """
        facts = self._tools.engine.facts
        timings = self.finish.timings if self.finish is not None else self._partial(count)
        end_s = self._end_s if self._end_s is not None else self._tools.clock.monotonic_s()
        busy_s = end_s - self._start_s if timings is None else timings.prefill_s + timings.decode_s
        energy = self._energy(busy_s)
        return LocalRun(
            engine=facts.name,
            model=facts.model,
            fingerprint=facts.fingerprint,
            outcome=outcome,
            finish_reason=self.finish.reason if self.finish is not None else None,
            prompt_tokens=count.tokens if timings is None else timings.prompt_tokens,
            cached_tokens=count.cached_tokens if timings is None else timings.cached_tokens,
            output_tokens=0 if timings is None else timings.output_tokens,
            count_source="counted before the run" if timings is None else timings.source,
            queue_s=max(0.0, end_s - self._start_s - busy_s),
            prefill=None if timings is None else _prefill_phase(facts, timings, energy),
            decode=None if timings is None else _decode_phase(facts, timings, energy),
            energy=energy,
            answer_sha256=hashlib.sha256(self.text.encode()).hexdigest() if self.finish is not None else None,
            note=note,
        )

    def _partial(self, count: PromptCount) -> RunTimings | None:
        if self._first_s is None:
            return None
        end_s = self._end_s if self._end_s is not None else self._tools.clock.monotonic_s()
        output = sum(max(1, len(piece.tokens)) for piece in self.pieces)
        return RunTimings(
            prefilled_tokens=count.tokens - count.cached_tokens,
            cached_tokens=count.cached_tokens,
            output_tokens=output,
            decode_steps=max(0, output - 1),
            prefill_s=self._first_s - self._start_s,
            decode_s=end_s - self._first_s,
            source="stopped early: this side's clock, the cache as it was predicted",
        )

    def _energy(self, busy_s: float) -> Energy:
        # What is drawn after the run, while its answer waits for a cloud that then fails, is not the run's.
        end_power = self._end_power or self._tools.power.read()
        measured = _difference(self._start_power, end_power)
        if measured is not None:
            return measured
        if self._tools.mean_power_w > 0:
            return derived_energy(
                power_w=self._tools.mean_power_w,
                seconds=busy_s,
                boundary="as stated",
                source="power.mean_power_w",
            )
        return unknown_energy(f"{end_power.note}; power.mean_power_w is not set")


def _difference(start: PowerReading, end: PowerReading) -> Energy | None:
    if start.joules is None or end.joules is None:
        return None
    note = f"{end.note}; everything that ran meanwhile is in it"
    return Energy(joules=end.joules - start.joules, kind="measured", boundary=end.boundary, note=note)


def _share(energy: Energy, seconds: float, total_s: float) -> Energy:
    if energy.joules is None or total_s <= 0:
        return energy if energy.joules is None else unknown_energy("the run took no time")
    joules = energy.joules * seconds / total_s
    return Energy(joules=joules, kind="derived", boundary=energy.boundary, note="the run's energy, by its time")


def _phase(facts: EngineFacts, work: Work | None, tokens: int, seconds: float, energy: Energy) -> Phase:
    read = None if work is None else float(work.bytes)
    flops = None if work is None else float(work.flops)
    if work is None or facts.device is None:
        return Phase(
            tokens=tokens,
            seconds=seconds,
            bytes_read=read,
            flops=flops,
            ceiling_s=None,
            bound=None,
            energy=energy,
        )
    device = facts.device
    rate = device.rate(_COMPUTE_DTYPES)
    least = ceiling(
        work,
        mem_bandwidth_bytes_per_s=device.mem_bandwidth_bytes_per_s,
        flops_per_s=None if rate is None else rate.flops_per_s,
    )
    explained = seconds <= 0 or least.seconds >= (1 - _UNEXPLAINED_ABOVE) * seconds
    return Phase(
        tokens=tokens,
        seconds=seconds,
        bytes_read=read,
        flops=flops,
        ceiling_s=least.seconds,
        bound=least.limit if explained else "unexplained",
        energy=energy,
    )


def _prefill_phase(facts: EngineFacts, timings: RunTimings, energy: Energy) -> Phase:
    work = None
    if facts.shape is not None and facts.weights is not None:
        work = prefill(
            facts.shape,
            facts.weights,
            n_tokens=timings.prefilled_tokens,
            past_tokens=timings.cached_tokens,
            batch_tokens=facts.prefill_batch_tokens,
            is_head_in_each_batch=facts.prefill_batch_tokens is not None,
        )
    share = _share(energy, timings.prefill_s, timings.prefill_s + timings.decode_s)
    return _phase(facts, work, timings.prefilled_tokens, timings.prefill_s, share)


def _decode_phase(facts: EngineFacts, timings: RunTimings, energy: Energy) -> Phase:
    work = None
    if facts.shape is not None and facts.weights is not None:
        work = decode(
            facts.shape,
            facts.weights,
            n_steps=timings.decode_steps,
            start_context_tokens=timings.prompt_tokens,
        )
    share = _share(energy, timings.decode_s, timings.prefill_s + timings.decode_s)
    return _phase(facts, work, timings.decode_steps, timings.decode_s, share)
