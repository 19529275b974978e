"""Reads the word lists, texts and instruction phrasings under words/."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from closed_tasks.item import Difficulty, Language

__all__ = ["DIFFICULTIES", "Frame", "fill", "frames", "lines", "rows", "sections", "table"]

_FOLDER = Path(__file__).parent / "words"

DIFFICULTIES: dict[str, Difficulty] = {"e": "easy", "m": "medium", "h": "hard"}


@dataclass(frozen=True, slots=True)
class Frame:
    """A phrasing of an instruction: a system message or none, a user message, and what it is marked with."""

    mark: str
    system: str
    user: str

    def messages(self, **values: str) -> list[dict[str, str]]:
        """The messages with the values in place of their names in braces."""
        user = {"role": "user", "content": fill(self.user, **values)}
        return [{"role": "system", "content": fill(self.system, **values)}, user] if self.system else [user]


def fill(template: str, **values: str) -> str:
    """Put values in place of their names in braces, in one pass, so that braces in a value stay."""
    parts = template.split("{")
    done = [parts[0]]
    for part in parts[1:]:
        name, closed, rest = part.partition("}")
        done.append(f"{values[name]}{rest}" if closed and name in values else "{" + part)
    return "".join(done)


@cache
def _read(language: str, name: str) -> str:
    return (_FOLDER / language / f"{name}.txt").read_text(encoding="utf-8")


def lines(language: Language | str, name: str) -> list[str]:
    """The lines of a list that are not empty."""
    return [line for line in _read(language, name).split("\n") if line]


def rows(language: Language | str, name: str, *, cells: int) -> list[list[str]]:
    """The lines of a table, cut at ` | `; the last cell may hold the bar itself."""
    found = [line.split(" | ", cells - 1) for line in lines(language, name)]
    for row in found:
        if len(row) != cells:
            raise ValueError(f"words/{language}/{name}.txt: not {cells} cells in {row}")
    return found


def table(language: Language | str, name: str) -> dict[str, list[str]]:
    """Lists by their name, one a line: `name: first, second`."""
    found = {}
    for line in lines(language, name):
        key, _, values = line.partition(": ")
        found[key] = [value.strip() for value in values.split(",")]
    return found


def frames(language: Language | str, name: str, mark: str | None = None) -> list[Frame]:
    """The phrasings in a file, cut at lines `%% mark`; the text above `>>>` is the system message."""
    found = []
    for block in ("\n" + _read(language, name)).split("\n%%")[1:]:
        head, _, body = block.partition("\n")
        system, above, user = body.rpartition("\n>>>\n")
        found.append(Frame(head.strip(), system.strip("\n") if above else "", user.strip("\n")))
    return [frame for frame in found if mark is None or frame.mark == mark]


def sections(language: Language | str, name: str) -> list[tuple[str, list[str]]]:
    """The blocks of a file, cut at lines `%% mark`: the mark, and the lines that are not empty."""
    found = []
    for block in ("\n" + _read(language, name)).split("\n%%")[1:]:
        head, *body = block.split("\n")
        found.append((head.strip(), [line for line in body if line]))
    return found
