"""Configs that are not understood: an error that names the field, the value and the model, never a guess."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.catalog.configs import SHARED_CONFIGS, config_of
from teto.catalog.hf_config import read_hf_config, read_hf_config_file
from teto.errors import ConfigError

# Published configs that state what no mixer expresses, and the field that says so.
BEYOND = {
    "DeepSeek-V4": "compress_ratios",
    "GLM-5.2": "indexer_types",
    "MiniMax-M3": "sparse_attention_config",
}
SHARED_FILES = sorted(
    file for file in SHARED_CONFIGS.glob("*_config.json") if not file.name.endswith("_hf_quant_config.json")
)


@pytest.mark.parametrize(
    ("model", "changes", "words"),
    [
        ("llama-3.1-8b", {"attention_flavour": 7}, "'attention_flavour' is not understood for 'llama'"),
        ("llama-3.1-8b", {"b_new": 1, "a_new": 2}, "'a_new', 'b_new' are not understood for 'llama'"),
        ("llama-3.1-8b", {"hidden_size": None}, "field 'hidden_size' is missing"),
        ("llama-3.1-8b", {"hidden_size": "4096"}, "field 'hidden_size' must be a whole number above 0, found '4096'"),
        ("llama-3.1-8b", {"num_hidden_layers": 0}, "'num_hidden_layers' must be a whole number above 0, found 0"),
        ("llama-3.1-8b", {"mlp_bias": "no"}, "field 'mlp_bias' must be true or false, found 'no'"),
        ("llama-3.1-8b", {"add_cross_attention": True}, "'add_cross_attention' must be false or absent, found True"),
        ("llama-3.1-8b", {"pruned_heads": {"1": [2]}}, "'pruned_heads' must be {} or absent"),
        ("qwen3-30b-a3b", {"use_sliding_window": True}, "'use_sliding_window' must be false or absent, found True"),
        ("deepseek-v3", {"first_k_dense_replace": -1}, "must be a whole number of 0 or more, found -1"),
        ("deepseek-v3", {"moe_layer_freq": 2}, "field 'moe_layer_freq' must be 1 or absent, found 2"),
        ("deepseek-v3", {"topk_method": "greedy"}, "'topk_method' must be 'noaux_tc' or absent, found 'greedy'"),
        ("deepseek-v3", {"num_key_value_heads": 8}, "'num_key_value_heads' must be 128 or absent, found 8"),
        ("deepseek-v3", {"index_topk": 2048}, "field 'index_n_heads' is missing"),
        ("gpt-oss-120b", {"layer_types": ["full_attention"] * 35}, "must be a list of 36, one for each layer"),
        ("gpt-oss-120b", {"layer_types": ["chunked"] * 36}, "'layer_types' may hold 'full_attention', "),
        ("gpt-oss-120b", {"sliding_window": None}, "'sliding_window' must be a number of tokens"),
        ("nemotron-nano-12b-v2", {"hybrid_override_pattern": "X" * 62}, "'hybrid_override_pattern' may hold 'M', "),
        ("nemotron-nano-12b-v2", {"mamba_ssm_cache_dtype": "int3"}, "must be float32, bfloat16 or float16"),
        ("qwen3-30b-a3b", {"mlp_only_layers": "all"}, "'mlp_only_layers' must be a list of layer numbers"),
        ("qwen3-30b-a3b", {"mlp_only_layers": [99]}, "may hold layer numbers from 0 to 47, found 99"),
        ("qwen3-30b-a3b", {"num_experts_per_tok": 999}, "must be at most 128, the experts of 'num_experts', found 999"),
        ("deepseek-v3", {"num_experts_per_tok": 257}, "at most 256, the experts of 'n_routed_experts', found 257"),
        ("mixtral-8x7b", {"num_experts_per_tok": 9}, "at most 8, the experts of 'num_local_experts', found 9"),
        ("deepseek-v3", {"first_k_dense_replace": 999}, "must be at most the 61 layers that there are, found 999"),
        ("llama-3.1-8b", {"num_hidden_layers": 10**30}, "'num_hidden_layers' must be at most 10,000, found 1000"),
        ("llama-3.1-8b", {"num_hidden_layers": 10**9}, "'num_hidden_layers' must be at most 10,000, found 1000000000"),
        ("llama-3.1-8b", {"vocab_size": 10**30}, "'vocab_size' must be at most 1,000,000,000,000, found 1000"),
        ("llama-3.1-8b", {"num_key_value_heads": 7}, "must be a divisor of the 32 heads, found 7"),
        ("llama-3.1-8b", {"num_key_value_heads": 64}, "must be a divisor of the 32 heads, found 64"),
        (
            "llama-3.1-8b",
            {"num_attention_heads": 33, "num_key_value_heads": 33},
            "'hidden_size' must be a multiple of the 33 heads, as no head_dim is given, found 4096",
        ),
        ("llama-3.1-8b", {"model_type": ["llama"]}, "field 'model_type' must be a name, found ['llama']"),
        ("llama-3.1-8b", {"torch_dtype": 16}, "the dtype must be a name, found 16"),
        ("llama-3.1-8b", {"quantization_config": "fp8"}, "'quantization_config' must be an object, found 'fp8'"),
        ("llama-3.1-8b", {"quantization_config": {"quant_method": 8}}, "'quant_method' must be a name, found 8"),
        ("llama-3.1-8b", {"quantization_config": {"bits": "4"}}, "'bits' must be a whole number, found '4'"),
        ("jamba-v0.1", {"attn_layer_offset": 8}, "'attn_layer_offset' must be below 8, the field attn_layer_period"),
        ("lfm2-1.2b", {"block_ffn_dim_multiplier": float("inf")}, "must be a number above 0 and at most"),
        (
            "lfm2-1.2b",
            {"conv_L_cache": 1},
            "its fields contradict each other: ConstantState.state_bytes must be above 0",
        ),
    ],
)
def test_a_field_that_is_not_understood(model: str, changes: dict[str, Any], words: str) -> None:
    """The message names the model and the field, what was expected and what was found."""
    with pytest.raises(ConfigError) as raised:
        read_hf_config(config_of(model, **changes), name="mine")
    assert raised.value.message.startswith("mine: ")
    assert words in raised.value.message
    assert raised.value.fix is not None


def test_a_kind_that_is_not_known() -> None:
    """An unknown kind is named with the nearest, a missing one as missing, one beyond physics with its field."""
    with pytest.raises(ConfigError, match=r"model_type 'qwen33' is not one that teto can read; the nearest .*qwen3"):
        read_hf_config(config_of("llama-3.1-8b", model_type="qwen33"))
    with pytest.raises(ConfigError, match=r"field 'model_type' is missing"):
        read_hf_config({})
    with pytest.raises(ConfigError, match=r"'deepseek_v4' has 'compress_ratios'"):
        read_hf_config({"model_type": "deepseek_v4"})


def test_what_stands_beside_the_text_must_be_known_too() -> None:
    """A field outside text_config that nobody knows, or one that contradicts the inside, is an error."""
    text = config_of("llama-3.1-8b", tie_word_embeddings=False)
    with pytest.raises(ConfigError, match=r"'cross_layers' beside 'text_config' of 'new_vl' is not understood"):
        read_hf_config({"model_type": "new_vl", "text_config": text, "cross_layers": [3]})
    with pytest.raises(ConfigError, match=r"'tie_word_embeddings' is True outside 'text_config' and False inside"):
        read_hf_config({"model_type": "new_vl", "text_config": text, "tie_word_embeddings": True})
    with pytest.raises(ConfigError, match=r"'tie_word_embeddings' must be true or false, found 'no'"):
        read_hf_config({"model_type": "new_vl", "text_config": text, "tie_word_embeddings": "no"})
    with pytest.raises(ConfigError, match=r"'text_config' must be an object, found 'llama'"):
        read_hf_config({"model_type": "new_vl", "text_config": "llama"})


def test_a_file_or_its_folder(tmp_path: Path) -> None:
    """A config.json is read from its path or its folder, whose name is the model's; quantization beside it counts."""
    folder = tmp_path / "my-model"
    folder.mkdir()
    file = folder / "config.json"
    file.write_text(json.dumps(config_of("llama-3.1-8b")))
    assert read_hf_config_file(file) == read_hf_config_file(folder)
    assert (read_hf_config_file(file).shape.name, read_hf_config_file(file).native_format) == ("my-model", "bf16")
    (folder / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}')
    assert read_hf_config_file(folder).native_format == "fp8"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "is no JSON"),
        (b"\xff\xfe\xff", "is no JSON: it is not text in UTF-8"),
        (b"[]", "must hold an object, found list"),
        (b"[" * 100_000, "must hold a config of at most 30 levels"),
        (b'{"a":' + b"[" * 100 + b"]" * 100 + b"}", "must hold a config of at most 30 levels"),
        (b'{"a": ' + b"9" * 5000 + b"}", "holds a number of thousands of digits"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_config(tmp_path: Path, content: bytes | None, words: str) -> None:
    """What is no JSON object, or no file, is named with its path."""
    file = tmp_path / "config.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError) as raised:
        read_hf_config_file(file)
    assert raised.value.message.startswith(f"{file} ")
    assert words in raised.value.message


@pytest.mark.skipif(not SHARED_FILES, reason="the published configs are not at hand")
@pytest.mark.parametrize("file", SHARED_FILES, ids=lambda file: file.name.removesuffix("_config.json"))
def test_published_configs(file: Path) -> None:
    """Every published config is read, or refused with the field that is beyond what can be computed."""
    field = next((field for part, field in BEYOND.items() if part in file.name), None)
    if field is not None:
        with pytest.raises(ConfigError, match=field):
            read_hf_config_file(file)
        return
    found = read_hf_config_file(file)
    assert found.shape.name == file.name.removesuffix("_config.json")
    assert found.shape.active_params < found.shape.total_params or found.shape.table_params == 0
    assert found.shape.context_limit_tokens is not None
