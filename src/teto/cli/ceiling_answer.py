"""The answer of `teto ceiling` as data: what the text, the JSON and the pictures all show."""

from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING, Final

from teto.physics.deployment import Bound, Deployment, Phase, Rung
from teto.physics.judgement import Judgement, judge
from teto.physics.levers import Lever, levers
from teto.physics.memory import Fitting, fit_in_memory

if TYPE_CHECKING:
    from teto.catalog.resolve import ResolvedModel

__all__ = ["Answer", "ModelPart", "PhasePart", "answer"]

READER_TOKENS_PER_S: Final = (7, 10)  # how fast people read: design, idea 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPart:
    """The model in its format."""

    name: str
    format: str | None
    total_params: int
    active_params: int
    is_moe: bool
    resident_bytes: float
    decode_bytes: float
    kv_bytes_per_token: float
    is_exact: bool
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePart:
    """The device, or as many as share a step."""

    name: str
    n_devices: int
    mem_bandwidth_bytes_per_s: float
    dtype: str | None
    flops_per_s: float | None
    ridge_flops_per_byte: float | None
    kind: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePart:
    """One phase. Rates are of one request; `aggregate` of all that share the step."""

    tokens: int
    batch: int
    bytes: float
    weight_bytes: float
    kv_bytes: float
    flops: float
    intensity_flops_per_byte: float
    memory_s: float
    compute_s: float | None
    ceiling_s: float
    ceiling_tokens_per_s: float
    ceiling_aggregate_tokens_per_s: float
    estimate_s: float | None
    estimate_band_s: tuple[float, float] | None
    estimate_tokens_per_s: float | None
    estimate_aggregate_tokens_per_s: float | None
    bound: Bound
    waterfall: tuple[Rung, ...]
    joules_per_token_at_most: float | None
    usd_per_mtok: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Everything that `teto ceiling` says."""

    model: ModelPart
    device: DevicePart
    context_tokens: int
    tokens_per_step: float
    prefill: PhasePart
    decode: PhasePart
    levers: tuple[Lever, ...]
    readers: tuple[int, int]
    memory: Fitting | None
    fit: str | None
    notes: tuple[str, ...]
    judgement: Judgement | None


def answer(
    model: "ResolvedModel",
    deployment: Deployment,
    *,
    context_tokens: int,
    prompt_tokens: int,
    batch: int,
    other_memory_bytes: float,
    usd_per_hour: float | None,
    measured_tokens_per_s: float | None,
) -> Answer:
    """Ask the deployment everything, once."""
    decode = deployment.decode(batch=batch, context_tokens=context_tokens)
    decode_part = _part(
        decode, deployment, tokens=batch, batch=batch, usd_per_hour=usd_per_hour, yielded=deployment.tokens_per_step
    )
    prefill = deployment.prefill(n_tokens=prompt_tokens)
    aggregate = decode_part.estimate_aggregate_tokens_per_s or decode_part.ceiling_aggregate_tokens_per_s
    slow, fast = READER_TOKENS_PER_S
    judgement = None
    if measured_tokens_per_s is not None:
        judgement = judge(
            measured_tokens_per_s=measured_tokens_per_s,
            ceiling_tokens_per_s=1 / decode.ceiling_s,
            tokens_per_step=deployment.tokens_per_step,
        )
    return Answer(
        model=_model_part(model, deployment),
        device=_device_part(deployment),
        context_tokens=context_tokens,
        tokens_per_step=deployment.tokens_per_step,
        prefill=_part(prefill, deployment, tokens=prompt_tokens, batch=1, usd_per_hour=usd_per_hour, yielded=1.0),
        decode=decode_part,
        levers=levers(deployment, batch=batch, context_tokens=context_tokens),
        readers=(floor(aggregate / fast), floor(aggregate / slow)),
        memory=_memory(deployment, context_tokens, batch, other_memory_bytes),
        fit=None if deployment.fit is None else f"{deployment.fit.name}: {deployment.fit.source}",
        notes=_notes(deployment, context_tokens, batch),
        judgement=judgement,
    )


def _model_part(model: "ResolvedModel", deployment: Deployment) -> ModelPart:
    return ModelPart(
        name=model.name,
        format=None if model.weight_format is None else model.weight_format.name,
        total_params=model.shape.total_params,
        active_params=model.shape.active_params,
        is_moe=model.shape.is_moe,
        resident_bytes=model.weights.resident_bytes,
        decode_bytes=model.weights.decode_bytes,
        kv_bytes_per_token=model.shape.kv_bytes_per_token(deployment.kv_element_bytes),
        is_exact=model.is_exact,
        source=model.source,
    )


def _device_part(deployment: Deployment) -> DevicePart:
    device, rate = deployment.device, deployment.rate
    return DevicePart(
        name=device.name,
        n_devices=deployment.n_devices,
        mem_bandwidth_bytes_per_s=device.mem_bandwidth_bytes_per_s,
        dtype=None if rate is None else rate.dtype,
        flops_per_s=None if rate is None else rate.flops_per_s,
        ridge_flops_per_byte=device.ridge_flops_per_byte(deployment.compute),
        kind=device.kind,
        source=device.source,
    )


def _part(
    phase: Phase, deployment: Deployment, *, tokens: int, batch: int, usd_per_hour: float | None, yielded: float
) -> PhasePart:
    """`tokens` go through in the phase; in a step each sequence gets `yielded`."""
    per_request = tokens / batch * yielded
    taken_s = phase.estimate_s or phase.ceiling_s
    all_tokens = tokens * yielded
    power_w, hourly = deployment.device.power_w, usd_per_hour
    return PhasePart(
        tokens=tokens,
        batch=batch,
        bytes=float(phase.work.bytes),
        weight_bytes=float(phase.work.weight_bytes),
        kv_bytes=float(phase.work.kv_bytes),
        flops=float(phase.work.flops),
        intensity_flops_per_byte=phase.intensity_flops_per_byte,
        memory_s=phase.memory_s,
        compute_s=phase.compute_s,
        ceiling_s=phase.ceiling_s,
        ceiling_tokens_per_s=per_request / phase.ceiling_s,
        ceiling_aggregate_tokens_per_s=all_tokens / phase.ceiling_s,
        estimate_s=phase.estimate_s,
        estimate_band_s=phase.band_s,
        estimate_tokens_per_s=None if phase.estimate_s is None else per_request / phase.estimate_s,
        estimate_aggregate_tokens_per_s=None if phase.estimate_s is None else all_tokens / phase.estimate_s,
        bound=phase.bound,
        waterfall=phase.waterfall,
        joules_per_token_at_most=None if power_w is None else deployment.n_devices * power_w * taken_s / all_tokens,
        usd_per_mtok=None if hourly is None else deployment.n_devices * hourly / 3600 * taken_s / all_tokens * 1e6,
    )


def _memory(deployment: Deployment, context_tokens: int, batch: int, other_bytes: float) -> Fitting | None:
    if deployment.device.memory_bytes is None:
        return None
    return fit_in_memory(
        deployment.shape,
        deployment.weights,
        memory_bytes=deployment.n_devices * deployment.device.memory_bytes,
        other_bytes=other_bytes,
        context_tokens=context_tokens,
        batch=batch,
        element_bytes=deployment.kv_element_bytes,
    )


def _notes(deployment: Deployment, context_tokens: int, batch: int) -> tuple[str, ...]:
    notes = []
    if deployment.fit is None:
        notes.append("no fit covers this: only the ceiling is given, real engines stay below it")
    else:
        outside = deployment.fit.outside(
            mem_bandwidth_bytes_per_s=deployment.device.mem_bandwidth_bytes_per_s,
            weight_bytes=deployment.weights.resident_bytes,
            context_tokens=context_tokens,
            batch=batch,
        )
        notes += [f"the estimate is outside what was fitted: {words}" for words in outside]
    if deployment.rate is None:
        notes.append("the multiply rate is unknown: no compute limit is claimed (--flops gives it)")
    return tuple(notes)
