"""The answer of `teto ceiling` as data: what the text, the JSON and the pictures all show."""

from dataclasses import dataclass
from math import floor
from statistics import median
from typing import TYPE_CHECKING, Final, Literal

from teto.physics.calls import CallTokens
from teto.physics.deployment import Bound, Deployment, Phase, Rung
from teto.physics.judgement import Judgement, judge
from teto.physics.levers import Lever, levers
from teto.physics.memory import Fitting, fit_in_memory
from teto.physics.served import is_served, served

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
    bound: Bound | Literal["unknown"]
    waterfall: tuple[Rung, ...]
    joules_per_token_at_most: float | None
    usd_per_mtok: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPart:
    """What `concurrency` users see who each send the next call when the last is answered; seconds are means.

    `waterfall` are the rungs that load adds to a decode step, a token: the prompts of others, and the wait.
    """

    concurrency: int
    slots: int
    running: float
    waiting: float
    itl_s: float
    ttft_s: float
    tokens_per_s: float
    utilisation_fraction: float
    waterfall: tuple[Rung, ...]


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
    load: LoadPart | None
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
    concurrency: int | None = None,
    output_tokens: int | None = None,
) -> Answer:
    """Ask the deployment everything, once; with a concurrency, at the batch that runs under it."""
    load = None
    if concurrency is not None and output_tokens is not None:
        call = CallTokens(prompt_tokens=prompt_tokens, output_tokens=output_tokens)
        load = _load(deployment, call, concurrency, other_memory_bytes)
        batch = max(1, round(load.running))
    decode = deployment.decode(batch=batch, context_tokens=context_tokens)
    notes = _notes(deployment, context_tokens, prompt_tokens, batch)
    decode_part = _part(
        decode,
        deployment,
        tokens=batch,
        batch=batch,
        usd_per_hour=usd_per_hour,
        yielded=deployment.tokens_per_step,
        is_covered=not notes,
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
        prefill=_part(
            prefill,
            deployment,
            tokens=prompt_tokens,
            batch=1,
            usd_per_hour=usd_per_hour,
            yielded=1.0,
            is_known=deployment.rate is not None,
            is_covered=not notes,
        ),
        decode=decode_part,
        levers=levers(deployment, batch=batch, context_tokens=context_tokens),
        readers=(floor(aggregate / fast), floor(aggregate / slow)),
        memory=_memory(deployment, context_tokens, batch, other_memory_bytes),
        load=load,
        fit=None if deployment.fit is None else f"{deployment.fit.name}: {deployment.fit.source}",
        notes=notes,
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
    phase: Phase,
    deployment: Deployment,
    *,
    tokens: int,
    batch: int,
    usd_per_hour: float | None,
    yielded: float,
    is_known: bool = True,
    is_covered: bool = True,
) -> PhasePart:
    """`tokens` go through in the phase; in a step each sequence gets `yielded`.

    Not `is_known`: only memory bounds the phase, and nothing is derived from that. Not `is_covered`: the estimate is
    outside what its fit has seen, and its band says nothing here.
    """
    per_request = tokens / batch * yielded
    taken_s = phase.estimate_s or phase.ceiling_s
    all_tokens = tokens * yielded
    power_w = deployment.device.power_w if is_known else None
    hourly = usd_per_hour if is_known else None
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
        estimate_band_s=phase.band_s if is_covered else None,
        estimate_tokens_per_s=None if phase.estimate_s is None else per_request / phase.estimate_s,
        estimate_aggregate_tokens_per_s=None if phase.estimate_s is None else all_tokens / phase.estimate_s,
        bound=phase.bound if is_known else "unknown",
        waterfall=phase.waterfall,
        joules_per_token_at_most=None if power_w is None else deployment.n_devices * power_w * taken_s / all_tokens,
        usd_per_mtok=None if hourly is None else deployment.n_devices * hourly / 3600 * taken_s / all_tokens * 1e6,
    )


def _load(deployment: Deployment, call: CallTokens, concurrency: int, other_bytes: float) -> LoadPart:
    from teto.catalog.load_fits import queue_entry

    fitting = _memory(deployment, call.context_tokens, 1, other_bytes)
    slots = concurrency if fitting is None else min(concurrency, max(1, fitting.max_sequences))
    front_s = median(queue_entry().front_s.values()) if is_served(deployment) else 0.0
    found = served(deployment, call, concurrency=concurrency, slots=slots, front_s=front_s, burst_fraction=0.0)
    running = float(found.running)
    step_s = float(deployment.decode_step_s(running, call.mean_context_tokens)) / deployment.tokens_per_step
    wait_s = max(0.0, float(found.ttft_s) - float(deployment.prefill_s(float(call.prompt_tokens))))
    return LoadPart(
        concurrency=concurrency,
        slots=slots,
        running=running,
        waiting=float(found.waiting),
        itl_s=float(found.itl_s),
        ttft_s=float(found.ttft_s),
        tokens_per_s=float(found.tokens_per_s),
        utilisation_fraction=float(found.utilisation_fraction),
        waterfall=(
            Rung("prefill interference", max(0.0, float(found.itl_s) - step_s)),
            Rung("queue, a token", wait_s / call.output_tokens),
        ),
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


def _notes(deployment: Deployment, context_tokens: int, prompt_tokens: int, batch: int) -> tuple[str, ...]:
    notes = []
    if deployment.fit is None:
        notes.append("no fit covers this: only the ceiling is given, real engines stay below it")
    else:
        outside = deployment.fit.outside(
            mem_bandwidth_bytes_per_s=deployment.device.mem_bandwidth_bytes_per_s,
            weight_bytes=deployment.weights.resident_bytes,
            context_tokens=context_tokens,
            prompt_tokens=prompt_tokens,
            batch=batch,
        )
        notes += [f"the estimate is outside what was fitted: {words}" for words in outside]
    if deployment.rate is None:
        notes.append(
            "the multiply rate is unknown (--flops): no compute limit is claimed, prefill is only known to take longer"
        )
    return tuple(notes)
