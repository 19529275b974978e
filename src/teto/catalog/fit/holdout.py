"""Errors on what a fit had not seen: all rows of a device, or of a shape, leave at once."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from teto.catalog.fit.observe import Array, Observation, stack
from teto.physics.estimate import Fit

__all__ = ["Errors", "Split", "held_out", "noise_floor"]

Split = Literal["device", "shape_key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Relative errors of predicted speed on held-out rows: `signed` is predicted over measured speed, less 1."""

    signed: tuple[float, ...]
    n_groups: int

    @property
    def n_rows(self) -> int:
        """Rows that were predicted without being seen."""
        return len(self.signed)

    @property
    def median(self) -> float:
        """Median of the absolute error."""
        return float(np.median(np.abs(self.signed)))

    @property
    def p90(self) -> float:
        """90th percentile of the absolute error."""
        return float(np.quantile(np.abs(self.signed), 0.9))

    @property
    def bias(self) -> float:
        """Median of the signed error: above 0, predictions are too fast."""
        return float(np.median(self.signed))

    @property
    def band(self) -> tuple[float, float]:
        """10th and 90th percentile of measured over predicted time."""
        ratios = 1 + np.asarray(self.signed)
        return float(np.quantile(ratios, 0.1)), float(np.quantile(ratios, 0.9))


def speed_errors(fit: Fit, observations: Sequence[Observation]) -> Array:
    """Predicted over measured speed, less 1: as well measured over predicted time, less 1."""
    data = stack(observations)
    return data.measured_s / data.predicted_s(fit) - 1


def held_out(
    observations: Sequence[Observation], split: Split, fit_to: Callable[[Sequence[Observation]], Fit]
) -> Errors | None:
    """Fit to all groups but one and predict that one, for each; None where there is one group only."""
    groups: dict[str, list[Observation]] = defaultdict(list)
    for observation in observations:
        groups[getattr(observation, split)].append(observation)
    if len(groups) < 2:
        return None
    signed: list[float] = []
    for key, left_out in groups.items():
        rest = [observation for other, rows in groups.items() if other != key for observation in rows]
        signed += [float(error) for error in speed_errors(fit_to(rest), left_out)]
    return Errors(signed=tuple(signed), n_groups=len(groups))


def noise_floor(observations: Sequence[Observation]) -> Errors | None:
    """The error of predicting a row by the median of the other rows of its device, model and format.

    No model of devices and shapes can be expected below it: it is what people measured differently.
    """
    groups: dict[tuple[str, str, float, float], list[float]] = defaultdict(list)
    for observation in observations:
        key = (observation.device, observation.label, observation.context_tokens, observation.batch)
        groups[key].append(observation.measured_s)
    repeated = [times for times in groups.values() if len(times) > 1]
    signed = [
        time / float(np.median(times[:index] + times[index + 1 :])) - 1
        for times in repeated
        for index, time in enumerate(times)
    ]
    return Errors(signed=tuple(signed), n_groups=len(repeated)) if signed else None
