"""Texts and figures in both languages."""

import string

import pytest

from teto.charts import texts
from teto.charts.texts import Words, floored, rounded


def test_both_languages_take_the_same_figures() -> None:
    """No text of one language lacks a figure that the other shows."""

    def figures(text: str) -> set[str | None]:
        return {field for _, field, _, _ in string.Formatter().parse(text)} - {None}

    for key, (english, portuguese) in texts._TEXTS.items():
        assert figures(english) == figures(portuguese), key


def test_portuguese_writes_a_comma() -> None:
    """Decimal comma, thousands point; English is left alone."""
    assert Words("pt").figure("1,234.5 GB") == "1.234,5 GB"
    assert Words("en").figure("1,234.5 GB") == "1,234.5 GB"


@pytest.mark.parametrize(
    ("tokens_per_s", "shown"),
    [(214.2857, "214"), (1 / (2e9 / 100e9), "50"), (1 / 0.1, "10"), (9.99, "9.9"), (3428.99, "3,428")],
)
def test_a_ceiling_is_rounded_down(tokens_per_s: float, shown: str) -> None:
    """Never up, and whole numbers stay whole whatever a float lost."""
    assert floored(tokens_per_s) == shown


def test_an_estimate_is_rounded() -> None:
    """One decimal below 100, none above."""
    assert [rounded(value) for value in (57.04, 148.8, 1234.5)] == ["57.0", "149", "1,234"]
