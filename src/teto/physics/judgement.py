"""What a measured speed says beside its ceiling: a fraction of it, or that something is not as stated."""

from dataclasses import dataclass

from teto.physics.values import require_positive

__all__ = ["Judgement", "judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A measurement against the ceiling of one token per step.

    `least_tokens_per_step` is what each pass over the weights must have yielded on average for the measurement
    to be possible: above 1 only with speculation or several tokens per step.
    """

    measured_tokens_per_s: float
    ceiling_tokens_per_s: float
    fraction: float
    least_tokens_per_step: float
    is_possible: bool
    reasons: tuple[str, ...]


def judge(*, measured_tokens_per_s: float, ceiling_tokens_per_s: float, tokens_per_step: float = 1.0) -> Judgement:
    """Judge a measured decode speed of one request; the ceiling is that of one token per step.

    Raises:
        ValueError: a speed that is not above 0 and finite.
    """
    fraction = measured_tokens_per_s / (ceiling_tokens_per_s * tokens_per_step)
    found = Judgement(
        measured_tokens_per_s=measured_tokens_per_s,
        ceiling_tokens_per_s=ceiling_tokens_per_s,
        fraction=fraction,
        least_tokens_per_step=max(1.0, measured_tokens_per_s / ceiling_tokens_per_s),
        is_possible=fraction <= 1,
        reasons=_reasons(measured_tokens_per_s / ceiling_tokens_per_s, tokens_per_step),
    )
    require_positive(found, "measured_tokens_per_s", "ceiling_tokens_per_s")
    return found


def _reasons(ratio: float, tokens_per_step: float) -> tuple[str, ...]:
    if ratio <= tokens_per_step:
        return (f"possible: {ratio / tokens_per_step:.0%} of the ceiling",)
    stated = "one token a step" if tokens_per_step == 1 else f"{tokens_per_step:g} tokens a step"
    return (
        f"impossible with {stated}: no code reads the weights faster than memory delivers them",
        f"possible if each pass yields at least {ratio:.2f} tokens (speculation, several tokens per step)",
        "or if part of the weights is read from a cache nearer than that memory",
        "or if a figure is wrong: the bandwidth, the bytes of the weights, or the measurement (prefill counted in?)",
    )
