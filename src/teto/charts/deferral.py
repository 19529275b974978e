"""Deferral curves: quality against the share of calls that go to the large model, beside what no score can know."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from teto.charts.labels import Frame, Label, along, place_labels
from teto.charts.marks import text_width
from teto.charts.svg import GREY, INK, Panel, picture_svg, require_charts_extra
from teto.charts.texts import Lang, Words
from teto.charts.waterfall import CEILING_FILL, LOSS_FILL, WEIGHTS_FILL
from teto.triage.deferral import Curve, Evaluation
from teto.units import show_fraction

if TYPE_CHECKING:
    import altair as alt

    from teto.charts.svg import Drawing

__all__ = ["DeferralFigure", "deferral_panel", "deferral_svg"]

_WIDTH: Final = 760.0
_HEIGHT: Final = 400.0
_SIZE: Final = 11.0
_POINT: Final = 5.0  # half a mark's width
_MOST_CORNERS: Final = 401  # more are drawn as points at even distances, which no eye tells apart

_Kind: TypeAlias = Literal["random", "perfect", "oracle", "score"]

# The colour, the width and the dashes of each curve, and at which share deferred its name stands.
_STYLES: Final[dict[_Kind, tuple[str, float, tuple[int, ...], float]]] = {
    "random": (GREY, 1.2, (2, 3), 0.68),
    "perfect": (WEIGHTS_FILL, 1.4, (6, 3), 0.80),
    "oracle": (LOSS_FILL, 1.4, (6, 3), 0.55),
    "score": (CEILING_FILL, 2.6, (), 0.40),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferralFigure:
    """What is drawn. `subject` names the table, as the reader knows it; `is_share`: quality is a share of right."""

    subject: str
    evaluation: Evaluation
    is_share: bool


@dataclass(frozen=True, slots=True)
class _Plane:
    """The range of the quality axis, and from values to pixels and back; the other axis runs from 0 to 1."""

    low: float
    high: float

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        return x * _WIDTH, (1 - (y - self.low) / (self.high - self.low)) * _HEIGHT

    def value(self, x: float, y: float) -> tuple[float, float]:
        return x / _WIDTH, self.low + (1 - y / _HEIGHT) * (self.high - self.low)


def deferral_svg(figure: DeferralFigure, lang: Lang = "en") -> str:
    """The curves as SVG."""
    return picture_svg([[deferral_panel(figure, lang)]])


def deferral_panel(figure: DeferralFigure, lang: Lang = "en") -> Panel:
    """The curves, to stand beside others."""
    require_charts_extra()
    words = Words(lang)
    title = words.say("defer.title")
    found = figure.evaluation
    said = words.say(
        "defer.desc",
        n=f"{found.n:,}",
        small=_quality(figure, found.small_mean),
        large=_quality(figure, found.large_mean),
    )
    return Panel(
        drawing=_drawing(figure, words, title),
        title=title,
        description=f"{figure.subject}. {said} {_key(figure, words)}.",
    )


def _quality(figure: DeferralFigure, quality: float) -> str:
    return show_fraction(quality) if figure.is_share else f"{quality:.3g}"


def _curves(figure: DeferralFigure) -> dict[_Kind, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    found = figure.evaluation
    ends = Curve(deferred_fraction=np.array([0.0, 1.0]), quality=np.array([found.small_mean, found.large_mean]))
    curves: dict[_Kind, Curve] = {
        "random": ends, "perfect": found.perfect_curve, "oracle": found.oracle_curve, "score": found.curve,
    }  # fmt: skip
    return {kind: _thinned(curve) for kind, curve in curves.items()}


def _thinned(curve: Curve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(curve.deferred_fraction) <= _MOST_CORNERS:
        return curve.deferred_fraction, curve.quality
    across = np.linspace(0, 1, _MOST_CORNERS)
    return across, curve.at(across)


def _plane(figure: DeferralFigure) -> _Plane:
    """Room above and below all curves."""
    levels = np.concatenate([quality for _, quality in _curves(figure).values()])
    low, high = float(levels.min()), float(levels.max())
    room = 0.12 * (high - low) or 0.1
    return _Plane(low - room, high + room)


def _crossings(figure: DeferralFigure) -> list[tuple[str, float, float]]:
    """The key of each CPT's text, where the score's curve first crosses it, and at which quality."""
    found = figure.evaluation
    gap = found.large_mean - found.small_mean
    return [
        (f"defer.{name}", value, found.small_mean + share * gap)
        for name, share in (("cpt50", 0.5), ("cpt80", 0.8))
        if (value := found.figures[name].value) is not None
    ]


def _drawing(figure: DeferralFigure, words: Words, title: str) -> "Drawing":
    import altair as alt  # noqa: PLC0415  (an extra: whoever draws imports it)

    plane = _plane(figure)
    x, y = _axes(figure, plane, words)
    layers: list[alt.Chart] = []
    for kind, (across, quality) in _curves(figure).items():
        color, width, dash, _ = _STYLES[kind]
        rows = [{"x": float(one), "y": float(two)} for one, two in zip(across, quality, strict=True)]
        line = alt.Chart(alt.InlineData(values=rows)).mark_line(
            color=color, strokeWidth=width, strokeDash=list(dash), interpolate="linear", strokeJoin="round"
        )
        layers.append(line.encode(x=x, y=y, order=alt.Order("x:Q")))
    labels, leaders = _labels(figure, plane, words)
    points = [{"x": across, "y": quality} for _, across, quality in _crossings(figure)]
    return alt.layer(
        alt.Chart(alt.InlineData(values=leaders)).mark_rule(color=GREY, strokeWidth=0.6).encode(
            x=x, y=y, x2=alt.X2("x2"), y2=alt.Y2("y2")
        ),
        *layers,
        alt.Chart(alt.InlineData(values=points)).mark_point(
            size=60, filled=True, color=CEILING_FILL, opacity=1
        ).encode(x=x, y=y),
        alt.Chart(alt.InlineData(values=labels)).mark_text(
            align=alt.expr("datum.align"), baseline="middle", fontSize=_SIZE, fontWeight=alt.expr("datum.weight"),
        ).encode(x=x, y=y, text=alt.Text("text:N"), color=alt.Color("color:N", scale=None)),
    ).properties(
        width=_WIDTH, height=_HEIGHT, title=alt.TitleParams(title, subtitle=[figure.subject, _key(figure, words)])
    )  # fmt: skip


def _axes(figure: DeferralFigure, plane: _Plane, words: Words) -> tuple["alt.X", "alt.Y"]:
    import altair as alt  # noqa: PLC0415

    written = ".0%" if figure.is_share else "~g"
    name = words.say("defer.y.share" if figure.is_share else "defer.y")
    return (
        alt.X("x:Q", title=words.say("defer.x"), scale=alt.Scale(domain=[0, 1], nice=False),
              axis=alt.Axis(format=".0%", tickCount=10, labelExpr=words.axis_label)),
        alt.Y("y:Q", title=name, scale=alt.Scale(domain=[plane.low, plane.high], nice=False, zero=False),
              axis=alt.Axis(format=written, labelExpr=words.axis_label)),
    )  # fmt: skip


def _labels(figure: DeferralFigure, plane: _Plane, words: Words) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The names of curves and crossings, and the lines that lead to those that had to go farther away."""
    wanted, colors = [], []
    taken: list[Frame] = []
    for key, across, quality in _crossings(figure):
        x, y = plane.pixel(across, quality)
        text = words.say(key, share=show_fraction(across))
        wanted.append(Label(x, y, text, text_width(text, _SIZE)))
        colors.append(CEILING_FILL)
        taken.append(Frame(x - _POINT, y - _POINT, x + _POINT, y + _POINT))
    for kind, (across_all, quality_all) in _curves(figure).items():
        at = _STYLES[kind][3]
        x, y = plane.pixel(at, float(np.interp(at, across_all, quality_all)))
        text = words.say(f"defer.{kind}")
        wanted.append(Label(x, y, text, text_width(text, _SIZE)))
        colors.append(INK if kind == "random" else _STYLES[kind][0])
        taken += _covered(across_all, quality_all, plane)
    placed = place_labels(wanted, within=Frame(0, 0, _WIDTH, _HEIGHT), taken=taken)
    texts, leaders = [], []
    for label, place, color in zip(wanted, placed, colors, strict=True):
        x, y = plane.value(place.x, place.y)
        texts.append({"x": x, "y": y, "text": label.text, "align": place.align, "color": color, "weight": "bold"})
        if place.is_far:
            x2, y2 = plane.value(label.x, label.y)
            leaders.append({"x": x, "y": y, "x2": x2, "y2": y2})
    return texts, leaders


def _covered(across: NDArray[np.float64], quality: NDArray[np.float64], plane: _Plane) -> list[Frame]:
    """Small squares along a curve."""
    corners = [plane.pixel(float(x), float(y)) for x, y in zip(across, quality, strict=True)]
    pairs = pairwise(corners)
    return [square for start, end in pairs for square in along(*start, *end, half=3.0)]


def _key(figure: DeferralFigure, words: Words) -> str:
    """The figures in one line."""
    found = figure.evaluation.figures
    apgr, auroc = found["apgr"].value, found["auroc"].value
    parts = [] if apgr is None else [words.say("defer.apgr", figure=f"{apgr:.3f}")]
    parts += [words.say(key, share=show_fraction(across)) for key, across, _ in _crossings(figure)]
    parts += [] if auroc is None else [words.say("defer.auroc", figure=f"{auroc:.3f}")]
    return " · ".join(parts or [words.say("defer.no_gap")])
