"""What fits: weights and caches in the memory that is really free."""

from dataclasses import dataclass
from math import floor

from teto.physics.precision import WeightBytes
from teto.physics.shape import Shape
from teto.physics.values import require_not_negative
from teto.units import KV_F16_BYTES

__all__ = ["Fitting", "fit_in_memory", "longest_context_tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """Bytes of a deployment against memory; `free_bytes` is negative by as much as does not fit.

    `max_sequences` at the given context, and `max_context_tokens` at the given batch, each with all that is
    left after the weights. `max_context_tokens` is capped by the model's own limit.
    """

    weight_bytes: float
    kv_bytes: float
    other_bytes: float
    memory_bytes: float
    max_sequences: int
    max_context_tokens: int

    @property
    def free_bytes(self) -> float:
        """What is left, or, negative, what is missing."""
        return self.memory_bytes - self.weight_bytes - self.kv_bytes - self.other_bytes

    @property
    def fits(self) -> bool:
        """Whether all of it fits."""
        return self.free_bytes >= 0


def longest_context_tokens(shape: Shape, kv_bytes: float, element_bytes: float = KV_F16_BYTES) -> int:
    """The most tokens of one sequence whose cache takes at most `kv_bytes`; the model's limit caps it.

    A cache that stops growing (windows, constant states) is bounded by the limit alone.
    """
    limit = shape.context_limit_tokens or 2**31
    if float(shape.kv_bytes(limit, element_bytes)) <= kv_bytes:
        return limit
    low, high = 0, limit  # the cache never shrinks with context
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if float(shape.kv_bytes(middle, element_bytes)) <= kv_bytes else (low, middle)
    return low


def fit_in_memory(
    shape: Shape,
    weights: WeightBytes,
    *,
    memory_bytes: float,
    other_bytes: float,
    context_tokens: int,
    batch: int,
    element_bytes: float = KV_F16_BYTES,
) -> Fitting:
    """Weights, `batch` caches of `context_tokens` and `other_bytes` (the system, a browser) against memory."""
    requested = Fitting(
        weight_bytes=weights.resident_bytes,
        kv_bytes=batch * float(shape.kv_bytes(context_tokens, element_bytes)),
        other_bytes=other_bytes,
        memory_bytes=memory_bytes,
        max_sequences=0,
        max_context_tokens=0,
    )
    require_not_negative(requested, "other_bytes", "memory_bytes", "kv_bytes")
    room = max(0.0, memory_bytes - weights.resident_bytes - other_bytes)
    one = float(shape.kv_bytes(context_tokens, element_bytes))
    return Fitting(
        weight_bytes=requested.weight_bytes,
        kv_bytes=requested.kv_bytes,
        other_bytes=other_bytes,
        memory_bytes=memory_bytes,
        max_sequences=floor(room / one) if one > 0 else 0,
        max_context_tokens=longest_context_tokens(shape, room / batch, element_bytes) if room > 0 else 0,
    )
