"""Bounded least squares on the logarithm of predicted over measured time, robust to single wild rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from teto.catalog.fit.observe import Observation, stack
from teto.physics.estimate import Fit

__all__ = ["TERMS", "Term", "solve"]

_ROBUST_FROM: Final = 0.1  # residuals above 10 % count linearly, not squared


@dataclass(frozen=True, slots=True)
class Term:
    """A constant that may be fitted: where the search starts and the bounds that physics sets."""

    start: float
    low: float
    high: float
    unit: float = 1.0
    """What one unit of the search is, in the constant's own."""


TERMS: Final[Mapping[str, Term]] = {
    "weights_fraction": Term(0.8, 0.02, 1.0),
    "cache_fraction": Term(0.5, 0.02, 1.0),
    "compute_fraction": Term(0.5, 0.005, 1.0),
    "attention_fraction": Term(0.3, 0.001, 1.0),
    "layer_overhead_s": Term(50.0, 0.0, 5000.0, unit=1e-6),
    "step_overhead_s": Term(0.5, 0.0, 100.0, unit=1e-3),
}


def solve(fit: Fit, terms: Sequence[str], observations: Sequence[Observation]) -> Fit:
    """The fit with those of its constants replaced that the observations identify best."""
    from scipy.optimize import least_squares  # noqa: PLC0415 - only fitting needs it, and not users

    data = stack(observations)
    searched = [TERMS[term] for term in terms]

    def at(values: Sequence[float]) -> Fit:
        constants = {
            name: min(value, term.high) * term.unit for name, term, value in zip(terms, searched, values, strict=True)
        }
        return replace(fit, **constants)  # type: ignore[arg-type]

    found = least_squares(
        lambda values: np.log(data.predicted_s(at(values)) / data.measured_s),
        [term.start for term in searched],
        bounds=([term.low for term in searched], [term.high for term in searched]),
        loss="soft_l1",
        f_scale=_ROBUST_FROM,
    )
    return at([float(value) for value in found.x])
