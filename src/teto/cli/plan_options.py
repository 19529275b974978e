"""What `teto plan` judges: a model in each of its formats on each device, alone or several together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from teto.cli.inputs import named_deployment, named_model
from teto.errors import ConfigError
from teto.physics.calls import CallTokens
from teto.physics.deployment import Deployment
from teto.physics.device import Device
from teto.physics.planning import Option
from teto.physics.power import mean_power_w
from teto.physics.served import busy, is_served
from teto.physics.values import Values

if TYPE_CHECKING:
    from teto.catalog.devices import DeviceEntry
    from teto.catalog.resolve import ResolvedModel

__all__ = ["Built", "Refused", "build_options", "chosen_devices", "drawn_watts"]

_LLAMA: Final = ("bf16", "q8_0", "q6_k", "q5_k_m", "q4_k_m")
# What the engines of each kind of device run.
_FORMATS: Final[Mapping[str | None, tuple[str, ...]]] = {
    "hbm": ("bf16", "fp8", "int4", "nvfp4"),
    "gddr": (*_LLAMA, "fp8", "int4"),
    "npu": ("int8", "int4", "q4_0"),
}
_SEVERAL: Final = ("hbm",)  # devices that are sold linked to each other


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A device, or a device in a format, that is out before any batch is judged."""

    label: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What can be judged, and what cannot."""

    options: tuple[Option, ...]
    refused: tuple[Refused, ...]
    price_sources: Mapping[str, str]


def drawn_watts(deployment: Deployment, tokens: CallTokens, batch: Values) -> Values | None:
    """What all devices of a deployment draw: by the curve of servers where a server's fit is used, else at most.

    At most is their rated power; None: unknown.
    """
    from teto.catalog.load_fits import find_power_fit

    rated_w = deployment.device.power_w
    if rated_w is None:
        return None
    if is_served(deployment):
        curve, load = find_power_fit(is_moe=deployment.shape.is_moe), busy(deployment, tokens, batch)
        if curve is not None and load is not None:
            return deployment.n_devices * mean_power_w(curve, rated_w, load)
    return deployment.n_devices * rated_w + 0.0 * batch


def chosen_devices(names: Sequence[str], family: str | None, memory: Mapping[str, float]) -> tuple[Device, ...]:
    """The named devices, or all of the catalog, with the memory sizes that were given.

    Raises:
        UnknownNameError: no such device.
        ConfigError: a memory size for a device that is not among them.
    """
    from teto.catalog.devices import all_devices
    from teto.catalog.resolve import device_from_entry
    from teto.cli.inputs import named_device

    if names:
        devices = [named_device(name, bandwidth=None, flops=None, memory=None) for name in names]
    else:
        devices = [device_from_entry(entry) for entry in all_devices() if family in {None, entry.family}]
    sizes = {named_device(name, bandwidth=None, flops=None, memory=None).name: size for name, size in memory.items()}
    unused = set(sizes) - {device.name for device in devices}
    if unused:
        raise ConfigError(
            f"--memory names {', '.join(sorted(unused))}, which the plan does not look at.", fix="Add it with --on."
        )
    return tuple(
        replace(device, memory_bytes=sizes[device.name]) if device.name in sizes else device for device in devices
    )


def build_options(
    model: str,
    devices: Sequence[Device],
    *,
    quants: Sequence[str],
    counts: Sequence[int],
    usd_per_hour: Mapping[str, float],
    options: Mapping[str, Any],
) -> Built:
    """Every device in every format that its engines run, or in those that were asked for."""
    entries = _entries()
    prices = _prices(devices, entries, usd_per_hour)
    formats: dict[str, ResolvedModel] = {}
    found: list[Option] = []
    refused: list[Refused] = []
    for device in devices:
        reason = _why_not(device)
        if reason is not None:
            refused.append(Refused(label=device.name, reasons=(reason,)))
            continue
        for name in quants or _default_formats(model, device):
            if name not in formats:
                formats[name] = named_model(model, name or None)
            resolved = formats[name]
            for count in _counts(device, counts):
                try:
                    deployment = named_deployment(
                        resolved, device, kv=options["kv"], n_devices=count, engine=options["engine"]
                    )
                except ConfigError as error:
                    refused.append(Refused(label=f"{device.name} {name}", reasons=(error.message,)))
                    break
                found.append(
                    Option(
                        deployment=deployment,
                        format_name=name if resolved.weight_format is None else resolved.weight_format.name,
                        usd_per_device_h=prices.get(device.name, (None, ""))[0],
                        other_bytes=options["other_memory"] or 0.0,
                    )
                )
    sources = {name: source for name, (_, source) in prices.items()}
    return Built(options=tuple(found), refused=tuple(refused), price_sources=sources)


def _entries() -> "Mapping[str, DeviceEntry]":
    from teto.catalog.devices import all_devices

    return {entry.id: entry for entry in all_devices()}


def _prices(
    devices: Sequence[Device], entries: "Mapping[str, DeviceEntry]", given: Mapping[str, float]
) -> dict[str, tuple[float | None, str]]:
    """Dollars an hour by device, and whose figure it is: the user's, else the catalog's rent, else none."""
    from teto.cli.inputs import named_device

    found: dict[str, tuple[float | None, str]] = {}
    for device in devices:
        rent = None if device.name not in entries else entries[device.name].rent_usd_per_h
        if rent is not None:
            found[device.name] = (rent.value, f"{rent.source} ({rent.date})")
    for name, usd in given.items():
        found[named_device(name, bandwidth=None, flops=None, memory=None).name] = (usd, "--usd-per-hour")
    unused = set(found) - {device.name for device in devices}
    if unused:
        raise ConfigError(
            f"--usd-per-hour names {', '.join(sorted(unused))}, which the plan does not look at.",
            fix="Add it with --on.",
        )
    return found


def _why_not(device: Device) -> str | None:
    if device.memory_bytes is None:
        return "its memory is unknown, as it is sold with several sizes (--memory NAME=64GB)"
    if not device.flops_per_s:
        return "its multiply rate is unknown: prefill, and so TTFT and calls a second, cannot be bounded"
    return None


def _default_formats(model: str, device: Device) -> tuple[str, ...]:
    if model.endswith(".gguf"):
        return ("",)
    found = _FORMATS.get(device.family, _LLAMA)
    # Without units for it, NVFP4 is run by no engine of that device.
    return tuple(name for name in found if name != "nvfp4" or "fp4" in device.flops_per_s)


def _counts(device: Device, counts: Sequence[int]) -> Sequence[int]:
    if counts:
        return counts
    return (1, 2, 4, 8) if device.family in _SEVERAL and device.link_bytes_per_s is not None else (1,)
