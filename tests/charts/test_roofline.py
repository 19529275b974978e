"""The roofline names its limits and its points."""

from dataclasses import replace

import pytest

from tests.charts.figures import ROOFLINE, decode_point, prefill_point, spoken, texts
from teto.charts.roofline import roofline_svg


def test_names_limits_ridge_and_every_point() -> None:
    """Both limits with their rates, the ridge at 1e15 / 3e12, and a label for each point."""
    shown = texts(roofline_svg(ROOFLINE))
    assert {"memory 3 TB/s", "compute 1 PFLOP/s", "ridge 333.3 FLOP/B"} <= set(shown)
    assert {"×1", "×10", "×20", "×50", "16 tok", "1,000 tok"} <= set(shown)


def test_says_the_points_in_words() -> None:
    """Who cannot see it hears each point's intensity and most FLOP/s."""
    _, said = spoken(roofline_svg(ROOFLINE))
    assert "decode ×10: 10.0 FLOP/B, 30 TFLOP/s at most." in said
    assert "prefill 1,000 tok: 1,000.0 FLOP/B, 1 PFLOP/s at most." in said


def test_the_key_explains_only_the_marks_there_are() -> None:
    """Hollow for the ceiling always, filled for an estimate and a cross for a measurement where there is one."""
    plain = " ".join(texts(roofline_svg(ROOFLINE)))
    assert "hollow: ceiling" in plain
    assert "estimate" not in plain
    both = replace(ROOFLINE, points=(decode_point(1, estimate_s=0.006, measured_s=0.007),))
    assert "hollow: ceiling · filled: estimate · cross: measured" in " ".join(texts(roofline_svg(both)))


def test_without_a_compute_rate_there_is_no_roof() -> None:
    """The slope stands alone and the picture says why."""
    shown = texts(roofline_svg(replace(ROOFLINE, flops_per_s=None)))
    assert "compute rate unknown: no roof drawn" in shown
    assert not any(text.startswith(("ridge", "compute 1")) for text in shown)


def test_points_all_beyond_the_ridge_leave_room() -> None:
    """With no point left of a ridge at the far left, everything is still labelled."""
    figure = replace(ROOFLINE, mem_bandwidth_bytes_per_s=1e15, points=tuple(map(prefill_point, (500, 1000, 2000))))
    assert {"500 tok", "1,000 tok", "2,000 tok", "ridge 1.0 FLOP/B"} <= set(texts(roofline_svg(figure)))


def test_speaks_portuguese() -> None:
    """Words, and figures on the axes too, in Portuguese."""
    shown = texts(roofline_svg(ROOFLINE, "pt"))
    assert {"memória 3 TB/s", "joelho 333,3 FLOP/B", "1.000 tok", "1.000"} <= set(shown)


def test_absurd_figures_are_refused() -> None:
    """No points, or a rate of nothing."""
    with pytest.raises(ValueError, match="at least one point"):
        replace(ROOFLINE, points=())
    with pytest.raises(ValueError, match="flops_per_s"):
        replace(ROOFLINE, flops_per_s=-1.0)
    with pytest.raises(ValueError, match="count"):
        decode_point(0)
