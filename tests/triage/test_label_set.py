"""The closed set of answers that a request allows, in the ways in which people write it."""

from typing import Any

import pytest

from tests.triage.requests import ask, schema_format
from teto.traffic.task import Task
from teto.triage.empty_input import closed_labels, emptied

MOOD = ("positive", "negative", "neutral")


@pytest.mark.parametrize(
    ("user", "labels"),
    [
        ("Classify the sentiment as positive, negative or neutral.\n\nText: the tea was cold again", MOOD),
        ("Labels: [positive | negative | neutral]\n\nText: the tea was cold again", MOOD),
        ("Sentiment (positive / negative / neutral)?\n\nText: the tea was cold again", MOOD),
        ("Choose one of: positive, negative, neutral.\n\n```\nthe tea was cold again\n```", MOOD),
        ("It must be one of positive, negative, neutral.\n\nText: the tea was cold again", MOOD),
        ("Pick a label.\n- positive\n- negative\n- neutral\n\nText: the tea was cold again", MOOD),
        ("Is it open? Answer yes or no.\n\nText: we are open from nine to five", ("yes", "no")),
        ("A loja abre hoje? Responda sim ou não.\n\nTexto: hoje não abrimos", ("sim", "nao")),
        ("Classifique como urgente ou normal:\n\nTexto: o servidor caiu", ("urgente", "normal")),
        ("Escolha uma das opções: Crédito, Débito.\n\nTexto: paguei no cartão", ("credito", "debito")),
    ],
)
def test_the_words_of_the_instruction_list_it(user: str, labels: tuple[str, ...]) -> None:
    """Lists after a cue, in brackets, by bullets and with or are read, folded and in their order."""
    assert closed_labels(ask(user), Task.CLASSIFY) == labels


def form(**field: Any) -> dict[str, Any]:
    """A response format with one field."""
    return schema_format({"type": "object", "properties": {"x": field}, "required": ["x"]})


def test_a_schema_lists_it() -> None:
    """One property with an enumeration is a closed set, so is a boolean; two properties are none."""
    asked = "Classify this message.\n\nText: where is my parcel"
    enumeration = form(type="string", enum=["Shipping", "Billing"])
    assert closed_labels(ask(asked, response_format=enumeration), Task.CLASSIFY) == ("shipping", "billing")
    assert closed_labels(ask(asked, response_format=form(type="boolean")), Task.CLOSED_QA) == ("true", "false")
    assert closed_labels(ask(asked, response_format=form(type="string")), Task.CLASSIFY) is None


@pytest.mark.parametrize(
    "user", ["Rewrite in the past tense: 'I go home'", "Who won the match?\n\nText: Ana beat Bia by two sets."]
)
def test_no_list_is_no_set(user: str) -> None:
    """A request without a list has no closed set."""
    assert closed_labels(ask(user), Task.CLASSIFY) is None


def test_a_question_has_a_set_only_by_yes_and_no() -> None:
    """Other lists in a question about a text are part of it, and other tasks have no set at all."""
    question = "Tea, coffee or milk: which one was cold?\n\nText: the tea was cold again"
    assert closed_labels(ask(question), Task.CLOSED_QA) is None
    assert closed_labels(ask("Is it cold? Yes or no.\n\nText: cold tea again"), Task.CLOSED_QA) == ("yes", "no")
    assert closed_labels(ask("Is it cold? Yes or no.\n\nText: cold tea again"), Task.REWRITE) is None


def test_the_given_text_is_taken_out() -> None:
    """What remains is the instruction, at temperature 0, with its form."""
    request = ask("Positive or negative?\n\nText: the tea was cold again", temperature=0.9)
    without = emptied(request)
    assert without is not None
    assert without.messages[0].text == "Positive or negative?\n\nText: "
    assert without.fields.temperature is None


def test_a_request_without_given_text_has_no_empty_one() -> None:
    """Where nothing was given, nothing can be taken out."""
    assert emptied(ask("Hello!")) is None
