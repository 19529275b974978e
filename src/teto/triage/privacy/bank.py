"""Bank accounts and payment cards."""

import re
from collections.abc import Iterator
from typing import Final

from teto.triage.privacy.checksums import iban_holds, luhn_holds
from teto.triage.privacy.finding import Span, every_match

__all__ = ["find_card", "find_iban"]

# Characters of an IBAN by country: SWIFT's IBAN registry (ISO 13616), as of 2025.
_IBAN_LENGTHS: Final = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29,
    "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29,
    "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28,
    "HN": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20,
    "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19,
    "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29,
    "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24, "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24,
    "SM": 27, "SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
    "YE": 30,
}  # fmt: skip
_A: Final = "[0-9A-Za-z]"
_IBAN_HEAD: Final = re.compile(rf"[A-Za-z](?<!{_A}.)[A-Za-z][0-9]{{2}}(?=[ -]?{_A})")
_NOT_ALPHANUMERIC: Final = re.compile("[^0-9A-Za-z]")


def _iban_tail(length: int) -> re.Pattern[str]:
    """What follows the first four characters: in one piece, or in fours with a space or a hyphen before each."""
    fours, rest = divmod(length - 4, 4)
    last = rf"[ -]{_A}{{{rest}}}" if rest else ""
    return re.compile(rf"(?:{_A}{{{length - 4}}}|(?:[ -]{_A}{{4}}){{{fours}}}{last})(?!{_A})")


_IBAN_TAILS: Final = {length: _iban_tail(length) for length in sorted(set(_IBAN_LENGTHS.values()))}


def find_iban(text: str) -> Iterator[Span]:
    """IBANs: a country's code, two check digits and as many characters as that country has, its letters of one case."""
    for head in _IBAN_HEAD.finditer(text):
        length = _IBAN_LENGTHS.get(head[0][:2].upper())
        tail = _IBAN_TAILS[length].match(text, head.end()) if length is not None else None
        if tail is None:
            continue
        characters = _NOT_ALPHANUMERIC.sub("", head[0] + tail[0])
        if characters in {characters.upper(), characters.lower()} and iban_holds(characters):
            yield head.start(), tail.end()


_STARTS: Final = rf"(?<!{_A}.)(?<![0-9][.-].)"
_ENDS: Final = rf"(?!{_A}|[.-][0-9])"
# Bare; in four fours, with three more digits behind them; in the groups of American Express and Diners Club.
_CARDS: Final = tuple(
    re.compile(rf"[0-9]{_STARTS}{digits}{_ENDS}")
    for digits in (
        r"[0-9]{12,18}",
        r"[0-9]{3}([ .-])[0-9]{4}\1[0-9]{4}\1[0-9]{4}",
        r"[0-9]{3}([ .-])[0-9]{4}\1[0-9]{4}\1[0-9]{4}\1[0-9]{3}",
        r"[0-9]{3}([ .-])[0-9]{6}\1[0-9]{4,5}",
    )
)
# The first and last prefix of an issuer's range, and the lengths of its numbers (as the schemes publish them).
_LONG: Final = range(16, 20)
_ISSUERS: Final[tuple[tuple[int, int, range], ...]] = (
    (4, 4, range(16, 20, 3)),  # Visa
    (51, 55, range(16, 17)),  # Mastercard
    (2221, 2720, range(16, 17)),
    (34, 34, range(15, 16)),  # American Express
    (37, 37, range(15, 16)),
    (300, 305, range(14, 15)),  # Diners Club
    (3095, 3095, range(14, 15)),
    (36, 36, range(14, 15)),
    (38, 39, range(14, 15)),
    (6011, 6011, _LONG),  # Discover
    (644, 659, _LONG),  # Discover, and the Elo ranges that begin with 65
    (3528, 3589, _LONG),  # JCB
    (62, 62, _LONG),  # UnionPay
    (506699, 506778, range(16, 17)),  # Elo
    (509000, 509999, range(16, 17)),
    (504175, 504175, range(16, 17)),
    (627780, 627780, range(16, 17)),
    (636297, 636297, range(16, 17)),
    (636368, 636368, range(16, 17)),
    (606282, 606282, _LONG),  # Hipercard
    (637095, 637095, range(16, 17)),
    (637568, 637568, range(16, 17)),
)  # fmt: skip


def _has_issuer(digits: str) -> bool:
    return any(
        len(digits) in lengths and first <= int(digits[: len(str(first))]) <= last for first, last, lengths in _ISSUERS
    )


def find_card(text: str) -> Iterator[Span]:
    """Payment cards: an issuer's first digits, a length it uses, Luhn's digit; bare or in groups."""
    for pattern in _CARDS:
        for found in every_match(pattern, text):
            digits = _NOT_ALPHANUMERIC.sub("", found[0])
            if len(set(digits)) > 1 and _has_issuer(digits) and luhn_holds(digits):
                yield found.span()
