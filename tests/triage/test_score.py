"""The learned score on answers whose truth is known."""

import numpy as np
import pytest

from tests.triage.made import judged, signals
from teto.triage.deferral import auroc
from teto.triage.judged import Judged, score_rows
from teto.triage.score import Score, fit_score, is_same_answer


def learned(*, with_second: bool = False) -> Score:
    """A score taught by 600 answers to two tasks."""
    return fit_score(score_rows(judged(600, seed=1, tasks=("classify", "extract"), with_second=with_second)))


def test_it_finds_the_chance_that_was_put_in() -> None:
    """At a mean logprob of -0.5 and -1.5 the true chances are 0.88 and 0.5; both are met within 0.08."""
    score = learned()
    assert score.of("classify", signals(-0.5)) == pytest.approx(0.881, abs=0.08)
    assert score.of("extract", signals(-1.5)) == pytest.approx(0.5, abs=0.08)


def test_an_unseen_task_is_scored_by_all_together() -> None:
    """A task without rows of its own has the pooled weights, and still tells good from bad."""
    score = learned()
    assert score.of("rewrite", signals(-0.1)) > score.of("rewrite", signals(-2.5))


def test_a_second_answer_moves_the_score_and_helps() -> None:
    """Agreement raises it, disagreement lowers it, and over the grey zone it tells more than the first alone."""
    score = learned(with_second=True)
    assert score.grey is not None
    assert score.after_second(0.7, agreed=False) < 0.7 < score.after_second(0.7, agreed=True)
    rows = [row for row in judged(2000, seed=2, with_second=True) if row.signals is not None]
    right = np.array([row.right for row in rows])
    first = auroc(np.array([score.of(row.task, row.signals) for row in rows if row.signals is not None]), right)
    both = auroc(np.array([row.score(score) for row in rows]), right)
    assert first is not None
    assert both is not None
    assert both > first + 0.01


def test_only_short_undecided_answers_are_drawn_twice() -> None:
    """A score outside the grey zone, or an answer of 16 tokens, is left at one."""
    score = learned(with_second=True)
    assert score.asks_again(0.7, 15)
    assert not score.asks_again(0.7, 16)
    assert not score.asks_again(0.97, 3)
    assert not score.asks_again(0.2, 3)


def test_too_few_second_answers_teach_nothing() -> None:
    """Without second answers in the rows none is ever drawn."""
    assert learned().grey is None
    assert not learned().asks_again(0.7, 3)


def test_a_fault_of_form_scores_nothing() -> None:
    """An answer without signals has the score 0, below every other."""
    row = Judged(id="a", task="classify", language="en", signals=None, n_tokens=3, right=True)
    assert row.score(learned()) == 0.0


@pytest.mark.parametrize("right", [True, False])
def test_one_sided_rows_teach_nothing(*, right: bool) -> None:
    """A score needs both right and wrong answers."""
    row = Judged(id="a", task="classify", language="en", signals=signals(), n_tokens=3, right=right)
    with pytest.raises(ValueError, match="needs right and wrong answers"):
        fit_score(score_rows([row, row]))


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [("Sim.", "sim", True), ("Não", "nao!", True), ("José Silva", "jose  silva", True), ("yes", "no", False)],
)
def test_what_counts_as_the_same_answer(first: str, second: str, *, same: bool) -> None:
    """Case, accents, space and final punctuation make no other answer."""
    assert is_same_answer(first, second) is same
