"""What every SVG of teto keeps: it is XML, the same each time, needs nothing else, and says what it shows."""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.charts.figures import MAP, ROOFLINE, TOKEN, TREE, parsed, spoken, texts
from teto.charts.placement import decision_tree_svg, placement_map_panel, placement_map_svg
from teto.charts.roofline import roofline_panel, roofline_svg
from teto.charts.svg import picture_svg, require_charts_extra
from teto.charts.texts import Lang
from teto.charts.token import token_panel, token_svg
from teto.errors import ConfigError

LANGS: tuple[Lang, ...] = ("en", "pt")
DRAWERS: dict[str, Callable[[Lang], str]] = {
    "token": lambda lang: token_svg(TOKEN, lang),
    "roofline": lambda lang: roofline_svg(ROOFLINE, lang),
    "map": lambda lang: placement_map_svg(MAP, subject="here against there", lang=lang),
    "tree": lambda lang: decision_tree_svg(TREE, subject="one call", lang=lang),
    "picture": lambda lang: picture_svg([[token_panel(TOKEN, lang)], [roofline_panel(ROOFLINE, lang)]], title="Both"),
}


@pytest.fixture(name="svg", scope="module", params=[(name, lang) for name in DRAWERS for lang in LANGS])
def drawn(request: pytest.FixtureRequest) -> str:
    """Each picture in each language."""
    name, lang = request.param
    return DRAWERS[name](lang)


def test_is_xml_with_a_title_and_a_description(svg: str) -> None:
    """The root is an <svg> that names its own title and description, and neither is empty."""
    root = parsed(svg)
    assert root.tag.endswith("}svg")
    named = [element.get("id") for element in root[:2]]
    assert root.get("aria-labelledby", "").split() == named
    assert all(spoken(svg))


def test_needs_nothing_else(svg: str) -> None:
    """No address but those of namespaces, no script, style sheet or image, and only a generic font."""
    addresses = set(re.findall(r"\w+://[^\"'\s)]+", svg))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"<(script|style|image|use|foreignObject)\b|@import|href=", svg)
    assert set(re.findall(r'font-family="([^"]*)"', svg)) == {"sans-serif"}


def test_ids_are_its_own(svg: str) -> None:
    """No id occurs twice, and every id that is referred to exists."""
    ids = re.findall(r'\bid="([^"]+)"', svg)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= set(ids)


def test_is_opaque_white(svg: str) -> None:
    """It prints as it looks: the background is white, not transparent."""
    first = next(element for element in parsed(svg).iter() if element.tag.endswith("}rect"))
    assert first.get("fill") == "white"


@pytest.mark.parametrize("name", DRAWERS)
def test_same_figures_give_the_same_bytes(name: str) -> None:
    """Drawing twice, with another chart between, changes nothing."""
    first = DRAWERS[name]("en")
    roofline_svg(replace(ROOFLINE, subject="another"), "pt")
    assert DRAWERS[name]("en") == first


def test_a_picture_stacks_its_panels() -> None:
    """Rows stand below each other, panels of a row beside each other, all inside the whole, under one heading."""
    beside = [placement_map_panel(MAP, subject="here against there"), roofline_panel(ROOFLINE)]
    svg = picture_svg([[token_panel(TOKEN)], beside], title="Heading <1>")
    root = parsed(svg)
    inner = [element for element in root if element.tag.endswith("}svg")]
    across, down = ([float(one.get(side, "")) for one in inner] for side in ("x", "y"))
    assert across[:3] == [0, 0, 0]
    assert across[3] > 0
    assert down == sorted(down)
    assert len(set(down)) == 3
    for one in inner:
        for side, size in (("x", "width"), ("y", "height")):
            assert float(one.get(side, "")) + float(one.get(size, "")) <= float(root.get(size, ""))
    assert texts(svg)[0] == spoken(svg)[0] == "Heading <1>"
    assert "a 7B in f16" in spoken(svg)[1]
    assert "here against there" in spoken(svg)[1]


@pytest.mark.parametrize("rows", [[], [[]]])
def test_an_empty_picture_is_refused(rows: list[list[object]]) -> None:
    """No panel, or a row without one, is an error."""
    with pytest.raises(ValueError, match="at least one panel"):
        picture_svg(rows)  # type: ignore[arg-type]


def test_any_text_of_a_caller_stays_text() -> None:
    """Markup, quotes and control characters in a subject can neither break the XML nor end an attribute."""
    subject = 'a <b> & "c" \x00\x0b\ud800 ]]>'
    svg = token_svg(replace(TOKEN, subject=subject))
    assert 'a <b> & "c"  ]]>' in texts(svg)
    assert spoken(svg)[1].startswith('a <b> & "c"  ]]>.')


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_without_the_extra_the_error_says_how_to_get_it(missing: str) -> None:
    """Either package missing gives the command that installs both."""

    def importer(name: str) -> None:
        if name == missing:
            raise ModuleNotFoundError(name)

    with pytest.raises(ConfigError) as caught:
        require_charts_extra(importer)
    assert missing in caught.value.message
    assert caught.value.fix == 'Run `pip install "teto[charts]"`.'


def test_importing_charts_imports_no_renderer() -> None:
    """Altair and its renderer are imported when something is drawn; without them the drawing says what to install."""
    code = """
import sys
import teto.charts.placement, teto.charts.roofline, teto.charts.token
from teto.errors import ConfigError
assert not {"altair", "vl_convert"} & set(sys.modules)
sys.modules["altair"] = None
from tests.charts.figures import MAP, ROOFLINE, TOKEN, TREE
for draw in (
    lambda: teto.charts.token.token_svg(TOKEN),
    lambda: teto.charts.roofline.roofline_svg(ROOFLINE),
    lambda: teto.charts.placement.placement_map_svg(MAP, subject=""),
    lambda: teto.charts.placement.decision_tree_svg(TREE, subject=""),
):
    try:
        draw()
    except ConfigError as error:
        assert "teto[charts]" in str(error)
    else:
        raise AssertionError(draw)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
