"""Servers under load: the constants of a step, from the time between tokens of many engines, models and devices."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from teto.catalog.fit.holdout import Errors
from teto.catalog.fit.server_rows import ServerRow
from teto.catalog.fit.solve import Term
from teto.physics.estimate import Fit, Limits, step_time
from teto.physics.mixers import Traffic
from teto.physics.parallel import exchanged_bytes, shared_decode, shared_prefill
from teto.physics.roofline import Work
from teto.physics.serving import Demand, Served, Server, closed_loop
from teto.physics.values import Values

__all__ = ["SERVER_TERMS", "Split", "Stack", "fit_servers", "held_out_groups", "stack_rows", "time_errors"]

Array = NDArray[np.float64]
Split = Literal["device", "shape_key"]

# Attention takes about as long over an 8-bit cache as over a 16-bit one: fitted apart, its fraction for 8 bits is half
# of the other, and held-out errors move by half a point either way. So time counts two bytes an element, always.
_CACHE_ELEMENT_BYTES: Final = 2.0
# Some rows are stalls of the machine (one B200 decodes Qwen3-8B slower for 8 users than for 128): beyond this
# residual a row hardly counts.
_ROBUST_FROM: Final = 0.06

SERVER_TERMS: Final = {
    "weights_fraction": Term(0.8, 0.3, 1.0),
    "cache_fraction": Term(0.7, 0.1, 1.0),
    "compute_fraction": Term(0.5, 0.03, 1.0),
    "attention_fraction": Term(0.3, 0.01, 1.0),
    "layer_overhead_s": Term(50.0, 0.0, 1000.0, unit=1e-6),
    "link_overhead_s": Term(20.0, 0.0, 1000.0, unit=1e-6),
    "sequence_overhead_s": Term(20.0, 0.0, 1000.0, unit=1e-6),
    "expert_imbalance": Term(1.3, 1.0, 4.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Rows as arrays.

    Bytes and FLOPs are of all devices together: of a token (linear), of a sequence's step (decode), of a prompt.
    `linear_bytes`, experts apart, are read once a step.
    """

    n_devices: Array
    mem_bandwidth_bytes_per_s: Array
    flops_per_s: Array
    link_bytes_per_s: Array
    rated_w: Array
    n_layers: Array
    linear_bytes: Array
    expert_bytes: Array
    expert_share: Array
    linear_flops: Array
    head_bytes: Array
    head_flops: Array
    decode_bytes: Array
    decode_flops: Array
    prompt_bytes: Array
    prompt_flops: Array
    token_exchange_bytes: Array
    sequence_groups: Array
    spreads_experts: Array
    prompt_tokens: Array
    output_tokens: Array
    users: Array
    slots: Array

    @property
    def demand(self) -> Demand:
        """Tokens of a call."""
        return Demand(prompt_tokens=self.prompt_tokens, output_tokens=self.output_tokens)

    @property
    def limits(self) -> Limits:
        """One device: the work is divided before."""
        return Limits(mem_bandwidth_bytes_per_s=self.mem_bandwidth_bytes_per_s, flops_per_s=self.flops_per_s)

    def _experts_read(self, tokens: Values) -> Values:
        return self.expert_bytes * (1 - (1 - self.expert_share) ** tokens)

    def decode_work(self, running: Values) -> Work:
        """One step without prompts, one device's part."""
        n = self.n_devices
        linear = (self.linear_bytes + self._experts_read(running)) / n
        return Work(
            linear=Traffic(linear, running * self.linear_flops / n),
            attention=Traffic(running * self.decode_bytes / n, running * self.decode_flops / n),
            head=Traffic(self.head_bytes / n, running * self.head_flops / n),
        )

    def added_work(self, running: Values) -> Work:
        """What one prompt adds to the steps that it joins, one device's part: experts that were not read before."""
        n, tokens = self.n_devices, self.prompt_tokens
        more = self._experts_read(running + tokens) - self._experts_read(running)
        return Work(
            linear=Traffic(more / n, tokens * self.linear_flops / n),
            attention=Traffic(self.prompt_bytes / n, self.prompt_flops / n),
            head=Traffic(0.0 * n, self.head_flops / n),
        )

    def _busiest(self, fit: Fit, work: Work) -> Work:
        """The part of the device that does the most."""
        factor = 1 + (fit.expert_imbalance - 1) * self.spreads_experts
        return replace(work, linear=Traffic(factor * work.linear.bytes, factor * work.linear.flops))

    def _link_s(self, fit: Fit, tokens: Values, n_layers: Values) -> Values:
        sent_s = self.token_exchange_bytes * tokens / self.link_bytes_per_s
        return np.where(self.n_devices > 1, n_layers * fit.link_overhead_s + sent_s, 0.0)

    def decode_s(self, fit: Fit, running: Values) -> Values:
        """Seconds of a step without prompts."""
        time = step_time(
            self._busiest(fit, self.decode_work(running)), self.limits, fit,
            n_layers=self.n_layers, n_sequences=running / self.sequence_groups,
        )  # fmt: skip
        return time.seconds + self._link_s(fit, running, self.n_layers)

    def added_s(self, fit: Fit, running: Values) -> Values:
        """Seconds that one prompt adds to the steps that it joins."""
        work = self._busiest(fit, self.added_work(running))
        return step_time(work, self.limits, fit, n_layers=0.0).seconds + self._link_s(fit, self.prompt_tokens, 0.0)

    def server(self, fit: Fit) -> Server:
        """The rows as servers whose prompts join the running steps."""
        return Server(
            decode_s=lambda running, _context: self.decode_s(fit, running),
            prefill_s=lambda _tokens: self.decode_s(fit, 0.0 * self.users) + self.added_s(fit, 0.0 * self.users),
            added_s=lambda _tokens, running: self.added_s(fit, running),
            policy="chunked",
            slots=self.slots,
        )

    def served(self, fit: Fit) -> Served:
        """What the users of each row see."""
        return closed_loop(self.server(fit), self.demand, self.users)


def _column(values: Iterable[float]) -> Array:
    return np.array(list(values), dtype=np.float64)


def stack_rows(rows: Sequence[ServerRow]) -> Stack:
    """The arrays of some rows; a link that is unknown takes no time for its bytes."""
    split = [1 if row.spreads_sequences else row.n_devices for row in rows]
    context = [row.prompt_tokens + row.output_tokens / 2 for row in rows]
    decode = [
        shared_decode(row.shape, tokens, _CACHE_ELEMENT_BYTES, n)
        for row, tokens, n in zip(rows, context, split, strict=True)
    ]
    prompt = [
        shared_prefill(row.shape, row.prompt_tokens, _CACHE_ELEMENT_BYTES, n)
        for row, n in zip(rows, split, strict=True)
    ]
    groups = [row.weights.experts for row in rows]
    copies = [row.n_devices if row.spreads_sequences else 1 for row in rows]
    return Stack(
        n_devices=_column(row.n_devices for row in rows),
        mem_bandwidth_bytes_per_s=_column(row.device.mem_bandwidth_bytes_per_s for row in rows),
        flops_per_s=_column(row.flops_per_s for row in rows),
        link_bytes_per_s=_column(row.device.link_bytes_per_s or np.inf for row in rows),
        rated_w=_column(row.device.power_w or np.nan for row in rows),
        n_layers=_column(row.shape.n_whole_layers for row in rows),
        linear_bytes=_column(n * row.weights.dense_bytes for row, n in zip(rows, copies, strict=True)),
        expert_bytes=_column(sum(one.n_layers * one.n_experts * one.expert_bytes for one in group) for group in groups),
        expert_share=_column(group[0].n_active / group[0].n_experts if group else 1.0 for group in groups),
        linear_flops=_column(2 * row.shape.block_params for row in rows),
        head_bytes=_column(row.weights.head_bytes for row in rows),
        head_flops=_column(2 * row.shape.head_params for row in rows),
        decode_bytes=_column(float(one.bytes) for one in decode),
        decode_flops=_column(float(one.flops) for one in decode),
        prompt_bytes=_column(float(one.bytes) for one in prompt),
        prompt_flops=_column(float(one.flops) for one in prompt),
        token_exchange_bytes=_column(float(exchanged_bytes(row.shape, row.n_devices, 1.0)) for row in rows),
        sequence_groups=_column(copies),
        spreads_experts=_column(row.spreads_experts for row in rows),
        prompt_tokens=_column(row.prompt_tokens for row in rows),
        output_tokens=_column(row.output_tokens for row in rows),
        users=_column(row.users if row.running is None else row.running for row in rows),
        slots=_column(row.slots for row in rows),
    )


def predicted_itl_s(stack: Stack, fit: Fit, *, is_running_known: bool) -> Array:
    """Time between tokens: of a step where the batch is known (the median), in the closed loop else (the mean)."""
    if is_running_known:
        return np.asarray(stack.decode_s(fit, stack.users))
    return np.asarray(stack.served(fit).itl_s)


def fit_servers(start: Fit, terms: Sequence[str], rows: Sequence[ServerRow]) -> Fit:
    """The constants that the rows' times between tokens identify best; all rows must be of one protocol."""
    from scipy.optimize import least_squares  # noqa: PLC0415 - only fitting needs it, and not users

    stack = stack_rows(rows)
    measured = _column(row.itl_s for row in rows)
    is_running_known = rows[0].running is not None
    searched = [SERVER_TERMS[term] for term in terms]

    def at(values: Sequence[float]) -> Fit:
        constants = {
            name: min(float(value) * term.unit, term.high * term.unit)
            for name, term, value in zip(terms, searched, values, strict=True)
        }
        return replace(start, **constants)  # type: ignore[arg-type]

    found = least_squares(
        lambda values: np.log(predicted_itl_s(stack, at(values), is_running_known=is_running_known) / measured),
        [term.start for term in searched],
        bounds=([term.low for term in searched], [term.high for term in searched]),
        x_scale=[term.start for term in searched],
        loss="cauchy",
        f_scale=_ROBUST_FROM,
        diff_step=1e-3,
        max_nfev=60,
    )
    return at([float(value) for value in found.x])


def time_errors(fit: Fit, rows: Sequence[ServerRow]) -> Array:
    """Predicted over measured time between tokens, less 1."""
    predicted = predicted_itl_s(stack_rows(rows), fit, is_running_known=rows[0].running is not None)
    return predicted / _column(row.itl_s for row in rows) - 1


def group_key(row: ServerRow, split: Split) -> str:
    """What leaves together: a device, or the models of one shape."""
    return row.device.name if split == "device" else row.shape_key


def held_out_groups(
    rows: Sequence[ServerRow],
    split: Split,
    predict: Callable[[Sequence[ServerRow], Sequence[ServerRow]], Array],
) -> Errors:
    """The errors of `predict(seen, left_out)`, for each group that leaves in turn."""
    keys = sorted({group_key(row, split) for row in rows})
    signed: list[float] = []
    for key in keys:
        seen = [row for row in rows if group_key(row, split) != key]
        left_out = [row for row in rows if group_key(row, split) == key]
        signed += [float(error) for error in predict(seen, left_out)]
    return Errors(signed=tuple(signed), n_groups=len(keys))
