"""What a lever moves: the weight format, the batch, the hardware. One division seen from three angles.

Every result is of the deployment's estimate, or of its ceiling where it has no fit; a lever on a limit that does
not bind moves nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

from teto.physics.deployment import Bound, Deployment, Phase

__all__ = [
    "BatchEnd",
    "BatchOption",
    "FormatOption",
    "HardwareOption",
    "batch_end",
    "batch_options",
    "format_options",
    "hardware_options",
    "phase_s",
]

_MOST_SEQUENCES = 1 << 20  # far above any engine's limit: beyond it a limit counts as not there


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOption:
    """One weight format: what it weighs, and what one request then gets.

    `speed_ratio` is over the first format of the list. `free_bytes` is negative by what does not fit, and None
    where the memory is unknown.
    """

    name: str
    resident_bytes: float
    step_bytes: float
    step_s: float
    tokens_per_s: float
    speed_ratio: float
    prefill_s: float
    free_bytes: float | None
    bound: Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOption:
    """So many requests on one reading of the weights.

    `bytes_per_token` is what memory delivers for each token of any request; `aggregate_ratio` is over batch 1.
    """

    batch: int
    step_s: float
    tokens_per_s_each: float
    tokens_per_s: float
    aggregate_ratio: float
    bytes_per_token: float
    kv_bytes: float
    free_bytes: float | None
    bound: Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEnd:
    """What ends the sharing: the most sequences whose KV fits, and the batch from which compute binds.

    None: unknown (no memory size, no rate), or no such batch below a million. `reasons` says which comes first.
    """

    memory_batch: int | None
    compute_batch: int | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareOption:
    """The same model on a device whose limits are multiplied: gains in speed, 0 where nothing moves."""

    name: str
    bandwidth_factor: float
    flops_factor: float
    decode_s: float
    decode_gain_fraction: float
    prefill_s: float
    prefill_gain_fraction: float


def phase_s(phase: Phase) -> float:
    """The estimate of a phase, or its ceiling where there is none."""
    return phase.ceiling_s if phase.estimate_s is None else phase.estimate_s


def _free_bytes(deployment: Deployment, *, batch: int, context_tokens: int) -> float | None:
    """What is left of all devices' memory; the weights are spread over them."""
    if deployment.device.memory_bytes is None:
        return None
    kv = batch * float(deployment.shape.kv_bytes(context_tokens, deployment.kv_element_bytes))
    return deployment.n_devices * deployment.device.memory_bytes - deployment.weights.resident_bytes - kv


def format_options(
    deployments: Mapping[str, Deployment], *, prompt_tokens: int, context_tokens: int
) -> tuple[FormatOption, ...]:
    """One model in several formats, by the name of the format; the first is what the others are compared with."""
    found: list[FormatOption] = []
    first_s: float | None = None
    for name, deployment in deployments.items():
        step = deployment.decode(batch=1, context_tokens=context_tokens)
        step_s = phase_s(step)
        first_s = step_s if first_s is None else first_s
        found.append(
            FormatOption(
                name=name,
                resident_bytes=deployment.weights.resident_bytes,
                step_bytes=float(step.work.bytes),
                step_s=step_s,
                tokens_per_s=deployment.tokens_per_step / step_s,
                speed_ratio=first_s / step_s,
                prefill_s=phase_s(deployment.prefill(n_tokens=prompt_tokens)),
                free_bytes=_free_bytes(deployment, batch=1, context_tokens=context_tokens),
                bound=step.bound,
            )
        )
    return tuple(found)


def batch_options(deployment: Deployment, *, batches: Sequence[int], context_tokens: int) -> tuple[BatchOption, ...]:
    """Several requests on one reading of the weights, each with `context_tokens` of cache."""
    one_s = phase_s(deployment.decode(batch=1, context_tokens=context_tokens))
    found = []
    for batch in batches:
        step = deployment.decode(batch=batch, context_tokens=context_tokens)
        each = deployment.tokens_per_step / phase_s(step)
        found.append(
            BatchOption(
                batch=batch,
                step_s=phase_s(step),
                tokens_per_s_each=each,
                tokens_per_s=batch * each,
                aggregate_ratio=batch * one_s / phase_s(step),
                bytes_per_token=float(step.work.bytes) / (batch * deployment.tokens_per_step),
                kv_bytes=batch * float(deployment.shape.kv_bytes(context_tokens, deployment.kv_element_bytes)),
                free_bytes=_free_bytes(deployment, batch=batch, context_tokens=context_tokens),
                bound=step.bound,
            )
        )
    return tuple(found)


def batch_end(deployment: Deployment, *, context_tokens: int) -> BatchEnd:
    """Where more requests stop being nearly free: when KV fills memory, or when multiplying takes longer."""
    memory_batch = _memory_batch(deployment, context_tokens)
    compute_batch = None if deployment.rate is None else _compute_batch(deployment, context_tokens)
    reasons = []
    if deployment.device.memory_bytes is None:
        reasons.append(f"the memory of {deployment.device.name} is unknown: where KV ends the batch is not")
    elif memory_batch is not None:
        reasons.append(f"KV of {context_tokens:,} tokens each fills memory at {memory_batch:,} requests")
    if deployment.rate is None:
        reasons.append(f"the multiply rate of {deployment.device.name} is unknown: where compute binds is not")
    elif compute_batch is not None:
        reasons.append(f"multiplying takes longer than reading from {compute_batch:,} requests on")
    else:
        reasons.append("compute never binds: each request's own KV takes longer to read than its token to multiply")
    return BatchEnd(memory_batch=memory_batch, compute_batch=compute_batch, reasons=tuple(reasons))


def _memory_batch(deployment: Deployment, context_tokens: int) -> int | None:
    room = _free_bytes(deployment, batch=0, context_tokens=context_tokens)
    one = float(deployment.shape.kv_bytes(context_tokens, deployment.kv_element_bytes))
    if room is None or one == 0:
        return None
    return max(0, floor(room / one))


def _compute_batch(deployment: Deployment, context_tokens: int) -> int | None:
    """The least batch whose ceiling is set by compute: both times grow with the batch, compute's share too."""

    def binds(batch: int) -> bool:
        step = deployment.decode(batch=batch, context_tokens=context_tokens)
        return step.compute_s is not None and step.compute_s > step.memory_s

    if not binds(_MOST_SEQUENCES):
        return None
    low, high = 0, _MOST_SEQUENCES
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if binds(middle) else (middle, high)
    return high


def hardware_options(
    deployment: Deployment, *, factor: float, batch: int, prompt_tokens: int, context_tokens: int
) -> tuple[HardwareOption, ...]:
    """`factor` times the bandwidth, `factor` times the FLOPs, and both: what each moves in each phase."""
    plans = (
        ("as it is", 1.0, 1.0),
        (f"{factor:g} x the FLOPs", 1.0, factor),
        (f"{factor:g} x the bandwidth", factor, 1.0),
        (f"{factor:g} x both", factor, factor),
    )
    decode_s = float(deployment.decode_step_s(float(batch), float(context_tokens)))
    prefill_s = float(deployment.prefill_s(float(prompt_tokens)))
    found = []
    for name, bandwidth_factor, flops_factor in plans:
        other = deployment.with_device(bandwidth_factor=bandwidth_factor, flops_factor=flops_factor)
        other_decode_s = float(other.decode_step_s(float(batch), float(context_tokens)))
        other_prefill_s = float(other.prefill_s(float(prompt_tokens)))
        found.append(
            HardwareOption(
                name=name,
                bandwidth_factor=bandwidth_factor,
                flops_factor=flops_factor,
                decode_s=other_decode_s,
                decode_gain_fraction=decode_s / other_decode_s - 1,
                prefill_s=other_prefill_s,
                prefill_gain_fraction=prefill_s / other_prefill_s - 1,
            )
        )
    return tuple(found)
