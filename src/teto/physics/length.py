"""The bill against the length of answers: what a call costs when answers grow and the promised speed does not change.

A server is filled to the largest batch that keeps the promise and whose caches fit. Longer answers take more
steps, each of which reads more cache, and fewer of them fit in memory at once: the last is what makes a bill more
than double. Known error: every call's whole context is reserved; engines that page hold somewhat more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from teto.physics.calls import CallTokens, require_context
from teto.physics.deployment import Deployment
from teto.physics.loaded import Behaviour, whole_prefill
from teto.physics.values import require_positive
from teto.units import show_bytes, show_seconds

__all__ = ["Constraint", "LengthOption", "Promise", "length_options", "length_verdict"]

Constraint = Literal["memory", "time per token", "time per answer", "batch limit"]
_SAME = 0.03  # a ratio this near to the factor of the length is called the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What every call is promised: seconds between tokens, seconds in all; None: nothing.

    `most_sequences` is the engine's own limit of calls in flight.
    """

    tpot_s: float | None = None
    total_s: float | None = None
    most_sequences: int

    def __post_init__(self) -> None:
        require_positive(self, "tpot_s", "total_s", "most_sequences")


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthOption:
    """One answer length at the promise: calls in flight, device seconds of a call, and what stopped more of them.

    `batch` is 0, and the rest None, where not even one call keeps the promise. `cost_ratio` is over the first
    length. `device_s` counts every device of the deployment.
    """

    factor: float
    tokens: CallTokens
    batch: int
    constraint: Constraint
    tpot_s: float | None
    device_s: float | None
    cost_ratio: float | None
    reason: str


def length_options(
    deployment: Deployment,
    tokens: CallTokens,
    *,
    factors: Sequence[float],
    promise: Promise,
    free_bytes: float,
    behave: Behaviour = whole_prefill,
) -> tuple[LengthOption, ...]:
    """The cost of a call at each multiple of its answer's length; `free_bytes` is memory left after the weights.

    Raises:
        ValueError: a factor that is not above 0, or a length beyond the model's context.
    """
    found: list[LengthOption] = []
    for factor in factors:
        if not 0 < factor < float("inf"):
            raise ValueError(f"a length is multiplied by a number above 0, found {factor:g}")
        longer = CallTokens(
            prompt_tokens=tokens.prompt_tokens, output_tokens=max(1, round(tokens.output_tokens * factor))
        )
        require_context(deployment.shape.context_limit_tokens, longer)
        first_s = found[0].device_s if found else None
        found.append(
            _option(deployment, longer, factor, promise=promise, free_bytes=free_bytes, behave=behave, first_s=first_s)
        )
    return tuple(found)


def _option(
    deployment: Deployment,
    tokens: CallTokens,
    factor: float,
    *,
    promise: Promise,
    free_bytes: float,
    behave: Behaviour,
    first_s: float | None,
) -> LengthOption:
    batches = np.arange(1.0, promise.most_sequences + 2)  # one more than the limit, to see what would stop it
    loaded = behave(deployment, tokens, batches)
    tpot_s, total_s = np.asarray(loaded.tpot_s), np.asarray(loaded.call_s(tokens.output_tokens))
    one_kv = float(deployment.shape.kv_bytes(tokens.context_tokens, deployment.kv_element_bytes))
    stops: list[tuple[Constraint, np.ndarray]] = [
        ("memory", batches * one_kv > free_bytes),
        ("time per token", tpot_s > (promise.tpot_s or np.inf)),
        ("time per answer", total_s > (promise.total_s or np.inf)),
        ("batch limit", batches > promise.most_sequences),
    ]
    batch = int(np.argmax(np.logical_or.reduce([stop for _, stop in stops])))  # the index of the first that fails
    constraint = next(name for name, stop in stops if stop[batch])
    device_s = deployment.n_devices / float(np.asarray(loaded.calls_per_s)[batch - 1]) if batch else None
    first_s = device_s if first_s is None else first_s
    return LengthOption(
        factor=factor,
        tokens=tokens,
        batch=batch,
        constraint=constraint,
        tpot_s=float(tpot_s[batch - 1]) if batch else None,
        device_s=device_s,
        cost_ratio=None if device_s is None or first_s is None else device_s / first_s,
        reason=_reason(
            constraint,
            batch,
            one_kv=one_kv,
            free_bytes=free_bytes,
            next_tpot_s=float(tpot_s[batch]),
            next_total_s=float(total_s[batch]),
            promise=promise,
        ),
    )


def _reason(
    constraint: Constraint,
    batch: int,
    *,
    one_kv: float,
    free_bytes: float,
    next_tpot_s: float,
    next_total_s: float,
    promise: Promise,
) -> str:
    """Why not one more call."""
    if constraint == "memory":
        return f"{batch + 1} caches of {show_bytes(one_kv)} are more than the {show_bytes(free_bytes)} free"
    if constraint == "time per token":
        target = show_seconds(promise.tpot_s or 0.0)
        return f"with {batch + 1} calls a token takes {show_seconds(next_tpot_s)}, more than {target}"
    if constraint == "time per answer":
        target = show_seconds(promise.total_s or 0.0)
        return f"with {batch + 1} calls an answer takes {show_seconds(next_total_s)}, more than {target}"
    return f"the engine takes at most {promise.most_sequences} calls at once"


def length_verdict(first: LengthOption, other: LengthOption) -> tuple[str, ...]:
    """What happens to the bill from one length to another, and why, in words and figures."""
    factor = other.factor / first.factor
    if first.device_s is None:
        return (f"not even one call keeps the promise: {first.reason}",)
    if other.device_s is None:
        return (f"at {factor:g} x the length not even one call keeps the promise: {other.reason}",)
    ratio = other.device_s / first.device_s
    found = [f"the bill {_how_it_grows(ratio, factor)}: x{ratio:.2f} for x{factor:g} the length"]
    if other.batch != first.batch:
        found.append(
            f"calls in flight go from {first.batch} to {other.batch} ({other.constraint}): {other.reason}; "
            f"each reading of the weights serves {other.batch / first.batch:.2f} times as many"
        )
    else:
        found.append(f"calls in flight stay at {first.batch} ({other.constraint})")
    if first.tpot_s is not None and other.tpot_s is not None and other.batch <= first.batch:
        found.append(f"a token takes {show_seconds(first.tpot_s)} before and {show_seconds(other.tpot_s)} after")
    if ratio < factor:
        found.append("the prompt is read once, however long the answer: its share of the bill does not grow")
    return tuple(found)


def _how_it_grows(ratio: float, factor: float) -> str:
    is_double = factor == 2
    if abs(ratio / factor - 1) <= _SAME:
        return "doubles" if is_double else "grows with the length"
    more = "more" if ratio > factor else "less"
    return f"{more} than doubles" if is_double else f"grows {more} than the length"
