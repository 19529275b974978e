"""Token vectors: totals, and the difference between absent and zero."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teto.traffic.tokens import TokenVector

COUNTS = ("in_uncached", "in_cache_read", "in_cache_write_5m", "in_cache_write_1h", "out_visible", "out_reasoning")


def test_totals_add_every_kind() -> None:
    """Input is all four kinds of input, output both kinds of output."""
    tokens = TokenVector(
        in_uncached=100,
        in_cache_read=40,
        in_cache_write_5m=7,
        in_cache_write_1h=3,
        out_visible=20,
        out_reasoning=5,
        rule="made here",
    )
    assert tokens.input_total == 150
    assert tokens.output_total == 25


def test_absent_is_not_zero() -> None:
    """Without the uncached or the visible count there is no total, whatever else is known."""
    unknown = TokenVector(in_cache_read=40, out_reasoning=5, rule="made here")
    assert unknown.input_total is None
    assert unknown.output_total is None
    empty = TokenVector(in_uncached=0, out_visible=0, rule="made here")
    assert (empty.input_total, empty.output_total) == (0, 0)


@pytest.mark.parametrize("name", COUNTS)
def test_negative_counts_are_refused(name: str) -> None:
    """A negative count names itself and the rule that produced it."""
    with pytest.raises(ValueError, match=rf"{name} cannot be negative, found -1 \(rule: cached inside\)"):
        TokenVector(**{name: -1}, rule="cached inside")


@given(counts=st.fixed_dictionaries({}, optional={name: st.integers(0, 10**9) for name in COUNTS}))
def test_totals_hold_what_is_known(counts: dict[str, int]) -> None:
    """A total is the sum of the counts that were given, exactly when its main one was."""
    tokens = TokenVector(**counts, rule="any")
    inputs = sum(count for name, count in counts.items() if name.startswith("in_"))
    outputs = sum(count for name, count in counts.items() if name.startswith("out_"))
    assert tokens.input_total == (inputs if "in_uncached" in counts else None)
    assert tokens.output_total == (outputs if "out_visible" in counts else None)
