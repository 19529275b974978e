"""Recognises what a request asks for: what its structure makes certain, then the task model, then what must hold.

The structure settles what brings tools, media or several turns. For the rest a model reads the text. What it calls
closed must also look it: a text is given, it is short, it is no examination, and nothing is to be explained.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from teto.traffic.language import Language
from teto.traffic.task import Task
from teto.triage import signs
from teto.triage.instruction import Instruction, read_instruction
from teto.triage.task_model import Reading, TaskModel
from teto.triage.text_features import prompt_text
from teto.wire.chat import ChatRequest

__all__ = ["Recognition", "recognise"]

# More than this is not a short call, whatever it asks.
_MOST_GIVEN_WORDS: Final = 400
# A message of so many words holds a text even where no mark sets it apart; a shorter one is an instruction alone.
_LEAST_WORDS_WITH_TEXT: Final = 12
# A system message of so many words may be the instruction: then the user's is the text. A greeting has fewer.
_LEAST_WORDS_OF_A_SYSTEMS_INSTRUCTION: Final = 6
_OPEN_OUTPUT_TOKENS: Final = 256
_ALTERNATIVE: Final = re.compile(r"(?:^|[\s(])\(?([A-Ea-e])[).:](?=\s)", re.MULTILINE)
_ALTERNATIVES_OF_AN_EXAM: Final = frozenset("abcd")
_JUDGED: Final = frozenset({Task.CLASSIFY, Task.CLOSED_QA})  # tasks whose short answer may be an expert's


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """The task, and whether its answer is short and in the request: only then may a small model try.

    `probability` is the model's: of `closed` where it is, else of the task; 1 where the structure is certain.
    `expected_output_tokens` is how many tokens the answer needs at least to be judged; `sign` says what decided.
    """

    task: Task
    language: Language
    closed: bool
    probability: float
    expected_output_tokens: int
    sign: str


def _structural(request: ChatRequest) -> tuple[Task, str] | None:
    """What the request's structure settles, and how."""
    fields = request.fields
    if fields.tools or fields.functions:
        return Task.AGENT, "the request brings tools"
    if any(message.has_media for message in request.messages):
        return Task.EMBED_OR_MEDIA, "a message holds media"
    if sum(message.role == "user" for message in request.messages) != 1 or any(
        message.role not in {"system", "developer", "user"} for message in request.messages
    ):
        return Task.CHAT, "more than one turn"
    return None


def _knowledge(asked: Instruction) -> str | None:
    """Why a judgement may need more than the text: it is an expert's, or one about the world."""
    if found := signs.EXPERT.search(asked.folded):
        return f"{found.group(0)!r} may ask for expert judgement"
    if (found := signs.OF_THE_WORLD.search(asked.folded)) and not signs.FROM_TEXT.search(asked.folded):
        return f"{found.group(0)!r} asks for knowledge of the world"
    return None


def _objection(request: ChatRequest, task: Task, asked: Instruction) -> str | None:
    """Why a request that reads like a closed task is none."""
    user = "\n".join(message.text for message in request.messages if message.role == "user")
    system_words = sum(len(message.text.split()) for message in request.messages if message.role != "user")
    words = len(user.split())
    is_brief = system_words < _LEAST_WORDS_OF_A_SYSTEMS_INSTRUCTION and words < _LEAST_WORDS_WITH_TEXT
    if not words or (task is not Task.CODE and not asked.given.strip() and is_brief):
        return "no text is given to work on"
    if max(asked.given_words, words if not asked.given else 0) > _MOST_GIVEN_WORDS:
        return f"the given text is longer than {_MOST_GIVEN_WORDS} words"
    if task is not Task.SUMMARISE and (found := signs.REASONS.search(signs.NEGATED.sub(" ", asked.folded))):
        return f"{found.group(0)!r} asks for more than the text holds"
    if task in _JUDGED and (reason := _knowledge(asked)):
        return reason
    if task is not Task.CODE and {mark.lower() for mark in _ALTERNATIVE.findall(user)} >= _ALTERNATIVES_OF_AN_EXAM:
        return "lettered alternatives, as in an examination"
    return None


def _expected_output_tokens(request: ChatRequest, task: Task, asked: Instruction) -> int:
    schema = request.json_schema
    if schema is not None and task is not Task.CLASSIFY:
        fields = schema.get("properties")
        return 3 + 8 * len(fields) if isinstance(fields, dict) else 48
    if task is Task.REWRITE:
        return 4 + int(1.6 * (asked.given_words or len(request.messages[-1].text.split())))
    if task is Task.CLOSED_QA and signs.YES_NO.search(asked.folded):
        return 3
    return {Task.CLASSIFY: 4, Task.CLOSED_QA: 12, Task.EXTRACT: 24, Task.SUMMARISE: 48, Task.CODE: 64}[task]


def recognise(request: ChatRequest, model: TaskModel) -> Recognition:
    """What a request asks for, in which language, and whether it is closed; never an error."""
    schema = request.json_schema
    reading = model.classify(prompt_text(request.messages, schema))
    if settled := _structural(request):
        task, sign = settled
        return _open(replace(reading, task=task, probability=1.0), sign)
    if not reading.closed:
        return _open(reading, f"it reads like {reading.task} ({reading.probability:.2f})")
    asked = read_instruction(request.messages, tasks=signs.TASKS, orders=signs.ORDERS, brief=schema is not None)
    if objection := _objection(request, reading.task, asked):
        return _open(reading, objection)
    return Recognition(
        task=reading.task,
        language=reading.language,
        closed=True,
        probability=reading.probability,
        expected_output_tokens=_expected_output_tokens(request, reading.task, asked),
        sign=f"its answer is in it ({reading.probability:.2f})",
    )


def _open(reading: Reading, sign: str) -> Recognition:
    return Recognition(
        task=reading.task,
        language=reading.language,
        closed=False,
        probability=reading.probability,
        expected_output_tokens=_OPEN_OUTPUT_TOKENS,
        sign=sign,
    )
