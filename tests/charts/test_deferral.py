"""The deferral chart names its curves and its crossings."""

import numpy as np

from tests.charts.figures import spoken, texts
from teto.charts.deferral import DeferralFigure, deferral_svg
from teto.triage.deferral import Recorded, evaluate


def figure(small: list[float], large: list[float], score: list[float], *, is_share: bool = True) -> DeferralFigure:
    """The evaluation of a table."""
    table = Recorded(small=np.array(small, float), large=np.array(large, float), score=np.array(score, float))
    found = evaluate(table, generator=np.random.default_rng(1), n_resamples=20)
    return DeferralFigure(subject="four.csv", evaluation=found, is_share=is_share)


FOUR = figure([1, 0, 1, 0], [1, 1, 0, 1], [0.9, 0.1, 0.8, 0.2])


def test_names_every_curve_and_both_crossings() -> None:
    """The score beside random, detector and oracle; CPT(50) at 12.5 % and CPT(80) at 20 %."""
    shown = texts(deferral_svg(FOUR))
    assert {"this score", "random", "perfect error detector", "oracle"} <= set(shown)
    assert {"CPT(50) 12.5 %", "CPT(80) 20 %"} <= set(shown)


def test_says_its_figures_in_words() -> None:
    """Who cannot see it hears how good both models are alone, and the figures."""
    title, said = spoken(deferral_svg(FOUR))
    assert title == "What deferring buys"
    assert said.startswith("four.csv. 4 rows; the small model alone 50 %, the large one 75 %. APGR 1.125")


def test_without_a_gap_there_is_no_crossing() -> None:
    """A large model that is no better: the curves stand, and the key says why there is no figure."""
    shown = texts(deferral_svg(figure([1, 0], [0, 1], [1, 2])))
    assert "this score" in shown
    assert not any(text.startswith("CPT") for text in shown)


def test_marks_are_no_shares() -> None:
    """Qualities from 1 to 10 keep their scale, and there is no AUROC."""
    shown = texts(deferral_svg(figure([6, 8, 10], [9, 9, 9.5], [1, 2, 3], is_share=False)))
    assert "mean quality" in shown
    assert not any("AUROC" in text for text in shown)


def test_speaks_portuguese() -> None:
    """Words and figures."""
    shown = texts(deferral_svg(FOUR, "pt"))
    assert {"este escore", "aleatório", "CPT(50) 12,5 %"} <= set(shown)


def test_many_rows_stay_a_small_picture() -> None:
    """20,000 corners are drawn as 401."""
    generator = np.random.default_rng(3)
    score = generator.normal(size=20_000)
    small, large = (score + generator.normal(size=20_000) > 0), generator.random(20_000) < 0.8
    found = figure(list(small.astype(float)), list(large.astype(float)), list(score))
    assert len(deferral_svg(found)) < 60_000
