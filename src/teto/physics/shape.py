"""A model's architecture as numbers: what one token must compute, and what it must keep."""

from dataclasses import dataclass

from teto.physics.mixers import Mixer, Passes, Traffic
from teto.physics.values import Values, require_not_negative, require_positive
from teto.units import KV_F16_BYTES

__all__ = ["Block", "Experts", "Shape"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """The routed experts of one block: each token goes through `n_active` of `n_experts`."""

    n_experts: int
    n_active: int
    expert_params: int

    def __post_init__(self) -> None:
        require_positive(self, "n_experts", "n_active", "expert_params")
        if self.n_active > self.n_experts:
            raise ValueError(f"{self.n_active} of {self.n_experts} experts cannot be active")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """`count` equal layers. Parameters are those of one layer.

    `mixer_params` are the projections of the mixer and `dense_params` the feed-forward that every token goes
    through (shared experts and router included): both are multiplied once per token. `other_params` (norms,
    biases, short convolutions) are read but hardly multiplied. A layer without a mixer keeps nothing.
    """

    count: int
    mixer: Mixer | None
    mixer_params: int
    dense_params: int
    experts: Experts | None = None
    other_params: int = 0

    def __post_init__(self) -> None:
        require_positive(self, "count")
        require_not_negative(self, "mixer_params", "dense_params", "other_params")

    @property
    def n_halves(self) -> int:
        """1 where a layer has a mixer only, or a feed-forward only, else 2."""
        has_feed_forward = self.dense_params > 0 or self.experts is not None
        return int(self.mixer is not None) + int(has_feed_forward)

    @property
    def active_params(self) -> int:
        """Parameters of one layer that one token multiplies."""
        routed = 0 if self.experts is None else self.experts.n_active * self.experts.expert_params
        return self.mixer_params + self.dense_params + routed

    @property
    def total_params(self) -> int:
        """Every parameter of one layer."""
        routed = 0 if self.experts is None else self.experts.n_experts * self.experts.expert_params
        return self.mixer_params + self.dense_params + routed + self.other_params


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A decoder: blocks, an output head, an input table.

    `table_params` is the input embedding, of which one row of `width` is read; it is 0 where the head is the
    same table. `other_params` are those outside blocks, head and table (the last norm).
    `context_limit_tokens` is None where the source states none.
    """

    name: str
    blocks: tuple[Block, ...]
    width: int
    head_params: int
    table_params: int
    context_limit_tokens: int | None
    other_params: int = 0

    def __post_init__(self) -> None:
        require_positive(self, "width", "head_params", "context_limit_tokens")
        require_not_negative(self, "table_params", "other_params")
        if not self.blocks:
            raise ValueError(f"{self.name}: a model has at least one block")

    @property
    def n_layers(self) -> int:
        """Layers, of whatever kind."""
        return sum(block.count for block in self.blocks)

    @property
    def n_whole_layers(self) -> float:
        """Layers, one with a mixer only, or a feed-forward only, as half: what launches and collectives go by."""
        return sum(block.count * block.n_halves for block in self.blocks) / 2

    @property
    def block_params(self) -> int:
        """Parameters in the blocks that one token multiplies."""
        return sum(block.count * block.active_params for block in self.blocks)

    @property
    def total_params(self) -> int:
        """Every parameter, the input table included."""
        blocks = sum(block.count * block.total_params for block in self.blocks)
        return blocks + self.head_params + self.table_params + self.other_params

    @property
    def active_params(self) -> int:
        """Parameters that one token touches: all but the experts not taken and the input table."""
        others = sum(block.count * block.other_params for block in self.blocks)
        return self.block_params + others + self.head_params + self.other_params

    @property
    def is_moe(self) -> bool:
        """Whether any block has routed experts."""
        return any(block.experts is not None for block in self.blocks)

    def kv_bytes(self, context_tokens: Values, element_bytes: Values = KV_F16_BYTES) -> Values:
        """Bytes that one sequence of so many tokens keeps, in all layers."""
        kept: Values = 0.0
        for block in self.blocks:
            if block.mixer is not None:
                kept = kept + block.count * block.mixer.cache_bytes(context_tokens, element_bytes)
        return kept

    def kv_bytes_per_token(self, element_bytes: float = KV_F16_BYTES) -> float:
        """Bytes that a token adds while no window is full: what is usually quoted. Constant states add none."""
        return float(self.kv_bytes(2, element_bytes)) - float(self.kv_bytes(1, element_bytes))

    def attend_decode(self, past_tokens: Values, n_steps: Values, element_bytes: Values) -> Traffic:
        """The mixers' traffic in `n_steps` decode steps of one sequence, all layers."""
        found = [
            (block.count, block.mixer.decode(past_tokens, n_steps, element_bytes))
            for block in self.blocks
            if block.mixer is not None
        ]
        return _summed(found)

    def attend_prefill(self, passes: Passes, element_bytes: Values) -> Traffic:
        """The mixers' traffic in a prefill of one sequence, all layers."""
        found = [
            (block.count, block.mixer.prefill(passes, element_bytes))
            for block in self.blocks
            if block.mixer is not None
        ]
        return _summed(found)


def _summed(parts: list[tuple[int, Traffic]]) -> Traffic:
    n_bytes: Values = 0.0
    flops: Values = 0.0
    for count, traffic in parts:
        n_bytes = n_bytes + count * traffic.bytes
        flops = flops + count * traffic.flops
    return Traffic(n_bytes, flops)
