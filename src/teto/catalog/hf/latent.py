"""Families with multi-head latent attention: DeepSeek V2 to V3.2, Kimi K2, GLM-4.7-Flash and GLM-5."""

from collections.abc import Collection
from typing import Final

from teto.catalog.hf.fields import Fields
from teto.catalog.hf.parts import Feed, Mix, Stack, gated, layer, routed
from teto.physics.mixers import LatentAttention

__all__ = ["deepseek", "deepseek_v2", "latent_attention"]

_BIASED_ROUTING: Final = "noaux_tc"


def latent_attention(fields: Fields) -> Mix:
    """Low-rank projections as the fields say, with a selector where `index_topk` is given."""
    width, n_heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    rank, query_rank = fields.count("kv_lora_rank"), fields.count_or_none("q_lora_rank")
    nope, rope, value = (fields.count(name) for name in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    fields.expect("num_key_value_heads", n_heads)
    fields.expect("qk_head_dim", nope + rope)
    fields.ignore("head_dim")  # a rotary dimension, said again
    query_out = n_heads * (nope + rope)
    query = width * query_out if query_rank is None else query_rank * (width + query_out)
    params = query + width * (rank + rope) + rank * n_heads * (nope + value) + n_heads * value * width
    others = rank + (query_rank or 0)
    if fields.flag("attention_bias", otherwise=False):
        others += (query_rank or 0) + rank + rope + width
    selected, heads, dim = _selector(fields)
    if selected is not None:
        if query_rank is None:
            fields.fail("q_lora_rank", "given, as the selector starts from it")
        params += query_rank * heads * dim + width * (dim + heads)
        others += 2 * dim
    return Mix(
        mixer=LatentAttention(
            n_heads=n_heads,
            latent_dim=rank,
            rope_dim=rope,
            nope_dim=nope,
            value_dim=value,
            selected_tokens=selected,
            selector_heads=heads,
            selector_dim=dim,
        ),
        params=params,
        others=others,
    )


def _selector(fields: Fields) -> tuple[int | None, int, int]:
    selected = fields.count_or_none("index_topk")
    if selected is None:
        return None, 0, 0
    fields.ignore("indexer_rope_interleave")
    n_layers = fields.count("num_hidden_layers")
    # A layer that shares an earlier one's selection reads no keys for it, which no mixer expresses yet.
    for name, kinds in (("indexer_types", ("full",)), ("layer_types", ("deepseek_sparse_attention",))):
        if name in fields:
            fields.per_layer(name, str, n_layers, kinds)
    return selected, fields.count("index_n_heads"), fields.count("index_head_dim")


def _experts(fields: Fields, methods: Collection[str]) -> Feed:
    width, inner = fields.count("hidden_size"), fields.count("moe_intermediate_size")
    fields.expect("topk_method", *methods)
    fields.expect("num_experts", fields.count("n_routed_experts"))
    return routed(
        fields,
        of="n_routed_experts",
        expert_params=3 * width * inner,
        shared_params=3 * width * inner * fields.count_or_zero("n_shared_experts"),
        router_bias=_BIASED_ROUTING in methods,
    )


def deepseek(fields: Fields) -> Stack:
    """From DeepSeek V3 on, and its likes: each expert's score gets a learned correction."""
    return _stack(fields, (_BIASED_ROUTING,))


def deepseek_v2(fields: Fields) -> Stack:
    """DeepSeek V2: scores are taken as they are."""
    return _stack(fields, ("greedy", "group_limited_greedy"))


def _stack(fields: Fields, methods: Collection[str]) -> Stack:
    """The first layers dense, the others with experts, all under latent attention."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.expect("moe_layer_freq", 1)
    fields.expect_off("mlp_bias")
    fields.ignore("moe_router_dtype")
    mix, dense = latent_attention(fields), gated(width, fields.count("intermediate_size"))
    sparse = _experts(fields, methods)
    return Stack(
        layers=[layer(mix, dense if is_dense else sparse, norms=2 * width) for is_dense in _dense(fields, n_layers)]
    )


def _dense(fields: Fields, n_layers: int) -> list[bool]:
    """Which layers have no experts: those that `mlp_layer_types` names, else the first few."""
    first = fields.layers_or_zero("first_k_dense_replace", n_layers)
    if "mlp_layer_types" in fields:
        return [kind == "dense" for kind in fields.per_layer("mlp_layer_types", str, n_layers, ("dense", "sparse"))]
    return [index < first for index in range(n_layers)]
