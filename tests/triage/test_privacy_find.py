"""What the detectors find, what they must not find, and where."""

import dataclasses

import pytest

from teto.triage.privacy.find import find_private, redact
from teto.triage.privacy.finding import KINDS, Kind


def found(text: str) -> list[tuple[str, str]]:
    """Kind and text of every finding."""
    return [(item.kind, text[item.start : item.end]) for item in find_private(text)]


@pytest.mark.parametrize(
    "text",
    [
        "111.444.777-35",
        "11144477735",
        "111444777-35",
        "111 444 777 35",
        "111.444.777/35",
        "111.444.777 - 35",
        "O CPF é 111.444.777-35.",
        "cpf:11144477735;",
        "cpf11144477735",
        "CPF_11144477735",
        "(111.444.777-35)",
        "João,11144477735,SP",
        "123 111.444.777-35 45",
        "１１１．４４４．７７７－３５",
        "111.444.777\u201335",
        "111\u00a0444\u2009777\u00a035",
        "111.\u200b444.\u200b777-\u200b35",
        "111.444.777-3\u00ad5",
        "١١١٤٤٤٧٧٧٣٥",
    ],
)
def test_a_cpf_is_found_however_it_is_written(text: str) -> None:
    """Signs, spaces, full-width and other scripts' digits, dashes and invisible characters hide no CPF."""
    assert [kind for kind, _ in found(text)] == ["cpf"]


@pytest.mark.parametrize(
    "text",
    [
        "11.222.333/0001-81",
        "11222333000181",
        "11.222.333 / 0001 - 81",
        "112223330001-81",
        "CNPJ11222333000181",
        "12.ABC.345/01DE-35",
        "12.abc.345/01de-35",
        "12ABC34501DE35",
        "\uff11\uff12.\uff21\uff22\uff23.345/01DE\u201135",
    ],
)
def test_a_cnpj_is_found_with_digits_and_with_letters(text: str) -> None:
    """The old form and the one of 2026, written out or bare."""
    assert [kind for kind, _ in found(text)] == ["cnpj"]


@pytest.mark.parametrize(
    "text",
    [
        "+55 11 98765-4321",
        "+5511987654321",
        "+55 (11) 3333-4444",
        "5511987654321",
        "55 11 98765 4321",
        "(11) 98765-4321",
        "(11)987654321",
        "(011) 3333-4444",
        "(0xx11) 3333-4444",
        "11 98765-4321",
        "11-98765-4321",
        "11 9 8765-4321",
        "telefone 11987654321",
        "Tel.: 1133334444",
        "meu celular é o 11 98765 4321",
        "WhatsApp 98765-4321",
        "ligue 3333-4444",
        "fone: 3333 4444",
        "11987654321 (whatsapp)",
        "my phone is 11987654321",
        "telefone: 11987654321",
    ],
)
def test_a_telephone_is_found_by_its_form_or_a_word(text: str) -> None:
    """The country's code, brackets, a mobile's hyphen, or a word for a telephone beside it."""
    assert [kind for kind, _ in found(text)] == ["phone_br"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12.345.678-2", "12.345.678-2"),
        ("10.000.006-X", "10.000.006-X"),
        ("RG 12.345.678-9", "12.345.678-9"),
        ("RG: 1234567 SSP/MG", "1234567"),
        ("R.G. nº MG-12.345.678", "12.345.678"),
        ("carteira de identidade 123456789", "123456789"),
        ("registro geral 1234567-8", "1234567-8"),
    ],
)
def test_an_rg_is_found_by_its_check_or_by_its_name(text: str, number: str) -> None:
    """Formatted with São Paulo's check character, or any state's number behind the word for it."""
    assert found(text) == [("rg", number)]


@pytest.mark.parametrize(
    "text",
    [
        "DE89370400440532013000",
        "DE89 3704 0044 0532 0130 00",
        "de89 3704 0044 0532 0130 00",
        "GB82-WEST-1234-5698-7654-32",
        "BR1800360305000010009795493C1",
        "NO93 8601 1117 947",
        "DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000",
        "IBAN: DE89370400440532013000, BIC COBADEFFXXX",
    ],
)
def test_an_iban_is_found(text: str) -> None:
    """In one piece or in fours, in capitals or not."""
    assert [kind for kind, _ in found(text)] == ["iban"]


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "4111.1111.1111.1111",
        "4111 1111 1111 1111 123 07/29",
        "2026 4111 1111 1111 1111",
        "5555555555554444",
        "378282246310005",
        "3782 822463 10005",
        "3056 930902 5904",
        "6011111111111117",
        "3530111333300000",
        "6362970000457013",
        "card 4111\u20131111\u20131111\u20131111",
    ],
)
def test_a_card_is_found_in_its_groups(text: str) -> None:
    """Issuers' own test numbers, bare and in groups, with other numbers beside them."""
    assert [kind for kind, _ in found(text)] == ["card"]


@pytest.mark.parametrize(
    "text",
    ["joao@empresa.com.br", "<a.b+c@x.io>", "josé@ação.com.br", "mailto:ana@example.com?subject=x", "ana＠example.com"],
)
def test_an_email_is_found(text: str) -> None:
    """Names with accents and signs, in a link, with a full-width at."""
    assert [kind for kind, _ in found(text)] == ["email"]


_HEX = "9f8a7b6c5d4e3f2a1b0c"


@pytest.mark.parametrize(
    "text",
    [
        "sk-" + "a1B2" * 12,
        "sk-proj-" + "a1B2_" * 12,
        "sk-ant-api03-" + "a1B2-" * 8,
        "ghp_" + "a1" * 18,
        "github_pat_" + "a1" * 30,
        "AKIAIOSFODNN7EXAMPLE",
        "AIza" + "a1-" * 11 + "b2",
        "xoxb-123456789012-abcdefABCDEF",
        "hf_" + "a1B2" * 9,
        "glpat-" + "a1B2" * 5,
        "sk_live_" + "a1B2" * 6,
        "pk_live_" + "a1B2" * 6,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIz",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        f"api_key={_HEX}",
        f'"apiKey": "{_HEX}"',
        f"OPENAI_API_KEY='{_HEX}'",
        f"x-api-key: {_HEX}",
        f"Authorization: Bearer {_HEX}",
        f"senha = {_HEX}",
        f"client_secret => {_HEX}",
    ],
)
def test_a_key_is_found(text: str) -> None:
    """Keys with their issuers' prefixes, tokens, private keys, and random values assigned to a telling name."""
    assert [kind for kind, _ in found(text)] == ["api_key"]


@pytest.mark.parametrize(
    "text",
    [
        # one digit off
        "111.444.777-36 111.444.778-35 11144477753",
        "11.222.333/0001-82 12.ABC.345/01DE-36",
        "12.345.678-3",
        "DE88370400440532013000 DE8937040044053201300",
        "4111111111111112 4111 1111 1111 1121",
        # numbers inside others
        "911144477735 111444777350 0.11144477735 a11144477735 11144477735f 1.111.444.777-35",
        "0.4111111111111111 94111111111111111 f4111111111111111a",
        # one digit over and over
        "111.111.111-11 00000000000 00.000.000/0000-00",
        # bare numbers of a telephone's length
        "pedido 11987654321, protocolo 1133334444",
        "order number 21912345678 shipped",
        "ligue e informe o protocolo 11987654321",
        # telephones that cannot be
        "(20) 98765-4321 (11) 8765-4321 +55 10 98765-4321",
        "vigência 2024-2025, 31 2024-2025, CEP 01310-100, CEP 98765-432",
        "98765-4321",
        # dates, times, prices, versions, coordinates
        "2026-10-28T12:34:56.789Z 28/10/2026 R$ 1.234.567,89 v1.22.333.4444",
        "-23.5505199,-46.6333094 192.168.100.200 10:20:30",
        # identifiers
        "550e8400-e29b-41d4-a716-446655440000",
        "d41d8cd98f00b204e9800998ecf8427e",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "0001234-56.2024.8.26.0100",
        "34191.79001 01043.510047 91020.150008 5 84410026000",
        "SS123456785BR ISBN 978-85-333-0227-3 EAN 7891000100103 PIS 120.12345.67-8",
        "ABC1D23 NF-e 000.123.456 série 1",
        "1698500000 1698500000000 1698500000000000000",
        # words that look like keys or addresses
        "sk-this-is-a-long-class-name-of-a-style api_key=YOUR_API_KEY_GOES_HERE password=changeme",
        "git@github.com:owner/repo.git logo@2x.png user@localhost lodash@4.17.21 @mention",
        "eyJhbGciOiJIUzI1NiJ9 ghp_short AKIASHORT -----BEGIN CERTIFICATE-----",
        "organização RG-like identidade visual",
        "",
    ],
)
def test_look_alikes_are_not_found(text: str) -> None:
    """Wrong check digits, parts of longer numbers, and what logs, shops and courts number."""
    assert found(text) == []


def test_only_the_kinds_asked_for_are_looked_for() -> None:
    """A detector that was not asked for finds nothing."""
    text = "111.444.777-35 joao@empresa.com.br"
    assert [item.kind for item in find_private(text, ["email"])] == ["email"]
    assert find_private(text, []) == ()


def test_findings_come_by_place_and_kinds_may_overlap() -> None:
    """A number that is two things is found as both; the order is that of the text."""
    text = "ana@x.io tel 11144477735"
    assert [item.kind for item in find_private(text)] == ["email", "cpf"]
    both = "telefone 11900000083"  # a CPF by its check digits, and a telephone by the word
    assert {item.kind for item in find_private(both)} == {"cpf", "phone_br"}
    assert redact(both) in {"telefone [cpf]", "telefone [phone_br]"}


def test_a_finding_never_holds_the_value() -> None:
    """A kind and two places is all there is to print, log or keep."""
    (finding,) = find_private("CPF 111.444.777-35")
    assert repr(finding) == "Finding(kind='cpf', start=4, end=18)"
    assert {field.name for field in dataclasses.fields(finding)} == {"kind", "start", "end"}


def test_places_are_those_of_the_text_as_given() -> None:
    """Characters that are left out and folded for reading are counted where they stand."""
    text = "\u200b\u200bCPF:\u200b 111\u200b.444\ufeff.777–35\u200b."
    (finding,) = find_private(text)
    assert text[finding.start : finding.end] == "111\u200b.444\ufeff.777–35"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("CPF 111.444.777-35, mail ana@x.io.", "CPF [cpf], mail [email]."),
        ("11144477735,52998224725", "[cpf],[cpf]"),
        ("nothing here", "nothing here"),
        ("1\u200b1144477735!", "[cpf]!"),
        ("", ""),
    ],
)
def test_redaction_names_the_kind(text: str, redacted: str) -> None:
    """Each finding gives way to its kind in brackets, and nothing else changes."""
    assert redact(text) == redacted


def test_redaction_takes_only_the_kinds_asked_for() -> None:
    """What was not asked for stays."""
    assert redact("111.444.777-35 ana@x.io", ["email"]) == "111.444.777-35 [email]"


def test_ten_megabytes_of_digits_are_read_once() -> None:
    """A search that looked at each pair of places would take months: the time is linear in the text."""
    assert find_private("1" * 10_000_000) == ()


@pytest.mark.parametrize(
    "unit",
    [
        "1 ",
        "1.",
        "1-",
        "a",
        "a@",
        "@",
        "a.a@",
        "eyJ",
        "eyJabcdefg.",
        "sk-",
        "(",
        "+55",
        "A1",
        "DE12",
        "1\u200b",
        "-----BEGIN ",
    ],
    ids=str.encode,
)
def test_nothing_is_read_over_and_over(unit: str) -> None:
    """Beginnings of what a detector looks for, 300,000 characters of them and no end, cost no more than other text."""
    assert find_private(unit * (300_000 // len(unit))) == ()


@pytest.mark.parametrize("kind", KINDS)
def test_each_detector_reads_a_long_text_once(kind: Kind) -> None:
    """Each on its own, on digits, letters and signs mixed without a boundary."""
    assert find_private("1a.2b-3c/4d@" * 25_000, [kind]) == ()
