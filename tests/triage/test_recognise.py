"""The recogniser on the prompts it was developed on, and on what no words can make closed."""

from typing import Any

import pytest

from tests.triage.development_prompts import CLOSED, OPEN
from tests.triage.requests import ask, ask_all, schema_format
from teto.traffic.task import CLOSED_TASKS, Task
from teto.triage.recognise import recognise

SPAM = "Is this message spam or not spam? Answer with one word.\n\nYou won a cruise, send your card number"


@pytest.mark.parametrize(("task", "system", "user"), CLOSED)
def test_closed_prompts_are_recognised(task: str, system: str, user: str) -> None:
    """A prompt whose answer is in it gets its task, and the sign that decided."""
    found = recognise(ask(user, system=system))
    assert found.task == task
    assert found.sign


@pytest.mark.parametrize(("system", "user"), OPEN)
def test_open_prompts_are_never_closed(system: str, user: str) -> None:
    """A prompt that asks for knowledge, judgement or invention gets no closed task."""
    assert recognise(ask(user, system=system)).task not in CLOSED_TASKS


@pytest.mark.parametrize("user", [user for _, system, user in CLOSED if not system])
@pytest.mark.parametrize("more", ["Explain why.", "Explique por quê."])
def test_one_open_sign_outweighs(user: str, more: str) -> None:
    """A closed prompt that also asks for an explanation is not closed."""
    assert recognise(ask(f"{more} {user}")).task is Task.UNKNOWN


def test_accents_and_capitals_make_no_difference() -> None:
    """A Portuguese prompt is recognised with and without its accents, in any case."""
    accented = 'Qual é a língua deste texto? "Buenos días, ¿cómo está usted?"'
    for user in (accented, accented.replace("é", "e").replace("í", "i"), accented.upper()):
        assert recognise(ask(user)).task is Task.CLASSIFY


def test_tools_make_an_agents_call() -> None:
    """A request that brings tools is an agent's, whatever it says."""
    assert recognise(ask(SPAM, tools=[{"type": "function"}])).task is Task.AGENT
    assert recognise(ask(SPAM, functions=[{"name": "f"}])).task is Task.AGENT
    assert recognise(ask(SPAM, tools=[], functions=[])).task is Task.CLASSIFY


def test_media_is_a_task_of_its_own() -> None:
    """A message with an image is no closed task."""
    parts = [{"type": "text", "text": SPAM}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    assert recognise(ask_all([{"role": "user", "content": parts}])).task is Task.EMBED_OR_MEDIA


def test_text_in_parts_is_text() -> None:
    """A message in text parts is recognised like its text."""
    assert recognise(ask_all([{"role": "user", "content": [{"type": "text", "text": SPAM}]}])).task is Task.CLASSIFY


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": SPAM}, {"role": "user", "content": "Well?"}],
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi!"}, {"role": "user", "content": SPAM}],
        [{"role": "user", "content": SPAM}, {"role": "tool", "content": "5"}],
        [{"role": "system", "content": SPAM}],
    ],
    ids=["two-users", "conversation", "tool", "no-user"],
)
def test_several_turns_are_a_chat(messages: list[dict[str, Any]]) -> None:
    """Only one turn of a user, alone or behind a system or developer message, can be a closed task."""
    assert recognise(ask_all(messages)).task is Task.CHAT


@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_instruction_may_be_the_systems(role: str) -> None:
    """An instruction in the system or developer message works on the user's whole message."""
    messages = [{"role": role, "content": "Label the message as spam or ham."}, {"role": "user", "content": "You won!"}]
    assert recognise(ask_all(messages)).task is Task.CLASSIFY


@pytest.mark.parametrize(("n_words", "task"), [(400, Task.CLASSIFY), (401, Task.UNKNOWN)])
def test_a_long_text_is_no_short_call(n_words: int, task: Task) -> None:
    """Above 400 words of given text nothing is recognised."""
    text = " ".join(["nice"] * n_words)
    assert recognise(ask(f"Classify the sentiment as positive or negative.\n\n{text}")).task is task


def test_a_schema_over_a_text_is_an_extraction() -> None:
    """A schema and a given text are an extraction, whose answer is expected to be longer with more fields."""
    expected = []
    for names in (["order"], ["order", "name", "date"]):
        schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
        found = recognise(ask("Order: Ana bought lamp 88231 on Monday", response_format=schema_format(schema)))
        assert found.task is Task.EXTRACT
        expected.append(found.expected_output_tokens)
    assert expected[0] < expected[1]


def test_a_schema_without_a_text_is_unknown() -> None:
    """A schema alone says nothing of where the answer is."""
    schema = schema_format({"type": "object", "properties": {"capital": {"type": "string"}}})
    assert recognise(ask("Capital of Australia", response_format=schema)).task is Task.UNKNOWN


@pytest.mark.parametrize(
    "user",
    ["Classify as positive or negative.", "Answer yes or no, based on the text.", "", "Rewrite."],
)
def test_an_instruction_without_a_text_is_unknown(user: str) -> None:
    """Without a text to work on there is nothing that could hold the answer."""
    assert recognise(ask(user)).task is Task.UNKNOWN
