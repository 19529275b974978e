"""Two engines on the same items: what one loses against the other, with an interval that uses the pairing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from teto.triage.bounds import Interval

__all__ = ["Paired", "compare_pairs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Shares of `n` items: right in both, in the first only, in the second only.

    `difference` is the second's share of right answers less the first's, `interval` by resampling whole groups of
    items that belong together (a source, a passage), so that their likeness does not narrow it.
    """

    n: int
    both: float
    first_only: float
    second_only: float
    difference: float
    interval: Interval

    @property
    def is_told_apart(self) -> bool:
        """Whether the interval leaves out no difference."""
        return self.interval.low > 0 or self.interval.high < 0


def compare_pairs(
    first: NDArray[np.bool_],
    second: NDArray[np.bool_],
    groups: Sequence[str],
    *,
    generator: np.random.Generator,
    n_resamples: int,
    level: float = 0.95,
) -> Paired:
    """Compare answers to the same items; all arguments have one element per item.

    Raises:
        ValueError: no items, or columns of different lengths.
    """
    if not len(first) or not len(first) == len(second) == len(groups):
        raise ValueError(f"expected as many of each, at least one; found {len(first)}, {len(second)}, {len(groups)}")
    gained = second.astype(float) - first.astype(float)
    names = sorted(set(groups))
    at = np.array([names.index(group) for group in groups])
    sums = np.bincount(at, weights=gained, minlength=len(names))
    sizes = np.bincount(at, minlength=len(names))
    drawn = generator.integers(0, len(names), (n_resamples, len(names)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Paired(
        n=len(first),
        both=float((first & second).mean()),
        first_only=float((first & ~second).mean()),
        second_only=float((second & ~first).mean()),
        difference=float(gained.mean()),
        interval=Interval(low=float(low), high=float(high), level=level),
    )
