"""The work of decoding against hand-worked sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.physics.models import LLAMA_2_7B, LLAMA_2_7B_FP16, TINY, TINY_WEIGHTS
from teto.physics.mixers import Traffic
from teto.physics.roofline import Work, decode, decode_step


def test_one_step_of_llama_2_7b() -> None:
    """One step reads the weights once, attends over the context with itself, and writes one position of KV."""
    work = decode(LLAMA_2_7B, LLAMA_2_7B_FP16, n_steps=1, start_context_tokens=999)
    assert work.weight_bytes == 13_214_162_944
    # 1,000 positions read (999 and its own), one written: 1,001 · 524,288.
    assert work.kv_bytes == 524_812_288
    # 2 · (6,476,005,376 + 131,072,000) for the weights, 524,288 · 1,000 for attention.
    assert work.flops == 13_214_154_752 + 524_288_000
    assert work.bytes == 13_214_162_944 + 524_812_288


def test_three_steps_of_a_tiny_model() -> None:
    """Steps read one more position each."""
    work = decode(TINY, TINY_WEIGHTS, n_steps=3, start_context_tokens=10)
    # Attended 11 + 12 + 13 = 36, written 3: 39 · 32 bytes; FLOPs 3 · 2 · 1,300 + 128 · 36.
    assert work == Work(
        linear=Traffic(3 * 2020, 3 * 2 * 1000), attention=Traffic(39 * 32, 128 * 36), head=Traffic(3 * 600, 3 * 600)
    )


@given(n_steps=st.integers(0, 60), start=st.integers(0, 5000), element=st.sampled_from([0.5, 1, 2, 4]))
def test_steps_add_up(n_steps: int, start: int, element: float) -> None:
    """The work of n steps is the sum of n single ones, each on a context one longer."""
    together = decode(TINY, TINY_WEIGHTS, n_steps=n_steps, start_context_tokens=start, kv_element_bytes=element)
    single = [
        decode(TINY, TINY_WEIGHTS, n_steps=1, start_context_tokens=start + i, kv_element_bytes=element)
        for i in range(n_steps)
    ]
    assert together.weight_bytes == sum(work.weight_bytes for work in single)
    assert together.kv_bytes == sum(work.kv_bytes for work in single)
    assert together.flops == sum(work.flops for work in single)


@given(batch=st.integers(1, 100), context=st.integers(1, 5000))
def test_a_batch_shares_the_weights(batch: int, context: int) -> None:
    """B sequences read the weights once, and B caches, B rows; FLOPs are B times one's."""
    one = decode(TINY, TINY_WEIGHTS, n_steps=1, start_context_tokens=context - 1)
    many = decode_step(TINY, TINY_WEIGHTS, batch=batch, context_tokens=context)
    assert many.weight_bytes == one.weight_bytes + (batch - 1) * TINY_WEIGHTS.embedding_row_bytes
    assert many.kv_bytes == batch * one.kv_bytes
    assert many.flops == batch * one.flops


def test_a_grid_is_as_many_points() -> None:
    """Arrays of batches and contexts give what each point gives alone."""
    batches, contexts = np.array([1.0, 8, 64]), np.array([100.0, 2000, 512])
    grid = decode_step(TINY, TINY_WEIGHTS, batch=batches, context_tokens=contexts)
    for i, (batch, context) in enumerate(zip(batches, contexts, strict=True)):
        point = decode_step(TINY, TINY_WEIGHTS, batch=float(batch), context_tokens=float(context))
        assert np.asarray(grid.bytes)[i] == point.bytes
        assert np.asarray(grid.flops)[i] == point.flops


@pytest.mark.parametrize(("n_steps", "start"), [(-1, 0), (0, -1)])
def test_negative_counts_are_refused(n_steps: int, start: int) -> None:
    """Neither steps nor context can be negative."""
    with pytest.raises(ValueError, match="cannot be negative"):
        decode(TINY, TINY_WEIGHTS, n_steps=n_steps, start_context_tokens=start)
