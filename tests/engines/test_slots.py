"""Slots: who may use the engine, in which order, and what a cancelled request leaves behind."""

import asyncio
import contextlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.smoke_weights import run
from teto.engines.slots import Slot, Slots, shared_prefix
from teto.errors import EngineBusyError


async def settle() -> None:
    """Let every task that can run do so."""
    for _ in range(5):
        await asyncio.sleep(0)


async def hold_until(slots: Slots, release: asyncio.Event, prompt: tuple[int, ...] = ()) -> int:
    """Hold a slot until the event; its index."""
    async with slots.hold(prompt) as slot:
        await release.wait()
        return slot.index


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_shared_prefix_is_the_longest_common_beginning(first: list[int], second: list[int]) -> None:
    """Up to the shared prefix two prompts are equal, and right behind it they are not."""
    length = shared_prefix(first, second)
    assert first[:length] == second[:length]
    assert length == min(len(first), len(second)) or first[length] != second[length]


def test_the_slot_with_the_longest_cached_prefix_is_taken() -> None:
    """Of the free slots a prompt gets the one whose cache holds most of its beginning."""

    async def main() -> None:
        slots = Slots(3, queue_limit=0)
        async with slots.hold(()) as first, slots.hold(()) as second, slots.hold(()) as third:
            first.cached, second.cached, third.cached = [1, 2], [1, 2, 3, 4], [9]
        async with slots.hold([1, 2, 3, 5]) as taken:
            assert taken is second
            async with slots.hold([1, 2, 3, 5]) as next_best:
                assert next_best is first
        async with slots.hold([9, 9]) as taken:
            assert taken is third

    run(main())


def test_cached_tokens_never_count_the_whole_prompt() -> None:
    """The last token of a prompt is always computed, and only free slots count."""

    async def main() -> None:
        slots = Slots(1, queue_limit=0)
        assert slots.cached_tokens([1, 2, 3]) == 0
        async with slots.hold(()) as slot:
            slot.cached = [1, 2, 3, 4]
            assert slots.cached_tokens([1, 2, 3]) == 0
        assert slots.cached_tokens([1, 2, 3]) == 2
        assert slots.cached_tokens([1, 2, 3, 4, 5, 6]) == 4
        slots.forget()
        assert slots.cached_tokens([1, 2, 3]) == 0

    run(main())


def test_the_queue_is_bounded() -> None:
    """One more than slots and queue hold is refused at once, and a place that frees takes a newcomer."""

    async def main() -> None:
        slots, release = Slots(1, queue_limit=1), asyncio.Event()
        tasks = [asyncio.create_task(hold_until(slots, release)) for _ in range(2)]
        await settle()
        assert (slots.active, slots.waiting) == (1, 1)
        with pytest.raises(EngineBusyError, match="1 wait"):
            await hold_until(slots, release)
        release.set()
        await asyncio.gather(*tasks)
        assert (slots.active, slots.waiting) == (0, 0)
        assert await hold_until(slots, release) == 0

    run(main())


def test_who_waits_first_is_served_first() -> None:
    """The queue is in the order of arrival."""

    async def main() -> None:
        slots, order = Slots(1, queue_limit=9), list[int]()

        async def one(number: int) -> None:
            async with slots.hold(()):
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(one(number) for number in range(6)))
        assert order == list(range(6))

    run(main())


def test_a_newcomer_does_not_take_the_slot_of_one_who_was_woken() -> None:
    """Between the moment that a slot is given to a waiter and its next step, a newcomer queues behind it."""

    async def main() -> None:
        slots, release = Slots(1, queue_limit=9), asyncio.Event()
        async with slots.hold(()):
            waiter = asyncio.create_task(hold_until(slots, release))
            await settle()
        release.set()
        async with slots.hold(()) as mine:  # in the same step: the waiter has not run since the slot was freed
            assert waiter.done()
            assert waiter.result() == mine.index
        assert (slots.active, slots.waiting) == (0, 0)

    run(main())


def test_a_waiter_cancelled_when_the_slot_frees_is_passed_over() -> None:
    """A waiter that is cancelled just before a slot frees ends as cancelled, and the next one gets the slot."""

    async def main() -> None:
        slots, release = Slots(1, queue_limit=9), asyncio.Event()
        async with slots.hold(()):
            leaver = asyncio.create_task(hold_until(slots, release))
            next_one = asyncio.create_task(hold_until(slots, release))
            await settle()
            leaver.cancel()
        release.set()
        results = await asyncio.gather(leaver, next_one, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError)
        assert results[1] == 0
        assert (slots.active, slots.waiting) == (0, 0)

    run(main())


def test_a_waiter_cancelled_after_the_slot_was_given_passes_it_on() -> None:
    """A waiter that is cancelled just after it was given a slot gives it to the next one."""

    async def main() -> None:
        slots, release = Slots(1, queue_limit=9), asyncio.Event()
        async with slots.hold(()):
            leaver = asyncio.create_task(hold_until(slots, release))
            next_one = asyncio.create_task(hold_until(slots, release))
            await settle()
        leaver.cancel()
        release.set()
        results = await asyncio.gather(leaver, next_one, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError)
        assert results[1] == 0
        assert (slots.active, slots.waiting) == (0, 0)

    run(main())


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(0, 5), st.integers(0, 2**32))
def test_no_order_of_arrivals_and_cancellations_loses_a_slot(count: int, queue_limit: int, seed: int) -> None:
    """Whatever comes, is refused, holds and is cancelled: no two hold one slot, and at the end all are free."""
    chance = random.Random(seed)  # noqa: S311 - a schedule, not a secret

    async def main() -> None:
        slots, held = Slots(count, queue_limit=queue_limit), set[int]()

        async def one() -> None:
            with contextlib.suppress(EngineBusyError):
                async with slots.hold(()) as slot:
                    assert slot.index not in held
                    held.add(slot.index)
                    try:
                        for _ in range(chance.randrange(4)):
                            await asyncio.sleep(0)
                    finally:
                        held.remove(slot.index)

        tasks: list[asyncio.Task[None]] = []
        for _ in range(40):
            tasks.append(asyncio.create_task(one()))
            if chance.random() < 0.4:
                chance.choice(tasks).cancel()
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(0)
            assert slots.active <= count
            assert slots.waiting <= queue_limit
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(result is None or isinstance(result, asyncio.CancelledError) for result in results)
        assert (slots.active, slots.waiting) == (0, 0)
        async with contextlib.AsyncExitStack() as stack:
            taken = [await stack.enter_async_context(slots.hold(())) for _ in range(count)]
            assert sorted(slot.index for slot in taken) == list(range(count))

    run(main())


def test_the_expected_wait_grows_with_the_queue() -> None:
    """Nothing is waited for while a slot is free; behind a queue it is the place times the mean hold."""

    async def main() -> None:
        slots, release = Slots(1, queue_limit=9), asyncio.Event()
        assert slots.expected_wait_s == 0.0
        async with slots.hold(()):
            await asyncio.sleep(0.05)
        assert slots.expected_wait_s == 0.0
        tasks = [asyncio.create_task(hold_until(slots, release)) for _ in range(3)]
        await settle()
        behind_two = slots.expected_wait_s
        assert 3 * 0.04 < behind_two < 3 * 5.0
        release.set()
        await asyncio.gather(*tasks)

    run(main())


def test_a_hold_that_fails_gives_its_slot_back() -> None:
    """An exception inside a hold passes through, and the slot is free again."""

    async def main() -> None:
        slots = Slots(1, queue_limit=0)

        async def fail() -> None:
            async with slots.hold(()) as slot:
                assert isinstance(slot, Slot)
                raise ValueError("inside")

        for _ in range(2):
            with pytest.raises(ValueError, match="inside"):
                await fail()
            assert slots.active == 0

    run(main())
