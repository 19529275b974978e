"""The work of prefill against hand-worked sums."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.physics.models import LLAMA_2_7B, LLAMA_2_7B_FP16, TINY, TINY_WEIGHTS
from teto.physics.mixers import Traffic
from teto.physics.roofline import Work, decode, prefill


def test_one_pass_reads_the_weights_once() -> None:
    """Without a batch size all tokens share one reading of blocks and head."""
    work = prefill(TINY, TINY_WEIGHTS, n_tokens=4)
    # Blocks 2,000, head 600, four rows of 20. KV: 4 read at the pass's end, 4 written, 32 bytes each.
    # FLOPs: 4 · 2 · 1,000, the head once 2 · 300, attention over 1 + 2 + 3 + 4 positions at 128.
    assert work == Work(linear=Traffic(2080, 8000), attention=Traffic(256, 1280), head=Traffic(600, 600))


def test_batches_read_the_blocks_again_and_the_head_once() -> None:
    """Each batch reads the blocks once more; the head is read and multiplied for the last token only."""
    work = prefill(TINY, TINY_WEIGHTS, n_tokens=100, batch_tokens=64)
    # Two passes: 2 · 2,000 + 600 + 100 · 20. Cache up to 64, then to 100, and 100 written: 264 · 32.
    assert work.weight_bytes == 6600
    assert work.kv_bytes == 8448
    # 100 · 2,000 + 600 + 128 · (100 · 101 / 2).
    assert work.flops == 200_000 + 600 + 646_400


def test_an_engine_may_compute_the_head_in_each_batch() -> None:
    """Then each pass reads it and multiplies by it for its last token."""
    work = prefill(TINY, TINY_WEIGHTS, n_tokens=100, batch_tokens=64, is_head_in_each_batch=True)
    # Two passes: 2 · 2,000 + 2 · 600 + 100 · 20; 100 · 2,000 + 2 · 600 + 128 · 5,050.
    assert work == Work(linear=Traffic(6000, 200_000), attention=Traffic(8448, 646_400), head=Traffic(1200, 1200))


def test_a_cached_past_is_read_but_not_computed() -> None:
    """Tokens behind a cached prefix attend over it, and each pass reads it."""
    work = prefill(TINY, TINY_WEIGHTS, n_tokens=100, past_tokens=10, batch_tokens=64)
    # Cache up to 74, then to 110, and 100 written: 284 · 32. Attention: 5,050 + 100 · 10 positions.
    assert work.kv_bytes == 9088
    assert work.flops == 200_000 + 600 + 128 * 6050


def test_counting_the_head_per_token_would_overstate() -> None:
    """Prefill of 512 tokens on Llama-2-7B costs 2 · P · n with the head once, plus causal attention."""
    work = prefill(LLAMA_2_7B, LLAMA_2_7B_FP16, n_tokens=512)
    # 512 · 12,952,010,752 = 6,631,429,505,024; head 262,144,000; attention 524,288 · 131,328 = 68,853,694,464.
    assert work.flops == 6_631_429_505_024 + 262_144_000 + 68_853_694_464


def test_nothing_to_prefill_costs_nothing() -> None:
    """A prompt that is cached whole moves no byte."""
    assert prefill(TINY, TINY_WEIGHTS, n_tokens=0, past_tokens=50) == Work(
        linear=Traffic(0, 0), attention=Traffic(0, 0), head=Traffic(0, 0)
    )


@given(first=st.integers(1, 300), second=st.integers(1, 300))
def test_a_split_prefill_adds_one_head(first: int, second: int) -> None:
    """Prefilling in two calls multiplies as much as in one, and the head once more."""
    whole = prefill(TINY, TINY_WEIGHTS, n_tokens=first + second)
    parts = [
        prefill(TINY, TINY_WEIGHTS, n_tokens=first),
        prefill(TINY, TINY_WEIGHTS, n_tokens=second, past_tokens=first),
    ]
    assert sum(part.flops for part in parts) == whole.flops + 2 * TINY.head_params


@given(past=st.integers(0, 1000))
def test_a_prefill_of_one_token_is_a_decode_step(past: int) -> None:
    """One token costs the same whichever phase it is counted in."""
    assert prefill(TINY, TINY_WEIGHTS, n_tokens=1, past_tokens=past) == decode(
        TINY, TINY_WEIGHTS, n_steps=1, start_context_tokens=past
    )


@given(n_tokens=st.integers(1, 400), batch=st.integers(1, 400))
def test_smaller_batches_never_read_less(n_tokens: int, batch: int) -> None:
    """Batches change the bytes and never the FLOPs."""
    whole = prefill(TINY, TINY_WEIGHTS, n_tokens=n_tokens)
    batched = prefill(TINY, TINY_WEIGHTS, n_tokens=n_tokens, batch_tokens=batch)
    assert batched.flops == whole.flops
    assert batched.bytes >= whole.bytes


@pytest.mark.parametrize(("n_tokens", "past", "batch"), [(-1, 0, None), (1, -1, None), (1, 0, 0), (1, 0, -8)])
def test_negative_counts_are_refused(n_tokens: int, past: int, batch: int | None) -> None:
    """Tokens cannot be negative, nor batches empty."""
    with pytest.raises(ValueError, match="cannot be negative"):
        prefill(TINY, TINY_WEIGHTS, n_tokens=n_tokens, past_tokens=past, batch_tokens=batch)
