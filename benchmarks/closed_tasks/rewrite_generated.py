"""Rewrites that a program can do: case, one word, masking, dates and lists."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from closed_tasks.draw import Draw
from closed_tasks.extract_values import VALUES, day_of
from closed_tasks.item import Difficulty, Language
from closed_tasks.words import fill, lines, rows, table

__all__ = ["CASES", "Rewritten", "generated"]

CASES: Final = frozenset({"case"})
_EACH: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A text, the order in several wordings, and the right results."""

    source: str
    difficulty: Difficulty
    orders: list[str]
    text: str
    expected: list[str]


def _orders(language: Language, kind: str, **values: str) -> list[str]:
    for row in lines(language, "rewrite_orders"):
        name, _, said = row.partition(": ")
        if name == kind:
            return [fill(one, **values) for one in said.split(" / ")]
    raise KeyError(kind)


def _two_sentences(draw: Draw, language: Language) -> str:
    return " ".join(row[2] for row in draw.some(rows(language, "sentences", cells=3), draw.number(1, 2)))


def _cased(draw: Draw, language: Language) -> Rewritten:
    text = _two_sentences(draw, language)
    kind = draw.pick(("upper", "lower"))
    if kind == "lower":
        words = text.split()
        loud = set(draw.some(range(len(words)), len(words) // 3))
        text = " ".join(word.upper() if at in loud else word for at, word in enumerate(words))
    return Rewritten(
        source="case",
        difficulty="easy",
        orders=_orders(language, kind),
        text=text,
        expected=[text.upper() if kind == "upper" else text.lower()],
    )


def _one_word(draw: Draw, language: Language) -> Rewritten:
    (noun, extra, text), (_, _, after) = draw.some(rows(language, "sentences", cells=3), 2)
    kind = draw.pick(("swap", "drop", "quote"))
    word = extra if kind == "drop" else noun
    other = draw.pick(table(language, "vocabulary")["nouns"])
    edge = rf"\b{word}\b"
    if kind == "swap":
        result = re.sub(edge, other.capitalize() if word[0].isupper() else other, text)
    elif kind == "quote":
        result = re.sub(edge, f'"{word}"', text)
    else:
        result = " ".join(re.sub(edge, "", text).replace(" ,", ",").replace(" .", ".").split())
        result = result[0].upper() + result[1:]
    if draw.chance(40) and not re.search(edge, after, flags=re.IGNORECASE):
        text, result = f"{text} {after}", f"{result} {after}"
    return Rewritten(
        source="one-word",
        difficulty="medium",
        orders=_orders(language, kind, a=word, b=other),
        text=text,
        expected=[result],
    )


def _masked(draw: Draw, language: Language) -> Rewritten:
    shown, _ = VALUES["signatures"](draw, language)
    shape = draw.pick(lines(language, "rewrite_recados" if language == "pt" else "rewrite_mails"))
    kind = draw.pick(("email", "phone", "name"))
    mask = {"email": "[EMAIL]", "phone": "[TELEFONE]" if language == "pt" else "[PHONE]"}
    mask["name"] = "[NOME]" if language == "pt" else "[NAME]"
    return Rewritten(
        source="masking",
        difficulty="medium",
        orders=_orders(language, kind),
        text=fill(shape, **shown),
        expected=[fill(shape, **{**shown, kind: mask[kind]})],
    )


def _dated(draw: Draw, language: Language) -> Rewritten:
    shape = draw.pick(lines(language, "rewrite_datas" if language == "pt" else "rewrite_dates"))
    shown, iso = day_of(draw, language, draw.number(1995, 2026))
    return Rewritten(
        source="dates",
        difficulty="hard" if shown[0].isdigit() else "medium",
        orders=_orders(language, "iso"),
        text=fill(shape, date=shown),
        expected=[fill(shape, date=iso)],
    )


def _listed(draw: Draw, language: Language) -> Rewritten:
    words = table(language, "vocabulary")
    kind = draw.pick(("bullets", "commas", "sort", "unique", "reverse", "surname"))
    difficulty: Difficulty = "easy" if kind in {"bullets", "commas"} else "medium"
    items = draw.some(words[draw.pick(("food", "capitals"))], draw.number(4, 6))
    text, expected = ", ".join(items), ""
    if kind == "bullets":
        expected = "\n".join(f"- {item}" for item in items)
    elif kind == "commas":
        text, expected = "\n".join(f"- {item}" for item in items), ", ".join(items)
    elif kind == "sort":
        expected, difficulty = ", ".join(sorted(items)), "hard"
    elif kind == "reverse":
        expected, difficulty = ", ".join(reversed(items)), "hard"
    elif kind == "unique":
        again = draw.some(items, 2)
        text = ", ".join([*items, *again])
        expected = ", ".join(items)
    else:
        names = draw.some(words["names"], 3)
        text = "\n".join(", ".join(reversed(name.split(" ", 1))) for name in names)
        expected = "\n".join(names)
    return Rewritten(
        source="listas" if language == "pt" else "lists",
        difficulty=difficulty,
        orders=_orders(language, kind),
        text=text,
        expected=[expected],
    )


def generated(language: Language) -> Iterator[Rewritten]:
    """Every generated rewrite of a language."""
    for make in (_cased, _one_word, _masked, _dated, _listed):
        texts: set[str] = set()
        at = 0
        while len(texts) < _EACH:
            made = make(Draw("rewrite", language, make.__name__, at), language)
            at += 1
            if made.text not in texts:
                texts.add(made.text)
                yield made
