"""Model files of other kinds than dense full attention: experts, latents, windows, states, several files."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.catalog.model_files import BLOCK_TENSORS, HEADERS, Headers, write_gguf
from teto.catalog.gguf import read_gguf
from teto.errors import WeightsError
from teto.physics.mixers import ConstantState, FullAttention, LatentAttention
from teto.physics.precision import ExpertBytes
from teto.physics.shape import Experts

ATTENTION: Mapping[str, tuple[int, ...]] = {
    name: shape for name, shape in BLOCK_TENSORS.items() if not name.startswith("ffn_")
}
# Four experts of two matrices up and one down between 8 and 6 numbers: 144 each; one shared expert of the same
# size, a router of 4 · 8 and a correction for each expert.
EXPERTS: Mapping[str, tuple[int, ...]] = {
    "ffn_norm": (8,),
    "ffn_gate_inp": (4, 8),
    "ffn_gate_exps": (4, 6, 8),
    "ffn_up_exps": (4, 6, 8),
    "ffn_down_exps": (4, 8, 6),
    "ffn_gate_shexp": (6, 8),
    "ffn_up_shexp": (6, 8),
    "ffn_down_shexp": (8, 6),
    "exp_probs_b.bias": (4,),
}


def test_experts_are_read_by_the_token(tmp_path: Path) -> None:
    """Of four experts two are read, the shared one and the router always; the dense first layer has none."""
    path = write_gguf(
        tmp_path / "moe.gguf",
        architecture="qwen3moe",
        headers={**HEADERS, "expert_count": 4, "expert_used_count": 2},
        blocks=[BLOCK_TENSORS, {**ATTENTION, **EXPERTS}],
    )
    found = read_gguf(path)
    assert found.shape is not None
    assert found.weights is not None
    assert [block.experts for block in found.shape.blocks] == [
        None,
        Experts(n_experts=4, n_active=2, expert_params=144),
    ]
    assert found.shape.blocks[1].dense_params == 32 + 144
    assert found.shape.blocks[1].other_params == 16 + 4
    assert found.weights.experts == (ExpertBytes(n_layers=1, n_experts=4, n_active=2, expert_bytes=576),)
    # Block one: 2,368. Block two: 192 + 16 of attention and norms, 176 of router and shared expert, 4: 388 numbers.
    assert found.weights.dense_bytes == 2368 + 388 * 4
    assert found.weights.decode_bytes == 2368 + 388 * 4 + 2 * 576 + 352
    assert found.weights.resident_bytes == 4 * found.shape.total_params


def test_layers_with_other_experts_are_apart(tmp_path: Path) -> None:
    """Layers whose experts differ in size make groups of their own, with the bytes of each."""
    wider = {**ATTENTION, **EXPERTS, "ffn_down_exps": (4, 8, 12)}
    path = write_gguf(
        tmp_path / "mixed.gguf",
        architecture="qwen3moe",
        headers={**HEADERS, "block_count": 3, "expert_used_count": 1},
        blocks=[{**ATTENTION, **EXPERTS}, wider, {**ATTENTION, **EXPERTS}],
    )
    found = read_gguf(path)
    assert found.weights is not None
    assert found.weights.experts == (
        ExpertBytes(n_layers=2, n_experts=4, n_active=1, expert_bytes=576),
        ExpertBytes(n_layers=1, n_experts=4, n_active=1, expert_bytes=576 + 4 * 48),
    )


def test_prediction_layers_are_resident_only(tmp_path: Path) -> None:
    """A layer behind the last one serves speculation: it takes room, and no token reads it."""
    plain = read_gguf(write_gguf(tmp_path / "plain.gguf"))
    headers: Headers = {**HEADERS, "block_count": 3, "nextn_predict_layers": 1}
    blocks = [BLOCK_TENSORS, BLOCK_TENSORS, {**BLOCK_TENSORS, "nextn.eh_proj": (8, 16)}]
    found = read_gguf(write_gguf(tmp_path / "plain.gguf", headers=headers, blocks=blocks))
    assert found.shape == plain.shape
    assert found.weights is not None
    assert plain.weights is not None
    assert found.weights.decode_bytes == plain.weights.decode_bytes
    assert found.weights.resident_bytes == plain.weights.resident_bytes + 2368 + 512


def test_latent_attention(tmp_path: Path) -> None:
    """A latent of 6 and a rotary key of 2 are cached for all heads: (6 + 2) · 2 bytes in each of two layers."""
    block = {
        "attn_norm": (8,),
        "attn_q": (12, 8),
        "attn_kv_a_mqa": (8, 8),
        "attn_kv_a_norm": (6,),
        "attn_k_b": (2, 4, 6),
        "attn_v_b": (2, 5, 6),
        "attn_output": (8, 10),
        "ffn_norm": (8,),
        "ffn_up": (16, 8),
        "ffn_down": (8, 16),
    }
    headers: Headers = {
        **HEADERS,
        "attention.kv_lora_rank": 6,
        "attention.key_length_mla": 6,
        "attention.value_length_mla": 5,
        "rope.dimension_count": 2,
    }
    found = read_gguf(
        write_gguf(tmp_path / "mla.gguf", architecture="deepseek2", headers=headers, blocks=[block, block])
    )
    assert found.shape is not None
    mixer = LatentAttention(n_heads=2, latent_dim=6, rope_dim=2, nope_dim=4, value_dim=5)
    assert [block.mixer for block in found.shape.blocks] == [mixer]
    # 96 + 64 + 48 + 60 + 80.
    assert found.shape.blocks[0].mixer_params == 348
    assert found.shape.kv_bytes_per_token() == 32


def _windows(path: Path) -> list[int | None]:
    shape = read_gguf(path).shape
    assert shape is not None
    mixers = [(block.count, block.mixer) for block in shape.blocks]
    assert all(isinstance(mixer, FullAttention) for _, mixer in mixers)
    return [mixer.window_tokens for count, mixer in mixers for _ in range(count) if isinstance(mixer, FullAttention)]


@pytest.mark.parametrize(
    ("architecture", "n_layers", "sliding"),
    [("gpt-oss", 4, 2), ("gemma2", 4, 2), ("gemma3", 7, 6), ("cohere2", 8, 6), ("qwen3", 4, 0)],
)
def test_windows_that_the_architecture_fixes(tmp_path: Path, architecture: str, n_layers: int, sliding: int) -> None:
    """So many layers keep 16 tokens and the others all, as llama.cpp has it; Qwen3's never slide."""
    headers: Headers = {**HEADERS, "block_count": n_layers, "attention.sliding_window": 16}
    blocks = [BLOCK_TENSORS] * n_layers
    path = write_gguf(tmp_path / "windows.gguf", architecture=architecture, headers=headers, blocks=blocks)
    assert sorted(_windows(path), key=str) == [16] * sliding + [None] * (n_layers - sliding)


def test_windows_that_the_file_lists(tmp_path: Path) -> None:
    """Where the file lists the layers that slide, its list holds, and narrower heads there too."""
    headers: Headers = {
        **HEADERS,
        "block_count": 3,
        "attention.sliding_window": 16,
        "attention.sliding_window_pattern": [True, False, True],
        "attention.key_length": 8,
        "attention.value_length": 8,
        "attention.key_length_swa": 4,
        "attention.value_length_swa": 4,
        "attention.shared_kv_layers": 1,
    }
    path = write_gguf(tmp_path / "listed.gguf", architecture="gemma4", headers=headers, blocks=[BLOCK_TENSORS] * 3)
    shape = read_gguf(path).shape
    assert shape is not None
    assert [block.mixer for block in shape.blocks] == [
        FullAttention(n_heads=2, n_kv_heads=1, key_dim=4, value_dim=4, window_tokens=16),
        FullAttention(n_heads=2, n_kv_heads=1, key_dim=8, value_dim=8),
        FullAttention(n_heads=2, n_kv_heads=1, key_dim=4, value_dim=4, window_tokens=16, has_own_cache=False),
    ]


def test_windows_that_nobody_fixes_are_noted(tmp_path: Path) -> None:
    """Without its list a model whose layers slide differently gives no shape."""
    headers: Headers = {**HEADERS, "attention.sliding_window": 16}
    found = read_gguf(write_gguf(tmp_path / "bare.gguf", architecture="mimo2", headers=headers))
    assert found.shape is None
    assert found.note == "it slides, and mimo2.attention.sliding_window_pattern is missing"


STATE: Mapping[str, tuple[int, ...]] = {
    "attn_norm": (8,),
    "ssm_in": (40, 8),
    "ssm_conv1d": (24, 4),
    "ssm_a": (4, 1),
    "ssm_d": (4, 1),
    "ssm_norm": (2, 8),
    "ssm_out": (8, 16),
}


def test_states_and_layers_without_a_mixer(tmp_path: Path) -> None:
    """State, attention and feed-forward stand in layers of their own; KV heads are listed for each."""
    feed = {name: shape for name, shape in BLOCK_TENSORS.items() if name.startswith("ffn_")}
    headers: Headers = {
        **HEADERS,
        "block_count": 3,
        "attention.head_count_kv": [0, 1, 0],
        "ssm.inner_size": 16,
        "ssm.state_size": 4,
    }
    found = read_gguf(
        write_gguf(
            tmp_path / "hybrid.gguf", architecture="nemotron_h", headers=headers, blocks=[STATE, ATTENTION, feed]
        )
    )
    assert found.shape is not None
    # 16 · 4 elements and 3 inputs of 24 channels, four bytes each; 5 FLOPs an element, 2 · 4 · 24 of convolution.
    state = ConstantState(state_bytes=4 * (64 + 72), flops_per_token=5 * 64 + 192)
    attention = FullAttention(n_heads=2, n_kv_heads=1, key_dim=4, value_dim=4)
    assert [block.mixer for block in found.shape.blocks] == [state, attention, None]
    assert found.shape.blocks[0].mixer_params == 320 + 128 + 16
    assert found.shape.blocks[0].other_params == 8 + 96 + 8
    assert found.shape.kv_bytes(100) == 544 + 100 * 16


def test_a_state_beside_attention_is_noted(tmp_path: Path) -> None:
    """A layer that has both at once is beyond the shape."""
    headers: Headers = {**HEADERS, "ssm.inner_size": 16, "ssm.state_size": 4}
    blocks = [{**BLOCK_TENSORS, **STATE}, BLOCK_TENSORS]
    found = read_gguf(write_gguf(tmp_path / "both.gguf", architecture="jamba", headers=headers, blocks=blocks))
    assert (found.shape, found.weights) == (None, None)
    assert found.note == "layer 0 has attention and a state side by side"


def test_short_convolutions(tmp_path: Path) -> None:
    """LFM2 keeps the last two inputs of its convolutions: 2 · 8 numbers in 32 bits."""
    convolution = {
        "attn_norm": (8,),
        "shortconv.conv": (8, 3),
        "shortconv.in_proj": (24, 8),
        "shortconv.out_proj": (8, 8),
        **{name: shape for name, shape in BLOCK_TENSORS.items() if name.startswith("ffn_")},
    }
    headers: Headers = {**HEADERS, "attention.head_count_kv": [0, 1], "shortconv.l_cache": 3}
    blocks = [convolution, BLOCK_TENSORS]
    shape = read_gguf(write_gguf(tmp_path / "lfm.gguf", architecture="lfm2", headers=headers, blocks=blocks)).shape
    assert shape is not None
    assert shape.blocks[0].mixer == ConstantState(state_bytes=64, flops_per_token=2 * 8 * 3 + 16)
    assert shape.blocks[0].mixer_params == 4 * 64


def test_tables_for_each_layer_are_read_by_the_row(tmp_path: Path) -> None:
    """Of a second table one row is read too; its projection is a part of every layer."""
    headers: Headers = {
        **HEADERS,
        "attention.sliding_window": 16,
        "attention.sliding_window_pattern": [True, False],
    }
    path = write_gguf(
        tmp_path / "side.gguf",
        architecture="gemma4",
        headers=headers,
        more_tensors={"per_layer_token_embd.weight": (10, 6), "per_layer_model_proj.weight": (6, 8)},
    )
    found = read_gguf(path)
    assert found.shape is not None
    assert found.weights is not None
    assert found.weights.embedding_row_bytes == 24
    assert found.weights.dense_bytes == 2 * 2368 + 6 * 8 * 4
    assert found.shape.table_params == 60
    assert {block.dense_params for block in found.shape.blocks} == {384 + 24}


def test_a_model_in_several_files(tmp_path: Path) -> None:
    """The first part is read with those beside it, and is the same model as in one file."""
    whole = read_gguf(write_gguf(tmp_path / "m.gguf"))
    first = write_gguf(tmp_path / "m-00001-of-00002.gguf", blocks=[BLOCK_TENSORS], part=(0, 2))
    second = {f"blk.1.{name}.weight": shape for name, shape in BLOCK_TENSORS.items()}
    write_gguf(tmp_path / "m-00002-of-00002.gguf", blocks=[], more_tensors=second, part=(1, 2))
    found = read_gguf(first)
    assert found.weights == whole.weights
    assert found.shape is not None
    assert whole.shape is not None
    assert found.shape.blocks == whole.shape.blocks


def test_a_part_alone_is_named(tmp_path: Path) -> None:
    """A part that is not the first, or the first without the others, is an error that says which is needed."""
    second = write_gguf(tmp_path / "m-00002-of-00002.gguf", part=(1, 2))
    with pytest.raises(WeightsError, match=r"is a part of a model in 2 files\. Give the first one"):
        read_gguf(second)
    first = write_gguf(tmp_path / "n-00001-of-00002.gguf", part=(0, 2))
    with pytest.raises(WeightsError, match=r"n-00002-of-00002\.gguf cannot be read"):
        read_gguf(first)
