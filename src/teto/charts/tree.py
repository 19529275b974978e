"""The questions that place a call, as boxes and arrows."""

from dataclasses import dataclass, replace
from typing import Literal

from teto.charts.marks import Box, Line, Mark, Text, arrow, canvas, wrapped
from teto.charts.svg import INK, Panel, picture_svg, require_charts_extra
from teto.charts.texts import Lang, Words
from teto.physics.placement_tree import Leaf, Question, Tree

__all__ = ["decision_tree_panel", "decision_tree_svg"]

_BOX_PX = 216.0
_ACROSS_PX = 262.0  # from one column to the next
_GAP_PX = 34.0  # between rows
_SIZE = 11.0
_LINE_PX = 15.0
_PAD_PX = 9.0
_FILLS = {"local": "#dceaf7", "cloud": "#fbe6d2", "neither": "#e4e4e4"}


@dataclass(frozen=True, slots=True)
class _Placed:
    """A node with its column and row, and the two that follow it: to the right and below."""

    node: Tree
    column: int
    row: int
    right: "_Placed | None" = None
    below: "_Placed | None" = None


def decision_tree_svg(tree: Tree, *, subject: str, lang: Lang = "en") -> str:
    """The tree as SVG."""
    return picture_svg([[decision_tree_panel(tree, subject=subject, lang=lang)]])


def decision_tree_panel(tree: Tree, *, subject: str, lang: Lang = "en") -> Panel:
    """The tree, to stand beside others: a question's short answer leads right, the other down.

    The answers that this call gives are drawn thick. The tree's own texts are shown as they come.
    """
    require_charts_extra()
    import altair as alt  # noqa: PLC0415  (an extra: whoever draws imports it)

    words = Words(lang)
    title = words.say("tree.title")
    root = _place(tree, 0, 0)
    nodes = _all(root)
    tops = _tops(nodes, words)
    marks = [mark for placed in nodes for mark in _marks(placed, tops, words)]
    width = max(placed.column for placed in nodes) * _ACROSS_PX + _BOX_PX + 2
    is_any_answered = any(isinstance(placed.node, Question) and placed.node.answer is not None for placed in nodes)
    subtitle = [subject, words.say("tree.key")] if is_any_answered else [subject]
    drawing = canvas(marks, width=width, height=tops[-1]).properties(title=alt.TitleParams(title, subtitle=subtitle))
    return Panel(drawing=drawing, title=title, description=f"{subject}. {_told(tree, words)}")


def _depth(node: Tree) -> int:
    return 0 if isinstance(node, Leaf) else 1 + max(_depth(node.yes), _depth(node.no))


def _is_yes_right(question: Question) -> bool:
    """The shorter branch goes right: what ends soon stands beside its question."""
    return _depth(question.yes) <= _depth(question.no)


def _place(node: Tree, column: int, row: int) -> _Placed:
    if isinstance(node, Leaf):
        return _Placed(node, column, row)
    right, below = (node.yes, node.no) if _is_yes_right(node) else (node.no, node.yes)
    first = _place(right, column + 1, row)
    return _Placed(node, column, row, first, _place(below, column, 1 + max(placed.row for placed in _all(first))))


def _all(placed: _Placed) -> list[_Placed]:
    others = [other for other in (placed.right, placed.below) if other is not None]
    return [placed, *(found for other in others for found in _all(other))]


def _lines(node: Tree, words: Words) -> list[Text]:
    """The node's texts, from the top of its box."""
    width = _BOX_PX - 2 * _PAD_PX
    first, second = (node.text, node.figure) if isinstance(node, Question) else (
        words.say(f"tree.{node.place}"), node.because,
    )  # fmt: skip
    bold = [Text(x=0, y=0, text=line, size=_SIZE, weight="bold") for line in wrapped(first, width=width, size=_SIZE)]
    plain = wrapped(second, width=width, size=_SIZE) if second else []
    return [*bold, *(Text(x=0, y=0, text=line, size=_SIZE, color=INK) for line in plain)]


def _height(node: Tree, words: Words) -> float:
    return len(_lines(node, words)) * _LINE_PX + 2 * _PAD_PX


def _tops(nodes: list[_Placed], words: Words) -> list[float]:
    """Where each row begins, and where the last one ends."""
    n_rows = 1 + max(placed.row for placed in nodes)
    tops = [1.0]
    for row in range(n_rows):
        tallest = max(_height(placed.node, words) for placed in nodes if placed.row == row)
        tops.append(tops[-1] + tallest + (_GAP_PX if row < n_rows - 1 else 1.0))
    return tops


def _marks(placed: _Placed, tops: list[float], words: Words) -> list[Mark]:
    node, x, y = placed.node, placed.column * _ACROSS_PX + 1, tops[placed.row]
    height = _height(node, words)
    fill = "white" if isinstance(node, Question) else _FILLS[node.place]
    marks: list[Mark] = [Box(x=x, y=y, width=_BOX_PX, height=height, fill=fill, stroke_width=1.2)]
    for place, text in enumerate(_lines(node, words)):
        at_y = y + _PAD_PX + (place + 0.5) * _LINE_PX
        marks.append(Text(x=x + _PAD_PX, y=at_y, text=text.text, size=text.size, weight=text.weight, color=text.color))
    if isinstance(node, Question):
        marks += _branches(placed, node, tops, words)
    return marks


def _branches(placed: _Placed, question: Question, tops: list[float], words: Words) -> list[Mark]:
    """The two arrows out of a question, each with its answer."""
    x, y = placed.column * _ACROSS_PX + 1, tops[placed.row]
    is_yes_right = _is_yes_right(question)
    marks: list[Mark] = []
    if placed.right is not None:
        across = min(_height(question, words), _height(placed.right.node, words)) / 2
        start, end = x + _BOX_PX, placed.right.column * _ACROSS_PX + 1
        marks += _arrow(start, y + across, end, y + across, is_taken=question.answer is is_yes_right)
        marks.append(_answer((start + end) / 2 - 2, y + across - 9, words, is_yes=is_yes_right, align="center"))
    if placed.below is not None:
        start, end = y + _height(question, words), tops[placed.below.row]
        middle = x + 26
        marks += _arrow(middle, start, middle, end, is_taken=question.answer is (not is_yes_right))
        marks.append(_answer(middle + 8, end - 16, words, is_yes=not is_yes_right, align="left"))
    return marks


def _answer(x: float, y: float, words: Words, *, is_yes: bool, align: Literal["left", "center"]) -> Text:
    return Text(x=x, y=y, text=words.say("tree.yes" if is_yes else "tree.no"), size=_SIZE, align=align, weight="bold")


def _arrow(x: float, y: float, x2: float, y2: float, *, is_taken: bool) -> list[Line]:
    return [replace(line, width=2.6) if is_taken else line for line in arrow(x, y, x2, y2)]


def _told(node: Tree, words: Words) -> str:
    """The tree as sentences."""
    if isinstance(node, Leaf):
        return f"{words.say(f'tree.{node.place}')}: {node.because}."
    figure = f" ({node.figure})" if node.figure else ""
    yes, no = (f"{words.say(f'tree.{key}')}: {_told(branch, words)}" for key, branch in
               (("yes", node.yes), ("no", node.no)))  # fmt: skip
    return f"{node.text}{figure} {yes} {no}"
