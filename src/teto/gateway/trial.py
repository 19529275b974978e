"""The local model's side of a request's life: asked whether it may try, run, held back, judged, accounted for."""

import asyncio

from teto.errors import EngineError
from teto.gateway.local import LocalAttempt, LocalTools
from teto.gateway.parts import ChatParts
from teto.gateway.served import ServedCall
from teto.ports import PromptCount
from teto.receipt import RunOutcome
from teto.triage.admission import Admission, LocalFacts, admit, inability
from teto.triage.policy import Answer, Verdict, decide
from teto.triage.recognise import recognise

__all__ = ["Trial"]

# The added-delay limit binds the prediction; the delay itself is cut at this multiple of it.
_OVERRUN_FACTOR = 2.0
_UNCOUNTED = PromptCount(tokens=0, cached_tokens=0, exact=False)
_LIMIT_OF_A_DECISION_TOKENS = 512  # a structured answer that is longer than this is not waited for


class Trial:
    """Writes what it finds into the call; knows nothing of clouds and clients."""

    def __init__(self, parts: ChatParts, call: ServedCall) -> None:
        self._parts = parts
        self._call = call
        self._count = _UNCOUNTED

    async def admission(self) -> Admission | None:
        """What admission says; None, with its reason noted, when the engine cannot even be asked."""
        engine, request = self._parts.engine, self._call.request
        if engine is None:
            self._call.note("no_engine", self._parts.engine_note)
            return None
        recognition = recognise(request)
        self._call.task = recognition.task
        facts, state = engine.facts, engine.state()
        try:
            # What the engine cannot take is not shown to it, not even to be counted.
            if inability(request, facts.capabilities) is None:
                self._count = await engine.count(request)
        except EngineError as error:
            self._call.note(error.code, str(error))
            return None
        count = self._count
        found = admit(
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
        self._call.reasons += found.reasons
        return found

    def attempt(self) -> LocalAttempt:
        """A new run of the engine; whoever has it discards it, on every path."""
        assert self._parts.engine is not None  # noqa: S101 - there is an admission, so there is an engine
        tools = LocalTools(
            engine=self._parts.engine,
            clock=self._parts.clock,
            power=self._parts.power,
            mean_power_w=self._parts.mean_power_w,
        )
        room = self._parts.engine.facts.context_tokens - self._count.tokens
        limit = self._call.request.output_limit_tokens
        return LocalAttempt(self._call.request, tools, output_limit_tokens=min(limit or room, room))

    async def judge(self, attempt: LocalAttempt, admission: Admission, *, bounded: bool) -> bool:
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
            await self.discard(attempt, "cancelled")
            raise
        answer = Answer(pieces=attempt.pieces, finish_reason=attempt.finish.reason if attempt.finish else None)
        decision = decide(admission, answer, schema=schema, min_confidence=self._parts.policy.min_confidence)
        self._call.reasons += decision.reasons
        self._call.decisive = decision.reasons[-1].code
        self._call.threshold = decision.threshold
        self._call.confidence = decision.confidence.score if decision.confidence else None
        self._call.verdict = decision.verdict
        return decision.verdict is Verdict.KEEP

    async def discard(self, attempt: LocalAttempt, outcome: RunOutcome) -> None:
        """Stop the attempt if it still runs, and account for it."""
        await attempt.stop()
        self._call.local = attempt.account("failed" if attempt.failed else outcome, count=self._count)

    async def decide_in_shadow(self) -> ServedCall:
        """Decide as `auto` would, release nothing, and give what happened."""
        admission = await self.admission()
        self._call.verdict = "escalate"
        if admission is None or admission.objection is not None:
            return self._call
        attempt = self.attempt()
        try:
            if await self.judge(attempt, admission, bounded=True):
                await attempt.hold_back(None)  # to the end, so that the two answers can be compared
        except EngineError as error:
            self._call.note(error.code, str(error))
        finally:
            await self.discard(attempt, "shadow")
        return self._call
