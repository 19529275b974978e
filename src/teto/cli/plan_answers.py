"""The answer of `teto plan` over devices as data: the front, what else keeps the promise, and why the rest does not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median
from typing import Any, Final

from teto.cli.asked import refusals
from teto.cli.plan_options import Built, Refused, build_options, chosen_devices, drawn_watts
from teto.errors import ConfigError
from teto.physics.calls import CallTokens
from teto.physics.pareto import front
from teto.physics.planning import Candidate, Plan, Rejection, Targets, plan
from teto.physics.served import behaviour, is_served

__all__ = ["PlanAnswer", "Row", "asked_call", "asked_targets", "catalog_plan", "plan_answer"]

BATCHES: Final = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128, 256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One candidate. Dollars and joules are for output tokens, their prompts included; None is unknown.

    `bound` is what binds a full decode step. `energy_kind` is `estimate`, `at most` (rated power) or `unknown`.
    `kind` is `estimate`, `beyond` for an estimate outside what its fit has seen, or `ceiling` where no fit covers it.
    """

    device: str
    n_devices: int
    weight_format: str
    batch: int
    n_groups: int
    load_fraction: float
    ttft_s: float
    tpot_s: float
    call_s: float
    tokens_per_s: float
    free_bytes: float
    usd_per_mtok: float | None
    j_per_token: float | None
    energy_kind: str
    bound: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedRow:
    """An option at the batch that comes nearest, or a device that is out at every one.

    `excess_fraction` is the largest excess over a limit; None where something is unknown.
    """

    label: str
    device: str
    batch: int | None
    reasons: tuple[str, ...]
    excess_fraction: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAnswer:
    """A plan over devices, formats and batches."""

    model: str
    tokens: CallTokens
    targets: Targets
    n_candidates: int
    n_admitted: int
    front: tuple[Row, ...]
    rejected: tuple[RejectedRow, ...]
    other_batches: tuple[RejectedRow, ...]
    price_sources: Mapping[str, str]
    notes: tuple[str, ...]


def asked_call(options: Mapping[str, Any]) -> CallTokens:
    """The kind of call that the options give.

    Raises:
        ConfigError: a length is missing.
    """
    for name in ("prompt_tokens", "output_tokens"):
        if options[name] is None:
            raise ConfigError(
                f"--{name.replace('_', '-')} is missing.", fix="A plan is for a kind of call: give both lengths."
            )
    return CallTokens(prompt_tokens=options["prompt_tokens"], output_tokens=options["output_tokens"])


def asked_targets(options: Mapping[str, Any]) -> Targets:
    """The promise that the options give."""
    ttft_ms, tpot_ms = options["ttft_ms"], options["tpot_ms"]
    with refusals("Give --load between 0 and 1."):
        return Targets(
            calls_per_s=options["rate"],
            ttft_s=None if ttft_ms is None else ttft_ms / 1e3,
            tpot_s=None if tpot_ms is None else tpot_ms / 1e3,
            most_load_fraction=options["load"],
        )


def catalog_plan(options: Mapping[str, Any], tokens: CallTokens, targets: Targets) -> tuple[Built, Plan]:
    """Judge the devices that the options name, or the whole catalog."""
    devices = chosen_devices(options["on"], options["family"], dict(options["memory"]))
    built = build_options(
        options["model"],
        devices,
        quants=options["quant"],
        counts=options["counts"] or (),
        usd_per_hour=dict(options["usd_per_hour"]),
        options=options,
    )
    with refusals("Give shorter calls, or a model with a longer context."):
        found = plan(
            built.options,
            tokens,
            targets,
            batches=options["batches"] or BATCHES,
            behave=behaviour(_front_s()),
            watts=drawn_watts,
        )
    return built, found


def _front_s() -> float:
    """What a call takes outside the steps of a server: the middle of the engines that were measured."""
    from teto.catalog.load_fits import queue_entry

    return median(queue_entry().front_s.values())


def _energy_kind(one: Candidate) -> str:
    if one.j_per_token is None:
        return "unknown"
    return "estimate" if is_served(one.option.deployment) else "at most"


def plan_answer(model: str, built: Built, found: Plan) -> PlanAnswer:
    """The plan as data."""
    best = front(found.admitted)
    rows = tuple(row_of(one, found.tokens) for one in best)
    return PlanAnswer(
        model=model,
        tokens=found.tokens,
        targets=found.targets,
        n_candidates=len(found.admitted) + len(found.rejected) + len(built.refused),
        n_admitted=len(found.admitted),
        front=rows,
        rejected=tuple(_rejected(found, built.refused)),
        other_batches=tuple(_other_batches(found)),
        price_sources={name: built.price_sources[name] for name in _priced(best) if name in built.price_sources},
        notes=tuple(_notes(best, rows)),
    )


def row_of(one: Candidate, tokens: CallTokens) -> Row:
    """One candidate as a row."""
    deployment = one.option.deployment
    return Row(
        device=deployment.device.name,
        n_devices=deployment.n_devices,
        weight_format=one.option.format_name,
        batch=one.batch,
        n_groups=one.n_groups,
        load_fraction=one.load_fraction,
        ttft_s=one.ttft_s,
        tpot_s=one.tpot_s,
        call_s=one.call_s,
        tokens_per_s=one.tokens_per_s,
        free_bytes=one.free_bytes,
        usd_per_mtok=one.usd_per_mtok,
        j_per_token=one.j_per_token,
        energy_kind=_energy_kind(one),
        bound=deployment.decode(batch=one.batch, context_tokens=round(tokens.mean_context_tokens)).bound,
        kind=_kind(one, tokens),
    )


def _kind(one: Candidate, tokens: CallTokens) -> str:
    deployment = one.option.deployment
    if deployment.fit is None:
        return "ceiling"
    outside = deployment.fit.outside(
        mem_bandwidth_bytes_per_s=deployment.device.mem_bandwidth_bytes_per_s,
        weight_bytes=deployment.weights.resident_bytes,
        context_tokens=tokens.context_tokens,
        batch=one.batch,
    )
    return "beyond" if outside else "estimate"


def _priced(best: Sequence[Candidate]) -> set[str]:
    return {one.option.deployment.device.name for one in best}


def _other_batches(found: Plan) -> list[RejectedRow]:
    """Each batch at which an option that keeps the promise elsewhere does not, and why."""
    kept = {id(one.option) for one in found.admitted}
    return [_rejected_row(one) for one in found.rejected if id(one.option) in kept]


def _rejected_row(one: Rejection) -> RejectedRow:
    return RejectedRow(
        label=one.option.label.strip(),
        device=one.option.deployment.device.name,
        batch=one.batch,
        reasons=one.reasons,
        excess_fraction=one.excess_fraction if isfinite(one.excess_fraction) else None,
    )


def _rejected(found: Plan, refused: Sequence[Refused]) -> list[RejectedRow]:
    """For each option that keeps the promise at no batch, the batch that comes nearest to it."""
    kept = {id(one.option) for one in found.admitted}
    nearest: dict[int, Rejection] = {}
    for rejection in found.rejected:
        key = id(rejection.option)
        if key not in kept and (key not in nearest or rejection.excess_fraction < nearest[key].excess_fraction):
            nearest[key] = rejection
    rows = [_rejected_row(one) for one in nearest.values()]
    return rows + [
        RejectedRow(label=one.label, device=one.label.split()[0], batch=None, reasons=one.reasons, excess_fraction=None)
        for one in refused
    ]


def _notes(best: Sequence[Candidate], rows: Sequence[Row]) -> list[str]:
    notes = []
    kinds = {row.kind for row in rows}
    if "ceiling" in kinds:
        notes.append("rows marked `ceiling` have no fit: real engines need more time, and more devices")
    if "beyond" in kinds:
        notes.append("rows marked `beyond` are estimates outside what their fit has seen (batch, context, size): rough")
    if any(one.usd_per_mtok is None for one in best):
        notes.append(
            "no hourly price is known for some: they are compared with themselves alone (--usd-per-hour NAME=2.5)"
        )
    if any(one.j_per_token is not None for one in best):
        notes.append(
            "joules of servers are by their fitted curve of power, others at most (rated power); without the host"
        )
    notes.append(
        "seconds are means: of servers whose prompts join the running steps, of others that prefill whole prompts"
    )
    return notes
