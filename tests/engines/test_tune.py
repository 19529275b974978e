"""The tune: which variants it tries, which one wins, and when it stops."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest

from tests.smoke_weights import run, smoke_setup
from teto.engines.llama_process import WaitPolicy, child_environment
from teto.engines.tune import Measured, Tuning, Variant, measure_variant, tune, usable_cores
from teto.errors import EngineError

_SHA = "ab" * 32


def speed(tokens_per_s: float) -> Measured:
    """The same speed in both phases."""
    return Measured(prefill_tokens_per_s=tokens_per_s, decode_tokens_per_s=tokens_per_s)


def first(policy: WaitPolicy = "active", *, repack: bool = True) -> Variant:
    """The variant that is tried first on four cores."""
    return Variant(decode_threads=4, prefill_threads=4, wait_policy=policy, repack=repack)


class Bench:
    """Gives each variant the speed that `judge` says, or its error; remembers what was asked."""

    def __init__(self, judge: Callable[[Variant], float | EngineError], *, seconds: float = 0.0) -> None:
        self._judge = judge
        self._seconds = seconds
        self.asked: list[Variant] = []

    async def __call__(self, variant: Variant) -> tuple[Measured, str]:
        """Measure."""
        self.asked.append(variant)
        await asyncio.sleep(self._seconds)
        found = self._judge(variant)
        if isinstance(found, EngineError):
            raise found
        return speed(found), "engine 1"


def tuned(
    bench: Callable[[Variant], Awaitable[tuple[Measured, str]]],
    *,
    cores: int = 4,
    may_repack: bool = True,
    first_policy: WaitPolicy = "active",
    budget_s: float = 60.0,
    progress: Callable[[str], None] = lambda _: None,
) -> Tuning:
    """The tuning that the bench leads to."""
    return run(
        tune(
            bench,
            weights_sha256=_SHA,
            cores=cores,
            may_repack=may_repack,
            first_policy=first_policy,
            budget_s=budget_s,
            progress=progress,
        )
    )


@pytest.mark.parametrize(
    "best",
    [
        first(),
        Variant(decode_threads=4, prefill_threads=4, wait_policy="active", repack=False),
        Variant(decode_threads=4, prefill_threads=4, wait_policy="active", repack=True),
        Variant(decode_threads=3, prefill_threads=4, wait_policy="passive", repack=False),
        Variant(decode_threads=1, prefill_threads=4, wait_policy="active", repack=True),
    ],
    ids=str,
)
def test_the_fastest_variant_wins(best: Variant) -> None:
    """Where every step towards the best variant is faster, the best one is found, with its own speeds."""

    def judge(variant: Variant) -> float:
        matching = sum(
            (
                variant.wait_policy == best.wait_policy,
                variant.repack == best.repack,
                variant.decode_threads == best.decode_threads,
            )
        )
        return 10.0 * 1.5**matching

    tuning = tuned(Bench(judge))
    assert tuning.variant == best
    assert tuning.measured == speed(10.0 * 1.5**3)
    assert dict(tuning.tried)[best] == tuning.measured
    assert (tuning.weights_sha256, tuning.engine_version) == (_SHA, "engine 1")


@pytest.mark.parametrize("gain", [0.9, 1.0, 1.02])
@pytest.mark.parametrize("policy", ["active", "passive"])
def test_the_first_policy_wins_ties(gain: float, policy: WaitPolicy) -> None:
    """A gain that noise could make changes nothing: what was tried first stays."""
    judged = Bench(lambda variant: 50.0 * (1.0 if variant.wait_policy == policy else gain))
    assert tuned(judged, first_policy=policy).variant == first(policy)


@pytest.mark.parametrize("policy", ["active", "passive"])
def test_a_clear_gain_of_the_other_policy_wins(policy: WaitPolicy) -> None:
    """A variant that is a tenth faster is taken."""
    tuning = tuned(Bench(lambda variant: 50.0 if variant.wait_policy == policy else 55.0), first_policy=policy)
    assert tuning.variant.wait_policy != policy


def test_only_the_two_best_are_measured_twice() -> None:
    """Each variant is tried once and the two best once more; none has more threads than cores or fewer than one."""
    for cores in (1, 2, 3, 8):
        bench = Bench(lambda _: 50.0)
        tuned(bench, cores=cores)
        assert len(bench.asked) == len(set(bench.asked)) + 2
        assert all(1 <= variant.decode_threads <= cores for variant in bench.asked)


def test_a_slow_moment_does_not_decide() -> None:
    """The variant that suffered from another process at first is still chosen once it shows its speed."""
    asked: list[Variant] = []

    def judge(variant: Variant) -> float:
        asked.append(variant)
        disturbed = variant == first() and asked.count(variant) == 1
        return 40.0 if disturbed else {"active": 60.0, "passive": 50.0}[variant.wait_policy] - 20 * (not variant.repack)

    assert tuned(Bench(judge), cores=4).variant.wait_policy == "active"


def test_repacking_is_tried_only_where_memory_allows() -> None:
    """Without room for a second layout no variant asks for one."""
    bench = Bench(lambda _: 50.0)
    tuned(bench, may_repack=False)
    assert not any(variant.repack for variant in bench.asked)


def test_the_budget_is_kept() -> None:
    """No attempt begins that would, as quick as the quickest so far, end after the budget."""
    bench = Bench(lambda _: 50.0, seconds=0.2)
    tuning = tuned(bench, cores=64, budget_s=0.7)
    assert 1 <= len(bench.asked) <= 3
    assert tuning.seconds < 0.7 + 0.2


def test_a_budget_of_nothing_still_measures_once() -> None:
    """The first variant is tried whatever the budget, because without it nothing is known."""
    bench = Bench(lambda _: 50.0, seconds=0.05)
    assert tuned(bench, budget_s=0.0).variant == first()
    assert bench.asked == [first()]


def test_a_first_variant_that_fails_is_an_error() -> None:
    """If the engine does not run at all its own error is raised, and nothing else is tried."""
    bench = Bench(lambda _: EngineError("cannot load x.gguf"))
    with pytest.raises(EngineError, match=r"cannot load x\.gguf"):
        tuned(bench)
    assert len(bench.asked) == 1


def test_a_later_variant_that_fails_is_skipped() -> None:
    """A variant that does not run is told and left out, and the search goes on."""
    told: list[str] = []

    def judge(variant: Variant) -> float | EngineError:
        if variant.wait_policy == "passive":
            return EngineError("cannot start")
        return 80.0 if variant.decode_threads == 1 else 50.0

    tuning = tuned(Bench(judge), progress=told.append)
    assert tuning.variant.decode_threads == 1
    assert not any(variant.wait_policy == "passive" for variant, _ in tuning.tried)
    assert any("cannot start" in line for line in told)


def test_each_result_is_told() -> None:
    """The progress hears of every variant with its speeds."""
    told: list[str] = []
    bench = Bench(lambda _: 51.5)
    tuned(bench, progress=told.append)
    assert len(told) == len(bench.asked)
    assert "active" in told[0]
    assert "51.5 tok/s" in told[0]


def test_the_real_engine_is_measured() -> None:
    """A variant of the real engine has speeds above 0 and the engine's version, and what ran is stopped."""
    environment: Mapping[str, str] = child_environment()
    variant = Variant(decode_threads=1, prefill_threads=usable_cores(), wait_policy="passive", repack=False)
    measured, version = run(measure_variant(smoke_setup(), variant, environment))
    assert measured.prefill_tokens_per_s > 0
    assert measured.decode_tokens_per_s > 0
    assert measured.call_s == 64 / measured.prefill_tokens_per_s + 32 / measured.decode_tokens_per_s
    assert version
