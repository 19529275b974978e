"""Check digits, each as its issuer defines it. They tell a number from a look-alike; none says that it was issued."""

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Final

__all__ = ["cnpj_holds", "cpf_holds", "iban_holds", "luhn_holds", "rg_sp_holds"]

_ZERO: Final = ord("0")
_IBAN_REMAINDER: Final = 1


def _values(characters: str) -> list[int]:
    """Digits are worth themselves, letters their ASCII code minus 48 (A is 17): the rule of the alphanumeric CNPJ."""
    return [ord(character) - _ZERO for character in characters]


def _mod_11_digit(values: Sequence[int], weights_from_right: Iterable[int]) -> int:
    remainder = sum(v * w for v, w in zip(reversed(values), weights_from_right, strict=False)) % 11
    return 0 if remainder < 2 else 11 - remainder


def _two_digits_hold(values: list[int], weights_from_right: Sequence[int]) -> bool:
    body, (first, second) = values[:-2], values[-2:]
    if _mod_11_digit(body, cycle(weights_from_right)) != first:
        return False
    return _mod_11_digit([*body, first], cycle(weights_from_right)) == second


def cpf_holds(digits: str) -> bool:
    """Whether 11 digits are a CPF: two check digits modulo 11, and not one digit eleven times, which none is."""
    return len(set(digits)) > 1 and _two_digits_hold(_values(digits), range(2, 12))


def cnpj_holds(characters: str) -> bool:
    """Whether 14 characters are a CNPJ, of digits or, as issued since 2026, with capital letters in the first 12.

    Two check digits modulo 11, weights 2 to 9 from the right, over and over. Source: Receita Federal, Nota Técnica
    Cocad/Suara/RFB nº 49/2024, whose example is 12.ABC.345/01DE-35.
    """
    return len(set(characters)) > 1 and _two_digits_hold(_values(characters), range(2, 10))


def rg_sp_holds(characters: str) -> bool:
    """Whether 8 digits and a check character are an RG as São Paulo issues it (others differ, or have no check).

    The remainder by 11 of the digits times 9, 8 ... 2, from the left; X stands for 10.
    """
    body, check = characters[:-1], characters[-1].upper()
    if len(set(body)) == 1:
        return False
    remainder = sum(v * w for v, w in zip(_values(body), range(9, 1, -1), strict=True)) % 11
    return check == ("X" if remainder == 10 else str(remainder))


def luhn_holds(digits: str) -> bool:
    """Whether the last digit is the one of Luhn's formula (ISO/IEC 7812-1). One random number in ten passes."""
    total = 0
    for place, value in enumerate(reversed(_values(digits))):
        doubled = 2 * value if place % 2 else value
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def iban_holds(characters: str) -> bool:
    """Whether letters and digits are an IBAN by ISO 13616: its remainder by 97 is 1. One random text in 97 passes."""
    turned = characters[4:] + characters[:4]
    return int("".join(str(int(character, 36)) for character in turned)) % 97 == _IBAN_REMAINDER
