"""What helps a decode step."""

import pytest

from tests.physics.test_deployment import FITTED, PLAIN
from teto.physics.levers import levers


def test_flops_do_not_help_a_memory_bound_step() -> None:
    """Twice the FLOPs bring nothing; twice the bandwidth doubles the ceiling; halves weigh as their share."""
    found = {lever.name: lever.gain_fraction for lever in levers(PLAIN, batch=1, context_tokens=4096)}
    assert found["twice the FLOPs"] == 0
    assert found["twice the bandwidth"] == pytest.approx(1)
    # 13,214,162,944 of weights and 2,148,007,936 of KV: 15.362 / (6.607 + 2.148) - 1, and 15.362 / 14.288 - 1.
    assert found["half the bytes of the weights"] == pytest.approx(0.75464, abs=1e-4)
    assert found["half the bytes of KV"] == pytest.approx(0.07517, abs=1e-4)
    assert "no overhead of the engine" not in found


def test_bandwidth_helps_an_estimate_less_than_a_ceiling() -> None:
    """Overhead does not get faster with memory, so twice the bandwidth brings less than +100 %."""
    found = {lever.name: lever.gain_fraction for lever in levers(FITTED, batch=1, context_tokens=4096)}
    assert 0.8 < found["twice the bandwidth"] < 1
    assert found["no overhead of the engine"] > 0
