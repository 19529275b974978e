"""Tells the instruction of a request from the text it is given to work on."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from teto.wire.chat import Message

__all__ = ["Instruction", "fold", "read_instruction"]

_RULE: Final = r"(?:-{3,}|={3,}|#{3,}|\*{3,})"
# Labels that announce the question, the answer or the choices, never the text.
_NO_TEXT: Final = (
    r"(?:Question|Pergunta|Answer|Resposta|Task|Tarefa|Options?|Opções|Labels?|Tags?|Categor(?:y|ies|ia|ias)|Rótulos?"
    r"|(?:Possible|Allowed|Valid) \w+|\w+ (?:possíveis|permitid[oa]s|válid[oa]s)"
    r"|Choices|Output|Saída|Language|Idioma|Topic|Classes?|Q|P)"
)
# Where given text stands. The marks of structure: fences and tags, rules, labels ...
_FENCED: Final = re.compile(r"```.*?```|\"\"\".*?\"\"\"|<([a-z_]+)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_RULED: Final = re.compile(rf"^{_RULE}\s*$(.+?)(?:^{_RULE}\s*$|\Z)", re.DOTALL | re.MULTILINE)
# A label is a capitalised noun of one or two words; what it labels ends at the next label or empty line.
_LABELLED: Final = re.compile(
    rf"(?:^|(?<=[.?!:\n])\s)[^\S\n]*(?!{_NO_TEXT}\b)[A-ZÀ-Ý][\w-]{{1,20}}(?: [\wÀ-ÿ-]{{1,20}})?(?::|[^\S\n][–—])\s*"
    rf"(\S.*?)(?=\s{_NO_TEXT}\s*[:–—]|\n\s*\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
# ... and the marks of a sentence: quotes around two words or more, a colon.
_QUOTED: Final = re.compile(r"\"[^\"\n]+\"|“[^”]+”|«[^»]+»|(?<![\w])'(?:[^'\n]|(?<=\w)'(?=\w))+'(?![\w])")
_AFTER_COLON: Final = re.compile(r":\s*(\S.*)\Z", re.DOTALL)
_LEAST_WORDS_OF_A_BRIEF: Final = 4
_LONG_WITHOUT_SPACES: Final = 15  # characters: a sentence in a script without spaces, not a label

_Asks = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What is asked (`folded`: lower case, no accents) and the `given` text, "" if none was found.

    `is_marked` says that structure set the text apart (a fence, a tag, a label, a paragraph, a message of its
    own), not only quotes or a colon, which also surround claims and names.
    """

    folded: str
    given: str
    is_marked: bool

    @property
    def given_words(self) -> int:
        """The length of the given text; a script without spaces counts two characters as a word."""
        words = self.given.split()
        return max(len(words), sum(len(word) // 2 for word in words if not word.isascii() and len(word) > 30))


def fold(text: str) -> str:
    """Lower case without accents, so that one pattern serves `análise` and `analise`."""
    decomposed = unicodedata.normalize("NFKD", text).lower()
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _lift(pattern: re.Pattern[str], text: str, asks: _Asks) -> tuple[str, list[str]]:
    """Take the pattern's matches of at least two words, which ask nothing themselves, out of the text."""
    found: list[str] = []

    def take(match: re.Match[str]) -> str:
        span = next((group for group in match.groups() if group and " " in group.strip()), match.group(0))
        short = len(span.split()) < 2 and (span.isascii() or len(span) < _LONG_WITHOUT_SPACES)
        if short or (pattern is _LABELLED and asks(match.group(0)) and not asks(text.replace(match.group(0), ""))):
            return match.group(0)
        found.append(span.strip())
        return match.group(0).replace(span, " ¶ ")

    return pattern.sub(take, text), found


def _split_paragraphs(text: str, asks: Sequence[_Asks]) -> tuple[str, str]:
    """The paragraphs, or else the lines, that ask nothing are given; some must ask, and some must not.

    The first of `asks` that tells them apart decides: the widest one may find an order in every part.
    """
    for separator in (r"\n\s*\n", r"\n"):
        parts = [part for part in re.split(separator, text.strip()) if part.strip()]
        for does_ask in asks:
            asking = [part for part in parts if does_ask(part)]
            silent = [part for part in parts if not does_ask(part)]
            if asking and silent:
                return "\n".join((*asking, "¶")), "\n".join(silent)
    return text, ""


def _split(text: str, asks: Sequence[_Asks]) -> tuple[str, str, bool]:
    for pattern in (_FENCED, _RULED, _QUOTED, _LABELLED):
        rest, found = _lift(pattern, text, asks[0])
        if found:
            given = "\n".join(found)
            if pattern is _RULED and asks[0](given) and not asks[0](rest):  # the text first, the order under the rule
                return f"¶\n{given}", rest.replace("¶", "").strip().rstrip("-=#* \n"), True
            before, newline, last = given.rpartition("\n")
            if pattern is _LABELLED and newline and last.endswith("?"):  # the question after the text, unlabelled
                rest, given = f"{rest}\n{last}", before
            return rest, given, pattern is not _QUOTED
    rest, given = _split_paragraphs(text, asks)
    if given:
        return rest, given, True
    rest, found = _lift(_AFTER_COLON, text, asks[0])
    return rest, "\n".join(found), False


def read_instruction(
    messages: Sequence[Message], *, tasks: re.Pattern[str], orders: re.Pattern[str], brief: bool
) -> Instruction:
    """Split the one user turn, the system message included, into instruction and given text.

    `tasks` finds what only an instruction says, `orders` what it mostly says. When the system message names a
    task and the user's does not, or marks no text of its own, the whole user message is given; so it is when
    the system message is a `brief` (the answer's form is fixed elsewhere, by a schema) and the user's asks nothing.
    """
    system = "\n".join(message.text for message in messages if message.role in {"system", "developer"})
    user = "\n".join(message.text for message in messages if message.role == "user")

    def names_task(text: str) -> bool:
        return tasks.search(fold(text)) is not None

    def asks(text: str) -> bool:
        return names_task(text) or orders.search(fold(text)) is not None

    is_brief = brief and len(system.split()) >= _LEAST_WORDS_OF_A_BRIEF
    whole = Instruction(folded=fold(system), given=user.strip(), is_marked=True)
    if (names_task(system) or is_brief) and not names_task(user):
        asked, given, is_marked = _split(user, (asks, names_task))
        return Instruction(folded=fold(f"{system}\n{asked}"), given=given, is_marked=True) if is_marked else whole
    asked, given, is_marked = _split(user, (asks, names_task))
    if not given and names_task(system):
        return whole
    return Instruction(folded=fold(f"{system}\n{asked}"), given=given, is_marked=is_marked)
