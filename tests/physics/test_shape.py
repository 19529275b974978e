"""Shapes and weight bytes against figures worked out by hand."""

from dataclasses import fields, replace

import pytest

from tests.physics.models import LLAMA_2_7B, LLAMA_2_7B_FP16, TINY, TINY_WEIGHTS
from teto.physics.shape import Shape, WeightBytes


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
    shape = replace(LLAMA_2_7B, n_layers=n_layers, n_kv_heads=n_kv_heads)
    assert shape.kv_bytes_per_token() == kv_bytes
    assert shape.kv_bytes_per_token(1) == kv_bytes / 2


def test_attention_flops_count_every_query_head() -> None:
    """Attention over C positions is 2 · layers · heads · (dk + dv) · C, whatever the number of KV heads."""
    # 2 · 32 · 32 · 256 = 524,288 for each position of the context.
    assert LLAMA_2_7B.attention_flops(1000) == 524_288_000
    assert replace(LLAMA_2_7B, n_kv_heads=8).attention_flops(1000) == 524_288_000
    # 2 · 2 · 4 · (3 + 5) = 128, keys and values having their own dimensions.
    assert TINY.attention_flops(10) == 1280


def test_a_decode_step_reads_blocks_head_and_one_row() -> None:
    """Of an untied embedding a decode step reads one row, of everything else all."""
    # 12,952,010,752 + 262,144,000 + 8,192; the table's other 31,999 rows of 8,192 bytes stay unread.
    assert LLAMA_2_7B_FP16.decode_bytes == 13_214_162_944
    assert LLAMA_2_7B_FP16.resident_bytes - LLAMA_2_7B_FP16.decode_bytes == 31_999 * 8192


@pytest.mark.parametrize("name", [item.name for item in fields(Shape) if item.name != "name"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_shape_has_no_empty_dimension(name: str, value: int) -> None:
    """Every dimension of a shape is above 0, and the error names the one that is not."""
    with pytest.raises(ValueError, match=rf"Shape\.{name} must be above 0, found {value}"):
        replace(TINY, **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["block_bytes", "head_bytes", "resident_bytes"])
def test_weights_take_room(name: str) -> None:
    """No model has blocks, a head or a file of zero bytes."""
    with pytest.raises(ValueError, match=rf"WeightBytes\.{name} must be above 0"):
        replace(TINY_WEIGHTS, **{name: 0})


def test_a_tied_embedding_has_no_row_of_its_own() -> None:
    """A model whose head is the embedding reads no row beside it."""
    tied = WeightBytes(block_bytes=2000, head_bytes=600, embedding_row_bytes=0, resident_bytes=2600)
    assert tied.decode_bytes == tied.resident_bytes == 2600
