"""Usage objects of the APIs as token vectors, each with the rule that was applied."""

from typing import Any

from teto.traffic.tokens import TokenVector

__all__ = ["openai_usage"]


def _count(holder: Any, name: str) -> int | None:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def openai_usage(usage: Any) -> TokenVector | None:
    """An OpenAI usage object: cached tokens are inside the prompt's, reasoning tokens inside the completion's.

    None when it is absent or holds no counts; never zeros.
    """
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if prompt is None and completion is None:
        return None
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens")
    reasoning = _count(usage.get("completion_tokens_details"), "reasoning_tokens")
    return TokenVector(
        in_uncached=None if prompt is None else max(0, prompt - (cached or 0)),
        in_cache_read=cached,
        out_visible=None if completion is None else max(0, completion - (reasoning or 0)),
        out_reasoning=reasoning,
        rule="openai: cached inside prompt, reasoning inside completion",
    )
