"""The drift alarm: its false alarms, its delay, and what is saved."""

import math
from collections.abc import Iterator

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from teto.triage.bounds import clopper_pearson
from teto.triage.drift import (
    DriftState,
    DriftTest,
    drift_test,
    first_alarms,
    observe,
    rate_interval,
    share_of_delta,
    start,
)
from teto.triage.drift_notices import NOTICES, summarise

LABELS = st.lists(st.booleans(), max_size=60)
LEVEL = st.floats(0.005, 0.95)


def a_test(p0: float = 0.05, delta: float = 0.05, kept_fraction: float = 0.5) -> DriftTest:
    """A test of that null."""
    return DriftTest(p0=p0, delta=delta, kept_fraction=kept_fraction)


def after(labels: list[bool], test: DriftTest) -> DriftState:
    """The state after those labels."""
    state = start(test)
    for disagreed in labels:
        state = observe(state, disagreed=disagreed)
    return state


def rows(rates: list[tuple[int, float]], *, streams: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Label after label, so many at each rate."""
    generator = np.random.default_rng(seed)
    for n, rate in rates:
        for _ in range(n):
            yield generator.random(streams) < rate


@pytest.mark.parametrize(("delta", "seed"), [(0.05, 1), (0.01, 2)])
def test_false_alarms_over_unlimited_looks(delta: float, seed: int) -> None:
    """At p0 itself at most delta of 2,000 streams ring within 20,000 labels, each of which is looked at."""
    rang = first_alarms(rows([(20_000, 0.05)], streams=2000, seed=seed), a_test(delta=delta))
    assert (rang > 0).mean() <= delta + 3 * math.sqrt(delta * (1 - delta) / 2000)


def test_a_false_alarm_rate_counted_exactly() -> None:
    """Over all 4,096 streams of 12 labels, each with its probability, at most delta ring; and some do."""

    def ringing(state: DriftState, left: int) -> float:
        if state.is_alarm or left == 0:
            return float(state.is_alarm)
        return 0.3 * ringing(observe(state, disagreed=True), left - 1) + 0.7 * ringing(
            observe(state, disagreed=False), left - 1
        )

    assert 0.01 < ringing(start(a_test(p0=0.3, delta=0.2)), 12) <= 0.2


@given(LABELS, LEVEL, st.floats(0, 1))
def test_the_evidence_is_not_expected_to_grow(labels: list[bool], p0: float, share: float) -> None:
    """Whatever came before: the next e-value has at p0 the mean of the present one, and below p0 no more."""
    state = after(labels, a_test(p0=p0))
    if_wrong, if_right = observe(state, disagreed=True).e_value, observe(state, disagreed=False).e_value
    at_p0 = p0 * if_wrong + (1 - p0) * if_right
    below = share * p0 * if_wrong + (1 - share * p0) * if_right
    assert at_p0 == pytest.approx(state.e_value, rel=1e-9)
    assert below <= state.e_value * (1 + 1e-9)
    assert if_right < if_wrong


def test_worked_by_hand() -> None:
    """One disagreement at p0 = 1/2: half the weight at once, the ratios of 3:5, 2:3, 3:4 and 5:6 to 1/2."""
    placed = 1 - 0.5 / (1 + math.log1p(1 / 500))
    ratios = [2 * 3 / 5, 2 * 2 / 3, 2 * 3 / 4, 2 * 5 / 6]
    state = observe(start(a_test(p0=0.5)), disagreed=True)
    assert state.bets == pytest.approx([placed / 4 * ratio for ratio in ratios])
    assert state.e_value == pytest.approx(placed / 4 * sum(ratios) + 1 - placed)
    assert start(a_test()).e_value == 1


@pytest.mark.parametrize(("quiet", "median", "p90"), [(0, 180, 430), (500, 300, 580), (5000, 480, 820)])
def test_detection_within_what_is_published(quiet: int, median: int, p90: int) -> None:
    """From 5 % to 10 %: the published labels (docs/drift.md) and a tenth, which is what 600 streams scatter."""
    rang = first_alarms(rows([(quiet, 0.05), (3000, 0.1)], streams=600, seed=3), a_test())
    delays = np.where(rang == 0, np.inf, rang - quiet)[(rang == 0) | (rang > quiet)]
    assert np.quantile(delays, 0.5, method="higher") <= median
    assert np.quantile(delays, 0.9, method="higher") <= p90


def test_quiet_times_below_the_null_cost_little() -> None:
    """After 5,000 labels without any disagreement, 30 in 100 still ring within 100."""
    test = a_test()
    quiet = after([False] * 5000, test)
    assert quiet.e_value > 0.1
    assert after([False] * 5000 + [at % 3 == 0 for at in range(100)], test).is_alarm


@given(st.lists(LABELS.filter(bool), min_size=1, max_size=4), LEVEL)
def test_many_streams_ring_as_one_does(streams: list[list[bool]], p0: float) -> None:
    """`first_alarms` is `observe`, stream by stream."""
    n = min(len(stream) for stream in streams)
    test = a_test(p0=p0, delta=0.2)
    together = first_alarms(np.array([stream[:n] for stream in streams]).T, test)
    assert [after(stream[:n], test).alarm_at or 0 for stream in streams] == together.tolist()


def test_a_saved_state_goes_on_where_it_was() -> None:
    """Through JSON and back after every label: the same state to the last bit, so a restart costs nothing."""
    straight = saved = start(a_test())
    for at in range(300):
        straight, saved = observe(straight, disagreed=at % 7 == 0), observe(saved, disagreed=at % 7 == 0)
        saved = msgspec.json.decode(msgspec.json.encode(saved), type=DriftState)
    assert saved == straight
    assert saved.is_alarm
    assert len(msgspec.json.encode(saved)) < 400


def test_an_alarm_stays() -> None:
    """It rings at the first crossing and goes on, whatever follows; evidence has a ceiling that JSON can carry."""
    rung = after([True] * 3000, a_test())
    assert rung.alarm_at is not None
    assert rung.alarm_at < 10
    later = observe(rung, disagreed=False)
    assert later.alarm_at == rung.alarm_at
    assert math.isfinite(later.e_value)
    calm = after([True] * 5 + [False] * 1000, a_test(delta=0.02))
    assert calm.is_alarm
    assert calm.e_value < 2
    assert calm.highest_e_value > 50


def test_what_was_not_compared_tests_nothing() -> None:
    """It is counted, and evidence and counts of labels stay."""
    state = after([True, False], a_test())
    more = observe(state, disagreed=None)
    assert (more.n, more.n_untold, more.bets) == (2, 1, state.bets)


def test_the_null_of_a_promise() -> None:
    """5 % of all with half kept allows 10 % of those; a cloud that differs from 2 % of right ones makes it 11.8 %."""
    marginal = drift_test(rule="marginal", alpha=0.05, kept_fraction=0.5, baseline_disagreement=0, delta=0.05)
    assert marginal.p0 == pytest.approx(0.1)
    differing = drift_test(rule="marginal", alpha=0.05, kept_fraction=0.5, baseline_disagreement=0.02, delta=0.05)
    assert differing.p0 == pytest.approx(0.1 + 0.9 * 0.02)
    selective = drift_test(rule="selective", alpha=0.05, kept_fraction=0.5, baseline_disagreement=0, delta=0.05)
    assert selective.p0 == pytest.approx(0.05)


def test_delta_is_divided() -> None:
    """Four slices, first period: an eighth each; over any number of restarts all shares stay within delta."""
    assert share_of_delta(0.05, n_slices=4, restart=0) == pytest.approx(0.05 / 8)
    spent = sum(4 * share_of_delta(0.05, n_slices=4, restart=restart) for restart in range(1000))
    assert 0.0499 < spent <= 0.05


@given(st.integers(0, 3000), st.floats(0, 1), st.floats(0.5, 0.999))
def test_the_interval_holds_the_observed_rate(n: int, share: float, level: float) -> None:
    """It encloses what was seen, stays within 0 and 1, and is no narrower than one that is looked at once."""
    k = round(share * n)
    found = rate_interval(k, n, level)
    assert 0 <= found.low <= (k / n if n else 0.5) <= found.high <= 1
    if n and level >= 0.9:
        once = clopper_pearson(k, n, level)
        assert found.high - found.low >= 0.8 * (once.high - once.low)


def test_the_interval_worked_by_hand() -> None:
    """One agreement: rates r with 1/2 < 20 (1 - r), so up to 0.975; nothing seen leaves everything."""
    found = rate_interval(0, 1)
    assert found.low == 0
    assert found.high == pytest.approx(0.975)
    assert (rate_interval(0, 0).low, rate_interval(0, 0).high) == (0, 1)


def test_the_interval_holds_at_every_look() -> None:
    """In 400 streams of 1,500 labels at 10 % the rate leaves it, ever, in at most 5 % and three standard errors."""
    wrong = np.cumsum(np.array(list(rows([(1500, 0.1)], streams=400, seed=5))), axis=0)
    looks = [0, 1, 2, 4, 9, 19, 49, 99, 199, 399, 799, 1499]
    left = np.zeros(400, dtype=bool)
    for at in looks:
        for stream in np.flatnonzero(~left):
            found = rate_interval(int(wrong[at, stream]), at + 1)
            left[stream] = not found.low <= 0.1 <= found.high
    assert left.mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_a_summary_without_labels() -> None:
    """Nothing compared is said, in both languages, and no rate is made up."""
    found = summarise(start(a_test()))
    assert found.meaning.code == "no_data"
    assert found.rate_if_untold_disagreed is None
    assert (found.rate.low, found.rate.high) == (0, 1)


def test_a_summary_without_an_alarm() -> None:
    """Figures, the rate times the kept share, and that silence is no proof; Portuguese with its own marks."""
    state = after([False] * 1190 + [True] * 10, a_test(delta=0.0004))
    found = summarise(observe(state, disagreed=None))
    assert (found.n, found.n_disagreed, found.n_untold, found.alarm_e_value) == (1200, 10, 1, 2500)
    assert found.kept_and_disagreed.high == pytest.approx(found.rate.high / 2)
    assert found.rate_if_untold_disagreed == pytest.approx(11 / 1201)
    assert found.meaning.en.startswith("No alarm: 10 of 1,200 compared answers disagree, evidence ")
    assert found.meaning.en.endswith(" of the 2,500 that ring it. That does not show that the rate is at most 5 %.")
    assert found.meaning.pt.startswith("Sem alarme: 10 de 1.200 respostas comparadas discordam, evidência ")


def test_a_summary_of_an_alarm() -> None:
    """When it rang, against what, and how likely that is for nothing."""
    found = summarise(after([True] * 8, a_test(p0=0.125, delta=0.025)))
    assert found.is_alarm
    assert found.meaning.code == "alarm"
    assert f"Alarm after {found.alarm_at} compared answers" in found.meaning.en
    assert "at most 12.5 %" in found.meaning.en
    assert "no máximo 12,5 %" in found.meaning.pt
    assert "2,5 %" in found.meaning.pt


def test_every_trap_is_told_in_both_languages() -> None:
    """What health and documents show: each code once, each text a sentence of its own language."""
    codes = [notice.code for notice in NOTICES]
    assert codes == ["proxy", "provider", "missing", "kept_share", "private", "tasks", "delta", "silence"]
    assert all(notice.en.endswith(".") and notice.pt.endswith(".") and notice.en != notice.pt for notice in NOTICES)


def test_absurd_figures_are_refused() -> None:
    """Each error names the figure, what was expected and what was found."""
    with pytest.raises(ValueError, match=r"p0 must lie between 0 and 1, found 0"):
        a_test(p0=0)
    with pytest.raises(ValueError, match=r"kept_fraction must lie in \(0, 1\], found 0: nothing kept"):
        a_test(kept_fraction=0)
    with pytest.raises(ValueError, match=r"alpha=0\.05 of all calls allows every one of the 0\.04"):
        drift_test(rule="marginal", alpha=0.05, kept_fraction=0.04, baseline_disagreement=0, delta=0.05)
    with pytest.raises(ValueError, match=r"baseline_disagreement must lie in \[0, 1\), found 1"):
        drift_test(rule="marginal", alpha=0.05, kept_fraction=0.5, baseline_disagreement=1, delta=0.05)
    with pytest.raises(ValueError, match="found 0 and 0"):
        share_of_delta(0.05, n_slices=0, restart=0)
    with pytest.raises(ValueError, match="found 3 of 2"):
        rate_interval(3, 2)


def test_a_damaged_state_is_refused() -> None:
    """Another number of bets, a bet that is none, more disagreements than labels: start anew, as a restart."""
    body = msgspec.json.encode(start(a_test()))
    for before, changed in ((b"[0.0,0.0,", b"[0.0,"), (b"[0.0,", b"[-1.0,"), (b'"n_disagreed":0', b'"n_disagreed":3')):
        assert before in body
        with pytest.raises(msgspec.ValidationError, match="expected"):
            msgspec.json.decode(body.replace(before, changed, 1), type=DriftState)
