"""The hand-written passages, with questions about them and what a summary of them must say."""

from dataclasses import dataclass, field
from functools import cache

from closed_tasks.item import Difficulty, Language
from closed_tasks.words import DIFFICULTIES, lines

__all__ = ["Focus", "Passage", "passages"]


@dataclass(frozen=True, slots=True)
class Focus:
    """What a summary is asked to say: each fact in one of its forms, what it must not say, and a right one."""

    about: str
    facts: tuple[tuple[str, ...], ...]
    forbidden: tuple[str, ...]
    answer: str


@dataclass(slots=True)
class Passage:
    """A text of 40 to 120 words."""

    kind: str
    difficulty: Difficulty
    text: str = ""
    yes_no: list[tuple[str, str]] = field(default_factory=list)
    spans: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)
    focuses: list[Focus] = field(default_factory=list)


def _cut(text: str, at: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(at)) if text.strip() else ()


def _focus(line: str) -> Focus:
    asked, _, answer = line.partition(" => ")
    about, _, rest = asked.partition(" = ")
    facts, _, forbidden = rest.partition(" ~ ")
    return Focus(about, tuple(_cut(fact, " | ") for fact in _cut(facts, " + ")), _cut(forbidden, " | "), answer)


@cache
def passages(language: Language) -> list[Passage]:
    """The passages of a language. A line begins with `@` kind, `Y` or `N` question, `S` span or `F` focus."""
    found: list[Passage] = []
    for line in lines(language, "passages"):
        mark, _, rest = line.partition(" ")
        if mark == "@":
            kind, hint = rest.split()
            found.append(Passage(kind, DIFFICULTIES[hint]))
        elif mark in {"Y", "N"}:
            found[-1].yes_no.append(("yes" if mark == "Y" else "no", rest))
        elif mark == "S":
            asked, _, spans = rest.partition(" = ")
            accept, _, reject = spans.partition(" ~ ")
            found[-1].spans.append((asked, _cut(accept, " | "), _cut(reject, " | ")))
        elif mark == "F":
            found[-1].focuses.append(_focus(rest))
        else:
            found[-1].text = f"{found[-1].text}\n{line}".strip()
    return found
