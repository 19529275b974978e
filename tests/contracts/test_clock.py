"""What every clock must do."""

import asyncio
import time

import pytest

from tests.fakes import FakeClock
from teto.measure.clock import SystemClock
from teto.ports import Clock

both_clocks = pytest.mark.parametrize("clock", [FakeClock(), SystemClock()], ids=["fake", "system"])


@both_clocks
def test_monotonic_clock_never_steps_back(clock: Clock) -> None:
    """Each reading of the monotonic clock is at least the one before."""
    readings = [clock.monotonic_s() for _ in range(1000)]
    assert readings == sorted(readings)


@both_clocks
async def test_sleep_moves_both_clocks_by_at_least_its_seconds(clock: Clock) -> None:
    """After a sleep, both the monotonic and the Unix clock have moved on by the time slept."""
    monotonic_s, unix_s = clock.monotonic_s(), clock.unix_s()
    await clock.sleep(0.02)
    assert clock.monotonic_s() - monotonic_s >= 0.02 - 1e-9
    assert clock.unix_s() - unix_s == pytest.approx(0.02, abs=0.015)


@both_clocks
async def test_sleep_lets_others_run(clock: Clock) -> None:
    """Another task of the loop runs while a clock is slept on."""
    ran = asyncio.Event()
    other = asyncio.create_task(_set(ran))
    await clock.sleep(0.01)
    assert ran.is_set()
    await other


async def _set(event: asyncio.Event) -> None:
    event.set()


def test_system_clock_tells_the_time_of_this_machine() -> None:
    """The system clock's Unix seconds are those of the machine, and its ticks are finer than a millisecond."""
    clock = SystemClock()
    assert clock.unix_s() == pytest.approx(time.time(), abs=1)
    first_s = clock.monotonic_s()
    while (later_s := clock.monotonic_s()) == first_s:
        pass
    assert later_s - first_s < 1e-3
