"""Energy with its boundary, or the reason why it is unknown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Energy", "EnergyKind", "added", "derived_energy", "unknown_energy"]

EnergyKind = Literal["measured", "derived", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Joules of one piece of work: `boundary` says of what (package, board, wall), `note` how or why not."""

    joules: float | None
    kind: EnergyKind
    boundary: str | None
    note: str

    def __post_init__(self) -> None:
        if (self.joules is None) != (self.kind == "unknown"):
            raise ValueError(f"energy is unknown exactly when it has no joules: {self}")


def unknown_energy(reason: str) -> Energy:
    """No figure, and why."""
    return Energy(joules=None, kind="unknown", boundary=None, note=reason)


def derived_energy(*, power_w: float, seconds: float, boundary: str, source: str) -> Energy:
    """Mean power times time: as good as the power figure, which somebody else stated in `source`."""
    note = f"{power_w:g} W ({source}) over {seconds:.3f} s"
    return Energy(joules=power_w * seconds, kind="derived", boundary=boundary, note=note)


def added(parts: Sequence[Energy]) -> Energy:
    """The energy of all the parts, at least one: unknown as soon as one is, measured only if all are."""
    first = parts[0]
    known = [part.joules for part in parts if part.joules is not None]
    if len(parts) == 1 or first.joules is None:
        return first
    if len(known) < len(parts):
        return unknown_energy("of a part of the work it is unknown")
    kind: EnergyKind = "measured" if all(part.kind == "measured" for part in parts) else "derived"
    note = f"{first.note}; {len(parts)} runs"
    return Energy(joules=sum(known), kind=kind, boundary=first.boundary, note=note)
