"""What an engine gives while it generates: pieces of text with their tokens, then the finish."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finish", "FinishReason", "Piece", "RunTimings", "TokenLogprob"]

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprob:
    """One token of the answer: its text, the model's own logprob (nats), and its likeliest rivals."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some text of the answer; `tokens` are exactly the tokens of this text, empty if the engine gives none."""

    text: str
    tokens: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimings:
    """The engine's own account of a run: tokens are counts, seconds are of the engine's clock where it has one.

    `prefilled_tokens` were computed, `cached_tokens` were found in the cache; together they are the prompt.
    `decode_steps` is the number of passes after prefill: one less than the sampled tokens, the end token included.
    """

    prefilled_tokens: int
    cached_tokens: int
    output_tokens: int
    decode_steps: int
    prefill_s: float
    decode_s: float
    source: str

    @property
    def prompt_tokens(self) -> int:
        """All tokens of the prompt."""
        return self.prefilled_tokens + self.cached_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The end of a run."""

    reason: FinishReason
    timings: RunTimings
