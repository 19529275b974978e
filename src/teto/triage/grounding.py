"""How an answer hangs together with its request: words and numbers that it took from it, and its length."""

import re
from dataclasses import dataclass
from math import log, log1p
from typing import Final

from teto.triage.instruction import fold

__all__ = ["Grounding", "grounding_of"]

_WORD: Final = re.compile(r"\w+")
_NUMBER: Final = re.compile(r"\d+(?:[.,:/]\d+)*")
_EDGES: Final = " \n.!\"'`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounding:
    """Shares, counts and lengths as they enter a score; counts and lengths as logs of one more.

    `novel_numbers` are numbers of the answer that the request does not hold; `is_unchanged` says that the answer is
    the given text itself, which a rewrite should not be.
    """

    copied_fraction: float
    novel_numbers: float
    length_ratio: float
    is_unchanged: float
    given_words: float


def grounding_of(answer: str, *, request: str, given: str) -> Grounding:
    """The grounding of an answer in its request and in the text that it was given to work on."""
    words, there = _WORD.findall(fold(answer)), frozenset(_WORD.findall(fold(request)))
    numbers = frozenset(_NUMBER.findall(request))
    given_words = len(_WORD.findall(given))
    return Grounding(
        copied_fraction=sum(word in there for word in words) / len(words) if words else 0.0,
        novel_numbers=log1p(sum(number not in numbers for number in _NUMBER.findall(answer))),
        length_ratio=log((len(words) + 1) / (given_words + 1)),
        is_unchanged=float(bool(given.strip()) and fold(answer).strip(_EDGES) == fold(given).strip(_EDGES)),
        given_words=log1p(given_words),
    )
