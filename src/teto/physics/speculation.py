"""Speculation: a draft proposes tokens, one pass over the weights checks them all.

Source: Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", ICML 2023: with
each proposal accepted independently with probability a, a pass over k proposals yields (1 - a^(k+1)) / (1 - a)
tokens. Known error: acceptances are not independent (they fall along the proposal and vary by text), and the
bytes that devices exchange in a check are not counted.
"""

from collections.abc import Callable
from dataclasses import dataclass

from teto.physics.deployment import Deployment
from teto.physics.estimate import step_time
from teto.physics.mixers import Traffic
from teto.physics.roofline import Work, ceiling, decode_step

__all__ = ["Speculation", "check_s", "speculate", "tokens_per_pass"]

_STEPS = 40  # halvings of the bracket around the break-even: to 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """One way of speculating at one batch: what a pass yields, what it costs, and what is left.

    Seconds are of one round: `draft_s` for all proposals, `check_s` for the pass that checks them, `plain_s` for
    a plain step. `speed_ratio` below 1 is slower than not speculating. `break_even_acceptance` is the acceptance
    from which it pays; None: not even with every proposal accepted.
    """

    acceptance_fraction: float
    draft_tokens: int
    batch: int
    tokens_per_pass: float
    plain_s: float
    check_s: float
    draft_s: float
    speed_ratio: float
    break_even_acceptance: float | None
    reasons: tuple[str, ...]


def tokens_per_pass(acceptance_fraction: float, draft_tokens: int) -> float:
    """Mean tokens of one checking pass, its own included: (1 - a^(k+1)) / (1 - a).

    Raises:
        ValueError: an acceptance outside 0 to 1, or no proposals.
    """
    if not 0 <= acceptance_fraction <= 1:
        raise ValueError(f"an acceptance is a fraction from 0 to 1, found {acceptance_fraction:g}")
    if draft_tokens < 1:
        raise ValueError(f"a draft proposes at least 1 token, found {draft_tokens}")
    return float(sum(acceptance_fraction**i for i in range(draft_tokens + 1)))


def check_s(deployment: Deployment, *, draft_tokens: int, batch: int, context_tokens: int) -> float:
    """The seconds of one pass over `draft_tokens` + 1 tokens of each of `batch` sequences.

    It reads the weights once and each cache once, and multiplies for all tokens.
    """
    n_tokens = draft_tokens + 1
    step = decode_step(
        deployment.shape,
        deployment.weights,
        batch=batch * n_tokens,
        context_tokens=context_tokens,
        kv_element_bytes=deployment.kv_element_bytes,
        is_expected=deployment.fit is not None,
    )
    work = Work(
        linear=step.linear,
        attention=Traffic(step.attention.bytes / n_tokens, step.attention.flops),
        head=step.head,
    )
    limits = deployment.limits
    if deployment.fit is not None:
        return float(step_time(work, limits, deployment.fit, n_layers=deployment.shape.n_whole_layers).seconds)
    n_devices = deployment.n_devices
    return ceiling(
        work,
        mem_bandwidth_bytes_per_s=n_devices * deployment.device.mem_bandwidth_bytes_per_s,
        flops_per_s=None if deployment.rate is None else n_devices * deployment.rate.flops_per_s,
    ).seconds


def speculate(
    deployment: Deployment,
    *,
    acceptance_fraction: float,
    draft_tokens: int,
    batch: int = 1,
    context_tokens: int,
    draft: Deployment | None = None,
    draft_step_fraction: float | None = None,
) -> Speculation:
    """Speculation on a deployment without it; the draft is a second deployment, or a fraction of a plain step.

    Raises:
        ValueError: neither or both kinds of draft, a figure out of range, or a deployment that speculates.
    """
    if deployment.tokens_per_step != 1:
        raise ValueError(f"the deployment speculates already: {deployment.tokens_per_step:g} tokens a step")
    if (draft is None) == (draft_step_fraction is None):
        raise ValueError("give the draft as a deployment or as a fraction of a step, and only one of them")
    if draft_step_fraction is not None and not 0 <= draft_step_fraction < float("inf"):
        raise ValueError(f"a draft's step is a fraction of at least 0 of a plain one, found {draft_step_fraction:g}")
    plain_s = float(deployment.decode_step_s(float(batch), float(context_tokens)))
    if draft is not None:
        one_draft_s = float(draft.decode_step_s(float(batch), float(context_tokens)))
    else:
        one_draft_s = plain_s * (draft_step_fraction or 0.0)
    checked_s = check_s(deployment, draft_tokens=draft_tokens, batch=batch, context_tokens=context_tokens)
    drafted_s = draft_tokens * one_draft_s

    def speed_ratio(acceptance: float) -> float:
        return tokens_per_pass(acceptance, draft_tokens) * plain_s / (checked_s + drafted_s)

    ratio = speed_ratio(acceptance_fraction)
    break_even = _break_even(speed_ratio)
    return Speculation(
        acceptance_fraction=acceptance_fraction,
        draft_tokens=draft_tokens,
        batch=batch,
        tokens_per_pass=tokens_per_pass(acceptance_fraction, draft_tokens),
        plain_s=plain_s,
        check_s=checked_s,
        draft_s=drafted_s,
        speed_ratio=ratio,
        break_even_acceptance=break_even,
        reasons=_reasons(ratio, break_even, check_ratio=checked_s / plain_s, draft_ratio=drafted_s / plain_s),
    )


def _break_even(speed_ratio: Callable[[float], float]) -> float | None:
    """The acceptance at which the ratio is 1: the ratio grows with it."""
    if speed_ratio(1.0) < 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if speed_ratio(middle) >= 1 else (middle, high)
    return high


def _reasons(ratio: float, break_even: float | None, *, check_ratio: float, draft_ratio: float) -> tuple[str, ...]:
    whole = check_ratio + draft_ratio
    found = [f"a round takes {whole:.2f} plain steps: {check_ratio:.2f} to check, {draft_ratio:.2f} to draft"]
    if ratio < 1:
        found.append("slower than not speculating: the proposals cost more than the tokens that they save")
    if check_ratio > 1.5:
        found.append("the check is far above one step: with so many tokens at once multiplying binds, not reading")
    if break_even is None:
        found.append("it never pays here, not even with every proposal accepted")
    else:
        found.append(f"it pays from an acceptance of {break_even:.0%} on")
    return tuple(found)
