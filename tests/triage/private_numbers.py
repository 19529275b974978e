"""Numbers with check digits, made here by other means than the detectors': what tests hide in texts."""

from collections.abc import Sequence
from typing import Final

__all__ = ["CARD_HEADS", "IBAN_BODIES", "make_card", "make_cnpj", "make_cpf", "make_iban", "make_rg"]

# Heads of cards with the length of the whole.
CARD_HEADS: Final = (("4", 16), ("51", 16), ("2221", 16), ("37", 15), ("36", 14), ("6011", 16), ("3528", 16))
# A country and the characters behind its check digits.
IBAN_BODIES: Final = (("DE", 18), ("BR", 25), ("NO", 11), ("PT", 21), ("MT", 27), ("GB", 18))


def _weigh(values: Sequence[int], weights: Sequence[int]) -> int:
    rest = 11 - sum(value * weight for value, weight in zip(values, weights, strict=True)) % 11
    return 0 if rest > 9 else rest


def make_cpf(nine: str) -> str:
    """A CPF from its first nine digits."""
    first = _weigh([int(digit) for digit in nine], [10, 9, 8, 7, 6, 5, 4, 3, 2])
    second = _weigh([*(int(digit) for digit in nine), first], [11, 10, 9, 8, 7, 6, 5, 4, 3, 2])
    return f"{nine}{first}{second}"


def make_cnpj(twelve: str) -> str:
    """A CNPJ from its first twelve characters, digits or capital letters."""
    values = [ord(character) - 48 for character in twelve]
    first = _weigh(values, [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
    second = _weigh([*values, first], [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
    return f"{twelve}{first}{second}"


def make_rg(eight: str) -> str:
    """An RG of São Paulo from its eight digits: their sum, the last times 9, and the check times 100, divide by 11."""
    total = sum(int(digit) * weight for digit, weight in zip(eight, range(2, 10), strict=True))
    return f"{eight}{'0123456789X'[next(check for check in range(11) if (total + 100 * check) % 11 == 0)]}"


def make_card(head: str, length: int, filler: str) -> str:
    """A card of that head and length; the last digit is the one for which the sum of Luhn ends in 0."""
    body = (head + filler)[: length - 1]

    def total(digits: str) -> int:
        doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
        return sum(doubled) + sum(int(digit) for digit in digits[-1::-2])

    return body + next(digit for digit in "0123456789" if total(body + digit) % 10 == 0)


def make_iban(country: str, body: str) -> str:
    """An IBAN: its check digits are 98 less the remainder of the turned number with 00 in their place."""
    turned = "".join(str(ord(c) - 55) if c.isalpha() else c for c in f"{body}{country}00")
    return f"{country}{98 - int(turned) % 97:02}{body}"
