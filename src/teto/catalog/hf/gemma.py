"""Gemma: windows in most layers, norms around every part, and from 4 on experts and tables for each layer."""

from typing import Final

from teto.catalog.hf.dense import windows
from teto.catalog.hf.fields import Fields
from teto.catalog.hf.parts import Feed, Mix, Stack, full_attention, gated, layer, routed

__all__ = ["GEMMA3_DEFAULTS", "gemma", "gemma2", "gemma3", "gemma4"]

# What the published configs of Gemma 3 4B leave out; transformers' Gemma3TextConfig fills it in.
GEMMA3_DEFAULTS: Final = {
    "head_dim": 256,
    "max_position_embeddings": 131072,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 262208,
}


def gemma(fields: Fields) -> Stack:
    """Gemma 1: Llama's layers with heads wider than their share."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.expect_off("attention_bias")
    mix = full_attention(fields, head_dim=fields.count("head_dim"))
    feed = gated(width, fields.count("intermediate_size"))
    return Stack(layers=[layer(mix, feed, norms=2 * width)] * n_layers)


def _alternating(fields: Fields, *, global_every: int, head_norms: int) -> Stack:
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.expect_off("attention_bias")
    fields.expect_off("use_bidirectional_attention")
    feed = gated(width, fields.count("intermediate_size"))
    slides = [(index + 1) % global_every != 0 for index in range(n_layers)]
    return Stack(
        layers=[
            layer(full_attention(fields, window_tokens=window, others=head_norms), feed, norms=4 * width)
            for window in windows(fields, n_layers, pattern=slides)
        ]
    )


def gemma2(fields: Fields) -> Stack:
    """Gemma 2: a window in every other layer, norms before and after each part."""
    return _alternating(fields, global_every=2, head_norms=0)


def gemma3(fields: Fields) -> Stack:
    """Gemma 3: a window in five layers of six, and norms of queries and keys."""
    every = fields.count("sliding_window_pattern", fields.count("_sliding_window_pattern", 6))
    return _alternating(fields, global_every=every, head_norms=2 * fields.count("head_dim"))


def gemma4(fields: Fields) -> Stack:
    """Gemma 4: wider heads in the layers that see everything, and last layers that reuse earlier keys and values."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.expect("use_bidirectional_attention", "vision")
    first_shared = n_layers - fields.layers_or_zero("num_kv_shared_layers", n_layers)
    doubles = fields.flag("use_double_wide_mlp", otherwise=False)
    side = fields.count_or_zero("hidden_size_per_layer_input")
    per_token = fields.count("vocab_size_per_layer_input", fields.count("vocab_size"))
    slides = [(index + 1) % 6 != 0 for index in range(n_layers)]
    layers = []
    for index, window in enumerate(windows(fields, n_layers, pattern=slides)):
        feed, norms = _gemma4_feed(fields, widening=2 if doubles and index >= first_shared else 1)
        if side:  # each layer has its part of the projection of the embedding, a gate and a way back
            feed = Feed(params=feed.params + 3 * width * side, experts=feed.experts, others=feed.others + width)
        layers.append(
            layer(
                _gemma4_attention(fields, window, has_own_cache=index < first_shared),
                feed,
                norms=norms,
            )
        )
    return Stack(
        layers=layers,
        final_norm=width + side,
        extra_table=per_token * n_layers * side,
        notes=("of the tables for each layer one row of the model's width is counted as read",) if side else (),
    )


def _gemma4_attention(fields: Fields, window: int | None, *, has_own_cache: bool) -> Mix:
    bias = fields.flag("attention_bias", otherwise=False)
    shares = fields.flag("attention_k_eq_v", otherwise=False)
    global_dim, global_field = fields.count("global_head_dim", 512), "num_global_key_value_heads"
    has_global_heads = fields.count_or_none(global_field) is not None and window is None and shares
    head_dim = fields.count("head_dim") if window is not None else global_dim
    return full_attention(
        fields,
        kv_field=global_field if has_global_heads else "num_key_value_heads",
        head_dim=head_dim,
        window_tokens=window,
        qkv_bias=bias,
        out_bias=bias,
        shares_key_as_value=shares and window is None,
        others=head_dim * (2 if has_own_cache else 1),
        has_own_cache=has_own_cache,
    )


def _gemma4_feed(fields: Fields, *, widening: int) -> tuple[Feed, int]:
    """The dense feed-forward, experts beside it, and the parameters of the norms around both."""
    width = fields.count("hidden_size")
    dense = gated(width, widening * fields.count("intermediate_size"))
    if not fields.flag("enable_moe_block", otherwise=False):
        fields.ignore("expert_intermediate_size", "moe_intermediate_size", "num_experts", "top_k_experts")
        return dense, 4 * width
    inner = fields.count("moe_intermediate_size")
    fields.expect("expert_intermediate_size", inner)
    feed = routed(
        fields,
        of="num_experts",
        active="top_k_experts",
        expert_params=3 * width * inner,
        shared_params=dense.params,
        router_bias=True,  # a scale for each expert, and one for each input
    )
    return Feed(params=feed.params, experts=feed.experts, others=feed.others + width), 7 * width
