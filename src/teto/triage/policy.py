"""The first policy: conservative and uncalibrated. It keeps a closed answer whose form and confidence are good.

Its threshold is a constant that was chosen, not measured: no bound on the share of wrong answers is claimed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import UnknownType
from referencing import Registry
from referencing.exceptions import Unresolvable

from teto.traffic.task import Task
from teto.triage.admission import Admission, Reason
from teto.triage.confidence import Confidence, confidence_of, evidence_tokens
from teto.triage.instruction import fold
from teto.wire.generation import Piece

__all__ = ["Answer", "Decision", "Verdict", "decide"]

_YES_NO_WORDS: Final = frozenset({"yes", "no", "sim", "nao"})
_LABEL_MOST_WORDS: Final = 6


class Verdict(StrEnum):
    """What becomes of the local answer."""

    KEEP = "keep"
    ESCALATE = "escalate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the engine has said by the time of the decision; `finish_reason` is None when it has more to say."""

    pieces: Sequence[Piece]
    finish_reason: str | None

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Keep or escalate, with the figures it rests on."""

    verdict: Verdict
    confidence: Confidence | None
    threshold: float
    reasons: tuple[Reason, ...]


def _schema_fault(text: str, schema: dict[str, Any]) -> str | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return "The answer is not JSON."
    try:
        # An empty registry: a reference to another document is never fetched.
        error = next(Draft202012Validator(schema, registry=Registry()).iter_errors(value), None)
    except (UnknownType, Unresolvable, RecursionError, AttributeError, TypeError) as fault:
        # The last two: what the validator trips over in a schema that is none. Checking it first takes 3 ms.
        return f"The schema cannot be checked: {type(fault).__name__}."
    return None if error is None else f"The answer breaks the schema at {error.json_path}."


def _form_fault(task: Task, answer: Answer, schema: dict[str, Any] | None) -> Reason | None:
    """What is wrong with the answer's form, before any probability is looked at."""
    words = fold(answer.text).replace(".", " ").replace(",", " ").replace("!", " ").split()
    if not words:
        return Reason(code="empty", text="The local answer is empty.")
    if answer.finish_reason == "length":
        return Reason(code="truncated", text="The local answer reached its token limit before it ended.")
    if schema is not None:
        if answer.finish_reason is None:
            return Reason(code="unfinished", text="The structured answer did not end within the hold-back.")
        fault = _schema_fault(answer.text, schema)
        return None if fault is None else Reason(code="schema_broken", text=fault)
    if task is Task.CLASSIFY and len(words) > _LABEL_MOST_WORDS:
        return Reason(code="not_a_label", text=f"A label was asked for and {len(words)} words came.")
    if task is Task.CLOSED_QA and words[0] not in _YES_NO_WORDS:
        return Reason(code="not_yes_or_no", text="Yes or no was asked for and something else came.")
    return None


def decide(
    admission: Admission,
    answer: Answer,
    *,
    schema: dict[str, Any] | None,
    min_confidence: float,
) -> Decision:
    """Keep the answer when its form is right and its least likely token is likely enough."""
    confidence = confidence_of(
        evidence_tokens(answer.pieces, is_json=schema is not None),
        is_label=admission.task in {Task.CLASSIFY, Task.CLOSED_QA},
    )

    def verdict(kind: Verdict, reason: Reason) -> Decision:
        return Decision(verdict=kind, confidence=confidence, threshold=min_confidence, reasons=(reason,))

    if fault := _form_fault(admission.task, answer, schema):
        return verdict(Verdict.ESCALATE, fault)
    if confidence is None:
        unknown = Reason(code="confidence_unknown", text="The engine gave no logprobs for its answer.")
        return verdict(Verdict.ESCALATE, unknown)
    score = confidence.score
    figures = {
        "confidence": score,
        "threshold": min_confidence,
        "mean_probability": confidence.mean_probability,
        "first_margin": confidence.first_margin,
        "n_tokens": confidence.n_tokens,
    }
    enough = score >= min_confidence
    reason = Reason(
        code="confident" if enough else "unsure",
        text=f"Confidence {score:.3f}, the weakest of {confidence.n_tokens} tokens "
        f"(uncalibrated threshold {min_confidence:g}).",
        figures=figures,
    )
    return verdict(Verdict.KEEP if enough else Verdict.ESCALATE, reason)
