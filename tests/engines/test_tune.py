"""The tune: which variants it tries, which one wins, and when it stops."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest

from tests.smoke_weights import run, smoke_setup
from teto.engines.llama_process import child_environment
from teto.engines.tune import Measured, Tuning, Variant, measure_variant, tune, usable_cores
from teto.errors import EngineError

_SHA = "ab" * 32


def speed(tokens_per_s: float) -> Measured:
    """The same speed in both phases."""
    return Measured(prefill_tokens_per_s=tokens_per_s, decode_tokens_per_s=tokens_per_s)


def passive(cores: int = 4) -> Variant:
    """The variant that is tried first."""
    return Variant(decode_threads=cores, prefill_threads=cores, wait_policy="passive", repack=False)


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
            budget_s=budget_s,
            progress=progress,
        )
    )


@pytest.mark.parametrize(
    "best",
    [
        passive(),
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
def test_passive_wins_ties(gain: float) -> None:
    """Threads that spin must be clearly faster: a gain that noise could make does not pay for burnt cores."""
    tuning = tuned(Bench(lambda variant: 50.0 * (gain if variant.wait_policy == "active" else 1.0)))
    assert tuning.variant == passive()


def test_a_clear_gain_of_spinning_wins() -> None:
    """A variant that is a tenth faster is taken."""
    tuning = tuned(Bench(lambda variant: 55.0 if variant.wait_policy == "active" else 50.0))
    assert tuning.variant.wait_policy == "active"


def test_no_variant_is_measured_twice() -> None:
    """On any number of cores each variant is tried once, and none has more threads than cores or fewer than one."""
    for cores in (1, 2, 3, 8):
        bench = Bench(lambda _: 50.0)
        tuned(bench, cores=cores)
        assert len(bench.asked) == len(set(bench.asked))
        assert all(1 <= variant.decode_threads <= cores for variant in bench.asked)


def test_repacking_is_tried_only_where_memory_allows() -> None:
    """Without room for a second layout no variant asks for one."""
    bench = Bench(lambda _: 50.0)
    tuned(bench, may_repack=False)
    assert not any(variant.repack for variant in bench.asked)


def test_the_budget_is_kept() -> None:
    """No attempt begins that would, as long as the longest so far, end after the budget."""
    bench = Bench(lambda _: 50.0, seconds=0.2)
    tuning = tuned(bench, cores=64, budget_s=0.7)
    assert 1 <= len(bench.asked) <= 3
    assert tuning.seconds < 0.7 + 0.2
    assert len(tuning.tried) == len(bench.asked)


def test_a_budget_of_nothing_still_measures_once() -> None:
    """The first variant is tried whatever the budget, because without it nothing is known."""
    bench = Bench(lambda _: 50.0, seconds=0.05)
    assert tuned(bench, budget_s=0.0).variant == passive()
    assert bench.asked == [passive()]


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
        if variant.repack:
            return EngineError("no memory for a second layout")
        return 80.0 if variant.decode_threads == 1 else 50.0

    tuning = tuned(Bench(judge), progress=told.append)
    assert tuning.variant.decode_threads == 1
    assert not any(variant.repack for variant, _ in tuning.tried)
    assert any("no memory for a second layout" in line for line in told)


def test_each_result_is_told() -> None:
    """The progress hears of every variant with its speeds."""
    told: list[str] = []
    tuning = tuned(Bench(lambda _: 51.5), progress=told.append)
    assert len(told) == len(tuning.tried)
    assert "passive" in told[0]
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
