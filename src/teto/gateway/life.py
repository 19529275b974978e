"""The life of a chat completion after its name and mode are resolved, on one path.

admission → local attempt, held back → keep: release it
                                     → escalate: go up → the cloud fails: degraded, or an honest refusal
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from teto.errors import (
    ContextOverflowError,
    EngineBusyError,
    EngineDiedError,
    EngineError,
    KeptHereError,
    PrivacyError,
    RequestError,
    UnavailableError,
    UpstreamError,
    UpstreamStatusError,
)
from teto.gateway.afterwards import Afterwards
from teto.gateway.ascent import Ascent
from teto.gateway.exchange import Closing, Exchange
from teto.gateway.local import LocalAttempt
from teto.gateway.parts import ChatParts
from teto.gateway.release import release
from teto.gateway.routing import Target
from teto.gateway.served import ServedCall
from teto.gateway.shared import Shared
from teto.gateway.trial import Trial
from teto.ports import Upstream
from teto.receipt import RunOutcome
from teto.triage.admission import Admission
from teto.triage.deadline import why_up_by_deadline

__all__ = ["Life"]

_ENGINE_FAULTS: Final = frozenset({EngineError.code, EngineBusyError.code, EngineDiedError.code})


class Life:
    """One request's life. `run` gives the last bytes; what happened is written into the call on the way."""

    def __init__(self, parts: ChatParts, shared: Shared, call: ServedCall, target: Target, exchange: Exchange) -> None:
        self._parts = parts
        self._shared = shared
        self._call = call
        self._target = target
        self._exchange = exchange
        self._trial = Trial(parts, call, shared)
        self._ascent = Ascent(parts, shared.clouds, call, target)
        self.afterwards = Afterwards(parts, shared, call, self._trial, self._ascent)

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
        if course == "private":
            return await self._private()
        if course == "refused":
            self._call.verdict = "refuse"
            raise self._refusal()
        self._call.note("forced_cloud", "The model's name or the mode sends it to the cloud.")
        self._call.verdict = "cloud"
        return await self._ascent.go_up(self._ascent.required_cloud(), self._exchange)

    # -- the courses ---------------------------------------------------------------------------------------------

    async def _auto(self) -> Closing:
        cloud = self._ascent.open_cloud()
        admission = await self._trial.admission()
        attempt: LocalAttempt | None = None
        if admission is not None and self._may_try(admission, cloud):
            attempt = self._trial.attempt()
            if await self._judge(attempt, admission, cloud) and (closing := await self._release_kept(attempt)):
                self.afterwards.compare_kept(cloud)
                return closing
        elif admission is not None and admission.objection is not None:
            self._call.decisive = admission.objection.code
        self._call.verdict = "escalate"
        if cloud is None:
            return await self._without_cloud(admission, attempt, None)
        return await self._escalate(cloud, admission, attempt)

    async def _judge(self, attempt: LocalAttempt, admission: Admission, cloud: Upstream | None) -> bool:
        """Whether the attempt is kept; a hedge that was started is then dropped, and on any fault too."""
        on_doubt = None if cloud is None else self._hedger(cloud)
        kept = True
        try:
            kept = await self._trial.judge(attempt, admission, bounded=cloud is not None, on_doubt=on_doubt)
        finally:
            if kept:
                await self._ascent.drop_hedge()
        return kept

    async def _escalate(self, cloud: Upstream, admission: Admission | None, attempt: LocalAttempt | None) -> Closing:
        if attempt is not None:
            await self.afterwards.discard_or_finish(attempt)
        try:
            return await self._ascent.go_up(cloud, self._exchange)
        except UpstreamError as error:
            self.afterwards.forget()
            if self._exchange.started or (isinstance(error, UpstreamStatusError) and error.is_the_requests_fault):
                raise
            self._call.note(error.code, str(error))
            return await self._without_cloud(admission, attempt, error)
        except asyncio.CancelledError:
            self.afterwards.forget()
            raise
        finally:
            if attempt is not None and not self.afterwards.is_due and self._call.local is None:
                await self._trial.discard(attempt, "discarded")

    def _may_try(self, admission: Admission, cloud: Upstream | None) -> bool:
        """Whether the local model is asked: it may answer, and where there is a cloud, soon enough."""
        if not admission.admissible or (cloud is not None and not admission.in_time):
            return False
        deadline_s = self._call.deadline_s
        if cloud is None or deadline_s is None:
            return True
        delay = admission.delay
        why = why_up_by_deadline(
            left_s=deadline_s - (self._parts.clock.monotonic_s() - self._call.arrived_s),
            decision_s=None if delay is None else delay.total_s,
            local_finish_s=None if delay is None else delay.finish_s,
            cloud_finish_s=self._ascent.finish_s(cloud, admission.expected_output_tokens),
        )
        if why is not None:
            self._call.reasons.append(why)
            self._call.decisive = why.code
        return why is None

    def _hedger(self, cloud: Upstream) -> Callable[[float], None] | None:
        """What is done with the doubt after the first tokens; None where the rule says that nothing is."""
        limit = self._target.hedge_above if self._target.hedge_above is not None else self._parts.policy.hedge_above
        if limit >= 1:
            return None

        def on_doubt(chance_wrong: float) -> None:
            if chance_wrong > limit:
                text = (
                    f"After its first tokens the answer is wrong with chance {chance_wrong:.2f}, above {limit:g}: the "
                )
                self._ascent.start_hedge(cloud, f"{text}cloud was asked beside it.")

        return on_doubt

    async def _forced_local(self) -> Closing:
        self._call.note("forced_local", "The model's name or the mode keeps it here.")
        self._call.verdict = "local"
        admission = await self._trial.admission()
        if admission is None:
            raise UnavailableError(f"The local engine cannot answer: {self._call.reasons[-1].text}")
        self._require_able(admission)
        return await self._release(self._trial.attempt())

    async def _observe(self) -> Closing:
        self._call.note("observe", "Observe mode: the cloud answers, the local decision is recorded beside it.")
        cloud = self._ascent.required_cloud()
        beside = replace(self._call, reasons=[])
        shadow = asyncio.create_task(Trial(self._parts, beside, self._shared).decide_in_shadow())

        try:
            closing = await self._ascent.go_up(cloud, self._exchange)
        except BaseException:
            shadow.cancel()
            await asyncio.gather(shadow, return_exceptions=True)
            raise
        self.afterwards.compare_observed(shadow)
        return closing

    async def _private(self) -> Closing:
        """Nothing may leave: the answer is local if the model can stand behind it, or on best effort, else refused."""
        admission = await self._trial.admission()
        if admission is None:
            raise self._kept_here_now()
        self._require_able(admission)
        attempt: LocalAttempt | None = None
        if admission.closed:
            attempt = self._trial.attempt()
            kept = await self._trial.judge(attempt, admission, bounded=False)
            if kept and (closing := await self._release_kept(attempt)):
                return closing
        elif admission.objection is not None:
            self._call.decisive = admission.objection.code
        if self._parts.gateway.degraded == "best_effort":
            self._call.verdict = "local"
            return await self._release_anyway(attempt, "Privacy keeps it here")
        if attempt is not None:
            await self._trial.discard(attempt, "discarded")
        if self._call.decisive in _ENGINE_FAULTS:
            raise self._kept_here_now()
        why = next(reason.text for reason in reversed(self._call.reasons) if reason.code == self._call.decisive)
        self._call.verdict = "refuse"
        raise KeptHereError(
            f"{self._kept_here}, and the local model cannot stand behind an answer: {why}",
            fix="Ask teto/local for what it would say, or set gateway.degraded to best_effort.",
        )

    @property
    def _kept_here(self) -> str:
        return f"The privacy rule {self._call.privacy!r} keeps this request here"

    def _kept_here_now(self) -> UnavailableError:
        self._call.verdict = "refuse"
        return UnavailableError(
            f"{self._kept_here}, and the local engine cannot answer: {self._call.reasons[-1].text}",
            fix="Send it again in a moment.",
        )

    def _refusal(self) -> PrivacyError:
        if self._call.mode == "cloud":
            asked, fix = "the mode is cloud", "Run `teto mode auto`."
        else:
            asked, fix = f"{self._call.request.model!r} asks for a cloud", "Use teto/auto or teto/local."
        return PrivacyError(f"{self._kept_here}, and {asked}. Nothing was sent.", fix=fix, param="model")

    def _require_able(self, admission: Admission) -> None:
        if admission.able:
            return
        reason = next(r for r in admission.reasons if r.code not in {"task_open", "task_closed"})
        if self._call.privacy is not None:
            self._call.verdict = "refuse"
        if reason.code == "context":
            elsewhere = ", or use teto/cloud" if self._call.privacy is None else ""
            raise ContextOverflowError(
                reason.text,
                fix=f"Shorten it, or raise engine.context_tokens{elsewhere}.",
                param="messages",
            )
        if self._call.privacy is not None:
            raise KeptHereError(f"{self._kept_here}, and the local engine cannot answer it. {reason.text}")
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
            await self._trial.discard(attempt, outcome)

    async def _release_kept(self, attempt: LocalAttempt) -> Closing | None:
        """Release it; None, with its reason noted, when the engine failed and nothing was shown yet."""
        try:
            return await self._release(attempt)
        except EngineError as error:
            if self._exchange.started:
                raise
            self._call.note(error.code, str(error))
            return None

    async def _release_anyway(self, attempt: LocalAttempt | None, why: str) -> Closing:
        """Send a local answer that nobody stands behind, and say so."""
        self._call.degraded = True
        self._call.note("degraded", f"{why}, so the local answer stands, whatever its confidence.")
        if attempt is not None and attempt.finish is not None:
            return await self._release(attempt)
        if attempt is not None:
            await attempt.stop()  # it was cut short; its prompt is still in the cache
        return await self._release(self._trial.attempt())

    async def _without_cloud(
        self, admission: Admission | None, attempt: LocalAttempt | None, error: UpstreamError | None
    ) -> Closing:
        """No cloud answers: what is admissible is answered here and marked degraded, the rest is refused."""
        best_effort = self._parts.gateway.degraded == "best_effort"
        if admission is not None and admission.able and (admission.closed or best_effort):
            return await self._release_anyway(attempt, "No cloud could answer")
        if attempt is not None:
            await self._trial.discard(attempt, "discarded")
        if error is not None:
            raise error
        if admission is not None and not admission.able:
            self._require_able(admission)
        why = "; ".join(reason.text.rstrip(".") for reason in self._call.reasons)
        raise UnavailableError(
            f"No cloud can answer, and the local model may not: {why}.",
            fix=f"{self._ascent.advice}, or set gateway.degraded to best_effort.",
        )
