"""Brazilian telephone numbers, known by how they are written or by a word beside them.

Ten or eleven digits alone are an order number as often as a telephone, and no check digit tells them apart.
"""

import re
from collections.abc import Iterator
from typing import Final

from teto.triage.privacy.finding import Span

__all__ = ["find_phone_br"]

# The 67 area codes in use (Anatel's numbering plan); mobile numbers have nine digits, the first of them 9.
_AREA: Final = "(?:1[1-9]|2[12478]|3[1-578]|4[1-9]|5[1345]|6[1-9]|7[134579]|8[1-9]|9[1-9])"
_MOBILE: Final = "9[ .]?[0-9]{4}"
_LANDLINE: Final = "[2-5][0-9]{3}"
_ENDS: Final = r"(?![0-9A-Za-z]|[.-][0-9])"

# The country's code behind a plus, or the area in brackets: a telephone by its form.
_PLUS: Final = re.compile(rf"\+ ?55[ .-]?\(?0?{_AREA}\)?[ .-]?(?:{_MOBILE}|{_LANDLINE})[ .-]?[0-9]{{4}}{_ENDS}")
_BRACKETS: Final = re.compile(rf"\((?:0|0xx|0XX)?{_AREA}\)[ .-]{{0,2}}(?:{_MOBILE}|{_LANDLINE})[ .-]?[0-9]{{4}}{_ENDS}")
# Where else a number may begin; which form it has is tried from there.
_START: Final = re.compile(r"[0-9](?<![0-9A-Za-z+].)(?<![0-9][./-].)(?=[0-9])")
_COUNTRY: Final = r"(?:00 ?)?55"
_ALONE: Final = re.compile(
    rf"(?:(?:{_COUNTRY}[ .-]?)?0?{_AREA}[ .-]{_MOBILE}-[0-9]{{4}}"
    rf"|{_COUNTRY}[ .-]\(?{_AREA}\)?[ .-]?{_MOBILE}[ .-]?[0-9]{{4}}"
    rf"|{_COUNTRY}{_AREA}9[0-9]{{8}}){_ENDS}"
)
_BESIDE_A_WORD: Final = re.compile(
    rf"(?:(?:{_COUNTRY}[ .-]?)?0?{_AREA}[ .-]?)?(?!(?:19|20)[0-9]{{2}}-(?:19|20))"
    rf"(?:{_MOBILE}|{_LANDLINE})[ .-]?[0-9]{{4}}{_ENDS}"
)
_WORD: Final = (
    r"tel|tels|telefones?|telephone|fones?|celular(?:es)?|cel|whats|whatsapp|zap|wpp|ligue|liga|ligar|phones?|mobile|"
    r"cell|call (?:me|us)"
)
# Between the word and the number stand no other number and no word for something else that is counted.
_BEFORE: Final = re.compile(rf"(?<![0-9A-Za-z])(?:{_WORD})(?![0-9A-Za-z])([^0-9]{{0,32}})\Z", re.IGNORECASE)
_AFTER: Final = re.compile(rf"[^0-9A-Za-z\n]{{1,4}}(?:{_WORD})(?![0-9A-Za-z])", re.IGNORECASE)
_SOMETHING_ELSE: Final = re.compile(
    r"pedido|protocolo|ordem|order|c[óo]digo|code|nota|processo|rastreio|tracking|ticket|chamado|invoice|serial|contrato",
    re.IGNORECASE,
)
_LOOK_BACK: Final = 48
_LOOK_AHEAD: Final = 20


def _has_word(text: str, start: int, end: int) -> bool:
    before = _BEFORE.search(text[max(0, start - _LOOK_BACK) : start])
    if before is not None and _SOMETHING_ELSE.search(before[1]) is None:
        return True
    return _AFTER.match(text[end : end + _LOOK_AHEAD]) is not None


def find_phone_br(text: str) -> Iterator[Span]:
    """Telephones: with +55, with the area in brackets, a mobile with its hyphen, or any form beside a word for one."""
    for pattern in (_PLUS, _BRACKETS):
        for written in pattern.finditer(text):
            yield written.span()
    for begun in _START.finditer(text):
        found = _ALONE.match(text, begun.start())
        if found is None:
            beside = _BESIDE_A_WORD.match(text, begun.start())
            found = beside if beside is not None and _has_word(text, *beside.span()) else None
        if found is not None:
            yield found.span()
