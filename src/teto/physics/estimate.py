"""From the ceiling to what an engine does: efficiencies and overheads that a fit supplies, term by term.

The estimate takes the same maximum of bytes and FLOPs as the ceiling, but for each class of operator apart, each
with its efficiency at most 1, and adds overheads of at least 0: it can never be below the ceiling.
Known error: that of the fit; every fit carries the band that its held-out measurements showed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from teto.physics.mixers import Traffic
from teto.physics.roofline import Work
from teto.physics.values import Values, larger, require_not_negative, require_positive

__all__ = ["Fit", "Limits", "StepTime", "step_time"]

_ROUNDED = 0.005  # the ends of a range are kept with three digits
_WORDS = {
    "mem_bandwidth_bytes_per_s": "a bandwidth in bytes/s of",
    "weight_bytes": "weights in bytes of",
    "context_tokens": "a context in tokens of",
    "prompt_tokens": "a prompt in tokens of",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the devices that share a step can do together: `n_devices` times one, and the links between them.

    `flops_per_s` is None where the rate of the computing dtype is unknown. Layers split over devices one after
    the other do not share a step: they count as one device.
    """

    mem_bandwidth_bytes_per_s: Values
    flops_per_s: Values | None
    n_devices: int = 1
    link_bytes_per_s: float | None = None

    def __post_init__(self) -> None:
        require_positive(self, "n_devices", "link_bytes_per_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Constants of the estimate for a kind of device, engine and weight format, from measurements.

    Fractions are of the ceiling's rates, above 0 and at most 1: `weights_fraction` of the bandwidth for weights,
    `cache_fraction` for KV (None: the data does not show it, weights stand in), `compute_fraction` of the
    multiply rate for linear layers and head, `attention_fraction` for attention (None: as compute).
    Overheads in seconds: for each layer, each step, each sequence of a step (scheduling, sampling and streaming its
    token), and each device link of a layer. `overlaps` is False where bytes and FLOPs add up instead of hiding
    behind each other: what servers show, whose kernels alternate between loading and multiplying.
    `expert_imbalance` is how much more the busiest of several devices does than the mean, in linear layers, where
    experts are spread over them; `step_time` leaves it to who knows how they are spread.
    `band` holds the 10th and 90th percentile of measured over estimated time of decode on held-out rows, and
    `prefill_band` of prefill (None: never judged); `ranges` the smallest and largest value of each quantity in
    the data.
    """

    name: str
    source: str
    n_rows: int
    weights_fraction: float
    cache_fraction: float | None
    compute_fraction: float | None
    attention_fraction: float | None = None
    layer_overhead_s: float = 0.0
    step_overhead_s: float = 0.0
    link_overhead_s: float = 0.0
    sequence_overhead_s: float = 0.0
    overlaps: bool = True
    expert_imbalance: float = 1.0
    band: tuple[float, float]
    prefill_band: tuple[float, float] | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_not_negative(self, "layer_overhead_s", "step_overhead_s", "link_overhead_s", "sequence_overhead_s")
        if self.expert_imbalance < 1:
            raise ValueError(f"fit {self.name!r}: the busiest device does at least the mean: {self.expert_imbalance}")
        for name in ("weights_fraction", "cache_fraction", "compute_fraction", "attention_fraction"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise ValueError(f"fit {self.name!r}: {name} must be above 0 and at most 1, found {value}")

    def outside(self, **values: float) -> tuple[str, ...]:
        """Which of these values the data did not cover, in words."""
        found = []
        for name, value in values.items():
            if name in self.ranges:
                low, high = self.ranges[name]
                if not low * (1 - _ROUNDED) <= value <= high * (1 + _ROUNDED):
                    words = _WORDS.get(name, name)
                    found.append(f"{words} {value:,.4g} is outside {low:,.4g} to {high:,.4g}, which the fit has seen")
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """Seconds of one step or prefill by class: they add up. Arrays where the work was one."""

    linear_s: Values
    attention_s: Values
    head_s: Values
    overhead_s: Values
    link_s: Values

    @property
    def seconds(self) -> Values:
        """All of it."""
        return self.linear_s + self.attention_s + self.head_s + self.overhead_s + self.link_s


def _class_s(
    traffic: Traffic, limits: Limits, memory_fraction: float, compute_fraction: float | None, *, overlaps: bool
) -> Values:
    memory_s = traffic.bytes / (limits.n_devices * limits.mem_bandwidth_bytes_per_s * memory_fraction)
    if limits.flops_per_s is None:
        return memory_s
    compute_s = traffic.flops / (limits.n_devices * limits.flops_per_s * (compute_fraction or 1.0))
    return larger(memory_s, compute_s) if overlaps else memory_s + compute_s


def step_time(
    work: Work,
    limits: Limits,
    fit: Fit,
    *,
    n_layers: Values,
    exchanged_bytes: Values = 0.0,
    n_passes: Values = 1,
    n_sequences: Values = 0,
) -> StepTime:
    """The seconds that an engine with these constants takes.

    `exchanged_bytes` is what one device sends in the step's collectives over its link; `n_passes` how often the
    layers are gone through (a prefill in batches), `n_sequences` how many get a token. Where the compute rate is
    unknown the memory time stands alone, which is right for small batches only; where only its fraction is, the
    whole rate is assumed.
    """
    cache = fit.weights_fraction if fit.cache_fraction is None else fit.cache_fraction
    attention = fit.compute_fraction if fit.attention_fraction is None else fit.attention_fraction
    link_s: Values = 0.0
    if limits.n_devices > 1:
        link_s = n_passes * (n_layers * fit.link_overhead_s)
        if limits.link_bytes_per_s is not None:
            link_s = link_s + exchanged_bytes / limits.link_bytes_per_s
    return StepTime(
        linear_s=_class_s(work.linear, limits, fit.weights_fraction, fit.compute_fraction, overlaps=fit.overlaps),
        attention_s=_class_s(work.attention, limits, cache, attention, overlaps=fit.overlaps),
        head_s=_class_s(work.head, limits, fit.weights_fraction, fit.compute_fraction, overlaps=fit.overlaps),
        overhead_s=n_passes * (n_layers * fit.layer_overhead_s + fit.step_overhead_s)
        + n_sequences * fit.sequence_overhead_s,
        link_s=link_s,
    )
