"""The devices that teto knows by name: `data/devices/*.toml`, one file a family, every figure with its source."""

import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

import msgspec

from teto.catalog.lookup import data_files, find_by_name, index_by_name
from teto.errors import ConfigError
from teto.physics.device import FactKind, Family

__all__ = ["DeviceEntry", "Fact", "Rates", "all_devices", "decode_devices", "find_device"]

_DATE: Final = re.compile(r"(19|20)\d\d(-(0[1-9]|1[0-2]))?")
_MARKS: Final = re.compile(r"\((?:r|tm)\)|[®™]", re.IGNORECASE)
_BANDWIDTH_RANGE: Final = (1e9, 5e13)
_RIDGE_RANGE: Final = (0.5, 1000)
# Multiples of the 16-bit rate above which a rate must be a sparse one, twice the dense. FP4 runs at four times that
# rate, but at eight on GeForce, whose 16-bit rate is halved by 32-bit accumulation, and at 6.2 on B300.
_FP8_LIMIT: Final = 2.1
_FP4_LIMIT_GDDR: Final = 8.1
_FP4_LIMIT: Final = 6.3


class Fact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure in SI units, how it came to be known, where it was read, and the year or month of that source."""

    value: float
    kind: FactKind
    source: str
    date: str

    def __post_init__(self) -> None:
        if not 0 < self.value < math.inf:
            raise ValueError(f"a value must be above 0 and finite, found {self.value}")
        if not self.source.strip():
            raise ValueError("a source must be named, found an empty one")
        if not _DATE.fullmatch(self.date):
            raise ValueError(f"a date must be YYYY or YYYY-MM, found {self.date!r}")


class Rates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Dense operations per second by the dtype that computes, with 32-bit accumulation; None where unknown."""

    fp32: Fact | None = None
    bf16: Fact | None = None
    fp16: Fact | None = None
    fp8: Fact | None = None
    int8: Fact | None = None
    fp4: Fact | None = None


class DeviceEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One device, with the facts that are known of it.

    `memory_bytes` is None where the device is sold with several sizes. `link_bytes_per_s` counts one direction.
    Parts of one package that share its memory have the same `group`.
    """

    id: str
    name: str
    family: Family
    mem_bandwidth_bytes_per_s: Fact
    aliases: tuple[str, ...] = ()
    group: str | None = None
    memory_bytes: Fact | None = None
    flops_per_s: Rates = Rates()
    power_w: Fact | None = None
    link_bytes_per_s: Fact | None = None
    rent_usd_per_h: Fact | None = None
    price_usd: Fact | None = None

    def __post_init__(self) -> None:
        low, high = _BANDWIDTH_RANGE
        bandwidth = self.mem_bandwidth_bytes_per_s.value
        if not low < bandwidth < high:
            raise ValueError(f"{self.id!r}: bandwidth must be within {low:g} and {high:g} B/s, found {bandwidth:g}")
        low, high = _RIDGE_RANGE
        ridge = self.ridge_flops_per_byte
        if ridge is not None and not low <= ridge <= high:
            raise ValueError(f"{self.id!r}: ridge must be within {low:g} and {high:g} FLOP/B, found {ridge:g}")
        self._refuse_sparse_rates()

    @property
    def half_precision(self) -> Fact | None:
        """The dense rate in BF16, else in FP16; None when neither is known."""
        return self.flops_per_s.bf16 or self.flops_per_s.fp16

    @property
    def ridge_flops_per_byte(self) -> float | None:
        """The arithmetic intensity in BF16 (else FP16) above which compute binds; None when that rate is unknown."""
        half = self.half_precision
        return None if half is None else half.value / self.mem_bandwidth_bytes_per_s.value

    def _refuse_sparse_rates(self) -> None:
        if self.half_precision is None:
            return
        fp4_limit = _FP4_LIMIT_GDDR if self.family == "gddr" else _FP4_LIMIT
        rates = self.flops_per_s
        for dtype, fact, limit in (("fp8", rates.fp8, _FP8_LIMIT), ("fp4", rates.fp4, fp4_limit)):
            multiple = 0.0 if fact is None else fact.value / self.half_precision.value
            if multiple > limit:
                raise ValueError(
                    f"{self.id!r}: dense {dtype} is at most {limit:g} times the 16-bit rate, found {multiple:.3g}; "
                    "sheets often print the sparse rate, which is twice the dense one"
                )


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    device: tuple[DeviceEntry, ...]


def decode_devices(text: bytes, *, file: str) -> tuple[DeviceEntry, ...]:
    """The entries of one TOML file, checked.

    Raises:
        ConfigError: a key is unknown or missing, or a figure is out of range.
    """
    try:
        return msgspec.toml.decode(text, type=_File).device
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{file} is not a list of devices: {error}.", fix=f"Correct the entry in {file}.") from error


@cache
def all_devices() -> tuple[DeviceEntry, ...]:
    """Every device of the catalog, by id.

    Raises:
        ConfigError: a data file is faulty.
    """
    entries = [entry for file, text in data_files("devices") for entry in decode_devices(text, file=file)]
    return tuple(sorted(entries, key=lambda entry: entry.id))


def find_device(name: str) -> DeviceEntry:
    """The device of that id, name or alias; case, doubled spaces and trademark signs make no difference.

    Raises:
        UnknownNameError: with the nearest ids.
    """
    return find_by_name(
        name,
        _by_name(),
        plain=_plain,
        kind="device",
        fix="Give the id of a device in the catalog, or add it to a file in catalog/data/devices.",
    )


@cache
def _by_name() -> Mapping[str, DeviceEntry]:
    return _index(all_devices())


def _index(entries: Iterable[DeviceEntry]) -> Mapping[str, DeviceEntry]:
    """Every entry by its id, name and aliases, all in plain form."""
    named = (
        (name, entry)
        for entry in entries
        for name in sorted({_plain(name) for name in (entry.id, entry.name, *entry.aliases)})
    )
    return index_by_name(named, kind="device")


def _plain(name: str) -> str:
    return " ".join(_MARKS.sub(" ", name).casefold().split())
