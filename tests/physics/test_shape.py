"""Shapes and weight bytes against figures worked out by hand."""

from dataclasses import replace

import pytest

from tests.physics.models import LLAMA_2_7B, LLAMA_2_7B_FP16, TINY, TINY_WEIGHTS
from teto.physics.mixers import FullAttention
from teto.physics.precision import WeightBytes


@pytest.mark.parametrize(
    ("n_layers", "n_kv_heads", "kv_bytes"),
    [
        (32, 32, 524_288),  # Llama-2-7B: 32 · 32 · 256 · 2
        (32, 8, 131_072),  # Llama-3-8B: 32 · 8 · 256 · 2, a quarter of it through grouped queries
        (28, 2, 28_672),  # Qwen2.5-1.5B: 28 · 2 · 256 · 2
    ],
)
def test_kv_bytes_per_token(n_layers: int, n_kv_heads: int, kv_bytes: int) -> None:
    """KV of one token is layers · KV heads · (key + value dimension) · element, in 16-bit floats by default."""
    mixer = FullAttention(n_heads=32, n_kv_heads=n_kv_heads, key_dim=128, value_dim=128)
    shape = replace(LLAMA_2_7B, blocks=(replace(LLAMA_2_7B.blocks[0], count=n_layers, mixer=mixer),))
    assert shape.kv_bytes_per_token() == kv_bytes
    assert shape.kv_bytes_per_token(1) == kv_bytes / 2


def test_attention_flops_count_every_query_head() -> None:
    """A step over C positions takes 2 · layers · heads · (dk + dv) · C, whatever the number of KV heads."""
    # 2 · 32 · 32 · 256 = 524,288 for each position of the context.
    assert LLAMA_2_7B.attend_decode(999, 1, 2).flops == 524_288_000
    # 2 · 2 · 4 · (3 + 5) = 128, keys and values having their own dimensions.
    assert TINY.attend_decode(9, 1, 2).flops == 1280


def test_parameters_are_counted_once() -> None:
    """Llama-2-7B has 6,738,415,616 parameters; a token touches all but the input table."""
    assert LLAMA_2_7B.total_params == 6_738_415_616
    assert LLAMA_2_7B.active_params == 6_738_415_616 - 131_072_000
    assert LLAMA_2_7B.block_params == 6_476_005_376
    assert LLAMA_2_7B.n_layers == 32


def test_a_decode_step_reads_blocks_head_and_one_row() -> None:
    """Of an untied embedding a decode step reads one row, of everything else all."""
    # 12,952,010,752 + 262,144,000 + 8,192; the table's other 31,999 rows of 8,192 bytes stay unread.
    assert LLAMA_2_7B_FP16.decode_bytes == 13_214_162_944
    assert LLAMA_2_7B_FP16.resident_bytes - LLAMA_2_7B_FP16.decode_bytes == 31_999 * 8192


@pytest.mark.parametrize("value", [0, -1])
def test_a_shape_has_no_empty_dimension(value: int) -> None:
    """A dimension is above 0, and the error names the one that is not."""
    with pytest.raises(ValueError, match=rf"Shape\.width must be above 0 and finite, found {value}"):
        replace(TINY, width=value)
    with pytest.raises(ValueError, match=rf"Block\.count must be above 0 and finite, found {value}"):
        replace(TINY.blocks[0], count=value)
    with pytest.raises(ValueError, match=r"FullAttention\.n_heads must be above 0"):
        FullAttention(n_heads=value, n_kv_heads=1, key_dim=1, value_dim=1)


@pytest.mark.parametrize("name", ["dense_bytes", "head_bytes", "resident_bytes"])
def test_weights_take_room(name: str) -> None:
    """No model has blocks, a head or a file of zero bytes."""
    with pytest.raises(ValueError, match=rf"WeightBytes\.{name} must be above 0"):
        replace(TINY_WEIGHTS, **{name: 0})  # type: ignore[arg-type]


def test_a_tied_embedding_has_no_row_of_its_own() -> None:
    """A model whose head is the embedding reads no row beside it."""
    tied = WeightBytes(dense_bytes=2000, head_bytes=600, embedding_row_bytes=0, resident_bytes=2600)
    assert tied.decode_bytes == tied.resident_bytes == 2600
