"""Which tokens of an answer carry its content."""

import re
from collections.abc import Sequence
from typing import Final

from teto.wire.generation import Piece, TokenLogprob

__all__ = ["evidence_tokens", "same_word"]

# The values of a JSON answer: what stands between the quotes of a string, numbers and words, behind a colon, a
# bracket or a comma, or alone.
_VALUE: Final = r'(?:"((?:[^"\\]|\\.)*)"|(-?\d[\d.eE+-]*|true|false|null))'
_JSON_VALUE: Final = re.compile(rf"\A\s*{_VALUE}\s*\Z|(?<=[:\[,])\s*{_VALUE}(?=\s*[,\]}}])")


def evidence_tokens(pieces: Sequence[Piece], *, is_json: bool) -> list[TokenLogprob]:
    """The tokens that say something: all that have text, or in JSON those that overlap a value.

    The quotes, names and braces of a structured answer are forced by the grammar: how unlikely the model found
    them says nothing about the values.
    """
    if not is_json:
        return [token for piece in pieces for token in piece.tokens if token.text.strip()]
    matches = _JSON_VALUE.finditer("".join(piece.text for piece in pieces))
    spans = [match.span(match.lastindex or 0) for match in matches if match[match.lastindex or 0]]
    kept: list[TokenLogprob] = []
    start = 0
    for piece in pieces:
        end = start + len(piece.text)
        if any(start < stop and end > begin for begin, stop in spans):
            kept += [token for token in piece.tokens if token.text.strip(' "\n')]
        start = end
    return kept


def same_word(first: str, second: str) -> bool:
    """Whether two tokens spell one word: `Positive` and ` positive` do."""
    return first.strip().lower() == second.strip().lower()
