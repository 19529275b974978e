"""Language: the name or code of the language of a text, among neighbours, in lists, behind quotations, line by line."""

import json
from collections.abc import Iterator
from typing import Any, Final

from closed_tasks.classify import joined
from closed_tasks.draw import Draw
from closed_tasks.item import Difficulty, Draft, Language, json_schema
from closed_tasks.words import Frame, frames, rows
from teto.closed_tasks.language_names import ENGLISH, PORTUGUESE

__all__ = ["language_of"]

_EACH: Final = 40
_NEIGHBOURS: Final = (
    ("pt", "es", "gl", "ca", "it"),
    ("fr", "ca", "it", "ro", "es"),
    ("da", "no", "sv", "nl", "de"),
    ("pl", "cs", "ru", "uk", "hu"),
    ("fi", "hu", "tr", "el", "ro"),
    ("ja", "zh", "ko"),
    ("vi", "id", "tr", "la", "ar"),
    ("en", "nl", "de", "sv"),
)
_EASY: Final = frozenset({"en", "pt", "es", "fr", "de", "it", "ja", "zh", "ru"})
_HARD: Final = frozenset({"gl", "ca", "no", "da", "cs", "uk", "la"})


def _level(code: str) -> Difficulty:
    if code in _EASY:
        return "easy"
    return "hard" if code in _HARD else "medium"


def _neighbours(code: str, draw: Draw) -> list[str]:
    """The codes of a group that the language belongs to, itself among them."""
    return draw.shuffled(draw.pick([group for group in _NEIGHBOURS if code in group]))


class _Asker:
    """Puts questions of one source in one language, going through the phrasings of a kind in turn."""

    def __init__(self, language: Language, source: str) -> None:
        self._language = language
        self._source = source
        self._names = PORTUGUESE if language == "pt" else ENGLISH
        self._asked: dict[str, int] = {}

    def _frame(self, kind: str) -> Frame:
        phrasings = frames(self._language, "language_frames", kind)
        order = Draw("language", self._language, self._source, kind).shuffled(range(len(phrasings)))
        at = self._asked.get(kind, 0)
        self._asked[kind] = at + 1
        return phrasings[order[at % len(order)]]

    def name(self, kind: str, code: str, text: str, draw: Draw, *, line: int = 1) -> Draft:
        """Ask for the language: `open`, `closed` among neighbours, by `code`, as `json` or of a `line`."""
        labels = [self._names[one] for one in _neighbours(code, draw)] if kind == "closed" else None
        messages = self._frame(kind).messages(
            text=text,
            n=str(line),
            list=", ".join(labels or []),
            **{"or": joined(labels, "ou" if self._language == "pt" else "or") if labels else ""},
        )
        field = "idioma" if self._language == "pt" else "language"
        check: dict[str, Any] = {"kind": "language", "expected": code, "form": "name"}
        answer, response_format = self._names[code], None
        if kind == "code":
            check |= {"form": "code", "accept": ["nb", "nn"] if code == "no" else []}
            answer = code
        elif kind == "json":
            response_format = json_schema("language", {field: {"type": "string"}})
            answer = json.dumps({field: answer}, ensure_ascii=False)
        return Draft(
            source=self._source,
            difficulty="hard" if kind in {"line", "code"} and code not in _EASY else _level(code),
            messages=messages,
            labels=labels,
            response_format=response_format,
            check=check,
            answer=answer,
        )

    def is_it(self, code: str, text: str, draw: Draw) -> Draft:
        """Ask whether the text is in a language: its own, or a neighbour's."""
        asked = code if draw.chance(50) else draw.pick([one for one in _neighbours(code, draw) if one != code])
        yes, no = ("sim", "não") if self._language == "pt" else ("yes", "no")
        return Draft(
            source=self._source,
            difficulty=_level(code),
            messages=self._frame("yes_no").messages(text=text, name=self._names[asked]),
            labels=[yes, no],
            check={"kind": "yes_no", "expected": "yes" if asked == code else "no"},
            answer=yes if asked == code else no,
        )


def _lines(language: Language, texts: list[list[str]]) -> Iterator[Draft]:
    asker = _Asker(language, "lines")
    for at in range(_EACH):
        draw = Draw("language", language, "lines", at)
        chosen = draw.some(texts, draw.number(2, 4))
        if len({code for code, _ in chosen}) == len(chosen):
            line = draw.number(1, len(chosen))
            yield asker.name("line", chosen[line - 1][0], "\n".join(text for _, text in chosen), draw, line=line)


def language_of(language: Language) -> Iterator[Draft]:
    """Every language draft, asked in English or in Portuguese."""
    texts = rows("any", "languages", cells=2)
    own = [row for at, row in enumerate(texts) if (at % 2 == 0) == (language == "en")]
    others = [row for row in texts if row not in own]
    kinds = {"texts": ("open",), "neighbours": ("closed",), "codes": ("code", "code", "json"), "lists": ("open",)}
    kinds["quotations"] = ("open", "open", "closed")
    sources = {
        "texts": own,
        "neighbours": others,
        "codes": own,
        "lists": rows("any", "language_lists", cells=2),
        "quotations": rows("any", "language_traps", cells=2),
    }
    for source, found in sources.items():
        asker = _Asker(language, source)
        for at, (code, text) in enumerate(found):
            draw = Draw("language", language, source, at)
            yield asker.name(draw.pick(kinds[source]), code, text, draw)
    asker = _Asker(language, "yes-no")
    for at, (code, text) in enumerate(others):
        yield asker.is_it(code, text, Draw("language", language, "yes-no", at))
    yield from _lines(language, texts)
