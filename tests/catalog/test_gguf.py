"""Model files: shape and bytes against sums by hand, on files of a few kilobytes."""

from pathlib import Path

import platformdirs
import pytest

from tests.catalog.model_files import HEADERS, write_gguf
from teto.catalog.gguf import read_gguf
from teto.catalog.weights import find_weights
from teto.physics.mixers import FullAttention
from teto.physics.precision import WeightBytes
from teto.physics.shape import Block, Shape

# One block in 32-bit floats: norms 2 · 8, query and output 2 · 64, key and value 2 · 32, three of 128 each:
# 16 + 128 + 64 + 384 = 592 numbers, 2,368 bytes; without norms 192 + 384 are multiplied.
BLOCKS_BYTES = 2 * 2368
# The norm before the head has 8 numbers, head and embedding 10 · 8 each.
NORM_BYTES, TABLE_BYTES = 32, 320


def test_tied_embeddings_are_the_head(tmp_path: Path) -> None:
    """Without a head of its own the whole embedding is read as head, and no row beside it."""
    found = read_gguf(write_gguf(tmp_path / "tied.gguf"))
    assert (found.name, found.architecture) == ("tied", "qwen2")
    assert found.weights == WeightBytes(
        dense_bytes=4736,
        head_bytes=NORM_BYTES + TABLE_BYTES,
        embedding_row_bytes=0,
        resident_bytes=4736 + 352,
    )
    assert found.weights.decode_bytes == 5088
    assert found.note == "tensor sizes of the GGUF file"


def test_the_shape_is_the_files(tmp_path: Path) -> None:
    """Layers, heads and parameters are those of the header and the tensors; a head is 8 / 2 = 4 wide."""
    found = read_gguf(write_gguf(tmp_path / "tiny.gguf"))
    assert found.shape == Shape(
        name="tiny",
        blocks=(
            Block(
                count=2,
                mixer=FullAttention(n_heads=2, n_kv_heads=1, key_dim=4, value_dim=4),
                mixer_params=192,
                dense_params=384,
                other_params=16,
            ),
        ),
        width=8,
        head_params=80,
        table_params=0,
        other_params=8,
        context_limit_tokens=64,
    )
    # 2 layers · 1 KV head · (4 + 4) · 2 bytes.
    assert found.shape.kv_bytes_per_token() == 32
    # All in 32-bit floats: four bytes for each parameter.
    assert found.weights is not None
    assert found.weights.resident_bytes == 4 * found.shape.total_params


def test_untied_embeddings_are_read_by_the_row(tmp_path: Path) -> None:
    """With a head of its own, the head is read whole and of the embedding one row of 320 / 10 bytes."""
    found = read_gguf(write_gguf(tmp_path / "untied.gguf", tied=False))
    assert found.weights == WeightBytes(
        dense_bytes=BLOCKS_BYTES,
        head_bytes=NORM_BYTES + TABLE_BYTES,
        embedding_row_bytes=32,
        resident_bytes=BLOCKS_BYTES + NORM_BYTES + 2 * TABLE_BYTES,
    )
    assert found.weights.decode_bytes == 4736 + 352 + 32
    assert found.shape is not None
    assert (found.shape.head_params, found.shape.table_params) == (80, 80)


def test_small_tensors_outside_the_blocks_are_read_too(tmp_path: Path) -> None:
    """Rope factors and the like count with the blocks."""
    found = read_gguf(write_gguf(tmp_path / "rope.gguf", more_tensors={"rope_freqs.weight": (2,)}))
    assert found.weights is not None
    assert found.weights.dense_bytes == BLOCKS_BYTES + 8


def test_what_the_header_leaves_out_has_the_formats_default(tmp_path: Path) -> None:
    """Without KV heads there are as many as heads; key and value lengths win over width / heads."""
    headers = {key: value for key, value in HEADERS.items() if key != "attention.head_count_kv"}
    headers |= {"attention.key_length": 6, "attention.value_length": 5}
    found = read_gguf(write_gguf(tmp_path / "wide.gguf", architecture="llama", headers=headers))
    assert found.shape is not None
    assert found.shape.blocks[0].mixer == FullAttention(n_heads=2, n_kv_heads=2, key_dim=6, value_dim=5)


@pytest.mark.parametrize("n_tokens", [10, 5000])
def test_a_vocabulary_changes_nothing(tmp_path: Path, n_tokens: int) -> None:
    """A short vocabulary is read and one above 4,096 entries stepped over, with the same shape and bytes."""
    plain = read_gguf(write_gguf(tmp_path / "tiny.gguf"))
    assert read_gguf(write_gguf(tmp_path / "tiny.gguf", n_tokens=n_tokens)) == plain


@pytest.mark.parametrize(
    ("file_type", "file_format"), [(15, "q4_k_m"), (7, "q8_0"), (1, "f16"), (38, "mxfp4"), (1024, None), (None, None)]
)
def test_the_format_is_the_files(tmp_path: Path, file_type: int | None, file_format: str | None) -> None:
    """The file's own statement of its format, where it makes one that has a name."""
    assert read_gguf(write_gguf(tmp_path / "typed.gguf", file_type=file_type)).file_format == file_format


@pytest.mark.parametrize(
    ("architecture", "more_tensors", "note"),
    [
        ("rwkv7", {}, "its architecture 'rwkv7' is not one that teto can read"),
        ("llama", {"blk.0.laurel_l.weight": (4, 8)}, "tensor 'blk.0.laurel_l.weight' is of no known kind"),
        (
            "llama",
            {"blk.0.ffn_gate_exps.weight": (4, 16, 8)},
            "it has experts, and expert_used_count is missing",
        ),
    ],
)
def test_what_is_beyond_the_shape_is_noted(
    tmp_path: Path, architecture: str, more_tensors: dict[str, tuple[int, ...]], note: str
) -> None:
    """What is not understood gives no shape and no bytes rather than wrong ones, and the note says why."""
    found = read_gguf(write_gguf(tmp_path / "other.gguf", architecture=architecture, more_tensors=more_tensors))
    assert (found.architecture, found.shape, found.weights) == (architecture, None, None)
    assert found.note == note


SMOKE = find_weights("smollm2-135m-instruct-q4_1")
SMOKE_PATH = platformdirs.user_cache_path("teto", appauthor=False) / "weights" / "sha256" / f"{SMOKE.sha256}.gguf"


@pytest.mark.skipif(not SMOKE_PATH.is_file(), reason="the smoke-test weights are not in the store")
def test_the_smoke_test_weights() -> None:
    """SmolLM2-135M in Q4_1 reads 96,576,768 bytes a token, and its KV takes 30 · 3 · 128 · 2 = 23,040."""
    found = read_gguf(SMOKE_PATH)
    assert found.file_format == "q4_1"
    assert found.weights is not None
    assert found.weights.decode_bytes == 96_576_768
    assert found.weights.resident_bytes < SMOKE.size_bytes
    assert found.shape is not None
    assert found.shape.kv_bytes_per_token() == 23_040
    assert found.shape.total_params == 134_515_008
