"""Calibration rows: admitted calls whose local answer was judged, and how a sample with known odds is made even."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Labelled", "even_mask", "evened"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labelled:
    """One element per row, all of the same length.

    `score` is the confidence (higher: keep), from a function that was fixed before any of these rows was seen.
    `wrong` says that the local answer was wrong, `cloud_right`, where it is known, that the cloud's was right.
    Rows must be an independent random draw of the calls that the rule will see: never answers that exist only
    because a call was escalated.
    """

    score: NDArray[np.float64]
    wrong: NDArray[np.bool_]
    cloud_right: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        columns = {"wrong": self.wrong, "cloud_right": self.cloud_right}
        if self.score.ndim != 1 or not len(self.score):
            raise ValueError(f"calibration needs at least one row, found scores of the form {self.score.shape}")
        for name, column in columns.items():
            if column is not None and column.shape != self.score.shape:
                raise ValueError(f"{name} has {len(column)} rows and score has {len(self.score)}")
        if np.isnan(self.score).any():
            at = int(np.isnan(self.score).argmax())
            raise ValueError(f"a score must be a number, found NaN in row {at}: drop the row or score it")

    @property
    def n(self) -> int:
        """How many rows."""
        return len(self.score)

    def chosen(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> "Labelled":
        """Those rows alone, by mask or by index."""
        right = None if self.cloud_right is None else self.cloud_right[rows]
        return Labelled(score=self.score[rows], wrong=self.wrong[rows], cloud_right=right)


def evened(
    rows: Labelled,
    inclusion_fraction: NDArray[np.float64],
    *,
    least_inclusion_fraction: float,
    generator: np.random.Generator,
) -> Labelled:
    """An even sample out of rows that were labelled with different, recorded probabilities.

    Each row is kept with probability least / its own (von Neumann's rejection), after which every call had the
    same chance to be here, so the exact bounds of `threshold` hold as for a plain random sample.

    Why not weights: a weighted (Horvitz-Thompson) mean of something as rare as a kept wrong answer has no exact
    interval; the normal one fails exactly there, and the distribution-free ones (Hoeffding-Bentkus on a
    variable that reaches 1 / least) need the same number of calls times `least_inclusion_fraction`, times a
    factor e in the tail, and the count of all calls besides. Equal probabilities pass untouched: no weight
    changes anything then.

    Args:
        rows: the labelled rows.
        inclusion_fraction: for each row the probability with which it was chosen to be labelled, in (0, 1].
        least_inclusion_fraction: the lowest one that the sampling plan gives to any call the rule will see, also
            where no such call happened to be drawn. Calls that are never labelled (probability 0: private ones)
            are outside of what any calibration can promise.
        generator: seeded by the caller, whose seed belongs in the calibration's record.

    Raises:
        ValueError: a probability outside (0, 1], or below the plan's least; or no row is left.
    """
    if inclusion_fraction.shape != rows.score.shape:
        raise ValueError(f"{len(inclusion_fraction)} inclusion probabilities for {rows.n} rows")
    mask = even_mask(inclusion_fraction, least_inclusion_fraction=least_inclusion_fraction, generator=generator)
    return rows if mask.all() else rows.chosen(mask)


def even_mask(
    inclusion_fraction: NDArray[np.float64], *, least_inclusion_fraction: float, generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Which rows stay for an even sample; arguments and errors as in `evened`."""
    inside = (inclusion_fraction >= least_inclusion_fraction) & (inclusion_fraction <= 1)
    if not 0 < least_inclusion_fraction <= 1 or not inside.all():
        at = int((~inside).argmax())
        raise ValueError(
            f"inclusion probabilities must lie in (0, 1] and not below the plan's least, {least_inclusion_fraction}; "
            f"row {at} has {inclusion_fraction[at]}"
        )
    if (inclusion_fraction == least_inclusion_fraction).all():
        return np.ones(len(inclusion_fraction), dtype=bool)
    is_kept = generator.random(len(inclusion_fraction)) * inclusion_fraction < least_inclusion_fraction
    if not is_kept.any():
        raise ValueError(
            f"none of {len(inclusion_fraction)} rows is left at the plan's least inclusion probability, "
            f"{least_inclusion_fraction}: label more calls, or raise it"
        )
    return is_kept
