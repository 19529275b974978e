"""Parks a process whose idle threads would spin: stopped a moment after its last use, woken for the next."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Final

__all__ = ["Parking", "can_park", "die_with_parent"]

_PARK_AFTER_S: Final = 2.0  # long enough for a cancelled run to end
_PR_SET_PDEATHSIG: Final = 1


def can_park() -> bool:
    """Whether this system can stop a process and also end a stopped one when its parent dies."""
    return sys.platform == "linux"


def die_with_parent() -> None:
    """Called in the child: the kernel kills it when its parent ends, even while it is parked and reads nothing."""
    if can_park():
        import ctypes  # noqa: PLC0415 - only the child needs it

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Parking:
    """Counts the uses of a process and stops it with SIGSTOP while there are none."""

    def __init__(self, pid: int, *, after_s: float = _PARK_AFTER_S) -> None:
        self._pid: int | None = pid
        self._after_s = after_s
        self._users = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_parked = False

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        """The process runs while the context lasts."""
        self._users += 1
        self.wake()
        try:
            yield
        finally:
            self._users -= 1
            if self._users == 0:
                self._timer = asyncio.get_running_loop().call_later(self._after_s, self._park)

    def wake(self) -> None:
        """Let it run, from now until the end of its next use."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_parked:
            self._is_parked = False
            self._signal(signal.SIGCONT)

    def retire(self) -> None:
        """The process has ended: its number may soon be another's, and is signalled no more."""
        self._pid = None
        self.wake()

    def _park(self) -> None:
        self._timer = None
        self._is_parked = True
        self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        if self._pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, number)
