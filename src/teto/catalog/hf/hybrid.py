"""Families that mix attention with layers of constant state."""

from collections.abc import Sequence
from typing import Final

from teto.catalog.hf.dense import feed_forward
from teto.catalog.hf.fields import Fields
from teto.catalog.hf.latent import latent_attention
from teto.catalog.hf.moe import qwen_experts
from teto.catalog.hf.parts import Feed, Mix, Stack, full_attention, gated, head_width, layer, plain, routed
from teto.catalog.hf.states import gated_delta, kimi_delta, mamba1, mamba2, short_convolution, state_bytes_per_element
from teto.physics.shape import Block

__all__ = ["jamba", "kimi_linear", "lfm2", "mamba", "mamba_2", "nemotron_h", "qwen_next"]

_QWEN_KINDS: Final = ("linear_attention", "full_attention")
_NEMOTRON_LETTERS: Final = {"M": "mamba", "-": "mlp", "*": "attention", "E": "moe"}


def qwen_next(fields: Fields) -> Stack:
    """Qwen3-Next and Qwen3.5: gated delta net, with gated full attention in every few layers; dense or experts."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    head_dim = fields.count("head_dim")
    bias = fields.flag("attention_bias", otherwise=False)
    gates = fields.flag("attn_output_gate", otherwise=True)
    attention = full_attention(
        fields,
        qkv_bias=bias,
        out_bias=bias,
        others=2 * head_dim,
        gate_dims=fields.count("num_attention_heads") * head_dim if gates else 0,
    )
    linear, dense = gated_delta(fields), fields.positions("mlp_only_layers", n_layers)
    fields.expect("decoder_sparse_step", 1)
    fields.ignore("output_gate_type")  # an activation
    has_experts = "num_experts" in fields
    if has_experts:
        fields.expect("mlp_only_layers", [])
        fields.ignore("intermediate_size")
    elif dense:
        fields.fail("mlp_only_layers", "empty, as there are no experts")
    feed = qwen_experts(fields) if has_experts else feed_forward(fields)
    mixes = [attention if kind == "full_attention" else linear for kind in _qwen_kinds(fields, n_layers)]
    return Stack(layers=[layer(mix, feed, norms=2 * width) for mix in mixes])


def _qwen_kinds(fields: Fields, n_layers: int) -> Sequence[str]:
    every = fields.count("full_attention_interval", 4)
    if "layer_types" in fields:
        return fields.per_layer("layer_types", str, n_layers, _QWEN_KINDS)
    return [_QWEN_KINDS[(index + 1) % every == 0] for index in range(n_layers)]


def nemotron_h(fields: Fields) -> Stack:
    """Nemotron-H and Nemotron 3: each layer is one part with one norm; feed-forwards are not gated."""
    width = fields.count("hidden_size")
    kinds = _nemotron_kinds(fields)
    fields.ignore(
        "chunk_size", "mamba_hidden_act", "mlp_hidden_act", "moe_shared_expert_overlap", "sliding_window",
        "time_step_floor", "time_step_limit", "time_step_max", "time_step_min", "time_step_rank",
        "use_mamba_kernels", "expand",
    )  # fmt: skip
    parts = {kind: _nemotron_layer(fields, kind, width) for kind in dict.fromkeys(kinds)}
    if "mlp" not in parts:
        fields.ignore("intermediate_size")
    return Stack(layers=[parts[kind] for kind in kinds])


def _nemotron_kinds(fields: Fields) -> Sequence[str]:
    if "layers_block_type" in fields:
        listed = fields.take("layers_block_type")
        if not isinstance(listed, list) or not listed:
            fields.fail("layers_block_type", "a list of one kind for each layer")
        n_layers = fields.count("num_hidden_layers", len(listed))
        return fields.per_layer("layers_block_type", str, n_layers, tuple(_NEMOTRON_LETTERS.values()))
    n_layers = fields.count("num_hidden_layers")
    letters = fields.per_layer("hybrid_override_pattern", str, n_layers, tuple(_NEMOTRON_LETTERS))
    return [_NEMOTRON_LETTERS[letter] for letter in letters]


def _nemotron_layer(fields: Fields, kind: str, width: int) -> Block:
    bias = fields.flag("mlp_bias", otherwise=False)
    if kind == "mamba":
        return layer(_nemotron_mamba(fields, width), None, norms=width)
    if kind == "attention":
        head_dim = fields.count("head_dim", fields.count("attention_head_dim", 128))
        has_bias = fields.flag("attention_bias", otherwise=False)
        return layer(full_attention(fields, head_dim=head_dim, qkv_bias=has_bias, out_bias=has_bias), None, norms=width)
    if kind == "mlp":
        return layer(None, plain(width, fields.count("intermediate_size"), bias=bias), norms=width)
    return layer(None, _nemotron_experts(fields, width), norms=width)


def _nemotron_mamba(fields: Fields, width: int) -> Mix:
    return mamba2(
        width,
        n_heads=fields.count("mamba_num_heads"),
        head_dim=fields.count("mamba_head_dim"),
        groups=fields.count("n_groups"),
        state=fields.count("ssm_state_size"),
        kernel=fields.count("conv_kernel"),
        element_bytes=state_bytes_per_element(fields, "mamba_ssm_cache_dtype"),
        conv_bias=fields.flag("use_conv_bias", otherwise=True),
        bias=fields.flag("mamba_proj_bias", otherwise=False) or fields.flag("use_bias", otherwise=False),
    )


def _nemotron_experts(fields: Fields, width: int) -> Feed:
    """Experts work in `moe_latent_size` dimensions where it is given, between a projection down and one up."""
    latent, inner = fields.count_or_none("moe_latent_size"), fields.count("moe_intermediate_size")
    shared = fields.count_or_zero("n_shared_experts") * fields.count_or_zero("moe_shared_expert_intermediate_size")
    return routed(
        fields,
        of="n_routed_experts",
        expert_params=2 * (latent or width) * inner,
        shared_params=2 * width * shared + (2 * width * latent if latent else 0),
        router_bias=True,
    )


def kimi_linear(fields: Fields) -> Stack:
    """Kimi Linear and K3: Kimi delta attention with latent attention in between, experts in a narrower space."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.ignore(
        "activation_situ_beta", "activation_situ_linear_beta", "mla_use_nope", "moe_renormalize",
        "moe_router_activation_func", "num_expert_group", "topk_method", "use_grouped_topk",
    )  # fmt: skip
    linear = fields.nested("linear_attn_config")
    if linear is None:
        fields.fail("linear_attn_config", "given")
    latent_layers, delta_layers = (
        linear.positions(name, n_layers, first=1) for name in ("full_attn_layers", "kda_layers")
    )
    if sorted([*latent_layers, *delta_layers]) != list(range(1, n_layers + 1)):
        linear.fail("full_attn_layers", f"with kda_layers all layers from 1 to {n_layers}")
    attention, delta = latent_attention(fields), kimi_delta(linear, width)
    linear.refuse_unread("linear_attn_config")
    if fields.flag("mla_use_output_gate", otherwise=False):
        gate = width * fields.count("num_attention_heads") * fields.count("v_head_dim")
        attention = Mix(mixer=attention.mixer, params=attention.params + gate, others=attention.others)
    # Attention over the residuals of earlier layers: a query and a norm before each part, and at the end.
    residual = 2 * width if fields.take("attn_res_block_size") is not None else 0
    dense, sparse = gated(width, fields.count("intermediate_size")), _kimi_experts(fields, width)
    first = fields.layers_or_zero("first_k_dense_replace", n_layers)
    fields.expect("moe_layer_freq", 1)
    return Stack(
        layers=[
            layer(
                attention if index + 1 in latent_layers else delta,
                dense if index < first else sparse,
                norms=2 * width + 2 * residual,
            )
            for index in range(n_layers)
        ],
        final_norm=width + residual,
    )


def _kimi_experts(fields: Fields, width: int) -> Feed:
    inner, latent = fields.count("moe_intermediate_size"), fields.count_or_none("routed_expert_hidden_size")
    feed = routed(
        fields,
        of="num_experts",
        active="num_experts_per_token",
        expert_params=3 * (latent or width) * inner,
        shared_params=3 * width * inner * fields.count_or_zero("num_shared_experts")
        + (2 * width * latent if latent else 0),
        router_bias=True,
    )
    norm = latent if latent and fields.flag("latent_moe_use_norm", otherwise=False) else 0
    return Feed(params=feed.params, experts=feed.experts, others=feed.others + norm)


def jamba(fields: Fields) -> Stack:
    """Jamba: Mamba with an attention layer in every few, and experts in every few feed-forwards."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.ignore("use_mamba_kernels", "sliding_window", "mamba_inner_layernorms")
    attention = full_attention(fields)
    state = mamba1(
        width,
        inner=fields.count("mamba_expand") * width,
        state=fields.count("mamba_d_state"),
        rank=fields.count("mamba_dt_rank"),
        kernel=fields.count("mamba_d_conv"),
        conv_bias=fields.flag("mamba_conv_bias", otherwise=True),
        bias=fields.flag("mamba_proj_bias", otherwise=False),
        has_inner_norms=True,
    )
    dense = gated(width, fields.count("intermediate_size"))
    sparse = routed(fields, of="num_experts", expert_params=dense.params) if fields.count("num_experts") > 1 else dense
    fields.ignore("num_experts_per_tok")
    attends = _every(fields, "attn_layer", n_layers)
    routes = _every(fields, "expert_layer", n_layers)
    return Stack(
        layers=[
            layer(attention if attends[index] else state, sparse if routes[index] else dense, norms=2 * width)
            for index in range(n_layers)
        ]
    )


def _every(fields: Fields, kind: str, n_layers: int) -> list[bool]:
    period, offset = fields.count(f"{kind}_period"), fields.count_or_zero(f"{kind}_offset")
    if offset >= period:
        fields.fail(f"{kind}_offset", f"below {period}, the field {kind}_period")
    return [index % period == offset for index in range(n_layers)]


def mamba(fields: Fields) -> Stack:
    """Mamba: nothing but Mamba layers."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.ignore(
        "d_inner", "d_model", "expand", "fused_add_norm", "n_layer", "pad_vocab_size_multiple", "rms_norm", "ssm_cfg",
        "time_step_floor", "time_step_init_scheme", "time_step_max", "time_step_min", "time_step_scale",
        "use_mambapy",
    )  # fmt: skip
    mix = mamba1(
        width,
        inner=fields.count("intermediate_size"),
        state=fields.count("state_size"),
        rank=fields.count("time_step_rank"),
        kernel=fields.count("conv_kernel"),
        conv_bias=fields.flag("use_conv_bias", otherwise=True),
        bias=fields.flag("use_bias", otherwise=False),
        has_inner_norms=False,
    )
    return Stack(layers=[layer(mix, None, norms=width)] * n_layers)


def mamba_2(fields: Fields) -> Stack:
    """Mamba-2: nothing but Mamba-2 layers."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.ignore(
        "chunk_size", "expand", "norm_before_gate", "rms_norm", "time_step_floor", "time_step_limit", "time_step_max",
        "time_step_min", "time_step_rank",
    )  # fmt: skip
    mix = mamba2(
        width,
        n_heads=fields.count("num_heads"),
        head_dim=fields.count("head_dim"),
        groups=fields.count("n_groups"),
        state=fields.count("state_size"),
        kernel=fields.count("conv_kernel"),
        element_bytes=4,
        conv_bias=fields.flag("use_conv_bias", otherwise=True),
        bias=fields.flag("use_bias", otherwise=False),
    )
    return Stack(layers=[layer(mix, None, norms=width)] * n_layers)


def lfm2(fields: Fields) -> Stack:
    """LFM2: short convolutions, with attention that has norms of queries and keys in between."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.ignore(
        "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale", "block_use_swiglu", "block_use_xavier_init",
        "conv_use_xavier_init", "num_heads", "use_pos_enc", "tie_embedding", "theta",
    )  # fmt: skip
    for name in ("block_dim", "conv_dim", "conv_dim_out"):
        fields.expect(name, width)
    head_dim = head_width(fields, fields.count("num_attention_heads"))
    convolution = short_convolution(
        width, kernel=fields.count("conv_L_cache"), bias=fields.flag("conv_bias", otherwise=False)
    )
    attention = full_attention(fields, head_dim=head_dim, others=2 * head_dim)
    feed = gated(width, _lfm2_width(fields))
    if "layer_types" in fields:
        attends = [
            kind != "conv" for kind in fields.per_layer("layer_types", str, n_layers, ("conv", "full_attention"))
        ]
    else:
        full = fields.positions("full_attn_idxs", n_layers)
        attends = [index in full for index in range(n_layers)]
    return Stack(layers=[layer(attention if is_full else convolution, feed, norms=2 * width) for is_full in attends])


def _lfm2_width(fields: Fields) -> int:
    """As given, or two thirds of it, times a multiplier, rounded up."""
    stated = fields.count("intermediate_size", 1)
    inner = fields.count("block_ff_dim", stated)
    multiplier, multiple = fields.number("block_ffn_dim_multiplier", 1.0), fields.count("block_multiple_of", 256)
    if not fields.flag("block_auto_adjust_ff_dim", otherwise=True):
        return inner
    inner = int(multiplier * int(2 * inner / 3))
    return -(-inner // multiple) * multiple
