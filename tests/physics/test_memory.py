"""What fits, by hand."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.physics.models import LLAMA_2_7B, LLAMA_2_7B_FP16
from teto.physics.memory import fit_in_memory, longest_context_tokens


def test_llama_2_7b_in_16_gb_with_a_browser() -> None:
    """13.48 GB of weights and 1 GB of others leave 1.52 GB: 2,907 tokens of KV."""
    found = fit_in_memory(LLAMA_2_7B, LLAMA_2_7B_FP16, memory_bytes=16e9, other_bytes=1e9, context_tokens=2048, batch=1)
    # 16e9 - 13,476,298,752 - 1e9 = 1,523,701,248; over 524,288 that is 2,906.2.
    assert found.max_context_tokens == 2906
    assert found.max_sequences == 1
    # 2,048 · 524,288 = 1,073,741,824 of KV leaves 449,959,424.
    assert found.free_bytes == 449_959_424
    assert found.fits


def test_what_does_not_fit_says_by_how_much() -> None:
    """Free bytes are negative by what is missing, and no context is promised."""
    found = fit_in_memory(LLAMA_2_7B, LLAMA_2_7B_FP16, memory_bytes=8e9, other_bytes=0, context_tokens=1, batch=1)
    assert not found.fits
    assert found.free_bytes == 8e9 - 13_476_298_752 - 524_288
    assert (found.max_context_tokens, found.max_sequences) == (0, 0)


@given(kv_bytes=st.integers(0, 10**11))
def test_the_longest_context_is_the_longest(kv_bytes: int) -> None:
    """Its cache fits, and one token more does not, or is beyond the model's limit."""
    shape = replace(LLAMA_2_7B, context_limit_tokens=100_000)
    found = longest_context_tokens(shape, kv_bytes)
    assert shape.kv_bytes(found) <= kv_bytes
    assert found == 100_000 or shape.kv_bytes(found + 1) > kv_bytes
