"""Thresholds with a finite-sample bound: keep what scores at or above one, and what that promises.

Both rules look at n rows drawn independently from the admitted calls, with a score that was fixed before. Rows of
equal score are kept or escalated together, because a threshold cannot tell them apart.

Marginal rule, P(kept and wrong) <= alpha, denominator all admitted calls. For one fixed threshold t the number
kept and wrong is Bin(n, R(t)), and Clopper-Pearson bounds R(t). The loosest threshold is chosen among many, and
still nothing is paid for the choice: R(t) and the count both only grow as t falls while n stays, so the bounds
are ordered like the thresholds. To pass at any t with R(t) > alpha, a draw must also pass at the strictest such
threshold (or on the way to it), a fixed number of the population, and that happens with probability at most
delta. (This is fixed-sequence testing from the strictest threshold on, and the calibration by an upper confidence
bound of Bates et al. 2021, "Distribution-free, risk-controlling prediction sets".)

Selective rule, P(wrong | kept) <= alpha. This risk need not be monotone, and strict thresholds keep too few rows
to show anything, so the cuts are tested one after the other from a first one on, each at level delta, and the
first that fails ends it (fixed-sequence testing; Angelopoulos et al. 2021, "Learn then test"). An error needs the
first truly bad cut to pass, so delta is not divided. What that takes:
- the first cut given as a score, chosen on other data: exact, whatever the score's shape;
- the first cut given as a number of rows (the default): the first cut then moves with the draw, and the proof
  needs that the risk does not fall as the threshold is loosened, which is what a score is for.

The rule that takes the loosest threshold whose *observed* risk is <= alpha has no bound: it breaks its promise in
about half of all draws. The tests keep it as the counter-example.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from teto.triage.admission import Reason
from teto.triage.bounds import (
    Interval,
    clopper_pearson,
    clopper_pearson_upper,
    least_rows,
    most_wrong,
    most_wrong_by_size,
    require_level,
)
from teto.triage.labelled import Labelled
from teto.units import show_fraction

__all__ = ["Rule", "Threshold", "default_first_cut", "least_deferred_fraction", "marginal_threshold",
           "selective_threshold"]  # fmt: skip

Rule: TypeAlias = Literal["marginal", "selective"]

_FIRST_CUT_FRACTION: Final = 0.1
_NEEDS_ORDER: Final = Reason(
    code="needs_order",
    text="The first cut is a number of rows: the promise rests on a score under which a looser threshold is never "
    "the safer one. A first cut given as a score, from other data, needs no such thing.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """What a rule chose on n rows: keep what scores at or above `threshold`; None keeps nothing.

    Counts are of calibration rows. `marginal_upper` bounds P(kept and wrong) and `selective_upper` bounds
    P(wrong | kept), each one-sided at 1 - delta. Only the one that `rule` names is a promise: it allows for the
    choice among thresholds; the others, also the two-sided 95 % `selective_interval`, are those of a threshold
    named beforehand. `regretted` of the kept were wrong where the cloud was right, and `regret_upper` bounds
    P(kept, wrong, and the cloud right); None where the cloud's answers are unknown.
    """

    rule: Rule
    threshold: float | None
    alpha: float
    delta: float
    n: int
    n_wrong: int
    kept: int
    kept_wrong: int
    marginal_upper: float
    selective_upper: float | None
    selective_interval: Interval | None
    regretted: int | None
    regret_upper: float | None
    least_deferred_fraction: float
    first_cut: int | None
    reasons: tuple[Reason, ...]

    @property
    def bound(self) -> float | None:
        """The bound that the rule promises with probability 1 - delta; None where nothing is kept."""
        if self.threshold is None:
            return None
        return self.marginal_upper if self.rule == "marginal" else self.selective_upper

    @property
    def kept_fraction(self) -> float:
        """The share of rows that are kept."""
        return self.kept / self.n

    @property
    def error_fraction(self) -> float:
        """The share of rows that are wrong when all are kept."""
        return self.n_wrong / self.n


def least_deferred_fraction(error_fraction: float, alpha: float, rule: Rule) -> float:
    """The least share that any method must defer, even one that knows every wrong answer.

    Marginal: of the wrong share mu, alpha may be kept: mu - alpha. Selective: beside the 1 - mu right ones a
    wrong share w may stay with w / (1 - mu + w) = alpha, which leaves (mu - alpha) / (1 - alpha).
    """
    beyond = max(0.0, error_fraction - alpha)
    return beyond if rule == "marginal" else beyond / (1 - alpha)


@dataclass(frozen=True, slots=True)
class _Cuts:
    """Where the rows, best score first, can be cut without parting ties: how many are kept, and how many wrong."""

    order: NDArray[np.int64]
    score: NDArray[np.float64]
    kept: NDArray[np.int64]
    kept_wrong: NDArray[np.int64]


def _cuts(rows: Labelled) -> _Cuts:
    order = np.argsort(-rows.score, kind="stable")
    score = rows.score[order]
    ends = np.flatnonzero(np.append(score[1:] != score[:-1], True))
    wrong = np.cumsum(rows.wrong[order], dtype=np.int64)
    return _Cuts(order, score[ends], (ends + 1).astype(np.int64), wrong[ends])


def marginal_threshold(rows: Labelled, *, alpha: float, delta: float) -> Threshold:
    """The loosest threshold whose upper bound on P(kept and wrong) is at most alpha.

    Over draws of the rows, P(population risk > alpha) <= delta.

    Raises:
        ValueError: alpha or delta outside (0, 1).
    """
    require_level("alpha", alpha)
    require_level("delta", delta)
    cuts = _cuts(rows)
    forgiven = most_wrong(rows.n, alpha, delta)
    passed = int((cuts.kept_wrong <= forgiven).sum())
    needed = least_rows(alpha, delta)
    if rows.n < needed:
        reason = _too_few(rows.n, needed, "rows")
    else:
        reason = Reason(
            code="marginal_bound",
            text=f"Of {rows.n:,} rows at most {forgiven:,} may be kept and wrong for a bound of {alpha:g}.",
            figures={"rows": rows.n, "most_wrong": forgiven},
        )
    return _chosen(rows, cuts, passed, rule="marginal", alpha=alpha, delta=delta, first_cut=None, reasons=(reason,))


def default_first_cut(n: int, alpha: float, delta: float) -> int:
    """The first cut of the selective rule where none is given: how many of n rows.

    The least possible one forgives no wrong answer, and a good score often fails it by bad luck. So: the first
    size that forgives one, or on many rows the first at or beyond a tenth of them that forgives one more than
    the size before it.
    """
    least = least_rows(alpha, delta)
    forgiven = most_wrong_by_size(n, alpha, delta)
    steps = np.flatnonzero(np.diff(forgiven) > 0) + 1
    wished = steps[(steps >= n * _FIRST_CUT_FRACTION) & (forgiven[steps] >= 1)]
    return int(wished[0]) if len(wished) else least


def selective_threshold(
    rows: Labelled, *, alpha: float, delta: float, first_cut: int | None = None, first_score: float | None = None
) -> Threshold:
    """The loosest threshold reached by fixed-sequence testing of P(wrong | kept) <= alpha.

    Over draws of the rows, P(population risk > alpha) <= delta (see the module for what it takes).

    Args:
        rows: the calibration rows.
        alpha: the most risk.
        delta: the chance of a broken promise.
        first_cut: rows of the strictest threshold tested, not below `least_rows(alpha, delta)`; ties with the
            last of them come along. Choose it without the labels.
        first_score: the strictest threshold tested, in place of `first_cut`, chosen on other data.

    Raises:
        ValueError: both first cuts, one that could never pass, or alpha or delta outside (0, 1).
    """
    least = least_rows(alpha, delta)
    if first_cut is not None and first_score is not None:
        raise ValueError("give first_cut or first_score, not both")
    if first_cut is not None and first_cut < least:
        raise ValueError(
            f"a first cut of {first_cut} rows certifies nothing at alpha={alpha}, delta={delta}: give at least {least}"
        )
    cuts = _cuts(rows)
    if first_score is None:
        first_cut = first_cut or default_first_cut(rows.n, alpha, delta)
        start = int(np.searchsorted(cuts.kept, first_cut))
    else:
        start = max(0, int((cuts.score >= first_score).sum()) - 1)
        first_cut = int(cuts.kept[start]) if cuts.score[0] >= first_score else 0
    if rows.n < first_cut or first_cut < least:
        reason = _too_few(min(rows.n, first_cut), max(first_cut, least), "rows in the first cut")
        return _chosen(
            rows, cuts, 0, rule="selective", alpha=alpha, delta=delta, first_cut=first_cut, reasons=(reason,)
        )
    forgiven = most_wrong_by_size(rows.n, alpha, delta)[cuts.kept[start:]]
    fails = cuts.kept_wrong[start:] > forgiven
    n_passed = int(fails.argmax()) if fails.any() else len(fails)
    reason = _sequence_reason(cuts, forgiven, start, n_passed)
    passed = start + n_passed if n_passed else 0
    reasons = (reason, *([_NEEDS_ORDER] if passed and first_score is None else []))
    return _chosen(rows, cuts, passed, rule="selective", alpha=alpha, delta=delta, first_cut=first_cut, reasons=reasons)


def _too_few(found: int, needed: int, what: str) -> Reason:
    return Reason(
        code="too_few_rows",
        text=f"{found:,} {what} cannot show it, even with none wrong: {needed:,} are needed.",
        figures={"rows": found, "needed": needed},
    )


def _sequence_reason(cuts: _Cuts, forgiven: NDArray[np.int64], start: int, n_passed: int) -> Reason:
    if n_passed == len(forgiven):
        return Reason(code="all_cuts_passed", text="Every cut passed, down to keeping all rows.")
    kept, wrong = int(cuts.kept[start + n_passed]), int(cuts.kept_wrong[start + n_passed])
    most = int(forgiven[n_passed])
    return Reason(
        code="cut_failed" if n_passed else "first_cut_failed",
        text=f"{'The' if n_passed else 'Already the first'} cut of {kept:,} rows holds {wrong:,} wrong ones; "
        f"{most:,} would pass.",
        figures={"kept": kept, "wrong": wrong, "most_wrong": most},
    )


def _chosen(
    rows: Labelled,
    cuts: _Cuts,
    passed: int,
    *,
    rule: Rule,
    alpha: float,
    delta: float,
    first_cut: int | None,
    reasons: tuple[Reason, ...],
) -> Threshold:
    """The figures of the loosest of the first `passed` cuts."""
    kept = int(cuts.kept[passed - 1]) if passed else 0
    wrong = int(cuts.kept_wrong[passed - 1]) if passed else 0
    n_wrong = int(rows.wrong.sum())
    regretted = None
    if rows.cloud_right is not None:
        regretted = int((rows.wrong & rows.cloud_right)[cuts.order[:kept]].sum())
    least = least_deferred_fraction(n_wrong / rows.n, alpha, rule)
    return Threshold(
        rule=rule,
        threshold=float(cuts.score[passed - 1]) if passed else None,
        alpha=alpha,
        delta=delta,
        n=rows.n,
        n_wrong=n_wrong,
        kept=kept,
        kept_wrong=wrong,
        marginal_upper=clopper_pearson_upper(wrong, rows.n, delta) if kept else 0.0,
        selective_upper=clopper_pearson_upper(wrong, kept, delta) if kept else None,
        selective_interval=clopper_pearson(wrong, kept) if kept else None,
        regretted=regretted,
        regret_upper=_regret_upper(regretted, kept, rows.n, delta),
        least_deferred_fraction=least,
        first_cut=first_cut,
        reasons=(
            *reasons,
            *_floor(rows.n, n_wrong, least, rule),
            *_nothing(cuts, kept),
            *_blind(rows.n, n_wrong, kept, wrong),
        ),
    )


def _regret_upper(regretted: int | None, kept: int, n: int, delta: float) -> float | None:
    if regretted is None:
        return None
    return clopper_pearson_upper(regretted, n, delta) if kept else 0.0


def _floor(n: int, n_wrong: int, least: float, rule: Rule) -> Iterator[Reason]:
    yield Reason(
        code="least_deferred",
        text=f"{show_fraction(n_wrong / n)} of all rows are wrong, so no method at all can keep to the {rule} limit "
        f"and defer less than {show_fraction(least)}.",
        figures={"error_fraction": n_wrong / n, "least_deferred_fraction": least},
    )


def _nothing(cuts: _Cuts, kept: int) -> Iterator[Reason]:
    if not kept:
        yield Reason(
            code="keeps_nothing",
            text="No threshold is certified: every call goes up.",
            figures={"best_score": float(cuts.score[0]), "rows_at_best": int(cuts.kept[0])},
        )


def _blind(n: int, n_wrong: int, kept: int, kept_wrong: int) -> Iterator[Reason]:
    """Small risk by keeping little: a marginal bound is also kept by a score that knows nothing."""
    if 0 < kept < n and kept_wrong * n >= n_wrong * kept > 0:
        yield Reason(
            code="blind_score",
            text=f"{show_fraction(kept_wrong / kept)} of the kept answers are wrong, no less than of all: the score "
            "does not tell them apart, and the bound holds only because few are kept.",
            figures={"kept_error_fraction": kept_wrong / kept, "error_fraction": n_wrong / n},
        )
