# ruff: noqa: PLC0415 (Altair is an extra: whoever draws imports it, not whoever imports this)
"""The waterfall: from the parts of the ceiling down to the estimate, one step a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from teto.charts.svg import GREY, INK
from teto.charts.texts import Words, floored, rounded
from teto.physics.deployment import Rung
from teto.units import show_seconds

if TYPE_CHECKING:
    from teto.charts.svg import Drawing

__all__ = ["Fall", "waterfall_chart"]

CEILING_FILL = "#12365c"
WEIGHTS_FILL = "#2f6ea5"
KV_FILL = "#a9c8e6"
COMPUTE_FILL = "#8c8c8c"
LOSS_FILL = "#e08a3c"
ESTIMATE_FILL = "#7a3b00"
_NOTHING = 1e-6  # of the whole: a rung below it is not drawn
_PART_FILLS = {"weights": WEIGHTS_FILL, "KV": KV_FILL}
_ROW_PX = 24
_NAMES_PX = 165  # left of the bars, for their names


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """One decode pass from its ceiling to its estimate; rungs in order, those of the ceiling first.

    `tokens_per_pass` is what one request gets from a pass: 1, or more with speculation.
    """

    rungs: tuple[Rung, ...]
    ceiling_s: float
    estimate_s: float | None = None
    band_s: tuple[float, float] | None = None
    measured_s: float | None = None
    tokens_per_pass: float = 1.0


def waterfall_chart(fall: Fall, words: Words, *, width: float) -> "Drawing":
    """Rows of bars: each rung from where the last one ended, the totals from zero."""
    import altair as alt

    rows = _rows(fall, words)
    end_ms = max(row["end"] for row in rows)
    data = alt.InlineData(values=rows)
    title = "fall.title.ceiling" if fall.estimate_s is None else "fall.title"
    x = alt.X("start:Q", title=words.say("fall.axis"),
              axis=alt.Axis(grid=True, tickCount=8, labelFlush=False, labelExpr=words.axis_label),
              scale=alt.Scale(domain=[0, end_ms * 1.25], range=[_NAMES_PX, width], nice=False))  # fmt: skip
    y = alt.Y("place:O", axis=None)
    bars = alt.Chart(data).mark_bar(height=15).encode(
        x=x, x2=alt.X2("finish"), y=y, fill=alt.Fill("fill:N", scale=None)
    )  # fmt: skip
    links = alt.Chart(data).transform_filter("datum.next != null").mark_rule(color=GREY, strokeDash=[2, 2]).encode(
        x=alt.X("finish:Q"), y=y, y2=alt.Y2("next")
    )  # fmt: skip
    bands = alt.Chart(data).transform_filter("datum.low != null").mark_rule(color=INK, strokeWidth=1.6).encode(
        x=alt.X("low:Q"), x2=alt.X2("high"), y=y
    )  # fmt: skip
    texts = alt.Chart(data).mark_text(align="left", dx=7, color=INK, fontWeight=alt.expr("datum.weight")).encode(
        x=alt.X("end:Q"), y=y, text=alt.Text("shown:N")
    )  # fmt: skip
    names = alt.Chart(data).mark_text(
        align="right", limit=_NAMES_PX - 12, color=INK, fontWeight=alt.expr("datum.weight")
    ).encode(
        x=alt.value(_NAMES_PX - 9), y=y, text=alt.Text("name:N")
    )  # fmt: skip
    return alt.layer(links, bars, bands, texts, names).properties(
        width=width,
        height=_ROW_PX * len(rows),
        title=alt.TitleParams(words.say(title), fontSize=13, offset=6, anchor="start", frame="bounds"),
    )


def _rows(fall: Fall, words: Words) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    at_s = 0.0
    is_ceiling_drawn = False
    for rung in fall.rungs:
        if not is_ceiling_drawn and at_s >= fall.ceiling_s * (1 - _NOTHING):
            rows.append(_total(fall, words, "fall.ceiling", fall.ceiling_s, CEILING_FILL))
            is_ceiling_drawn = True
        if abs(rung.seconds) <= fall.ceiling_s * _NOTHING:
            continue
        fill = LOSS_FILL if is_ceiling_drawn else _PART_FILLS.get(rung.cause, COMPUTE_FILL)
        sign = "" if not rows else "+" if rung.seconds > 0 else "−"
        shown = words.figure(f"{sign}{show_seconds(abs(rung.seconds))}")
        rows.append(_row(words.cause(rung.cause), at_s, at_s + rung.seconds, fill, shown=shown))
        at_s += rung.seconds
    if not is_ceiling_drawn:
        rows.append(_total(fall, words, "fall.ceiling", fall.ceiling_s, CEILING_FILL))
    if fall.estimate_s is not None:
        rows.append(_total(fall, words, "fall.estimate", fall.estimate_s, ESTIMATE_FILL))
        if fall.band_s is not None:
            low, high = fall.band_s
            rows[-1] |= {"low": low * 1e3, "high": high * 1e3, "end": max(high, fall.estimate_s) * 1e3}
    if fall.measured_s is not None:
        rows.append(_total(fall, words, "fall.measured", fall.measured_s, INK))
    return _linked(rows)


def _row(
    name: str, start_s: float, finish_s: float, fill: str, *, shown: str, weight: str = "normal"
) -> dict[str, Any]:
    return {
        "name": name, "start": start_s * 1e3, "finish": finish_s * 1e3, "end": finish_s * 1e3, "fill": fill,
        "shown": shown, "weight": weight, "low": None, "high": None, "next": None,
    }  # fmt: skip


def _total(fall: Fall, words: Words, key: str, seconds: float, fill: str) -> dict[str, Any]:
    per_s = fall.tokens_per_pass / seconds
    rate = floored(per_s) if key == "fall.ceiling" else rounded(per_s)
    shown = words.say("fall.total", time=show_seconds(seconds), rate=rate)
    return _row(words.say(key), 0.0, seconds, fill, shown=shown, weight="bold")


def _linked(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each row with its place, and the next one's where that one starts or ends where this one ends."""
    linked = [row | {"place": place} for place, row in enumerate(rows)]
    for row, following in pairwise(linked):
        if row["finish"] in {following["start"], following["finish"]}:
            row["next"] = following["place"]
    return linked
