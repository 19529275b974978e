"""Families of one repeated layer: full attention and a gated feed-forward, with or without windows and biases."""

from collections.abc import Sequence
from typing import Final

from teto.catalog.hf.fields import Fields
from teto.catalog.hf.parts import Feed, Stack, full_attention, gated, layer
from teto.physics.shape import Block

__all__ = [
    "feed_forward",
    "granite",
    "llama",
    "mistral",
    "nemotron_nas",
    "phi3",
    "qwen2",
    "qwen3",
    "smollm3",
    "windows",
]

_KINDS: Final = ("full_attention", "sliding_attention")


def feed_forward(fields: Fields) -> Feed:
    """The gated feed-forward of `intermediate_size`."""
    return gated(
        fields.count("hidden_size"),
        fields.count("intermediate_size"),
        bias=fields.flag("mlp_bias", otherwise=False),
    )


def windows(fields: Fields, n_layers: int, *, pattern: Sequence[bool] | None = None) -> Sequence[int | None]:
    """The window of each layer: where `layer_types` says so, else where `pattern` has True, else nowhere."""
    window = fields.count_or_none("sliding_window")
    if "layer_types" in fields:
        kinds = fields.per_layer("layer_types", str, n_layers, _KINDS)
        slides: Sequence[bool] = [kind == "sliding_attention" for kind in kinds]
    else:
        slides = pattern or [False] * n_layers
    if window is None and any(slides):
        fields.fail("sliding_window", "a number of tokens, as some layers slide")
    return [window if slide else None for slide in slides]


def llama(fields: Fields) -> Stack:
    """Llama 2 and 3, SmolLM, and all that have their layout."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    bias = fields.flag("attention_bias", otherwise=False)
    mix = full_attention(fields, qkv_bias=bias, out_bias=bias)
    return Stack(layers=[layer(mix, feed_forward(fields), norms=2 * width)] * n_layers)


def mistral(fields: Fields) -> Stack:
    """Mistral: Llama's layers, with a window in all of them where `sliding_window` is given."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    mix = full_attention(fields, window_tokens=fields.count_or_none("sliding_window"))
    return Stack(layers=[layer(mix, feed_forward(fields), norms=2 * width)] * n_layers)


def smollm3(fields: Fields) -> Stack:
    """SmolLM3: Llama's layers, some of them without positions."""
    fields.ignore("no_rope_layer_interval", "no_rope_layers", "layer_types", "max_window_layers")
    fields.expect_off("use_sliding_window")
    fields.expect("sliding_window")
    return llama(fields)


def granite(fields: Fields) -> Stack:
    """Granite: Llama's layers, with scales that are no parameters."""
    fields.ignore("attention_multiplier")
    return llama(fields)


def phi3(fields: Fields) -> Stack:
    """Phi-3 and Phi-4: as Mistral, with fused projections of the same size."""
    fields.expect_off("attention_bias", "lm_head_bias")
    fields.expect("full_attn_mod", 1)
    fields.expect("interpolate_factor", 1)
    return mistral(fields)


def _qwen_windows(fields: Fields, n_layers: int) -> Sequence[int | None]:
    """From `max_window_layers` on, if windows are used at all."""
    first = fields.count_or_zero("max_window_layers")
    if not fields.flag("use_sliding_window", otherwise=False):
        fields.ignore("sliding_window", "layer_types")
        return [None] * n_layers
    return windows(fields, n_layers, pattern=[index >= first for index in range(n_layers)])


def qwen2(fields: Fields) -> Stack:
    """Qwen2 and 2.5, MiMo-7B: biases on queries, keys and values."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.expect_on("attention_bias")
    feed = feed_forward(fields)
    return Stack(
        layers=[
            layer(full_attention(fields, window_tokens=window, qkv_bias=True), feed, norms=2 * width)
            for window in _qwen_windows(fields, n_layers)
        ]
    )


def qwen3(fields: Fields) -> Stack:
    """Qwen3: a norm of queries and one of keys, each of one head's dimension."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    bias = fields.flag("attention_bias", otherwise=False)
    feed, norms = feed_forward(fields), 2 * fields.count("head_dim")
    return Stack(
        layers=[
            layer(
                full_attention(fields, window_tokens=window, qkv_bias=bias, out_bias=bias, others=norms),
                feed,
                norms=2 * width,
            )
            for window in _qwen_windows(fields, n_layers)
        ]
    )


def nemotron_nas(fields: Fields) -> Stack:
    """Nemotron Super and Ultra: Llama's layers, each with its own KV heads and width, or without one of its parts."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.expect_off("attention_bias", "mlp_bias")
    fields.ignore("intermediate_size", "num_key_value_heads")  # null: each layer has its own
    configs = fields.take("block_configs")
    if not isinstance(configs, list) or len(configs) != n_layers:
        fields.fail("block_configs", f"a list of {n_layers}, one for each layer")
    return Stack(
        layers=[_nas_layer(fields, fields.inside(f"block_configs[{i}]", configs[i]), width) for i in range(n_layers)]
    )


def _nas_layer(fields: Fields, config: Fields, width: int) -> Block:
    attention, feed = config.nested("attention"), config.nested("ffn")
    if attention is None or feed is None:
        config.fail("attention", "an object, and so must ffn")
    mix, inner, norms = None, None, 0
    attention.expect_off("replace_with_linear", "unshifted_sink", "use_prefill_window_in_sink_attention")
    feed.expect_off("replace_with_linear")
    for name in ("num_sink_tokens", "sparsify", "window_length"):
        attention.expect(name)
    feed.expect("sparsify")
    if not attention.flag("no_op", otherwise=False):
        n_heads, group = fields.count("num_attention_heads"), attention.count("n_heads_in_group")
        if n_heads % group:
            attention.fail("n_heads_in_group", f"a divisor of the {n_heads} heads")
        mix = full_attention(fields, n_heads=n_heads, n_kv_heads=n_heads // group)
        norms += width
    if not feed.flag("no_op", otherwise=False):
        inner = gated(width, _nas_width(feed, width))
        norms += width
    attention.ignore("n_heads_in_group")
    feed.ignore("ffn_mult")
    for part, kind in ((attention, "attention"), (feed, "ffn"), (config, "block_configs")):
        part.refuse_unread(kind)
    return layer(mix, inner, norms=norms)


def _nas_width(feed: Fields, width: int) -> int:
    """Two thirds of the multiple, as gated feed-forwards have it, rounded up to a multiple of 256."""
    return -(-int(2 * feed.number("ffn_mult") * width / 3) // 256) * 256
