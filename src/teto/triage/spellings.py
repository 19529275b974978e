"""What a number or a date that is written in English or Portuguese may mean: every reading of it."""

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["dates", "is_spelled_number", "numbers"]

_CURRENCY: Final = re.compile(r"r\$|us\$|[$€£]|\b(?:brl|usd|eur|gbp|reais|dollars|dolares|euros)\b")
_DECIMAL: Final = re.compile(r"[-+−]?\d+(?:([.,])\d+)?")
_GROUPED: Final = re.compile(r"[-+−]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-+−]?\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_LEADING_ZERO: Final = re.compile(r"[-+−]?0\d")

_YEAR_FIRST: Final = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:t00:00(?::00)?z?)?")
_YEAR_LAST: Final = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_DAY_NAMED: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th|o)? (?:of |de )?([a-z]{3,9})\.?,? (?:of |de )?(\d{4})")
_MONTH_NAMED: Final = re.compile(r"([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
# By their first three letters: English, and Portuguese where it differs.
_MONTHS: Final = {
    name: at + 1
    for names in (
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "jan fev mar abr mai jun jul ago set out nov dez",
    )
    for at, name in enumerate(names.split())
}

_SPELLED: Final = re.compile(
    r"(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|half|dozen"
    r"|um|uma|dois|duas|tres|quatro|cinco|seis|sete|oito|nove|dez|onze|doze|treze|quatorze|catorze|quinze|dezesseis"
    r"|dezessete|dezoito|dezenove|vinte|trinta|quarenta|cinquenta|sessenta|setenta|oitenta|noventa|cem|cento"
    r"|\w+centos|\w+centas|mil|milhao|milhoes|mei[oa]|duzia|primeir[oa]|first|second|third)"
)

_Date = tuple[int, int, int]


def numbers(folded: str) -> frozenset[float]:
    """The values that a folded text of nothing but a number may have; none where it is no number.

    `1.234` is a decimal in English and a thousand in Portuguese: both. A leading zero makes it a code. Currency
    signs are dress.
    """
    text = " ".join(_CURRENCY.sub(" ", folded).strip(" .,;!?*\"'`").split()).replace("- ", "-")
    if _LEADING_ZERO.match(text):
        return frozenset()
    found = set()
    if _DECIMAL.fullmatch(text):
        found.add(float(text.replace(",", ".").replace("−", "-")))
    if _GROUPED.fullmatch(text):
        mark = "," if text.find(",") > -1 and (text.find(".") == -1 or text.find(",") < text.find(".")) else "."
        found.add(float(text.replace(mark, "").replace(",", ".").replace("−", "-")))
    return frozenset(found)


def is_spelled_number(words: Sequence[str]) -> bool:
    """Whether one of the folded words is a number in words, or most likely so."""
    return any(_SPELLED.fullmatch(word) for word in words)


def dates(folded: str) -> frozenset[_Date]:
    """The (year, month, day) that a folded text of nothing but a date may mean; none where it is no date.

    `05/03/2024` is in March or in May: both.
    """
    text = " ".join(folded.strip(" .,;!?*\"'`").split())
    if match := _YEAR_FIRST.fullmatch(text):
        return _valid((int(match[1]), int(match[3]), int(match[4])))
    if match := _YEAR_LAST.fullmatch(text):
        one, other, year = int(match[1]), int(match[3]), int(match[4])
        return _valid((year, one, other), (year, other, one))
    if match := _DAY_NAMED.fullmatch(text):
        return _valid((int(match[3]), _MONTHS.get(match[2][:3], 0), int(match[1])))
    if match := _MONTH_NAMED.fullmatch(text):
        return _valid((int(match[3]), _MONTHS.get(match[1][:3], 0), int(match[2])))
    return frozenset()


def _valid(*readings: _Date) -> frozenset[_Date]:
    return frozenset(one for one in readings if 1 <= one[1] <= 12 and 1 <= one[2] <= 31)
