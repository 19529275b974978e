"""The learned score: the chance that an answer is right, from its signals. Fixed before a calibration row is seen.

One logistic regression over all tasks, one per task that is drawn towards it, and behind them one isotonic function
for all tasks, so that a score means the same whatever the task. How strongly a task is drawn towards the others is
chosen in folds of the same rows. Where that is undecided and the answer short, a second
answer, drawn at random, is compared with the first.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from teto.triage.instruction import fold
from teto.triage.logistic import Steps, fit_logistic, fit_signed, fit_steps
from teto.triage.signals import SIGNAL_NAMES, SIGNAL_SIGNS, Signals
from teto.wire.chat import ChatRequest

__all__ = ["SECOND_MOST_TOKENS", "GreyZone", "Score", "Scored", "fit_score", "is_same_answer", "second_request"]

SECOND_MOST_TOKENS: Final = 16  # an answer of this length or more is not drawn twice
SECOND_TEMPERATURE: Final = 0.7
_POOLED_PRIOR: Final = 3.0
_TASK_PRIORS: Final = (10.0, 30.0, 100.0, 300.0)  # tried on the rows themselves, in folds
_FOLDS: Final = 5
_GREY_PRIOR: Final = 3.0
_GREY: Final = (0.4, 0.95)
_LEAST_GREY_ROWS: Final = 40

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One answer that was judged: what a score is learned from. `agreed`: a second answer said the same."""

    task: str
    signals: Signals
    right: bool
    agreed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GreyZone:
    """Between `low` and `high` a second answer is drawn; agreement and disagreement move the log-odds."""

    low: float
    high: float
    slope: float
    agreed: float
    disagreed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The weights: per task, and for tasks that were not seen `pooled`; the last of each is the intercept."""

    names: tuple[str, ...]
    centre: tuple[float, ...]
    spread: tuple[float, ...]
    pooled: tuple[float, ...]
    tasks: Mapping[str, tuple[float, ...]]
    steps: Steps
    grey: GreyZone | None = None

    def of(self, task: str, signals: Signals) -> float:
        """The chance that the answer is right, before any second answer."""
        return self.steps(self._log_odds(task, signals))

    def asks_again(self, first: float, n_tokens: int) -> bool:
        """Whether a second answer may change what is decided."""
        return self.grey is not None and self.grey.low <= first <= self.grey.high and n_tokens < SECOND_MOST_TOKENS

    def after_second(self, first: float, *, agreed: bool) -> float:
        """The chance once the second answer is known; it stays inside the grey zone's neighbourhood."""
        assert self.grey is not None  # noqa: S101 - asked only where `asks_again` said so
        moved = self.grey.slope * _logit(first) + (self.grey.agreed if agreed else self.grey.disagreed)
        return float(1 / (1 + np.exp(-moved)))

    def _log_odds(self, task: str, signals: Signals) -> float:
        weights = self.tasks.get(task, self.pooled)
        scaled = (
            (value - centre) / spread
            for value, centre, spread in zip(signals.values, self.centre, self.spread, strict=True)
        )
        return sum(weight * value for weight, value in zip(weights, scaled, strict=False)) + weights[-1]


def second_request(request: ChatRequest) -> ChatRequest:
    """The request that draws a second answer: the same one, sampled.

    Its seed is a digest of the messages, so that the same request draws the same answer again and others draw
    independently: with one seed for all, all of them would draw the same quantile.
    """
    seed = int.from_bytes(hashlib.sha256(bytes(request.raw["messages"])).digest()[:4], "big") >> 1
    return request.with_fields(temperature=SECOND_TEMPERATURE, seed=seed)


def is_same_answer(first: str, second: str) -> bool:
    """Whether two short answers say the same: case, accents, space and final punctuation aside."""
    return _plain(first) == _plain(second)


def _plain(text: str) -> str:
    return " ".join(fold(text).split()).strip(" .!\"'`")


def _logit(chance: float) -> float:
    bounded = min(max(chance, 1e-6), 1 - 1e-6)
    return float(np.log(bounded / (1 - bounded)))


def fit_score(rows: Sequence[Scored]) -> Score:
    """Learn a score.

    Raises:
        ValueError: no rows, or all of them right, or all wrong.
    """
    right = np.array([row.right for row in rows])
    if not len(rows) or right.all() or not right.any():
        raise ValueError(f"a score needs right and wrong answers, found {int(right.sum())} right of {len(rows)}")
    table = np.array([row.signals.values for row in rows])
    centre, spread = table.mean(axis=0), table.std(axis=0)
    spread = np.where(spread < 1e-9, 1.0, spread)
    scaled = (table - centre) / spread
    names = np.array([row.task for row in rows])
    prior = min(_TASK_PRIORS, key=lambda weight: _held_out_loss(scaled, right, names, weight))
    pooled, tasks = _weights(scaled, right, names, prior)
    odds = np.array([scaled[at] @ tasks[row.task][:-1] + tasks[row.task][-1] for at, row in enumerate(rows)])
    score = Score(
        names=SIGNAL_NAMES,
        centre=_numbers(centre),
        spread=_numbers(spread),
        pooled=_numbers(pooled),
        tasks={task: _numbers(weights) for task, weights in tasks.items()},
        steps=fit_steps(odds, right),
    )
    return _with_grey_zone(score, rows)


def _weights(
    scaled: _Floats, right: NDArray[np.bool_], names: NDArray[np.str_], task_prior: float
) -> tuple[_Floats, dict[str, _Floats]]:
    """The weights of all tasks together, and of each task around them."""
    signs = np.array(SIGNAL_SIGNS, dtype=float)
    pooled = fit_signed(scaled, right, signs, prior_weight=_POOLED_PRIOR)
    tasks: dict[str, _Floats] = {}
    for task in sorted(set(names.tolist())):
        mine = names == task
        tasks[task] = fit_signed(scaled[mine], right[mine], signs, around=pooled, prior_weight=task_prior)
    return pooled, tasks


def _held_out_loss(scaled: _Floats, right: NDArray[np.bool_], names: NDArray[np.str_], task_prior: float) -> float:
    """The log loss of rows whose fold did not teach the weights."""
    fold_of = np.arange(len(right)) % _FOLDS
    lost = 0.0
    for fold_at in range(_FOLDS):
        teaching, asked = fold_of != fold_at, fold_of == fold_at
        pooled, tasks = _weights(scaled[teaching], right[teaching], names[teaching], task_prior)
        for at in np.flatnonzero(asked):
            weights = tasks.get(str(names[at]), pooled)
            odds = float(scaled[at] @ weights[:-1] + weights[-1])
            lost += float(np.logaddexp(0, odds) - odds * right[at])
    return lost


def _with_grey_zone(score: Score, rows: Sequence[Scored]) -> Score:
    """The score with what second answers add to it, where enough of them are known to say so."""
    low, high = _GREY
    firsts = [(score.of(row.task, row.signals), row) for row in rows if row.agreed is not None]
    known = [(first, row) for first, row in firsts if low <= first <= high]
    right = np.array([row.right for _, row in known])
    if len(known) < _LEAST_GREY_ROWS or right.all() or not right.any():
        return score
    table = np.array([[_logit(first), 1.0 if row.agreed else -1.0] for first, row in known])
    slope, agreement, intercept = fit_logistic(table, right, around=np.array([1.0, 0.0, 0.0]), prior_weight=_GREY_PRIOR)
    if slope <= 0 or agreement <= 0:
        return score
    grey = GreyZone(
        low=low,
        high=high,
        slope=float(slope),
        agreed=float(intercept + agreement),
        disagreed=float(intercept - agreement),
    )
    return replace(score, grey=grey)


def _numbers(values: _Floats) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
