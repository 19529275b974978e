"""Fits a family, judges it on what it had not seen, and gives its entry and its row of the accuracy tables."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from teto.catalog.fit.families import Family, Loaded
from teto.catalog.fit.holdout import Errors, held_out, noise_floor
from teto.catalog.fit.observe import Observation
from teto.catalog.fit.solve import solve
from teto.catalog.fits import FitEntry
from teto.physics.estimate import Fit

__all__ = ["Study", "study"]

_LEAST_ROWS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A family's constants and errors; None where the data has one device, or one shape, only."""

    family: Family
    entries: tuple[FitEntry, ...]
    by_device: Errors | None
    by_shape: Errors | None
    floor: Errors | None
    prefill: Errors | None
    dropped: Counter[str]


def study(family: Family, folder: Path) -> Study | None:
    """Fit and judge; None where fewer than six rows can be identified."""
    loaded = family.load(folder)
    if len(loaded.decode) < _LEAST_ROWS:
        return None
    start = Fit(
        name=family.id, source=family.source, n_rows=len(loaded.decode), weights_fraction=0.8,
        cache_fraction=None, compute_fraction=None, band=(1.0, 1.0),
    )  # fmt: skip

    def fit_decode(rows: Sequence[Observation]) -> Fit:
        return solve(start, family.decode_terms, rows)

    fitted = fit_decode(loaded.decode)
    by_device = held_out(loaded.decode, "device", fit_decode)
    by_shape = held_out(loaded.decode, "shape_key", fit_decode)
    worst = by_device or by_shape
    band = (1.0, 1.0) if worst is None else worst.band
    groups = family.prefill_groups or (("", ""),)
    entries, prefill = [], []
    for suffix, pattern in groups:
        rows = [row for row in loaded.prefill if re.search(pattern, row.device)] if family.prefill_terms else []
        whole = solve(fitted, family.prefill_terms, rows) if len(rows) >= _LEAST_ROWS else fitted
        errors = _judge_prefill(fitted, family, rows) if len(rows) >= _LEAST_ROWS else None
        prefill += [] if errors is None else list(errors.signed)
        whole = replace(whole, band=band, prefill_band=None if errors is None else errors.band)
        entries.append(_entry(family, whole, loaded, suffix, pattern))
    return Study(
        family=family,
        entries=tuple(entries),
        by_device=by_device,
        by_shape=by_shape,
        floor=noise_floor(loaded.decode),
        prefill=Errors(signed=tuple(prefill), n_groups=len(groups)) if prefill else None,
        dropped=loaded.dropped,
    )


def _judge_prefill(fitted: Fit, family: Family, rows: Sequence[Observation]) -> Errors | None:
    def fit_to(seen: Sequence[Observation]) -> Fit:
        return solve(fitted, family.prefill_terms, seen)

    return held_out(rows, "device", fit_to) or held_out(rows, "shape_key", fit_to)


def _entry(family: Family, fit: Fit, loaded: Loaded, suffix: str, pattern: str) -> FitEntry:
    rows = loaded.decode
    use = family.use
    both = "".join(f"(?={part.removeprefix('^')})" for part in (use.id_pattern, pattern) if part)
    return FitEntry(
        id=f"{family.id}-{suffix}" if suffix else family.id,
        engine=use.engine,
        device_families=use.device_families,
        source=fit.source,
        n_rows=fit.n_rows,
        weights_fraction=_rounded(fit.weights_fraction),
        cache_fraction=None if fit.cache_fraction is None else _rounded(fit.cache_fraction),
        compute_fraction=None if fit.compute_fraction is None else _rounded(fit.compute_fraction),
        attention_fraction=None if fit.attention_fraction is None else _rounded(fit.attention_fraction),
        layer_overhead_s=_rounded(fit.layer_overhead_s),
        step_overhead_s=_rounded(fit.step_overhead_s),
        link_overhead_s=_rounded(fit.link_overhead_s),
        band=_both_rounded(fit.band),
        prefill_band=None if fit.prefill_band is None else _both_rounded(fit.prefill_band),
        id_pattern=f"^{both}" if both else "",
        released_from=use.released_from,
        released_before=use.released_before,
        is_moe=use.is_moe,
        several_devices=use.several_devices,
        formats=use.formats,
        ranges={
            "mem_bandwidth_bytes_per_s": _range([row.mem_bandwidth_bytes_per_s for row in rows]),
            "weight_bytes": _range([row.weight_bytes for row in rows]),
            "context_tokens": family.context_range_tokens or _range([row.context_tokens for row in rows]),
            "batch": _range([row.batch for row in rows]),
            **({"prompt_tokens": _range([row.context_tokens for row in loaded.prefill])} if loaded.prefill else {}),
        },
    )


def _rounded(value: float) -> float:
    """Three digits: more are not in the data, and fewer bits differ between machines."""
    return float(f"{value:.3g}")


def _both_rounded(band: tuple[float, float]) -> tuple[float, float]:
    return _rounded(band[0]), _rounded(band[1])


def _range(values: Sequence[float]) -> tuple[float, float]:
    return _rounded(float(np.min(values))), _rounded(float(np.max(values)))
