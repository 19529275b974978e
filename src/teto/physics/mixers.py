"""What lets a token see the tokens before it: attention in its kinds, or a state of constant size.

Each kind answers for one layer and one sequence: the bytes that it keeps, and the traffic of a run of decode
steps or of a prefill: bytes read and written, and the FLOPs beyond the layer's projections.

Sources: grouped-query attention (Ainslie et al. 2023); sliding window (Mistral 7B report, 2023); multi-head
latent attention (DeepSeek-V2 report, 2024, with its absorbed decode); sparse selection (DeepSeek-V3.2 report,
2025); gated delta rule and Mamba-2 for constant states.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from teto.physics.values import Values, capped_sum, require_positive, smaller

__all__ = ["ConstantState", "FullAttention", "LatentAttention", "Mixer", "Passes", "Traffic"]

_SELECTOR_ELEMENT_BYTES = 1  # the selector's keys are kept in 8-bit floats


class Traffic(NamedTuple):
    """Bytes that memory must deliver or take, and FLOPs."""

    bytes: Values
    flops: Values


@dataclass(frozen=True, slots=True)
class Passes:
    """How a prefill of `n_tokens` after `past_tokens` goes through the layers: `count` passes of `batch_tokens`."""

    past_tokens: Values
    n_tokens: Values
    batch_tokens: Values
    count: Values

    def cache_positions(self, window_tokens: int | None) -> Values:
        """Positions read in all: each pass reads once whatever any of its tokens attends to."""
        before_last = self.count - 1
        last_tokens = self.n_tokens - self.batch_tokens * before_last
        end = self.past_tokens + self.n_tokens
        if window_tokens is None:
            return capped_sum(self.past_tokens, self.batch_tokens, before_last, None) + end
        reach = capped_sum(self.past_tokens, self.batch_tokens, before_last, window_tokens + self.batch_tokens)
        return reach + smaller(end, window_tokens + last_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class FullAttention:
    """Attention over every position, or over the last `window_tokens`; keys and values are kept apart.

    `n_kv_heads` heads are cached and shared by `n_heads` queries. Head dimensions are per head.
    `has_own_cache` is False in a layer that reads the cache of an earlier one.
    """

    n_heads: int
    n_kv_heads: int
    key_dim: int
    value_dim: int
    window_tokens: int | None = None
    has_own_cache: bool = True

    def __post_init__(self) -> None:
        require_positive(self, "n_heads", "n_kv_heads", "key_dim", "value_dim", "window_tokens")

    @property
    def _elements_per_token(self) -> int:
        return self.n_kv_heads * (self.key_dim + self.value_dim)

    def _written_tokens(self, n_tokens: Values) -> Values:
        return n_tokens if self.has_own_cache else 0.0 * n_tokens

    def cache_bytes(self, context_tokens: Values, element_bytes: Values) -> Values:
        """Bytes kept for one sequence of so many tokens."""
        kept = context_tokens if self.window_tokens is None else smaller(context_tokens, self.window_tokens)
        return self._elements_per_token * element_bytes * self._written_tokens(kept)

    def _flops(self, past_tokens: Values, n_tokens: Values) -> Values:
        attended = capped_sum(past_tokens, 1, n_tokens, self.window_tokens)
        return 2 * self.n_heads * (self.key_dim + self.value_dim) * attended

    def decode(self, past_tokens: Values, n_steps: Values, element_bytes: Values) -> Traffic:
        """Each step reads what it attends to and writes one position."""
        read = capped_sum(past_tokens, 1, n_steps, self.window_tokens)
        positions = read + self._written_tokens(n_steps)
        return Traffic(self._elements_per_token * element_bytes * positions, self._flops(past_tokens, n_steps))

    def prefill(self, passes: Passes, element_bytes: Values) -> Traffic:
        """Causal: the arithmetic of as many decode steps, but the cache is read once a pass."""
        positions = passes.cache_positions(self.window_tokens) + self._written_tokens(passes.n_tokens)
        flops = self._flops(passes.past_tokens, passes.n_tokens)
        return Traffic(self._elements_per_token * element_bytes * positions, flops)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention:
    """Multi-head latent attention: one latent and one rotary key are cached for all heads.

    Decode works on the latent itself (absorbed projections); prefill expands it to `nope_dim + rope_dim` keys
    and `value_dim` values per head. With `selected_tokens` a selector of `selector_heads` heads of
    `selector_dim` reads one key for every position, and attention reads only the positions that it selects.
    """

    n_heads: int
    latent_dim: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    selected_tokens: int | None = None
    selector_heads: int = 0
    selector_dim: int = 0

    def __post_init__(self) -> None:
        require_positive(self, "n_heads", "latent_dim", "rope_dim", "nope_dim", "value_dim", "selected_tokens")
        if self.selected_tokens is not None:
            require_positive(self, "selector_heads", "selector_dim")

    def cache_bytes(self, context_tokens: Values, element_bytes: Values) -> Values:
        """Bytes kept for one sequence of so many tokens."""
        selector = self.selector_dim * _SELECTOR_ELEMENT_BYTES
        return ((self.latent_dim + self.rope_dim) * element_bytes + selector) * context_tokens

    def _flops(self, past_tokens: Values, n_tokens: Values, dims_per_head: int) -> Values:
        selected = capped_sum(past_tokens, 1, n_tokens, self.selected_tokens)
        scanned = capped_sum(past_tokens, 1, n_tokens, None)
        return 2 * self.n_heads * dims_per_head * selected + 2 * self.selector_heads * self.selector_dim * scanned

    def decode(self, past_tokens: Values, n_steps: Values, element_bytes: Values) -> Traffic:
        """Scores on latent and rotary key, values on the latent: 2 · heads · (2 · latent + rope) a position."""
        selected = capped_sum(past_tokens, 1, n_steps, self.selected_tokens)
        scanned = capped_sum(past_tokens, 1, n_steps, None)
        read = (self.latent_dim + self.rope_dim) * element_bytes * selected
        read = read + self.selector_dim * _SELECTOR_ELEMENT_BYTES * scanned
        flops = self._flops(past_tokens, n_steps, 2 * self.latent_dim + self.rope_dim)
        return Traffic(read + self.cache_bytes(n_steps, element_bytes), flops)

    def prefill(self, passes: Passes, element_bytes: Values) -> Traffic:
        """Scores and values on expanded heads; the tokens of a pass together select nearly every position."""
        positions = passes.cache_positions(None) + passes.n_tokens
        dims = self.nope_dim + self.rope_dim + self.value_dim
        flops = self._flops(passes.past_tokens, passes.n_tokens, dims)
        return Traffic(self.cache_bytes(positions, element_bytes), flops)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantState:
    """Linear attention or a state space: a state of constant size, read and written whole at every step.

    `state_bytes` of one sequence and layer, in the precision that the engine keeps it in (the cache's element
    size does not change it); `flops_per_token` beyond the projections: decay, update and read-out.
    Known error: chunked prefill kernels do more arithmetic than the recurrence, which is not counted.
    """

    state_bytes: float
    flops_per_token: float

    def __post_init__(self) -> None:
        require_positive(self, "state_bytes", "flops_per_token")

    def cache_bytes(self, context_tokens: Values, element_bytes: Values) -> Values:
        """The state, however long the context; nothing before the first token."""
        return self.state_bytes * smaller(context_tokens, 1) + 0.0 * element_bytes

    def decode(self, past_tokens: Values, n_steps: Values, element_bytes: Values) -> Traffic:
        """Each step reads and writes the state."""
        steps = n_steps + 0.0 * (past_tokens + element_bytes)
        return Traffic(2 * self.state_bytes * steps, self.flops_per_token * steps)

    def prefill(self, passes: Passes, element_bytes: Values) -> Traffic:
        """Each pass reads and writes the state once."""
        count = passes.count + 0.0 * element_bytes
        return Traffic(2 * self.state_bytes * count, self.flops_per_token * passes.n_tokens)


Mixer: TypeAlias = FullAttention | LatentAttention | ConstantState
