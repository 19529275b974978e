"""From what a person names to what physics takes: a model, a device, and the fit that covers both.

`cli/inputs.py` adds this machine (`here`), whose probe is a file of the user's.
"""

import difflib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from teto.catalog.devices import DeviceEntry, find_device
from teto.catalog.fits import all_fits, find_fit
from teto.catalog.gguf import read_gguf
from teto.catalog.hf_config import read_hf_config_file
from teto.catalog.models import find_model
from teto.errors import ConfigError, UnknownNameError
from teto.physics.device import Device
from teto.physics.estimate import Fit
from teto.physics.precision import DTYPES, FORMATS, Dtype, Format, WeightBytes, weigh
from teto.physics.shape import Shape

__all__ = [
    "ResolvedModel",
    "ResolvedShape",
    "device_from_entry",
    "find_format",
    "resolve_device",
    "resolve_fit",
    "resolve_model",
    "resolve_shape",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedModel:
    """A model in a format: `weight_format` is None where a file mixes formats that have no common name.

    `source` says what was read; `is_exact` whether the bytes are the tensors' own.
    """

    name: str
    shape: Shape
    weights: WeightBytes
    weight_format: Format | None
    compute: tuple[Dtype, ...]
    source: str
    is_exact: bool


def find_format(name: str) -> Format:
    """The weight format of that name; case makes no difference, and `fp16` is `f16`.

    Raises:
        UnknownNameError: with the nearest names.
    """
    wanted = {"fp16": "f16", "f32": "fp32", "awq": "int4", "gptq": "int4"}.get(name.lower(), name.lower())
    if wanted in FORMATS:
        return FORMATS[wanted]
    near = difflib.get_close_matches(wanted, FORMATS, n=3, cutoff=0.4)
    raise UnknownNameError(
        f"No weight format is called {name!r}{'; the nearest are ' + ', '.join(near) if near else ''}.",
        fix=f"Use one of {', '.join(FORMATS)}.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedShape:
    """A model's sizes without a format; `exact` where a file states its tensors, `quoted` what its makers say."""

    shape: Shape
    source: str
    quoted: dict[str, object] | None = None
    exact: ResolvedModel | None = None


def resolve_shape(name: str) -> ResolvedShape:
    """A catalog id or hub id, a `.gguf` file, or a config.json (or a folder that holds one).

    Raises:
        UnknownNameError: no such model.
        ConfigError: the file cannot be read.
    """
    path = Path(name).expanduser()
    if path.suffix == ".gguf":
        exact = _from_gguf(path, None)
        return ResolvedShape(shape=exact.shape, source=exact.source, exact=exact)
    if path.suffix == ".json" or path.is_dir():
        config = read_hf_config_file(path)
        return ResolvedShape(shape=config.shape, source=f"{path}: {config.note}")
    entry = find_model(name)
    quoted = None if entry.quoted is None else msgspec.structs.asdict(entry.quoted)
    return ResolvedShape(shape=entry.shape, source=f"{entry.source} ({entry.read_on})", quoted=quoted)


def resolve_model(name: str, quant: str | None = None) -> ResolvedModel:
    """A catalog id or hub id, a `.gguf` file, or a config.json (or a folder that holds one).

    Without `quant`, a config is taken in the format that it states. A GGUF file is in its own.

    Raises:
        UnknownNameError: no such model or format.
        ConfigError: the file cannot be read, or says nothing about its format and none was given.
    """
    path = Path(name).expanduser()
    if path.suffix == ".gguf":
        return _from_gguf(path, quant)
    if path.suffix == ".json" or path.is_dir():
        config = read_hf_config_file(path)
        return _in_format(config.shape, quant or config.native_format, source=f"{path}: {config.note}")
    entry = find_model(name)
    return _in_format(entry.shape, quant or entry.native_format, source=entry.source)


def _in_format(shape: Shape, quant: str | None, *, source: str) -> ResolvedModel:
    if quant is None:
        raise ConfigError(f"{shape.name} states no weight format.", fix="Say which one: --quant q4_k_m, bf16, fp8 ...")
    weight_format = find_format(quant)
    return ResolvedModel(
        name=shape.name,
        shape=shape,
        weights=weigh(shape, weight_format),
        weight_format=weight_format,
        compute=weight_format.compute,
        source=source,
        is_exact=False,
    )


def _from_gguf(path: Path, quant: str | None) -> ResolvedModel:
    if quant is not None:
        raise ConfigError(
            f"{path} is already in its format, and --quant {quant} would be another.",
            fix="Leave --quant out, or name the model by its catalog id.",
        )
    found = read_gguf(path)
    if found.shape is None or found.weights is None:
        raise ConfigError(f"{path} cannot be predicted: {found.note}.", fix="Give its config.json and --quant.")
    return ResolvedModel(
        name=found.shape.name,
        shape=found.shape,
        weights=found.weights,
        weight_format=FORMATS.get((getattr(found, "file_format", None) or "").lower()),
        compute=("bf16", "fp16", "fp32"),
        source=f"{path}: {found.note}",
        is_exact=True,
    )


def device_from_entry(entry: DeviceEntry) -> Device:
    """The device in physics' terms; what the catalog does not know stays unknown."""
    rates = {dtype: fact.value for dtype in DTYPES if (fact := getattr(entry.flops_per_s, dtype)) is not None}

    def optional(name: str) -> float | None:
        fact = getattr(entry, name)
        return None if fact is None else float(fact.value)

    bandwidth = entry.mem_bandwidth_bytes_per_s
    return Device(
        name=entry.id,
        mem_bandwidth_bytes_per_s=bandwidth.value,
        flops_per_s=rates,
        family=entry.family,
        memory_bytes=optional("memory_bytes"),
        power_w=optional("power_w"),
        link_bytes_per_s=optional("link_bytes_per_s"),
        kind=bandwidth.kind,
        source=f"{bandwidth.source} ({bandwidth.date})",
    )


def resolve_device(name: str) -> Device:
    """A device of the catalog.

    Raises:
        UnknownNameError: with the nearest ids.
    """
    return device_from_entry(find_device(name))


def resolve_fit(model: ResolvedModel, device: Device, *, n_devices: int = 1, engine: str | None = None) -> Fit | None:
    """The fit for the model on the device; None for a device that is not the catalog's, or that none covers.

    Raises:
        UnknownNameError: an engine that no fit is of.
    """
    if engine is not None and engine not in (known := sorted({entry.engine for entry in all_fits()})):
        raise UnknownNameError(f"No fit is of an engine called {engine!r}.", fix=f"Use one of {', '.join(known)}.")
    try:
        entry = find_device(device.name)
    except UnknownNameError:
        return None
    if entry.mem_bandwidth_bytes_per_s.value != device.mem_bandwidth_bytes_per_s:
        return None
    quant = None if model.weight_format is None else model.weight_format.name
    return find_fit(entry, is_moe=model.shape.is_moe, n_devices=n_devices, engine=engine, quant=quant)
