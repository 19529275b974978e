"""What a family of measurements is: which rows, which constants, for which devices the result may be used."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from teto.catalog.fit.observe import Observation

__all__ = ["BEFORE_TENSOR", "NVIDIA", "NVIDIA_GROUPS", "TENSOR", "Bar", "Family", "Loaded", "Use"]

# Patterns of catalog ids. Without tensor units: Pascal, and the Turing of the GTX 16 and T series.
_OF_OTHERS: Final = r"rx|radeon|pro-w|w7|mi\d|arc"
_OLDER: Final = r"gtx|mx|titan-xp|quadro-p|p\d|t1200"
NVIDIA: Final = rf"^(?!{_OF_OTHERS})"
BEFORE_TENSOR: Final = rf"^({_OLDER})"
TENSOR: Final = rf"^(?!{_OLDER}|{_OF_OTHERS})"
_GEFORCE: Final = r"^rtx-\d{4}(-(ti|super|d|\d+gb))*$"
# The catalog's rates are with 32-bit accumulation, at half speed on GeForce; llama.cpp accumulates in 16 bits.
NVIDIA_GROUPS: Final = (("geforce", _GEFORCE), ("workstation", rf"^(?!{_GEFORCE.removeprefix('^')})"))


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
    """For what the fit may be used: empty is any. `id_pattern` starts with ^ and is matched against catalog ids."""

    engine: str
    device_families: tuple[str, ...]
    id_pattern: str = ""
    released_from: str = ""
    released_before: str = ""
    is_moe: bool | None = None
    several_devices: bool = False
    formats: tuple[str, ...] = ()


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
    context_range_tokens: tuple[float, float] | None = None
    """Contexts in the data where a row is the mean of several; None: what the rows state."""
