"""Tells the instruction of a request from the text it is given to work on."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from teto.wire.chat import Message

__all__ = ["Instruction", "fold", "read_instruction"]

# Where given text stands: fenced, tagged, quoted (two words or more), after a rule, or behind a label.
_FENCED = re.compile(r"```.*?```|\"\"\".*?\"\"\"|<([a-z_]+)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"\n]+\"|“[^”]+”|«[^»]+»|(?<![\w])'(?:[^'\n]|(?<=\w)'(?=\w))+'(?![\w])")
_RULED = re.compile(
    r"^(?:-{3,}|={3,}|#{3,}|\*{3,})\s*$(.+?)(?:^(?:-{3,}|={3,}|#{3,}|\*{3,})\s*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
# A label is a capitalised noun of one or two words; what it labels ends at the next label or empty line.
_LABELLED = re.compile(
    r"(?:^|(?<=[.?!:\n])\s)[^\S\n]*(?!(?:Question|Pergunta|Task|Tarefa)\b)[A-ZÀ-Ý][\w-]{1,20}(?: [\wÀ-ÿ-]{1,20})?:\s*"
    r"(\S.*?)(?=\s(?:Question|Pergunta|Answer|Resposta|Task|Tarefa|Q|P|Label|Category|Categoria)\s*:|\n\s*\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_AFTER_COLON = re.compile(r":\s*(\S.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What is asked (`folded`: lower case, no accents) and the `given` text, "" if none was found."""

    folded: str
    given: str

    @property
    def given_words(self) -> int:
        """The length of the given text."""
        return len(self.given.split())


def fold(text: str) -> str:
    """Lower case without accents, so that one pattern serves `análise` and `analise`."""
    decomposed = unicodedata.normalize("NFKD", text).lower()
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _lift(pattern: re.Pattern[str], text: str) -> tuple[str, list[str]]:
    """Take the pattern's matches of at least two words out of the text."""
    found: list[str] = []

    def take(match: re.Match[str]) -> str:
        span = next((group for group in match.groups() if group and " " in group.strip()), match.group(0))
        if len(span.split()) < 2:
            return match.group(0)
        found.append(span.strip())
        return match.group(0).replace(span, " ¶ ")

    return pattern.sub(take, text), found


def _split(text: str) -> tuple[str, str]:
    for pattern in (_FENCED, _RULED, _QUOTED, _LABELLED, _AFTER_COLON):
        rest, found = _lift(pattern, text)
        if found:
            return rest, "\n".join(found)
    paragraphs = re.split(r"\n\s*\n|\n", text.strip())
    if len(paragraphs) > 1:
        longest = max(paragraphs[1:], key=len)
        return text.replace(longest, " ¶ "), longest
    return text, ""


def read_instruction(messages: Sequence[Message], *, is_instruction: re.Pattern[str]) -> Instruction:
    """Split the one user turn, the system message included, into instruction and given text.

    When the system message alone holds the instruction (`is_instruction` finds its verb there and not in the
    user's), the whole user message is the given text.
    """
    system = "\n".join(message.text for message in messages if message.role in {"system", "developer"})
    user = "\n".join(message.text for message in messages if message.role == "user")
    if is_instruction.search(fold(system)) and not is_instruction.search(fold(user)):
        return Instruction(folded=fold(system), given=user.strip())
    asked, given = _split(user)
    return Instruction(folded=fold(f"{system}\n{asked}"), given=given)
