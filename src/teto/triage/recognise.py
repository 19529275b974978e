"""Recognises closed tasks by the words of the instruction; anything it does not recognise is unknown.

English and Portuguese, on text without accents. The patterns name what a request says when its whole answer is
in the request; a single sign of an open task (explain, design, calculate ...), of expert judgement (legal,
medical, fiscal) or of knowledge of the world outweighs them.
"""

from dataclasses import dataclass
from typing import Final

from teto.traffic.task import Task
from teto.triage import signs
from teto.triage.instruction import Instruction, read_instruction
from teto.wire.chat import ChatRequest

__all__ = ["Recognition", "recognise"]


# More than this is not a short call, whatever it asks.
_MOST_GIVEN_WORDS: Final = 400
# Less than this is a name or a fact, not a text that holds the answer.
_LEAST_WORDS_TO_ANSWER_FROM: Final = 5
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
    """The first sign that the answer is not in the request; `without explaining` asks for no explanation."""
    if asked.given_words > _MOST_GIVEN_WORDS:
        return f"the given text is longer than {_MOST_GIVEN_WORDS} words"
    text = signs.NEGATED.sub(" ", asked.folded)
    if found := signs.OPEN.search(text):
        return f"{found.group(0)!r} asks for more than the text holds"
    if found := signs.EXPERT.search(text):
        return f"{found.group(0)!r} may ask for expert judgement"
    if signs.CODE.search(asked.given):
        return "the given text is code"
    return None


def _closed(task: Task, expected_output_tokens: int, sign: str) -> Recognition:
    return Recognition(task=task, expected_output_tokens=expected_output_tokens, sign=repr(sign))


def _match(asked: Instruction, schema: dict[str, object] | None) -> Recognition:
    """The closed task that the instruction names, tried from the most specific one."""
    words = asked.given_words
    if words == 0:
        return _unknown("no given text was found")
    if found := signs.REWRITE.search(asked.folded):
        return _closed(Task.REWRITE, 4 + int(1.6 * words), found.group(0))
    if (found := signs.OF_THE_WORLD.search(asked.folded)) and not signs.FROM_TEXT.search(asked.folded):
        return _unknown(f"{found.group(0)!r} asks for knowledge of the world")
    if schema is not None:
        if words < _LEAST_WORDS_TO_EXTRACT_FROM:
            return _unknown("a schema, but hardly any given text")
        return _closed(Task.EXTRACT, _schema_output_tokens(schema), "schema")
    if found := signs.YES_NO.search(asked.folded):
        if _answers_itself(asked):
            return _closed(Task.CLOSED_QA, 3, found.group(0))
        return _unknown("a yes-or-no question without a text to answer it from")
    return _match_label(asked, words)


def _answers_itself(asked: Instruction) -> bool:
    """Whether there is a text to answer from: set apart or referred to, and not the question itself."""
    named = asked.is_marked or signs.REFERS_TO_TEXT.search(asked.folded) is not None
    return named and asked.given_words >= _LEAST_WORDS_TO_ANSWER_FROM and not asked.given.endswith("?")


def _match_label(asked: Instruction, words: int) -> Recognition:
    found = signs.LANGUAGE.search(asked.folded)
    if found and not signs.ABOUT_LANGUAGES.search(asked.folded):
        return _closed(Task.CLASSIFY, 4, found.group(0))
    if words > 1 and signs.CHOICE.search(asked.folded) and (found := signs.CLASSIFY.search(asked.folded)):
        return _closed(Task.CLASSIFY, 4, found.group(0))
    if words >= _LEAST_WORDS_TO_EXTRACT_FROM and (found := signs.EXTRACT.search(asked.folded)):
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
    schema = request.json_schema
    asked = read_instruction(request.messages, tasks=signs.TASKS, orders=signs.ORDERS, brief=schema is not None)
    reason = _veto(asked)
    return _unknown(reason) if reason else _match(asked, schema)
