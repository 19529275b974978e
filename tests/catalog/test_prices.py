"""What a call costs: the operator's price, a published one, or unknown, and never 0 for want of a figure."""

from decimal import Decimal
from typing import Final

import pytest

from teto.catalog.prices import listed_cost, own_cost, published_cost
from teto.physics.cost import Cost
from teto.traffic.tokens import TokenVector

AT_UNIX_S: Final = 1_767_225_600.0  # 2026-01-01
OPENAI: Final = "https://api.openai.com/v1"
TOKENS: Final = TokenVector(in_uncached=600, in_cache_read=400, out_visible=150, out_reasoning=50, rule="made here")


def test_the_operators_price_is_exact() -> None:
    """1,000 tokens in at $2.50 and 200 out at $10 a million are $0.0025 + $0.0020, to the last digit."""
    cost = own_cost(TOKENS, (Decimal("2.50"), Decimal(10)))
    assert cost == Cost(usd=Decimal("0.0045"), note="price from teto.toml")
    # A tenth of a cent a million has no exact binary fraction: 1,000 · 0.1 / 1e6.
    assert own_cost(TOKENS, (Decimal("0.1"), Decimal(0))).usd == Decimal("0.0001")


def test_a_price_of_zero_is_a_price() -> None:
    """An operator who pays nothing pays $0, which is known."""
    assert own_cost(TOKENS, (Decimal(0), Decimal(0))).usd == 0


def test_a_published_price() -> None:
    """gpt-4o-mini at OpenAI: $0.15 in, $0.075 for what its cache held, $0.60 out, a million each."""
    cost = published_cost(TOKENS, model="gpt-4o-mini", base_url=OPENAI, at_unix_s=AT_UNIX_S)
    # 600 · 0.15 + 400 · 0.075 + 200 · 0.60 = 90 + 30 + 120 millionths of a dollar.
    assert cost == Cost(usd=Decimal("0.00024"), note="genai-prices, openai gpt-4o-mini")


@pytest.mark.parametrize(
    ("model", "base_url"),
    [("my-own-model", OPENAI), ("gpt-4o-mini", "http://127.0.0.1:9000/v1"), ("", OPENAI), ("gpt-4o-mini", "")],
)
def test_an_unknown_price_is_unknown(model: str, base_url: str) -> None:
    """A model or a provider that is in no table costs an unknown amount, and the note names the model."""
    cost = published_cost(TOKENS, model=model, base_url=base_url, at_unix_s=AT_UNIX_S)
    assert cost.usd is None
    assert cost.note.startswith(f"genai-prices knows no price for {model!r}")


@pytest.mark.parametrize(
    "tokens", [TokenVector(in_uncached=5, rule="x"), TokenVector(out_visible=5, rule="x"), TokenVector(rule="x")]
)
def test_no_usage_is_no_price(tokens: TokenVector) -> None:
    """Without both counts nothing is computed, from either price."""
    expected = Cost(usd=None, note="the upstream sent no usage")
    assert own_cost(tokens, (Decimal(1), Decimal(1))) == expected
    assert published_cost(tokens, model="gpt-4o-mini", base_url=OPENAI, at_unix_s=AT_UNIX_S) == expected


def test_a_listed_price_by_name_alone() -> None:
    """Without a URL the model's name is enough: 1,000 tokens in at $0.15 and 200 out at $0.60 a million."""
    cost = listed_cost(model="gpt-4o-mini", prompt_tokens=1000, output_tokens=200, at_unix_s=AT_UNIX_S)
    assert cost.usd == Decimal("0.00027")
    assert cost.note == "genai-prices, openai gpt-4o-mini, list price of 2026-01-01"


def test_a_model_that_is_not_listed() -> None:
    """No listed price is unknown, with the name that was looked for."""
    cost = listed_cost(model="no-such-model", prompt_tokens=1, output_tokens=1, at_unix_s=AT_UNIX_S)
    assert cost == Cost(usd=None, note="genai-prices knows no price for 'no-such-model'")
