"""Configs of published models: parameters, caches and formats against figures known to the unit."""

from typing import Any

import pytest

from tests.catalog.configs import config_of
from teto.catalog.hf_config import read_hf_config
from teto.physics.mixers import ConstantState, FullAttention, LatentAttention
from teto.physics.shape import Experts, Shape


def _shape(model: str, **changes: Any) -> Shape:
    return read_hf_config(config_of(model, **changes), name=model).shape


@pytest.mark.parametrize(
    ("model", "billions", "digits"),
    [
        ("llama-3.1-8b", 8.030, 3),
        ("llama-3.1-70b", 70.554, 3),
        ("mixtral-8x7b", 46.703, 3),
        ("deepseek-v3", 671.03, 2),
        ("qwen3-30b-a3b", 30.532, 3),
        ("gpt-oss-120b", 116.83, 2),
        ("qwen2.5-0.5b", 0.494, 3),
        ("gemma-3-27b", 27.009, 3),
        ("qwen3-next-80b-a3b", 79.674, 3),
        ("nemotron-nano-12b-v2", 12.310, 3),
        ("jamba-v0.1", 51.570, 3),
        ("lfm2-1.2b", 1.170, 3),
        ("mamba-130m", 0.129, 3),
    ],
)
def test_total_parameters(model: str, billions: float, digits: int) -> None:
    """Every parameter is counted, biases and norms included, prediction layers left out."""
    assert round(_shape(model).total_params / 1e9, digits) == billions


@pytest.mark.parametrize(
    ("model", "billions", "digits"),
    [
        ("deepseek-v3", 36.63, 2),
        ("qwen3-30b-a3b", 3.042, 3),
        ("gpt-oss-120b", 5.133, 3),
        ("mixtral-8x7b", 12.749, 3),
    ],
)
def test_active_parameters(model: str, billions: float, digits: int) -> None:
    """What one token touches, the input table left out."""
    assert round(_shape(model).active_params / 1e9, digits) == billions


_SMALL = {"max_position_embeddings": 4096, "torch_dtype": "bfloat16"}


@pytest.mark.parametrize(
    ("config", "billions"),
    [
        # SmolLM3 3B, Granite 3.3 8B, Qwen1.5 MoE A2.7B, Mamba-2 2.7B, GLM-4.7-Flash.
        (
            {
                "model_type": "smollm3",
                "hidden_size": 2048,
                "intermediate_size": 11008,
                "num_attention_heads": 16,
                "num_hidden_layers": 36,
                "num_key_value_heads": 4,
                "no_rope_layers": [1, 1, 1, 0] * 9,
                "vocab_size": 128256,
            },
            3.075,
        ),
        (
            {
                "model_type": "granite",
                "attention_multiplier": 0.0078125,
                "hidden_size": 4096,
                "intermediate_size": 12800,
                "num_attention_heads": 32,
                "num_hidden_layers": 40,
                "num_key_value_heads": 8,
                "vocab_size": 49159,
            },
            8.171,
        ),
        (
            {
                "model_type": "qwen2_moe",
                "hidden_size": 2048,
                "intermediate_size": 5632,
                "moe_intermediate_size": 1408,
                "num_attention_heads": 16,
                "num_experts": 60,
                "num_experts_per_tok": 4,
                "num_hidden_layers": 24,
                "num_key_value_heads": 16,
                "shared_expert_intermediate_size": 5632,
                "vocab_size": 151936,
            },
            14.316,
        ),
        (
            {
                "model_type": "mamba2",
                "conv_kernel": 4,
                "head_dim": 64,
                "hidden_size": 2560,
                "n_groups": 1,
                "num_heads": 80,
                "num_hidden_layers": 64,
                "state_size": 128,
                "tie_word_embeddings": True,
                "use_bias": False,
                "vocab_size": 50288,
            },
            2.703,
        ),
        (
            {
                "model_type": "glm4_moe_lite",
                "first_k_dense_replace": 1,
                "hidden_size": 2048,
                "intermediate_size": 10240,
                "kv_lora_rank": 512,
                "moe_intermediate_size": 1536,
                "n_routed_experts": 64,
                "n_shared_experts": 1,
                "num_attention_heads": 20,
                "num_experts_per_tok": 4,
                "num_hidden_layers": 47,
                "q_lora_rank": 768,
                "qk_nope_head_dim": 192,
                "qk_rope_head_dim": 64,
                "v_head_dim": 256,
                "vocab_size": 154880,
            },
            29.943,
        ),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else None,
)
def test_total_parameters_of_other_kinds(config: dict[str, Any], billions: float) -> None:
    """Kinds that are in no other test here, against the size of a published model."""
    assert round(read_hf_config({**config, **_SMALL}).shape.total_params / 1e9, 3) == billions


def test_parameters_of_a_dense_model_by_hand() -> None:
    """Qwen2.5-0.5B: biases on queries, keys and values, and one table for input and head."""
    shape = _shape("qwen2.5-0.5b")
    block = shape.blocks[0]
    # 896 · (896 + 128 + 128) + 896 · 896, three of 896 · 4864, two norms and 1,152 biases.
    assert (block.count, block.mixer_params, block.dense_params) == (24, 1_835_008, 13_074_432)
    assert block.other_params == 2 * 896 + 1152
    assert (shape.head_params, shape.table_params, shape.other_params) == (136_134_656, 0, 896)
    assert shape.total_params == 494_032_768


def test_parameters_of_experts_by_hand() -> None:
    """Qwen3-30B-A3B: 128 experts of three 2048 · 768 matrices, a router of 128 rows, norms of heads."""
    block = _shape("qwen3-30b-a3b").blocks[0]
    assert block.experts == Experts(n_experts=128, n_active=8, expert_params=4_718_592)
    assert block.dense_params == 128 * 2048
    assert block.other_params == 2 * 2048 + 2 * 128


@pytest.mark.parametrize(
    ("model", "kv_bytes"), [("llama-2-7b", 524_288), ("llama-3.1-8b", 131_072), ("deepseek-v3", 70_272)]
)
def test_kv_bytes_of_one_token(model: str, kv_bytes: int) -> None:
    """KV in 16 bits: every head's, an eighth of the heads', or one latent of 512 + 64 in 61 layers."""
    assert _shape(model).kv_bytes_per_token() == kv_bytes


@pytest.mark.parametrize("context_tokens", [100, 1024, 5000, 131_072])
def test_windows_cap_the_cache_of_gemma(context_tokens: int) -> None:
    """Gemma 3 27B: 52 of its 62 layers keep 1,024 tokens, and a token of a layer is 16 · 256 · 2 bytes."""
    of_one_layer = 16 * 256 * 2
    kept = 10 * context_tokens + 52 * min(context_tokens, 1024)
    assert _shape("gemma-3-27b").kv_bytes(context_tokens) == of_one_layer * kept


@pytest.mark.parametrize("context_tokens", [64, 128, 129, 8192])
def test_windows_cap_the_cache_of_gpt_oss(context_tokens: int) -> None:
    """gpt-oss-120b: 18 of 36 layers keep 128 tokens, and a token of a layer is 8 · 128 · 2 bytes."""
    kept = 18 * context_tokens + 18 * min(context_tokens, 128)
    assert _shape("gpt-oss-120b").kv_bytes(context_tokens) == 2048 * kept
    assert _shape("gpt-oss-120b", layer_types=None).kv_bytes(context_tokens) == 2048 * kept


def test_latent_attention() -> None:
    """DeepSeek-V3's mixer, and V3.2's, whose selector adds a query of 64 heads, a key and weights."""
    plain = _shape("deepseek-v3").blocks[0]
    assert plain.mixer == LatentAttention(n_heads=128, latent_dim=512, rope_dim=64, nope_dim=128, value_dim=128)
    sparse = _shape(
        "deepseek-v3", model_type="deepseek_v32", index_topk=2048, index_n_heads=64, index_head_dim=128
    ).blocks[0]
    assert isinstance(sparse.mixer, LatentAttention)
    assert (sparse.mixer.selected_tokens, sparse.mixer.selector_heads, sparse.mixer.selector_dim) == (2048, 64, 128)
    assert sparse.mixer_params - plain.mixer_params == 1536 * 8192 + 7168 * (128 + 64)
    assert sparse.other_params - plain.other_params == 256


def test_first_layers_are_dense() -> None:
    """DeepSeek-V3's first three layers have no experts; the others have a shared one and a corrected router."""
    dense, sparse = _shape("deepseek-v3").blocks
    assert (dense.count, dense.experts, dense.dense_params) == (3, None, 3 * 7168 * 18432)
    assert sparse.experts == Experts(n_experts=256, n_active=8, expert_params=44_040_192)
    assert sparse.dense_params == 44_040_192 + 256 * 7168
    assert sparse.other_params - dense.other_params == 256


def test_a_gated_delta_net() -> None:
    """Qwen3-Next: 32 states of 128 · 128 in 32 bits, and three inputs of 8,192 channels in 16."""
    linear, attention = _shape("qwen3-next-80b-a3b").blocks
    assert (linear.count, attention.count) == (36, 12)
    state = 32 * 128 * 128
    assert linear.mixer == ConstantState(state_bytes=4 * state + 2 * 3 * 8192, flops_per_token=7 * state + 8 * 8192)
    # Its attention has an output gate as wide as its queries.
    assert attention.mixer_params == 2048 * (2 * 4096 + 2 * 512) + 4096 * 2048


def test_layers_of_one_part() -> None:
    """Nemotron's layers are a state, an attention or a feed-forward, each with one norm."""
    state, feed, attention = _shape("nemotron-nano-12b-v2").blocks
    assert [block.count for block in (state, feed, attention)] == [28, 28, 6]
    assert (feed.mixer, feed.dense_params, feed.other_params) == (None, 2 * 5120 * 20480, 5120)
    assert attention.mixer == FullAttention(n_heads=40, n_kv_heads=8, key_dim=128, value_dim=128)
    assert isinstance(state.mixer, ConstantState)
    # 10,240 channels and their state of 128, and three inputs of 10,240 + 2 · 8 · 128 channels.
    assert state.mixer.state_bytes == 4 * 10_240 * 128 + 2 * 3 * 12_288


def test_last_layers_that_keep_nothing() -> None:
    """Gemma 4 E2B: 20 of 35 layers read an earlier layer's cache, and have a wider feed-forward."""
    shape = _shape("gemma-4-e2b")
    with_cache = sum(b.count for b in shape.blocks if isinstance(b.mixer, FullAttention) and b.mixer.has_own_cache)
    assert with_cache == 15
    # Three layers see everything with 512-wide keys, twelve keep 512 tokens with 256-wide ones.
    assert shape.kv_bytes(10_000) == 3 * 10_000 * 2 * 512 * 2 + 12 * 512 * 2 * 256 * 2
    assert shape.table_params == 262_144 * 35 * 256


def test_layers_with_configs_of_their_own() -> None:
    """Nemotron Super: a layer may lack its attention, have fewer KV heads, or a narrower feed-forward."""
    blocks = [
        {"attention": {"n_heads_in_group": 8}, "ffn": {"ffn_mult": 2.625}},
        {"attention": {"no_op": True}, "ffn": {"ffn_mult": 5.25}},
        {"attention": {"n_heads_in_group": 16}, "ffn": {"no_op": True}},
    ]
    first, second, third = _shape(
        "llama-3.1-70b",
        model_type="nemotron-nas",
        num_hidden_layers=3,
        num_key_value_heads=None,
        intermediate_size=None,
        block_configs=blocks,
    ).blocks
    # int(2 · 2.625 · 8192 / 3) = 14,336, and twice that; both are multiples of 256.
    assert (first.dense_params, second.dense_params, third.dense_params) == (3 * 8192 * 14336, 3 * 8192 * 28672, 0)
    assert (second.mixer, third.other_params) == (None, 8192)
    assert isinstance(third.mixer, FullAttention)
    assert third.mixer.n_kv_heads == 4


@pytest.mark.parametrize(
    ("changes", "native_format"),
    [
        ({}, "bf16"),
        ({"torch_dtype": "float16"}, "f16"),
        ({"torch_dtype": "float8"}, None),
        ({"torch_dtype": None}, None),
        ({"quantization_config": {"quant_method": "fp8"}}, "fp8"),
        ({"quantization_config": {"quant_method": "mxfp4"}}, "mxfp4"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "int4"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 3}}, None),
        ({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}, "nvfp4"),
        ({"quantization_config": {"quant_method": "modelopt", "quantized_layers": {"a": {}}}}, None),
    ],
)
def test_the_format_that_a_config_states(changes: dict[str, Any], native_format: str | None) -> None:
    """Quantization wins over the dtype; what has no name is None, and the note says what it is."""
    found = read_hf_config(config_of("llama-3.1-8b", **changes))
    assert found.native_format == native_format
    assert found.note


@pytest.mark.parametrize(
    ("weights", "ignore", "native_format"),
    [
        ({"num_bits": 4, "type": "int"}, [], "int4"),
        ({"num_bits": 8, "type": "int"}, ["lm_head"], "int8"),
        ({"num_bits": 8, "type": "float"}, ["lm_head"], "fp8"),
        ({"num_bits": 4, "type": "float", "group_size": 32}, ["re:.*self_attn.*"], "mxfp4"),
        ({"num_bits": 4, "type": "int", "group_size": 32}, ["re:.*self_attn.*"], None),
    ],
)
def test_packed_formats(weights: dict[str, Any], ignore: list[str], native_format: str | None) -> None:
    """compressed-tensors by its bits and kind; where attention is left out only experts are packed."""
    quantization = {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": weights, "input_activations": None}},
        "ignore": ignore,
    }
    found = read_hf_config(config_of("llama-3.1-8b", quantization_config=quantization))
    assert found.native_format == native_format
    assert found.note.startswith("compressed-tensors to ")


def test_notes_say_what_is_not_counted() -> None:
    """Prediction layers and towers are named where a config has them."""
    assert read_hf_config(config_of("deepseek-v3")).note == "quantized by fp8; prediction layers are not counted"
    nested = {"model_type": "kimi_k25", "text_config": config_of("deepseek-v3"), "vision_config": {"depth": 27}}
    note = read_hf_config(nested).note
    assert note == "quantized by fp8; prediction layers are not counted; towers for images and sound are not counted"


def test_a_model_is_called_as_it_is_named() -> None:
    """The given name, or else the kind."""
    assert _shape("llama-3.1-8b").name == "llama-3.1-8b"
    assert read_hf_config(config_of("llama-3.1-8b")).shape.name == "llama"
