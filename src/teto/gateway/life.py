"""The life of a chat completion after its name and mode are resolved, on one path.

admission → local attempt, held back → keep: release it
                                     → escalate: go up → the cloud fails: degraded, or an honest refusal
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

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
from teto.gateway.cloud import CloudAttempt
from teto.gateway.exchange import Closing, Exchange
from teto.gateway.local import LocalAttempt
from teto.gateway.parts import ChatParts
from teto.gateway.release import release
from teto.gateway.routing import Target
from teto.gateway.served import ServedCall
from teto.gateway.trial import Trial
from teto.ports import Upstream
from teto.receipt import RunOutcome
from teto.triage.admission import Admission

__all__ = ["Life"]


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
        self._trial = Trial(parts, call)
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
        admission = await self._trial.admission()
        attempt: LocalAttempt | None = None
        if admission is not None and admission.admissible and (admission.in_time or cloud is None):
            attempt = self._trial.attempt()
            if await self._trial.judge(attempt, admission, bounded=cloud is not None):
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
            await self._trial.discard(attempt, "discarded")
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
        admission = await self._trial.admission()
        if admission is None:
            raise UnavailableError(f"The local engine cannot answer: {self._call.reasons[-1].text}")
        self._require_able(admission)
        return await self._release(self._trial.attempt())

    async def _observe(self) -> Closing:
        self._call.note("observe", "Observe mode: the cloud answers, the local decision is recorded beside it.")
        cloud = self._required_cloud()
        beside = replace(self._call, reasons=[])
        self.shadow = asyncio.create_task(Trial(self._parts, beside).decide_in_shadow())
        try:
            return await self._go_up(cloud)
        except BaseException:
            self.shadow.cancel()
            await asyncio.gather(self.shadow, return_exceptions=True)
            raise

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
            await self._trial.discard(attempt, outcome)

    async def _go_up(self, cloud: Upstream) -> Closing:
        breaker = self._breakers[cloud.facts.name]
        if not breaker.allows():
            raise UpstreamUnreachableError(_is_down(cloud, breaker), upstream=cloud.facts.name)
        attempt = CloudAttempt(self._call, self._target, cloud, clock=self._parts.clock, price=self._parts.price)
        note = "cancelled"
        try:
            closing = await attempt.relay(self._exchange)
            note = ""
        except UpstreamError as error:
            note = str(error)
            if isinstance(error, UpstreamStatusError) and error.status < 500:
                breaker.succeeded()  # it answers at once: nobody has to be spared the wait
            else:
                breaker.failed(error.message)
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
            return await self._release(self._trial.attempt())
        if attempt is not None:
            await self._trial.discard(attempt, "discarded")
        if error is not None:
            raise error
        if admission is not None and not admission.able:
            self._require_able(admission)
        why = "; ".join(reason.text.rstrip(".") for reason in self._call.reasons)
        raise UnavailableError(
            f"No cloud can answer, and the local model may not: {why}.",
            fix=f"{self._cloud_advice()}, or set gateway.degraded to best_effort.",
        )

    # -- clouds --------------------------------------------------------------------------------------------------

    def _open_cloud(self) -> Upstream | None:
        """The cloud this request may go up to now; None, with its reason noted, when there is none."""
        cloud = self._target.upstream
        if cloud is None:
            self._call.note("no_cloud", "No cloud is configured.")
            return None
        breaker = self._breakers[cloud.facts.name]
        if breaker.is_open:
            self._call.note("cloud_down", _is_down(cloud, breaker))
            return None
        return cloud

    def _required_cloud(self) -> Upstream:
        cloud = self._open_cloud()
        if cloud is None:
            raise UnavailableError(
                f"Only a cloud may answer this: {self._call.reasons[-1].text}",
                fix=f"{self._cloud_advice()}.",
            )
        return cloud

    def _cloud_advice(self) -> str:
        return "Add an [upstreams.NAME] table to teto.toml" if self._target.upstream is None else "Try again soon"


def _is_down(cloud: Upstream, breaker: Breaker) -> str:
    return f"The cloud {cloud.facts.name!r} is down and is retried soon. The last answer was: {breaker.cause}"
