"""The task model that ships: robust, the same alone and in batches, and sure about plain cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teto.catalog.task_model import shipped_task_model
from teto.traffic.language import Language
from teto.traffic.task import Task

MODEL = shipped_task_model()
PLAIN = [
    (
        "Classify the sentiment as positive or negative.\n\nText: the soup was cold and the waiter rude",
        Task.CLASSIFY,
        "en",
    ),
    (
        "Classifique o sentimento como positivo ou negativo.\n\nTexto: a sopa veio fria e o garçom foi grosso",
        Task.CLASSIFY,
        "pt",
    ),
    (
        "Extract the order number and the city from this e-mail.\n\nE-mail: order 4471 never arrived in Leeds",
        Task.EXTRACT,
        "en",
    ),
    ("Reescreva a frase no passado: Ela canta no coral da igreja todo domingo de manhã", Task.REWRITE, "pt"),
]


@pytest.mark.parametrize(("text", "task", "language"), PLAIN)
def test_plain_closed_prompts(text: str, task: Task, language: str) -> None:
    """Prompts that anybody would call closed are, in both languages."""
    found = MODEL.classify(text)
    assert (found.task, found.closed, found.language) == (task, True, Language(language))


@pytest.mark.parametrize(
    "text",
    [
        "Explain how a nuclear reactor works and why some designs are safer than others.",
        "Escreva um romance policial em três capítulos que se passa em Ouro Preto.",
        "Prove that the square root of two is irrational.",
        "Write a Python web service that stores users in PostgreSQL, with tests.",
    ],
)
def test_plain_open_prompts(text: str) -> None:
    """What asks for knowledge, reasoning or length is not closed."""
    assert not MODEL.classify(text).closed


@settings(deadline=None)
@given(texts=st.lists(st.text(max_size=200), min_size=1, max_size=6))
def test_a_batch_says_what_single_ones_say(texts: list[str]) -> None:
    """Any text is read, and company changes nothing."""
    together = MODEL.classify_batch(texts)
    assert len(together) == len(texts)
    for at, text in enumerate(texts):
        alone = MODEL.classify(text)
        assert (together[at].task, together[at].closed, together[at].language) == (
            alone.task,
            alone.closed,
            alone.language,
        )
        assert together[at].probability == pytest.approx(alone.probability, abs=1e-4)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\ud800", "🙂" * 50, "a" * 1_000_000, "1 2 3 " * 5000])
def test_odd_texts_are_read(text: str) -> None:
    """Nothing, surrogates, pictures and a megabyte of one letter get an answer, none of them a closed task."""
    found = MODEL.classify(text)
    assert not found.closed
    assert 0 <= found.probability <= 1


def test_no_texts_are_no_readings() -> None:
    """An empty batch has an empty answer."""
    found = MODEL.classify_batch([])
    assert len(found) == 0
    assert found.closed.dtype == np.bool_
