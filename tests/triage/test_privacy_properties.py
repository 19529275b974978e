"""Detectors on generated numbers in generated surroundings."""

from typing import Final

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.triage.private_numbers import (
    CARD_HEADS,
    IBAN_BODIES,
    make_card,
    make_cnpj,
    make_cpf,
    make_iban,
    make_rg,
)
from teto.triage.privacy.find import find_private, redact
from teto.triage.privacy.finding import Kind

_DIGIT: Final = "0123456789"
_CAPITAL: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def digits(count: int) -> st.SearchStrategy[str]:
    """That many digits."""
    return st.text(_DIGIT, min_size=count, max_size=count)


around = st.text(max_size=40)
cpfs = digits(9).map(make_cpf).filter(lambda cpf: len(set(cpf)) > 1)
cnpjs = st.text(_DIGIT + _CAPITAL, min_size=12, max_size=12).map(make_cnpj).filter(lambda cnpj: len(set(cnpj)) > 1)
rgs = digits(8).filter(lambda eight: len(set(eight)) > 1).map(make_rg)
ibans = st.sampled_from(IBAN_BODIES).flatmap(
    lambda of: st.text(_DIGIT + _CAPITAL, min_size=of[1], max_size=of[1]).map(lambda body: make_iban(of[0], body))
)
cards = st.sampled_from(CARD_HEADS).flatmap(
    lambda of: digits(16).map(lambda filler: make_card(of[0], of[1], filler)).filter(lambda card: len(set(card)) > 1)
)


def covers(text: str, start: int, end: int, kind: Kind) -> bool:
    """Whether a finding of the kind covers that place."""
    return any(item.start <= start and item.end >= end for item in find_private(text, [kind]))


def hide(before: str, number: str, after: str) -> tuple[str, int, int]:
    """The number between two texts, apart from them, and where it stands."""
    head = f"{before} ["
    return f"{head}{number}] {after}", len(head), len(head) + len(number)


def shifted(number: str, place: int, by: int) -> str:
    """The number with one digit changed."""
    return f"{number[:place]}{(int(number[place]) + by) % 10}{number[place + 1 :]}"


@given(before=around, cpf=cpfs, after=around, formatted=st.booleans())
def test_every_cpf_is_found(before: str, cpf: str, after: str, *, formatted: bool) -> None:
    """A number with right check digits is found in any surroundings, bare or written out."""
    shown = f"{cpf[:3]}.{cpf[3:6]}.{cpf[6:9]}-{cpf[9:]}" if formatted else cpf
    assert covers(*hide(before, shown, after), "cpf")


@given(cpf=cpfs, place=st.integers(9, 10), by=st.integers(1, 9))
def test_no_cpf_with_a_wrong_check_digit_is_found(cpf: str, place: int, by: int) -> None:
    """Each wrong value of either check digit is seen."""
    assert find_private(f"CPF {shifted(cpf, place, by)}.", ["cpf"]) == ()


@given(before=around, cnpj=cnpjs, after=around, formatted=st.booleans())
def test_every_cnpj_is_found(before: str, cnpj: str, after: str, *, formatted: bool) -> None:
    """With digits and with letters, bare in capitals or written out."""
    shown = f"{cnpj[:2]}.{cnpj[2:5]}.{cnpj[5:8]}/{cnpj[8:12]}-{cnpj[12:]}" if formatted else cnpj
    assert covers(*hide(before, shown, after), "cnpj")


@given(cnpj=cnpjs, place=st.integers(12, 13), by=st.integers(1, 9))
def test_no_cnpj_with_a_wrong_check_digit_is_found(cnpj: str, place: int, by: int) -> None:
    """Each wrong value of either check digit is seen."""
    assert find_private(f"CNPJ {shifted(cnpj, place, by)}.", ["cnpj"]) == ()


@given(before=around, rg=rgs, after=around)
def test_every_formatted_rg_of_sao_paulo_is_found(before: str, rg: str, after: str) -> None:
    """Written as it is printed, its check character right."""
    shown = f"{rg[:2]}.{rg[2:5]}.{rg[5:8]}-{rg[8]}"
    assert covers(*hide(before, shown, after), "rg")


@given(rg=rgs, other=st.sampled_from("0123456789X"))
def test_no_rg_with_a_wrong_check_is_found_without_the_word(rg: str, other: str) -> None:
    """Any other check character is seen."""
    assume(other != rg[8])
    assert find_private(f"{rg[:2]}.{rg[2:5]}.{rg[5:8]}-{other}", ["rg"]) == ()


@given(before=around, iban=ibans, after=around, formatted=st.booleans())
def test_every_iban_is_found(before: str, iban: str, after: str, *, formatted: bool) -> None:
    """In one piece or in fours, for short and long countries."""
    shown = " ".join(iban[at : at + 4] for at in range(0, len(iban), 4)) if formatted else iban
    assert covers(*hide(before, shown, after), "iban")


@given(iban=ibans, place=st.integers(2, 3), by=st.integers(1, 9))
def test_no_iban_with_a_wrong_check_digit_is_found(iban: str, place: int, by: int) -> None:
    """One check digit off is never right: 97 is prime, and more than 90 apart would be two digits."""
    assert find_private(f"IBAN {shifted(iban, place, by)}.", ["iban"]) == ()


@given(before=around, card=cards, after=around, sign=st.sampled_from(["", " ", "-"]))
def test_every_card_is_found(before: str, card: str, after: str, sign: str) -> None:
    """Of each issuer, bare or in the groups that it prints."""
    sizes = {16: (4, 4, 4, 4), 15: (4, 6, 5), 14: (4, 6, 4)}[len(card)]
    places = [sum(sizes[:index]) for index in range(len(sizes))]
    shown = sign.join(card[at : at + size] for at, size in zip(places, sizes, strict=True))
    assert covers(*hide(before, shown, after), "card")


@given(card=cards, by=st.integers(1, 9))
def test_no_card_with_a_wrong_check_digit_is_found(card: str, by: int) -> None:
    """Each wrong last digit is seen."""
    assert find_private(f"card {shifted(card, len(card) - 1, by)}.", ["card"]) == ()


@given(cpf=cpfs, invisible=st.lists(st.tuples(st.integers(0, 10), st.sampled_from("\u200b\u200d\ufeff\u2060\u00ad"))))
def test_invisible_characters_hide_nothing(cpf: str, invisible: list[tuple[int, str]]) -> None:
    """Wherever they stand in a number, it is found, from its first digit to its last."""
    shown = cpf
    for place, character in invisible:
        shown = f"{shown[: place + 1]}{character}{shown[place + 1 :]}" if place < len(shown) - 1 else shown
    assert covers(*hide("", shown, ""), "cpf")


@given(text=st.text())
def test_any_text_can_be_searched(text: str) -> None:
    """No text is a fault; places lie inside it; and what is redacted holds nothing of it that was found."""
    for item in find_private(text):
        assert 0 <= item.start < item.end <= len(text)
    assert isinstance(redact(text), str)


@settings(max_examples=30)
@given(numbers=st.lists(cpfs | cards | cnpjs, max_size=5), words=st.lists(st.sampled_from(["de", "o", "pedido", "at"])))
def test_redacted_text_holds_nothing_to_find(numbers: list[str], words: list[str]) -> None:
    """What was found is gone: a second search of the result finds nothing."""
    text = " ".join([*words, *numbers, *words])
    cleaned = redact(text, ["cpf", "cnpj", "card"])
    assert find_private(cleaned, ["cpf", "cnpj", "card"]) == ()
    assert all(number not in cleaned for number in numbers)
