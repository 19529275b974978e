# ruff: noqa: PLC0415 (Altair is an extra: whoever draws imports it, not whoever imports this)
"""When local wins: a map over prompt and answer length, and the questions that place one call."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from teto.charts.marks import Box, Line, Mark, Text, canvas, text_width
from teto.charts.scales import log_ticks
from teto.charts.svg import GREY, INK, Panel, picture_svg, require_charts_extra
from teto.charts.texts import Lang, Words
from teto.charts.tree import decision_tree_panel, decision_tree_svg
from teto.physics.placement import PlacementGrid

if TYPE_CHECKING:
    from teto.charts.svg import Drawing

__all__ = ["decision_tree_panel", "decision_tree_svg", "placement_map_panel", "placement_map_svg"]

_Edges: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
_Classes: TypeAlias = NDArray[np.int_]

_WIDTH = 620.0
_HEIGHT = 400.0
_SIZE = 14.0  # of the names of regions
# Local over cloud, each limit the end of a colour: blue where local is faster, orange where the cloud is; pale near 1.
_LIMITS = (0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0)
_FILLS = ("#1f5c99", "#5b93c7", "#a3c6e6", "#dceaf7", "#fbe6d2", "#f3bd88", "#dc8836", "#9c4f0c")
_UNFIT = len(_FILLS)  # the class of what does not fit
_UNFIT_FILL = "#eeeeee"
_HATCH_PX = 14.0


def placement_map_svg(grid: PlacementGrid, *, subject: str, lang: Lang = "en") -> str:
    """The map as SVG."""
    return picture_svg([[placement_map_panel(grid, subject=subject, lang=lang)]])


def placement_map_panel(grid: PlacementGrid, *, subject: str, lang: Lang = "en") -> Panel:
    """The map, to stand beside others: a colour for local time over cloud time, a line where they are equal.

    `subject` names what is compared. Each pair of lengths colours the cell around it, halfway (on the log scale)
    to its neighbours.

    Raises:
        ValueError: fewer than two lengths on an axis, or lengths that do not rise from above 0.
    """
    require_charts_extra()
    words = Words(lang)
    title = words.say("map.title")
    classes = _classes(grid)
    edges = (_edges(grid.prompt_tokens), _edges(grid.output_tokens))
    said = words.say(
        "map.desc",
        n=f"{classes.size:,}",
        local=f"{_count(classes, 'local'):,}",
        cloud=f"{_count(classes, 'cloud'):,}",
        unfit=f"{_count(classes, 'unfit'):,}",
    )
    drawing = _drawing(classes, edges, words, title=title, subject=subject)
    return Panel(drawing=drawing, title=title, description=f"{subject}. {said}")


def _classes(grid: PlacementGrid) -> _Classes:
    """The place of each ratio among the limits; a ratio of exactly 1 is local's."""
    found = np.searchsorted(np.array(_LIMITS), grid.ratio, side="left")
    return np.where(np.isfinite(grid.ratio), found, _UNFIT)


def _region(name: str, classes: _Classes) -> NDArray[np.bool_]:
    first_cloud = _LIMITS.index(1.0) + 1
    low, high = {"local": (0, first_cloud), "cloud": (first_cloud, _UNFIT), "unfit": (_UNFIT, _UNFIT + 1)}[name]
    return (classes >= low) & (classes < high)


def _count(classes: _Classes, name: str) -> int:
    return int(np.count_nonzero(_region(name, classes)))


def _edges(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where cells end: one more than lengths."""
    if lengths.size < 2 or lengths[0] <= 0 or np.any(np.diff(lengths) <= 0):
        raise ValueError(f"a map needs two lengths or more, rising from above 0; found {lengths.tolist()}")
    logs = np.log(lengths)
    inner = (logs[1:] + logs[:-1]) / 2
    ends: NDArray[np.float64] = np.exp(np.concatenate([[2 * logs[0] - inner[0]], inner, [2 * logs[-1] - inner[-1]]]))
    return ends


def _drawing(classes: _Classes, edges: _Edges, words: Words, *, title: str, subject: str) -> "Drawing":
    import altair as alt

    x = alt.X("x:Q", **_axis(edges[0], words, "map.x"))
    y = alt.Y("y:Q", **_axis(edges[1], words, "map.y"))
    x2, y2 = alt.X2("x2"), alt.Y2("y2")
    cells = alt.Chart(alt.InlineData(values=list(_cells(classes, edges)))).mark_rect(strokeWidth=1).encode(
        x=x, y=y, x2=x2, y2=y2, fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("fill:N", scale=None)
    )  # fmt: skip
    borders = alt.InlineData(values=[*_hatching(classes, edges), *_borders(classes, edges)])
    lines = alt.Chart(borders).mark_rule(strokeCap="round").encode(
        x=x, y=y, x2=x2, y2=y2, color=alt.Color("color:N", scale=None),
        strokeWidth=alt.StrokeWidth("width:Q", scale=None),
    )  # fmt: skip
    names = alt.Chart(alt.InlineData(values=_names(classes, edges, words))).encode(x=x, y=y, text=alt.Text("text:N"))
    upright = alt.expr("datum.angle")
    halo = names.mark_text(
        fontSize=_SIZE, fontWeight="bold", angle=upright, stroke="white", strokeWidth=5, strokeJoin="round"
    )
    over = names.mark_text(fontSize=_SIZE, fontWeight="bold", angle=upright, color=INK)
    key = canvas(_key(words, has_unfit=_count(classes, "unfit") > 0), width=150, height=_HEIGHT)
    return alt.hconcat(
        alt.layer(cells, lines, halo, over).properties(width=_WIDTH, height=_HEIGHT), key, spacing=24
    ).properties(title=alt.TitleParams(title, subtitle=subject))  # fmt: skip


def _axis(edges: NDArray[np.float64], words: Words, key: str) -> dict[str, Any]:
    import altair as alt

    low, high = float(edges[0]), float(edges[-1])
    ticks = log_ticks(low, high, most_decades=4.5)
    return {
        "title": words.say(key),
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(values=ticks, format=",~r", labelExpr=words.axis_label, grid=False),
    }


def _cells(classes: _Classes, edges: _Edges) -> Iterator[dict[str, Any]]:
    """Neighbours of one colour as one rectangle, answer length by answer length."""
    fills = (*_FILLS, _UNFIT_FILL)
    for row in range(classes.shape[1]):
        start = 0
        for end in range(1, classes.shape[0] + 1):
            if end == classes.shape[0] or classes[end, row] != classes[start, row]:
                yield {
                    "x": edges[0][start], "x2": edges[0][end], "y": edges[1][row], "y2": edges[1][row + 1],
                    "fill": fills[classes[start, row]],
                }  # fmt: skip
                start = end


def _rule(
    edges: _Edges, start: tuple[int, int], end: tuple[int, int], *, color: str = INK, width: float
) -> dict[str, Any]:
    return {
        "x": edges[0][start[0]], "y": edges[1][start[1]], "x2": edges[0][end[0]], "y2": edges[1][end[1]],
        "color": color, "width": width,
    }  # fmt: skip


def _hatching(classes: _Classes, edges: _Edges) -> Iterator[dict[str, Any]]:
    """Diagonals through the cells that do not fit."""
    every = max(1, math.ceil(_HATCH_PX * classes.shape[0] / _WIDTH))
    for place, row in np.argwhere(_region("unfit", classes)).tolist():
        if (place - row) % every == 0:
            yield _rule(edges, (place, row), (place + 1, row + 1), color="#b0b0b0", width=0.8)


def _borders(classes: _Classes, edges: _Edges) -> Iterator[dict[str, Any]]:
    """The contour at 1, thick, and a thin line around what does not fit."""
    unfit, cloud = _region("unfit", classes), _region("cloud", classes)
    side = np.where(unfit, 2, np.where(cloud, 1, 0))
    for first, last, cell in _runs(side[1:, :], side[:-1, :]):
        yield _rule(edges, (cell + 1, first), (cell + 1, last), width=_border_width(side[cell : cell + 2, first]))
    for first, last, cell in _runs(side[:, 1:].T, side[:, :-1].T):
        yield _rule(edges, (first, cell + 1), (last, cell + 1), width=_border_width(side[first, cell : cell + 2]))


def _runs(one: _Classes, other: _Classes) -> Iterator[tuple[int, int, int]]:
    """Along each line of cells, where neighbours across it differ in one way: from, up to, and which line."""
    for cell in range(one.shape[0]):
        pairs = list(zip(one[cell].tolist(), other[cell].tolist(), strict=True))
        start = 0
        for end in range(1, len(pairs) + 1):
            if end == len(pairs) or pairs[end] != pairs[start]:
                if len(set(pairs[start])) > 1:
                    yield start, end, cell
                start = end


def _border_width(sides: _Classes) -> float:
    return 1.0 if 2 in sides else 2.6


def _names(classes: _Classes, edges: _Edges, words: Words) -> list[dict[str, Any]]:
    """Each region's name in the middle of its widest part, upright where that alone has room."""
    found = []
    for name in ("local", "cloud", "unfit"):
        text = words.say(f"map.{name}")
        wide, high = text_width(text, _SIZE) / 2 + 4, _SIZE / 2 + 4
        for angle, room_px in ((0, (wide, high)), (270, (high, wide))):
            place = _widest(_region(name, classes), edges, room_px)
            if place is not None:
                found.append({"x": place[0], "y": place[1], "text": text, "angle": angle})
                break
    return found


def _widest(region: NDArray[np.bool_], edges: _Edges, room_px: tuple[float, float]) -> tuple[float, float] | None:
    """The middle of the cell around which a box of that shape could grow most without leaving the region."""
    if not region.any():
        return None
    x, y = (_middles_px(edge, size) / room for edge, size, room in zip(edges, (_WIDTH, _HEIGHT), room_px, strict=True))
    inside, outside = np.argwhere(region), np.argwhere(~region)
    border = np.minimum(
        np.minimum(x, _WIDTH / room_px[0] - x)[inside[:, 0]], np.minimum(y, _HEIGHT / room_px[1] - y)[inside[:, 1]]
    )
    if outside.size:
        across = np.abs(x[inside[:, 0], None] - x[None, outside[:, 0]])
        along = np.abs(y[inside[:, 1], None] - y[None, outside[:, 1]])
        border = np.minimum(border, np.maximum(across, along).min(axis=1))
    if border.max() < 1:
        return None
    best = inside[border >= border.max() - 1e-9]
    place, row = best[len(best) // 2].tolist()  # of equals, one in the middle
    return math.sqrt(edges[0][place] * edges[0][place + 1]), math.sqrt(edges[1][row] * edges[1][row + 1])


def _middles_px(edges: NDArray[np.float64], size_px: float) -> NDArray[np.float64]:
    logs = np.log(edges)
    middles: NDArray[np.float64] = ((logs[1:] + logs[:-1]) / 2 - logs[0]) / (logs[-1] - logs[0]) * size_px
    return middles


def _key(words: Words, *, has_unfit: bool) -> list[Mark]:
    """A ladder of the colours, slower local above."""
    top, rung = 26.0, 26.0
    shown = [f"{limit:.3g}×" for limit in _LIMITS]
    marks: list[Mark] = [Text(x=0, y=8, text=words.say("map.key"), weight="bold")]
    for place, fill in enumerate(reversed(_FILLS)):
        marks.append(Box(x=0, y=top + place * rung, width=26, height=rung, fill=fill, stroke=GREY, stroke_width=0.5))
    for place, text in enumerate(reversed(shown)):
        y = top + (place + 1) * rung
        is_equal = text == "1×"
        label = words.say("map.equal") if is_equal else words.figure(text)
        marks.append(Line(x=0, y=y, x2=32, y2=y, width=2.6 if is_equal else 0.8))
        marks.append(Text(x=37, y=y, text=label, weight="bold" if is_equal else "normal"))
    bottom = top + len(_FILLS) * rung
    marks.append(Text(x=37, y=top + 8, text=words.say("map.key.cloud"), color=GREY))
    marks.append(Text(x=37, y=bottom - 8, text=words.say("map.key.local"), color=GREY))
    if has_unfit:
        y = bottom + 22
        marks.append(Box(x=0, y=y, width=26, height=20, fill=_UNFIT_FILL, stroke=GREY, stroke_width=0.5))
        marks += [Line(x=start, y=y + 20, x2=start + 13, y2=y, color="#b0b0b0") for start in (0.0, 6.5, 13.0)]
        marks.append(Text(x=37, y=y + 10, text=words.say("map.key.unfit")))
    return marks
