"""Watts and joules per token of servers: a curve of power over utilisation, and the throughput that it is divided by.

Both are predicted: the utilisation and the throughput from the constants of the step, the power from the curve.
Forms tried: linear in both utilisations, their square roots, the larger of the two, a free power of their sum, and
a fixed idle share; the square roots have the smallest error on held-out devices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from teto.catalog.fit.server_rows import ServerRow
from teto.catalog.fit.servers import Array, fit_servers, stack_rows
from teto.physics.estimate import Fit
from teto.physics.power import PowerFit, Utilisation, energy_j_per_token, mean_power_w

__all__ = ["EnergyErrors", "Load", "device_power_w", "energy_errors", "fit_power", "predicted_load"]

_ROBUST_FROM: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The mean step of each row, its prompts included: seconds, tokens a second, and how busy one device is."""

    tokens_per_s: Array
    busy: Utilisation
    rated_w: Array
    n_devices: Array


def predicted_load(fit: Fit, rows: Sequence[ServerRow]) -> Load:
    """What the constants of the step say of rows whose running batch is known."""
    stack = stack_rows(rows)
    running = stack.users
    prompts_a_step = running / stack.output_tokens
    seconds = stack.decode_s(fit, running) + prompts_a_step * stack.added_s(fit, running)
    step, prompt = stack.decode_work(running), stack.added_work(running)
    moved = step.bytes + prompts_a_step * prompt.bytes
    done = step.flops + prompts_a_step * prompt.flops
    return Load(
        tokens_per_s=np.asarray(running / seconds),
        busy=Utilisation(
            memory_fraction=np.minimum(moved / (stack.mem_bandwidth_bytes_per_s * seconds), 1.0),
            compute_fraction=np.minimum(done / (stack.flops_per_s * seconds), 1.0),
        ),
        rated_w=stack.rated_w,
        n_devices=stack.n_devices,
    )


def fit_power(start: PowerFit, load: Load, power_w: Array) -> PowerFit:
    """The curve through the measured watts of one device each."""
    from scipy.optimize import least_squares  # noqa: PLC0415 - only fitting needs it, and not users

    def at(values: Array) -> PowerFit:
        idle, memory, compute = (float(value) for value in values)
        return replace(start, idle_fraction=idle, memory_fraction=memory, compute_fraction=compute)

    found = least_squares(
        lambda values: np.log(mean_power_w(at(values), load.rated_w, load.busy) / power_w),
        [0.2, 0.5, 0.5],
        bounds=(1e-3, 2.0),
        loss="soft_l1",
        f_scale=_ROBUST_FROM,
    )
    return at(found.x)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyErrors:
    """Predicted over measured, less 1."""

    power: Array
    energy: Array


def device_power_w(rows: Sequence[ServerRow]) -> Array:
    """Measured watts of one device."""
    return np.array([(row.power_w or np.nan) / row.n_devices for row in rows], dtype=np.float64)


def energy_errors(
    step: tuple[Fit, tuple[str, ...]], start: PowerFit, seen: Sequence[ServerRow], left_out: Sequence[ServerRow]
) -> EnergyErrors:
    """On rows that neither the step nor the curve were fitted to."""
    fit = fit_servers(step[0], step[1], seen)
    curve = fit_power(start, predicted_load(fit, seen), device_power_w(seen))
    load = predicted_load(fit, left_out)
    power_w = mean_power_w(curve, load.rated_w, load.busy)
    energy_j = energy_j_per_token(power_w=power_w, n_devices=load.n_devices, tokens_per_s=load.tokens_per_s)
    measured_j = np.array([row.j_per_token for row in left_out], dtype=np.float64)
    return EnergyErrors(
        power=np.asarray(power_w / device_power_w(left_out) - 1), energy=np.asarray(energy_j / measured_j - 1)
    )
