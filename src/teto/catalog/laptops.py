"""What the CPU, the iGPU and the NPU of laptops were measured to do and to draw: `data/laptops/*.toml`.

Public readings are few, most of NPUs are their vendors', and each is of its own boundary: they are kept apart by
file, and never averaged over files.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final, Literal

import msgspec

from teto.errors import ConfigError

__all__ = ["Origin", "Part", "PartReading", "Readings", "laptop_readings", "part_of"]

Part = Literal["cpu", "igpu", "npu"]
_PARTS: Final[Mapping[str, Part]] = {"cpu": "cpu", "apu": "igpu", "npu": "npu"}


class Origin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who read the figures, when, of what, and for which groups of devices: those whose id starts with `groups`."""

    source: str
    date: str
    boundary: str
    groups: str
    context_tokens: int


class PartReading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One reading while one part decodes one request."""

    part: Part
    engine: str
    model: str
    tokens_per_s: float
    power_w: float

    def __post_init__(self) -> None:
        if not (self.tokens_per_s > 0 and self.power_w > 0):
            raise ValueError(f"a reading is above 0, found {self.tokens_per_s} tokens/s and {self.power_w} W")


class Readings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The readings of one origin."""

    origin: Origin
    reading: tuple[PartReading, ...]

    def of(self, part: Part) -> tuple[PartReading, ...]:
        """Those of one part."""
        return tuple(one for one in self.reading if one.part == part)


def part_of(family: str | None) -> Part | None:
    """Which part of a package a device of that family is."""
    return _PARTS.get(family or "")


@cache
def laptop_readings(group: str) -> tuple[Readings, ...]:
    """The readings that hold for a group of devices, those named most closely first.

    Raises:
        ConfigError: a data file is faulty.
    """
    folder = resources.files("teto.catalog") / "data" / "laptops"
    found = []
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        try:
            readings = msgspec.toml.decode(file.read_bytes(), type=Readings)
        except msgspec.MsgspecError as error:
            raise ConfigError(f"laptops/{file.name}: {error}.", fix=f"Correct the entry in {file.name}.") from error
        if group.startswith(readings.origin.groups):
            found.append(readings)
    return tuple(sorted(found, key=lambda readings: -len(readings.origin.groups)))
