"""Admission: every obstacle has its code, and size and delay are judged by figures that can be checked."""

from dataclasses import replace
from typing import Any, Final

import pytest

from tests.triage.requests import ask, ask_all, schema_format
from teto.traffic.language import Language
from teto.traffic.task import Task
from teto.triage.admission import Admission, Delay, LocalFacts, admit
from teto.triage.recognise import Recognition
from teto.wire.chat import ChatRequest

CLASSIFY: Final = Recognition(
    task=Task.CLASSIFY,
    language=Language.EN,
    closed=True,
    probability=0.9,
    expected_output_tokens=4,
    sign="its answer is in it (0.90)",
)
IDLE: Final = LocalFacts(
    capabilities=frozenset({"logprobs", "schema"}),
    context_tokens=4096,
    prompt_tokens=100,
    cached_tokens=0,
    prompt_count_exact=True,
    expected_wait_s=0,
    active=0,
    prefill_tokens_per_s=100,
    decode_tokens_per_s=16,
)


def judge(
    request: ChatRequest | None = None,
    *,
    recognition: Recognition = CLASSIFY,
    facts: LocalFacts = IDLE,
    limit_s: float = 2,
    hold_back_tokens: int = 96,
) -> Admission:
    """The admission of a request, by default of one that has nothing against it."""
    return admit(
        request if request is not None else ask("Sentiment: it broke"),
        recognition,
        facts,
        added_delay_limit_s=limit_s,
        hold_back_limit_tokens=hold_back_tokens,
    )


def codes(admission: Admission) -> list[str]:
    """The codes of its reasons, in order."""
    return [reason.code for reason in admission.reasons]


def test_a_closed_task_with_nothing_against_it() -> None:
    """What fits, is closed and soon done is admissible, and says so."""
    admission = judge()
    assert (admission.able, admission.closed, admission.in_time, admission.admissible) == (True, True, True, True)
    assert codes(admission) == ["task_closed", "in_time"]
    assert admission.reasons[0].text == "Task classify (its answer is in it (0.90))."


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("task", list(Task))
def test_only_closed_requests_are_admissible(task: Task, *, closed: bool) -> None:
    """Whatever the task, what is not closed is able at most."""
    admission = judge(recognition=replace(CLASSIFY, task=task, closed=closed))
    assert admission.able
    assert admission.admissible is closed
    assert codes(admission)[0] == ("task_closed" if closed else "task_open")


IMAGE: Final = {"type": "image_url", "image_url": {"url": "data:,"}}


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (ask("Hi", tools=[{"type": "function"}]), "tools"),
        (ask("Hi", functions=[{"name": "f"}]), "tools"),
        (ask_all([{"role": "user", "content": [IMAGE]}]), "media"),
        (ask("Hi", n=2), "several_answers"),
        (ask("Hi", modalities=["text", "audio"]), "modalities"),
        (ask("Hi", response_format={"type": "grammar"}), "format"),
        (ask("Hi", response_format={"type": "json_schema"}), "format"),
        (ask("Hi", response_format=schema_format({"$ref": "#/x"})), "schema"),
    ],
    ids=["tools", "functions", "media", "several", "modalities", "unknown-format", "no-schema", "schema"],
)
def test_what_the_engine_cannot_do(request_: ChatRequest, code: str) -> None:
    """Each obstacle makes the engine unable and leaves its code."""
    admission = judge(request_)
    assert not admission.able
    assert not admission.admissible
    assert codes(admission) == ["task_closed", code, "in_time"]


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 1, "tools": [], "modalities": ["text"]},
        {"response_format": {"type": "text"}},
        {"response_format": {"type": "json_object"}},
        {"response_format": schema_format({"type": "string", "enum": ["a", "b"]})},
    ],
    ids=["plain", "text", "json-object", "schema"],
)
def test_what_the_engine_can_do(fields: dict[str, Any]) -> None:
    """One text answer, free or in a plain schema, is within an engine's reach."""
    assert judge(ask("Hi", **fields)).able


def test_an_engine_without_schemas_is_not_offered_one() -> None:
    """A structured answer needs the engine's schema capability."""
    facts = replace(IDLE, capabilities=frozenset({"logprobs"}))
    assert "format" in codes(judge(ask("Hi", response_format={"type": "json_object"}), facts=facts))
    assert judge(ask("Hi", response_format={"type": "text"}), facts=facts).able


STRING: Final = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "key"),
    [
        ({"type": "string", "pattern": "^a"}, "'pattern'"),
        ({"anyOf": [STRING]}, "'anyOf'"),
        ({"type": ["string", "null"]}, "'type'"),
        ({"type": "object", "properties": {"a": {"$ref": "#/x"}}}, "'$ref'"),
        ({"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}}, "'minimum'"),
        ({"type": "array", "items": {"type": "string", "maxLength": 5}}, "'maxLength'"),
        ({"type": "array", "items": {"type": "array", "items": {"oneOf": [STRING]}}}, "'oneOf'"),
        ({"type": "array", "items": [STRING]}, "a schema that is not an object"),
        ({"type": "object", "additionalProperties": {"format": "date"}}, "'format'"),
        ({"type": "object", "properties": {"a": 5}}, "a schema that is not an object"),
    ],
)
def test_what_a_grammar_may_not_carry(schema: dict[str, Any], key: str) -> None:
    """A key that engines widen in silence keeps the request away, however deep it stands, and is named."""
    admission = judge(ask("Hi", response_format=schema_format(schema)))
    assert not admission.able
    assert admission.reasons[1].text == f"The schema uses {key}, which a grammar may not carry exactly."


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"pattern": STRING, "type": STRING}, "required": ["type"]},
        {"type": "object", "properties": {"a": True}, "additionalProperties": False},
        {"type": "object", "additionalProperties": True},
        {"type": "array", "title": "t", "description": "d", "items": {"enum": ["$ref", 1, None]}},
        {"const": {"anyOf": 1}},
    ],
)
def test_what_a_grammar_carries(schema: dict[str, Any]) -> None:
    """Plain keys pass, and so do properties and values that are only called like other keys."""
    assert judge(ask("Hi", response_format=schema_format(schema))).able


@pytest.mark.parametrize(("prompt_tokens", "fits"), [(4092, True), (4093, False)])
def test_prompt_and_answer_must_fit(prompt_tokens: int, *, fits: bool) -> None:
    """A prompt of 4,092 tokens and an answer of 4 fill a context of 4,096; one more is too many."""
    admission = judge(facts=replace(IDLE, prompt_tokens=prompt_tokens))
    assert admission.able is fits
    assert ("context" in codes(admission)) is not fits


def test_the_context_reason_has_the_numbers() -> None:
    """What does not fit is told in numbers, and whether they were counted or estimated."""
    facts = replace(IDLE, prompt_tokens=5000, prompt_count_exact=False)
    reason = judge(facts=facts).reasons[1]
    assert reason.text == (
        "The prompt has 5000 tokens (estimated) and the answer needs 4: the local context holds 4096."
    )
    assert reason.figures == {"prompt_tokens": 5000, "output_tokens": 4, "context_tokens": 4096}
    counted = judge(facts=replace(facts, prompt_count_exact=True)).reasons[1]
    assert "(estimated)" not in counted.text


def test_the_clients_limit_shortens_the_answer() -> None:
    """An answer that the client limits to 2 tokens needs no room for 4."""
    facts = replace(IDLE, prompt_tokens=4094)
    assert judge(ask("Hi", max_tokens=2), facts=facts).able
    assert not judge(ask("Hi", max_tokens=50), facts=facts).able


def test_the_delay_by_hand() -> None:
    """Waiting, prefill of what is not cached, and the tokens held back; a stream beside it doubles the last two."""
    facts = replace(IDLE, prompt_tokens=500, cached_tokens=100, expected_wait_s=0.5, active=1)
    admission = judge(facts=facts, limit_s=9)
    # Two streams share: 2 · (500 - 100) / 100 = 8 s, 2 · 4 / 16 = 0.5 s; 0.5 + 8 + 0.5 = 9.
    assert admission.delay == Delay(wait_s=0.5, prefill_s=8, hold_back_s=0.5, answer_s=0.5)
    assert admission.delay.total_s == 9
    assert admission.delay.finish_s == 9  # the answer has no more tokens than are held back
    assert admission.in_time
    reason = admission.reasons[-1]
    assert (reason.code, reason.text) == (
        "in_time",
        "Predicted delay 9.00 s (wait 0.50, prefill 8.00, hold-back 0.50), limit 9 s.",
    )
    assert reason.figures == {"predicted_s": 9, "wait_s": 0.5, "prefill_s": 8, "hold_back_s": 0.5, "limit_s": 9}


def test_too_slow_is_not_inadmissible() -> None:
    """Above the limit the call goes up while a cloud is there; without one the limit is moot."""
    facts = replace(IDLE, prompt_tokens=500, cached_tokens=100, expected_wait_s=0.5, active=1)
    admission = judge(facts=facts, limit_s=8.99)
    assert codes(admission)[-1] == "too_slow"
    assert not admission.in_time
    assert admission.admissible


@pytest.mark.parametrize(
    ("expected_tokens", "hold_back_tokens", "max_tokens", "held_tokens"),
    [(4, 96, None, 4), (256, 96, None, 96), (256, 96, 8, 8), (4, 2, 8, 2)],
)
def test_the_least_of_three_is_held_back(
    expected_tokens: int, hold_back_tokens: int, max_tokens: int | None, held_tokens: int
) -> None:
    """Held back is what the answer needs, at most what the settings hold back or the client wants."""
    admission = judge(
        ask("Hi", max_tokens=max_tokens),
        recognition=replace(CLASSIFY, expected_output_tokens=expected_tokens),
        hold_back_tokens=hold_back_tokens,
    )
    assert admission.delay is not None
    assert admission.delay.hold_back_s == held_tokens / 16


@pytest.mark.parametrize(
    "facts",
    [replace(IDLE, prefill_tokens_per_s=None), replace(IDLE, decode_tokens_per_s=None)],
    ids=["prefill", "decode"],
)
def test_an_unknown_speed_promises_nothing(facts: LocalFacts) -> None:
    """Without a measured speed no delay is predicted, and none is promised."""
    admission = judge(facts=facts)
    assert admission.delay is None
    assert not admission.in_time
    assert admission.admissible
    assert codes(admission)[-1] == "delay_unknown"


def test_every_test_leaves_its_reason() -> None:
    """A request with several things against it gets all of them."""
    facts = replace(IDLE, prompt_tokens=9000)
    admission = judge(ask("Hi", n=2), recognition=replace(CLASSIFY, closed=False), facts=facts)
    assert codes(admission) == ["task_open", "several_answers", "context", "too_slow"]


@pytest.mark.parametrize(
    ("request_", "closed", "prompt_tokens", "code"),
    [
        (ask("Hi", n=2), False, 9000, "several_answers"),
        (ask("Hi"), False, 9000, "context"),
        (ask("Hi"), False, 3000, "task_open"),
        (ask("Hi"), True, 3000, "too_slow"),
        (ask("Hi"), True, 100, None),
    ],
)
def test_the_gravest_objection(request_: ChatRequest, prompt_tokens: int, code: str | None, *, closed: bool) -> None:
    """What the engine cannot do stands before an open task, and that before a long wait."""
    admission = judge(
        request_,
        recognition=replace(CLASSIFY, closed=closed),
        facts=replace(IDLE, prompt_tokens=prompt_tokens),
    )
    assert (None if admission.objection is None else admission.objection.code) == code
