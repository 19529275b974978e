"""Deferral curves and their figures: worked by hand, by property, and on RouteLLM's recorded answers."""

import csv
import gzip
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from teto.triage.deferral import Curve, Evaluation, Recorded, auroc, evaluate, random_orders

ROUTING: Final = Path(__file__).resolve().parents[3] / "shared" / "data" / "routing"
recorded_elsewhere = pytest.mark.skipif(not ROUTING.is_dir(), reason="the recorded router runs are not here")


def recorded(small: list[float], large: list[float], score: list[float]) -> Recorded:
    """A table from lists."""
    return Recorded(small=np.array(small, float), large=np.array(large, float), score=np.array(score, float))


def evaluated(table: Recorded, n_resamples: int = 50) -> Evaluation:
    """Its evaluation with a fixed seed."""
    return evaluate(table, generator=np.random.default_rng(7), n_resamples=n_resamples)


def value(found: Evaluation, name: str) -> float | None:
    """A figure without its interval."""
    return found.figures[name].value


# Deferred in the order of the gains +1, +1, -1, 0, from 0.5 to 0.75: PGR 0, 1, 2, 1, 1 at each quarter.
FOUR: Final = recorded([1, 0, 1, 0], [1, 1, 0, 1], [0.9, 0.1, 0.8, 0.2])


def test_a_curve_worked_by_hand() -> None:
    """Each quarter deferred adds its gain, and the figures are those of the broken line."""
    found = evaluated(FOUR)
    assert found.curve.deferred_fraction.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert found.curve.quality.tolist() == [0.5, 0.75, 1.0, 0.75, 0.75]
    assert value(found, "apgr") == pytest.approx((0.5 + 1.5 + 1.5 + 1) / 4)
    assert value(found, "cpt50") == pytest.approx(0.125)
    assert value(found, "cpt80") == pytest.approx(0.2)
    assert value(found, "audc") == pytest.approx((0.625 + 0.875 + 0.875 + 0.75) / 4)
    assert value(found, "auroc") == 1


def test_a_crossing_is_the_first_one() -> None:
    """A curve that passes 50 %, falls to 0 and rises again crossed where it first did, not where it last did."""
    # Gains +1, -1, 0, +1: PGR 0, 1, 0, 0, 1.
    found = evaluated(recorded([0, 1, 1, 0], [1, 0, 1, 1], [1, 2, 3, 4]))
    assert value(found, "cpt50") == pytest.approx(0.125)
    assert value(found, "cpt80") == pytest.approx(0.2)


def test_ties_are_one_straight_line() -> None:
    """Two rows of one score are deferred together: the curve has no corner between them, whatever their order."""
    found = evaluated(recorded([0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 2, 3]))
    assert found.curve.deferred_fraction.tolist() == [0, 0.5, 0.75, 1]
    assert found.curve.quality.tolist() == [0.5, 0.5, 0.5, 0.75]


def test_a_score_without_information_is_half() -> None:
    """All scores equal: APGR 0.5, CPT(x) = x, AUROC 0.5, and AUDC between both models."""
    found = evaluated(FOUR).random
    assert (found.apgr, found.cpt50, found.cpt80) == pytest.approx((0.5, 0.5, 0.8))
    assert (found.audc, found.auroc) == pytest.approx((0.625, 0.5))


def test_luck_alone() -> None:
    """200 random orders of 400 rows: most APGR lie around 0.5, and a score far outside knows something."""
    found = evaluated(simulated(400, 3), 2)
    assert found.luck is not None
    assert 0.3 < found.luck.low < 0.5 < found.luck.high < 0.7
    assert (value(found, "apgr") or 0) > found.luck.high
    assert evaluated(recorded([1, 0], [0, 1], [1, 2])).luck is None


def test_references_know_what_they_know() -> None:
    """The perfect detector defers the two wrong ones first; the oracle besides keeps what deferring would lose."""
    found = evaluated(FOUR)
    assert found.perfect_curve.quality.tolist() == [0.5, 1.0, 0.75]
    assert found.oracle_curve.quality.tolist() == [0.5, 1.0, 1.0, 0.75]
    assert found.oracle.apgr == pytest.approx(1.375)
    assert found.perfect.apgr == pytest.approx(1.25)


def test_without_a_gap_there_is_nothing_to_recover() -> None:
    """A large model that is no better gives no APGR and no CPT, and the reason; the curve's area remains."""
    found = evaluated(recorded([1, 0], [0, 1], [1, 2]))
    assert (value(found, "apgr"), value(found, "cpt50")) == (None, None)
    assert value(found, "audc") == pytest.approx(0.25)
    assert "no_gap" in {reason.code for reason in found.reasons}


def test_marks_in_place_of_right_and_wrong() -> None:
    """Qualities from 1 to 10 have a curve but no AUROC, and the reason is given."""
    found = evaluated(recorded([6, 8, 10], [9, 9, 9], [1, 2, 3]))
    assert value(found, "auroc") is None
    assert found.curve.quality.tolist() == pytest.approx([8, 9, 28 / 3, 9])
    assert "not_binary" in {reason.code for reason in found.reasons}


def test_figures_must_be_numbers() -> None:
    """The row of a missing figure is named."""
    with pytest.raises(ValueError, match="score must be a number, found nan in row 1"):
        recorded([1, 0], [1, 1], [0.5, np.nan])
    with pytest.raises(ValueError, match="large"):
        recorded([1, 0], [1], [0.5, 0.6])


def test_a_weak_gap_gets_no_interval() -> None:
    """Where the large model is often not the better one in a resample, APGR has a value but no interval."""
    found = evaluated(FOUR, 400)
    assert found.no_gap_fraction > 0.1
    assert found.figures["apgr"].interval is None
    assert found.figures["audc"].interval is not None
    assert "weak_gap" in {reason.code for reason in found.reasons}


def test_intervals_come_from_the_generator() -> None:
    """The same seed gives the same interval, and it covers the value."""
    table = simulated(400, 3)
    first, second = (evaluated(table, 200).figures["apgr"] for _ in range(2))
    assert first == second
    assert first.interval is not None
    assert first.value is not None
    assert first.interval.low < first.value < first.interval.high


def simulated(n: int, seed: int) -> Recorded:
    """A small model right in 60 %, a large one in 85 %, and a score that knows something."""
    generator = np.random.default_rng(seed)
    small, large = generator.random(n) < 0.6, generator.random(n) < 0.85
    score = np.where(small, 1.0, 0.0) + generator.normal(size=n)
    return Recorded(small=small.astype(float), large=large.astype(float), score=score)


def test_bootstrap_intervals_cover() -> None:
    """Of 100 samples of one population the 95 % interval of APGR holds its value in about 95 %."""
    truth = value(evaluated(simulated(200_000, 1), 2), "apgr")
    assert truth is not None
    covered = 0
    for seed in range(100):
        interval = evaluated(simulated(300, 100 + seed), 200).figures["apgr"].interval
        assert interval is not None
        covered += interval.low <= truth <= interval.high
    assert 0.89 <= covered / 100 <= 0.99


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=2, max_size=40),
    st.floats(0.1, 10),
    st.floats(-5, 5),
)
def test_only_the_order_of_scores_counts(rows: list[tuple[bool, bool, int]], slope: float, shift: float) -> None:
    """A rising line through the score changes no figure; a score of less information never beats the oracle."""
    small, large, score = (np.array(column, float) for column in zip(*rows, strict=True))
    first = evaluated(Recorded(small=small, large=large, score=score), 2)
    second = evaluated(Recorded(small=small, large=large, score=score * slope + shift), 2)
    assert {name: one.value for name, one in first.figures.items()} == {
        name: one.value for name, one in second.figures.items()
    }
    assert value(first, "audc") is not None
    assert first.oracle.audc >= (value(first, "audc") or 0) - 1e-12
    assert first.curve.quality[[0, -1]] == pytest.approx([small.mean(), large.mean()])


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1, max_size=40))
def test_auroc_is_the_rank_statistic(rows: list[tuple[bool, int]]) -> None:
    """It equals Mann-Whitney's U over the number of pairs; None where there is no pair."""
    right = np.array([row[0] for row in rows])
    score = np.array([row[1] for row in rows], float)
    found = auroc(score, right)
    if right.all() or not right.any():
        assert found is None
    else:
        statistic = mannwhitneyu(score[right], score[~right]).statistic
        assert found == pytest.approx(statistic / (right.sum() * (~right).sum()))


def test_a_curve_between_its_corners() -> None:
    """Straight lines."""
    curve = Curve(deferred_fraction=np.array([0, 0.5, 1]), quality=np.array([0.5, 1.0, 0.8]))
    assert curve.at(np.array([0.25, 0.75])).tolist() == pytest.approx([0.75, 0.9])


# The recorded answers


def rows_of(name: str) -> list[dict[str, str]]:
    """The rows of one benchmark that no training set had seen."""
    with gzip.open(ROUTING / "routellm" / name, "rt", newline="") as file:
        return [row for row in csv.DictReader(file) if row["contaminated"] != "True"]


def answers(bench: str) -> Recorded:
    """Both models' answers; on MT-Bench a row is a question, its quality the mean of both turns."""
    if bench != "mt_bench":
        rows = rows_of(f"{bench}.csv.gz")
        small, large = ([float(row[f"{who}_correct"] in {"1", "True"}) for row in rows] for who in ("weak", "strong"))
        return recorded(small, large, [0.0] * len(rows))
    marks: dict[str, dict[str, list[float]]] = {"weak": {}, "strong": {}}
    for row in rows_of("mt_bench.csv.gz"):
        marks[row["role"]].setdefault(row["question_id"], []).append(float(row["score"]))
    means = {role: [float(np.mean(each[key])) for key in sorted(each)] for role, each in marks.items()}
    return recorded(means["weak"], means["strong"], [0.0] * len(means["weak"]))


def published(bench: str, router: str) -> dict[str, float]:
    """A row of the published figures."""
    with (ROUTING / "routellm" / "repro_metrics.csv").open(newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["bench"] == bench and row["router"].startswith(router))
    return {name: float(row[name]) for name in ("n", "weak", "strong", "APGR", "sd", "CPT50", "CPT80")}


BENCHES: Final = [("mmlu", 0.500, 1.285, 1.052), ("gsm8k", 0.502, 1.121, 0.982), ("mt_bench", 0.498, 0.964, 0.874)]


@recorded_elsewhere
@pytest.mark.parametrize(("bench", "drawn", "oracle", "perfect"), BENCHES)
def test_reproduces_published_figures(bench: str, drawn: float, oracle: float, perfect: float) -> None:
    """Oracle and perfect detector to the third decimal; random orders scatter around 0.5 as widely as published."""
    table = answers(bench)
    found = evaluated(table, 2)
    known = published(bench, "oracle: rank by gain")
    assert table.n == known["n"]
    assert found.oracle.apgr == pytest.approx(oracle, abs=0.0005)
    assert found.perfect.apgr == pytest.approx(perfect, abs=0.0005)
    assert (found.oracle.cpt50, found.oracle.cpt80) == pytest.approx((known["CPT50"], known["CPT80"]), abs=1e-6)
    luck = random_orders(table, generator=np.random.default_rng(11), n_orders=400)
    sd = published(bench, "random")["sd"]
    assert found.random.apgr == pytest.approx(0.5)
    assert luck.mean() == pytest.approx(0.5, abs=4 * sd / 20)
    assert drawn == pytest.approx(0.5, abs=0.0025)
    assert luck.std() == pytest.approx(sd, rel=0.2)
    detector = published(bench, "perfect")
    assert (found.perfect.cpt50, found.perfect.cpt80) == pytest.approx((detector["CPT50"], detector["CPT80"]), abs=2e-3)


@recorded_elsewhere
def test_random_orders_come_close_to_the_published_average() -> None:
    """On MMLU, where luck is small, the average of drawn orders is the published 0.500 itself."""
    luck = random_orders(answers("mmlu"), generator=np.random.default_rng(5), n_orders=400)
    assert luck.mean() == pytest.approx(published("mmlu", "random")["APGR"], abs=0.0015)
