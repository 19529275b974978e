"""Watts of a loaded device from how busy it is, and joules of a token.

A device draws an idle share of its rated power and more with memory traffic and arithmetic. Rated power alone
predicts poorly: servers draw from 30 to 99 % of it. A token's energy is mean power over throughput; power times
the time between tokens over the batch leaves out what prompts cost, and is too small by up to several times.
"""

from dataclasses import dataclass

import numpy as np

from teto.physics.values import Values, require_not_negative, smaller

__all__ = ["PowerFit", "Utilisation", "energy_j_per_token", "mean_power_w"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilisation:
    """What a device does of what it could: bytes over bandwidth, FLOPs over rate, each times the seconds."""

    memory_fraction: Values
    compute_fraction: Values

    def __post_init__(self) -> None:
        for value in (self.memory_fraction, self.compute_fraction):
            if np.any(np.less(value, 0)) or np.any(np.greater(value, 1 + 1e-9)):
                raise ValueError(f"a device is busy for 0 to all of the time, found {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerFit:
    """Shares of rated power: at idle, and what memory and arithmetic add when fully busy.

    Both grow with the square root of the utilisation: the first part of the load costs the most, since clocks and
    voltage are up as soon as there is any. `band` is the 10th and 90th percentile of measured over predicted
    joules per token on held-out rows. Boundary: the accelerators alone, as their own counters report.
    """

    name: str
    source: str
    n_rows: int
    idle_fraction: float
    memory_fraction: float
    compute_fraction: float
    band: tuple[float, float]

    def __post_init__(self) -> None:
        require_not_negative(self, "idle_fraction", "memory_fraction", "compute_fraction")


def mean_power_w(fit: PowerFit, rated_w: Values, busy: Utilisation) -> Values:
    """Mean watts of one device, never above its rated power."""
    memory = fit.memory_fraction * np.sqrt(busy.memory_fraction)
    compute = fit.compute_fraction * np.sqrt(busy.compute_fraction)
    return rated_w * smaller(fit.idle_fraction + memory + compute, 1.0)


def energy_j_per_token(*, power_w: Values, n_devices: Values, tokens_per_s: Values) -> Values:
    """Joules of one token: watts of all devices over tokens a second of all calls."""
    if np.any(np.less_equal(tokens_per_s, 0)):
        raise ValueError(f"throughput must be above 0, found {tokens_per_s}")
    return n_devices * power_w / tokens_per_s
