"""Measurements judged against ceilings."""

import pytest

from teto.physics.judgement import judge


def test_below_the_ceiling_is_a_fraction() -> None:
    """150 of 200 tok/s is 75 % of the ceiling, and possible."""
    found = judge(measured_tokens_per_s=150, ceiling_tokens_per_s=200)
    assert (found.fraction, found.is_possible, found.least_tokens_per_step) == (0.75, True, 1.0)


def test_above_the_ceiling_needs_more_than_a_token_a_step() -> None:
    """260 over a ceiling of 214.2857 is impossible unless each pass yields 1.213 tokens."""
    found = judge(measured_tokens_per_s=260, ceiling_tokens_per_s=3e12 / 14e9)
    assert not found.is_possible
    assert found.least_tokens_per_step == pytest.approx(1.21333, abs=1e-5)
    assert "1.21 tokens" in " ".join(found.reasons)


def test_speculation_raises_the_bound() -> None:
    """With 2 tokens a step the same 260 is 61 % of what is possible."""
    found = judge(measured_tokens_per_s=260, ceiling_tokens_per_s=3e12 / 14e9, tokens_per_step=2)
    assert found.is_possible
    assert found.fraction == pytest.approx(0.60667, abs=1e-5)


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf")])
def test_a_speed_is_above_zero(speed: float) -> None:
    """Zero, negative and infinite speeds are refused by name."""
    with pytest.raises(ValueError, match="measured_tokens_per_s must be above 0"):
        judge(measured_tokens_per_s=speed, ceiling_tokens_per_s=1)
