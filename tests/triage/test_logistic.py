"""Logistic and isotonic regression against hand-worked and independent answers."""

import itertools
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from teto.triage.logistic import Steps, fit_logistic, fit_signed, fit_steps


def test_an_intercept_alone_is_the_log_odds() -> None:
    """Three right of four and a feature that says nothing: log-odds log 3, weight 0."""
    weights = fit_logistic(np.zeros((4, 1)), np.array([True, True, True, False]), prior_weight=1.0)
    assert weights == pytest.approx([0, log(3)], abs=1e-4)


def test_it_is_the_minimum_that_another_optimiser_finds() -> None:
    """On random rows the weights agree with those of a general minimiser of the same loss."""
    generator = np.random.default_rng(4)
    features = generator.normal(size=(80, 3))
    right = generator.random(80) < 1 / (1 + np.exp(-features @ np.array([1.0, -2.0, 0.5])))
    around = np.array([0.5, 0.0, 0.0, 0.1])

    def loss(weights: np.ndarray) -> float:
        odds = features @ weights[:-1] + weights[-1]
        return float((np.logaddexp(0, odds) - odds * right).sum() + 2.5 * ((weights - around) ** 2).sum())

    found = fit_logistic(features, right, around=around, prior_weight=5.0)
    assert found == pytest.approx(minimize(loss, around, tol=1e-12).x, abs=1e-4)


def test_separable_rows_stay_finite() -> None:
    """The prior keeps the weights finite where a line parts right from wrong."""
    weights = fit_logistic(np.array([[-1.0], [1.0]]), np.array([False, True]), prior_weight=0.1)
    assert np.isfinite(weights).all()
    assert weights[0] > 1


@pytest.mark.parametrize(("n", "prior_weight"), [(0, 1.0), (3, 0.0)])
def test_what_cannot_be_learned_is_refused(n: int, prior_weight: float) -> None:
    """No rows, or no prior."""
    with pytest.raises(ValueError, match="expected rows and a prior weight above 0"):
        fit_logistic(np.zeros((n, 1)), np.zeros(n, dtype=bool), prior_weight=prior_weight)


def test_a_weight_against_its_sign_is_none() -> None:
    """Of two features, one of which points the wrong way by chance, that one is left out and the other stays."""
    features = np.array([[2.0, 1.0], [1.0, 2.0], [-1.0, 1.5], [-2.0, 2.5]])
    right = np.array([True, True, False, False])
    free = fit_logistic(features, right, prior_weight=1.0)
    signed = fit_signed(features, right, np.array([1.0, 1.0]), prior_weight=1.0)
    assert free[1] < 0
    assert signed[1] == 0
    assert signed[0] > 0
    alone = fit_logistic(features[:, :1], right, prior_weight=1.0)
    assert signed[[0, 2]] == pytest.approx(alone)


def test_violators_are_pooled() -> None:
    """Of wrong, right, wrong, right the middle two are one block of a half; smoothed: 1/3, 1/2, 2/3."""
    found = fit_steps(np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, True, False, True]))
    assert found.at == pytest.approx((1.0, 2.5, 4.0))
    assert found.value == pytest.approx((1 / 3, 1 / 2, 2 / 3))
    assert found(1.75) == pytest.approx((1 / 3 + 1 / 2) / 2)


def test_outside_it_rises_with_the_log_odds() -> None:
    """One beyond the last point the odds are e times those there."""
    steps = Steps(at=(0.0, 1.0), value=(0.25, 0.5))
    assert steps(2.0) == pytest.approx(exp(1) / (1 + exp(1)))
    assert steps(-1.0) == pytest.approx(1 / (1 + 3 * exp(1)))


@given(
    rows=st.lists(st.tuples(st.integers(-20, 20), st.booleans()), min_size=1, max_size=40),
    asked=st.lists(st.floats(-30, 30), min_size=2, max_size=8),
)
def test_it_never_falls(rows: list[tuple[int, bool]], asked: list[float]) -> None:
    """Whatever it was taught, more is never less, and all of it is a probability short of certainty."""
    found = fit_steps(np.array([float(x) for x, _ in rows]), np.array([right for _, right in rows]))
    heights = [found(x) for x in sorted(asked)]
    assert all(low <= high + 1e-12 for low, high in itertools.pairwise(heights))
    assert all(0 < height <= 1 for height in heights)  # 1 by rounding, far above all rows
