"""Check digits, worked by hand."""

import pytest

from teto.triage.privacy.checksums import cnpj_holds, cpf_holds, iban_holds, luhn_holds, rg_sp_holds


@pytest.mark.parametrize(
    ("digits", "holds"),
    [
        # 111.444.777: 10+9+8+28+24+20+28+21+14 = 162, 162 mod 11 = 8, so 3; then 11+10+9+32+28+24+35+28+21+6 = 204,
        # 204 mod 11 = 6, so 5.
        ("11144477735", True),
        # 100.000.001: 10+2 = 12, remainder 1, so 0; then 11+3 = 14, remainder 3, so 8.
        ("10000000108", True),
        ("11144477734", False),
        ("11144477725", False),
        ("11144477753", False),
        ("10000000118", False),
        # Each passes the formula, and none was ever issued.
        ("00000000000", False),
        ("11111111111", False),
        ("99999999999", False),
    ],
)
def test_cpf(digits: str, *, holds: bool) -> None:
    """Both check digits of a CPF must be right, and one digit repeated is none."""
    assert cpf_holds(digits) is holds


@pytest.mark.parametrize(
    ("characters", "holds"),
    [
        # 11.222.333/0001: 5+4+6+4+18+24+21+18+0+0+0+2 = 102, remainder 3, so 8; then with the 8
        # 6+5+8+6+4+27+24+21+0+0+0+3+16 = 120, remainder 10, so 1.
        ("11222333000181", True),
        ("11222333000182", False),
        ("11222333000171", False),
        ("00000000000000", False),
        # 12.ABC.345/01DE, A = 17 ... E = 21: 5+8+51+36+171+24+28+30+0+4+60+42 = 459, remainder 8, so 3; then
        # 6+10+68+54+38+27+32+35+0+5+80+63+6 = 424, remainder 6, so 5.
        ("12ABC34501DE35", True),
        ("12ABC34501DE34", False),
        ("12ABC34501DF35", False),
    ],
)
def test_cnpj(characters: str, *, holds: bool) -> None:
    """Both check digits of a CNPJ must be right, with digits alone and with the letters of 2026."""
    assert cnpj_holds(characters) is holds


@pytest.mark.parametrize(
    ("characters", "holds"),
    [
        ("123456782", True),  # 9+16+21+24+25+24+21+16 = 156 = 14·11 + 2
        ("294653272", True),  # 18+72+28+36+25+12+6+14 = 211 = 19·11 + 2
        ("10000006X", True),  # 9+12 = 21 = 11 + 10, and ten is X
        ("10000006x", True),
        ("123456789", False),
        ("100000060", False),
        ("000000000", False),
    ],
)
def test_rg_of_sao_paulo(characters: str, *, holds: bool) -> None:
    """The check character is the remainder by 11, X for ten."""
    assert rg_sp_holds(characters) is holds


@pytest.mark.parametrize(
    ("digits", "holds"),
    [
        ("4111111111111111", True),  # eight ones and 8 + 7·2 doubled: 30
        ("5555555555554444", True),
        ("378282246310005", True),
        ("79927398713", True),
        ("79927398710", False),
        ("4111111111111112", False),
        ("4111111111111101", False),
    ],
)
def test_luhn(digits: str, *, holds: bool) -> None:
    """Every second digit from the right is doubled, and the sum ends in 0."""
    assert luhn_holds(digits) is holds


@pytest.mark.parametrize(
    ("characters", "holds"),
    [
        ("GB82WEST12345698765432", True),
        ("gb82west12345698765432", True),
        ("DE89370400440532013000", True),
        ("BR1800360305000010009795493C1", True),
        ("NO9386011117947", True),
        ("DE88370400440532013000", False),
        ("DE89370400440532013001", False),
        ("GB82WEST12345698765423", False),
    ],
)
def test_iban(characters: str, *, holds: bool) -> None:
    """Turned by four characters, with letters from 10, the remainder by 97 is 1 (the registry's own examples)."""
    assert iban_holds(characters) is holds
