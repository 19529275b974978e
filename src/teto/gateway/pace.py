"""How fast a cloud answered lately: what a deadline and a hedge are decided with."""

from collections import deque
from dataclasses import dataclass
from statistics import median
from typing import Final

from teto.receipt import CloudRun

__all__ = ["CloudPace"]

_REMEMBERED: Final = 64
_LEAST_CALLS: Final = 3


@dataclass(frozen=True, slots=True)
class _Seen:
    first_s: float
    s_per_token: float


class CloudPace:
    """Remembers the last calls of one cloud that ended well. A whole answer that was not streamed has no first token.

    Of such an answer all time is put on its tokens, so a longer one is predicted later than it comes.
    """

    def __init__(self) -> None:
        self._seen: deque[_Seen] = deque(maxlen=_REMEMBERED)

    def saw(self, run: CloudRun) -> None:
        """Learn from a call; one that failed or has no usage teaches nothing."""
        tokens = run.tokens.output_total if run.tokens is not None else None
        if run.status != 200 or run.note or not tokens:
            return
        first_s = run.first_token_s or 0.0
        self._seen.append(_Seen(first_s, max(0.0, run.total_s - first_s) / tokens))

    def finish_s(self, output_tokens: int) -> float | None:
        """Predicted seconds to the end of an answer of that length, by medians; None before three calls."""
        if len(self._seen) < _LEAST_CALLS:
            return None
        per_token = median(one.s_per_token for one in self._seen)
        return median(one.first_s for one in self._seen) + output_tokens * per_token
