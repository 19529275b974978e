"""Keep or escalate: by a calibration where there is one for the engine, else conservatively.

The conservative policy keeps a closed answer whose form is right and whose weakest token is likely enough. Its
threshold is a constant that was chosen, not measured: no bound on the share of wrong answers is claimed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp
from typing import Any, Final

from teto.traffic.task import Task
from teto.triage.admission import Reason
from teto.triage.calibration import PrefixRule
from teto.triage.form import Answer, form_fault
from teto.triage.grounding import grounding_of
from teto.triage.score import is_same_answer
from teto.triage.signals import Signals, signals_of
from teto.triage.slices import Certificate
from teto.units import show_fraction
from teto.wire.chat import ChatRequest
from teto.wire.generation import TokenLogprob

__all__ = ["Case", "Decision", "Promise", "Verdict", "decide", "sampler_fault", "signals_for", "wants_empty",
           "wants_second"]  # fmt: skip

_LABEL_TASKS: Final = frozenset({Task.CLASSIFY, Task.CLOSED_QA})


class Verdict(StrEnum):
    """What becomes of the local answer."""

    KEEP = "keep"
    ESCALATE = "escalate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What a decision rests on: `bound` on the `rule`'s risk, with probability 1 - delta, from `n` judged calls.

    `standing` says whether the slice was certified alone or pooled with others of its language.
    """

    rule: str
    bound: float
    alpha: float
    delta: float
    n: int
    standing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Keep or escalate, with the figures it rests on; `promise` is None where nothing is promised."""

    verdict: Verdict
    confidence: float | None
    threshold: float | None
    promise: Promise | None
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is decided on. `rule` is the engine's calibration for this hold-back, None where it has none.

    `labels` and `empty` are as in `signals_of`. `second` is another answer to the same request, where one was drawn.
    `request_text` is all that was asked, `given` the part of it that is worked on.
    """

    task: Task
    language: str
    answer: Answer
    schema: Mapping[str, Any] | None
    labels: Sequence[str] | None
    empty: Sequence[TokenLogprob] | None
    rule: PrefixRule | None
    request_text: str
    given: str
    second: str | None = None


def signals_for(case: Case) -> Signals | None:
    """The signals of the case's answer; None where its tokens carry no logprobs."""
    is_label = case.task in _LABEL_TASKS
    return signals_of(
        case.answer.pieces,
        is_json=case.schema is not None,
        is_unfinished=case.answer.finish_reason is None,
        is_label=is_label,
        labels=case.labels,
        empty=case.empty if case.answer.finish_reason is not None else None,
        grounding=grounding_of(case.answer.text, request=case.request_text, given=case.given),
    )


def sampler_fault(request: ChatRequest) -> Reason | None:
    """Why the client's sampling is not the one that calibrations are made with; None if it is."""
    fields = request.fields
    changed = {
        "temperature": (fields.temperature or 0) > 0,
        "logit_bias": bool(fields.logit_bias),
        "presence_penalty": bool(fields.presence_penalty),
        "frequency_penalty": bool(fields.frequency_penalty),
        "stop": bool(fields.stop),
    }
    named = [name for name, is_changed in changed.items() if is_changed]
    if not named:
        return None
    text = f"The request sets {', '.join(named)}: calibrations hold for temperature 0 and nothing else set."
    return Reason(code="sampler", text=text)


def _fault(case: Case) -> Reason | None:
    schema = None if case.schema is None else dict(case.schema)
    return form_fault(case.task, case.answer, schema=schema, labels=case.labels)


def wants_empty(case: Case) -> bool:
    """Whether the answer to an empty input would say more: a whole answer of the right form, from a closed set."""
    return (
        case.rule is not None
        and case.empty is None
        and case.labels is not None
        and case.answer.finish_reason is not None
        and _fault(case) is None
    )


def wants_second(case: Case) -> bool:
    """Whether a second answer could change the decision: an undecided score of a short and whole answer."""
    if case.rule is None or case.second is not None or case.answer.finish_reason is None or _fault(case):
        return False
    signals = signals_for(case)
    if signals is None:
        return False
    return case.rule.score.asks_again(case.rule.score.of(case.task, signals), case.answer.n_tokens)


def decide(case: Case, *, min_confidence: float) -> Decision:
    """Keep the answer when its form is right and its confidence reaches the threshold of its slice.

    Args:
        case: the answer and what is known about it.
        min_confidence: the conservative policy's threshold, used where the engine has no calibration.
    """
    if fault := _fault(case):
        return _escalate(fault)
    signals = signals_for(case)
    if signals is None:
        return _escalate(Reason(code="confidence_unknown", text="The engine gave no logprobs for its answer."))
    if case.rule is None:
        return _conservative(signals, min_confidence)
    return _calibrated(case, case.rule, signals)


def _escalate(reason: Reason, confidence: float | None = None) -> Decision:
    return Decision(verdict=Verdict.ESCALATE, confidence=confidence, threshold=None, promise=None, reasons=(reason,))


def _conservative(signals: Signals, threshold: float) -> Decision:
    confidence = exp(signals.least_logprob)
    is_enough = confidence >= threshold
    reason = Reason(
        code="confident" if is_enough else "unsure",
        text=f"Confidence {confidence:.3f}, that of its weakest token (uncalibrated threshold {threshold:g}).",
        figures={"confidence": confidence, "threshold": threshold, "mean_probability": exp(signals.mean_logprob)},
    )
    return Decision(
        verdict=Verdict.KEEP if is_enough else Verdict.ESCALATE,
        confidence=confidence,
        threshold=threshold,
        promise=None,
        reasons=(reason,),
    )


def _calibrated(case: Case, rule: PrefixRule, signals: Signals) -> Decision:
    confidence = rule.score.of(case.task, signals)
    asked_again = case.second is not None and rule.score.asks_again(confidence, case.answer.n_tokens)
    if asked_again and case.second is not None:
        confidence = rule.score.after_second(confidence, agreed=is_same_answer(case.answer.text, case.second))
    certificate = rule.certificate(case.task, case.language)
    if certificate is None or certificate.threshold is None:
        why = "no such call was calibrated on" if certificate is None else certificate.reasons[0].text
        text = f"Nothing is certified for {case.task} in language {case.language!r}: {why}"
        return _escalate(Reason(code="uncertified", text=text), confidence)
    chosen = certificate.threshold
    if chosen.threshold is None or chosen.bound is None:
        text = f"No threshold keeps the risk of {case.task} ({case.language}) within {show_fraction(chosen.alpha)}."
        return _escalate(Reason(code="nothing_kept", text=text), confidence)
    return _against(confidence, certificate, asked_again=asked_again)


def _against(confidence: float, certificate: Certificate, *, asked_again: bool) -> Decision:
    chosen = certificate.threshold
    assert chosen is not None  # noqa: S101 - the caller has looked
    assert chosen.threshold is not None  # noqa: S101
    assert chosen.bound is not None  # noqa: S101
    promise = Promise(
        rule=chosen.rule,
        bound=chosen.bound,
        alpha=chosen.alpha,
        delta=chosen.delta,
        n=chosen.n,
        standing=certificate.standing,
    )
    is_enough = confidence >= chosen.threshold
    risk = "P(kept and wrong)" if chosen.rule == "marginal" else "P(wrong | kept)"
    pool = "its own" if certificate.standing == "alone" else f"pooled {certificate.language}"
    reason = Reason(
        code="confident" if is_enough else "unsure",
        text=f"Confidence {confidence:.3f}{' after a second answer' if asked_again else ''}, threshold "
        f"{chosen.threshold:.3f}: {risk} is at most {show_fraction(chosen.bound)} with probability "
        f"{show_fraction(1 - chosen.delta)}, from {chosen.n:,} judged calls ({pool}).",
        figures={
            "confidence": confidence,
            "threshold": chosen.threshold,
            "bound": chosen.bound,
            "alpha": chosen.alpha,
            "delta": chosen.delta,
            "n": chosen.n,
        },
    )
    return Decision(
        verdict=Verdict.KEEP if is_enough else Verdict.ESCALATE,
        confidence=confidence,
        threshold=chosen.threshold,
        promise=promise,
        reasons=(reason,),
    )
