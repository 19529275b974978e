"""Attention in its kinds against hand-worked sums."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teto.physics.mixers import ConstantState, FullAttention, LatentAttention, Passes
from teto.physics.values import capped_sum

WINDOWED = FullAttention(n_heads=4, n_kv_heads=1, key_dim=3, value_dim=5, window_tokens=8)
# DeepSeek-V3's: 512 + 64 cached elements for 128 heads.
LATENT = LatentAttention(n_heads=128, latent_dim=512, rope_dim=64, nope_dim=128, value_dim=128)


@given(start=st.integers(0, 50), step=st.integers(1, 9), count=st.integers(0, 40), cap=st.none() | st.integers(1, 120))
def test_a_capped_sum_is_its_terms(start: int, step: int, count: int, cap: int | None) -> None:
    """The closed form is the sum, term by term."""
    terms = [start + step * i for i in range(1, count + 1)]
    expected = sum(term if cap is None else min(term, cap) for term in terms)
    assert capped_sum(start, step, count, cap) == expected


def test_a_window_caps_what_is_kept_and_read() -> None:
    """Past the window neither the cache nor a step's reading grows."""
    # 8 elements of 2 bytes a token: 5 tokens, then never more than 8.
    assert [WINDOWED.cache_bytes(n, 2) for n in (5, 8, 9, 1000)] == [80, 128, 128, 128]
    # Three steps after 6 tokens attend to 7, 8 and 8, and write 3.
    traffic = WINDOWED.decode(6, 3, 2)
    assert traffic.bytes == (7 + 8 + 8 + 3) * 16
    assert traffic.flops == 2 * 4 * 8 * (7 + 8 + 8)


def test_a_windowed_prefill_reads_back_one_window() -> None:
    """A pass reads its own tokens and a window before them; attention stays within the window."""
    # 20 tokens in passes of 6, 6, 6, 2: ends 6, 12, 18, 20, of which at most 8 + 6, and 8 + 2 in the last.
    traffic = WINDOWED.prefill(Passes(0, 20, 6, 4), 2)
    assert traffic.bytes == (6 + 12 + 14 + 10 + 20) * 16
    # Tokens 1 to 8 attend to 1 .. 8, the other 12 to 8 each: 36 + 96.
    assert traffic.flops == 2 * 4 * 8 * 132


def test_layers_that_share_a_cache_keep_none() -> None:
    """A layer that reads an earlier one's cache reads as much and keeps and writes nothing."""
    sharing = FullAttention(n_heads=4, n_kv_heads=1, key_dim=3, value_dim=5, has_own_cache=False)
    assert sharing.cache_bytes(100, 2) == 0
    assert sharing.decode(9, 1, 2).bytes == 10 * 16


def test_latent_attention_of_deepseek_v3() -> None:
    """61 layers keep 70,272 bytes a token in 16 bits, and absorbed attention costs 17 MFLOP a position."""
    assert 61 * LATENT.cache_bytes(1, 2) == 70_272
    # 2 · 128 · (2 · 512 + 64) = 278,528 a layer.
    assert LATENT.decode(999, 1, 2).flops == 278_528_000
    assert 61 * 278_528 == 16_990_208
    # Prefill expands: 2 · 128 · (128 + 64 + 128) = 81,920 for each of 1 + 2 + ... + 10 positions.
    assert LATENT.prefill(Passes(0, 10, 10, 1), 2).flops == 81_920 * 55


def test_a_selector_bounds_what_latent_attention_reads() -> None:
    """With a selector each step scans one small key for every position and reads the selected ones only."""
    sparse = LatentAttention(
        n_heads=128, latent_dim=512, rope_dim=64, nope_dim=128, value_dim=128,
        selected_tokens=2048, selector_heads=64, selector_dim=128,
    )  # fmt: skip
    traffic = sparse.decode(9999, 1, 2)
    # Selected 2,048 · 1,152 bytes, scanned 10,000 · 128, written 1,152 + 128.
    assert traffic.bytes == 2048 * 1152 + 10_000 * 128 + 1280
    assert traffic.flops == 278_528 * 2048 + 2 * 64 * 128 * 10_000


def test_a_constant_state_does_not_grow() -> None:
    """A state is read and written whole each step, whatever came before."""
    state = ConstantState(state_bytes=1000, flops_per_token=50)
    assert state.cache_bytes(1, 2) == state.cache_bytes(100_000, 2) == 1000
    assert state.decode(5, 3, 2) == state.decode(50_000, 3, 2)
    assert state.decode(5, 3, 2).bytes == 6000
    assert state.prefill(Passes(0, 100, 50, 2), 2).bytes == 4000


@pytest.mark.parametrize("selector", [{"selected_tokens": 8}, {"selected_tokens": 8, "selector_heads": 2}])
def test_a_selector_is_described_whole(selector: dict[str, int]) -> None:
    """A number to select without the selector's own size is refused by name."""
    with pytest.raises(ValueError, match=r"LatentAttention\.selector_"):
        LatentAttention(n_heads=1, latent_dim=1, rope_dim=1, nope_dim=1, value_dim=1, **selector)
