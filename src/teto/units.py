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
    "show_count",
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


def _scaled(value: float, unit: str) -> str:
    for factor, prefix in _SI:
        if abs(value) >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def show_bytes(n_bytes: float) -> str:
    """Bytes in decimal units: `980097536` is `980 MB`."""
    return _scaled(n_bytes, "B")


def show_count(count: float) -> str:
    """A plain count with thousands separated: `14042` is `14,042`."""
    return f"{count:,.0f}"


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
    if abs(seconds) < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if abs(seconds) < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s"


def show_fraction(fraction: float) -> str:
    """A ratio as a percentage."""
    return f"{fraction * 100:.3g} %"


def show_joules(joules: float) -> str:
    """Energy in joules, or milli- and kilojoules."""
    if abs(joules) < 1:
        return f"{joules * 1e3:.3g} mJ"
    return _scaled(joules, "J")


def show_usd(usd: Decimal) -> str:
    """Money: cents and above with four decimals, less in scientific steps of a millionth."""
    if usd == 0:
        return "$0"
    return f"${usd:.4f}" if abs(usd) >= Decimal("0.01") else f"${usd:.8f}".rstrip("0")
