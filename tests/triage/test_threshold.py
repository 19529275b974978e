"""The rules' thresholds: worked by hand, by property, and by simulation against a known truth."""

from dataclasses import dataclass
from math import sqrt
from random import Random
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from teto.triage.bounds import clopper_pearson_upper
from teto.triage.labelled import Labelled, evened
from teto.triage.threshold import (
    Threshold,
    default_first_cut,
    least_deferred_fraction,
    marginal_threshold,
    selective_threshold,
)

ALPHA: Final = 0.05
DELTA: Final = 0.05


def labelled(score: list[float], wrong: list[int], cloud_right: list[int] | None = None) -> Labelled:
    """Rows from lists."""
    right = None if cloud_right is None else np.array(cloud_right, bool)
    return Labelled(score=np.array(score, float), wrong=np.array(wrong, bool), cloud_right=right)


def ladder(n: int, wrong_at: list[int]) -> Labelled:
    """Scores n, n - 1 ... 1, wrong at those places counted from the best."""
    return labelled([float(n - at) for at in range(n)], [int(at in wrong_at) for at in range(n)])


def codes(found: Threshold) -> set[str]:
    """The reasons' codes."""
    return {reason.code for reason in found.reasons}


def marginal(rows: Labelled) -> Threshold:
    """At 5 % with 95 %."""
    return marginal_threshold(rows, alpha=ALPHA, delta=DELTA)


def selective(rows: Labelled, *, first_cut: int | None = None, first_score: float | None = None) -> Threshold:
    """At 5 % with 95 %."""
    return selective_threshold(rows, alpha=ALPHA, delta=DELTA, first_cut=first_cut, first_score=first_score)


# The marginal rule


def test_marginal_stops_before_the_wrong_one_too_many() -> None:
    """Of 100 rows one may be kept and wrong (0.0466 < 0.05, two give 0.0616): the threshold stands above the second."""
    found = marginal(ladder(100, [40, 70, 80]))
    assert (found.threshold, found.kept, found.kept_wrong, found.n_wrong) == (31.0, 70, 1, 3)
    assert found.bound == found.marginal_upper == pytest.approx(0.0466, abs=1e-4)
    assert found.selective_interval is not None
    assert found.selective_interval.low < 1 / 70 < found.selective_interval.high


def test_ties_move_together() -> None:
    """A wrong row that shares its score with right ones takes them all along."""
    scores = [3.0] * 50 + [2.0] * 30 + [1.0] * 20
    found = marginal(labelled(scores, [0] * 79 + [1] + [1] * 20))
    assert (found.threshold, found.kept, found.kept_wrong) == (2.0, 80, 1)
    found = marginal(labelled(scores, [0] * 78 + [1] * 22))
    assert (found.threshold, found.kept, found.kept_wrong) == (3.0, 50, 0)


def test_too_few_rows_keep_nothing() -> None:
    """58 rows, none wrong, show nothing at 5 % with 95 %; 59 do."""
    found = marginal(ladder(58, []))
    assert (found.threshold, found.kept, found.bound, found.marginal_upper) == (None, 0, None, 0)
    assert {"too_few_rows", "keeps_nothing"} <= codes(found)
    assert marginal(ladder(59, [])).kept == 59


def test_a_blind_score_is_called_blind() -> None:
    """The marginal rule keeps its promise with a useless score too, by keeping little: then it says so."""
    found = marginal(ladder(300, list(range(300))))
    assert (found.kept, found.kept_wrong) == (8, 8)
    assert "blind_score" in codes(found)
    assert "blind_score" not in codes(marginal(ladder(300, list(range(250, 300)))))


def test_regret_is_what_the_cloud_would_have_got_right() -> None:
    """Of two kept wrong answers the cloud knew one; nothing is said where its answers are unknown."""
    rows = ladder(200, [10, 20])
    found = marginal(Labelled(score=rows.score, wrong=rows.wrong, cloud_right=np.arange(200) != 10))
    assert (found.kept_wrong, found.regretted) == (2, 1)
    assert found.regret_upper == pytest.approx(0.0235, abs=1e-4)
    assert marginal(rows).regretted is None


def test_the_least_that_must_be_deferred() -> None:
    """With 10 % wrong and 5 % allowed: 5 % of all, and for the selective risk 0.05 / 0.95."""
    assert least_deferred_fraction(0.10, 0.05, "marginal") == pytest.approx(0.05)
    assert least_deferred_fraction(0.10, 0.05, "selective") == pytest.approx(0.05 / 0.95)
    assert least_deferred_fraction(0.04, 0.05, "selective") == 0
    assert selective(ladder(200, list(range(180, 200)))).least_deferred_fraction == pytest.approx(0.05 / 0.95)


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=300), st.randoms())
def test_marginal_keeps_the_most_within_its_bound(rows: list[tuple[int, bool]], shuffled: Random) -> None:
    """The order of rows does not matter, the bound is kept, and the next looser threshold would break it."""
    table = labelled([row[0] for row in rows], [row[1] for row in rows])
    found = marginal(table)
    shuffled.shuffle(rows)
    assert marginal(labelled([row[0] for row in rows], [row[1] for row in rows])) == found
    kept = table.score >= (np.inf if found.threshold is None else found.threshold)
    assert (found.kept, found.kept_wrong) == (kept.sum(), (kept & table.wrong).sum())
    assert found.marginal_upper <= ALPHA + 1e-12
    if not kept.all():
        looser = table.score >= table.score[~kept].max()
        assert clopper_pearson_upper(int((looser & table.wrong).sum()), table.n, DELTA) > ALPHA - 1e-12


@given(st.lists(st.booleans(), min_size=60, max_size=200), st.floats(0.02, 0.3), st.floats(0.02, 0.3))
def test_a_stricter_promise_keeps_less(wrong: list[bool], first: float, second: float) -> None:
    """The kept rows only grow with alpha and with delta."""
    rows = labelled([float(at) for at in range(len(wrong))], [int(one) for one in wrong])
    low, high = sorted((first, second))

    def kept(alpha: float, delta: float) -> int:
        return marginal_threshold(rows, alpha=alpha, delta=delta).kept

    assert kept(low, 0.05) <= kept(high, 0.05)
    assert kept(0.05, low) <= kept(0.05, high)


# The selective rule


def test_selective_tests_cut_after_cut() -> None:
    """From 59 rows without a wrong one on: at 80 kept one wrong ends it, though at 93 one would be forgiven."""
    found = selective(ladder(120, [79]), first_cut=59)
    assert (found.kept, found.kept_wrong, found.first_cut) == (79, 0, 59)
    assert found.bound == found.selective_upper == pytest.approx(1 - 0.05 ** (1 / 79))
    assert {"cut_failed", "needs_order"} <= codes(found)
    assert selective(ladder(120, [79]), first_cut=93).kept == 120


def test_a_bad_first_cut_ends_it_at_once() -> None:
    """One wrong among the best 59: nothing is kept, however good the rest, and the reason says so."""
    found = selective(ladder(500, [3]), first_cut=59)
    assert found.threshold is None
    assert {"first_cut_failed", "keeps_nothing"} <= codes(found)


def test_a_first_cut_below_59_is_refused() -> None:
    """It could certify nothing at 5 % with 95 %; and two first cuts are one too many."""
    with pytest.raises(ValueError, match="at least 59"):
        selective(ladder(500, []), first_cut=58)
    with pytest.raises(ValueError, match="not both"):
        selective(ladder(500, []), first_cut=59, first_score=3)
    assert "too_few_rows" in codes(selective(ladder(58, [])))


def test_the_first_cut_can_be_a_score() -> None:
    """The strictest threshold given as a number: as many rows as reach it, and nothing if those are too few."""
    found = selective(ladder(120, [79]), first_score=41.5)
    assert (found.first_cut, found.kept) == (79, 79)
    assert "needs_order" not in codes(found)
    assert selective(ladder(120, [79]), first_score=40.0).first_cut == 81
    assert "too_few_rows" in codes(selective(ladder(120, []), first_score=100.0))
    assert "too_few_rows" in codes(selective(ladder(120, []), first_score=1000.0))


def test_the_default_first_cut_forgives_one_and_grows() -> None:
    """93 where that is at least a tenth, then the first size beyond a tenth that forgives one more."""
    assert [default_first_cut(n, ALPHA, DELTA) for n in (59, 93, 500, 1000)] == [59, 93, 93, 124]


# A known truth: binormal scores, 10 % wrong, AUROC 0.80

RUNS: Final = 1500
SIZE: Final = 500
WRONG: Final = 0.10
APART: Final = float(sqrt(2) * norm.ppf(0.80))
NOISE: Final = 3 * sqrt(DELTA * (1 - DELTA) / RUNS)  # three standard errors of a share of runs


@dataclass(frozen=True)
class Outcome:
    """What a rule did over many calibration draws."""

    kept_fraction: float
    violated_fraction: float


@pytest.fixture(scope="module")
def draws() -> list[Labelled]:
    """Calibration draws."""
    generator = np.random.default_rng(20)
    wrong = generator.random((RUNS, SIZE)) < WRONG
    score = generator.normal(size=(RUNS, SIZE)) + np.where(wrong, 0, APART)
    return [Labelled(score=score[run], wrong=wrong[run]) for run in range(RUNS)]


def outcome(found: list[Threshold]) -> Outcome:
    """Shares over the runs, the risk of each threshold in the population known exactly."""
    at = np.array([np.inf if one.threshold is None else one.threshold for one in found])
    wrong, right = WRONG * norm.sf(at), (1 - WRONG) * norm.sf(at - APART)
    if found[0].rule == "marginal":
        risk = wrong
    else:
        risk = np.divide(wrong, wrong + right, out=np.zeros_like(wrong), where=wrong + right > 0)
    return Outcome(float(np.mean([one.kept_fraction for one in found])), float((risk > ALPHA).mean()))


def test_marginal_keeps_its_promise(draws: list[Labelled]) -> None:
    """73 % are kept on average, and at most delta of the draws break the promise."""
    found = outcome([marginal(rows) for rows in draws])
    assert found.kept_fraction == pytest.approx(0.73, abs=0.03)
    assert found.violated_fraction <= DELTA + NOISE


@pytest.mark.parametrize(("first_cut", "kept_fraction"), [(59, 0.20), (93, 0.28), (124, 0.33)])
def test_selective_keeps_its_promise(draws: list[Labelled], first_cut: int, kept_fraction: float) -> None:
    """20 to 33 % are kept, depending on the first cut, and at most delta of the draws break the promise."""
    found = outcome([selective(rows, first_cut=first_cut) for rows in draws])
    assert found.kept_fraction == pytest.approx(kept_fraction, abs=0.025)
    assert found.violated_fraction <= DELTA + NOISE


def test_the_naive_rule_breaks_its_promise_half_the_time(draws: list[Labelled]) -> None:
    """The loosest threshold whose observed risk is at most alpha: above alpha in truth in half of all draws."""
    naive = []
    for rows in draws:
        score = np.sort(rows.score[rows.wrong])[::-1]
        allowed = int(ALPHA * SIZE)
        naive.append(-np.inf if len(score) <= allowed else np.min(rows.score[rows.score > score[allowed]]))
    assert float((WRONG * norm.sf(np.array(naive)) > ALPHA).mean()) == pytest.approx(0.5, abs=0.1)


def test_marginal_holds_where_the_population_sits_on_ties() -> None:
    """Three scores only, the middle one just over the limit: still no more than delta of the draws break it."""
    generator = np.random.default_rng(4)
    score = generator.choice([2.0, 1.0, 0.0], p=[0.6, 0.3, 0.1], size=(RUNS, SIZE))
    # P(kept and wrong) at 1.0: 0.6 * 0.04 + 0.3 * 0.09 = 0.051.
    wrong = generator.random((RUNS, SIZE)) < np.select([score == 2, score == 1], [0.04, 0.09], 0.3)
    found = [marginal(Labelled(score=score[run], wrong=wrong[run])).threshold for run in range(RUNS)]
    broken = np.mean([one is not None and one <= 1 for one in found])
    assert 0.01 < broken <= DELTA + NOISE


def test_selective_with_a_first_score_needs_no_order() -> None:
    """A risk that rises and falls again as the threshold loosens: from a fixed first score the promise holds."""
    generator = np.random.default_rng(6)
    score = generator.random((RUNS, SIZE))
    # Wrong above 0.8: 2 %; from 0.6 to 0.8: 12 %; below: 1 %. Over 5 % between the thresholds 0.4 and 0.7143.
    wrong = generator.random((RUNS, SIZE)) < np.select([score > 0.8, score > 0.6], [0.02, 0.12], 0.01)
    found = [selective(Labelled(score=score[run], wrong=wrong[run]), first_score=0.8).threshold for run in range(RUNS)]
    broken = np.mean([one is not None and 0.4 < one < 0.7143 for one in found])
    assert broken <= DELTA + NOISE


# Rows that were drawn with different probabilities


def uneven(generator: np.random.Generator) -> tuple[Labelled, NDArray[np.float64]]:
    """2,000 calls, of which hard ones (30 % wrong) are labelled with 0.8 and easy ones (2 %) with 0.2."""
    hard = generator.random(2000) < 0.25
    fraction = np.where(hard, 0.8, 0.2)
    is_labelled = generator.random(2000) < fraction
    wrong = generator.random(2000) < np.where(hard, 0.30, 0.02)
    score = generator.normal(size=2000) - wrong
    rows = Labelled(score=score[is_labelled], wrong=wrong[is_labelled])
    return rows, fraction[is_labelled]


def test_evened_rows_are_like_the_traffic() -> None:
    """The labelled rows are wrong twice as often as the calls (9 %); after evening they are wrong as often."""
    generator = np.random.default_rng(8)
    raw, even = [], []
    for _ in range(200):
        rows, fraction = uneven(generator)
        raw.append(rows.wrong.mean())
        after = evened(rows, fraction, least_inclusion_fraction=0.2, generator=generator)
        even.append(after.wrong.mean())
    assert np.mean(raw) == pytest.approx((0.25 * 0.8 * 0.30 + 0.75 * 0.2 * 0.02) / 0.35, abs=0.005)
    assert np.mean(even) == pytest.approx(0.09, abs=0.005)


def test_equal_probabilities_change_nothing() -> None:
    """Rows all drawn with the same chance are left as they are, and no random number is used."""
    rows, generator = ladder(100, []), np.random.default_rng(1)
    state = generator.bit_generator.state
    assert evened(rows, np.full(100, 0.05), least_inclusion_fraction=0.05, generator=generator) is rows
    assert generator.bit_generator.state == state


def test_impossible_probabilities_are_refused() -> None:
    """Below the plan's least, above 1, of another length: the row is named."""
    rows, generator = ladder(3, []), np.random.default_rng(1)
    with pytest.raises(ValueError, match=r"row 1 has 0\.01"):
        evened(rows, np.array([1, 0.01, 1]), least_inclusion_fraction=0.05, generator=generator)
    with pytest.raises(ValueError, match=r"row 2 has 1\.5"):
        evened(rows, np.array([1, 1, 1.5]), least_inclusion_fraction=0.05, generator=generator)
    with pytest.raises(ValueError, match="2 inclusion probabilities for 3 rows"):
        evened(rows, np.ones(2), least_inclusion_fraction=1, generator=generator)
    with pytest.raises(ValueError, match="none of 3 rows is left"):
        evened(rows, np.ones(3), least_inclusion_fraction=1e-9, generator=generator)


def test_rows_must_be_whole() -> None:
    """No rows, columns of different lengths, a score that is no number."""
    with pytest.raises(ValueError, match="at least one row"):
        labelled([], [])
    with pytest.raises(ValueError, match="wrong has 1 rows and score has 2"):
        labelled([1, 2], [0])
    with pytest.raises(ValueError, match="NaN in row 1"):
        labelled([1, float("nan")], [0, 1])
