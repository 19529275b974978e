"""Quantities as people read them: three digits, and no exponent where there is a unit for it."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teto import units


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_499, "999 kB"),
        (999_999, "1 MB"),  # 999.999 k rounds to the next unit, not to 1e+03 kB
        (980_097_536, "980 MB"),
        (1_117_320_768, "1.12 GB"),
        (47.5e9, "47.5 GB"),
        (3e12, "3 TB"),
        (5e18, "5,000 PB"),
        (-1500, "-1.5 kB"),
    ],
)
def test_bytes_are_decimal(n_bytes: float, text: str) -> None:
    """Bytes are shown in powers of a thousand."""
    assert units.show_bytes(n_bytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 µs"),
        (0.000_012_34, "12.3 µs"),
        (0.000_999_9, "1 ms"),
        (0.016, "16 ms"),
        (0.999_9, "1 s"),
        (1.234, "1.23 s"),
        (59.96, "60 s"),
        (1234.5, "1,234 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    """A duration is in the unit that needs no leading zeros, and a long one in whole seconds."""
    assert units.show_seconds(seconds) == text


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        ("0", "$0"),
        ("0.00", "$0"),
        ("12.3", "$12.3000"),
        ("0.01", "$0.0100"),
        ("0.0045", "$0.0045"),
        ("0.00024", "$0.00024"),
        ("0.00000015", "$0.00000015"),
        ("0.000000001", "under $0.00000001"),  # never $0: it is known, and not nothing
    ],
)
def test_money(usd: str, text: str) -> None:
    """Money keeps the digits that tell one call from another."""
    assert units.show_usd(Decimal(usd)) == text


def test_rates() -> None:
    """Bytes and FLOPs are scaled, counts have one decimal."""
    assert units.show_rate(47.5e9, "B") == "47.5 GB/s"
    assert units.show_rate(1.2e12, "FLOP") == "1.2 TFLOP/s"
    assert units.show_rate(35.72, "tok") == "35.7 tok/s"
    assert units.show_rate(1234.56, "tok") == "1234.6 tok/s"


def test_the_rest() -> None:
    """FLOPs, fractions and joules."""
    assert units.show_flops(2.6e9) == "2.6 GFLOP"
    assert units.show_fraction(0.7412) == "74.1 %"
    assert units.show_fraction(12.5) == "1,250 %"
    assert units.show_joules(0.25) == "250 mJ"
    assert units.show_joules(0.9999) == "1 J"
    assert units.show_joules(90) == "90 J"
    assert units.show_joules(3600) == "3.6 kJ"


def test_factors() -> None:
    """A GB is 1e9 and a GiB 2**30, a price is for a million tokens."""
    assert (units.GB, units.GIB, units.MIB, units.MTOK) == (10**9, 1_073_741_824, 1_048_576, 10**6)


@given(value=st.floats(1e-3, 1e15))
def test_no_exponent_is_ever_shown(value: float) -> None:
    """Where a person reads, no number is in exponents, and three digits are within half a percent."""
    for show in (units.show_bytes, units.show_seconds, units.show_joules, units.show_fraction, units.show_flops):
        assert "e" not in show(value)
    number, unit = units.show_bytes(value * 1000).split(" ")
    factor = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}[unit]
    assert float(number.replace(",", "")) * factor == pytest.approx(value * 1000, rel=5.1e-3)
