"""An alarm on kept answers: does the cloud disagree with more of them than the calibration allows? Valid at any time.

The null: each kept and compared answer is disagreed with, given all before it, with probability at most p0. Looking
after every label costs nothing: what is watched is an e-process, a sum of bets against the null that starts at 1
and is not expected to grow under it, so the chance that it ever reaches 1 / delta is at most delta (Ville 1939).
That holds over unlimited looks, for rates that move below p0, and for labels that depend on earlier ones.

One bet is a likelihood ratio of a rate q > p0 against p0: q / p0 on a disagreement, (1 - q) / (1 - p0) on an
agreement. Its expectation is 1 at p0 and less below. q is unknown, so four are mixed; the time of the change is
unknown too, so they are mixed over the label k from which on the bet is placed, with weights w(k) that sum to 1:

    e(n) = sum over q and k < n of w(k) / 4 * (product of the ratios of the labels k + 1 ... n) + unspent(n)

The starts fold into one number for each q, S(q) <- (S(q) + w(n) / 4) * ratio: the state is four floats and a few
counts, however many labels, and saved it loses nothing when the process restarts. Half the weight is placed at
once (traffic that never was what the calibration saw), the rest by unspent(k) = 1/2 / (1 + log(1 + k / 500)).

Chosen by measurement (`benchmarks/drift.py`: p0 = 5 %, delta = 5 %, from 5 % to 10 %; labels from the change to the
alarm, median, after 0, 500 and 5,000 quiet labels):

    this one                                      165    272    458
    starts by 1 / ((k + 1) (k + 2))               141    364    738
    a constant hazard, 1 in 3,000 labels          174    285    389
    never restarted, four rates                   141    389  1,659
    never restarted, beta mixture above p0        225    530  1,379
    told the change and the new rate              121    121    117

A process that is not restarted sinks while all is well and has to climb back; a constant hazard is better near its
own time scale, and spends everything within a few of them: after that nothing restarts. CUSUM and Shiryaev-Roberts
bound the mean time to a false alarm, not its probability: they raise one sooner or later. At p0 itself 3.2 % of
streams ring within 50,000 labels where 5 % may: the last bet overshoots 1 / delta. To spend that too would save about
10 labels, for a rule that is harder to check.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import lgamma, log, log1p
from typing import Final

import numpy as np
from numpy.typing import NDArray

from teto.triage.bounds import Interval, require_level
from teto.triage.threshold import Rule

__all__ = [
    "DriftState",
    "DriftTest",
    "drift_test",
    "first_alarms",
    "observe",
    "rate_interval",
    "share_of_delta",
    "start",
]

_ODDS: Final = (1.5, 2.0, 3.0, 5.0)  # the rates that are bet on, by their odds over those of p0
_AT_ONCE: Final = 0.5  # the weight of the bets from the first label on
_LABELS: Final = 500.0  # the time scale on which the other starts thin out
_MOST: Final = 1e100  # far above any alarm; less is never too much under the null
_HALVINGS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftTest:
    """What one slice's alarm tests: a rate of disagreement of at most `p0`, with a false alarm in at most `delta`.

    `kept_fraction` is the share of admitted calls that the calibration kept: what turns P(disagree | kept) into
    P(kept and disagreed with).
    """

    p0: float
    delta: float
    kept_fraction: float

    def __post_init__(self) -> None:
        require_level("p0", self.p0)
        require_level("delta", self.delta)
        _require_kept(self.kept_fraction)

    @property
    def alarm_e_value(self) -> float:
        """The evidence at which the alarm rings."""
        return 1 / self.delta


def _require_kept(kept_fraction: float) -> None:
    if not 0 < kept_fraction <= 1:
        raise ValueError(f"kept_fraction must lie in (0, 1], found {kept_fraction}: nothing kept is nothing to test")


def drift_test(
    *, rule: Rule, alpha: float, kept_fraction: float, baseline_disagreement: float, delta: float
) -> DriftTest:
    """The test of what a calibration promises.

    A marginal promise, P(kept and wrong) <= alpha, allows P(wrong | kept) up to alpha / kept_fraction; a selective
    one allows alpha. A cloud may also disagree with a right answer (it was wrong itself, or says it otherwise): with
    a share b of those, p0 = r + (1 - r) b, where r is the allowed share of wrong ones. What is too low for b raises
    alarms that the local model did not cause, what is too high delays those that it did; 0 is a claim too.

    Args:
        rule: the rule of the calibration.
        alpha: the most risk that it allows.
        kept_fraction: the share of admitted calls that it keeps. An estimate from few rows may be too high, and p0
            then too low: the lower end of its interval is the careful choice.
        baseline_disagreement: the share of right kept answers that the cloud is expected to disagree with.
        delta: the chance of a false alarm of this test, ever: its share, where there are several (`share_of_delta`).

    Raises:
        ValueError: a figure out of its range, or a promise so wide that every kept answer may be wrong.
    """
    require_level("alpha", alpha)
    if not 0 <= baseline_disagreement < 1:
        raise ValueError(f"baseline_disagreement must lie in [0, 1), found {baseline_disagreement}")
    _require_kept(kept_fraction)
    if rule == "marginal" and alpha >= kept_fraction:
        raise ValueError(
            f"alpha={alpha} of all calls allows every one of the {kept_fraction} that are kept to be wrong: there is "
            "nothing to test; certify with a lower alpha, or by the selective rule"
        )
    wrong = alpha if rule == "selective" else alpha / kept_fraction
    p0 = wrong + (1 - wrong) * baseline_disagreement
    return DriftTest(p0=p0, delta=delta, kept_fraction=kept_fraction)


def share_of_delta(delta: float, *, n_slices: int, restart: int) -> float:
    """The delta of one slice's test so that all slices, and all restarts of each, raise a false alarm in at most delta.

    Slices share evenly. A slice's test is started anew when it is calibrated again: its first period gets a half,
    the next a sixth, then a twelfth, 1 / ((r + 1) (r + 2)), which adds up to 1 over any number. A process that
    restarts with the saved state is no restart.

    Args:
        delta: the chance of any false alarm, ever, anywhere.
        n_slices: how many slices are watched, fixed beforehand.
        restart: how many times this slice's test was started before.

    Raises:
        ValueError: delta outside (0, 1), no slice, or a negative count.
    """
    require_level("delta", delta)
    if n_slices < 1 or restart < 0:
        raise ValueError(f"expected n_slices >= 1 and restart >= 0, found {n_slices} and {restart}")
    return delta / n_slices / ((restart + 1) * (restart + 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftState:
    """Where one test stands: all there is to save. Of constant size; floats survive JSON exactly.

    `bets` holds the summed bets on each rate. `n_untold` counts shadows that were not compared. `alarm_at` is the
    number of labels at which the alarm rang, None while it has not; it never stops ringing.
    """

    test: DriftTest
    n: int
    n_disagreed: int
    n_untold: int
    bets: tuple[float, ...]
    highest_e_value: float
    alarm_at: int | None

    def __post_init__(self) -> None:
        if len(self.bets) != len(_ODDS) or not all(0 <= bet <= _MOST for bet in self.bets):
            raise ValueError(
                f"expected {len(_ODDS)} bets between 0 and {_MOST:g}, found {self.bets}: this state was saved by "
                "another version or damaged; start the test anew, and count it as a restart"
            )
        if not 0 <= self.n_disagreed <= self.n or self.n_untold < 0:
            raise ValueError(
                f"expected 0 <= n_disagreed <= n, found {self.n_disagreed} of {self.n}, {self.n_untold} untold"
            )

    @property
    def e_value(self) -> float:
        """The evidence against the null now: 1 is none."""
        return sum(self.bets) + float(_unspent(self.n))

    @property
    def is_alarm(self) -> bool:
        """Whether the alarm has rung."""
        return self.alarm_at is not None


def start(test: DriftTest) -> DriftState:
    """Before the first label."""
    bets = (0.0,) * len(_ODDS)
    return DriftState(test=test, n=0, n_disagreed=0, n_untold=0, bets=bets, highest_e_value=1.0, alarm_at=None)


def _unspent(n_labels: float) -> float:
    """The weight of the bets that start after so many labels; its differences are exact and add up to 1."""
    return 1.0 if n_labels == 0 else (1 - _AT_ONCE) / (1 + log1p(n_labels / _LABELS))


def _ratios(p0: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What a disagreement and an agreement multiply each bet with: q / p0 and (1 - q) / (1 - p0)."""
    scales = [1 / (1 + (odds - 1) * p0) for odds in _ODDS]
    return tuple(odds * scale for odds, scale in zip(_ODDS, scales, strict=True)), tuple(scales)


def observe(state: DriftState, *, disagreed: bool | None) -> DriftState:
    """The state after one more shadow of a kept answer; None: it failed or could not be compared.

    What was not compared is counted and tests nothing. That is honest only as far as failures have nothing to do
    with being wrong.
    """
    if disagreed is None:
        return replace(state, n_untold=state.n_untold + 1)
    weight = (_unspent(state.n) - _unspent(state.n + 1)) / len(_ODDS)
    ratios = _ratios(state.test.p0)[0 if disagreed else 1]
    bets = tuple(min(_MOST, (bet + weight) * ratio) for bet, ratio in zip(state.bets, ratios, strict=True))
    n = state.n + 1
    after = replace(state, n=n, n_disagreed=state.n_disagreed + int(disagreed), bets=bets)
    rings = state.alarm_at is None and after.e_value >= state.test.alarm_e_value
    highest = max(state.highest_e_value, after.e_value)
    return replace(after, highest_e_value=highest, alarm_at=n if rings else state.alarm_at)


def first_alarms(disagreed: Iterable[NDArray[np.bool_]], test: DriftTest) -> NDArray[np.int64]:
    """When `observe` would ring in many streams at once: what the alarm's error rate and delay are measured with.

    Args:
        disagreed: label after label, each an array with one element a stream.
        test: the same for all streams.

    Returns:
        For each stream the number of labels at its alarm; 0: none.
    """
    up, down = (np.array(ratios)[:, None] for ratios in _ratios(test.p0))
    bets = np.zeros((len(_ODDS), 1))
    alarms = np.zeros(0, dtype=np.int64)
    for n, row in enumerate(disagreed):
        alarms = alarms if n else np.zeros(len(row), dtype=np.int64)
        after = _unspent(n + 1)
        bets = (bets + (_unspent(n) - after) / len(_ODDS)) * np.where(row, up, down)
        np.minimum(bets, _MOST, out=bets)
        alarms[(alarms == 0) & (bets.sum(axis=0) + after >= test.alarm_e_value)] = n + 1
        if alarms.all():
            break
    return alarms


def rate_interval(n_disagreed: int, n: int, level: float = 0.95) -> Interval:
    """Where a constant rate lies, at every n at once: the chance that it ever leaves the interval is 1 - level.

    The rates against which Jeffreys' mixture of bets has not reached 1 / (1 - level) (Robbins 1970). It describes
    all labels since the start: after a change it holds for neither the old rate nor the new one.

    Raises:
        ValueError: counts that are none, or a level outside (0, 1).
    """
    require_level("level", level)
    if not 0 <= n_disagreed <= n:
        raise ValueError(f"expected 0 <= n_disagreed <= n, found {n_disagreed} of {n}")
    if n == 0:
        return Interval(low=0.0, high=1.0, level=level)
    agreed = n - n_disagreed
    room = _log_beta(n_disagreed + 0.5, agreed + 0.5) - _log_beta(0.5, 0.5) + log(1 - level)

    def holds(rate: float) -> bool:
        against = (n_disagreed * log(rate) if n_disagreed else 0.0) + (agreed * log1p(-rate) if agreed else 0.0)
        return room < against

    seen = n_disagreed / n
    low = 0.0 if n_disagreed == 0 else _edge(seen, 0.0, holds)
    high = 1.0 if agreed == 0 else _edge(seen, 1.0, holds)
    return Interval(low=low, high=high, level=level)


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _edge(inside: float, outside: float, holds: Callable[[float], bool]) -> float:
    """Where it stops to hold, by halving; of the two that enclose it the one outside."""
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return outside
