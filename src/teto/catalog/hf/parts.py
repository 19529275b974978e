"""The parts that layers are made of, with their parameters: attention, feed-forward, experts, norms."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from teto.catalog.hf.fields import Fields
from teto.physics.mixers import FullAttention, Mixer
from teto.physics.shape import Block, Experts

__all__ = ["Feed", "Mix", "Stack", "full_attention", "gated", "grouped", "head_width", "layer", "plain", "routed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """A mixer with its projections; `others` are its norms, biases, sinks and short convolutions."""

    mixer: Mixer | None
    params: int
    others: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A feed-forward: what every token goes through, routed experts, and biases."""

    params: int = 0
    experts: Experts | None = None
    others: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """What a family knows of a model: its layers, what stands around them, and what was left out or simplified.

    `final_norm` counts the parameters of the last norm, where they are not one for each unit of width.
    `extra_table` counts tables of which a row is read, beside the input embedding.
    """

    layers: Sequence[Block]
    final_norm: int | None = None
    extra_table: int = 0
    notes: tuple[str, ...] = ()


def layer(mix: Mix | None, feed: Feed | None, *, norms: int) -> Block:
    """One layer; `norms` counts the parameters of its own norms."""
    mix = mix or Mix(mixer=None, params=0)
    feed = feed or Feed()
    return Block(
        count=1,
        mixer=mix.mixer,
        mixer_params=mix.params,
        dense_params=feed.params,
        experts=feed.experts,
        other_params=norms + mix.others + feed.others,
    )


def grouped(layers: Iterable[Block]) -> tuple[Block, ...]:
    """Equal layers put together, in the order in which each kind comes first."""
    counts = Counter(layers)
    return tuple(
        Block(
            count=count,
            mixer=block.mixer,
            mixer_params=block.mixer_params,
            dense_params=block.dense_params,
            experts=block.experts,
            other_params=block.other_params,
        )
        for block, count in counts.items()
    )


def head_width(fields: Fields, n_heads: int) -> int:
    """`head_dim` where it is given, else each head's equal share of `hidden_size`."""
    if "head_dim" in fields:
        return fields.count("head_dim")
    fields.ignore("head_dim")
    width = fields.count("hidden_size")
    if width % n_heads:
        fields.fail("hidden_size", f"a multiple of the {n_heads} heads, as no head_dim is given")
    return width // n_heads


def full_attention(
    fields: Fields,
    *,
    n_heads: int | None = None,
    n_kv_heads: int | None = None,
    kv_field: str = "num_key_value_heads",
    head_dim: int | None = None,
    value_dim: int | None = None,
    window_tokens: int | None = None,
    qkv_bias: bool = False,
    out_bias: bool = False,
    others: int = 0,
    gate_dims: int = 0,
    shares_key_as_value: bool = False,
    has_own_cache: bool = True,
) -> Mix:
    """Grouped-query attention as `hidden_size`, `num_attention_heads`, `num_key_value_heads`, `head_dim` say.

    Args:
        fields: The config; a number given beside it wins over the field of that name.
        n_heads: Query heads.
        n_kv_heads: Heads of keys and values.
        kv_field: The field that states them, where `n_kv_heads` is not given.
        head_dim: Of queries and keys, and of values where `value_dim` is not given.
        value_dim: Of values.
        window_tokens: The sliding window.
        qkv_bias: Whether queries, keys and values have biases.
        out_bias: Whether the output has one.
        others: Parameters of norms and sinks.
        gate_dims: Outputs of a projection that gates the result.
        shares_key_as_value: Whether one projection makes both.
        has_own_cache: False where an earlier layer's keys and values are read.
    """
    width = fields.count("hidden_size")
    n_heads = n_heads or fields.count("num_attention_heads")
    n_kv_heads = n_kv_heads or fields.count(kv_field, n_heads)
    if n_heads % n_kv_heads:
        fields.fail(kv_field, f"a divisor of the {n_heads} heads")
    key_dim = head_dim or head_width(fields, n_heads)
    value_dim = value_dim or key_dim
    query, key = n_heads * key_dim, n_kv_heads * key_dim
    value = 0 if shares_key_as_value else n_kv_heads * value_dim
    if not has_own_cache:
        key = value = 0
    return Mix(
        mixer=FullAttention(
            n_heads=n_heads,
            n_kv_heads=n_kv_heads,
            key_dim=key_dim,
            value_dim=value_dim,
            window_tokens=window_tokens,
            has_own_cache=has_own_cache,
        ),
        params=width * (query + key + value + gate_dims) + n_heads * value_dim * width,
        others=others + (query + key + value if qkv_bias else 0) + (width if out_bias else 0),
    )


def gated(width: int, inner: int, *, bias: bool = False) -> Feed:
    """Gate, up and down."""
    return Feed(params=3 * width * inner, others=2 * inner + width if bias else 0)


def plain(width: int, inner: int, *, bias: bool = False) -> Feed:
    """Up and down."""
    return Feed(params=2 * width * inner, others=inner + width if bias else 0)


def routed(
    fields: Fields,
    *,
    of: str,
    active: str = "num_experts_per_tok",
    expert_params: int,
    shared_params: int = 0,
    router_bias: bool = False,
) -> Feed:
    """Experts behind a router of one row each, and what every token goes through beside them.

    Args:
        fields: The config.
        of: The field that states how many experts there are.
        active: The field that states how many of them a token goes through.
        expert_params: Parameters of one.
        shared_params: Parameters beside them.
        router_bias: Whether each expert's score has a learned correction.
    """
    width, n_experts, n_active = fields.count("hidden_size"), fields.count(of), fields.count(active)
    if n_active > n_experts:
        fields.fail(active, f"at most {n_experts}, the experts of {of!r}")
    return Feed(
        params=width * n_experts + shared_params,
        experts=Experts(n_experts=n_experts, n_active=n_active, expert_params=expert_params),
        others=n_experts if router_bias else 0,
    )
