"""How well a score tells which answers to defer: curves and figures on recorded answers of a small and a large model.

A row is one question: how good the small model's answer was, how good the large one's, and a score (higher:
keep the small one's). Deferring the lowest scores first gives the deferral curve: mean quality against the share
deferred, from the small model's mean at 0 to the large one's at 1.

- Ties cannot be parted by a threshold. A group of equal scores is a straight line of the curve, which is what
  deferring a random part of it gives on average.
- PGR, the performance gap recovered: (quality - small) / (large - small). Above 1 the pair beats the large model.
- APGR: the area under PGR over the share deferred from 0 to 1, by trapezoids between all the curve's corners, so no
  grid is chosen. A score without information has exactly 0.5. (Published values for random routers scatter around
  that: they are averages over drawn orders on a grid of ten quantiles.)
- CPT(x): the least share deferred at which PGR reaches x, linear between two corners. A first crossing: a curve
  that rises above x and falls again still crosses where it first did.
- AUDC: the area under the curve itself, in units of quality.
- AUROC: the chance that a right small answer scores above a wrong one, ties half. Only for right-or-wrong answers.

References: `random` (one tie of all rows), `perfect` (a detector that knows the small model's quality, not the
large one's: worst first), `oracle` (by gain, large minus small: what is lost by deferring goes last). Checked
against RouteLLM's recorded answers without the contaminated rows; its MT-Bench is one row per question, the mean
of both turns.
"""

from dataclasses import dataclass, fields
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from teto.triage.admission import Reason
from teto.triage.bounds import Interval, require_level
from teto.units import show_fraction

__all__ = ["Curve", "Estimate", "Evaluation", "Figures", "Recorded", "auroc", "evaluate", "random_orders"]

_Floats: TypeAlias = NDArray[np.float64]

_ELEMENTS_AT_ONCE: Final = 2_000_000
_ORDERS: Final = 200
_ROUNDING: Final = 1e-12  # what sums of qualities may be off by


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recorded:
    """One element per question: the quality of both answers on one scale (1 and 0 for right and wrong), the score."""

    small: _Floats
    large: _Floats
    score: _Floats

    def __post_init__(self) -> None:
        for name in ("small", "large", "score"):
            column = getattr(self, name)
            if column.ndim != 1 or len(column) != len(self.small) or not len(column):
                raise ValueError(f"expected one figure a row in {name}, found the form {column.shape}")
            bad = np.isnan(column) if name == "score" else ~np.isfinite(column)
            if bad.any():
                at = int(bad.argmax())
                raise ValueError(f"{name} must be a number, found {column[at]} in row {at}: drop the row or fill it")

    @property
    def n(self) -> int:
        """How many rows."""
        return len(self.small)

    @property
    def small_is_binary(self) -> bool:
        """Whether the small model's answers are right or wrong, nothing between."""
        return bool(np.isin(self.small, (0.0, 1.0)).all())

    @property
    def large_is_binary(self) -> bool:
        """Whether the large model's answers are right or wrong, nothing between."""
        return bool(np.isin(self.large, (0.0, 1.0)).all())

    def scored(self, score: _Floats) -> "Recorded":
        """The same answers under another score."""
        return Recorded(small=self.small, large=self.large, score=score)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """The corners of a deferral curve; straight lines lie between them."""

    deferred_fraction: _Floats
    quality: _Floats

    def at(self, deferred_fraction: _Floats) -> _Floats:
        """The mean quality when that share is deferred."""
        found: _Floats = np.interp(deferred_fraction, self.deferred_fraction, self.quality)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One score's figures; None where one has no meaning (no gap to recover, answers that are not right or wrong)."""

    apgr: float | None
    cpt50: float | None
    cpt80: float | None
    audc: float
    auroc: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure and its bootstrap percentile interval; None where the resamples do not support one."""

    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """A score on recorded answers.

    `luck` is where APGR falls when the rows are deferred in random order, None without a gap. `no_gap_fraction`
    is the share of resamples in which the large model was not the better one.
    """

    n: int
    small_mean: float
    large_mean: float
    curve: Curve
    figures: dict[str, Estimate]
    random: Figures
    perfect: Figures
    oracle: Figures
    perfect_curve: Curve
    oracle_curve: Curve
    luck: Interval | None
    n_resamples: int
    no_gap_fraction: float
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class _Many:
    """Curves and figures of several resamples at once, one to a row."""

    deferred: _Floats
    quality: _Floats
    figures: dict[str, _Floats]
    has_gap: NDArray[np.bool_]


def auroc(score: _Floats, right: NDArray[np.bool_]) -> float | None:
    """The chance that a right answer scores above a wrong one, ties half; None where all are right, or all wrong."""
    values = np.where(right, 1.0, 0.0)
    return _figures(Recorded(small=values, large=values, score=score)).auroc


def evaluate(
    recorded: Recorded, *, generator: np.random.Generator, n_resamples: int = 1000, level: float = 0.95
) -> Evaluation:
    """The score's curve, its figures with bootstrap intervals, and the references beside it.

    Rows are drawn again with replacement, the score kept as it is: the intervals are those of other questions of
    the same kind, not of another fit of the score.

    Raises:
        ValueError: fewer than 2 resamples, or a level outside (0, 1).
    """
    require_level("level", level)
    if n_resamples < 2:
        raise ValueError(f"expected at least 2 resamples, found {n_resamples}")
    drawn, has_gap = _resampled(recorded, generator, n_resamples)
    figures = _figures(recorded)
    estimates = {
        field.name: _estimate(getattr(figures, field.name), drawn[field.name], level) for field in fields(Figures)
    }
    perfect, oracle = recorded.scored(recorded.small), recorded.scored(recorded.small - recorded.large)
    return Evaluation(
        n=recorded.n,
        small_mean=float(recorded.small.mean()),
        large_mean=float(recorded.large.mean()),
        curve=_curve(recorded),
        figures=estimates,
        random=_figures(recorded.scored(np.zeros(recorded.n))),
        perfect=_figures(perfect),
        oracle=_figures(oracle),
        perfect_curve=_curve(perfect),
        oracle_curve=_curve(oracle),
        luck=None if figures.apgr is None else _luck(recorded, generator, level),
        n_resamples=n_resamples,
        no_gap_fraction=float(1 - has_gap.mean()),
        reasons=_reasons(recorded, figures, float(1 - has_gap.mean()), level),
    )


def random_orders(recorded: Recorded, *, generator: np.random.Generator, n_orders: int) -> _Floats:
    """APGR of that many random orders of the rows: what luck alone gives; the mean tends to 0.5.

    Raises:
        ValueError: the large model is not the better one, so there is no gap to recover.
    """
    gap = float(recorded.large.mean() - recorded.small.mean())
    if gap <= _ROUNDING:
        raise ValueError(f"the large model is no better than the small one on these rows (gap {gap:.4g})")
    gain = recorded.large - recorded.small
    at_once = max(1, _ELEMENTS_AT_ONCE // recorded.n)
    found = []
    for start in range(0, n_orders, at_once):
        orders = generator.permuted(np.tile(gain, (min(at_once, n_orders - start), 1)), axis=1)
        recovered = np.cumsum(orders, axis=1) / (recorded.n * gap)
        found.append((recovered.sum(axis=1) - recovered[:, -1] / 2) / recorded.n)  # trapezoids from 0
    return np.concatenate(found)


def _luck(recorded: Recorded, generator: np.random.Generator, level: float) -> Interval:
    drawn = random_orders(recorded, generator=generator, n_orders=_ORDERS)
    low, high = np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2))
    return Interval(low=float(low), high=float(high), level=level)


def _curve(recorded: Recorded) -> Curve:
    many = _evaluated(_Sorted.of(recorded), np.ones((1, recorded.n)))
    return Curve(deferred_fraction=many.deferred[0], quality=many.quality[0])


def _figures(recorded: Recorded) -> Figures:
    found = _evaluated(_Sorted.of(recorded), np.ones((1, recorded.n))).figures
    values = {name: None if np.isnan(values[0]) else float(values[0]) for name, values in found.items()}
    area = values["audc"]
    assert area is not None  # noqa: S101 - the area of finite qualities
    return Figures(apgr=values["apgr"], cpt50=values["cpt50"], cpt80=values["cpt80"], audc=area, auroc=values["auroc"])


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The rows in the order in which they are deferred, and where each group of equal scores starts."""

    small: _Floats
    gain: _Floats
    starts: NDArray[np.int64]
    is_binary: bool

    @classmethod
    def of(cls, recorded: Recorded) -> "_Sorted":
        order = np.argsort(recorded.score, kind="stable")
        score = recorded.score[order]
        starts = np.flatnonzero(np.append(True, score[1:] != score[:-1]))  # the first row starts one
        gain = (recorded.large - recorded.small)[order]
        return cls(recorded.small[order], gain, starts.astype(np.int64), recorded.small_is_binary)

    def grouped(self, rows: _Floats) -> _Floats:
        """The sum of each group."""
        found: _Floats = np.add.reduceat(rows, self.starts, axis=1)
        return found


def _evaluated(rows: _Sorted, counts: _Floats) -> _Many:
    """Curves and figures where row i of the order was drawn `counts[:, i]` times."""
    n = counts.shape[1]
    size = rows.grouped(counts)
    small = counts @ rows.small / n
    zero = np.zeros((len(counts), 1))
    deferred = np.hstack((zero, np.cumsum(size, axis=1) / n))
    risen = np.hstack((zero, np.cumsum(rows.grouped(counts * rows.gain), axis=1) / n))
    gap = risen[:, -1]
    has_gap = gap > _ROUNDING
    recovered = risen / np.where(has_gap, gap, np.nan)[:, None]
    area = np.trapezoid(risen, deferred, axis=1)
    figures = {
        "apgr": np.trapezoid(recovered, deferred, axis=1),
        "cpt50": _first_crossing(deferred, recovered, 0.5),
        "cpt80": _first_crossing(deferred, recovered, 0.8),
        "audc": small + area,
        "auroc": _auroc(rows, counts, size) if rows.is_binary else np.full(len(counts), np.nan),
    }
    return _Many(deferred, small[:, None] + risen, figures, has_gap)


def _first_crossing(deferred: _Floats, recovered: _Floats, target: float) -> _Floats:
    """Where each row first reaches the target; NaN where there is no gap."""
    after = np.argmax(recovered >= target - _ROUNDING, axis=1)[:, None]
    before = np.maximum(after - 1, 0)
    x, x2 = np.take_along_axis(deferred, before, 1)[:, 0], np.take_along_axis(deferred, after, 1)[:, 0]
    y, y2 = np.take_along_axis(recovered, before, 1)[:, 0], np.take_along_axis(recovered, after, 1)[:, 0]
    share = np.divide(target - y, y2 - y, out=np.full_like(y, np.nan), where=y2 > y)
    found: _Floats = x + np.minimum(share, 1) * (x2 - x)
    return found


def _auroc(rows: _Sorted, counts: _Floats, size: _Floats) -> _Floats:
    right = rows.grouped(counts * rows.small)
    wrong = size - right
    below = np.cumsum(wrong, axis=1) - wrong / 2
    pairs = right.sum(axis=1) * wrong.sum(axis=1)
    found: _Floats = np.divide((right * below).sum(axis=1), pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    return found


def _resampled(
    recorded: Recorded, generator: np.random.Generator, n_resamples: int
) -> tuple[dict[str, _Floats], NDArray[np.bool_]]:
    rows, n = _Sorted.of(recorded), recorded.n
    at_once = max(1, _ELEMENTS_AT_ONCE // n)
    parts = []
    for start in range(0, n_resamples, at_once):
        size = min(at_once, n_resamples - start)
        drawn = generator.integers(0, n, (size, n)) + np.arange(size)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
        parts.append(_evaluated(rows, counts))
    figures = {name: np.concatenate([part.figures[name] for part in parts]) for name in parts[0].figures}
    return figures, np.concatenate([part.has_gap for part in parts])


def _estimate(value: float | None, drawn: _Floats, level: float) -> Estimate:
    """The percentile interval, unless more resamples lack the figure than one of its tails holds."""
    known = drawn[~np.isnan(drawn)]
    tail = (1 - level) / 2
    if value is None or len(drawn) - len(known) > tail * len(drawn):
        return Estimate(value=value, interval=None)
    low, high = np.quantile(known, (tail, 1 - tail))
    return Estimate(value=value, interval=Interval(low=float(low), high=float(high), level=level))


def _reasons(recorded: Recorded, figures: Figures, no_gap_fraction: float, level: float) -> tuple[Reason, ...]:
    found = []
    if figures.apgr is None:
        text = "The large model is no better than the small one on these rows: there is no gap to recover."
        found.append(Reason(code="no_gap", text=text))
    elif no_gap_fraction > 0:
        is_too_many = no_gap_fraction > (1 - level) / 2
        ending = ": APGR and CPT get no interval." if is_too_many else "; the intervals of APGR and CPT leave them out."
        text = f"In {show_fraction(no_gap_fraction)} of the resamples the large model was not the better one{ending}"
        found.append(Reason(code="weak_gap", text=text, figures={"no_gap_fraction": no_gap_fraction}))
    if not recorded.small_is_binary:
        text = "The small model's column holds more than 0 and 1: AUROC needs right or wrong answers."
        found.append(Reason(code="not_binary", text=text))
    elif figures.auroc is None:
        found.append(Reason(code="one_kind", text="The small model's answers are all right or all wrong: no AUROC."))
    return tuple(found)
