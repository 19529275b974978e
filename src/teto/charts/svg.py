# ruff: noqa: PLC0415 (Altair and its renderer are an extra: whoever draws imports them, not whoever imports this)
"""From Altair charts to one SVG that needs nothing else: no network, no font of its own, the same bytes each time."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from teto.errors import ConfigError

if TYPE_CHECKING:
    import altair as alt

    Drawing: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart

__all__ = ["Panel", "picture_svg", "require_charts_extra", "to_svg"]

INK = "#1a1a1a"
GREY = "#666666"
GRID = "#e2e2e2"

_CONFIG: dict[str, Any] = {
    "aria": False,  # the title and the description speak for the whole; a thousand labelled marks would not
    "background": "white",
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {"labelColor": INK, "titleColor": INK, "gridColor": GRID, "domainColor": GREY, "tickColor": GREY,
             "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"},
    "title": {"anchor": "start", "frame": "bounds", "fontSize": 15, "color": INK, "subtitleColor": GREY,
              "subtitleFontSize": 12, "subtitlePadding": 4, "offset": 12},
}  # fmt: skip

# What XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SIZE = re.compile(r'<svg [^>]*?\bwidth="(?P<width>[\d.]+)" height="(?P<height>[\d.]+)"')
_BESIDE_PX = 36.0
_BELOW_PX = 24.0
_ID = re.compile(r'\bid="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawn figure, with the words that stand for it where it cannot be seen."""

    drawing: "Drawing"
    title: str
    description: str


def require_charts_extra(importer: Callable[[str], object] = import_module) -> None:
    """Check that charts can be drawn here.

    Raises:
        ConfigError: the extra is not installed.
    """
    for name in ("altair", "vl_convert"):
        try:
            importer(name)
        except ImportError as error:
            raise ConfigError(
                f"Charts cannot be drawn: the package {name} is not installed.",
                fix='Run `pip install "teto[charts]"`.',
            ) from error


def to_svg(drawing: "Drawing", *, title: str, description: str) -> str:
    """The chart as one self-contained SVG; the same chart gives the same bytes.

    `title` and `description` become the SVG's <title> and <desc>, for who hears it rather than sees it.

    Raises:
        ConfigError: the charts extra is not installed.
    """
    require_charts_extra()
    return _described(_rendered(drawing), title, description)


def picture_svg(rows: Sequence[Sequence[Panel]], *, title: str | None = None) -> str:
    """Several panels in one SVG: each row from left to right, the rows from top to bottom.

    `title` stands above them all.

    Raises:
        ConfigError: the charts extra is not installed.
        ValueError: no panel, or an empty row.
    """
    if not rows or not all(rows):
        raise ValueError("a picture has at least one panel in each row")
    require_charts_extra()
    panels = [panel for row in rows for panel in row]
    named = title or ". ".join(panel.title for panel in panels)
    described = " ".join(panel.description for panel in panels)
    drawn = [[_rendered(panel.drawing) for panel in row] for row in rows]
    if title is not None:
        drawn.insert(0, [_rendered(_heading(title))])
    whole = drawn[0][0] if len(drawn) == len(drawn[0]) == 1 else _stacked(drawn)
    return _described(whole, named, described)


def _rendered(drawing: "Drawing") -> str:
    import altair as alt
    import vl_convert

    version = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    spec = _clean(drawing.to_dict())
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=version, config=_CONFIG, allowed_base_urls=[])
    return _with_own_ids(svg)


def _clean(value: Any) -> Any:
    """The value without the characters that XML cannot hold: on a NUL the renderer would end the process."""
    if isinstance(value, str):
        return _NOT_XML.sub("", value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {name: _clean(item) for name, item in value.items()}
    return value


def _heading(title: str) -> "Drawing":
    import altair as alt

    text = alt.Chart(alt.InlineData(values=[{"text": title}])).mark_text(
        align="left", baseline="top", fontSize=18, fontWeight="bold", color=INK
    )
    placed: alt.Chart = text.encode(x=alt.value(0), y=alt.value(0), text=alt.Text("text:N"))
    return placed.properties(width=1, height=18)


def _stacked(drawn: Sequence[Sequence[str]]) -> str:
    """One SVG that holds the others. The charts' own concatenation would align their axes, not their edges."""
    inner, width, top = [], 0.0, 0.0
    for row in drawn:
        left, bottom = 0.0, top
        for svg in row:
            size = _SIZE.match(svg)
            if size is None:
                raise ValueError(f"an SVG that does not begin with its size: {svg[:80]}")
            inner.append(f'<svg x="{left:g}" y="{top:g}"{svg.removeprefix("<svg")}')
            left += float(size["width"]) + _BESIDE_PX
            bottom = max(bottom, top + float(size["height"]) + _BELOW_PX)
        width, top = max(width, left - _BESIDE_PX), bottom
    height = top - _BELOW_PX
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}">'
    )
    return f'{head}<rect width="{width:g}" height="{height:g}" fill="white"/>{"".join(inner)}</svg>'


def _with_own_ids(svg: str) -> str:
    """Ids named after the content: the renderer counts on from its last chart, and one page may hold many charts."""
    names = list(dict.fromkeys(_ID.findall(svg)))
    if not names:
        return svg
    place = {name: str(at) for at, name in enumerate(names)}
    pattern = re.compile(rf'(\bid="|url\(#)({"|".join(map(re.escape, names))})(?=["\)])')
    digest = _digest(pattern.sub(lambda found: found[1] + place[found[2]], svg))
    return pattern.sub(lambda found: f"{found[1]}c{digest}-{place[found[2]]}", svg)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:10]


def _described(svg: str, title: str, description: str) -> str:
    head, _, body = svg.partition(">")
    digest = _digest(svg)
    names = f'role="img" aria-labelledby="t{digest} d{digest}"'
    title, description = (escape(_NOT_XML.sub("", text)) for text in (title, description))
    words = f'<title id="t{digest}">{title}</title><desc id="d{digest}">{description}</desc>'
    return f"{head} {names}>{words}{body}"
