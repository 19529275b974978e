"""What the predicting commands take: quantities with units, a model, a device, and the options that name them."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from teto.errors import ConfigError

if TYPE_CHECKING:
    from teto.catalog.resolve import ResolvedModel
    from teto.physics.deployment import Deployment
    from teto.physics.device import Device

__all__ = [
    "BANDWIDTH",
    "BYTES",
    "COUNT",
    "FLOPS",
    "NUMBER",
    "Quantity",
    "deployment_options",
    "listed_rent",
    "named_deployment",
    "named_device",
    "named_model",
    "require_rate",
]

_FACTORS: Final = {
    "": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15,
    "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40,
}  # fmt: skip
_QUANTITY: Final = re.compile(
    r"(\d+(?:_\d+)*|\d{1,3}(?:,\d{3})+)?(\.\d+)?(e[-+]?\d+)?\s*([kmgtp]i?)?(\D*)", re.IGNORECASE
)
_LARGEST: Final = 1e24  # beyond every machine
_KV_BYTES: Final = {"f32": 4.0, "f16": 2.0, "bf16": 2.0, "fp8": 1.0, "q8_0": 1.0625, "q4_0": 0.5625}

_Command = TypeVar("_Command", bound=Callable[..., Any])


class Quantity(click.ParamType[float]):
    """A number above 0 with an optional unit of one kind: `9GB` and `24GiB` are bytes, `3.35TB/s` a bandwidth."""

    def __init__(self, name: str, units: tuple[str, ...], example: str) -> None:
        self.name = name
        self._units = units
        self._example = example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number in bytes, bytes per second, FLOPs per second, or as it stands."""
        number = float(value) if isinstance(value, int | float) else self._number(str(value).strip())
        if not 1e-6 <= number <= _LARGEST:
            self.fail(
                f"expected {self.name} above 0 such as {self._example} (a point before decimals), found {value!r}",
                param,
                ctx,
            )
        return number

    def _number(self, text: str) -> float:
        found = _QUANTITY.fullmatch(text)
        if found is None or not (found[1] or found[2]):
            return math.nan
        unit = found[5].strip()
        if (unit and unit not in self._units) or (found[4] and not self._units):
            return math.nan
        digits = f"{(found[1] or '0').replace(',', '').replace('_', '')}{found[2] or ''}{found[3] or ''}"
        return float(digits) * _FACTORS[(found[4] or "").lower()]


BYTES: Final = Quantity("bytes", ("B", "b"), "14e9, 9GB or 24GiB")
BANDWIDTH: Final = Quantity("bytes/s", ("B/s",), "3e12 or 3.35TB/s")
FLOPS: Final = Quantity("FLOP/s", ("FLOP/s", "FLOPS", "FLOP", "flop/s"), "989e12 or 989TFLOP/s")
NUMBER: Final = Quantity("a number", (), "260 or 2.5")
COUNT: Final = click.IntRange(min=1, max=10**9)


def deployment_options(command: _Command) -> _Command:
    """The options that say on what a model runs, and how."""
    for option in (
        click.option("--on", "device", metavar="DEVICE", help="A device of `teto devices`, or `here` (this machine)."),
        click.option("--bandwidth", type=BANDWIDTH, help="Memory bandwidth in bytes/s, in place of the device's."),
        click.option("--flops", type=FLOPS, help="Dense multiply rate in FLOP/s, in place of the device's."),
        click.option("--memory", type=BYTES, help="Memory of one device, in place of the device's."),
        click.option("--quant", help="Weight format: bf16, fp8, q8_0, q4_k_m, mxfp4 ... (default: the model's own)."),
        click.option("--kv", type=click.Choice(list(_KV_BYTES)), default="f16", show_default=True, help="KV format."),
        click.option("--devices", "n_devices", type=COUNT, default=1, show_default=True, help="Devices per step."),
        click.option("--engine", help="Whose fit to use: llama.cpp, vllm, sglang, trtllm (default: by device)."),
    ):
        command = option(command)
    return command


def named_model(name: str, quant: str | None) -> "ResolvedModel":
    """The model that a person named, or an error that says what exists."""
    from teto.catalog.resolve import resolve_model

    return resolve_model(name, quant)


def named_device(name: str | None, *, bandwidth: float | None, flops: float | None, memory: float | None) -> "Device":
    """The device that a person named, or described by its numbers.

    Raises:
        ConfigError: neither a name nor a bandwidth, or `here` without a probe.
    """
    from teto.physics.device import Device

    if name is None:
        if bandwidth is None:
            raise ConfigError(
                "A device is needed: its memory bandwidth sets the ceiling.",
                fix="Name one with --on (see `teto devices`; `here` is this machine), or give --bandwidth 1008e9.",
            )
        found = Device(name="given", mem_bandwidth_bytes_per_s=bandwidth, kind="assumed", source="--bandwidth")
    else:
        found = _device(name)
        if bandwidth is not None:
            found = replace(found, mem_bandwidth_bytes_per_s=bandwidth, kind="assumed", source="--bandwidth")
    if flops is not None:
        found = replace(found, flops_per_s={"bf16": flops})
    return found if memory is None else replace(found, memory_bytes=memory)


def _device(name: str) -> "Device":
    from teto.catalog.resolve import resolve_device
    from teto.cli.wiring import saved_probe

    if name != "here":
        return resolve_device(name)
    found = saved_probe()
    if found is None:
        raise ConfigError("This machine has not been probed.", fix="Run `teto probe`, then ask again.")
    return found


def named_deployment(
    model: "ResolvedModel",
    device: "Device",
    *,
    kv: str = "f16",
    n_devices: int = 1,
    tokens_per_step: float = 1.0,
    engine: str | None = None,
) -> "Deployment":
    """The model on the device, with the fit that covers both where there is one.

    Raises:
        ConfigError: the device has rates, but for no dtype in which this format is computed.
    """
    from teto.catalog.resolve import resolve_fit
    from teto.physics.deployment import Deployment

    if device.flops_per_s and device.rate(model.compute) is None:
        raise ConfigError(
            f"{device.name} has no rate for {', '.join(model.compute)}, in which {model.name} would compute; "
            f"it has {', '.join(device.flops_per_s)}.",
            fix="Give the rate with --flops, or take another format with --quant.",
        )
    return Deployment(
        shape=model.shape,
        weights=model.weights,
        compute=model.compute,
        device=device,
        fit=resolve_fit(model, device, n_devices=n_devices, engine=engine),
        n_devices=n_devices,
        kv_element_bytes=_KV_BYTES[kv],
        tokens_per_step=tokens_per_step,
    )


def require_rate(deployment: "Deployment") -> None:
    """Check that a prefill can be predicted at all.

    Raises:
        ConfigError: the multiply rate is unknown, so that only memory would bound a prefill, far too fast.
    """
    if deployment.rate is None:
        raise ConfigError(
            f"The multiply rate of {deployment.device.name} is unknown, and prefill cannot be predicted without it.",
            fix="Give it with --flops, or ask `teto ceiling`, which says what is known.",
        )


def listed_rent(device: "Device") -> float | None:
    """Dollars an hour that the catalog knows for the device; None: unknown."""
    from teto.catalog.devices import find_device
    from teto.errors import UnknownNameError

    try:
        rent = find_device(device.name).rent_usd_per_h
    except UnknownNameError:
        return None
    return None if rent is None else rent.value
