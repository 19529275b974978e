"""Where the instruction ends and the given text begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teto.triage.instruction import fold, read_instruction
from teto.triage.signs import ORDERS, TASKS
from teto.wire.chat import Message


def split(user: str, *, system: str | None = None) -> tuple[str, str]:
    """The folded instruction and the given text."""
    before = [] if system is None else [Message(role="system", content=system)]
    asked = read_instruction([*before, Message(role="user", content=user)], tasks=TASKS, orders=ORDERS, brief=False)
    return asked.folded.strip(), asked.given


@pytest.mark.parametrize(
    ("user", "instruction", "given_text"),
    [
        ('Sentiment of "it broke at once"?', "sentiment of  ¶ ?", '"it broke at once"'),
        ("Sentiment of “it broke at once”?", "sentiment of  ¶ ?", "“it broke at once”"),
        ("Sentimento de «quebrou logo»?", "sentimento de  ¶ ?", "«quebrou logo»"),
        ("Sentiment of 'it didn't work' please", "sentiment of  ¶  please", "'it didn't work'"),
        ("Label it.\n```\nsome given text\n```", "label it.\n ¶", "```\nsome given text\n```"),
        ("Label <msg>some given text</msg> now", "label  ¶  now", "<msg>some given text</msg>"),
        ("Label the text below.\n---\nsome given text\n---", "label the text below.\n--- ¶ ---", "some given text"),
        ("Spam or ham? Message: you won a cruise", "spam or ham? message:  ¶", "you won a cruise"),
        ("Rewrite this formally: send it now", "rewrite this formally:  ¶", "send it now"),
        ("Spam or ham?\n\nYou won a cruise", "spam or ham?\n¶", "You won a cruise"),
    ],
    ids=["quoted", "curly", "guillemets", "apostrophe", "fenced", "tagged", "ruled", "labelled", "colon", "paragraph"],
)
def test_the_given_text_is_lifted_out(user: str, instruction: str, given_text: str) -> None:
    """Fences, tags, rules, quotes, labels, a colon and paragraphs all mark what is given."""
    assert split(user) == (instruction, given_text)


def test_one_quoted_word_is_no_text() -> None:
    """A label in quotes stays in the instruction."""
    assert split("Answer 'yes' or 'no'") == ("answer 'yes' or 'no'", "")


def test_a_question_is_no_label() -> None:
    """`Question:` and `Answer:` end a labelled text and begin none."""
    instruction, given_text = split("Text: The store opens at nine. Question: is it open at eight? Answer yes or no.")
    assert given_text == "The store opens at nine."
    assert "question: is it open at eight?" in instruction


def test_a_plain_request_gives_nothing() -> None:
    """Where no mark is found, no text is given."""
    assert split("Who wrote Dom Casmurro?") == ("who wrote dom casmurro?", "")


def test_the_systems_instruction_takes_the_whole_message() -> None:
    """When only the system message instructs, the user's whole message is the text."""
    assert split("quebrou: não recomendo", system="Classifique a avaliação.") == (
        "classifique a avaliacao.",
        "quebrou: não recomendo",
    )


def test_the_users_instruction_stands_beside_the_systems() -> None:
    """When the user instructs as well, both are the instruction."""
    instruction, given_text = split('Classify this: "it broke at once"', system="Classify reviews.")
    assert instruction == "classify reviews.\nclassify this:  ¶"
    assert given_text == '"it broke at once"'


def test_words_are_counted_in_the_given_text() -> None:
    """`given_words` counts the text and not the instruction."""
    asked = read_instruction(
        [Message(role="user", content="Rewrite: a b c d")], tasks=TASKS, orders=ORDERS, brief=False
    )
    assert asked.given_words == 4


@given(text=st.text())
def test_folding_is_stable(text: str) -> None:
    """Folded text has no combining accents, and folds to itself."""
    assert fold(fold(text)) == fold(text)


def test_folding_keeps_the_letters() -> None:
    """Portuguese loses its accents and nothing else, and letters of other styles become plain ones."""
    assert fold("Não É AÇÃO, à noite") == "nao e acao, a noite"
    assert fold("𝐄xplain") == "explain"


@given(user=st.text(max_size=300), system=st.text(max_size=100))
def test_any_text_can_be_read(user: str, system: str) -> None:
    """No text makes the reading fail, and what is given comes from the user."""
    _, given_text = split(user, system=system)
    assert all(line.strip() in user for line in given_text.split("\n"))
