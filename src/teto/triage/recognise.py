"""Recognises closed tasks by the words of the instruction; anything it does not recognise is unknown.

English and Portuguese, on text without accents. The patterns name what a request says when its whole answer is
in the request; a single sign of an open task (explain, design, calculate ...), of expert judgement (legal,
medical, fiscal) or of knowledge of the world outweighs them.
"""

from dataclasses import dataclass
from typing import Final

from teto.traffic.task import Task
from teto.triage.instruction import Instruction, fold, read_instruction
from teto.triage.signs import (
    ANY_TASK,
    CHOICE,
    CLASSIFY,
    EXPERT,
    EXTRACT,
    FROM_TEXT,
    LANGUAGE,
    OF_THE_WORLD,
    OPEN,
    REFERS_TO_TEXT,
    REWRITE,
    YES_NO,
)
from teto.wire.chat import ChatRequest

__all__ = ["Recognition", "recognise"]


# More than this is not a short call, whatever it asks.
_MOST_GIVEN_WORDS: Final = 400
# Less than this is a name or a fact, not a text that holds the answer.
_LEAST_WORDS_TO_ANSWER_FROM: Final = 6
_LEAST_WORDS_TO_EXTRACT_FROM: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """The task, how many tokens its answer needs at least to be judged, and the sign that decided."""

    task: Task
    expected_output_tokens: int
    sign: str


def _unknown(sign: str) -> Recognition:
    return Recognition(task=Task.UNKNOWN, expected_output_tokens=256, sign=sign)


def _schema_output_tokens(schema: dict[str, object]) -> int:
    fields = schema.get("properties")
    return 3 + 8 * len(fields) if isinstance(fields, dict) else 48


def _veto(asked: Instruction) -> str | None:
    if len(asked.given.split()) > _MOST_GIVEN_WORDS:
        return f"the given text is longer than {_MOST_GIVEN_WORDS} words"
    if found := OPEN.search(asked.folded):
        return f"{found.group(0)!r} asks for more than the text holds"
    if found := EXPERT.search(f"{asked.folded}\n{fold(asked.given)}"):
        return f"{found.group(0)!r} may ask for expert judgement"
    if (found := OF_THE_WORLD.search(asked.folded)) and not FROM_TEXT.search(asked.folded):
        return f"{found.group(0)!r} asks for knowledge of the world"
    return None


def _closed(task: Task, expected_output_tokens: int, sign: str) -> Recognition:
    return Recognition(task=task, expected_output_tokens=expected_output_tokens, sign=repr(sign))


def _match(asked: Instruction, schema: dict[str, object] | None) -> Recognition:
    """The closed task that the instruction names, tried from the most specific one."""
    words = asked.given_words
    if words == 0:
        return _unknown("no given text was found")
    if schema is not None:
        if words < _LEAST_WORDS_TO_EXTRACT_FROM:
            return _unknown("a schema, but hardly any given text")
        return _closed(Task.EXTRACT, _schema_output_tokens(schema), "schema")
    if found := LANGUAGE.search(asked.folded):
        return _closed(Task.CLASSIFY, 4, found.group(0))
    if found := YES_NO.search(asked.folded):
        if words >= _LEAST_WORDS_TO_ANSWER_FROM and REFERS_TO_TEXT.search(asked.folded):
            return _closed(Task.CLOSED_QA, 3, found.group(0))
        return _unknown("a yes-or-no question without a text to answer it from")
    return _match_by_verb(asked, words)


def _match_by_verb(asked: Instruction, words: int) -> Recognition:
    if found := REWRITE.search(asked.folded):
        return _closed(Task.REWRITE, 4 + int(1.6 * words), found.group(0))
    if words > 1 and CHOICE.search(asked.folded) and (found := CLASSIFY.search(asked.folded)):
        return _closed(Task.CLASSIFY, 4, found.group(0))
    if words >= _LEAST_WORDS_TO_EXTRACT_FROM and (found := EXTRACT.search(asked.folded)):
        return _closed(Task.EXTRACT, 24, found.group(0))
    return _unknown("no closed task was recognised")


def recognise(request: ChatRequest) -> Recognition:
    """The task of a request. Several turns, tools or media are never a closed task."""
    fields = request.fields
    if fields.tools or fields.functions:
        return Recognition(task=Task.AGENT, expected_output_tokens=256, sign="the request brings tools")
    if any(message.has_media for message in request.messages):
        return Recognition(task=Task.EMBED_OR_MEDIA, expected_output_tokens=256, sign="a message holds media")
    if sum(message.role == "user" for message in request.messages) != 1 or any(
        message.role not in {"system", "developer", "user"} for message in request.messages
    ):
        return Recognition(task=Task.CHAT, expected_output_tokens=256, sign="more than one turn")
    asked = read_instruction(request.messages, is_instruction=ANY_TASK)
    reason = _veto(asked)
    return _unknown(reason) if reason else _match(asked, request.json_schema)
