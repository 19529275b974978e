"""The estimate: constants within their bounds, terms that add up, and never below the ceiling."""

from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.physics.models import LLAMA_2_7B, LLAMA_2_7B_FP16
from teto.physics.estimate import Fit, Limits, step_time
from teto.physics.mixers import Traffic
from teto.physics.roofline import Work, ceiling, decode_step

PERFECT: Final = Fit(
    name="perfect",
    source="made up",
    n_rows=0,
    weights_fraction=1.0,
    cache_fraction=1.0,
    compute_fraction=1.0,
    band=(1.0, 1.0),
)
LIMITS: Final = Limits(mem_bandwidth_bytes_per_s=1e12, flops_per_s=1e14)
# Linear: 2 GB and 10 GFLOP; attention: 1 GB and 1 GFLOP; head: 0.5 GB and 100 GFLOP, bound by its arithmetic.
WORK: Final = Work(linear=Traffic(2e9, 1e10), attention=Traffic(1e9, 1e9), head=Traffic(0.5e9, 1e11))
fractions = st.floats(0.01, 1.0)
overheads = st.floats(0.0, 1e-2)


def test_each_class_takes_its_own_maximum() -> None:
    """Worked by hand: 2 ms of bytes, 1 ms of bytes, 1 ms of arithmetic."""
    time = step_time(WORK, LIMITS, PERFECT, n_layers=10)
    assert (time.linear_s, time.attention_s, time.head_s) == pytest.approx((2e-3, 1e-3, 1e-3))
    assert time.seconds == pytest.approx(4e-3)


def test_efficiencies_and_overheads() -> None:
    """Half the bandwidth doubles the weights' time, a quarter of the cache's takes four times; 10 layers and a step."""
    fit = replace(PERFECT, weights_fraction=0.5, cache_fraction=0.25, layer_overhead_s=1e-4, step_overhead_s=2e-3)
    time = step_time(WORK, LIMITS, fit, n_layers=10)
    assert (time.linear_s, time.attention_s, time.head_s) == pytest.approx((4e-3, 4e-3, 1e-3))
    assert time.overhead_s == pytest.approx(3e-3)
    assert step_time(WORK, LIMITS, fit, n_layers=10, n_passes=3).overhead_s == pytest.approx(9e-3)


def test_what_the_data_does_not_show_is_stood_in_for() -> None:
    """Without a fraction of its own the cache is read as the weights are."""
    fit = replace(PERFECT, weights_fraction=0.5, cache_fraction=None)
    assert step_time(WORK, LIMITS, fit, n_layers=1).attention_s == pytest.approx(2e-3)


@given(fractions, fractions, fractions, fractions, overheads, overheads, st.integers(1, 256), st.integers(1, 4000))
def test_no_estimate_is_below_its_ceiling(  # noqa: PLR0917 - hypothesis gives them in order
    weights: float, cache: float, compute: float, attention: float, layer: float, step: float, batch: int, context: int
) -> None:
    """Whatever the constants within their bounds, the batch and the context."""
    fit = replace(
        PERFECT,
        weights_fraction=weights,
        cache_fraction=cache,
        compute_fraction=compute,
        attention_fraction=attention,
        layer_overhead_s=layer,
        step_overhead_s=step,
    )
    work = decode_step(LLAMA_2_7B, LLAMA_2_7B_FP16, batch=batch, context_tokens=context)
    least = ceiling(work, mem_bandwidth_bytes_per_s=1e12, flops_per_s=1e14)
    assert float(step_time(work, LIMITS, fit, n_layers=32).seconds) >= least.seconds * (1 - 1e-12)


@pytest.mark.parametrize("name", ["weights_fraction", "cache_fraction", "compute_fraction", "attention_fraction"])
@pytest.mark.parametrize("value", [0.0, -0.1, 1.01])
def test_a_fraction_is_above_zero_and_at_most_one(name: str, value: float) -> None:
    """Nothing is faster than its ceiling, and nothing stands still."""
    with pytest.raises(ValueError, match=name):
        replace(PERFECT, **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["layer_overhead_s", "step_overhead_s", "link_overhead_s"])
def test_an_overhead_is_not_negative(name: str) -> None:
    """No overhead gives time back."""
    with pytest.raises(ValueError, match=name):
        replace(PERFECT, **{name: -1e-9})  # type: ignore[arg-type]


def test_what_the_fit_has_not_seen_is_said() -> None:
    """Only quantities with a range are judged, each in words."""
    fit = replace(PERFECT, ranges={"context_tokens": (1.0, 4000.0), "batch": (1.0, 1.0)})
    assert fit.outside(context_tokens=100, batch=1, weight_bytes=1e9) == ()
    assert fit.outside(context_tokens=8000, batch=1) == (
        "a context in tokens of 8,000 is outside 1 to 4,000, which the fit has seen",
    )


def test_half_layers_count_half() -> None:
    """A layer with a feed-forward only is half a layer to what launches kernels; the count of layers stays."""
    block = LLAMA_2_7B.blocks[0]
    shape = replace(LLAMA_2_7B, blocks=(block, replace(block, count=4, mixer=None)))
    assert (shape.n_layers, shape.n_whole_layers) == (36, 34)
