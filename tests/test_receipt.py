"""Receipts: they survive being written, and their fractions are honest."""

from dataclasses import replace
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.hand_made import ESCALATED, KEPT, REFUSED
from teto.physics.cost import Cost
from teto.physics.energy import unknown_energy
from teto.receipt import Phase, Receipt


@pytest.mark.parametrize("receipt", [KEPT, ESCALATED, REFUSED], ids=lambda receipt: receipt.id)
def test_a_receipt_survives_json(receipt: Receipt) -> None:
    """A receipt that was written as JSON and read again is the same one."""
    assert msgspec.json.decode(msgspec.json.encode(receipt), type=Receipt) == receipt


@given(usd=st.decimals(allow_nan=False, allow_infinity=False))
def test_money_survives_to_the_last_digit(usd: Decimal) -> None:
    """A price keeps its digits, its trailing zeros included."""
    receipt = replace(KEPT, cost=Cost(usd=usd, note="any"))
    found = msgspec.json.decode(msgspec.json.encode(receipt), type=Receipt)
    assert found.cost.usd is not None
    assert found.cost.usd.as_tuple() == usd.as_tuple()


def test_a_price_is_written_as_text() -> None:
    """A price is a JSON string, because a JSON number would be read as a binary fraction."""
    raw = msgspec.json.decode(msgspec.json.encode(KEPT))
    assert raw["cost_had_all_gone_up"]["usd"] == "0.00000960"


@pytest.mark.parametrize(
    ("seconds", "ceiling_s", "fraction"),
    [(0.4, 0.2, 0.5), (0.1, 0.2, 2.0), (0.0, 0.2, None), (0.4, None, None)],
)
def test_the_fraction_of_the_ceiling(seconds: float, ceiling_s: float | None, fraction: float | None) -> None:
    """It is the least time over the measured one, above 1 if that was shorter, and absent without either."""
    phase = Phase(
        tokens=1,
        seconds=seconds,
        bytes_read=None,
        flops=None,
        ceiling_s=ceiling_s,
        bound=None,
        energy=unknown_energy("none"),
    )
    assert phase.ceiling_fraction == fraction
