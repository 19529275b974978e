"""The life of a chat completion after its name and mode are resolved, on one path.

admission → local attempt, held back → keep: release it
                                     → escalate: go up → the cloud fails: degraded, or an honest refusal
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from teto.config import GatewaySettings, PolicySettings
from teto.errors import (
    ContextOverflowError,
    EngineError,
    RequestError,
    UnavailableError,
    UpstreamError,
    UpstreamStatusError,
    UpstreamUnreachableError,
)
from teto.gateway.breaker import Breaker
from teto.gateway.cloud import CloudAttempt, Price
from teto.gateway.exchange import Closing, Exchange
from teto.gateway.local import LocalAttempt, LocalTools
from teto.gateway.release import release
from teto.gateway.routing import Router, Target
from teto.gateway.served import ServedCall
from teto.ports import Clock, Engine, Ledger, PowerMeter, Upstream
from teto.receipt import RunOutcome
from teto.triage.admission import Admission, LocalFacts, admit
from teto.triage.policy import Answer, Verdict, decide
from teto.triage.recognise import recognise

__all__ = ["ChatParts", "Life"]

# The added-delay limit binds the prediction; the delay itself is cut at this multiple of it.
_OVERRUN_FACTOR = 2.0
_LIMIT_OF_A_DECISION_TOKENS = 512  # an answer that nobody waits for is not generated longer than this


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatParts:
    """What serving needs, all given; `engine` is None where none is configured, and `engine_note` says why."""

    engine: Engine | None
    engine_note: str
    upstreams: Mapping[str, Upstream]
    router: Router
    ledger: Ledger
    power: PowerMeter
    clock: Clock
    price: Price
    gateway: GatewaySettings
    policy: PolicySettings
    mean_power_w: float


class Life:
    """One request's life. `run` gives the last bytes; what happened is written into the call on the way."""

    def __init__(
        self,
        parts: ChatParts,
        breakers: Mapping[str, Breaker],
        call: ServedCall,
        target: Target,
        exchange: Exchange,
    ) -> None:
        self._parts = parts
        self._call = call
        self._target = target
        self._exchange = exchange
        self._breakers = breakers
        self._prompt_tokens = 0
        self.shadow: asyncio.Task[ServedCall] | None = None

    async def run(self) -> Closing:
        """Answer the request.

        Raises:
            TetoError: an honest refusal, or a fault after the response had started.
        """
        course = self._target.course
        if course == "auto":
            return await self._auto()
        if course == "local":
            return await self._forced_local()
        if course == "observe":
            return await self._observe()
        self._call.note("forced_cloud", "The model's name or the mode sends it to the cloud.")
        self._call.verdict = "cloud"
        return await self._go_up(self._required_cloud())

    # -- the four courses ----------------------------------------------------------------------------------------

    async def _auto(self) -> Closing:
        cloud = self._open_cloud()
        admission = await self._admission()
        attempt: LocalAttempt | None = None
        if admission is not None and admission.admissible and (admission.in_time or cloud is None):
            attempt = self._attempt()
            if await self._decide(attempt, admission, bounded=cloud is not None):
                try:
                    return await self._release(attempt)
                except EngineError as error:
                    if self._exchange.started:
                        raise
                    self._call.note(error.code, str(error))  # nothing was shown, so it may still go up
        elif admission is not None and admission.objection is not None:
            self._call.decisive = admission.objection.code
        self._call.verdict = "escalate"
        if cloud is None:
            return await self._without_cloud(admission, attempt, None)
        if attempt is not None:
            await self._discard(attempt, "discarded")
        try:
            return await self._go_up(cloud)
        except UpstreamError as error:
            if self._exchange.started or (isinstance(error, UpstreamStatusError) and error.is_the_requests_fault):
                raise
            self._call.note(error.code, str(error))
            return await self._without_cloud(admission, attempt, error)

    async def _forced_local(self) -> Closing:
        self._call.note("forced_local", "The model's name or the mode keeps it here.")
        self._call.verdict = "local"
        admission = await self._admission()
        if admission is None:
            raise UnavailableError(f"The local engine cannot answer: {self._call.reasons[-1].text}")
        self._require_able(admission)
        return await self._release(self._attempt())

    async def _observe(self) -> Closing:
        self._call.note("observe", "Observe mode: the cloud answers, the local decision is recorded beside it.")
        cloud = self._required_cloud()
        beside = replace(self._call, reasons=[])
        life = Life(self._parts, self._breakers, beside, self._target, self._exchange)
        self.shadow = asyncio.create_task(life.decide_in_shadow())
        try:
            return await self._go_up(cloud)
        except BaseException:
            self.shadow.cancel()
            await asyncio.gather(self.shadow, return_exceptions=True)
            raise

    async def decide_in_shadow(self) -> ServedCall:
        """Decide as `auto` would, release nothing, and give what happened."""
        admission = await self._admission()
        self._call.verdict = "escalate"
        if admission is None or admission.objection is not None:
            return self._call
        attempt = self._attempt()
        try:
            if await self._decide(attempt, admission, bounded=True):
                await attempt.hold_back(None)  # to the end, so that the two answers can be compared
        except EngineError as error:
            self._call.note(error.code, str(error))
        finally:
            await self._discard(attempt, "shadow")
        return self._call

    # -- admission and decision ----------------------------------------------------------------------------------

    async def _admission(self) -> Admission | None:
        """What admission says; None, with its reason noted, when the engine cannot even be asked."""
        engine, request = self._parts.engine, self._call.request
        if engine is None:
            self._call.note("no_engine", self._parts.engine_note)
            return None
        recognition = recognise(request)
        self._call.task = recognition.task
        try:
            count = await engine.count(request)
        except EngineError as error:
            self._call.note(error.code, str(error))
            return None
        facts, state = engine.facts, engine.state()
        self._prompt_tokens = count.tokens
        admission = admit(
            request,
            recognition,
            LocalFacts(
                capabilities=facts.capabilities,
                context_tokens=facts.context_tokens,
                prompt_tokens=count.tokens,
                cached_tokens=count.cached_tokens,
                prompt_count_exact=count.exact,
                expected_wait_s=state.expected_wait_s,
                active=state.active,
                prefill_tokens_per_s=facts.prefill_tokens_per_s,
                decode_tokens_per_s=facts.decode_tokens_per_s,
            ),
            added_delay_limit_s=self._parts.policy.added_delay_limit_s,
            hold_back_limit_tokens=self._parts.policy.hold_back_tokens,
        )
        self._call.reasons += admission.reasons
        return admission

    def _attempt(self) -> LocalAttempt:
        assert self._parts.engine is not None  # noqa: S101 - there is an admission, so there is an engine
        tools = LocalTools(
            engine=self._parts.engine,
            clock=self._parts.clock,
            power=self._parts.power,
            mean_power_w=self._parts.mean_power_w,
        )
        room = self._parts.engine.facts.context_tokens - self._prompt_tokens
        limit = self._call.request.output_limit_tokens
        return LocalAttempt(self._call.request, tools, output_limit_tokens=min(limit or room, room))

    async def _decide(self, attempt: LocalAttempt, admission: Admission, *, bounded: bool) -> bool:
        """Hold the attempt back, then decide; True keeps it. An engine that fails or overruns escalates."""
        schema = self._call.request.json_schema
        held = _LIMIT_OF_A_DECISION_TOKENS if schema is not None else self._parts.policy.hold_back_tokens
        limit_s = _OVERRUN_FACTOR * self._parts.policy.added_delay_limit_s if bounded else None
        try:
            async with asyncio.timeout(limit_s):
                await attempt.hold_back(held)
        except TimeoutError:
            self._call.note("overrun", f"No decision within {limit_s:g} s, twice the added-delay limit.")
            return False
        except EngineError as error:
            self._call.note(error.code, str(error))
            return False
        except asyncio.CancelledError:
            await self._discard(attempt, "cancelled")
            raise
        answer = Answer(pieces=attempt.pieces, finish_reason=attempt.finish.reason if attempt.finish else None)
        decision = decide(admission, answer, schema=schema, min_confidence=self._parts.policy.min_confidence)
        self._call.reasons += decision.reasons
        self._call.decisive = decision.reasons[-1].code
        self._call.threshold = decision.threshold
        self._call.confidence = decision.confidence.mean_probability if decision.confidence else None
        self._call.verdict = decision.verdict
        return decision.verdict is Verdict.KEEP

    def _require_able(self, admission: Admission) -> None:
        if admission.able:
            return
        reason = next(r for r in admission.reasons if r.code not in {"task_open", "task_closed"})
        if reason.code == "context":
            raise ContextOverflowError(
                reason.text,
                fix="Shorten it, raise engine.context_tokens, or use teto/cloud.",
                param="messages",
            )
        raise RequestError(f"The local engine cannot answer this. {reason.text}", fix="Use teto/auto or teto/cloud.")

    # -- the ends ------------------------------------------------------------------------------------------------

    async def _release(self, attempt: LocalAttempt) -> Closing:
        """Send the attempt's answer, what was held back first."""
        self._call.route = "local"
        outcome: RunOutcome = "failed"
        try:
            closing = await release(self._call, attempt, self._exchange, clock=self._parts.clock, model=attempt.model)
            outcome = "kept"
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        else:
            return closing
        finally:
            await self._discard(attempt, outcome)

    async def _discard(self, attempt: LocalAttempt, outcome: RunOutcome) -> None:
        """Stop the attempt if it still runs, and account for it."""
        await attempt.stop()
        self._call.local = attempt.account("failed" if attempt.failed else outcome, prompt_tokens=self._prompt_tokens)

    async def _go_up(self, cloud: Upstream) -> Closing:
        breaker = self._breakers[cloud.facts.name]
        if not breaker.allows():
            raise UpstreamUnreachableError(
                f"The cloud {cloud.facts.name!r} is down and is retried soon.", upstream=cloud.facts.name
            )
        attempt = CloudAttempt(self._call, self._target, cloud, clock=self._parts.clock, price=self._parts.price)
        note = "cancelled"
        try:
            closing = await attempt.relay(self._exchange)
            note = ""
        except UpstreamError as error:
            note = str(error)
            if isinstance(error, UpstreamStatusError) and error.passes_through:
                breaker.succeeded()
            else:
                breaker.failed()
            raise
        finally:
            self._call.cloud = attempt.account(note)
        breaker.succeeded()
        self._call.route = "cloud"
        self._call.finish_reason = self._call.cloud.finish_reason
        return closing

    async def _without_cloud(
        self, admission: Admission | None, attempt: LocalAttempt | None, error: UpstreamError | None
    ) -> Closing:
        """No cloud answers: what is admissible is answered here and marked degraded, the rest is refused."""
        best_effort = self._parts.gateway.degraded == "best_effort"
        if admission is not None and admission.able and (admission.closed or best_effort):
            self._call.degraded = True
            self._call.note("degraded", "No cloud could answer, so the local answer stands, whatever its confidence.")
            if attempt is not None and attempt.finish is not None:
                return await self._release(attempt)
            if attempt is not None:
                await attempt.stop()  # it was cut short; its prompt is still in the cache
            return await self._release(self._attempt())
        if attempt is not None:
            await self._discard(attempt, "discarded")
        if error is not None:
            raise error
        if admission is not None and not admission.able:
            self._require_able(admission)
        why = "; ".join(reason.text for reason in self._call.reasons)
        raise UnavailableError(
            f"No cloud can answer, and the local model may not: {why}",
            fix="Configure an upstream in teto.toml, or set gateway.degraded to best_effort.",
        )

    # -- clouds --------------------------------------------------------------------------------------------------

    def _open_cloud(self) -> Upstream | None:
        """The cloud this request may go up to now; None, with its reason noted, when there is none."""
        cloud = self._target.upstream
        if cloud is None:
            self._call.note("no_cloud", "No cloud is configured.")
            return None
        if self._breakers[cloud.facts.name].is_open:
            self._call.note("cloud_down", f"The cloud {cloud.facts.name!r} is down and is retried soon.")
            return None
        return cloud

    def _required_cloud(self) -> Upstream:
        cloud = self._open_cloud()
        if cloud is None:
            raise UnavailableError(
                f"Only a cloud may answer this: {self._call.reasons[-1].text}",
                fix="Add an [upstreams.NAME] table to teto.toml, or try again later.",
            )
        return cloud
