"""Devices that share a step: copies of the cache, what is sent, and a server's estimate against its ceiling."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.physics.models import LLAMA_2_7B, TINY, TINY_WEIGHTS
from teto.physics.estimate import Fit, Limits, step_time
from teto.physics.mixers import FullAttention, LatentAttention
from teto.physics.parallel import copies_of_cache, exchanged_bytes, shared_cache_bytes, shared_decode, shared_prefill
from teto.physics.roofline import decode_step

SERVER = Fit(
    name="made up",
    source="made up",
    n_rows=0,
    weights_fraction=1.0,
    cache_fraction=1.0,
    compute_fraction=1.0,
    sequence_overhead_s=2e-6,
    overlaps=False,
    band=(1.0, 1.0),
)


def test_kv_heads_are_split_until_each_device_has_one() -> None:
    """Eight KV heads: one copy up to eight devices, two on sixteen; a latent cache is whole on each device."""
    grouped = FullAttention(n_heads=64, n_kv_heads=8, key_dim=128, value_dim=128)
    latent = LatentAttention(n_heads=128, latent_dim=512, rope_dim=64, nope_dim=128, value_dim=128)
    assert [copies_of_cache(grouped, n) for n in (1, 8, 16)] == [1, 1, 2]
    assert [copies_of_cache(latent, n) for n in (1, 8)] == [1, 8]


def test_one_device_reads_what_the_shape_says() -> None:
    """Without copies the traffic is that of the shape itself."""
    assert shared_decode(TINY, 100, 2, 1) == TINY.attend_decode(99, 1, 2)
    assert shared_cache_bytes(TINY, 100, 2, 1) == TINY.kv_bytes(100, 2)


def test_copies_are_read_again() -> None:
    """TINY has one KV head: four devices read four times the cache, for the same arithmetic."""
    one, four = shared_decode(TINY, 100, 2, 1), shared_decode(TINY, 100, 2, 4)
    assert (four.bytes, four.flops) == (4 * one.bytes, one.flops)
    assert shared_prefill(TINY, 50, 2, 4).bytes == 4 * shared_prefill(TINY, 50, 2, 1).bytes


def test_two_all_reduces_a_layer() -> None:
    """32 layers · 2 · 2 · (4 - 1) / 4 · 4096 · 2 bytes a token = 786,432; one device sends nothing."""
    assert exchanged_bytes(LLAMA_2_7B, 4, 1) == 786_432
    assert exchanged_bytes(LLAMA_2_7B, 1, 7) == 0


def test_bytes_and_flops_that_do_not_overlap_add_up() -> None:
    """1 s of bytes and 0.5 s of FLOPs are 1.5 s, and each of 4 sequences takes its 2 µs."""
    work = decode_step(TINY, TINY_WEIGHTS, batch=4, context_tokens=100)
    limits = Limits(mem_bandwidth_bytes_per_s=float(work.bytes), flops_per_s=2 * float(work.flops))
    assert step_time(work, limits, SERVER, n_layers=2, n_sequences=4).seconds == pytest.approx(1.5 + 8e-6)


@given(batch=st.integers(1, 500), context=st.integers(1, 500), ratio=st.floats(1e-3, 1e3))
def test_what_adds_up_is_never_below_the_ceiling(batch: int, context: int, ratio: float) -> None:
    """A sum is at least the larger of its parts, whichever limit binds."""
    work = decode_step(TINY, TINY_WEIGHTS, batch=batch, context_tokens=context)
    limits = Limits(mem_bandwidth_bytes_per_s=1e6, flops_per_s=1e6 * ratio)
    ceiling_s = max(float(work.bytes) / 1e6, float(work.flops) / (1e6 * ratio))
    added = step_time(work, limits, SERVER, n_layers=2).seconds
    hidden = step_time(work, limits, replace(SERVER, overlaps=True), n_layers=2).seconds
    assert ceiling_s * (1 - 1e-12) <= hidden <= added


def test_the_busiest_device_does_at_least_the_mean() -> None:
    """An imbalance below 1 is an error."""
    with pytest.raises(ValueError, match="at least the mean"):
        replace(SERVER, expert_imbalance=0.9)
