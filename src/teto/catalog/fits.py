"""The fits that teto ships: `data/fits/*.toml`, written by `python -m teto.catalog.fit`, and which one covers what."""

import re
from functools import cache
from importlib import resources

import msgspec

from teto.catalog.devices import DeviceEntry
from teto.errors import ConfigError
from teto.physics.estimate import Fit

__all__ = ["FitEntry", "all_fits", "decode_fits", "encode_fits", "engine_of", "find_fit", "toml_value"]


class FitEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The constants, what they are for (an empty condition is any), and the data that they are from.

    `band` and `prefill_band` are the 10th and 90th percentile of measured over estimated time on held-out rows.
    """

    id: str
    engine: str
    device_families: tuple[str, ...]
    source: str
    n_rows: int
    weights_fraction: float
    band: tuple[float, float]
    prefill_band: tuple[float, float] | None = None
    cache_fraction: float | None = None
    compute_fraction: float | None = None
    attention_fraction: float | None = None
    layer_overhead_s: float = 0.0
    step_overhead_s: float = 0.0
    link_overhead_s: float = 0.0
    sequence_overhead_s: float = 0.0
    overlaps: bool = True
    expert_imbalance: float = 1.0
    id_pattern: str = ""
    released_from: str = ""
    released_before: str = ""
    is_moe: bool | None = None
    several_devices: bool = False
    formats: tuple[str, ...] = ()
    ranges: dict[str, tuple[float, float]] = {}

    def covers(
        self, device: DeviceEntry, *, is_moe: bool, n_devices: int, engine: str | None, quant: str | None
    ) -> bool:
        """Whether the fit is for this device, kind of model, engine and weight format (None: one without a name)."""
        released = device.mem_bandwidth_bytes_per_s.date
        return (
            device.family in self.device_families
            and (engine is None or engine == self.engine)
            and (not self.id_pattern or re.search(self.id_pattern, device.id) is not None)
            and (not self.released_from or released >= self.released_from)
            and (not self.released_before or released < self.released_before)
            and (self.is_moe is None or self.is_moe == is_moe)
            and (n_devices == 1 or self.several_devices)
            and (not self.formats or quant in self.formats)
        )

    @property
    def fit(self) -> Fit:
        """The constants in physics' terms."""
        return Fit(
            name=self.id,
            source=self.source,
            n_rows=self.n_rows,
            weights_fraction=self.weights_fraction,
            cache_fraction=self.cache_fraction,
            compute_fraction=self.compute_fraction,
            attention_fraction=self.attention_fraction,
            layer_overhead_s=self.layer_overhead_s,
            step_overhead_s=self.step_overhead_s,
            link_overhead_s=self.link_overhead_s,
            sequence_overhead_s=self.sequence_overhead_s,
            overlaps=self.overlaps,
            expert_imbalance=self.expert_imbalance,
            band=self.band,
            prefill_band=self.prefill_band,
            ranges=self.ranges,
        )


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fit: tuple[FitEntry, ...]


def decode_fits(text: bytes, *, file: str) -> tuple[FitEntry, ...]:
    """The entries of one TOML file.

    Raises:
        ConfigError: a key is unknown or missing, or a value out of range.
    """
    try:
        return msgspec.toml.decode(text, type=_File).fit
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{file} is not a list of fits: {error}.", fix="Run `python -m teto.catalog.fit`.") from error


def encode_fits(entries: tuple[FitEntry, ...]) -> str:
    """The TOML of some entries; one block for each."""
    blocks = []
    for entry in entries:
        lines = ["[[fit]]"]
        for key, value in msgspec.to_builtins(entry).items():
            lines.append(f"{key} = {toml_value(value)}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def toml_value(value: object) -> str:
    """A value as TOML; numbers with four digits: more are not in the data, and fewer bits differ between machines."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4g}" if "e" not in f"{value:.4g}" or value == 0 else f"{value:.3e}"
    if isinstance(value, str):
        return f"'{value}'" if "\\" in value else f'"{value}"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items()) + " }"
    return str(value)


@cache
def all_fits() -> tuple[FitEntry, ...]:
    """Every fit, in the order in which they are tried.

    Raises:
        ConfigError: a data file is faulty.
    """
    folder = resources.files("teto.catalog") / "data" / "fits"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return tuple(entry for file in files for entry in decode_fits(file.read_bytes(), file=f"fits/{file.name}"))


def find_fit(
    device: DeviceEntry, *, is_moe: bool, n_devices: int = 1, engine: str | None = None, quant: str | None = None
) -> Fit | None:
    """The first fit that covers the device, the kind of model, the engine and the format; None where none does."""
    for entry in all_fits():
        if entry.covers(device, is_moe=is_moe, n_devices=n_devices, engine=engine, quant=quant):
            return entry.fit
    return None


def engine_of(name: str) -> str | None:
    """The engine that the fit of that name is of; None for a name that is not shipped."""
    return next((entry.engine for entry in all_fits() if entry.id == name), None)
