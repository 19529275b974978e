"""What a family of measurements is: which rows, which constants, for which devices the result may be used."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from teto.catalog.fit.observe import Observation

__all__ = ["Bar", "Family", "Loaded", "Use"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The observations of a family; `dropped` counts rows that were left out, by reason."""

    decode: Sequence[Observation]
    prefill: Sequence[Observation] = ()
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The largest median (and 90th percentile) of the absolute error that was to be reached."""

    median: float
    p90: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """For what the fit may be used: empty is any. `id_pattern` is matched against catalog ids of devices."""

    engine: str
    device_families: tuple[str, ...]
    id_pattern: str = ""
    released_from: str = ""
    released_before: str = ""
    is_moe: bool | None = None
    several_devices: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One fit. Families with one `table` are reported together, under one bar."""

    id: str
    table: str
    source: str
    load: Callable[[Path], Loaded]
    decode_terms: tuple[str, ...]
    prefill_terms: tuple[str, ...] = ()
    prefill_groups: tuple[tuple[str, str], ...] = ()
    """Names and id patterns of devices that share decode constants but not compute fractions."""
    use: Use
    n_forms_tried: int
