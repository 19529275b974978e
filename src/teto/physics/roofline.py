"""The work of prefill and decode, and the least time that a device needs for it.

Source of the terms: the roofline model (Williams, Waterman, Patterson, CACM 52(4), 2009) on a decoder's two
phases. Known error: the ceiling ignores dequantization, dispatch and synchronisation, so real engines stay
below it by what a fit, not this file, supplies.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from teto.physics.mixers import Passes, Traffic
from teto.physics.precision import WeightBytes
from teto.physics.shape import Shape
from teto.physics.values import Values, larger, smaller
from teto.units import KV_F16_BYTES

__all__ = ["Ceiling", "Limit", "Work", "ceiling", "decode", "decode_step", "prefill"]

Limit = Literal["memory", "compute"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Bytes and FLOPs by the class of operator that needs them: linear layers, attention, head."""

    linear: Traffic
    attention: Traffic
    head: Traffic

    @property
    def weight_bytes(self) -> Values:
        """Bytes of weights read."""
        return self.linear.bytes + self.head.bytes

    @property
    def kv_bytes(self) -> Values:
        """Bytes of cache and state, read and written."""
        return self.attention.bytes

    @property
    def bytes(self) -> Values:
        """All bytes that memory must deliver or take."""
        return self.weight_bytes + self.kv_bytes

    @property
    def flops(self) -> Values:
        """All floating-point operations."""
        return self.linear.flops + self.attention.flops + self.head.flops


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The least seconds that the work can take, and the limit that sets them."""

    seconds: float
    limit: Limit


def decode_step(
    shape: Shape,
    weights: WeightBytes,
    *,
    batch: Values = 1,
    context_tokens: Values,
    kv_element_bytes: Values = KV_F16_BYTES,
    is_expected: bool = False,
) -> Work:
    """The work of one decode step of `batch` sequences that each attend over `context_tokens`, own token included.

    All sequences share one reading of the weights. Of routed experts the least possible number is read, or, with
    `is_expected`, the expected one.
    """
    one = shape.attend_decode(context_tokens - 1, 1, kv_element_bytes)
    return Work(
        linear=Traffic(
            weights.block_bytes(batch, is_expected=is_expected) + batch * weights.embedding_row_bytes,
            batch * (2 * shape.block_params),
        ),
        attention=Traffic(batch * one.bytes, batch * one.flops),
        head=Traffic(weights.head_bytes + 0.0 * batch, batch * (2 * shape.head_params)),
    )


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
    rows_bytes = n_steps * weights.embedding_row_bytes
    return Work(
        linear=Traffic(n_steps * weights.block_bytes(1) + rows_bytes, n_steps * 2 * shape.block_params),
        attention=shape.attend_decode(start_context_tokens, n_steps, kv_element_bytes),
        head=Traffic(n_steps * weights.head_bytes, n_steps * 2 * shape.head_params),
    )


def prefill(
    shape: Shape,
    weights: WeightBytes,
    *,
    n_tokens: Values,
    past_tokens: Values = 0,
    batch_tokens: int | None = None,
    is_head_in_each_batch: bool = False,
    kv_element_bytes: Values = KV_F16_BYTES,
    is_expected: bool = False,
) -> Work:
    """The work of prefilling `n_tokens` after `past_tokens` that the cache already holds.

    The blocks are read once for each batch of `batch_tokens` (None: all tokens in one pass) and the head once,
    for the last token only, unless the engine computes it at the end of each batch. Attention is causal: token i
    attends over `past_tokens + i`. In each pass the cache is read once, up to the pass's end.
    """
    if (
        np.any(np.less(n_tokens, 0))
        or np.any(np.less(past_tokens, 0))
        or (batch_tokens is not None and batch_tokens < 1)
    ):
        raise ValueError(f"token counts cannot be negative: {n_tokens}, {past_tokens}, {batch_tokens}")
    batch = n_tokens if batch_tokens is None else smaller(n_tokens, batch_tokens)
    passes = Passes(past_tokens, n_tokens, batch, np.ceil(n_tokens / larger(batch, 1)))
    heads = passes.count if is_head_in_each_batch else np.minimum(passes.count, 1)
    rows_bytes = n_tokens * weights.embedding_row_bytes
    read = passes.count * weights.block_bytes(batch, is_expected=is_expected)
    attention = shape.attend_prefill(passes, kv_element_bytes)
    is_any = np.minimum(n_tokens, 1)
    return Work(
        linear=Traffic(read + rows_bytes, n_tokens * (2 * shape.block_params)),
        attention=Traffic(is_any * attention.bytes, is_any * attention.flops),
        head=Traffic(heads * weights.head_bytes, heads * (2 * shape.head_params)),
    )


def ceiling(work: Work, *, mem_bandwidth_bytes_per_s: float, flops_per_s: float | None) -> Ceiling:
    """The least time for the work: bytes over bandwidth or FLOPs over rate, whichever is longer.

    With an unknown compute rate the memory time stands alone: still a floor under the time, only a looser one.
    """
    memory_s = float(work.bytes) / mem_bandwidth_bytes_per_s
    compute_s = 0.0 if flops_per_s is None else float(work.flops) / flops_per_s
    if compute_s > memory_s:
        return Ceiling(seconds=compute_s, limit="compute")
    return Ceiling(seconds=memory_s, limit="memory")
