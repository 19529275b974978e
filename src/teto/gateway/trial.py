"""The local model's side of a request's life: asked whether it may try, run, held back, judged, accounted for."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from teto.errors import EngineError
from teto.gateway.aside import Asides
from teto.gateway.local import LocalAttempt, LocalTools
from teto.gateway.parts import ChatParts
from teto.gateway.served import ServedCall
from teto.gateway.shared import Shared
from teto.ports import PromptCount
from teto.receipt import RunOutcome
from teto.triage.admission import Admission, LocalFacts, Reason, admit, inability
from teto.triage.calibration import PrefixRule
from teto.triage.empty_input import closed_labels, given_text
from teto.triage.form import Answer
from teto.triage.policy import (
    Case,
    Decision,
    Verdict,
    decide,
    sampler_fault,
    signals_for,
    wants_empty,
    wants_second,
)
from teto.triage.recognise import recognise

__all__ = ["Trial"]

# The added-delay limit binds the prediction; the delay itself is cut at this multiple of it.
_OVERRUN_FACTOR = 2.0
_UNCOUNTED = PromptCount(tokens=0, cached_tokens=0, exact=False)
_LIMIT_OF_A_DECISION_TOKENS = 512  # a structured answer that is longer than this is not waited for


class Trial:
    """Writes what it finds into the call; knows nothing of clouds and clients."""

    def __init__(self, parts: ChatParts, call: ServedCall, shared: Shared) -> None:
        self._parts = parts
        self._call = call
        self._shared = shared
        self._count = _UNCOUNTED
        self._asides: Asides | None = None

    @property
    def _rule(self) -> PrefixRule | None:
        """The engine's calibrated rule for the hold-back of the settings; None where it is not calibrated."""
        calibration = self._parts.calibration
        return None if calibration is None else calibration.rule(self._parts.policy.hold_back_tokens)

    @property
    def _hold_back_tokens(self) -> int:
        if self._call.request.json_schema is not None:
            return _LIMIT_OF_A_DECISION_TOKENS
        return self._parts.policy.hold_back_tokens if self._rule is None else self._rule.hold_back_tokens

    async def admission(self) -> Admission | None:
        """What admission says; None, with its reason noted, when the engine cannot even be asked."""
        engine, request = self._parts.engine, self._call.request
        if engine is None:
            self._call.note("no_engine", self._parts.engine_note)
            return None
        recognition = recognise(request, self._parts.task_model)
        self._call.task, self._call.language = recognition.task, recognition.language
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
            hold_back_limit_tokens=self._hold_back_tokens,
        )
        self._call.reasons += found.reasons
        return found

    @property
    def _tools(self) -> LocalTools:
        assert self._parts.engine is not None  # noqa: S101 - there is an admission, so there is an engine
        return LocalTools(
            engine=self._parts.engine,
            clock=self._parts.clock,
            power=self._parts.power,
            mean_power_w=self._parts.mean_power_w,
        )

    def attempt(self) -> LocalAttempt:
        """A new run of the engine; whoever has it discards it, on every path."""
        tools = self._tools
        room = tools.engine.facts.context_tokens - self._count.tokens
        limit = self._call.request.output_limit_tokens
        return LocalAttempt(self._call.request, tools, output_limit_tokens=min(limit or room, room))

    def _objection(self) -> Reason | None:
        """Why a calibrated engine is not asked at all: other sampling than was calibrated, or drift."""
        if self._rule is None:
            return None
        watch = self._shared.watch
        if watch is not None and watch.is_ringing(self._call.task, self._call.language):
            text = "The drift alarm of such calls has rung: none is kept until `teto calibrate` has run again."
            return Reason(code="drift", text=text)
        return sampler_fault(self._call.request)

    async def judge(
        self,
        attempt: LocalAttempt,
        admission: Admission,
        *,
        bounded: bool,
        on_doubt: Callable[[float], None] | None = None,
    ) -> bool:
        """Hold the attempt back, then decide; True keeps it. An engine that fails or overruns escalates.

        `on_doubt` is told the chance that the answer is wrong as soon as the shortest calibrated rule can say it.
        """
        if objection := self._objection():
            self._call.note(objection.code, objection.text)
            return False
        limit_s = _OVERRUN_FACTOR * self._parts.policy.added_delay_limit_s if bounded else None
        try:
            async with asyncio.timeout(limit_s):
                if on_doubt is not None:
                    await self._glance(attempt, admission, on_doubt)
                await attempt.hold_back(self._hold_back_tokens)
                decision = await self._decide(attempt, admission)
        except TimeoutError:
            self._call.note("overrun", f"No decision within {limit_s:g} s, twice the added-delay limit.")
            return False
        except EngineError as error:
            self._call.note(error.code, str(error))
            return False
        except asyncio.CancelledError:
            await self.discard(attempt, "cancelled")
            raise
        self._call.reasons += decision.reasons
        self._call.decisive = decision.reasons[-1].code
        self._call.threshold = decision.threshold
        self._call.confidence = decision.confidence
        self._call.promise = decision.promise
        self._call.score_id = self._rule.score_id if self._rule is not None else None
        self._call.verdict = decision.verdict
        return decision.verdict is Verdict.KEEP

    async def _glance(self, attempt: LocalAttempt, admission: Admission, on_doubt: Callable[[float], None]) -> None:
        calibration = self._parts.calibration
        if calibration is None:
            return
        first = calibration.rules[0]
        await attempt.hold_back(first.hold_back_tokens)
        answer = Answer(pieces=attempt.pieces, finish_reason=attempt.finish.reason if attempt.finish else None)
        signals = signals_for(self._case(answer.cut(first.hold_back_tokens), admission))
        if signals is not None:
            on_doubt(1 - first.score.of(admission.task, signals))

    def _case(self, answer: Answer, admission: Admission) -> Case:
        request = self._call.request
        return Case(
            task=admission.task,
            language=self._call.language,
            answer=answer,
            schema=request.json_schema,
            labels=closed_labels(request, admission.task),
            empty=None,
            rule=self._rule,
            request_text="\n".join(message.text for message in request.messages),
            given=given_text(request),
        )

    async def _decide(self, attempt: LocalAttempt, admission: Admission) -> Decision:
        """Decide, once what else the score asks for is known."""
        request = self._call.request
        answer = Answer(pieces=attempt.pieces, finish_reason=attempt.finish.reason if attempt.finish else None)
        case = self._case(answer.cut(self._hold_back_tokens), admission)
        self._asides = Asides(self._tools, self._shared.empty_inputs)
        if wants_empty(case):
            case = replace(case, empty=await self._asides.empty(request))
        if wants_second(case):
            case = replace(case, second=await self._asides.second(request))
        return decide(case, min_confidence=self._parts.policy.min_confidence)

    async def discard(self, attempt: LocalAttempt, outcome: RunOutcome) -> None:
        """Stop the attempt if it still runs, and account for it."""
        await attempt.stop()
        self._call.local_text = attempt.text if attempt.finish is not None else None
        run = attempt.account("failed" if attempt.failed else outcome, count=self._count)
        self._call.local = run if self._asides is None else replace(run, extra=tuple(self._asides.runs))

    async def decide_in_shadow(self) -> ServedCall:
        """Decide as `auto` would, release nothing, and give what happened."""
        admission = await self.admission()
        self._call.verdict = "escalate"
        if admission is None or admission.objection is not None:
            return self._call
        attempt = self.attempt()
        try:
            await self.judge(attempt, admission, bounded=True)
            await attempt.hold_back(None)  # to the end, whatever was decided, so that the two answers can be compared
        except EngineError as error:
            self._call.note(error.code, str(error))
        finally:
            await self.discard(attempt, "shadow")
        return self._call
