"""The roofline: what memory and compute allow at each arithmetic intensity, and where prefill and decode stand."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from teto.charts.labels import Frame, Label, PlacedLabel, along, place_labels
from teto.charts.marks import text_width
from teto.charts.scales import log_ticks
from teto.charts.svg import GREY, INK, Panel, picture_svg, require_charts_extra
from teto.charts.texts import Lang, Words
from teto.charts.waterfall import CEILING_FILL, LOSS_FILL
from teto.physics.values import require_positive
from teto.units import show_rate

if TYPE_CHECKING:
    import altair as alt

    from teto.charts.svg import Drawing

__all__ = ["RooflineFigure", "RooflinePoint", "roofline_panel", "roofline_svg"]

_WIDTH = 845.0
_HEIGHT = 430.0
_SIZE = 11.0
_POINT = 5.0  # half a mark's width


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePoint:
    """One decode step of `count` sequences, or one prefill of `count` tokens."""

    phase: Literal["prefill", "decode"]
    count: int
    flops: float
    bytes: float
    ceiling_s: float
    estimate_s: float | None = None
    measured_s: float | None = None

    def __post_init__(self) -> None:
        require_positive(self, "count", "flops", "bytes", "ceiling_s", "estimate_s", "measured_s")

    @property
    def intensity_flops_per_byte(self) -> float:
        """FLOPs done for each byte moved."""
        return self.flops / self.bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineFigure:
    """A device's two limits and the points under them. `flops_per_s` None: the compute rate is unknown."""

    subject: str
    mem_bandwidth_bytes_per_s: float
    flops_per_s: float | None
    points: tuple[RooflinePoint, ...]

    def __post_init__(self) -> None:
        require_positive(self, "mem_bandwidth_bytes_per_s", "flops_per_s")
        if not self.points:
            raise ValueError("a roofline shows at least one point")

    @property
    def ridge_flops_per_byte(self) -> float | None:
        """The intensity from which compute binds."""
        return None if self.flops_per_s is None else self.flops_per_s / self.mem_bandwidth_bytes_per_s

    def most_flops_per_s(self, intensity_flops_per_byte: float) -> float:
        """The roof over that intensity."""
        slope = intensity_flops_per_byte * self.mem_bandwidth_bytes_per_s
        return slope if self.flops_per_s is None else min(slope, self.flops_per_s)


@dataclass(frozen=True, slots=True)
class _Plane:
    """The ranges of both axes, and from their values to pixels and back."""

    x: tuple[float, float]
    y: tuple[float, float]

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        across = math.log(x / self.x[0]) / math.log(self.x[1] / self.x[0])
        up = math.log(y / self.y[0]) / math.log(self.y[1] / self.y[0])
        return across * _WIDTH, (1 - up) * _HEIGHT

    def value(self, x: float, y: float) -> tuple[float, float]:
        across = self.x[0] * (self.x[1] / self.x[0]) ** (x / _WIDTH)
        return across, self.y[0] * (self.y[1] / self.y[0]) ** (1 - y / _HEIGHT)


def roofline_svg(figure: RooflineFigure, lang: Lang = "en") -> str:
    """The roofline as SVG."""
    return picture_svg([[roofline_panel(figure, lang)]])


def roofline_panel(figure: RooflineFigure, lang: Lang = "en") -> Panel:
    """The roofline, to stand beside others."""
    require_charts_extra()
    words = Words(lang)
    title = words.say("roof.title")
    points = " ".join(
        words.say(
            "roof.point",
            phase=point.phase,
            name=_name(point, words),
            intensity=f"{point.intensity_flops_per_byte:,.1f}",
            rate=show_rate(point.flops / point.ceiling_s, "FLOP"),
        ) + "."
        for point in figure.points
    )  # fmt: skip
    return Panel(drawing=_drawing(figure, words, title), title=title, description=f"{figure.subject}. {points}")


def _name(point: RooflinePoint, words: Words) -> str:
    return words.say(f"roof.{point.phase}", n=f"{point.count:,}")


def _plane(figure: RooflineFigure) -> _Plane:
    """Room around all points and the ridge."""
    across = [point.intensity_flops_per_byte for point in figure.points]
    across += [figure.ridge_flops_per_byte * scale for scale in (1, 6) if figure.ridge_flops_per_byte is not None]
    up = [mark["y"] for point in figure.points for mark in _marks(point)]
    x = (min(across) * 0.45, max(across) * 2.2)
    ends = [figure.most_flops_per_s(end) for end in x]
    return _Plane(x, (min(*up, *ends) * 0.8, max(*up, *ends) * 1.6))


def _marks(point: RooflinePoint) -> list[dict[str, Any]]:
    """The point as it is drawn: hollow at its ceiling, filled at its estimate, a cross where it was measured."""
    x = point.intensity_flops_per_byte
    shape = "square" if point.phase == "prefill" else "circle"
    color = LOSS_FILL if point.phase == "prefill" else CEILING_FILL
    kinds = (
        (point.ceiling_s, shape, "white"), (point.estimate_s, shape, color), (point.measured_s, "cross", INK),
    )  # fmt: skip
    return [
        {"x": x, "y": point.flops / seconds, "shape": kind, "fill": fill, "color": color}
        for seconds, kind, fill in kinds
        if seconds is not None
    ]


def _drawing(figure: RooflineFigure, words: Words, title: str) -> "Drawing":
    import altair as alt  # noqa: PLC0415  (an extra: whoever draws imports it)

    plane = _plane(figure)
    x, y = _axes(plane, words)
    marks = [mark for point in figure.points for mark in _marks(point)]
    labels, leaders = _labels(figure, plane, words)
    lines = alt.Chart(alt.InlineData(values=[*leaders, *_lines(figure, plane)])).mark_rule(strokeCap="round").encode(
        x=x, y=y, x2=alt.X2("x2"), y2=alt.Y2("y2"), color=alt.Color("color:N", scale=None),
        strokeWidth=alt.StrokeWidth("width:Q", scale=None), strokeDash=alt.StrokeDash("dash:N", scale=None),
    )  # fmt: skip
    points = alt.Chart(alt.InlineData(values=marks)).mark_point(size=70, strokeWidth=1.6, opacity=1).encode(
        x=x, y=y, shape=alt.Shape("shape:N", scale=None), fill=alt.Fill("fill:N", scale=None),
        color=alt.Color("color:N", scale=None),
    )  # fmt: skip
    texts = alt.Chart(alt.InlineData(values=labels)).mark_text(
        align=alt.expr("datum.align"), baseline="middle", angle=alt.expr("datum.angle"), fontSize=_SIZE,
        fontWeight=alt.expr("datum.weight"),
    ).encode(x=x, y=y, text=alt.Text("text:N"), color=alt.Color("color:N", scale=None))  # fmt: skip
    return alt.layer(lines, points, texts).properties(
        width=_WIDTH, height=_HEIGHT, title=alt.TitleParams(title, subtitle=[figure.subject, _key(figure, words)])
    )


def _axes(plane: _Plane, words: Words) -> tuple["alt.X", "alt.Y"]:
    import altair as alt  # noqa: PLC0415

    return (
        alt.X("x:Q", title=words.say("roof.x"), scale=alt.Scale(type="log", domain=list(plane.x), nice=False),
              axis=alt.Axis(values=log_ticks(*plane.x, most_decades=2.5), format=",~r", labelExpr=words.axis_label)),
        alt.Y("y:Q", title=words.say("roof.y"), scale=alt.Scale(type="log", domain=list(plane.y), nice=False),
              axis=alt.Axis(values=log_ticks(*plane.y, most_decades=2.5), format="~s", labelExpr=words.axis_label)),
    )  # fmt: skip


def _lines(figure: RooflineFigure, plane: _Plane) -> list[dict[str, Any]]:
    """The slope, the roof, the ridge, and for each point a thin line from its ceiling to its estimate."""
    (left, right), (bottom, _) = plane.x, plane.y
    ridge = figure.ridge_flops_per_byte
    bend = right if ridge is None else min(ridge, right)
    found = [_line((left, figure.most_flops_per_s(left)), (bend, figure.most_flops_per_s(bend)), width=2.4)]
    if ridge is not None and figure.flops_per_s is not None:
        found.append(_line((bend, figure.flops_per_s), (right, figure.flops_per_s), width=2.4))
        found.append(_line((bend, bottom), (bend, figure.flops_per_s), color=GREY, dash=[4, 3]))
    for point in figure.points:
        ys = [mark["y"] for mark in _marks(point)]
        x = point.intensity_flops_per_byte
        if min(ys) < max(ys):
            found.append(_line((x, min(ys)), (x, max(ys)), color=GREY))
    return found


def _line(
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    color: str = INK,
    width: float = 1,
    dash: Sequence[int] = (),
) -> dict[str, Any]:
    return {
        "x": start[0], "y": start[1], "x2": end[0], "y2": end[1], "color": color, "width": width, "dash": list(dash),
    }  # fmt: skip


def _labels(figure: RooflineFigure, plane: _Plane, words: Words) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All texts, and the lines that lead from a point to its text where that had to go farther away."""
    fixed = _limit_texts(figure, plane, words)
    labels = []
    for point in figure.points:
        lowest = min(mark["y"] for mark in _marks(point))
        name = _name(point, words)
        labels.append(Label(*plane.pixel(point.intensity_flops_per_byte, lowest), name, text_width(name, _SIZE)))
    covered = [square for text in fixed for square in _covered(text, plane)]
    places = place_labels(labels, within=Frame(0, 0, _WIDTH, _HEIGHT), taken=[*_taken(figure, plane), *covered])
    pairs = list(zip(labels, places, strict=True))
    leaders = [
        _line(plane.value(label.x, label.y), plane.value(place.x, place.y), color=GREY, width=0.6)
        for label, place in pairs
        if place.is_far
    ]
    texts = [_text(plane.value(place.x + _nudge(place), place.y), label.text, align=place.align)
             for label, place in pairs]  # fmt: skip
    return [*fixed, *texts], leaders


def _nudge(place: PlacedLabel) -> float:
    """A little air between a leading line and its text."""
    return {"left": 2.0, "center": 0.0, "right": -2.0}[place.align] if place.is_far else 0.0


def _text(
    at: tuple[float, float], text: str, *, align: str = "left", angle: float = 0, weight: str = "normal",
    color: str = INK,
) -> dict[str, Any]:  # fmt: skip
    return {
        "x": at[0], "y": at[1], "text": text, "align": align, "angle": angle, "weight": weight, "color": color,
    }  # fmt: skip


def _limit_texts(figure: RooflineFigure, plane: _Plane, words: Words) -> list[dict[str, Any]]:
    """The names of the slope, the roof and the ridge, and which side of it is bound by what."""
    right = plane.x[1]
    ridge = figure.ridge_flops_per_byte
    bend = right if ridge is None else min(ridge, right)
    found = [_slope_text(figure, plane, words, bend)]
    if ridge is None or figure.flops_per_s is None:
        return [
            *found,
            _text(plane.value(_WIDTH - 4, _HEIGHT - 11), words.say("roof.unknown"), align="right", color=GREY),
        ]
    roof_px = plane.pixel(right, figure.flops_per_s)
    foot_px = plane.pixel(bend, plane.y[0])[0]
    compute = words.say("roof.compute", rate=show_rate(figure.flops_per_s, "FLOP"))
    memory_bound = f"← {words.say('roof.left')}"
    if text_width(memory_bound, _SIZE) < foot_px - 7:
        found.append(_text(plane.value(foot_px - 7, _HEIGHT - 11), memory_bound, align="right", color=GREY))
    return [
        *found,
        _text(plane.value(roof_px[0] - 4, roof_px[1] - 13), compute, align="right", weight="bold"),
        _text(plane.value(foot_px + 7, _HEIGHT - 30), words.say("roof.ridge", figure=f"{ridge:,.1f}")),
        _text(plane.value(foot_px + 7, _HEIGHT - 11), f"{words.say('roof.right')} →", color=GREY),
    ]


def _slope_text(figure: RooflineFigure, plane: _Plane, words: Words, bend: float) -> dict[str, Any]:
    """The bandwidth, along the slope where it is farthest from every point."""
    x, y = plane.pixel(plane.x[0], figure.most_flops_per_s(plane.x[0]))
    x2, y2 = plane.pixel(bend, figure.most_flops_per_s(bend))
    angle = math.atan2(y2 - y, x2 - x)
    marks = [plane.pixel(mark["x"], mark["y"]) for point in figure.points for mark in _marks(point)]

    def air(share: float) -> float:
        return min(math.hypot(x + (x2 - x) * share - at_x, y + (y2 - y) * share - at_y) for at_x, at_y in marks)

    memory = words.say("roof.memory", rate=show_rate(figure.mem_bandwidth_bytes_per_s, "B"))
    margin = min(0.5, (text_width(memory, _SIZE) / 2 + 12) / math.hypot(x2 - x, y2 - y))
    best = max((margin + (1 - 2 * margin) * step / 20 for step in range(21)), key=air)
    at = plane.value(x + (x2 - x) * best + 14 * math.sin(angle), y + (y2 - y) * best - 14 * math.cos(angle))
    return _text(at, memory, align="center", angle=math.degrees(angle), weight="bold")


def _covered(text: dict[str, Any], plane: _Plane) -> list[Frame]:
    """About what a fixed text covers."""
    x, y = plane.pixel(text["x"], text["y"])
    wide, angle = text_width(text["text"], _SIZE), math.radians(text["angle"])
    before = {"left": 0.0, "center": wide / 2, "right": wide}[text["align"]]
    start = (x - before * math.cos(angle), y - before * math.sin(angle))
    return along(*start, start[0] + wide * math.cos(angle), start[1] + wide * math.sin(angle), half=6.5)


def _taken(figure: RooflineFigure, plane: _Plane) -> list[Frame]:
    """What the points cover, and small squares along every line."""
    frames = []
    for point in figure.points:
        for mark in _marks(point):
            x, y = plane.pixel(mark["x"], mark["y"])
            frames.append(Frame(x - _POINT, y - _POINT, x + _POINT, y + _POINT))
    for line in _lines(figure, plane):
        x, y = plane.pixel(line["x"], line["y"])
        x2, y2 = plane.pixel(line["x2"], line["y2"])
        frames += along(x, y, x2, y2)
    return frames


def _key(figure: RooflineFigure, words: Words) -> str:
    names = ["roof.key.ceiling"]
    names += ["roof.key.estimate"] if any(point.estimate_s is not None for point in figure.points) else []
    names += ["roof.key.measured"] if any(point.measured_s is not None for point in figure.points) else []
    return " · ".join(
        [f"● {words.say('roof.key.decode')}", f"■ {words.say('roof.key.prefill')}", *map(words.say, names)]
    )
