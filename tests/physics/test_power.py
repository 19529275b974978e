"""Watts from utilisation, and joules per token from watts and throughput."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teto.physics.power import PowerFit, Utilisation, energy_j_per_token, mean_power_w

FIT = PowerFit(
    name="made up",
    source="made up",
    n_rows=0,
    idle_fraction=0.2,
    memory_fraction=0.5,
    compute_fraction=0.8,
    band=(1, 1),
)


def test_a_worked_power() -> None:
    """700 W, a quarter of the memory, 1 % of the arithmetic: 700 · (0.2 + 0.5 · 0.5 + 0.8 · 0.1) = 371 W."""
    assert mean_power_w(FIT, 700, Utilisation(memory_fraction=0.25, compute_fraction=0.01)) == pytest.approx(371)


def test_idle_draws_its_share() -> None:
    """Nothing to do: the idle share of the rated power."""
    assert mean_power_w(FIT, 1000, Utilisation(memory_fraction=0, compute_fraction=0)) == pytest.approx(200)


@given(memory=st.floats(0, 1), compute=st.floats(0, 1))
def test_power_is_between_idle_and_rated(memory: float, compute: float) -> None:
    """However busy, never above the rated power nor below idle."""
    power = mean_power_w(FIT, 700.0, Utilisation(memory_fraction=memory, compute_fraction=compute))
    assert 140 - 1e-9 <= power <= 700


def test_arrays_are_as_numbers() -> None:
    """One formula for a point and for many."""
    busy = Utilisation(memory_fraction=np.array([0.25, 0.0]), compute_fraction=np.array([0.01, 0.0]))
    assert mean_power_w(FIT, 700.0, busy) == pytest.approx(np.array([371.0, 140.0]))


def test_joules_are_watts_over_throughput() -> None:
    """Eight devices of 500 W that make 2,000 tokens a second: 2 J each."""
    assert energy_j_per_token(power_w=500, n_devices=8, tokens_per_s=2000) == pytest.approx(2)


def test_absurd_inputs_are_errors() -> None:
    """A device is not busy for more than all of the time, and no throughput has no energy per token."""
    with pytest.raises(ValueError, match="0 to all of the time"):
        Utilisation(memory_fraction=1.2, compute_fraction=0)
    with pytest.raises(ValueError, match="above 0"):
        energy_j_per_token(power_w=500, n_devices=1, tokens_per_s=0)
