"""Numbers or arrays of them: every formula of this folder takes both, so one formula serves one point or a grid."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Values", "capped_sum", "larger", "require_not_negative", "require_positive", "smaller"]

Values: TypeAlias = float | NDArray[np.float64]


def larger(first: Values, second: Values) -> Values:
    """The larger of two, element by element."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        found: NDArray[np.float64] = np.maximum(first, second)
        return found
    return max(first, second)


def smaller(first: Values, second: Values) -> Values:
    """The smaller of two, element by element."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        found: NDArray[np.float64] = np.minimum(first, second)
        return found
    return min(first, second)


def capped_sum(start: Values, step: Values, count: Values, cap: Values | None) -> Values:
    """The sum over i = 1 .. count of min(start + step · i, cap); without a cap of start + step · i."""
    if cap is None:
        return count * start + step * count * (count + 1) / 2
    # The first `under` terms are below the cap.
    under = smaller(larger(np.floor((cap - start) / step), 0.0), count)
    return under * start + step * under * (under + 1) / 2 + (count - under) * cap


def require_positive(owner: object, *names: str) -> None:
    """Check fields of a core type; None is a field that does not apply.

    Raises:
        ValueError: a field that is not above 0, or not finite.
    """
    for name in names:
        value = getattr(owner, name)
        if value is not None and not 0 < value < float("inf"):
            raise ValueError(f"{type(owner).__name__}.{name} must be above 0 and finite, found {value}")


def require_not_negative(owner: object, *names: str) -> None:
    """Check fields of a core type that may be zero.

    Raises:
        ValueError: a field below 0, or not finite.
    """
    for name in names:
        value = getattr(owner, name)
        if not 0 <= value < float("inf"):
            raise ValueError(f"{type(owner).__name__}.{name} cannot be negative, found {value}")
