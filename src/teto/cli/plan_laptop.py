"""`teto plan --laptop`: the NPU, the iGPU and the CPU of one package side by side, and hours on a battery."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from teto.cli.asked import nearest
from teto.cli.inputs import named_deployment, named_model
from teto.cli.table import table
from teto.units import show_joules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from teto.catalog.devices import DeviceEntry
    from teto.catalog.laptops import PartReading, Readings
    from teto.catalog.resolve import ResolvedModel
    from teto.physics.deployment import Deployment

__all__ = ["LaptopAnswer", "LaptopRow", "laptop_answer", "laptop_lines"]

_QUANT: Final = "q4_0"  # what the readings' engines run, and what a laptop has room for
_CONTEXT: Final = 1024  # that of the readings


@dataclass(frozen=True, slots=True, kw_only=True)
class LaptopRow:
    """One part, by one engine or from its limits; None is unknown.

    `speed_kind` is measured (this model), estimate or ceiling. `power_kind` is measured (this model), measured on
    other models (`n_readings` of them, their median), rated (at most), or unknown. `hours` follow from the power.
    """

    device: str
    part: str
    engine: str | None
    tokens_per_s: float
    speed_kind: str
    power_w: float | None
    power_kind: str
    n_readings: int
    boundary: str | None
    j_per_token: float | None
    j_kind: str
    hours: float | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaptopAnswer:
    """All parts of one package."""

    group: str
    model: str
    weight_format: str | None
    context_tokens: int
    battery_wh: float | None
    rows: tuple[LaptopRow, ...]
    notes: tuple[str, ...]


def laptop_answer(options: Mapping[str, Any]) -> LaptopAnswer:
    """Every part of the group, from its readings and its limits.

    Raises:
        UnknownNameError: no such group.
    """
    from teto.catalog.devices import all_devices
    from teto.catalog.fits import engine_of
    from teto.catalog.laptops import laptop_readings

    group = options["laptop"]
    parts = [entry for entry in all_devices() if entry.group == group]
    if not parts:
        groups = sorted({entry.group for entry in all_devices() if entry.group is not None})
        raise nearest(group, groups, "group of devices")
    quant = (options["quant"] or (_QUANT,))[0]
    resolved = named_model(options["model"], None if options["model"].endswith(".gguf") else quant)
    readings = laptop_readings(group)
    battery_wh: float | None = options["battery_wh"]
    rows: list[LaptopRow] = []
    for entry in parts:
        deployment = _deployment(entry, resolved, options)
        speed = _speed(deployment, None if deployment.fit is None else engine_of(deployment.fit.name))
        rows += _rows(entry, readings, resolved.name, speed)
    if battery_wh is not None:
        rows = [replace(row, hours=None if row.power_w is None else battery_wh / row.power_w) for row in rows]
    return LaptopAnswer(
        group=group,
        model=resolved.name,
        weight_format=None if resolved.weight_format is None else resolved.weight_format.name,
        context_tokens=_CONTEXT,
        battery_wh=battery_wh,
        rows=tuple(rows),
        notes=_NOTES,
    )


_NOTES: Final = (
    "public power readings of NPUs are few, most are their vendors': compare rows of one boundary only",
    "the parts share one memory: they have the same ceiling and cannot all reach it at once",
    "hours count the boundary alone: screen, memory and the rest of the machine shorten them",
)


def _deployment(entry: "DeviceEntry", resolved: "ResolvedModel", options: Mapping[str, Any]) -> "Deployment":
    """The model on a part. A part without a rate in this format's dtypes keeps its memory limit, which binds decode."""
    from teto.catalog.resolve import device_from_entry

    device = device_from_entry(entry)
    if device.rate(resolved.compute) is None:
        device = replace(device, flops_per_s={})
    return named_deployment(resolved, device, kv=options["kv"], engine=options["engine"])


@dataclass(frozen=True, slots=True)
class _Speed:
    """Tokens a second from a part's limits, and where the figure is from; `engine` is the one that a fit is of."""

    tokens_per_s: float
    kind: str
    source: str
    ceiling_tokens_per_s: float
    engine: str | None

    def of(self, engine: str) -> "_Speed":
        """The same for an engine: what was fitted to another says nothing of it, and the ceiling is left."""
        if self.kind != "estimate" or _RUNS.get(engine, engine) == self.engine:
            return self
        return replace(self, tokens_per_s=self.ceiling_tokens_per_s, kind="ceiling")


_RUNS: Final = {"LM Studio": "llama.cpp"}  # what an application runs inside


def _speed(deployment: "Deployment", engine: str | None) -> _Speed:
    ceiling = 1 / float(deployment.decode_ceiling_s(1.0, float(_CONTEXT)))
    if deployment.fit is None:
        return _Speed(ceiling, "ceiling", deployment.device.source, ceiling, None)
    tokens_per_s = 1 / float(deployment.decode_step_s(1.0, float(_CONTEXT)))
    return _Speed(tokens_per_s, "estimate", deployment.fit.source, ceiling, engine)


def _rows(entry: "DeviceEntry", readings: "Sequence[Readings]", model: str, speed: _Speed) -> Iterator[LaptopRow]:
    """A row for each engine that was read on this part, or else one from what is rated."""
    from teto.catalog.laptops import part_of

    part = part_of(entry.family)
    is_read = False
    for found in readings:
        ours = () if part is None else found.of(part)
        for engine in sorted({one.engine for one in ours}):
            is_read = True
            yield _read_row(entry.id, found, [one for one in ours if one.engine == engine], model=model, speed=speed)
    if not is_read:
        yield _rated_row(entry, part or entry.family, speed)


def _rated_row(entry: "DeviceEntry", part: str, speed: _Speed) -> LaptopRow:
    power = None if entry.power_w is None else entry.power_w.value
    # A power that is at most and a speed that is at most bound their quotient on neither side.
    is_bounded = power is not None and speed.kind == "estimate"
    return LaptopRow(
        device=entry.id,
        part=part,
        engine=None,
        tokens_per_s=speed.tokens_per_s,
        speed_kind=speed.kind,
        power_w=power,
        power_kind="unknown" if power is None else "rated, at most",
        n_readings=0,
        boundary=None if power is None else "package, shared by its parts",
        j_per_token=None if power is None or not is_bounded else power / speed.tokens_per_s,
        j_kind="at most" if is_bounded else "unknown",
        hours=None,
        source=speed.source if entry.power_w is None else f"{speed.source}; power: {entry.power_w.source}",
    )


def _read_row(device: str, found: "Readings", ours: "Sequence[PartReading]", *, model: str, speed: _Speed) -> LaptopRow:
    """One engine's readings: of this model, or else the power of the others beside the part's limit."""
    same = [one for one in ours if one.model == model]
    speed = speed.of(ours[0].engine)
    tokens_per_s, kind = (same[0].tokens_per_s, "measured") if same else (speed.tokens_per_s, speed.kind)
    power = same[0].power_w if same else median(one.power_w for one in ours)
    return LaptopRow(
        device=device,
        part=ours[0].part,
        engine=ours[0].engine,
        tokens_per_s=tokens_per_s,
        speed_kind=kind,
        power_w=power,
        power_kind="measured" if same else "measured on other models",
        n_readings=1 if same else len(ours),
        boundary=found.origin.boundary,
        j_per_token=power / tokens_per_s,
        j_kind=_J_KINDS[kind],
        hours=None,
        source=f"{found.origin.source}, {found.origin.date}",
    )


_J_KINDS: Final = {"measured": "measured", "estimate": "derived", "ceiling": "at least"}
_POWER: Final = {
    "measured": "",
    "measured on other models": "(other models)",
    "rated, at most": "(rated)",
    "unknown": "",
}


def laptop_lines(found: LaptopAnswer) -> Iterator[str]:
    """A line for each part and engine, then what each figure includes."""
    weights = found.weight_format or "in mixed formats"
    yield f"{found.model} {weights} on the parts of {found.group}, one request at {found.context_tokens:,} tokens"
    battery = "" if found.battery_wh is None else f" on {found.battery_wh:g} Wh"
    boundaries = dict.fromkeys(row.boundary for row in found.rows if row.boundary is not None)
    marks = dict(zip(boundaries, "abcdefgh", strict=False))
    yield from table(
        ("part", "engine", "tok/s", "", "power", "n", "J/token", "", f"hours{battery}", "of"),
        [
            (
                row.part,
                row.engine or "-",
                f"{row.tokens_per_s:.1f}",
                row.speed_kind,
                "unknown" if row.power_w is None else f"{row.power_w:.3g} W {_POWER[row.power_kind]}".rstrip(),
                f"{row.n_readings}",
                "unknown" if row.j_per_token is None else show_joules(row.j_per_token),
                row.j_kind,
                "unknown" if row.hours is None else f"{row.hours:.1f}",
                "-" if row.boundary is None else marks[row.boundary],
            )
            for row in found.rows
        ],
    )
    for boundary, mark in marks.items():
        yield f"{mark}: {boundary}"
    for source in dict.fromkeys(row.source for row in found.rows):
        yield f"source: {source}"
    for note in found.notes:
        yield f"note: {note}"
