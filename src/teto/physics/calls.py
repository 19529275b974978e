"""One call alone on a deployment: its two phases apart, and two kinds of call side by side.

Prefill yields the first token; each later one is a decode step over all that came before it. Known error: that
of the deployment's estimate; without a fit the times are ceilings, which no engine reaches.
"""

from dataclasses import dataclass

import numpy as np

from teto.physics.deployment import Deployment
from teto.physics.values import require_positive

__all__ = ["CallTime", "CallTokens", "Comparison", "compare_calls", "require_context", "time_call"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTokens:
    """A kind of call: tokens in, tokens out."""

    prompt_tokens: int
    output_tokens: int

    def __post_init__(self) -> None:
        require_positive(self, "prompt_tokens", "output_tokens")

    @property
    def context_tokens(self) -> int:
        """Positions that the last step attends over; the last token is never put back in."""
        return self.prompt_tokens + self.output_tokens - 1

    @property
    def mean_context_tokens(self) -> float:
        """The mean over the decode steps, for which a step's time is nearly linear."""
        return self.prompt_tokens + self.output_tokens / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTime:
    """Seconds of one call, from sending the prompt to its last token."""

    tokens: CallTokens
    prefill_s: float
    decode_s: float

    @property
    def total_s(self) -> float:
        """Both phases."""
        return self.prefill_s + self.decode_s

    @property
    def decode_fraction(self) -> float:
        """The share of the time that goes into writing."""
        return self.decode_s / self.total_s

    @property
    def prompt_token_s(self) -> float:
        """Seconds for each token that is read."""
        return self.prefill_s / self.tokens.prompt_tokens

    @property
    def output_token_s(self) -> float | None:
        """Seconds for each token after the first; None where there is none."""
        steps = self.tokens.output_tokens - 1
        return self.decode_s / steps if steps else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two kinds of call of one model: how many times longer the second takes, and why."""

    first: CallTime
    second: CallTime
    reasons: tuple[str, ...]

    @property
    def ratio(self) -> float:
        """Seconds of the second over seconds of the first."""
        return self.second.total_s / self.first.total_s


def require_context(limit_tokens: int | None, tokens: CallTokens) -> None:
    """Check a call against the longest context that a model's source states; None: it states none.

    Raises:
        ValueError: the call needs more.
    """
    if limit_tokens is not None and tokens.context_tokens > limit_tokens:
        raise ValueError(
            f"{tokens.prompt_tokens:,} tokens in and {tokens.output_tokens:,} out need a context of "
            f"{tokens.context_tokens:,}, and the model's limit is {limit_tokens:,}"
        )


def time_call(deployment: Deployment, tokens: CallTokens) -> CallTime:
    """The seconds of one call that has the deployment to itself.

    Raises:
        ValueError: the call is longer than the model's context.
    """
    require_context(deployment.shape.context_limit_tokens, tokens)
    contexts = np.arange(tokens.prompt_tokens + 1.0, tokens.prompt_tokens + tokens.output_tokens)
    steps_s = np.asarray(deployment.decode_step_s(1.0, contexts)) if contexts.size else np.zeros(1)
    return CallTime(
        tokens=tokens,
        prefill_s=float(deployment.prefill_s(float(tokens.prompt_tokens))),
        decode_s=float(steps_s.sum()) / deployment.tokens_per_step,
    )


def compare_calls(deployment: Deployment, first: CallTokens, second: CallTokens) -> Comparison:
    """Two kinds of call on the same deployment, and what makes one of them slower."""
    one, two = time_call(deployment, first), time_call(deployment, second)
    return Comparison(first=one, second=two, reasons=tuple(_reasons(one, two)))


def _reasons(one: CallTime, two: CallTime) -> list[str]:
    slower, faster = (two, one) if two.total_s >= one.total_s else (one, two)
    found = []
    if slower.output_token_s is not None:
        times = slower.output_token_s / slower.prompt_token_s
        found.append(
            f"a token written costs {times:,.0f} times a token read: a prompt goes in at once and shares one reading "
            "of the weights, each token out reads them again"
        )
    gap_s = slower.total_s - faster.total_s
    decode_gap_s = slower.decode_s - faster.decode_s
    if gap_s > 0 and decode_gap_s > 0:
        found.append(
            f"{min(1.0, decode_gap_s / gap_s):.1%} of the difference is decode: "
            f"{slower.tokens.output_tokens} tokens out against {faster.tokens.output_tokens}"
        )
    elif gap_s > 0:
        found.append(
            f"the difference is prefill: {slower.tokens.prompt_tokens:,} tokens in "
            f"against {faster.tokens.prompt_tokens:,}"
        )
    found.extend(
        f"{call.tokens.prompt_tokens} in, {call.tokens.output_tokens} out is {call.decode_fraction:.1%} decode"
        for call in (one, two)
    )
    return found
