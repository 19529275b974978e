"""Who may use the engine now: a fixed number of slots, a bounded queue, and what each slot's cache holds."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from teto.errors import EngineBusyError

__all__ = ["Slot", "Slots", "shared_prefix"]

_SMOOTHING = 0.3  # weight of the newest run in the mean time that a slot is held


def shared_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens two prompts begin with in common."""
    shorter = min(len(first), len(second))
    return next((i for i in range(shorter) if first[i] != second[i]), shorter)


@dataclass(slots=True)
class Slot:
    """One slot of the engine; `cached` are the tokens whose KV it should still hold."""

    index: int
    cached: list[int] = field(default_factory=list)


class Slots:
    """Hands out slots, preferring the one whose cache shares the longest prefix with the prompt."""

    def __init__(self, count: int, *, queue_limit: int) -> None:
        self._free = [Slot(index) for index in range(count)]
        self._all = list(self._free)
        self._queue_limit = queue_limit
        self._waiters: deque[asyncio.Future[Slot]] = deque()
        self._held_s: float | None = None

    @property
    def active(self) -> int:
        """Slots in use."""
        return len(self._all) - len(self._free)

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._waiters)

    @property
    def expected_wait_s(self) -> float:
        """What a new request would wait: nothing when a slot is free, else its place times the mean hold."""
        if self._free:
            return 0.0
        return (self.waiting + 1) * (self._held_s or 0.0) / len(self._all)

    def cached_tokens(self, prompt: Sequence[int]) -> int:
        """Tokens of the prompt that a free slot would not compute again; the last one always is."""
        best = max((shared_prefix(slot.cached, prompt) for slot in self._free), default=0)
        return min(best, len(prompt) - 1)

    def filled_with(self, tokens: Sequence[int]) -> None:
        """Every slot's cache holds these tokens, or their beginning."""
        for slot in self._free:
            slot.cached = list(tokens)

    def forget(self) -> None:
        """The engine was restarted: every cache is empty."""
        for slot in self._all:
            slot.cached = []

    @contextlib.asynccontextmanager
    async def hold(self, prompt: Sequence[int]) -> AsyncIterator[Slot]:
        """Wait for a slot and hold it.

        Raises:
            EngineBusyError: the queue is full.
        """
        slot = await self._take(prompt)
        loop = asyncio.get_running_loop()
        start_s = loop.time()
        try:
            yield slot
        finally:
            held_s = loop.time() - start_s
            mean_s = held_s if self._held_s is None else self._held_s
            self._held_s = mean_s + _SMOOTHING * (held_s - mean_s)
            self._give(slot)

    async def _take(self, prompt: Sequence[int]) -> Slot:
        if self._free:
            slot = max(self._free, key=lambda free: shared_prefix(free.cached, prompt))
            self._free.remove(slot)
            return slot
        if self.waiting >= self._queue_limit:
            raise EngineBusyError(
                f"{self.active} answers are being generated and {self.waiting} wait: the queue is full.",
                fix="Try again, raise engine.queue_limit, or let it go to a cloud.",
            )
        waiter: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            elif not waiter.cancelled():
                self._give(waiter.result())  # it was given to us at the moment we left: pass it on
            raise

    def _give(self, slot: Slot) -> None:
        # Straight into the hands of the first who waits: a free slot beside a queue could be taken by a newcomer.
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(slot)
                return
        self._free.append(slot)
