"""Remembers that a cloud is down, so that not every request waits to find it out."""

from typing import Final

from teto.ports import Clock

__all__ = ["Breaker"]

_FAILURES_TO_OPEN: Final = 3
_FIRST_PAUSE_S: Final = 2.0
_LAST_PAUSE_S: Final = 60.0


class Breaker:
    """Opens after three failures in a row; after a pause one request at a time may try, and success closes it.

    The pause doubles with each failed try, so a cloud that comes and goes is not flapped upon; requests that were
    under way when it opened fail without prolonging it.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._pause_s = _FIRST_PAUSE_S
        self._retry_at_s = 0.0
        self._trying = False
        self.cause = ""

    @property
    def is_open(self) -> bool:
        """Whether a request would be turned away now; asking takes nothing."""
        return self._failures >= _FAILURES_TO_OPEN and self._clock.monotonic_s() < self._retry_at_s

    def allows(self) -> bool:
        """Whether a request may try now; when the breaker is open, saying yes takes the one try."""
        if self.is_open:
            return False
        if self._failures >= _FAILURES_TO_OPEN:
            self._trying = True
            self._retry_at_s = self._clock.monotonic_s() + self._pause_s
        return True

    def succeeded(self) -> None:
        """The cloud answered."""
        self._failures, self._pause_s, self._trying = 0, _FIRST_PAUSE_S, False

    def failed(self, cause: str) -> None:
        """The cloud did not answer, or answered that it cannot; `cause` is told to those who are turned away."""
        self.cause = cause
        self._failures += 1
        if self._trying:
            self._pause_s = min(2 * self._pause_s, _LAST_PAUSE_S)
        if self._trying or self._failures == _FAILURES_TO_OPEN:
            self._retry_at_s = self._clock.monotonic_s() + self._pause_s
        self._trying = False
