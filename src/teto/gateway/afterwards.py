"""What is learned from a call once its client has the answer: for a random share, whether both answers agree."""

import asyncio
from collections.abc import Awaitable, Callable

from teto.errors import EngineError
from teto.gateway.ascent import Ascent
from teto.gateway.local import LocalAttempt
from teto.gateway.parts import ChatParts
from teto.gateway.served import ServedCall
from teto.gateway.shared import Shared
from teto.gateway.trial import Trial
from teto.gateway.truth import is_drawn, truth_of
from teto.ports import Upstream
from teto.triage.agreement import TESTABLE_TASKS

__all__ = ["Afterwards"]


class Afterwards:
    """At most one thing to do later; `run` does it and changes the call."""

    def __init__(self, parts: ChatParts, shared: Shared, call: ServedCall, trial: Trial, ascent: Ascent) -> None:
        self._share = parts.drift.shadow_fraction
        self._watch = shared.watch
        self._call = call
        self._trial = trial
        self._ascent = ascent
        self._task: Callable[[], Awaitable[None]] | None = None

    @property
    def is_due(self) -> bool:
        """Whether there is something to do."""
        return self._task is not None

    async def run(self) -> None:
        """Do it."""
        if self._task is not None:
            await self._task()

    def forget(self) -> None:
        """There is nothing to compare after all."""
        self._task = None

    def compare_kept(self, cloud: Upstream | None) -> None:
        """Ask the cloud for its answer to a kept call, if the call is drawn and the cloud was not asked already."""
        if cloud is None or not is_drawn(self._call.id, self._share) or self._call.cloud is not None:
            return

        async def compare() -> None:
            await self._ascent.ask_unseen(cloud)
            self._learn(self._share)
            truth = self._call.truth
            if self._watch is not None and truth is not None and self._call.task in TESTABLE_TASKS:
                disagreed = None if truth.right is None else not truth.right
                await self._watch.saw(self._call.task, self._call.language, disagreed=disagreed)

        self._task = compare

    async def discard_or_finish(self, attempt: LocalAttempt) -> None:
        """Stop what is not kept; if the call is drawn, let it end behind the cloud's answer instead."""
        if not is_drawn(self._call.id, self._share) or attempt.failed:
            await self._trial.discard(attempt, "discarded")
            return

        async def compare() -> None:
            try:
                await attempt.hold_back(None)
            except EngineError as error:
                self._call.note("shadow_failed", f"The discarded run failed: {error}")
            finally:
                await self._trial.discard(attempt, "discarded")
            self._learn(self._share)

        self._task = compare

    def compare_observed(self, shadow: "asyncio.Task[ServedCall]") -> None:
        """Take over what was decided beside the cloud's answer, and compare the two."""

        async def compare() -> None:
            self._call.adopt(await shadow)
            if self._call.local is not None:
                self._learn(1.0)

        self._task = compare

    def _learn(self, inclusion_fraction: float) -> None:
        self._call.truth = truth_of(self._call, inclusion_fraction=inclusion_fraction)
