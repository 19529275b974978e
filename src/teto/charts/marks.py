# ruff: noqa: PLC0415 (Altair is an extra: whoever draws imports it, not whoever imports this)
"""Boxes, lines and texts at places given in pixels: what diagrams without axes are made of."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from teto.charts.svg import INK

if TYPE_CHECKING:
    from teto.charts.svg import Drawing

__all__ = ["Box", "Line", "Text", "arrow", "canvas", "text_width", "wrapped"]

_EM = 0.58  # width of a letter over its height, on the wide side of the fonts that "sans-serif" means


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A filled rectangle from its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    fill: str = "white"
    stroke: str = INK
    stroke_width: float = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line."""

    x: float
    y: float
    x2: float
    y2: float
    color: str = INK
    width: float = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One line of text, its baseline in the middle of `y`."""

    x: float
    y: float
    text: str
    size: float = 11
    weight: Literal["normal", "bold"] = "normal"
    align: Literal["left", "center", "right"] = "left"
    color: str = INK


Mark = Box | Line | Text


def text_width(text: str, size: float) -> float:
    """About how many pixels wide the text is."""
    return len(text) * size * _EM


def wrapped(text: str, *, width: float, size: float) -> list[str]:
    """The text in lines that fit the width."""
    return textwrap.wrap(text, max(4, int(width / (size * _EM)))) or [""]


def arrow(x: float, y: float, x2: float, y2: float) -> list[Line]:
    """A line to a point with an open head there; it runs along one axis."""
    dx, dy = (x2 > x) - (x2 < x), (y2 > y) - (y2 < y)
    back_x, back_y = x2 - 6 * dx, y2 - 6 * dy
    return [
        Line(x=x, y=y, x2=x2, y2=y2),
        Line(x=back_x + 3.5 * dy, y=back_y + 3.5 * dx, x2=x2, y2=y2),
        Line(x=back_x - 3.5 * dy, y=back_y - 3.5 * dx, x2=x2, y2=y2),
    ]


def canvas(marks: Sequence[Mark], *, width: float, height: float) -> "Drawing":
    """The marks on one surface: boxes below lines below texts, each kind in the order given."""
    import altair as alt

    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False, zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))

    def data(kind: type[Mark]) -> alt.InlineData:
        return alt.InlineData(values=[_corners(mark) for mark in marks if isinstance(mark, kind)])

    boxes = alt.Chart(data(Box)).mark_rect().encode(
        x=x, y=y, x2=alt.X2("x2"), y2=alt.Y2("y2"), fill=alt.Fill("fill:N", scale=None),
        stroke=alt.Stroke("stroke:N", scale=None), strokeWidth=alt.StrokeWidth("stroke_width:Q", scale=None),
    )  # fmt: skip
    lines = alt.Chart(data(Line)).mark_rule(strokeCap="round").encode(
        x=x, y=y, x2=alt.X2("x2"), y2=alt.Y2("y2"), color=alt.Color("color:N", scale=None),
        strokeWidth=alt.StrokeWidth("width:Q", scale=None),
    )  # fmt: skip
    texts = alt.Chart(data(Text)).mark_text(
        align=alt.expr("datum.align"), fontWeight=alt.expr("datum.weight"), baseline="middle",
    ).encode(
        x=x, y=y, text=alt.Text("text:N"), size=alt.Size("size:Q", scale=None),
        color=alt.Color("color:N", scale=None),
    )  # fmt: skip
    return alt.layer(boxes, lines, texts).properties(width=width, height=height)


def _corners(mark: Mark) -> dict[str, Any]:
    fields = asdict(mark)
    if isinstance(mark, Box):
        fields |= {"x2": mark.x + mark.width, "y2": mark.y + mark.height}
    return fields
