"""Which deployments, at which batch, keep a promise, what they cost, and why the others do not.

A candidate is one option (a deployment with its price) with a number of slots. All candidates are evaluated in
one pass over arrays. With a rate, calls arrive at random and wait for a slot when all are taken; as many equal
groups of devices are taken as the promise needs. Without one, a single group that is always full is judged.
Known error: means, not tails; every call's whole context is reserved in memory; power is that of the mean number
of calls in flight, and of one call where there is less.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from teto.physics.calls import CallTokens, require_context
from teto.physics.deployment import Deployment
from teto.physics.loaded import Behaviour, slot_wait_s, whole_prefill
from teto.physics.values import Values, require_positive
from teto.units import show_bytes, show_seconds

__all__ = ["Candidate", "Option", "Plan", "Rejection", "Targets", "Watts", "plan"]

# The mean watts of a whole deployment with so many calls in flight; None: unknown.
Watts: TypeAlias = Callable[[Deployment, CallTokens, Values], Values | None]
Array: TypeAlias = NDArray[np.float64]
_HALVINGS: Final = 40
_MOST_GROUPS: Final = 1e6  # a promise that needs more is not kept by any sane number of devices


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What is promised: calls a second, mean seconds to the first token and between tokens; None: nothing.

    `most_load_fraction` is the share of the slots that may be in use on average: the rest takes bursts.
    """

    calls_per_s: float | None = None
    ttft_s: float | None = None
    tpot_s: float | None = None
    most_load_fraction: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, "calls_per_s", "ttft_s", "tpot_s", "most_load_fraction")
        if self.most_load_fraction > 1:
            raise ValueError(f"a load is at most the whole capacity, 1, found {self.most_load_fraction:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A deployment in a format of this name, and what one of its devices costs an hour (None: unknown)."""

    deployment: Deployment
    format_name: str
    usd_per_device_h: float | None
    other_bytes: float = 0.0

    @property
    def label(self) -> str:
        """Device, number and format: `2 x rtx-4090 q4_k_m`."""
        count = "" if self.deployment.n_devices == 1 else f"{self.deployment.n_devices} x "
        return f"{count}{self.deployment.device.name} {self.format_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An option with `batch` slots that keeps the promise, on `n_groups` of its groups of devices.

    `tokens_per_s` are output tokens delivered in all; dollars and joules are for output tokens, their prompts
    included. `device_s_per_token` compares candidates of one device whose price is unknown.
    """

    option: Option
    batch: int
    n_groups: int
    load_fraction: float
    ttft_s: float
    tpot_s: float
    call_s: float
    tokens_per_s: float
    group_calls_per_s: float
    free_bytes: float
    device_s_per_token: float
    usd_per_mtok: float | None
    j_per_token: float | None
    group_watts: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """An option at a batch that does not keep the promise: every reason, in words and figures.

    `excess_fraction` is the largest excess over a limit as a fraction of it; infinite where something is unknown.
    """

    option: Option
    batch: int
    reasons: tuple[str, ...]
    excess_fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What keeps the promise and what does not."""

    tokens: CallTokens
    targets: Targets
    admitted: tuple[Candidate, ...]
    rejected: tuple[Rejection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Candidates as columns; `option` is the index of each one's option."""

    option: NDArray[np.intp]
    batch: Array
    ttft_s: Array
    tpot_s: Array
    calls_per_s: Array
    free_bytes: Array


def plan(
    options: Sequence[Option],
    tokens: CallTokens,
    targets: Targets,
    *,
    batches: Sequence[int],
    behave: Behaviour = whole_prefill,
    watts: Watts | None = None,
) -> Plan:
    """Judge every option at every batch.

    Raises:
        ValueError: the call is longer than a model's context, or no batch is given.
    """
    if not batches or min(batches) < 1:
        raise ValueError(f"a batch is at least 1, found {list(batches)}")
    for shape in {id(option.deployment.shape): option.deployment.shape for option in options}.values():
        require_context(shape.context_limit_tokens, tokens)
    sizes = np.array(sorted(set(batches)), dtype=np.float64)
    rejected: list[Rejection] = []
    pieces = []
    for i, option in enumerate(options):
        rejection = _why_not_at_all(option, tokens)
        if rejection is None:
            pieces.append(_rows(i, option, tokens, sizes, behave))
        else:
            rejected.append(rejection)
    if not pieces:
        return Plan(tokens=tokens, targets=targets, admitted=(), rejected=tuple(rejected))
    rows = _joined(pieces)
    admitted, failed = _judge(options, rows, tokens, targets, watts)
    return Plan(tokens=tokens, targets=targets, admitted=tuple(admitted), rejected=(*rejected, *failed))


def _room_bytes(option: Option) -> float | None:
    """Memory of the group that weights and others leave; None: its size is unknown."""
    deployment = option.deployment
    if deployment.device.memory_bytes is None:
        return None
    used = deployment.n_devices * option.other_bytes + deployment.weights.resident_bytes
    return _memory_bytes(option) - used


def _memory_bytes(option: Option) -> float:
    """All memory of a group; 0 where it is unknown."""
    return option.deployment.n_devices * (option.deployment.device.memory_bytes or 0.0)


def _why_not_at_all(option: Option, tokens: CallTokens) -> Rejection | None:
    """Why an option is out at every batch."""
    deployment = option.deployment
    room = _room_bytes(option)
    if room is None:
        return _out(option, f"the memory of {deployment.device.name} is unknown (sold in several sizes)", np.inf)
    needed = float(deployment.shape.kv_bytes(tokens.context_tokens, deployment.kv_element_bytes))
    if room < needed:
        return _out(option, f"does not fit by {show_bytes(needed - room)}", (needed - room) / _memory_bytes(option))
    if deployment.n_devices > 1 and deployment.device.link_bytes_per_s is None:
        what = f"the link between devices of {deployment.device.name} is unknown, and they would share every step"
        return _out(option, what, np.inf)
    return None


def _out(option: Option, reason: str, excess_fraction: float) -> Rejection:
    return Rejection(option=option, batch=1, reasons=(reason,), excess_fraction=excess_fraction)


def _rows(index: int, option: Option, tokens: CallTokens, sizes: Array, behave: Behaviour) -> _Rows:
    deployment = option.deployment
    loaded = behave(deployment, tokens, sizes)
    kv = float(deployment.shape.kv_bytes(tokens.context_tokens, deployment.kv_element_bytes))
    return _Rows(
        option=np.full(sizes.size, index),
        batch=sizes,
        ttft_s=np.asarray(loaded.ttft_s + 0.0 * sizes),
        tpot_s=np.asarray(loaded.tpot_s + 0.0 * sizes),
        calls_per_s=np.asarray(loaded.calls_per_s + 0.0 * sizes),
        free_bytes=(_room_bytes(option) or 0.0) - sizes * kv,
    )


def _joined(pieces: list[_Rows]) -> _Rows:
    return _Rows(
        option=np.concatenate([piece.option for piece in pieces]),
        batch=np.concatenate([piece.batch for piece in pieces]),
        ttft_s=np.concatenate([piece.ttft_s for piece in pieces]),
        tpot_s=np.concatenate([piece.tpot_s for piece in pieces]),
        calls_per_s=np.concatenate([piece.calls_per_s for piece in pieces]),
        free_bytes=np.concatenate([piece.free_bytes for piece in pieces]),
    )


def _most_load(rows: _Rows, call_s: Array, targets: Targets) -> Array:
    """The most load at which the mean wait for a slot still leaves the first token in time."""
    high = np.full(rows.batch.size, targets.most_load_fraction)
    if targets.ttft_s is None:
        return high
    slack_s = targets.ttft_s - rows.ttft_s
    is_free = np.asarray(slot_wait_s(high, rows.batch, call_s)) <= slack_s
    low = np.zeros_like(high)
    top = high.copy()
    for _ in range(_HALVINGS):
        middle = (low + top) / 2
        is_late = np.asarray(slot_wait_s(middle, rows.batch, call_s)) > slack_s
        top, low = np.where(is_late, middle, top), np.where(is_late, low, middle)
    # Where even an idle group is late the row is rejected for that; its number of groups does not matter.
    return np.where(is_free | (slack_s <= 0), high, low)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Served:
    """The rows at the rate: how many groups take it, how full they are, and the wait for a slot counted in."""

    rows: _Rows
    n_groups: Array
    load: Array
    ttft_s: Array
    calls_per_s: Array


def _serve(rows: _Rows, tokens: CallTokens, targets: Targets) -> _Served:
    one = np.ones_like(rows.batch)
    if targets.calls_per_s is None:
        return _Served(rows=rows, n_groups=one, load=one, ttft_s=rows.ttft_s, calls_per_s=rows.calls_per_s)
    call_s = rows.ttft_s + (tokens.output_tokens - 1) * rows.tpot_s
    usable = rows.calls_per_s * np.maximum(_most_load(rows, call_s, targets), 1e-12)
    n_groups = np.minimum(np.ceil(targets.calls_per_s / usable), _MOST_GROUPS)
    load = targets.calls_per_s / (n_groups * rows.calls_per_s)
    return _Served(
        rows=rows,
        n_groups=n_groups,
        load=load,
        ttft_s=rows.ttft_s + np.asarray(slot_wait_s(load, rows.batch, call_s)),
        calls_per_s=targets.calls_per_s * one,
    )


def _judge(
    options: Sequence[Option], rows: _Rows, tokens: CallTokens, targets: Targets, watts: Watts | None
) -> tuple[list[Candidate], list[Rejection]]:
    served = _serve(rows, tokens, targets)
    fails = (
        (rows.free_bytes < 0)
        | (served.ttft_s > _not_above(targets.ttft_s))
        | (rows.tpot_s > _not_above(targets.tpot_s))
        | (served.n_groups >= _MOST_GROUPS)
    )
    power_w = np.full(rows.batch.size, np.nan) if watts is None else _powers(options, served, ~fails, tokens, watts)
    admitted = [_candidate(options[rows.option[i]], tokens, served, int(i), power_w) for i in np.flatnonzero(~fails)]
    rejected = [_rejection(options[rows.option[i]], served, int(i), targets) for i in np.flatnonzero(fails)]
    return admitted, rejected


def _powers(
    options: Sequence[Option], served: _Served, admitted: NDArray[np.bool_], tokens: CallTokens, watts: Watts
) -> Array:
    """Watts of a group of each admitted row, asked once an option; NaN where they are unknown."""
    found = np.full(admitted.size, np.nan)
    running = np.maximum(1.0, served.load * served.rows.batch)
    for index in np.unique(served.rows.option[admitted]):
        at = np.flatnonzero(admitted & (served.rows.option == index))
        drawn = watts(options[index].deployment, tokens, running[at])
        if drawn is not None:
            found[at] = drawn
    return found


def _not_above(target_s: float | None) -> float:
    """A target with room for rounding; no target is never passed."""
    return np.inf if target_s is None else target_s * (1 + 1e-9)


def _rejection(option: Option, served: _Served, i: int, targets: Targets) -> Rejection:
    free_bytes, ttft_s, tpot_s = served.rows.free_bytes[i], served.ttft_s[i], served.rows.tpot_s[i]
    found: list[str] = []
    excess = [0.0]
    if free_bytes < 0:
        found.append(f"does not fit by {show_bytes(-free_bytes)}")
        excess.append(-free_bytes / _memory_bytes(option))
    for name, seconds, target_s in (("TTFT", ttft_s, targets.ttft_s), ("TPOT", tpot_s, targets.tpot_s)):
        if target_s is not None and seconds > _not_above(target_s):
            found.append(f"{name} {show_seconds(seconds)} > {show_seconds(target_s)}")
            excess.append(seconds / target_s - 1)
    if served.n_groups[i] >= _MOST_GROUPS:
        found.append("the rate needs more than a million groups")
        excess.append(np.inf)
    return Rejection(
        option=option, batch=int(served.rows.batch[i]), reasons=tuple(found), excess_fraction=float(max(excess))
    )


def _candidate(option: Option, tokens: CallTokens, served: _Served, i: int, power_w: Array) -> Candidate:
    rows = served.rows
    groups = ceil(served.n_groups[i])
    ttft_s, tpot_s, load = float(served.ttft_s[i]), float(rows.tpot_s[i]), float(served.load[i])
    tokens_per_s = float(served.calls_per_s[i]) * tokens.output_tokens
    devices = groups * option.deployment.n_devices
    power = None if np.isnan(power_w[i]) else float(power_w[i])
    usd = option.usd_per_device_h
    return Candidate(
        option=option,
        batch=int(rows.batch[i]),
        n_groups=groups,
        load_fraction=load,
        ttft_s=ttft_s,
        tpot_s=tpot_s,
        call_s=ttft_s + (tokens.output_tokens - 1) * tpot_s,
        tokens_per_s=tokens_per_s,
        group_calls_per_s=float(rows.calls_per_s[i]),
        free_bytes=float(rows.free_bytes[i]),
        device_s_per_token=devices / tokens_per_s,
        usd_per_mtok=None if usd is None else devices * usd / 3600 / tokens_per_s * 1e6,
        j_per_token=None if power is None else groups * power / tokens_per_s,
        group_watts=power,
    )
