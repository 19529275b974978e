"""Parking on a real process that would use a core for ever."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from teto.engines.parking import Parking, can_park

pytestmark = pytest.mark.skipif(not can_park(), reason="this system cannot stop a process and end it with its parent")


@contextlib.contextmanager
def _spinning() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def _state(pid: int) -> str:
    """The kernel's letter for the process: R runs, T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def _wait_for(pid: int, states: str) -> str:
    for _ in range(200):
        if _state(pid) in states:
            break
        await asyncio.sleep(0.01)
    return _state(pid)


def test_a_process_is_stopped_after_its_last_use_and_runs_in_the_next() -> None:
    """Idle threads must not spin, and a use must find the process running."""

    async def story(pid: int) -> list[str]:
        parking = Parking(pid, after_s=0.01)
        seen = []
        with parking.use():
            await asyncio.sleep(0.05)
            seen.append(_state(pid))
        seen.append(await _wait_for(pid, "T"))
        with parking.use():
            seen.append(await _wait_for(pid, "RS"))
        return seen

    with _spinning() as pid:
        in_use, idle, again = asyncio.run(story(pid))
    assert in_use in "RS"
    assert idle == "T"
    assert again in "RS"


def test_a_process_is_not_stopped_while_one_of_two_uses_lasts() -> None:
    """The end of one request must not park the engine under another."""

    async def story(pid: int) -> str:
        parking = Parking(pid, after_s=0.01)
        with parking.use():
            with parking.use():
                pass
            await asyncio.sleep(0.05)
            return _state(pid)

    with _spinning() as pid:
        assert asyncio.run(story(pid)) in "RS"


def test_a_retired_process_is_never_signalled() -> None:
    """After its end the number may be another process's."""

    async def story(pid: int) -> str:
        parking = Parking(pid, after_s=0.01)
        with parking.use():
            pass
        parking.retire()
        await asyncio.sleep(0.05)
        return _state(pid)

    with _spinning() as pid:
        assert asyncio.run(story(pid)) in "RS"
