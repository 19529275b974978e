"""The work of prefill and decode, and the least time that a device needs for it.

Source of the terms: the roofline model (Williams, Waterman, Patterson, CACM 52(4), 2009) on a decoder's two
phases. Known error: the ceiling ignores dequantization, dispatch and synchronisation, so real engines stay
below it by a factor that a fit, not this file, supplies.
"""

from dataclasses import dataclass
from math import ceil
from typing import Literal

from teto.physics.device import Device
from teto.physics.shape import Shape, WeightBytes
from teto.units import KV_F16_BYTES

__all__ = ["Ceiling", "Limit", "Work", "ceiling", "decode", "prefill"]

Limit = Literal["memory", "compute"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Bytes moved and FLOPs done; sums of works are works."""

    weight_bytes: float
    kv_bytes: float
    flops: float

    @property
    def bytes(self) -> float:
        """All bytes that memory must deliver or take."""
        return self.weight_bytes + self.kv_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The least seconds that the work can take, and the limit that sets them."""

    seconds: float
    limit: Limit


def decode(
    shape: Shape,
    weights: WeightBytes,
    *,
    n_steps: int,
    start_context_tokens: int,
    kv_element_bytes: float = KV_F16_BYTES,
) -> Work:
    """The work of `n_steps` decode steps of one sequence whose cache holds `start_context_tokens`.

    Step i (from 1) reads every weight once, writes one position of KV, and attends over
    `start_context_tokens + i` positions, its own included.
    """
    if n_steps < 0 or start_context_tokens < 0:
        raise ValueError(f"steps and context cannot be negative: {n_steps}, {start_context_tokens}")
    attended = n_steps * start_context_tokens + n_steps * (n_steps + 1) / 2
    kv_token = shape.kv_bytes_per_token(kv_element_bytes)
    return Work(
        weight_bytes=n_steps * weights.decode_bytes,
        kv_bytes=kv_token * (attended + n_steps),
        flops=n_steps * 2 * (shape.block_params + shape.head_params) + shape.attention_flops(attended),
    )


def prefill(
    shape: Shape,
    weights: WeightBytes,
    *,
    n_tokens: int,
    past_tokens: int = 0,
    batch_tokens: int | None = None,
    is_head_in_each_batch: bool = False,
    kv_element_bytes: float = KV_F16_BYTES,
) -> Work:
    """The work of prefilling `n_tokens` after `past_tokens` that the cache already holds.

    The blocks are read once for each batch of `batch_tokens` (None: all tokens in one pass) and the head once,
    for the last token only, unless the engine computes it at the end of each batch. Attention is causal: token i
    attends over `past_tokens + i`. In each pass the whole cache up to the pass's end is read once.
    """
    if n_tokens < 0 or past_tokens < 0 or (batch_tokens is not None and batch_tokens < 1):
        raise ValueError(f"token counts cannot be negative: {n_tokens}, {past_tokens}, {batch_tokens}")
    if n_tokens == 0:
        return Work(weight_bytes=0, kv_bytes=0, flops=0)
    batch = batch_tokens or n_tokens
    passes = ceil(n_tokens / batch)
    attended = n_tokens * past_tokens + n_tokens * (n_tokens + 1) / 2
    heads = passes if is_head_in_each_batch else 1
    ends = passes * past_tokens + sum(min(n_tokens, batch * (i + 1)) for i in range(passes))
    kv_token = shape.kv_bytes_per_token(kv_element_bytes)
    return Work(
        weight_bytes=(
            passes * weights.block_bytes + heads * weights.head_bytes + n_tokens * weights.embedding_row_bytes
        ),
        kv_bytes=kv_token * (ends + n_tokens),
        flops=n_tokens * 2 * shape.block_params + heads * 2 * shape.head_params + shape.attention_flops(attended),
    )


def ceiling(work: Work, device: Device) -> Ceiling:
    """The least time for the work: bytes over bandwidth or FLOPs over rate, whichever is longer.

    With an unknown compute rate the memory time stands alone: still a floor under the time, only a looser one.
    """
    memory_s = work.bytes / device.mem_bandwidth_bytes_per_s
    compute_s = 0.0 if device.flops_per_s is None else work.flops / device.flops_per_s
    if compute_s > memory_s:
        return Ceiling(seconds=compute_s, limit="compute")
    return Ceiling(seconds=memory_s, limit="memory")
