"""Summarise: one sentence about a short text that must say given facts and must not say superseded ones."""

from collections.abc import Iterator
from typing import Final

from closed_tasks.draw import Draw
from closed_tasks.extract_values import clock
from closed_tasks.item import Difficulty, Draft, Language
from closed_tasks.passages import passages
from closed_tasks.words import DIFFICULTIES, fill, frames, sections, table

__all__ = ["summarise"]

_SOURCES: Final = {
    "en": ("meetings", "incidents", "chats", "reports", "letters", "notices"),
    "pt": ("reunioes", "incidentes", "conversas", "relatos", "cartas", "avisos"),
}
_PER_SHAPE: Final = 10
# Said wherever naming what was superseded makes a summary wrong.
_ONLY_FINAL: Final = {
    "en": " (only what holds in the end, not what was dropped or changed)",
    "pt": " (só o que ficou valendo, sem citar o que mudou ou foi descartado)",
}


def _draft(
    source: str,
    language: Language,
    at: int,
    *,
    difficulty: Difficulty,
    about: str,
    text: str,
    facts: list[list[str]],
    forbidden: list[str],
    answer: str,
) -> Draft:
    phrasings = frames(language, "summarise_frames")
    order = Draw("summarise", language, source, "order").shuffled(range(len(phrasings)))
    about += _ONLY_FINAL[language] if forbidden else ""
    limit = max(20, 5 * -(-(len(answer.split()) + 10) // 5))  # rounded up to a multiple of five
    return Draft(
        source=source,
        difficulty=difficulty,
        messages=phrasings[order[at % len(order)]].messages(text=text, about=about, max=str(limit)),
        check={"kind": "facts", "all": facts, "none": forbidden, "max_words": limit},
        answer=answer,
    )


def _of_passages(language: Language) -> Iterator[Draft]:
    at = 0
    for passage in passages(language):
        for focus in passage.focuses:
            yield _draft(
                "passages",
                language,
                at,
                difficulty=passage.difficulty,
                about=focus.about,
                text=passage.text,
                facts=[list(fact) for fact in focus.facts],
                forbidden=list(focus.forbidden),
                answer=focus.answer,
            )
            at += 1


def _blanks(draw: Draw, language: Language) -> tuple[dict[str, str], dict[str, list[str]]]:
    """What fills a text, and for the times every way to write each of them."""
    words = table(language, "vocabulary")
    firsts, products, cities = (draw.some(words[name], 3) for name in ("firsts", "products", "cities"))
    days = draw.some(words["days"][:5], 2)
    months, services = draw.some(words["months"], 2), draw.some(words["services"], 2)
    low, figure, other = sorted(draw.some(range(23, 98, 4), 3))
    if draw.chance(50):
        figure, other = other, figure
    starts = sorted((at * 15 for at in draw.some(range(36, 78), 2)), reverse=True)
    style = draw.number(0, 1)
    values = {
        **dict(zip("abc", firsts, strict=True)),
        "product1": products[0],
        "product2": products[1],
        "Product2": products[1].capitalize(),
        "city1": cities[0],
        "city2": cities[1],
        "day1": days[0],
        "day2": days[1],
        "day1s": days[0].removesuffix("-feira"),
        "month1": months[0],
        "month2": months[1],
        "service1": services[0],
        "service2": services[1],
        "low1": str(low),
        "few": str(draw.number(5, 19)),
        "n1": str(figure),
        "n2": str(other),
        "time1": clock(starts[0], language, style=style),
        "time2": clock(starts[1], language, style=style),
    }
    return values, {"{time1}": _ways(starts[0], language), "{time2}": _ways(starts[1], language)}


def _ways(minutes: int, language: Language) -> list[str]:
    """The ways to write a time of day that a check accepts."""
    hour, minute = divmod(minutes, 60)
    both = [clock(minutes, language, style=0), clock(minutes, language, style=1), f"{hour}:{minute:02d}"]
    twelve = f"{hour % 12 or 12}:{minute:02d}"
    return list(dict.fromkeys([*both, twelve, f"{hour:02d}h{minute:02d}", twelve.removesuffix(":00") + "pm"]))


def _expanded(part: str, values: dict[str, str], ways: dict[str, list[str]]) -> list[str]:
    found: list[str] = []
    for one in part.split(" / "):
        found += ways.get(one.strip(), [fill(one.strip(), **values)])
    return found


def _generated(source: str, language: Language) -> Iterator[Draft]:
    shapes = sections(language, f"summarise_{source}")
    for at in range(_PER_SHAPE * len(shapes)):
        head, body = shapes[at % len(shapes)]
        hint, about, facts, answer = head.split(" | ")
        values, ways = _blanks(Draw("summarise", language, source, at), language)
        needed, _, forbidden = facts.partition(" ~ ")
        yield _draft(
            source,
            language,
            at,
            difficulty=DIFFICULTIES[hint],
            about=fill(about, **values),
            text=fill("\n".join(body), **values),
            facts=[_expanded(fact, values, ways) for fact in needed.split(" + ")],
            forbidden=_expanded(forbidden, values, ways) if forbidden else [],
            answer=fill(answer, **values),
        )


def summarise(language: Language) -> Iterator[Draft]:
    """Every summarise draft of a language."""
    yield from _of_passages(language)
    for source in _SOURCES[language]:
        yield from _generated(source, language)
