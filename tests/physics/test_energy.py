"""Energy and money: a figure with its source, or a reason."""

import pytest

from teto.physics.cost import unknown_cost
from teto.physics.energy import Energy, EnergyKind, derived_energy, unknown_energy


def test_derived_energy_is_power_times_time() -> None:
    """45 W over 2 s are 90 J, with boundary and source beside them."""
    energy = derived_energy(power_w=45, seconds=2, boundary="package", source="power.mean_power_w")
    assert energy == Energy(
        joules=90, kind="derived", boundary="package", note="45 W (power.mean_power_w) over 2.000 s"
    )


def test_unknown_energy_has_a_reason_and_no_joules() -> None:
    """What is not known is None and never 0."""
    assert unknown_energy("no counter") == Energy(joules=None, kind="unknown", boundary=None, note="no counter")


@pytest.mark.parametrize(("joules", "kind"), [(None, "measured"), (None, "derived"), (1.0, "unknown")])
def test_energy_is_unknown_exactly_without_joules(joules: float | None, kind: EnergyKind) -> None:
    """Neither a measurement without a figure nor an unknown with one can be made."""
    with pytest.raises(ValueError, match="exactly when it has no joules"):
        Energy(joules=joules, kind=kind, boundary=None, note="")


def test_an_unknown_cost_is_not_zero() -> None:
    """An unknown price is None, with its reason."""
    cost = unknown_cost("no usage")
    assert cost.usd is None
    assert cost.note == "no usage"
