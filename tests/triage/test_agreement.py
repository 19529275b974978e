"""Whether two answers say the same, by cases made by hand in English and Portuguese."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teto.traffic.task import Task
from teto.triage.agreement import TESTABLE_TASKS, agree
from teto.triage.spellings import dates, numbers

SCHEMA = {"type": "object"}
SPAM = ("spam", "ham")
LONG = "The text speaks of many towns in the north of France and of none in the south, so nobody knows."


def both_ways(
    task: Task, first: str, second: str, *, schema: dict[str, Any] | None = None, labels: tuple[str, ...] | None = None
) -> bool | None:
    """What is said of the two answers, which must not depend on whose is which."""
    found = agree(task, first, second, schema=schema, labels=labels)
    assert agree(task, second, first, schema=schema, labels=labels) is found
    return found


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("positive", "Positive.", True),
        ("positivo", "O sentimento é **positivo**.", True),
        ("billing", "Category: Billing", True),
        ("not_urgent", "Not urgent", True),
        ("spam", "```\nspam\n```", True),
        ("spam", '{"label": "spam"}', True),
        ("positive", "Positive\n\nThe reviewer praises the service and says so more than once.", True),
        ("Reclamação", "reclamacao", True),
        ("billing", "shipping", False),
        ("urgent", "not urgent", False),
        ("urgente", "não urgente", False),
        ("C++", "C#", False),
        ("false positive", "false negative", False),
        ("👍", "👎", False),
        ("no", "pt", False),  # codes of languages, and no `no`
        ("positive", "very positive", None),
        ("spam", "", None),
        ("spam", "I'm sorry, I can't help with that.", None),
        ("reclamação", "Desculpe, não posso ajudar com isso.", None),
        ("ham", LONG, None),
    ],
)
def test_labels(first: str, second: str, *, expected: bool | None) -> None:
    """Dress is forgiven; a negation is another label; a refusal, a long text or a part of a label tell nothing."""
    assert both_ways(Task.CLASSIFY, first, second) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("spam", "The message says that you won a prize, which makes it spam", True),
        ("ham", "I think this message is spam", False),
        ("ham", "It is unclear", None),
        ("spam", "Not spam but ham", None),
        ("spam", "not spam", False),
    ],
)
def test_labels_of_a_known_set(first: str, second: str, *, expected: bool | None) -> None:
    """Where the set is known a sentence may name its one label; two labels, or none, tell nothing."""
    assert both_ways(Task.CLASSIFY, first, second, labels=SPAM) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Yes", "Yes, it does.", True),
        ("sim", "Sim, segundo o texto.", True),
        ("Yes", "sim", True),
        ("Yes", "No, she left.", False),
        ("Yes", "No it does not", False),
        ("sim", "A resposta é não.", False),
        ("True", "false", False),
        ("Não", "Não consta no texto.", None),
        ("sim", "No texto não há resposta.", None),
        ("Yes", "Yes and no.", None),
        ("No", "The text doesn't say.", None),
    ],
)
def test_yes_or_no(first: str, second: str, *, expected: bool | None) -> None:
    """The first word says it, in either language; `no texto` and `não consta` are no `no`."""
    assert both_ways(Task.CLOSED_QA, first, second) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Paris", "The capital is Paris.", True),
        ("the red car", "Red car", True),
        ("São Paulo", "sao paulo", True),
        ("Maria", "Maria Silva", True),
        ("R$ 1.234,50", "1234.50", True),
        ("50 reais", "R$ 50,00", True),
        ("12/03/2024", "2024-03-12", True),
        ("12 de março de 2024", "March 12, 2024", True),
        ("123.456.789-09", "12345678909", True),
        ("Paris", "Lyon", False),
        ("-5", "5", False),
        ("1.5", "15", False),
        ("00123", "123", False),
        ("12/03/2024", "13/03/2024", False),
        ("18 March", "19 March", False),
        ("three", "blue", False),
        ("by text", "text", True),
        ("Paris", "not Paris", None),
        ("18 March", "the 18th of March", None),
        ("23", "twenty-three", None),
        ("duas horas", "2 horas", None),
        ("14:30", "2:30 pm", None),
        ("cotton towels", "a cotton towel", None),
        ("2", "between 2 and 5", None),
        ("apples, pears", "pears, apples", None),
        ("Paris", LONG, None),
    ],
)
def test_spans(first: str, second: str, *, expected: bool | None) -> None:
    """Equal, or inside a short sentence; numbers and dates by what they mean; what may mean the same tells nothing."""
    assert both_ways(Task.EXTRACT, first, second) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ('{"a": 5, "b": "São Paulo"}', '{"b": "sao paulo.", "a": 5.0}', True),
        ('{"a": "1.234,50"}', '```json\n{"a": "1,234.50"}\n```', True),
        ('{"a": 9007199254740993}', '{"a": 9007199254740993}', True),
        ('{"a": 9007199254740993}', '{"a": 9007199254740992}', False),
        ('{"a": 5}', '{"a": "5"}', False),
        ('{"a": true}', '{"a": 1}', False),
        ('{"a": null}', "{}", False),
        ('{"a": 1}', '{"a": 1, "b": 2}', False),
        ('{"a": [1, 2]}', '{"a": [1, 3]}', False),
        ('{"a": [1, 2]}', '{"a": [1]}', False),
        ('{"a": [1, 2]}', '{"a": {"b": 1}}', False),
        ('{"a": "Maria"}', '{"a": "João"}', False),
        ('{"a": "Maria"}', '{"a": "Maria Silva"}', None),
        ('{"a": [1, 2]}', '{"a": [2, 1]}', None),
        ('{"a": 1}', "I see one.", None),
        (f'{{"a": "{LONG}"}}', f'{{"a": "{LONG[:-10]}"}}', None),
        (f'{{"a": "{LONG}", "b": 1}}', f'{{"a": "{LONG[:-10]}", "b": 2}}', False),
    ],
)
def test_json(first: str, second: str, *, expected: bool | None) -> None:
    """The same fields, types and values; the order of keys is dress, that of lists is untold."""
    assert both_ways(Task.EXTRACT, first, second, schema=SCHEMA) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Olá,  mundo", "“Olá, mundo”", True),
        ("Ola, mundo", "Olá, mundo", None),
        ("HELLO", "hello", None),
        ("We have received it.", "We received it.", None),
    ],
)
def test_a_different_rewrite_may_be_as_right(first: str, second: str, *, expected: bool | None) -> None:
    """Equal ones agree, with case and accents; of different ones nothing is known."""
    assert both_ways(Task.REWRITE, first, second) is expected


@given(task=st.sampled_from(Task), first=st.text(max_size=40), second=st.text(max_size=40), structured=st.booleans())
def test_any_two_texts(task: Task, first: str, second: str, *, structured: bool) -> None:
    """It never fails and does not ask whose answer is which; outside the testable tasks it never says `different`."""
    found = both_ways(task, first, second, schema=SCHEMA if structured else None)
    assert task in TESTABLE_TASKS or found is not False


@given(st.sampled_from(sorted(TESTABLE_TASKS)), st.text(max_size=40))
def test_an_answer_agrees_with_itself(task: Task, text: str) -> None:
    """Or tells nothing; it never differs from itself."""
    assert agree(task, text, text, schema=None) is not False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.234", {1.234, 1234.0}),
        ("1,234.5", {1234.5}),
        ("1.234,5", {1234.5}),
        ("r$ 10", {10.0}),
        ("-3,5", {-3.5}),
        ("0.5", {0.5}),
        ("007", set()),
        ("12 apples", set()),
    ],
)
def test_readings_of_a_number(text: str, expected: set[float]) -> None:
    """Both where English and Portuguese part; a leading zero makes a code of it."""
    assert numbers(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("05/03/2024", {(2024, 3, 5), (2024, 5, 3)}),
        ("25/12/2024", {(2024, 12, 25)}),
        ("2024-12-25", {(2024, 12, 25)}),
        ("2024.12.25", {(2024, 12, 25)}),
        ("1o de maio de 2024", {(2024, 5, 1)}),
        ("may 1st, 2024", {(2024, 5, 1)}),
        ("31/31/2024", set()),
        ("tomorrow", set()),
    ],
)
def test_readings_of_a_date(text: str, expected: set[tuple[int, int, int]]) -> None:
    """Both where the day may be the month."""
    assert dates(text) == expected
