"""The recogniser with the shipped model, on prompts that it was never shown, and on what no words can make closed."""

from typing import Any

import pytest

from tests.triage.development_prompts import CLOSED, OPEN
from tests.triage.requests import ask, ask_all, schema_format
from teto.catalog.task_model import shipped_task_model
from teto.traffic.language import Language
from teto.traffic.task import Task
from teto.triage.recognise import Recognition, recognise
from teto.wire.chat import ChatRequest

SPAM = "Is this message spam or not spam? Answer with one word.\n\nYou won a cruise, send your card number"
# Closed prompts whose task the model misses: it sends them up, or gives them another closed task.
MISSED = 4


def read(request: ChatRequest) -> Recognition:
    """What the shipped model makes of a request."""
    return recognise(request, shipped_task_model())


def test_closed_prompts_are_recognised() -> None:
    """Nine in ten prompts whose answer is in them get their task, and say what decided."""
    found = [(task, read(ask(user, system=system))) for task, system, user in CLOSED]
    missed = [recognition for task, recognition in found if not recognition.closed or recognition.task != task]
    assert len(missed) <= MISSED
    assert all(recognition.sign and 0 < recognition.probability <= 1 for _, recognition in found)


@pytest.mark.parametrize(("system", "user"), OPEN)
def test_open_prompts_are_never_closed(system: str, user: str) -> None:
    """A prompt that asks for knowledge, judgement or invention is not closed."""
    assert not read(ask(user, system=system)).closed


@pytest.mark.parametrize("user", [user for _, system, user in CLOSED if not system])
@pytest.mark.parametrize("more", ["Explain why.", "Explique por quê."])
def test_one_open_sign_outweighs(user: str, more: str) -> None:
    """A closed prompt that also asks for an explanation is not closed."""
    assert not read(ask(f"{more} {user}")).closed


@pytest.mark.parametrize(
    "user",
    [
        'Classify the symptoms as mild or severe: "a stiff neck since yesterday"',
        'Is the following statement true? "Penguins live at the North Pole." Answer yes or no.',
        "Which planet is the largest? Answer with the letter.\na) Mars\nb) Venus\nc) Jupiter\nd) Saturn",
        'Cláusula abusiva ou válida segundo a LGPD? "Podemos vender seus dados."',
    ],
    ids=["expert", "world", "exam", "law"],
)
def test_what_looks_closed_and_is_not(user: str) -> None:
    """An expert's judgement, knowledge of the world and an examination are not closed, however short the answer."""
    assert not read(ask(user)).closed


@pytest.mark.parametrize(
    ("user", "language"),
    [
        ("Summarise the text below in one sentence.\n\nLa réunion a été déplacée à jeudi.", Language.EN),
        ("Resuma o texto abaixo em uma frase.\n\nThe meeting was moved to Thursday at ten.", Language.PT),
        ("Escribe un poema sobre el otoño y la lluvia para mi abuela.", Language.OTHER),
        ("7", Language.UNKNOWN),
    ],
    ids=["english", "portuguese", "spanish", "nothing"],
)
def test_the_language_is_the_instructions(user: str, language: Language) -> None:
    """The language is that of what is asked, not of the text it is about; too little text has none."""
    assert read(ask(user)).language is language


def test_accents_and_capitals_make_no_difference() -> None:
    """A Portuguese prompt is read alike with and without its accents, composed or not, in any case."""
    accented = 'Qual é a língua deste texto? "Buenos días, ¿cómo está usted?"'
    plain = accented.replace("é", "e").replace("í", "i").replace("ó", "o").replace("á", "a")
    decomposed = (
        accented.replace("é", "e\u0301").replace("í", "i\u0301").replace("ó", "o\u0301").replace("á", "a\u0301")
    )
    first = read(ask(accented))
    assert (first.task, first.closed, first.language) == (Task.CLASSIFY, True, Language.PT)
    for user in (plain, decomposed, accented.upper()):
        assert read(ask(user)) == first


def test_tools_make_an_agents_call() -> None:
    """A request that brings tools is an agent's, whatever it says."""
    both: tuple[dict[str, Any], ...] = ({"tools": [{"type": "function"}]}, {"functions": [{"name": "f"}]})
    for fields in both:
        found = read(ask(SPAM, **fields))
        assert (found.task, found.closed, found.probability) == (Task.AGENT, False, 1.0)
    assert read(ask(SPAM, tools=[], functions=[])).task is Task.CLASSIFY


def test_media_is_a_task_of_its_own() -> None:
    """A message with an image is not closed."""
    parts = [{"type": "text", "text": SPAM}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    found = read(ask_all([{"role": "user", "content": parts}]))
    assert (found.task, found.closed) == (Task.EMBED_OR_MEDIA, False)


def test_text_in_parts_is_text() -> None:
    """A message in text parts is read like its text."""
    assert read(ask_all([{"role": "user", "content": [{"type": "text", "text": SPAM}]}])) == read(ask(SPAM))


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
    """Only one turn of a user, alone or behind a system or developer message, can be closed."""
    found = read(ask_all(messages))
    assert (found.task, found.closed) == (Task.CHAT, False)


@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_instruction_may_be_the_systems(role: str) -> None:
    """An instruction in the system or developer message works on the user's whole message."""
    messages = [{"role": role, "content": "Label the message as spam or ham."}, {"role": "user", "content": "You won!"}]
    found = read(ask_all(messages))
    assert (found.task, found.closed) == (Task.CLASSIFY, True)


@pytest.mark.parametrize(("n_words", "closed"), [(400, True), (401, False)])
def test_a_long_text_is_no_short_call(n_words: int, *, closed: bool) -> None:
    """Above 400 words of given text nothing is closed."""
    text = " ".join(["nice"] * n_words)
    found = read(ask(f"Classify the sentiment of this review as positive or negative.\n\n{text}"))
    assert (found.task, found.closed) == (Task.CLASSIFY, closed)


def test_a_schema_over_a_text_is_an_extraction() -> None:
    """A schema and a given text are an extraction, whose answer is expected to be longer with more fields."""
    expected = []
    for names in (["order"], ["order", "name", "date"]):
        schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
        order = "Fill in the fields from the order.\n\nOrder: Ana bought lamp 88231 on Monday"
        found = read(ask(order, response_format=schema_format(schema)))
        assert (found.task, found.closed) == (Task.EXTRACT, True)
        expected.append(found.expected_output_tokens)
    assert expected == [11, 27]


def test_a_schema_without_a_text_is_open() -> None:
    """A schema alone says nothing of where the answer is."""
    schema = schema_format({"type": "object", "properties": {"capital": {"type": "string"}}})
    assert not read(ask("Capital of Australia", response_format=schema)).closed


@pytest.mark.parametrize(
    "user",
    ["Classify as positive or negative.", "Answer yes or no, based on the text.", "", "Rewrite."],
)
def test_an_instruction_without_a_text_is_open(user: str) -> None:
    """Without a text to work on there is nothing that could hold the answer."""
    assert not read(ask(user)).closed
