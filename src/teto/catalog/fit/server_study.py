"""Fits the families of servers, judges each on devices and shapes that it had not seen, and makes their entries."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from teto.catalog.fit.energy import device_power_w, energy_errors, fit_power, predicted_load
from teto.catalog.fit.families import Bar
from teto.catalog.fit.holdout import Errors
from teto.catalog.fit.server_rows import ASSUMED_PROMPT_TOKENS, Kind, ServerRow, read_mlenergy, read_silicon
from teto.catalog.fit.servers import Split, fit_servers, held_out_groups, time_errors
from teto.catalog.fit.ttft import fit_queue, ttft_errors
from teto.catalog.fits import FitEntry
from teto.catalog.load_fits import PowerEntry, QueueEntry
from teto.physics.estimate import Fit
from teto.physics.power import PowerFit

__all__ = ["Judged", "ServerStudy", "study_servers"]

_MLENERGY: Final = "ML.ENERGY benchmark v3, vLLM 0.11.1 on H100 and B200, text tasks"
_SILICON: Final = "aiconfigurator silicon sample (mostly InferenceMAX): TensorRT-LLM, SGLang, vLLM"
_NVIDIA_HBM: Final = "^(a100|h20|h100|h200|h800|b100|b200|b300|gb200|gb300|gh200)"
_SPLITS: Final[tuple[Split, ...]] = ("device", "shape_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """One fit: the rows of a source and kind, and the constants that they identify."""

    id: str
    engine: str
    source: str
    kind: Kind
    terms: tuple[str, ...]
    table: str
    bar: Bar
    n_forms_tried: int


_BASE: Final = ("weights_fraction", "compute_fraction", "layer_overhead_s")
FAMILIES: Final = (
    _Family(
        id="server-dense", engine="server", source=_SILICON, kind="dense",
        terms=(*_BASE, "cache_fraction", "attention_fraction", "sequence_overhead_s"),
        table="dense, time per output token, aiconfigurator silicon", bar=Bar(median=0.15), n_forms_tried=20,
    ),
    _Family(
        id="server-moe", engine="server", source=_SILICON, kind="moe",
        terms=(*_BASE, "link_overhead_s"),
        table="MoE, time per output token, aiconfigurator silicon", bar=Bar(median=0.25), n_forms_tried=19,
    ),
    _Family(
        id="vllm-dense", engine="vllm", source=_MLENERGY, kind="dense",
        terms=(*_BASE, "cache_fraction", "sequence_overhead_s", "link_overhead_s"),
        table="dense, median time between tokens, ML.ENERGY", bar=Bar(median=0.10), n_forms_tried=22,
    ),
    _Family(
        id="vllm-moe", engine="vllm", source=_MLENERGY, kind="moe",
        terms=(*_BASE, "sequence_overhead_s", "link_overhead_s", "expert_imbalance"),
        table="MoE, median time between tokens, ML.ENERGY", bar=Bar(median=0.25), n_forms_tried=20,
    ),
)  # fmt: skip
_ENERGY_FORMS: Final = 5
_TTFT_BAR: Final = Bar(median=0.40)
_TTFT_FORMS: Final = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A line of the accuracy table."""

    what: str
    errors: Mapping[str, Errors]
    bar: Bar | None
    n_forms_tried: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStudy:
    """Everything that comes of the server data: errors, entries, and the rows that were left out."""

    judged: tuple[Judged, ...]
    entries: tuple[FitEntry, ...]
    power: tuple[PowerEntry, ...]
    queue: QueueEntry
    dropped: dict[str, Counter[str]]


def _start(family: _Family) -> Fit:
    return Fit(
        name=family.id, source=family.source, n_rows=0, weights_fraction=0.98, cache_fraction=0.75,
        compute_fraction=0.9, overlaps=False, band=(1.0, 1.0),
    )  # fmt: skip


def _of_kind(rows: Sequence[ServerRow], kind: str) -> list[ServerRow]:
    return [row for row in rows if row.kind == kind]


def _judge_steps(family: _Family, rows: Sequence[ServerRow]) -> dict[str, Errors]:
    start = _start(family)
    return {
        split: held_out_groups(
            rows, split, lambda seen, left_out: time_errors(fit_servers(start, family.terms, seen), left_out)
        )
        for split in _SPLITS
    }


def _band(errors: Errors) -> tuple[float, float]:
    """10th and 90th percentile of measured over predicted."""
    ratios = 1 / (1 + np.asarray(errors.signed))
    return _rounded(float(np.quantile(ratios, 0.1))), _rounded(float(np.quantile(ratios, 0.9)))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _range(values: Sequence[float]) -> tuple[float, float]:
    return _rounded(min(values)), _rounded(max(values))


def _entry(family: _Family, fit: Fit, rows: Sequence[ServerRow], errors: Errors) -> FitEntry:
    entry = FitEntry(
        id=family.id,
        engine=family.engine,
        device_families=("hbm",),
        source=family.source,
        n_rows=len(rows),
        weights_fraction=fit.weights_fraction,
        cache_fraction=fit.cache_fraction,
        band=_band(errors),
        overlaps=False,
        id_pattern=_NVIDIA_HBM,
        is_moe=family.kind == "moe",
        several_devices=True,
        ranges={
            "mem_bandwidth_bytes_per_s": _range([row.device.mem_bandwidth_bytes_per_s for row in rows]),
            "weight_bytes": _range([row.weights.resident_bytes for row in rows]),
            "context_tokens": _range([row.prompt_tokens + row.output_tokens / 2 for row in rows]),
            "batch": _range([min(row.users, row.slots) for row in rows]),
        },
    )
    return msgspec.structs.replace(entry, **{term: _rounded(getattr(fit, term)) for term in family.terms})


def repeats(rows: Sequence[ServerRow]) -> Errors | None:
    """The error of predicting a row by the median of the others of its engine, device, model, format and load."""
    groups: dict[object, list[float]] = defaultdict(list)
    for row in rows:
        key = (row.engine, row.device.name, row.shape_key, row.quant, row.n_devices, row.spreads_sequences,
               row.spreads_experts, row.prompt_tokens, row.output_tokens, row.users)  # fmt: skip
        groups[key].append(row.itl_s)
    several = [times for times in groups.values() if len(times) > 1]
    signed = [
        float(np.median(times[:place] + times[place + 1 :])) / time - 1
        for times in several
        for place, time in enumerate(times)
    ]
    return Errors(signed=tuple(signed), n_groups=len(several)) if signed else None


def study_servers(folder: Path) -> ServerStudy:
    """Fit and judge all of it: a minute on one core."""
    dropped: dict[str, Counter[str]] = {_SILICON: Counter(), _MLENERGY: Counter()}
    rows = {
        _SILICON: read_silicon(folder, dropped[_SILICON]),
        _MLENERGY: read_mlenergy(folder, dropped[_MLENERGY]),
    }
    judged, entries, fits = [], [], {}
    for family in FAMILIES:
        chosen = _of_kind(rows[family.source], family.kind)
        errors = _judge_steps(family, chosen)
        floor = repeats(chosen)
        shown = errors if floor is None else {**errors, "spread of repeats": floor}
        judged.append(Judged(what=family.table, errors=shown, bar=family.bar, n_forms_tried=family.n_forms_tried))
        fits[family.id] = fit_servers(_start(family), family.terms, chosen)
        entries.append(_entry(family, fits[family.id], chosen, errors["device"]))
    judged += _judge_unseen(folder, rows[_MLENERGY], fits)
    ttft, queue = _study_queue(rows[_SILICON], fits)
    energy, power = _study_energy(rows[_MLENERGY], fits)
    return ServerStudy(
        judged=(*judged, *ttft, *energy), entries=tuple(entries), power=power, queue=queue, dropped=dropped
    )


def _judge_unseen(folder: Path, text: Sequence[ServerRow], fits: dict[str, Fit]) -> list[Judged]:
    """Kinds of rows that no fit had any of: models with state-space layers, and prompts of images and videos."""
    hybrids = _of_kind(text, "hybrid")
    errors = Errors(signed=tuple(float(error) for error in time_errors(fits["vllm-dense"], hybrids)), n_groups=2)
    lines = [Judged(what="hybrids by the fit of dense models, ML.ENERGY", errors={"unseen": errors}, bar=None)]
    for task, tokens in ASSUMED_PROMPT_TOKENS.items():
        rows = read_mlenergy(folder, Counter(), {task: tokens})
        for kind, fit in (("dense", fits["vllm-dense"]), ("moe", fits["vllm-moe"])):
            chosen = _of_kind(rows, kind)
            if chosen:
                signed = tuple(float(error) for error in time_errors(fit, chosen))
                what = f"{'MoE' if kind == 'moe' else kind}, {task}, prompts of {tokens:.0f} tokens assumed, ML.ENERGY"
                lines.append(Judged(what=what, errors={"unseen": Errors(signed=signed, n_groups=2)}, bar=None))
    return lines


def _study_queue(rows: Sequence[ServerRow], fits: dict[str, Fit]) -> tuple[list[Judged], QueueEntry]:
    timed = [row for row in rows if row.ttft_s is not None]
    starts = {str(family.kind): (_start(family), family.terms) for family in FAMILIES if family.source == _SILICON}
    errors: dict[str, Errors] = {
        split: held_out_groups(timed, split, lambda seen, left_out: ttft_errors(starts, seen, left_out))
        for split in _SPLITS
    }
    found = fit_queue({"dense": fits["server-dense"], "moe": fits["server-moe"]}, timed)
    entry = QueueEntry(
        id="server-queue",
        source=_SILICON,
        n_rows=len(timed),
        front_s={engine: _rounded(value) for engine, value in found.front_s.items()},
        burst_fraction=_rounded(found.burst_fraction),
        band=_band(errors["device"]),
    )
    what = "time to first token at known concurrency, aiconfigurator silicon"
    return [Judged(what=what, errors=errors, bar=_TTFT_BAR, n_forms_tried=_TTFT_FORMS)], entry


def _study_energy(rows: Sequence[ServerRow], fits: dict[str, Fit]) -> tuple[list[Judged], tuple[PowerEntry, ...]]:
    found = [
        _study_power(family, [row for row in _of_kind(rows, family.kind) if row.j_per_token and row.power_w], fits)
        for family in FAMILIES
        if family.source == _MLENERGY
    ]
    return [line for lines, _ in found for line in lines], tuple(entry for _, entry in found)


def _study_power(
    family: _Family, metered: Sequence[ServerRow], fits: dict[str, Fit]
) -> tuple[list[Judged], PowerEntry]:
    start = PowerFit(
        name=f"{family.id}-power", source=family.source, n_rows=len(metered), idle_fraction=0.2,
        memory_fraction=0.5, compute_fraction=0.5, band=(1.0, 1.0),
    )  # fmt: skip
    step = (_start(family), family.terms)
    power: dict[str, Errors] = {
        split: held_out_groups(metered, split, lambda seen, out: energy_errors(step, start, seen, out).power)
        for split in _SPLITS
    }
    energy: dict[str, Errors] = {
        split: held_out_groups(metered, split, lambda seen, out: energy_errors(step, start, seen, out).energy)
        for split in _SPLITS
    }
    curve = fit_power(start, predicted_load(fits[family.id], metered), device_power_w(metered))
    name, bar = ("MoE", Bar(median=0.30)) if family.kind == "moe" else ("dense", Bar(median=0.20))
    lines = [
        Judged(what=f"{name}, watts of a device, ML.ENERGY", errors=power, bar=None),
        Judged(
            what=f"{name}, joules per token, ML.ENERGY", errors=energy, bar=bar, n_forms_tried=_ENERGY_FORMS
        ),
    ]  # fmt: skip
    entry = PowerEntry(
        id=start.name,
        is_moe=family.kind == "moe",
        source=family.source,
        n_rows=len(metered),
        idle_fraction=_rounded(curve.idle_fraction),
        memory_fraction=_rounded(curve.memory_fraction),
        compute_fraction=_rounded(curve.compute_fraction),
        band=_band(energy["device"]),
    )
    return lines, entry
