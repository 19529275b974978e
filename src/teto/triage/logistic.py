"""Logistic regression with a Gaussian prior, and isotonic regression: all that a score is learned with."""

from dataclasses import dataclass
from math import exp
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Steps", "fit_logistic", "fit_signed", "fit_steps"]

_MOST_STEPS: Final = 100
_TOLERANCE: Final = 1e-10

_Floats = NDArray[np.float64]


def fit_logistic(
    features: _Floats, right: NDArray[np.bool_], *, around: _Floats | None = None, prior_weight: float
) -> _Floats:
    """Weights that minimise the log loss plus `prior_weight` / 2 times the squared distance from `around`.

    By Newton's method with halved steps; the problem is strictly convex, so the answer is one. The last weight is
    the intercept, whose distance is not penalised unless `around` is given.

    Args:
        features: (n, d), on comparable scales.
        right: (n,).
        around: (d + 1,) the prior's centre; None: zero, with a free intercept.
        prior_weight: above 0; the number of rows that the prior is worth, roughly.

    Raises:
        ValueError: no rows, or a prior weight of 0 or below.
    """
    if not len(features) or prior_weight <= 0:
        raise ValueError(f"expected rows and a prior weight above 0, found {len(features)} rows and {prior_weight}")
    table = np.column_stack([features, np.ones(len(features))])
    centre = np.zeros(table.shape[1]) if around is None else around
    penalty = np.full(table.shape[1], prior_weight)
    if around is None:
        penalty[-1] = 1e-6
    weights = centre.copy()
    loss = _loss(table, right, weights, centre, penalty)
    for _ in range(_MOST_STEPS):
        chance = _sigmoid(table @ weights)
        gradient = table.T @ (chance - right) + penalty * (weights - centre)
        curvature = (table * (chance * (1 - chance))[:, None]).T @ table + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while (trial := _loss(table, right, weights - size * step, centre, penalty)) > loss and size > 1e-6:
            size /= 2
        weights, gained, loss = weights - size * step, loss - trial, trial
        if gained < _TOLERANCE:
            break
    return weights


def fit_signed(
    features: _Floats,
    right: NDArray[np.bool_],
    signs: _Floats,
    *,
    around: _Floats | None = None,
    prior_weight: float,
) -> _Floats:
    """As `fit_logistic`, with no weight against its feature's sign: a feature that would have one gets none.

    `signs` holds 1, -1 or 0 (either) for each feature. What is known of a signal beforehand need not be learned, and
    keeps few rows from teaching that a sure answer is a wrong one. Features leave one round after the other and do
    not come back, which is not always the constrained minimum.
    """
    used = np.ones(features.shape[1], dtype=bool)
    weights = np.zeros(features.shape[1] + 1)
    while True:
        centre = None if around is None else np.append(around[:-1][used], around[-1])
        found = fit_logistic(features[:, used], right, around=centre, prior_weight=prior_weight)
        weights[:] = 0
        weights[:-1][used], weights[-1] = found[:-1], found[-1]
        against = weights[:-1] * signs < 0
        if not against.any():
            return weights
        used &= ~against


def _sigmoid(odds: _Floats) -> _Floats:
    return 0.5 * (1 + np.tanh(odds / 2))


def _loss(table: _Floats, right: NDArray[np.bool_], weights: _Floats, centre: _Floats, penalty: _Floats) -> float:
    odds = table @ weights
    lost = np.logaddexp(0, odds) - odds * right
    return float(lost.sum() + 0.5 * (penalty * (weights - centre) ** 2).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A rising function through points of probability, straight between them; outside, log-odds rise one for one.

    So it never ties what the log-odds tell apart.
    """

    at: tuple[float, ...]
    value: tuple[float, ...]

    def __call__(self, x: float) -> float:
        """The height at x."""
        nearest = min(max(x, self.at[0]), self.at[-1])
        height = float(np.interp(nearest, self.at, self.value))
        return height if x == nearest else 1 / (1 + (1 - height) / height * exp(nearest - x))


def fit_steps(x: _Floats, right: NDArray[np.bool_]) -> Steps:
    """The rising function nearest to right (1) and wrong (0) in squares, by pooling adjacent violators.

    A block's height is (its rights + 1) / (its rows + 2), so that no finite sample promises certainty, and its
    point stands at its mean x: between two blocks the function keeps rising, so few rows tie.

    Raises:
        ValueError: no rows.
    """
    if not len(x):
        raise ValueError("isotonic regression needs at least one row")
    order = np.argsort(x, kind="stable")
    blocks: list[tuple[float, float, float]] = []  # sum of x, rights, rows
    for place, is_right in zip(x[order], right[order], strict=True):
        block = (float(place), float(is_right), 1.0)
        while blocks and blocks[-1][1] / blocks[-1][2] >= block[1] / block[2]:
            below = blocks.pop()
            block = (below[0] + block[0], below[1] + block[1], below[2] + block[2])
        blocks.append(block)
    heights = np.maximum.accumulate([(rights + 1) / (rows + 2) for _, rights, rows in blocks])
    places = [total / rows for total, _, rows in blocks]
    return Steps(at=tuple(places), value=tuple(float(height) for height in heights))
