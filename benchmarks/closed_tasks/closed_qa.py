"""Closed questions: yes or no, or a short span, about a text that holds the answer."""

from collections.abc import Iterator
from dataclasses import dataclass

from closed_tasks.draw import Draw
from closed_tasks.item import Difficulty, Draft, Language, json_schema
from closed_tasks.passages import passages
from closed_tasks.qa_generated import GENERATORS
from closed_tasks.words import DIFFICULTIES, frames, rows

__all__ = ["Question", "closed_qa"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answer: `yes` or `no`, or the accepted spans and those that are wrong."""

    text: str
    asked: str
    difficulty: Difficulty
    yes_no: str = ""
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()


_GENERATED = 24
_YES_NO = {"en": {"yes": "yes", "no": "no"}, "pt": {"yes": "sim", "no": "não"}}


def _lowered(question: str) -> str:
    """The question inside a sentence; names at its start are never lowered, since it starts with a verb or pronoun."""
    return question[0].lower() + question[1:]


def _draft(source: str, language: Language, at: int, question: Question) -> Draft:
    kind = "yes_no" if question.yes_no else "span"
    phrasings = [frame for frame in frames(language, "qa_frames") if frame.mark.startswith(kind)]
    order = Draw("closed_qa", language, source, "order").shuffled(range(len(phrasings)))
    frame = phrasings[order[at % len(order)]]
    messages = frame.messages(text=question.text, question=question.asked, question_low=_lowered(question.asked))
    if kind == "span":
        return Draft(
            source=source,
            difficulty=question.difficulty,
            messages=messages,
            check={"kind": "span", "accept": list(question.accept), "reject": list(question.reject)},
            answer=question.accept[0],
        )
    said = _YES_NO[language]
    if frame.mark.endswith("json"):
        field = "resposta" if language == "pt" else "answer"
        is_yes = question.yes_no == "yes"
        return Draft(
            source=source,
            difficulty=question.difficulty,
            messages=messages,
            response_format=json_schema("answer", {field: {"type": "boolean"}}),
            check={"kind": "json_fields", "expected": {field: [is_yes]}},
            answer=f'{{"{field}": {str(is_yes).lower()}}}',
        )
    return Draft(
        source=source,
        difficulty=question.difficulty,
        messages=messages,
        labels=list(said.values()),
        check={"kind": "yes_no", "expected": question.yes_no},
        answer=said[question.yes_no],
    )


def _of_passages(language: Language) -> Iterator[tuple[str, Question]]:
    for passage in passages(language):
        for yes_no, asked in passage.yes_no:
            yield "passages-yes-no", Question(passage.text, asked, passage.difficulty, yes_no=yes_no)
        for asked, accept, reject in passage.spans:
            yield "passages-span", Question(passage.text, asked, passage.difficulty, accept=accept, reject=reject)


def _rules(language: Language) -> Iterator[tuple[str, Question]]:
    for said, hint, text, asked in rows(language, "qa_regras" if language == "pt" else "qa_rules", cells=4):
        yes_no = "yes" if said in {"yes", "sim"} else "no"
        yield "rules", Question(text, asked, DIFFICULTIES[hint], yes_no=yes_no)


def _generated(language: Language) -> Iterator[tuple[str, Question]]:
    for source, make in GENERATORS.items():
        for at in range(_GENERATED):
            made = make(Draw("closed_qa", language, source, at), language)
            yield (
                source,
                Question(made.text, made.asked, made.difficulty, made.yes_no, made.accept, made.reject),
            )


def closed_qa(language: Language) -> Iterator[Draft]:
    """Every closed question of a language."""
    count: dict[str, int] = {}
    for questions in (_of_passages(language), _rules(language), _generated(language)):
        for source, question in questions:
            at = count.get(source, 0)
            count[source] = at + 1
            yield _draft(source, language, at, question)
