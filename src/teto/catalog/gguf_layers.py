"""The layers of a GGUF file: parameters from its tensors, mixers from its metadata.

Windows and states are those that llama.cpp keeps: its states are 32-bit floats, and where it reads a whole context
although the model was made for a window, so does the shape.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final

from teto.catalog.gguf_metadata import FaultyFileError, Metadata
from teto.catalog.gguf_tensors import BeyondShapeError, Role, layer_of, role_of
from teto.catalog.hf.parts import grouped
from teto.physics.mixers import ConstantState, FullAttention, LatentAttention, Mixer
from teto.physics.shape import Block, Experts

__all__ = ["blocks_of", "count_layers"]

_STATE_BYTES: Final = 4
# FLOPs for each element of a state: decay, outer product, sum, read-out; the delta rule reads it once more.
_STATE_FLOPS: Final = {"qwen3next": 7, "qwen35": 7, "qwen35moe": 7}
# Attention over the whole context in every layer that has it.
_FULL: Final = frozenset({
    "arcee", "command-r", "deepseek", "deepseek2", "dots1", "ernie4_5", "ernie4_5-moe", "exaone", "gemma", "glm4",
    "glm4moe", "granite", "granitehybrid", "granitemoe", "hunyuan-dense", "hunyuan-moe", "internlm2", "jamba", "lfm2",
    "lfm2moe", "llama", "mamba", "mamba2", "minimax-m2", "mistral3", "nemotron", "nemotron_h", "nemotron_h_moe",
    "olmoe", "phi3", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen35", "qwen35moe", "qwen3moe", "qwen3next",
    "qwen3vl", "qwen3vlmoe", "seed_oss", "smollm3", "stablelm", "starcoder2",
})  # fmt: skip
# All layers slide but every so many-th; where the file lists the layers, its list holds.
_SLIDING_PERIOD: Final = {"cohere2": 4, "gemma2": 2, "gemma3": 6, "gpt-oss": 2}
_LISTED: Final = frozenset({"gemma4", "mimo2", "step35"})
_LLAMA4_CHUNK, _LLAMA4_PERIOD = 8192, 4  # not in the file; llama.cpp has them in its code


def count_layers(metadata: Metadata) -> int:
    """Layers, prediction layers behind the last one left out."""
    n_blocks, n_behind = metadata.number("block_count"), metadata.number("nextn_predict_layers", 0, least=0)
    if n_behind >= n_blocks:
        raise metadata.fail("nextn_predict_layers", f"fewer than the {n_blocks} of block_count", n_behind)
    return n_blocks - n_behind


def blocks_of(metadata: Metadata, tensors: Sequence[Any], *, n_layers: int, n_active: int | None) -> tuple[Block, ...]:
    """Equal layers put together.

    Raises:
        BeyondShapeError: an architecture or a tensor that `Shape` cannot say.
        FaultyFileError: a number that every model of the kind has is missing, or one that cannot be.
    """
    architecture = metadata.architecture
    if architecture not in _FULL | set(_SLIDING_PERIOD) | _LISTED | {"llama4"}:
        raise BeyondShapeError(f"its architecture {architecture!r} is not one that teto can read")
    by_layer: dict[int, list[Any]] = defaultdict(list)
    side = 0
    for tensor in tensors:
        layer = layer_of(tensor.name)
        if layer is not None:
            by_layer[layer].append(tensor)
        elif tensor.name == "per_layer_model_proj.weight":
            side = int(tensor.n_elements) // n_layers
    return grouped(_block(metadata, by_layer[index], index, n_active, side) for index in range(n_layers))


def _block(metadata: Metadata, tensors: Sequence[Any], layer: int, n_active: int | None, side: int) -> Block:
    sizes: Counter[Role] = Counter()
    n_experts = 0
    for tensor in tensors:
        role = role_of(tensor)
        sizes[role] += int(tensor.n_elements)
        if role == "experts":
            n_experts = int(tensor.shape[-1])
    experts = None
    if n_experts and n_active is not None:
        experts = Experts(n_experts=n_experts, n_active=n_active, expert_params=sizes["experts"] // n_experts)
    return Block(
        count=1,
        mixer=_mixer(metadata, tensors, layer),
        mixer_params=sizes["mixer"],
        dense_params=sizes["dense"] + side,
        experts=experts,
        other_params=sizes["small"],
    )


def _mixer(metadata: Metadata, tensors: Sequence[Any], layer: int) -> Mixer | None:
    """What the layer's own tensors show it to be."""
    named = {str(tensor.name).split(".", 2)[2].removesuffix(".weight"): tensor for tensor in tensors}
    convolution = named.get("ssm_conv1d")
    attends = not named.keys().isdisjoint({"attn_q", "attn_q_b", "attn_qkv", "attn_k"})
    for name in ("ssm_conv1d", "shortconv.conv"):
        if name in named and len(named[name].shape) < 2:
            raise FaultyFileError(f"tensor 'blk.{layer}.{name}.weight' must be a matrix, found one row")
    if convolution is not None:
        if "attn_k" in named:
            raise BeyondShapeError(f"layer {layer} has attention and a state side by side")
        return _state(metadata, convolution)
    if "shortconv.conv" in named:
        return _convolution(metadata, named["shortconv.conv"])
    if not attends:
        return None
    if "attention.key_length_mla" in metadata:
        return _latent(metadata)
    return _full(metadata, layer)


def _state(metadata: Metadata, convolution: Any) -> ConstantState:
    kernel, channels = int(convolution.shape[0]), int(convolution.shape[1])
    elements = metadata.number("ssm.inner_size") * metadata.number("ssm.state_size")
    flops = _STATE_FLOPS.get(metadata.architecture, 5)
    return ConstantState(
        state_bytes=_STATE_BYTES * (elements + (kernel - 1) * channels),
        flops_per_token=elements * flops + 2 * kernel * channels,
    )


def _convolution(metadata: Metadata, convolution: Any) -> ConstantState:
    kernel, width = metadata.number("shortconv.l_cache"), int(convolution.shape[-1])
    return ConstantState(
        state_bytes=_STATE_BYTES * (kernel - 1) * width, flops_per_token=2 * width * kernel + 2 * width
    )


def _latent(metadata: Metadata) -> LatentAttention:
    rope, key = metadata.number("rope.dimension_count"), metadata.number("attention.key_length_mla")
    if rope >= key:
        raise metadata.fail("rope.dimension_count", f"fewer than the {key} of attention.key_length_mla", rope)
    return LatentAttention(
        n_heads=metadata.number("attention.head_count"),
        latent_dim=metadata.number("attention.kv_lora_rank"),
        rope_dim=rope,
        nope_dim=key - rope,
        value_dim=metadata.number("attention.value_length_mla"),
    )


def _head_width(metadata: Metadata, key: str, heads: int) -> int:
    """As that key says, else each head's equal share of the width."""
    if key in metadata:
        return metadata.number(key)
    width = metadata.number("embedding_length")
    if width % heads:
        raise metadata.fail("embedding_length", f"a multiple of the {heads} heads, as {key} is not given", width)
    return width // heads


def _full(metadata: Metadata, layer: int) -> FullAttention:
    heads = metadata.at_layer("attention.head_count", layer)
    kv_heads = metadata.at_layer("attention.head_count_kv", layer, heads)
    if heads % kv_heads:
        raise metadata.fail("attention.head_count_kv", f"a divisor of the {heads} heads", kv_heads)
    window = _window(metadata, layer)
    key_dim = _head_width(metadata, "attention.key_length", heads)
    value_dim = _head_width(metadata, "attention.value_length", heads)
    if window is not None:  # some models have narrower heads there
        key_dim = metadata.number("attention.key_length_swa", key_dim)
        value_dim = metadata.number("attention.value_length_swa", value_dim)
    shared = metadata.number("attention.shared_kv_layers", 0, least=0)
    return FullAttention(
        n_heads=heads,
        n_kv_heads=kv_heads,
        key_dim=key_dim,
        value_dim=value_dim,
        window_tokens=window,
        has_own_cache=layer < count_layers(metadata) - shared,
    )


def _window(metadata: Metadata, layer: int) -> int | None:
    architecture = metadata.architecture
    if architecture == "llama4":
        return _LLAMA4_CHUNK if (layer + 1) % _LLAMA4_PERIOD else None
    if architecture in _FULL:
        return None
    window = metadata.number("attention.sliding_window")
    pattern = "attention.sliding_window_pattern"
    if metadata.is_list(pattern):
        return window if metadata.flag_at_layer(pattern, layer) else None
    if architecture in _LISTED and pattern not in metadata:
        raise BeyondShapeError(f"it slides, and {architecture}.{pattern} is missing")
    period = metadata.number(pattern, _SLIDING_PERIOD.get(architecture))
    return window if (layer + 1) % period else None
