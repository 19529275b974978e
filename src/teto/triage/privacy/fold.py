"""A text in the form that detectors read: digits, spaces and dashes of one kind, without invisible characters.

Text is written with what a keyboard, a spreadsheet or a PDF gives: full-width digits, thin spaces between groups, an
en dash for a hyphen, a zero-width space where a line may break. None of that changes what a number says.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from teto.triage.privacy.finding import Span

__all__ = ["Folded", "fold"]

# Characters of the same length as what they stand for: places stay where they are.
_SPACES: Final = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\t"
_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u02d7\u00ad\ufe58\ufe63"
_DOTS: Final = "\u2024\ufe52\u3002"
_SLASHES: Final = "\u2044\u2215"
_SAME_LENGTH: Final = {
    **dict.fromkeys(_SPACES, " "),
    **dict.fromkeys(_DASHES.replace("\u00ad", ""), "-"),
    **dict.fromkeys(_DOTS, "."),
    **dict.fromkeys(_SLASHES, "/"),
    **{chr(0xFF01 + offset): chr(0x21 + offset) for offset in range(94)},  # the full-width forms of ASCII
}
_FOLDS: Final = re.compile(f"[{re.escape(''.join(_SAME_LENGTH))}]")
_OTHER_DIGITS: Final = re.compile(r"[^\D0-9]")  # decimal digits of every script but ASCII
# Zero-width spaces and joiners, marks of direction, the soft hyphen, the byte-order mark, variation selectors.
_INVISIBLE: Final = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """A folded text; `cuts` are the places in it at which something was left out, `left_out` how much up to there."""

    text: str
    cuts: Sequence[int]
    left_out: Sequence[int]

    def _place(self, folded: int) -> int:
        before = bisect_right(self.cuts, folded)
        return folded + (self.left_out[before - 1] if before else 0)

    def original(self, span: Span) -> Span:
        """The span in the text as it was given; what was left out inside it is inside again."""
        start, end = span
        return self._place(start), self._place(end - 1) + 1


def fold(text: str) -> Folded:
    """Fold a text; every span of the result can be traced back."""
    if text.isascii():
        return Folded(text=text.replace("\t", " "), cuts=(), left_out=())
    same = _FOLDS.sub(lambda found: _SAME_LENGTH[found[0]], text)
    same = _OTHER_DIGITS.sub(lambda found: str(unicodedata.decimal(found[0])), same)
    cuts: list[int] = []
    left_out: list[int] = []
    total = 0
    for found in _INVISIBLE.finditer(same):
        cuts.append(found.start() - total)
        total += found.end() - found.start()
        left_out.append(total)
    return Folded(text=_INVISIBLE.sub("", same), cuts=cuts, left_out=left_out)
