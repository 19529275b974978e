"""Time to the first token of servers at a known concurrency: the closed loop's queue, the opening burst, the front.

Prompts queue, wait for a slot where the memory holds fewer sequences than there are users, and in the opening
burst (all users start at once) wait for half of all others. What is fitted is only the seconds that an engine's
front takes, and the share of calls that see such a burst: 0.1 would be one in ten requests a user; more means that
equal lengths keep the users in step.
Tried and not better on held-out devices and shapes: a factor on the prefill, extra seconds a prompt, a front that
grows with layers or with users, and steps counted several times.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from teto.catalog.fit.server_rows import ServerRow
from teto.catalog.fit.servers import Array, fit_servers, stack_rows
from teto.physics.estimate import Fit
from teto.physics.serving import closed_loop

__all__ = ["QueueFit", "fit_queue", "predict_ttft", "ttft_errors"]

_ROBUST_FROM: Final = 0.2
_FRONT_START_S: Final = 0.05
_BURST_START: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFit:
    """Seconds of each engine's front, and the share of calls in the opening burst."""

    front_s: dict[str, float]
    burst_fraction: float

    def front_of(self, engine: str) -> float:
        """An engine that the data does not have is as slow as the middle one."""
        return self.front_s.get(engine, float(np.median(list(self.front_s.values()))))


def _queue_s(fits: dict[str, Fit], rows: Sequence[ServerRow]) -> tuple[Array, Array]:
    """The time to the first token without front and burst, and the wait of a burst that all calls were in."""
    base, burst = np.empty(len(rows)), np.empty(len(rows))
    for kind, fit in fits.items():
        index = [place for place, row in enumerate(rows) if row.kind == kind]
        if not index:
            continue
        stack = stack_rows([rows[place] for place in index])
        server = stack.server(fit)
        served = closed_loop(server, stack.demand, stack.users)
        base[index] = served.ttft_s
        inside = np.minimum(stack.users, stack.slots)
        burst[index] = (inside - 1) / 2 * server.service_s(stack.demand, served.running)
    return base, burst


def fit_queue(fits: dict[str, Fit], rows: Sequence[ServerRow]) -> QueueFit:
    """The constants that these rows identify best, with the steps of `fits` (by kind of model)."""
    from scipy.optimize import least_squares  # noqa: PLC0415 - only fitting needs it, and not users

    base, burst = _queue_s(fits, rows)
    measured = np.array([row.ttft_s for row in rows], dtype=np.float64)
    engines = sorted({row.engine for row in rows})
    which = np.array([engines.index(row.engine) for row in rows])
    start = np.array([_BURST_START, *([_FRONT_START_S] * len(engines))])

    def residuals(scaled: Array) -> Array:
        values = scaled * start
        predicted: Array = values[1:][which] + base + values[0] * burst
        return np.log(predicted / measured)

    found = least_squares(residuals, np.ones(len(start)), bounds=(0, 50), loss="cauchy", f_scale=_ROBUST_FROM)
    values = found.x * start
    return QueueFit(
        front_s={engine: float(value) for engine, value in zip(engines, values[1:], strict=True)},
        burst_fraction=float(values[0]),
    )


def predict_ttft(fits: dict[str, Fit], queue: QueueFit, rows: Sequence[ServerRow]) -> Array:
    """Mean seconds to the first token."""
    base, burst = _queue_s(fits, rows)
    front: Array = np.array([queue.front_of(row.engine) for row in rows], dtype=np.float64)
    return front + base + queue.burst_fraction * burst


def ttft_errors(
    starts: dict[str, tuple[Fit, tuple[str, ...]]], seen: Sequence[ServerRow], left_out: Sequence[ServerRow]
) -> Array:
    """Predicted over measured time, less 1, on rows that neither the steps nor the queue were fitted to."""
    fits = {}
    for kind, (start, terms) in starts.items():
        rows = [row for row in seen if row.kind == kind]
        fits[kind] = fit_servers(start, terms, rows) if rows else replace(start)
    queue = fit_queue(fits, [row for row in seen if row.ttft_s is not None])
    measured = np.array([row.ttft_s for row in left_out], dtype=np.float64)
    return predict_ttft(fits, queue, left_out) / measured - 1
