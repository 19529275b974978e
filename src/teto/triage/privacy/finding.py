"""What a detector reports: a kind and a place, never the value."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

__all__ = ["KINDS", "Finding", "Kind", "Span", "every_match"]

Kind = Literal["cpf", "cnpj", "phone_br", "rg", "iban", "card", "email", "api_key"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

Span = tuple[int, int]
"""Start and end of a piece of text, the end exclusive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding: `start` and `end` count characters of the text as it was given, the end exclusive."""

    kind: Kind
    start: int
    end: int


def every_match(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The match at each place where there is one, even inside another: `2026 4111 1111 1111 1111` holds a card.

    Linear for patterns of bounded length.
    """
    found = pattern.search(text)
    while found is not None:
        yield found
        found = pattern.search(text, found.start() + 1)
