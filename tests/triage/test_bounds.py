"""Binomial bounds against scipy and against tables."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from teto.triage.bounds import (
    binomial_tail,
    clopper_pearson,
    clopper_pearson_upper,
    least_rows,
    most_wrong,
    most_wrong_by_size,
)

PROBABILITY = st.floats(1e-4, 1 - 1e-4)


@given(st.integers(1, 20_000), st.floats(0, 1), PROBABILITY)
def test_the_tail_is_scipys(n: int, share: float, p: float) -> None:
    """P(X <= k) for small and large n, in the middle and far out."""
    k = min(n, round(share * n))
    assert binomial_tail(k, n, p) == pytest.approx(binom.cdf(k, n, p), rel=1e-8, abs=1e-250)


@given(st.integers(1, 5000), st.floats(0, 1), st.floats(1e-4, 0.9))
def test_the_upper_bound_is_scipys(n: int, share: float, delta: float) -> None:
    """Clopper-Pearson is a quantile of the beta distribution, and 1 where all are wrong."""
    k = min(n, round(share * n))
    expected = 1.0 if k == n else beta.ppf(1 - delta, k + 1, n - k)
    assert clopper_pearson_upper(k, n, delta) == pytest.approx(expected, rel=1e-7)


def test_bounds_worked_by_hand() -> None:
    """None of 59 wrong: 1 - 0.05^(1/59). Two-sided of 5 in 50 is the published 0.0333 to 0.2181."""
    assert clopper_pearson_upper(0, 59, 0.05) == pytest.approx(1 - 0.05 ** (1 / 59))
    assert clopper_pearson_upper(0, 59, 0.05) < 0.05 < clopper_pearson_upper(0, 58, 0.05)
    found = clopper_pearson(5, 50)
    assert (found.low, found.high) == pytest.approx((0.0333, 0.2181), abs=5e-5)
    assert (clopper_pearson(0, 9).low, clopper_pearson(9, 9).high) == (0, 1)


def test_least_rows() -> None:
    """The fewest that certify: 59 at 5 % with 95 %, 93 if one may be wrong, 299 at 1 %."""
    assert [least_rows(0.05, 0.05, n_wrong=k) for k in (0, 1, 2)] == [59, 93, 124]
    assert least_rows(0.01, 0.05) == 299
    assert least_rows(0.5, 0.5) == 1


@given(st.integers(0, 400), st.floats(0.01, 0.6), st.floats(0.001, 0.5))
def test_most_wrong_is_the_last_that_passes(n: int, alpha: float, delta: float) -> None:
    """One more would break the bound; the recurrence over all sizes says the same as each alone."""
    k = most_wrong(n, alpha, delta)
    assert k == -1 or binom.cdf(k, n, alpha) <= delta * (1 + 1e-9)
    assert k == n or binom.cdf(k + 1, n, alpha) > delta * (1 - 1e-9)
    assume(all(abs(binom.cdf(k + more, n, alpha) - delta) > 1e-9 for more in (0, 1)))  # a tie is decided by rounding
    assert most_wrong_by_size(n, alpha, delta)[n] == k


def test_absurd_figures_are_refused() -> None:
    """Levels at 0 or 1, and more wrong than there are."""
    with pytest.raises(ValueError, match=r"delta must lie between 0 and 1, found 0"):
        clopper_pearson_upper(1, 2, 0)
    with pytest.raises(ValueError, match="k=3 of n=2"):
        clopper_pearson_upper(3, 2, 0.05)
    with pytest.raises(ValueError, match="alpha"):
        least_rows(1, 0.05)
