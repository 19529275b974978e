"""Marks on logarithmic axes."""

import math

__all__ = ["log_ticks"]


def log_ticks(low: float, high: float, *, most_decades: float) -> list[float]:
    """Decades, with 2 and 5 between them on an axis that spans no more than `most_decades`."""
    within = (1.0, 2.0, 5.0) if math.log10(high / low) <= most_decades else (1.0,)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10.0**power for power in decades for step in within if low <= step * 10.0**power <= high]
