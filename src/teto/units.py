"""Units, and the only formatting of quantities for people: SI inside, GB and ms only where a person reads."""

from decimal import Decimal
from typing import Final

__all__ = [
    "GB",
    "GIB",
    "KV_F16_BYTES",
    "MIB",
    "MTOK",
    "show_bytes",
    "show_flops",
    "show_fraction",
    "show_joules",
    "show_rate",
    "show_seconds",
    "show_usd",
]

GB: Final = 1_000_000_000
GIB: Final = 2**30
MIB: Final = 2**20
MTOK: Final = 1_000_000
KV_F16_BYTES: Final = 2  # one element of a KV cache kept in 16-bit floats

_SI: Final = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_ROUNDS_TO_NEXT: Final = 0.9995  # from here on three digits of a unit round to one of the next


def _digits(value: float) -> str:
    """Three significant digits, and never an exponent for a large value: 1,234 rather than 1.23e+03."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def _scaled(value: float, unit: str) -> str:
    for factor, prefix in _SI:
        if abs(value) >= factor * _ROUNDS_TO_NEXT:
            return f"{_digits(value / factor)} {prefix}{unit}"
    return f"{_digits(value)} {unit}"


def show_bytes(n_bytes: float) -> str:
    """Bytes in decimal units: `980097536` is `980 MB`."""
    return _scaled(n_bytes, "B")


def show_flops(flops: float) -> str:
    """A count of floating-point operations: `2.6e9` is `2.6 GFLOP`."""
    return _scaled(flops, "FLOP")


def show_rate(per_s: float, unit: str) -> str:
    """A rate; bytes and FLOPs are scaled, anything else is printed with one decimal."""
    if unit in {"B", "FLOP"}:
        return f"{_scaled(per_s, unit)}/s"
    return f"{per_s:.1f} {unit}/s"


def show_seconds(seconds: float) -> str:
    """A duration: microseconds, milliseconds or seconds, three digits."""
    if abs(seconds) < 1e-3 * _ROUNDS_TO_NEXT:
        return f"{_digits(seconds * 1e6)} µs"
    if abs(seconds) < _ROUNDS_TO_NEXT:
        return f"{_digits(seconds * 1e3)} ms"
    return f"{_digits(seconds)} s"


def show_fraction(fraction: float) -> str:
    """A ratio as a percentage."""
    return f"{_digits(fraction * 100)} %"


def show_joules(joules: float) -> str:
    """Energy in joules, or milli- and kilojoules."""
    if abs(joules) < _ROUNDS_TO_NEXT:
        return f"{_digits(joules * 1e3)} mJ"
    return _scaled(joules, "J")


def show_usd(usd: Decimal) -> str:
    """Money: cents and above with four decimals, less with up to eight; what those would show as 0 is marked."""
    if usd == 0:
        return "$0"
    if abs(usd) < Decimal("0.00000001"):
        return "under $0.00000001"
    return f"${usd:.4f}" if abs(usd) >= Decimal("0.01") else f"${usd:.8f}".rstrip("0")
