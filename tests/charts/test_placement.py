"""The map and the tree show where a call goes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.charts.figures import MAP, TREE, parsed, spoken, texts
from teto.charts.placement import decision_tree_svg, placement_map_svg
from teto.physics.placement_tree import Leaf, Question


def thick_lines(svg: str) -> list[tuple[float, float]]:
    """The width and height of every line that is drawn as thick as the contour."""
    lines = (one for one in parsed(svg).iter() if one.tag.endswith("}line") and one.get("stroke-width") == "2.6")
    return [(float(one.get("x2", "0")), float(one.get("y2", "0"))) for one in lines]


def test_the_map_names_its_regions() -> None:
    """Who wins where, what does not fit, and the scale of colours."""
    shown = texts(placement_map_svg(MAP, subject="here against there"))
    assert {"LOCAL WINS", "CLOUD WINS", "DOES NOT FIT", "does not fit", "1×: equal", "4×", "0.25×"} <= set(shown)
    assert {"prompt tokens", "answer tokens", "1,000", "here against there"} <= set(shown)


def test_the_map_counts_in_words() -> None:
    """Five of nine prompts are at most 1,000 tokens, two are above 20,000."""
    _, said = spoken(placement_map_svg(MAP, subject="here against there"))
    assert said == ("here against there. Of 63 points, local is faster in 35, the cloud in 14, and 14 do not fit.")


def test_the_contour_runs_where_the_winner_changes() -> None:
    """One line over the whole height between the fifth and the sixth prompt, beside the key's own."""
    upright = [line for line in thick_lines(placement_map_svg(MAP, subject="")) if line[0] == 0]
    assert [abs(height) for _, height in upright] == pytest.approx([400])


@pytest.mark.parametrize(("local_s", "name"), [(0.5, "LOCAL WINS"), (2.0, "CLOUD WINS"), (np.inf, "DOES NOT FIT")])
def test_a_map_of_one_region_names_only_that(local_s: float, name: str) -> None:
    """Where one side wins everywhere there is no contour and no other name."""
    grid = replace(MAP, local_s=np.full((9, 7), local_s))
    svg = placement_map_svg(grid, subject="")
    assert {"LOCAL WINS", "CLOUD WINS", "DOES NOT FIT"} & set(texts(svg)) == {name}
    assert not [line for line in thick_lines(svg) if line[0] == 0]


def test_equal_times_are_locals() -> None:
    """A tie is local's, as in the plan."""
    _, said = spoken(placement_map_svg(replace(MAP, local_s=MAP.cloud_s), subject=""))
    assert "local is faster in 63" in said


@pytest.mark.parametrize("lengths", [np.array([1.0]), np.array([1.0, 1.0]), np.array([2.0, 1.0]), np.array([0.0, 1.0])])
def test_lengths_must_rise_from_above_zero(lengths: NDArray[np.float64]) -> None:
    """A log axis needs at least two lengths in order."""
    n_lengths = lengths.size
    grid = replace(MAP, prompt_tokens=lengths, local_s=np.ones((n_lengths, 7)), cloud_s=np.ones((n_lengths, 7)))
    with pytest.raises(ValueError, match="two lengths or more, rising"):
        placement_map_svg(grid, subject="")


def test_the_map_speaks_portuguese() -> None:
    """Names, key and axis in Portuguese."""
    shown = texts(placement_map_svg(MAP, subject="", lang="pt"))
    assert {"LOCAL GANHA", "NUVEM GANHA", "NÃO CABE", "1×: igual", "0,25×", "tokens do prompt", "1.000"} <= set(shown)


def test_the_tree_shows_questions_figures_and_places() -> None:
    """Every question with its figure, both answers, and each place with its reason."""
    shown = texts(decision_tree_svg(TREE, subject="one call"))
    assert {"Does it fit here?", "1.2 s here, 2.1 s there", "LOCAL", "faster & free", "CLOUD", "NEITHER"} <= set(shown)
    assert shown.count("yes") == shown.count("no") == 2


def test_the_answers_that_are_known_are_thick() -> None:
    """The first question's yes goes down, as its no ends at once; the second has no answer yet."""
    svg = decision_tree_svg(TREE, subject="")
    shaft = max(thick_lines(svg), key=lambda line: abs(line[1]))
    assert len(thick_lines(svg)) == 3
    assert shaft[0] == 0
    assert "thick arrow: what this call answers" in texts(svg)
    unanswered = replace(TREE, answer=None)
    assert "thick arrow: what this call answers" not in texts(decision_tree_svg(unanswered, subject=""))


def test_long_texts_are_wrapped_whole() -> None:
    """No word is lost where a question needs several lines."""
    text = "is it open reasoning or knowledge that is not in the prompt and cannot be looked up anywhere"
    shown = texts(decision_tree_svg(replace(TREE, text=text, figure=""), subject=""))
    lines = [line for line in shown if set(line.split()) <= set(text.split())]
    assert " ".join(lines) == text
    assert len(lines) > 2


def test_boxes_of_a_deep_tree_do_not_overlap() -> None:
    """Whatever branches grow, no box covers another."""
    branch: Question | Leaf = Leaf("local", "because of this and that and a longer reason than usual")
    for depth in range(4):
        branch = Question(text=f"Question {depth}?", figure="a figure", answer=None, yes=branch, no=branch)
    boxes = _boxes(decision_tree_svg(branch, subject=""))
    assert len(boxes) == 31
    for place, (x, y, width, height) in enumerate(boxes):
        for x2, y2, width2, height2 in boxes[place + 1 :]:
            apart = x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y
            assert apart


def _boxes(svg: str) -> list[tuple[float, float, float, float]]:
    found: list[Any] = []
    for one in parsed(svg).iter():
        path = one.get("d", "")
        if one.tag.endswith("}path") and one.get("stroke-width") == "1.2":
            start, across, down, _ = (
                path.removeprefix("M").replace("h", " ").replace("v", " ").replace("Z", "").split(" ")[:4]
            )
            found.append((*map(float, start.split(",")), float(across), float(down)))
    return found


def test_the_tree_speaks_portuguese() -> None:
    """Answers and places in Portuguese; the questions are the caller's."""
    shown = texts(decision_tree_svg(TREE, subject="", lang="pt"))
    assert {"sim", "não", "NUVEM", "NENHUM", "Does it fit here?"} <= set(shown)
