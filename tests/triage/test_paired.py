"""Two engines on the same items."""

import numpy as np
import pytest

from teto.triage.paired import compare_pairs


def found(first: list[int], second: list[int], groups: list[str] | None = None):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """The comparison of two lists of ones and zeros."""
    names = groups or [str(i) for i in range(len(first))]
    right = [np.array(answers, dtype=bool) for answers in (first, second)]
    return compare_pairs(right[0], right[1], names, generator=np.random.default_rng(0), n_resamples=500)


def test_shares_by_hand() -> None:
    """Of five items both are right on two, each alone on one, and the second loses nothing in sum."""
    one = found([1, 1, 1, 0, 0], [1, 1, 0, 1, 0])
    assert (one.both, one.first_only, one.second_only, one.difference) == (0.4, 0.2, 0.2, 0.0)
    assert not one.is_told_apart


def test_a_clear_loss_is_told_apart() -> None:
    """A hundred items of which the second loses forty: the interval leaves out 0."""
    one = found([1] * 100, [0] * 40 + [1] * 60)
    assert one.difference == pytest.approx(-0.4)
    assert one.is_told_apart
    assert one.interval.low < -0.4 < one.interval.high < 0


def test_items_that_belong_together_widen_the_interval() -> None:
    """Forty lost items of one source are one accident, not forty."""
    alone = found([1] * 100, [0] * 40 + [1] * 60)
    together = found([1] * 100, [0] * 40 + [1] * 60, ["a"] * 40 + ["b"] * 30 + ["c"] * 30)
    assert together.interval.high - together.interval.low > 2 * (alone.interval.high - alone.interval.low)


def test_columns_must_match() -> None:
    """No items, or columns of different lengths, are refused."""
    with pytest.raises(ValueError, match="at least one"):
        found([], [])
