"""The answer of `teto calibrate --recorded`: a score's figures, its curve, and the thresholds."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from teto.triage.admission import Reason
from teto.triage.bounds import Interval
from teto.triage.deferral import Curve, Estimate, Evaluation, Figures, Recorded, evaluate
from teto.triage.labelled import Labelled
from teto.triage.threshold import Threshold, marginal_threshold, selective_threshold

__all__ = ["Answer", "Curves", "answer", "curves_of"]

_STEPS: Final = 101


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Mean quality at each percent deferred, read off the broken lines."""

    deferred_fraction: list[float]
    score: list[float]
    perfect: list[float]
    oracle: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is printed. `is_share`: both columns hold right or wrong, so that qualities are shares of right answers.

    `rules` is empty where the small model's answers are marks: right and wrong are then not said.
    """

    table: str
    n: int
    small_mean: float
    large_mean: float
    is_share: bool
    figures: dict[str, Estimate]
    random: Figures
    perfect: Figures
    oracle: Figures
    luck: Interval | None
    level: float
    n_resamples: int
    no_gap_fraction: float
    seed: int
    alpha: float
    delta: float
    rules: tuple[Threshold, ...]
    reasons: tuple[Reason, ...]
    curves: Curves


def answer(
    table: str,
    recorded: Recorded,
    *,
    alpha: float,
    delta: float,
    first_cut: int | None,
    n_resamples: int,
    seed: int,
    level: float = 0.95,
) -> tuple[Answer, Evaluation]:
    """Evaluate the score and apply both rules to it; the evaluation comes along for the picture.

    Raises:
        ValueError: a first cut that could certify nothing.
    """
    found = evaluate(recorded, generator=np.random.default_rng(seed), n_resamples=n_resamples, level=level)
    rules, reasons = _rules(recorded, alpha=alpha, delta=delta, first_cut=first_cut)
    printed = Answer(
        table=table,
        n=found.n,
        small_mean=found.small_mean,
        large_mean=found.large_mean,
        is_share=recorded.small_is_binary and recorded.large_is_binary,
        figures=found.figures,
        random=found.random,
        perfect=found.perfect,
        oracle=found.oracle,
        luck=found.luck,
        level=level,
        n_resamples=n_resamples,
        no_gap_fraction=found.no_gap_fraction,
        seed=seed,
        alpha=alpha,
        delta=delta,
        rules=rules,
        reasons=(*found.reasons, *reasons),
        curves=curves_of(found),
    )
    return printed, found


def curves_of(found: Evaluation) -> Curves:
    """The curves of an evaluation, at each percent deferred."""
    across = np.linspace(0, 1, _STEPS)

    def heights(curve: Curve) -> list[float]:
        return [float(height) for height in curve.at(across)]

    return Curves(
        deferred_fraction=[round(float(share), 2) for share in across],
        score=heights(found.curve),
        perfect=heights(found.perfect_curve),
        oracle=heights(found.oracle_curve),
    )


def _rules(
    recorded: Recorded, *, alpha: float, delta: float, first_cut: int | None
) -> tuple[tuple[Threshold, ...], tuple[Reason, ...]]:
    if not recorded.small_is_binary:
        text = "No rule is applied: they bound the chance of a wrong answer, and the small model's are marks here."
        return (), (Reason(code="no_rules", text=text),)
    rows = Labelled(
        score=recorded.score,
        wrong=recorded.small == 0,
        cloud_right=recorded.large == 1 if recorded.large_is_binary else None,
    )
    chosen = (
        marginal_threshold(rows, alpha=alpha, delta=delta),
        selective_threshold(rows, alpha=alpha, delta=delta, first_cut=first_cut),
    )
    return chosen, ()
