"""OpenAI usage as a token vector."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teto.traffic.tokens import TokenVector
from teto.wire.usage import openai_usage

RULE = "openai: cached inside prompt, reasoning inside completion"


def test_cached_and_reasoning_tokens_are_inside() -> None:
    """Cached tokens are taken out of the prompt's, reasoning tokens out of the completion's; totals stay."""
    tokens = openai_usage(
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "total_tokens": 150,
            "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 30},
        }
    )
    # 100 - 64 = 36 uncached, 50 - 30 = 20 visible.
    assert tokens == TokenVector(in_uncached=36, in_cache_read=64, out_visible=20, out_reasoning=30, rule=RULE)
    assert (tokens.input_total, tokens.output_total) == (100, 50)


def test_what_the_usage_does_not_say_stays_unknown() -> None:
    """Details that are missing or null are None, not 0."""
    assert openai_usage({"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": None}) == TokenVector(
        in_uncached=9, out_visible=4, rule=RULE
    )
    assert openai_usage({"prompt_tokens": 9}) == TokenVector(in_uncached=9, rule=RULE)
    assert openai_usage({"completion_tokens": 0}) == TokenVector(out_visible=0, rule=RULE)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        [],
        "usage",
        5,
        {"prompt_tokens": None},
        {"prompt_tokens": "9"},
        {"prompt_tokens": -1},
        {"prompt_tokens": True},
    ],
)
def test_no_counts_are_no_usage(usage: Any) -> None:
    """An absent usage, or one whose counts are no counts, is None."""
    assert openai_usage(usage) is None


def test_more_cached_than_sent_is_not_negative() -> None:
    """A usage that contradicts itself does not make a negative count."""
    tokens = openai_usage({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 12}})
    assert tokens == TokenVector(in_uncached=0, in_cache_read=12, rule=RULE)


JUNK = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats()
    | st.text(max_size=3)
    | st.lists(st.integers(), max_size=2)
)
NAMES = ("prompt_tokens", "completion_tokens")
DETAILS = ("prompt_tokens_details", "completion_tokens_details")
INNER = JUNK | st.dictionaries(st.sampled_from(["cached_tokens", "reasoning_tokens"]), JUNK)


@given(usage=st.dictionaries(st.sampled_from(NAMES), JUNK), details=st.dictionaries(st.sampled_from(DETAILS), INNER))
def test_junk_never_raises(usage: dict[str, Any], details: dict[str, Any]) -> None:
    """Whatever an upstream calls usage gives counts of 0 or more, or None."""
    tokens = openai_usage({**usage, **details})
    assert tokens is None or tokens.input_total is not None or tokens.output_total is not None
