"""From a measured row to what physics says of it: the work of one step or prefill, and the device's limits."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from teto.catalog.devices import find_device
from teto.catalog.models import find_model
from teto.catalog.resolve import device_from_entry, find_format
from teto.errors import TetoError
from teto.physics.device import Device
from teto.physics.estimate import Fit, Limits, step_time
from teto.physics.mixers import Traffic
from teto.physics.precision import weigh
from teto.physics.roofline import Work
from teto.physics.shape import Shape

__all__ = ["Observation", "Stack", "identify", "stack"]

Array = NDArray[np.float64]

_NOTHING: Final = Work(linear=Traffic(0.0, 0.0), attention=Traffic(0.0, 0.0), head=Traffic(0.0, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One measured time beside the work that it did.

    `shape_key` is the same for models of one shape, whatever they are called: they leave a split together.
    Where the source states only the time of a whole answer, it is `n_steps` times the work, after `prompt_work` in
    `prompt_passes`.
    """

    device: str
    shape_key: str
    label: str
    work: Work
    n_layers: float
    mem_bandwidth_bytes_per_s: float
    flops_per_s: float | None
    weight_bytes: float
    context_tokens: float
    batch: float
    measured_s: float
    n_passes: float = 1.0
    is_moe: bool = False
    n_steps: float = 1.0
    prompt_work: Work | None = None
    prompt_passes: float = 0.0


def identify(device: str, model: str, quant: str, dropped: Counter[str]) -> tuple[Device, Shape, str] | None:
    """Catalog device, shape and format of a row; None, counted with its reason, where one is not in the catalog."""
    found = _identified(device, model, quant)
    if isinstance(found, str):
        dropped[found] += 1
        return None
    return found


@cache
def _identified(device: str, model: str, quant: str) -> tuple[Device, Shape, str] | str:
    """The same, or why not: names repeat in the data, and a name that is not found takes long not to be found."""
    try:
        entry = find_device(device)
    except TetoError:
        return "the device is not in the catalog"
    try:
        named = find_model(model)
        shape = replace(named.shape, name=named.id)
    except TetoError:
        return "the model is not in the catalog"
    try:
        weight_format = find_format(_format_name(quant))
    except TetoError:
        return "the weight format has no name in teto"
    return device_from_entry(entry), shape, weight_format.name


def _format_name(quant: str) -> str:
    """LocalScore's words for llama.cpp's formats, in llama.cpp's."""
    words = quant.replace(" - ", "_").lower()
    return words.replace("medium", "m").replace("small", "s").replace("large", "l")


def shape_key(shape: Shape) -> str:
    """Equal for models of equal sizes."""
    return f"{shape.n_layers}x{shape.width}:{shape.total_params}"


def observed(
    *,
    device: Device,
    shape: Shape,
    work: Work,
    quant: str,
    measured_s: float,
    context_tokens: float,
    batch: float = 1.0,
    n_passes: float = 1.0,
) -> Observation:
    """An observation of a device and a shape."""
    weight_format = find_format(quant)
    rate = device.rate(weight_format.compute)
    return Observation(
        device=device.name,
        shape_key=shape_key(shape),
        label=f"{shape.name} {quant}",
        work=work,
        n_layers=shape.n_whole_layers,
        mem_bandwidth_bytes_per_s=device.mem_bandwidth_bytes_per_s,
        flops_per_s=None if rate is None else rate.flops_per_s,
        weight_bytes=weigh(shape, weight_format).resident_bytes,
        context_tokens=context_tokens,
        batch=batch,
        measured_s=measured_s,
        n_passes=n_passes,
        is_moe=shape.is_moe,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Observations as arrays: one call predicts all of them."""

    work: Work
    n_layers: Array
    mem_bandwidth_bytes_per_s: Array
    flops_per_s: Array
    n_passes: Array
    n_steps: Array
    prompt_work: Work
    prompt_passes: Array
    measured_s: Array

    def predicted_s(self, fit: Fit) -> Array:
        """The estimate of each observation with these constants."""
        limits = Limits(mem_bandwidth_bytes_per_s=self.mem_bandwidth_bytes_per_s, flops_per_s=self.flops_per_s)
        step = step_time(self.work, limits, fit, n_layers=self.n_layers, n_passes=self.n_passes)
        prompt = step_time(self.prompt_work, limits, fit, n_layers=self.n_layers, n_passes=self.prompt_passes)
        return np.asarray(self.n_steps * step.seconds + prompt.seconds)


def _column(values: Iterable[float]) -> Array:
    return np.array(list(values), dtype=np.float64)


def _traffic(parts: Sequence[Traffic]) -> Traffic:
    return Traffic(_column(float(p.bytes) for p in parts), _column(float(p.flops) for p in parts))


def _works(works: Sequence[Work]) -> Work:
    return Work(
        linear=_traffic([work.linear for work in works]),
        attention=_traffic([work.attention for work in works]),
        head=_traffic([work.head for work in works]),
    )


def stack(observations: Sequence[Observation]) -> Stack:
    """The arrays of some observations; an unknown rate is one that never binds."""
    return Stack(
        work=_works([o.work for o in observations]),
        n_layers=_column(o.n_layers for o in observations),
        mem_bandwidth_bytes_per_s=_column(o.mem_bandwidth_bytes_per_s for o in observations),
        flops_per_s=_column(np.inf if o.flops_per_s is None else o.flops_per_s for o in observations),
        n_passes=_column(o.n_passes for o in observations),
        n_steps=_column(o.n_steps for o in observations),
        prompt_work=_works([o.prompt_work or _NOTHING for o in observations]),
        prompt_passes=_column(o.prompt_passes for o in observations),
        measured_s=_column(o.measured_s for o in observations),
    )
