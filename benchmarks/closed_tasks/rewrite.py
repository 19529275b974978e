"""Rewrite: transformations that have one right result, or a few."""

from collections.abc import Iterator
from typing import Final

from closed_tasks.draw import Draw
from closed_tasks.item import Difficulty, Draft, Language
from closed_tasks.rewrite_generated import CASES, generated
from closed_tasks.words import DIFFICULTIES, frames, sections

__all__ = ["rewrite"]

_PAIRS: Final = {"en": "rewrite_pairs", "pt": "rewrite_pares"}


def _draft(
    source: str,
    language: Language,
    at: int,
    *,
    difficulty: Difficulty,
    orders: list[str],
    text: str,
    expected: list[str],
) -> Draft:
    phrasings = frames(language, "rewrite_frames")
    order = Draw("rewrite", language, source, "order").shuffled(range(len(phrasings)))
    said = Draw("rewrite", language, source, at, "said").pick(orders)
    return Draft(
        source=source,
        difficulty=difficulty,
        messages=phrasings[order[at % len(order)]].messages(text=text, order=said, Order=said[0].upper() + said[1:]),
        check={
            "kind": "transform",
            "expected": expected,
            "keeps_case": source in CASES,
            "keeps_commas": source in {"lists", "listas"},
        },
        answer=expected[0],
    )


def _pairs(language: Language) -> Iterator[Draft]:
    for head, lines in sections(language, _PAIRS[language]):
        source, _, orders = head.partition(": ")
        for at, line in enumerate(lines):
            hint, _, pair = line.partition(" | ")
            text, *expected = pair.split(" => ")
            yield _draft(
                source,
                language,
                at,
                difficulty=DIFFICULTIES[hint],
                orders=orders.split(" / "),
                text=text,
                expected=expected,
            )


def rewrite(language: Language) -> Iterator[Draft]:
    """Every rewrite draft of a language."""
    yield from _pairs(language)
    for at, made in enumerate(generated(language)):
        yield _draft(
            made.source,
            language,
            at,
            difficulty=made.difficulty,
            orders=made.orders,
            text=made.text,
            expected=made.expected,
        )
