"""The diagram of one token: the prompt in at once, then all the weights again for each token, the ceiling beside."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from teto.charts.marks import Box, Line, Mark, Text, canvas, text_width
from teto.charts.svg import GREY, INK, Panel, picture_svg, require_charts_extra
from teto.charts.texts import Lang, Words, floored, rounded
from teto.charts.waterfall import CEILING_FILL, ESTIMATE_FILL, KV_FILL, WEIGHTS_FILL, Fall, waterfall_chart
from teto.physics.deployment import Bound, Rung
from teto.physics.values import require_not_negative, require_positive
from teto.units import show_bytes, show_flops, show_fraction, show_rate, show_seconds

if TYPE_CHECKING:
    from teto.charts.svg import Drawing

__all__ = ["Pass", "TokenFigure", "token_panel", "token_svg"]

_WIDTH = 900.0
_LEFT = 590.0  # prefill and decode; the ceiling stands right of it
_RIGHT = 632.0
_PALE = "#dbe7f3"
_N_BARS = 6  # drawn one by one; an ellipsis and the last token follow
_N_TICKS = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One pass over the weights: a prefill, or one decode step of the whole batch."""

    weight_bytes: float
    kv_bytes: float
    flops: float
    ceiling_s: float
    bound: Bound
    estimate_s: float | None = None

    def __post_init__(self) -> None:
        require_positive(self, "weight_bytes", "ceiling_s", "estimate_s")
        require_not_negative(self, "kv_bytes", "flops")

    @property
    def bytes(self) -> float:
        """All that memory must deliver."""
        return self.weight_bytes + self.kv_bytes

    @property
    def seconds(self) -> float:
        """The estimate, or the ceiling's time where there is none."""
        return self.ceiling_s if self.estimate_s is None else self.estimate_s


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFigure:
    """What the diagram shows. `subject` names model, format and device, as the reader knows them.

    `waterfall` are the causes of one decode pass in order, those of the ceiling first. With speculation a pass
    yields more than one token to each request.
    """

    subject: str
    prompt_tokens: int
    output_tokens: int
    prefill: Pass
    decode: Pass
    mem_bandwidth_bytes_per_s: float
    flops_per_s: float | None
    waterfall: tuple[Rung, ...]
    batch: int = 1
    tokens_per_pass: float = 1.0
    band_s: tuple[float, float] | None = None
    measured_s: float | None = None
    is_moe: bool = False

    def __post_init__(self) -> None:
        require_positive(
            self, "prompt_tokens", "output_tokens", "mem_bandwidth_bytes_per_s", "flops_per_s", "batch",
            "tokens_per_pass", "measured_s",
        )  # fmt: skip

    @property
    def ceiling_tokens_per_s(self) -> float:
        """The most that one request can get."""
        return self.tokens_per_pass / self.decode.ceiling_s


def token_svg(figure: TokenFigure, lang: Lang = "en") -> str:
    """The diagram of one token as SVG."""
    return picture_svg([[token_panel(figure, lang)]])


def token_panel(figure: TokenFigure, lang: Lang = "en") -> Panel:
    """The diagram of one token, to stand beside others."""
    require_charts_extra()
    words = Words(lang)
    title = words.say("token.title")
    return Panel(drawing=_drawing(figure, words, title), title=title, description=_description(figure, words))


def _drawing(figure: TokenFigure, words: Words, title: str) -> "Drawing":
    import altair as alt  # noqa: PLC0415  (an extra: whoever draws imports it)

    marks = [*_prefill(figure, words), *_decode(figure, words), *_ceiling(figure, words), *_scale(figure, words)]
    fall = Fall(
        rungs=figure.waterfall,
        ceiling_s=figure.decode.ceiling_s,
        estimate_s=figure.decode.estimate_s,
        band_s=figure.band_s,
        measured_s=figure.measured_s,
        tokens_per_pass=figure.tokens_per_pass,
    )
    return alt.vconcat(
        canvas(marks, width=_WIDTH, height=352), waterfall_chart(fall, words, width=_WIDTH), spacing=14
    ).properties(title=alt.TitleParams(title, subtitle=figure.subject))


def _heading(x: float, y: float, text: str) -> Text:
    return Text(x=x, y=y, text=text, size=13, weight="bold")


def _time(one: Pass, words: Words) -> str:
    key = "time.least" if one.estimate_s is None else "time.estimated"
    return words.say(key, time=show_seconds(one.seconds))


def _prefill(figure: TokenFigure, words: Words) -> list[Mark]:
    one = figure.prefill
    n_ticks = min(figure.prompt_tokens, _N_TICKS)
    figures = (words.figure(show_flops(one.flops)), words.figure(show_bytes(one.bytes)), _time(one, words))
    line = " · ".join((*figures, words.say(f"limit.{one.bound}")))
    pitch = _LEFT / n_ticks
    tick = min(6.0, pitch * 0.7)
    return [
        _heading(0, 8, words.say("token.prefill")),
        *(
            Box(x=(place + 0.5) * pitch - tick / 2, y=24, width=tick, height=9, fill=INK, stroke_width=0)
            for place in range(n_ticks)
        ),
        Box(x=0, y=37, width=_LEFT, height=48, fill=_PALE),
        Text(
            x=_LEFT / 2, y=52, align="center", size=12, weight="bold",
            text=words.say("token.prompt", n=f"{figure.prompt_tokens:,}"),
        ),
        Text(x=_LEFT / 2, y=70, align="center", text=line),
    ]  # fmt: skip


def _decode(figure: TokenFigure, words: Words) -> list[Mark]:
    one = figure.decode
    last = figure.output_tokens
    numbers: list[int | None] = list(range(1, min(last, _N_BARS + 1) + 1))
    if last > _N_BARS + 1:
        numbers = [*range(1, _N_BARS + 1), None, last]
    key = "token.decode.active" if figure.is_moe else "token.decode"
    marks: list[Mark] = [_heading(0, 116, words.say(key))]
    pitch = _LEFT / (_N_BARS + 2)
    for place, number in enumerate(numbers):
        middle = (place + 0.5) * pitch
        if number is None:
            marks.append(Text(x=middle, y=190, text="· · ·", size=18, weight="bold", align="center"))
        else:
            marks += _bar(one, words, number=number, middle=middle, width=pitch - 8)
    parts = words.say(
        "token.step",
        weights=show_bytes(one.weight_bytes),
        kv=show_bytes(one.kv_bytes),
        flops=show_flops(one.flops),
    )
    marks.append(Text(x=0, y=262, text=f"{parts}, {_time(one, words)}"))
    marks.append(Text(x=0, y=279, text=_yields(figure, words)))
    return marks


def _yields(figure: TokenFigure, words: Words) -> str:
    """What one pass gives where that is not simply one token."""
    if figure.batch == 1 and figure.tokens_per_pass == 1:
        return ""
    each = words.say("token.yield.one")
    if figure.tokens_per_pass != 1:
        each = words.say("token.yield", n=f"{figure.tokens_per_pass:.3g}")
    return f"{words.say('token.batch', n=f'{figure.batch:,}')}; {each}"


def _bar(one: Pass, words: Words, *, number: int, middle: float, width: float) -> list[Mark]:
    top, height = 144.0, 88.0
    kv_px = height * one.kv_bytes / one.bytes
    left = middle - width / 2
    is_read_on_kv = kv_px > height * 0.45
    return [
        Text(x=middle, y=top - 9, text=words.say("token.nth", n=f"{number:,}"), align="center", size=10.5),
        Box(x=left, y=top, width=width, height=kv_px, fill=KV_FILL),
        Box(x=left, y=top + kv_px, width=width, height=height - kv_px, fill=WEIGHTS_FILL),
        Text(
            x=middle, y=top + (kv_px / 2 if is_read_on_kv else (kv_px + height) / 2), align="center", size=12,
            text=words.figure(show_bytes(one.bytes)), weight="bold", color=INK if is_read_on_kv else "white",
        ),
        Text(x=middle, y=top + height + 10, text=words.figure(show_seconds(one.seconds)), align="center", size=12),
    ]  # fmt: skip


def _ceiling(figure: TokenFigure, words: Words) -> list[Mark]:
    one = figure.decode
    bytes_s = one.bytes / figure.mem_bandwidth_bytes_per_s
    above = words.say("token.bandwidth", rate=show_rate(figure.mem_bandwidth_bytes_per_s, "B"))
    is_simple = figure.batch == 1 and figure.tokens_per_pass == 1
    below = words.say("token.bytes.one" if is_simple else "token.bytes", bytes=show_bytes(one.bytes))
    if figure.flops_per_s is not None and one.flops / figure.flops_per_s > bytes_s:
        above = words.say("token.rate", rate=show_rate(figure.flops_per_s, "FLOP"))
        below = words.say("token.flops", flops=show_flops(one.flops))
    width = _WIDTH - _RIGHT
    middle = _RIGHT + width / 2
    bar = max(text_width(above, 12), text_width(below, 12)) / 2
    most = words.say("token.most", rate=floored(figure.ceiling_tokens_per_s))
    is_several = figure.tokens_per_pass != 1
    times = words.say("token.times", n=f"{figure.tokens_per_pass:.3g}") if is_several else ""
    each = words.say("token.each" if figure.batch > 1 else "token.beaten")
    return [
        Box(x=_RIGHT, y=0, width=width, height=286, fill="#f7f7f7", stroke=GREY),
        _heading(_RIGHT + 14, 20, words.say("token.ceiling")),
        Text(x=middle, y=62, text=above, align="center", size=12),
        Line(x=middle - bar, y=77, x2=middle + bar, y2=77, width=1.4),
        Text(x=middle, y=92, text=below, align="center", size=12),
        Text(x=middle, y=113, text=times, align="center", size=12),
        Text(x=middle, y=147, text=f"= {most}", align="center", size=26, weight="bold", color=CEILING_FILL),
        Text(x=middle, y=174, text=each, align="center", color=GREY),
        *_beside(figure, words, middle),
    ]


def _beside(figure: TokenFigure, words: Words, middle: float) -> list[Mark]:
    """What stands under the ceiling: the estimate, a measurement, all requests together."""
    lines: list[tuple[str, str]] = []
    for key, seconds, color in (
        ("token.estimate", figure.decode.estimate_s, ESTIMATE_FILL),
        ("token.measured", figure.measured_s, INK),
    ):
        if seconds is not None:
            share = show_fraction(figure.decode.ceiling_s / seconds)
            rate = rounded(figure.tokens_per_pass / seconds)
            lines.append((words.say(key, rate=rate, share=share), color))
    if figure.batch > 1:
        together = floored(figure.batch * figure.ceiling_tokens_per_s)
        lines.append((words.say("token.together", rate=together, n=f"{figure.batch:,}"), INK))
    return [
        Text(x=middle, y=212 + 24 * place, text=text, align="center", size=_fitting(text), color=color, weight="bold")
        for place, (text, color) in enumerate(lines)
    ]


def _fitting(text: str) -> float:
    """The size at which the text stays inside the ceiling's box."""
    return min(12.0, 12.0 * (_WIDTH - _RIGHT - 16) / text_width(text, 12.0))


def _scale(figure: TokenFigure, words: Words) -> list[Mark]:
    """The whole answer on one line: what share of it the prompt takes, and what share the tokens."""
    prefill_s = figure.prefill.seconds
    decode_s = figure.decode.seconds * figure.output_tokens / figure.tokens_per_pass
    split = _WIDTH * prefill_s / (prefill_s + decode_s)
    right = words.say("token.scale.decode", time=show_seconds(decode_s), n=f"{figure.output_tokens:,}")
    return [
        _heading(0, 306, words.say("token.scale")),
        Box(x=0, y=318, width=split, height=14, fill=_PALE),
        Box(x=split, y=318, width=_WIDTH - split, height=14, fill=WEIGHTS_FILL),
        Text(x=0, y=343, text=words.say("token.scale.prefill", time=show_seconds(prefill_s))),
        Text(x=_WIDTH, y=343, text=right, align="right"),
    ]


def _description(figure: TokenFigure, words: Words) -> str:
    prefill, decode = figure.prefill, figure.decode
    said = words.say(
        "token.desc",
        n=f"{figure.prompt_tokens:,}",
        flops=show_flops(prefill.flops),
        bytes=show_bytes(prefill.bytes),
        time=show_seconds(prefill.seconds),
        step=show_bytes(decode.bytes),
        step_time=show_seconds(decode.seconds),
        rate=floored(figure.ceiling_tokens_per_s),
    )
    return f"{figure.subject}. {said}"
