"""A model on a device: phases, waterfall, levers and bounds."""

from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.physics.models import BF16, GPU, LLAMA_2_7B, LLAMA_2_7B_FP16
from teto.physics.deployment import Deployment
from teto.physics.estimate import Fit

FIT: Final = Fit(
    name="made up",
    source="hand",
    n_rows=1,
    weights_fraction=0.8,
    cache_fraction=0.5,
    compute_fraction=0.6,
    layer_overhead_s=1e-5,
    step_overhead_s=2e-5,
    band=(0.9, 1.2),
)
PLAIN: Final = Deployment(shape=LLAMA_2_7B, weights=LLAMA_2_7B_FP16, compute=BF16, device=GPU)
FITTED: Final = replace(PLAIN, fit=FIT)


def test_a_decode_step_by_hand() -> None:
    """The waterfall's rungs are the estimate's terms."""
    phase = FITTED.decode(batch=1, context_tokens=1000)
    # Weights 13,214,162,944 and KV 1,001 · 524,288 bytes over 3e12.
    weights_s, kv_s = 13_214_162_944 / 3e12, 524_812_288 / 3e12
    assert phase.ceiling_s == pytest.approx(weights_s + kv_s)
    assert phase.estimate_s == pytest.approx(weights_s / 0.8 + kv_s / 0.5 + 32 * 1e-5 + 2e-5)
    assert phase.bound == "memory"
    assert [rung.cause for rung in phase.waterfall] == ["weights", "KV", "efficiency", "overhead"]
    assert sum(rung.seconds for rung in phase.waterfall) == pytest.approx(phase.estimate_s)
    assert phase.waterfall[3].seconds == pytest.approx(3.4e-4)


def test_the_band_never_passes_the_ceiling() -> None:
    """A band's fast end is cut at the ceiling."""
    phase = replace(FITTED, fit=replace(FIT, weights_fraction=1.0, cache_fraction=1.0)).decode(
        batch=1, context_tokens=1000
    )
    assert phase.band_s is not None
    assert phase.band_s[0] == phase.ceiling_s


def test_prefill_and_decode_bind_differently() -> None:
    """1,000 tokens of prompt are compute-bound and 16 memory-bound, as is decode at any small batch."""
    assert PLAIN.prefill(n_tokens=16).bound == "memory"
    assert PLAIN.prefill(n_tokens=1000).bound == "compute"
    assert {PLAIN.decode(batch=batch, context_tokens=512).bound for batch in (1, 10, 20, 50)} == {"memory"}


@pytest.mark.parametrize(
    ("batch", "tokens_per_s"),
    # Bytes: 13,214,154,752 + B · (8,192 + 513 · 524,288); B · 3e12 over them.
    [(1, 222.500), (10, 1886.338), (20, 3226.932), (50, 5625.868)],
)
def test_aggregate_ceilings_of_a_batch(batch: int, tokens_per_s: float) -> None:
    """Requests that share one reading of the weights: the total grows until KV weighs as much."""
    assert batch / float(PLAIN.decode_ceiling_s(batch, 512)) == pytest.approx(tokens_per_s, abs=0.001)


def test_the_right_resource_helps() -> None:
    """Twice the FLOPs leave decode where it was; twice the bandwidth doubles its ceiling."""
    base = float(PLAIN.decode_ceiling_s(1, 4096))
    assert PLAIN.with_device(flops_factor=2).decode_ceiling_s(1, 4096) == base
    assert PLAIN.with_device(bandwidth_factor=2).decode_ceiling_s(1, 4096) == pytest.approx(base / 2)


def test_devices_that_share_a_step_exchange() -> None:
    """Two devices halve bytes and FLOPs, and pay for two all-reduces a layer."""
    linked = replace(GPU, link_bytes_per_s=100e9)
    both = replace(FITTED, device=linked, n_devices=2, fit=replace(FIT, link_overhead_s=5e-6))
    phase = both.decode(batch=4, context_tokens=100)
    assert phase.ceiling_s == pytest.approx(FITTED.decode(batch=4, context_tokens=100).ceiling_s / 2)
    # 32 layers · 5 µs, and 2 · 32 layers · 2 · (1/2) · 4,096 · 2 bytes · 4 tokens over 100e9.
    assert phase.waterfall[-1].cause == "links"
    assert phase.waterfall[-1].seconds == pytest.approx(32 * 5e-6 + 64 * 4096 * 2 * 4 / 100e9)


@given(batch=st.integers(1, 2000), context=st.integers(1, 4096))
def test_no_estimate_is_below_its_ceiling(batch: int, context: int) -> None:
    """Whatever the batch and context, the estimate is at least the ceiling."""
    assert float(FITTED.decode_step_s(batch, context)) >= float(FITTED.decode_ceiling_s(batch, context))


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.01])
def test_a_fraction_is_one_at_most(fraction: float) -> None:
    """An efficiency above 1 would promise more than the device has."""
    with pytest.raises(ValueError, match="weights_fraction must be above 0 and at most 1"):
        replace(FIT, weights_fraction=fraction)


def test_a_fit_says_what_it_has_not_seen() -> None:
    """Values outside the data's range are named, those without a range are not judged."""
    seen = replace(FIT, ranges={"batch": (1.0, 64.0)})
    assert seen.outside(batch=8, context_tokens=10**6) == ()
    assert "batch 128 is outside 1 to 64" in seen.outside(batch=128)[0]
