"""What is wrong with an answer's form, before any probability is looked at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import UnknownType
from referencing import Registry
from referencing.exceptions import Unresolvable

from teto.traffic.task import Task
from teto.triage.admission import Reason
from teto.triage.instruction import fold
from teto.wire.generation import Piece

__all__ = ["Answer", "form_fault"]

_LABEL_MOST_WORDS: Final = 6
_EDGES: Final = " \t\n\"'`*.!,;“”«»"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the engine has said by the time of the decision; `finish_reason` is None when it has more to say."""

    pieces: Sequence[Piece]
    finish_reason: str | None

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def n_tokens(self) -> int:
        """Its tokens, or pieces where an engine does not show them."""
        return sum(max(1, len(piece.tokens)) for piece in self.pieces)

    def cut(self, n_tokens: int) -> "Answer":
        """What had been said when `n_tokens` were held back; that it ends there is not known yet."""
        held = 0
        for at, piece in enumerate(self.pieces, start=1):
            held += max(1, len(piece.tokens))
            if held >= n_tokens:
                return Answer(pieces=self.pieces[:at], finish_reason=None)
        return self


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


def form_fault(
    task: Task, answer: Answer, *, schema: dict[str, Any] | None, labels: Sequence[str] | None
) -> Reason | None:
    """Why the answer cannot be kept, whatever its probability; None if its form is right.

    `labels` is the closed set of answers, folded (`label_set`), or None where it is not known.
    """
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
    if labels is not None and not _is_of(labels, answer.text):
        return Reason(code="not_a_label", text=f"One of {len(labels)} answers was asked for and another came.")
    return None


def _is_of(labels: Sequence[str], text: str) -> bool:
    """Whether the answer is a label or begins with one."""
    said = fold(text).strip(_EDGES)
    return any(said == label or (said.startswith(label) and not said[len(label)].isalnum()) for label in labels)
