"""The policy: what is kept, by which promise, and the reason for everything else."""

from math import log, nextafter
from typing import Any

import pytest

from tests.triage.requests import said
from teto.traffic.task import Task
from teto.triage.form import Answer
from teto.triage.policy import Case, Decision, Verdict, decide
from teto.wire.generation import Piece

MOOD: dict[str, Any] = {
    "type": "object",
    "properties": {"mood": {"type": "string", "enum": ["good", "bad"]}},
    "required": ["mood"],
    "additionalProperties": False,
}


def judge(
    pieces: list[Piece],
    *,
    task: Task = Task.CLASSIFY,
    finish_reason: str | None = "stop",
    schema: dict[str, Any] | None = None,
    labels: tuple[str, ...] | None = None,
    min_confidence: float = 0.85,
) -> Decision:
    """The decision of the conservative policy about an answer to an admitted request."""
    case = Case(
        task=task,
        language="en",
        answer=Answer(pieces=pieces, finish_reason=finish_reason),
        schema=schema,
        labels=labels,
        empty=None,
        rule=None,
        request_text="",
        given="",
    )
    return decide(case, min_confidence=min_confidence)


def outcome(decision: Decision) -> tuple[str, str]:
    """Its verdict and the code of its one reason."""
    (reason,) = decision.reasons
    return decision.verdict, reason.code


def test_a_sure_label_is_kept() -> None:
    """A label of one word, surely said, is kept with the figures behind it."""
    decision = judge(said("positive", logprob=log(0.9)))
    assert outcome(decision) == ("keep", "confident")
    (reason,) = decision.reasons
    assert reason.text == "Confidence 0.900, that of its weakest token (uncalibrated threshold 0.85)."
    assert reason.figures == pytest.approx({"confidence": 0.9, "threshold": 0.85, "mean_probability": 0.9})
    assert decision.threshold == 0.85
    assert decision.promise is None


def test_an_unsure_label_is_not() -> None:
    """Below the threshold the answer goes up, and the confidence is kept for the record."""
    decision = judge(said("positive", logprob=log(0.8)))
    assert outcome(decision) == ("escalate", "unsure")
    assert decision.confidence == pytest.approx(0.8)


def test_the_threshold_itself_is_enough() -> None:
    """An answer exactly as sure as the threshold is kept; a threshold one step higher is not met."""
    pieces = said("very", " good", logprob=log(0.7))
    score = judge(pieces).confidence
    assert score == pytest.approx(0.7)
    assert judge(pieces, min_confidence=score or 0).verdict is Verdict.KEEP
    assert judge(pieces, min_confidence=nextafter(score or 0, 1)).verdict is Verdict.ESCALATE
    assert judge(said("yes", logprob=0), min_confidence=1).verdict is Verdict.KEEP


@pytest.mark.parametrize("task", [Task.CLASSIFY, Task.EXTRACT, Task.REWRITE, Task.CLOSED_QA])
@pytest.mark.parametrize("texts", [(), ("",), (" ", "\n"), ("...",)], ids=["none", "empty", "space", "dots"])
def test_an_empty_answer_is_no_answer(task: Task, texts: tuple[str, ...]) -> None:
    """An answer without a word goes up, however sure."""
    assert outcome(judge(said(*texts), task=task)) == ("escalate", "empty")


def test_a_truncated_answer_goes_up() -> None:
    """An answer that reached its token limit is not whole."""
    assert outcome(judge(said("positive"), finish_reason="length")) == ("escalate", "truncated")


def test_an_answer_may_go_on_behind_the_hold_back() -> None:
    """Free text that has more to say is judged by its begin."""
    assert outcome(judge(said("A", " long", " text"), task=Task.REWRITE, finish_reason=None)) == ("keep", "confident")


def test_a_structured_answer_must_have_ended() -> None:
    """Half a JSON answer cannot be checked."""
    pieces = said('{"mood": "', "good", '"')
    assert outcome(judge(pieces, schema=MOOD, finish_reason=None)) == ("escalate", "unfinished")


def test_a_sure_structured_answer_is_kept() -> None:
    """An answer in its schema is kept by the confidence of its values alone."""
    pieces = [*said('{"mood": "', logprob=-9), *said("good", logprob=log(0.9)), *said('"}', logprob=-9)]
    decision = judge(pieces, task=Task.EXTRACT, schema=MOOD)
    assert outcome(decision) == ("keep", "confident")
    assert decision.confidence == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("text", "schema", "fault"),
    [
        ('{"mood": good}', MOOD, "The answer is not JSON."),
        ('```json\n{"mood": "good"}\n```', MOOD, "The answer is not JSON."),
        ('{"mood": "fine"}', MOOD, "The answer breaks the schema at $.mood."),
        ('{"mood": "good", "x": 1}', MOOD, "The answer breaks the schema at $."),
        ("[" * 9999 + "]" * 9999 + "a", MOOD, "The answer is not JSON."),
        ('{"mood": "good"}', {"type": "text"}, "The schema cannot be checked: UnknownType."),
        ('{"mood": "good"}', {"properties": 5}, "The schema cannot be checked: AttributeError."),
        ('{"mood": "good"}', {"required": 5}, "The schema cannot be checked: TypeError."),
    ],
)
def test_a_broken_form_goes_up(text: str, schema: dict[str, Any], fault: str) -> None:
    """What is no JSON, breaks the schema, or has a schema that is none is told and never kept."""
    decision = judge(said(text), task=Task.EXTRACT, schema=schema)
    assert outcome(decision) == ("escalate", "schema_broken")
    assert decision.reasons[0].text == fault


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/schema", "file:///etc/hostname"])
def test_a_reference_is_never_fetched(address: str) -> None:
    """A schema that refers to another document cannot be checked, and nothing is opened for it."""
    decision = judge(said('{"mood": "good"}'), task=Task.EXTRACT, schema={"$ref": address})
    assert decision.reasons[0].text.startswith("The schema cannot be checked: ")
    assert decision.verdict is Verdict.ESCALATE


@pytest.mark.parametrize(("n_words", "expected"), [(6, "confident"), (7, "not_a_label")])
def test_a_label_is_short(n_words: int, expected: str) -> None:
    """A label has six words at most."""
    assert outcome(judge(said(*["very "] * n_words)))[1] == expected


YES_NO = ("yes", "no")
SIM_NAO = ("sim", "nao")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Yes", YES_NO),
        ("no.", YES_NO),
        ("Sim, foi cancelada.", SIM_NAO),
        ("NÃO", SIM_NAO),
        ("não", SIM_NAO),
        ("nao!", SIM_NAO),
        ("**Yes**", YES_NO),
        ("Yes, it is open until nine.", YES_NO),
    ],
)
def test_one_of_the_closed_set(text: str, labels: tuple[str, ...]) -> None:
    """An answer that begins with one of the set is one, in any case and with what follows."""
    assert outcome(judge(said(text), task=Task.CLOSED_QA, labels=labels)) == ("keep", "confident")


@pytest.mark.parametrize("text", ["It is closed.", "Maybe", "True", "Nope", "simples"])
def test_anything_else_is_none_of_it(text: str) -> None:
    """An answer to a yes-or-no question that begins otherwise goes up."""
    assert outcome(judge(said(text), task=Task.CLOSED_QA, labels=YES_NO)) == ("escalate", "not_a_label")


def test_a_question_without_a_closed_set_may_be_answered_in_words() -> None:
    """Where no set is known, a span is a good answer."""
    assert outcome(judge(said("Maria Souza"), task=Task.CLOSED_QA)) == ("keep", "confident")


def test_no_logprobs_are_no_confidence() -> None:
    """An engine that gives no logprobs is never trusted."""
    decision = judge([Piece(text="positive")])
    assert outcome(decision) == ("escalate", "confidence_unknown")
    assert decision.confidence is None


def test_form_comes_before_confidence() -> None:
    """A surely said answer of the wrong form goes up for its form."""
    decision = judge(said("The", " store", " is", " open"), task=Task.CLOSED_QA, labels=YES_NO)
    assert outcome(decision) == ("escalate", "not_a_label")
    assert decision.confidence is None
