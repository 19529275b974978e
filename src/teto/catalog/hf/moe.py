"""Families with routed experts under full or sliding attention."""

from teto.catalog.hf.dense import feed_forward, windows
from teto.catalog.hf.fields import Fields
from teto.catalog.hf.parts import Feed, Mix, Stack, full_attention, gated, head_width, layer, routed

__all__ = [
    "glm4_moe",
    "gpt_oss",
    "llama4",
    "mimo_v2",
    "minimax_m2",
    "mixtral",
    "qwen2_moe",
    "qwen3_moe",
    "qwen_experts",
    "step3",
]


def mixtral(fields: Fields) -> Stack:
    """Mixtral: every feed-forward is `num_local_experts` gated experts."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    feed = routed(
        fields,
        of="num_local_experts",
        expert_params=3 * width * fields.count("intermediate_size"),
    )
    mix = full_attention(fields, window_tokens=fields.count_or_none("sliding_window"))
    return Stack(layers=[layer(mix, feed, norms=2 * width)] * n_layers)


def qwen_experts(fields: Fields) -> Feed:
    """Qwen's experts, and the shared one with its gate of one row where there is one."""
    width = fields.count("hidden_size")
    shared = fields.count_or_zero("shared_expert_intermediate_size")
    return routed(
        fields,
        of="num_experts",
        expert_params=3 * width * fields.count("moe_intermediate_size"),
        shared_params=3 * width * shared + width if shared else 0,
    )


def qwen_feeds(fields: Fields, n_layers: int) -> list[Feed]:
    """Experts in every `decoder_sparse_step`-th layer but those of `mlp_only_layers`."""
    step, dense = fields.count("decoder_sparse_step", 1), fields.positions("mlp_only_layers", n_layers)
    sparse = [index not in dense and (index + 1) % step == 0 for index in range(n_layers)]
    if all(sparse):
        fields.ignore("intermediate_size")
    return [qwen_experts(fields) if is_sparse else feed_forward(fields) for is_sparse in sparse]


def qwen2_moe(fields: Fields) -> Stack:
    """Qwen1.5 and Qwen2 with experts: biases on queries, keys and values, a shared expert."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.expect_off("use_sliding_window")
    fields.ignore("sliding_window", "max_window_layers")
    mix = full_attention(fields, qkv_bias=fields.flag("qkv_bias", otherwise=True))
    return Stack(layers=[layer(mix, feed, norms=2 * width) for feed in qwen_feeds(fields, n_layers)])


def qwen3_moe(fields: Fields) -> Stack:
    """Qwen3 with experts: Qwen3's attention over them."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.expect_off("use_sliding_window")
    fields.expect_on("use_qk_norm")
    fields.ignore("sliding_window", "max_window_layers")
    bias = fields.flag("attention_bias", otherwise=False)
    fields.expect("qkv_bias", bias)
    mix = full_attention(fields, qkv_bias=bias, out_bias=bias, others=2 * fields.count("head_dim"))
    return Stack(layers=[layer(mix, feed, norms=2 * width) for feed in qwen_feeds(fields, n_layers)])


def gpt_oss(fields: Fields) -> Stack:
    """gpt-oss: biases everywhere, a sink for each head, windows in every other layer."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    inner = fields.count("intermediate_size")
    fields.ignore("experts_per_token")  # said twice
    bias = fields.flag("attention_bias", otherwise=True)
    feed = routed(
        fields,
        of="num_local_experts",
        expert_params=3 * width * inner + 2 * inner + width,
        router_bias=True,
    )
    slides = [index % 2 == 0 for index in range(n_layers)]
    return Stack(
        layers=[
            layer(
                full_attention(
                    fields,
                    window_tokens=window,
                    qkv_bias=bias,
                    out_bias=bias,
                    others=fields.count("num_attention_heads"),
                ),
                feed,
                norms=2 * width,
            )
            for window in windows(fields, n_layers, pattern=slides)
        ]
    )


def llama4(fields: Fields) -> Stack:
    """Llama 4: experts in every `interleave_moe_layer_step`-th layer, chunks in three layers of four."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    inner, step = fields.count("intermediate_size"), fields.count("interleave_moe_layer_step", 1)
    fields.ignore("use_qk_norm", "attn_temperature_tuning", "attn_scale", "floor_scale", "for_llm_compressor")
    bias = fields.flag("attention_bias", otherwise=False)
    sparse = routed(
        fields,
        of="num_local_experts",
        expert_params=3 * width * inner,
        shared_params=3 * width * inner,
    )
    dense = gated(width, fields.count("intermediate_size_mlp"))
    moe_layers = fields.positions("moe_layers", n_layers) or range(step - 1, n_layers, step)
    global_every, chunk = fields.count("no_rope_layer_interval", 4), fields.count("attention_chunk_size")
    if fields.take("no_rope_layers"):  # 0 marks the layers without positions, which see everything
        chunked = [bool(value) for value in fields.per_layer("no_rope_layers", int, n_layers, (0, 1))]
    else:
        chunked = [(index + 1) % global_every != 0 for index in range(n_layers)]
    return Stack(
        layers=[
            layer(
                full_attention(fields, window_tokens=chunk if chunked[index] else None, qkv_bias=bias, out_bias=bias),
                sparse if index in moe_layers else dense,
                norms=2 * width,
            )
            for index in range(n_layers)
        ],
        notes=(f"chunked attention counted as a window of {chunk} tokens; a chunk just begun reads less",),
    )


def glm4_moe(fields: Fields) -> Stack:
    """GLM-4.5 to 4.7: biases on queries, keys and values, first layers dense, a shared expert."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    inner = fields.count("moe_intermediate_size")
    first = fields.layers_or_zero("first_k_dense_replace", n_layers)
    fields.ignore("topk_method")
    head_dim = head_width(fields, fields.count("num_attention_heads"))
    mix = full_attention(
        fields,
        qkv_bias=fields.flag("attention_bias", otherwise=False),
        others=2 * head_dim if fields.flag("use_qk_norm", otherwise=False) else 0,
    )
    sparse = routed(
        fields,
        of="n_routed_experts",
        expert_params=3 * width * inner,
        shared_params=3 * width * inner * fields.count_or_zero("n_shared_experts"),
        router_bias=True,
    )
    dense = gated(width, fields.count("intermediate_size"))
    feeds = [dense if index < first else sparse for index in range(n_layers)]
    return Stack(layers=[layer(mix, feed, norms=2 * width) for feed in feeds])


def minimax_m2(fields: Fields) -> Stack:
    """MiniMax M2: experts in every layer, norms over all heads of queries and of keys."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.expect("shared_intermediate_size", 0)
    fields.expect("qk_norm_type", "per_layer")
    fields.expect("sliding_window")
    if "attn_type_list" in fields:  # 1 is full attention, 0 was linear attention in an earlier model
        fields.per_layer("attn_type_list", int, n_layers, (1,))
    feed = routed(
        fields,
        of="num_local_experts",
        expert_params=3 * width * fields.count("intermediate_size"),
        router_bias=fields.flag("use_routing_bias", otherwise=False),
    )
    norms = 0
    if fields.flag("use_qk_norm", otherwise=False):
        heads = fields.count("num_attention_heads") + fields.count("num_key_value_heads")
        norms = heads * fields.count("head_dim")
    mix: Mix = full_attention(fields, others=norms)
    return Stack(layers=[layer(mix, feed, norms=2 * width)] * n_layers)


def mimo_v2(fields: Fields) -> Stack:
    """MiMo-V2: heads of their own in the layers that slide, with sinks; values narrower than keys."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.ignore(
        "attention_chunk_size", "attention_value_scale", "sliding_window_size", "swa_rope_theta", "topk_method"
    )
    fields.expect_off("attention_bias", "add_full_attention_sink_bias")
    n_heads = fields.count("swa_num_attention_heads")
    sliding = full_attention(
        fields,
        n_heads=n_heads,
        kv_field="swa_num_key_value_heads",
        head_dim=fields.count("swa_head_dim"),
        value_dim=fields.count("swa_v_head_dim"),
        window_tokens=fields.count("sliding_window"),
        others=n_heads if fields.flag("add_swa_attention_sink_bias", otherwise=False) else 0,
    )
    full = full_attention(fields, value_dim=fields.count("v_head_dim"))
    inner = fields.count("moe_intermediate_size")
    sparse = routed(
        fields,
        of="n_routed_experts",
        expert_params=3 * width * inner,
        shared_params=3 * width * inner * fields.count_or_zero("n_shared_experts"),
        router_bias=True,
    )
    dense = gated(width, fields.count("intermediate_size"))
    slides = fields.per_layer("hybrid_layer_pattern", int, n_layers, (0, 1))
    routes = fields.per_layer("moe_layer_freq", int, n_layers, (0, 1))
    return Stack(
        layers=[
            layer(sliding if slides[index] else full, sparse if routes[index] else dense, norms=2 * width)
            for index in range(n_layers)
        ]
    )


def step3(fields: Fields) -> Stack:
    """Step 3.x: windows in three layers of four, norms of queries and keys, first layers dense, a shared expert."""
    n_layers, width = fields.count("num_hidden_layers"), fields.count("hidden_size")
    fields.ignore("moe_router_scaling_factor")
    norms, first = 2 * fields.count("head_dim"), fields.layers_or_zero("first_k_dense_replace", n_layers)
    fields.expect("n_shared_experts", 1)
    sparse = routed(
        fields,
        of="num_experts",
        expert_params=3 * width * fields.count("moe_intermediate_size"),
        shared_params=3 * width * fields.count("share_expert_dim"),
        router_bias=fields.flag("use_moe_router_bias", otherwise=False),
    )
    dense = gated(width, fields.count("intermediate_size"))
    slides = [index % 4 != 0 for index in range(n_layers)]
    return Stack(
        layers=[
            layer(
                full_attention(fields, window_tokens=window, others=norms),
                dense if index < first else sparse,
                norms=2 * width,
            )
            for index, window in enumerate(windows(fields, n_layers, pattern=slides))
        ]
    )
