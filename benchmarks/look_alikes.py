"""Generated text for benchmarks/privacy.py: numbers of persons, and the numbers that look like them.

All of it is drawn from one seeded generator. Check digits are made here by formulas of their own, so that a slip in a
detector's formula shows as lost recall.
"""

import random
import string
import uuid
from collections.abc import Callable, Mapping
from typing import Final

from teto.triage.privacy.finding import Kind

__all__ = ["LOOK_ALIKES", "SENTENCES", "TRUE", "Dice"]

Dice = random.Random
_UPPER: Final = string.ascii_uppercase
_AREAS: Final = ("11", "12", "19", "21", "27", "31", "41", "48", "51", "61", "62", "71", "81", "85", "91", "92")


def _digits(dice: Dice, count: int) -> str:
    return "".join(dice.choice(string.digits) for _ in range(count))


def _letters(dice: Dice, count: int, of: str = string.ascii_letters + string.digits) -> str:
    return "".join(dice.choice(of) for _ in range(count))


# -- true ones ---------------------------------------------------------------------------------------------------


def _weigh(values: list[int], weights: list[int]) -> int:
    rest = 11 - sum(v * w for v, w in zip(values, weights, strict=True)) % 11
    return 0 if rest > 9 else rest


def _cpf(dice: Dice) -> str:
    values = [dice.randrange(10) for _ in range(9)]
    values.append(_weigh(values, list(range(10, 1, -1))))
    values.append(_weigh(values, list(range(11, 1, -1))))
    return "".join(map(str, values))


def _written_cpf(dice: Dice) -> str:
    cpf = _cpf(dice)
    a, b, c, d = cpf[:3], cpf[3:6], cpf[6:9], cpf[9:]
    forms = [cpf, f"{a}.{b}.{c}-{d}", f"{a}.{b}.{c}-{d}", f"{a} {b} {c} {d}", f"{a}{b}{c}-{d}", f"{a}.{b}.{c}–{d}"]
    return dice.choice(forms)


def _written_cnpj(dice: Dice) -> str:
    alphabet = string.digits if dice.random() < 0.7 else string.digits + _UPPER
    body = _letters(dice, 8, alphabet) + dice.choice(["0001", "0002", _letters(dice, 4, alphabet)])
    values = [ord(character) - 48 for character in body]
    for weights in ([5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2], [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]):
        values.append(_weigh(values, weights))
    cnpj = f"{body}{values[12]}{values[13]}"
    return dice.choice([cnpj, f"{cnpj[:2]}.{cnpj[2:5]}.{cnpj[5:8]}/{cnpj[8:12]}-{cnpj[12:]}"])


def _phone(dice: Dice) -> str:
    area, number = dice.choice(_AREAS), f"9{_digits(dice, 8)}"
    landline = f"{dice.choice('2345')}{_digits(dice, 7)}"
    return dice.choice(
        [
            f"({area}) {number[:5]}-{number[5:]}",
            f"({area}) {landline[:4]}-{landline[4:]}",
            f"+55 {area} {number[:5]}-{number[5:]}",
            f"+55{area}{number}",
            f"{area} {number[:5]}-{number[5:]}",
            f"telefone {area}{number}",
            f"WhatsApp: {area} {number[:5]} {number[5:]}",
            f"tel. {landline[:4]}-{landline[4:]}",
        ]
    )


def _rg(dice: Dice) -> str:
    digits = _digits(dice, 8)
    check = sum(int(digit) * weight for digit, weight in zip(digits, range(9, 1, -1), strict=True)) % 11
    written = f"{digits[:2]}.{digits[2:5]}.{digits[5:]}-{'0123456789X'[check]}"
    elsewhere = f"RG {_digits(dice, dice.choice([7, 8, 9]))}"
    return dice.choice([written, f"RG {written}", f"RG: {digits[0]}.{digits[1:4]}.{digits[4:7]}", elsewhere])


def _iban(dice: Dice) -> str:
    country, length, alphabet = dice.choice(
        [("DE", 18, string.digits), ("PT", 21, string.digits), ("FR", 23, string.digits), ("GB", 18, "")]
    )
    body = _letters(dice, 4, _UPPER) + _digits(dice, 14) if not alphabet else _letters(dice, length, alphabet)
    turned = "".join(str(int(character, 36)) for character in f"{body}{country}00")
    iban = f"{country}{98 - int(turned) % 97:02}{body}"
    return dice.choice([iban, " ".join(iban[at : at + 4] for at in range(0, len(iban), 4))])


def _luhn(body: str) -> str:
    total = sum(sum(divmod(int(d) * (2 if place % 2 == 0 else 1), 10)) for place, d in enumerate(reversed(body)))
    return f"{body}{-total % 10}"


def _card(dice: Dice) -> str:
    head, length = dice.choice([("4", 16), ("4", 16), (str(dice.randrange(51, 56)), 16), ("2345", 16), ("37", 15)])
    card = _luhn(head + _digits(dice, length - 1 - len(head)))
    if length == 15:
        return dice.choice([card, f"{card[:4]} {card[4:10]} {card[10:]}"])
    sign = dice.choice(["", " ", " ", "-"])
    return sign.join(card[at : at + 4] for at in range(0, 16, 4))


def _email(dice: Dice) -> str:
    name = dice.choice(["ana", "joao.silva", "j_souza", "maria+x", "contato", "josé", _letters(dice, 8).lower()])
    host = dice.choice(["gmail.com", "empresa.com.br", "example.org", "uol.com.br", "sub.domain.io"])
    return f"{name}{dice.choice(['', _digits(dice, 2)])}@{host}"


def _api_key(dice: Dice) -> str:
    hexadecimal = _letters(dice, 32, "0123456789abcdef")
    return dice.choice(
        [
            f"sk-{_letters(dice, 48)}",
            f"sk-ant-api03-{_letters(dice, 80)}",
            f"sk-proj-{_letters(dice, 64)}",
            f"ghp_{_letters(dice, 36)}",
            f"AKIA{_letters(dice, 16, _UPPER + string.digits)}",
            f"AIza{_letters(dice, 35)}",
            f"xoxb-{_digits(dice, 12)}-{_letters(dice, 24)}",
            f"hf_{_letters(dice, 34)}",
            f"glpat-{_letters(dice, 20)}",
            f"sk_live_{_letters(dice, 24)}",
            f"api_key={hexadecimal}",
            f'"apiKey": "{_letters(dice, 40)}"',
            f"Authorization: Bearer {hexadecimal}",
            f"eyJ{_letters(dice, 30)}.eyJ{_letters(dice, 60)}.{_letters(dice, 43)}",
        ]
    )


TRUE: Final[Mapping[Kind, Callable[[Dice], str]]] = {
    "cpf": _written_cpf,
    "cnpj": _written_cnpj,
    "phone_br": _phone,
    "rg": _rg,
    "iban": _iban,
    "card": _card,
    "email": _email,
    "api_key": _api_key,
}

# -- look-alikes -------------------------------------------------------------------------------------------------


def _ean(dice: Dice) -> str:
    body = dice.choice(["789", "400", "978", "501"]) + _digits(dice, 9)
    return body + str(-sum(int(d) * (3 if place % 2 else 1) for place, d in enumerate(body)) % 10)


def _date(dice: Dice) -> str:
    day, month, year = dice.randrange(1, 29), dice.randrange(1, 13), dice.randrange(1990, 2030)
    clock = f"{dice.randrange(24):02}:{dice.randrange(60):02}:{dice.randrange(60):02}"
    return dice.choice(
        [
            f"{year}-{month:02}-{day:02}T{clock}.{_digits(dice, 3)}Z",
            f"{day:02}/{month:02}/{year} {clock}",
            f"{day:02}.{month:02}.{year}",
            f"{year}{month:02}{day:02}{clock.replace(':', '')}",
            f"{day:02} {year - 1}-{year}",
        ]
    )


def _price(dice: Dice) -> str:
    whole = f"{dice.randrange(1, 10 ** dice.randrange(2, 10)):,}"
    return dice.choice([f"R$ {whole.replace(',', '.')},{_digits(dice, 2)}", f"USD {whole}.{_digits(dice, 2)}"])


def _process(dice: Dice) -> str:
    return f"{_digits(dice, 7)}-{_digits(dice, 2)}.{dice.randrange(2000, 2027)}.8.{_digits(dice, 2)}.{_digits(dice, 4)}"


def _boleto(dice: Dice) -> str:
    d = [_digits(dice, 5), *(_digits(dice, n) for n in (5, 5, 6, 5, 6, 1, 14))]
    spaced = f"{d[0]}.{d[1]} {d[2]}.{d[3]} {d[4]}.{d[5]} {d[6]} {d[7]}"
    return dice.choice([spaced, spaced.replace(".", "").replace(" ", "")])


def _pis(dice: Dice) -> str:
    values = [dice.randrange(10) for _ in range(10)]
    pis = "".join(map(str, [*values, _weigh(values, [3, 2, 9, 8, 7, 6, 5, 4, 3, 2])]))
    return dice.choice([pis, f"{pis[:3]}.{pis[3:8]}.{pis[8:10]}-{pis[10]}"])


def _log_line(dice: Dice) -> str:
    return (
        f"2026-10-28 12:{_digits(dice, 2)}:07,{_digits(dice, 3)} INFO [worker-{_digits(dice, 2)}] "
        f"id={_digits(dice, 12)} took={_digits(dice, 3)}.{_digits(dice, 6)}ms bytes={_digits(dice, 8)} "
        f"trace={_letters(dice, 32, '0123456789abcdef')}"
    )


def _wrong_iban(dice: Dice) -> str:
    return f"{dice.choice(['DE', 'FR', 'PT', 'BE', 'IT', 'NO'])}{_digits(dice, 2)}{_letters(dice, 18, string.digits)}"


def _random_iban(dice: Dice) -> str:
    return f"DE{_digits(dice, 20)}"


def _foreign_phone(dice: Dice) -> str:
    d = _digits(dice, 10)
    return dice.choice(
        [
            f"({d[:3]}) {d[3:6]}-{d[6:]}",
            f"+1 {d[:3]}-{d[3:6]}-{d[6:]}",
            f"+351 9{d[:2]} {d[2:5]} {d[5:8]}",
            f"(20) 9{d[:4]}-{d[4:8]}",
        ]
    )


def _at_sign(dice: Dice) -> str:
    word = _letters(dice, 6, string.ascii_lowercase)
    return dice.choice(
        [
            f"git@github.com:{word}/{word}.git",
            f"{word}@2x.png",
            f"{word}@{_digits(dice, 1)}.{_digits(dice, 2)}.0",
            f"@{word}",
            f"root@{word}",
            f"@{word}/core@^4.1",
            f"{word}@10.0.{_digits(dice, 2)}.1",
        ]
    )


def _no_key(dice: Dice) -> str:
    word = _letters(dice, 8, string.ascii_lowercase)
    return dice.choice(
        [
            "api_key=YOUR_API_KEY_GOES_HERE",
            "password: ********************",
            f"sk-{word}-{word}-{word}",
            f"next_page_token={_letters(dice, 32)}",
            f'etag: "{_letters(dice, 32, "0123456789abcdef")}"',
            f"commit {_letters(dice, 40, '0123456789abcdef')}",
            f"token_count={_digits(dice, 18)}",
            f"api_key = os.environ['{word.upper()}_API_KEY']",
            f"secret = config.get_the_secret_of_{word}",
            "-----BEGIN CERTIFICATE-----",
            _letters(dice, 88),
        ]
    )


LOOK_ALIKES: Final[Mapping[str, Callable[[Dice], str]]] = {
    # What no check digit can tell from a true one but by chance.
    "11 digits at random": lambda dice: _digits(dice, 11),
    "14 digits at random": lambda dice: _digits(dice, 14),
    "14 capitals and digits at random": lambda dice: _letters(dice, 12, _UPPER + string.digits) + _digits(dice, 2),
    "16 digits with a card's first": lambda dice: f"4{_digits(dice, 15)}",
    "16 digits at random": lambda dice: _digits(dice, 16),
    "DE and 20 digits at random": _random_iban,
    "RUT of Chile, written like an RG": lambda dice: "{}.{}.{}-{}".format(
        *(_digits(dice, n) for n in (2, 3, 3)), dice.choice("0123456789K")
    ),
    # What logs, shops, courts and registries number.
    "order number, 10 digits": lambda dice: _digits(dice, 10),
    "order number, mobile's form": lambda dice: f"{dice.choice(_AREAS)}9{_digits(dice, 8)}",
    "tracking code": lambda dice: f"{_letters(dice, 2, _UPPER)}{_digits(dice, 9)}BR",
    "EAN-13": _ean,
    "date or time": _date,
    "price": _price,
    "SHA-256": lambda dice: _letters(dice, 64, "0123456789abcdef"),
    "MD5 in capitals": lambda dice: _letters(dice, 32, "0123456789ABCDEF"),
    "UUID": lambda dice: str(uuid.UUID(int=dice.getrandbits(128))),
    "version": lambda dice: f"v{_digits(dice, 2)}.{_digits(dice, 3)}.{_digits(dice, 3)}-{_digits(dice, 2)}",
    "log line": _log_line,
    "coordinates": lambda dice: f"-{_digits(dice, 2)}.{_digits(dice, 14)},-{_digits(dice, 2)}.{_digits(dice, 14)}",
    "fraction": lambda dice: f"0.{_digits(dice, dice.choice([11, 14, 16]))}",
    "court process (CNJ)": _process,
    "boleto's line": _boleto,
    "PIS": _pis,
    "licence plate": lambda dice: (
        f"{_letters(dice, 3, _UPPER)}{_digits(dice, 1)}{dice.choice(_UPPER)}{_digits(dice, 2)}"
    ),
    "ISBN": lambda dice: f"978-{_digits(dice, 2)}-{_digits(dice, 3)}-{_digits(dice, 4)}-{_digits(dice, 1)}",
    "CEP": lambda dice: f"{_digits(dice, 5)}-{_digits(dice, 3)}",
    "NF-e's key, 44 digits": lambda dice: _digits(dice, 44),
    "timestamp": lambda dice: f"17{_digits(dice, dice.choice([8, 11, 17]))}",
    "IP and port": lambda dice: f"{dice.randrange(256)}.{dice.randrange(256)}.10.7:{_digits(dice, 5)}",
    "foreign telephone": _foreign_phone,
    "IBAN of a wrong length": _wrong_iban,
    "at sign": _at_sign,
    "no key": _no_key,
}

SENTENCES: Final = (
    "O pedido {} foi confirmado e sai amanhã.",
    "Segue o registro {} do sistema, favor verificar.",
    "Código: {}",
    "Consta no relatório: {}; sem pendências.",
    "Please check {} before Friday.",
    "The record {} was not found in the warehouse.",
    "id={} status=ok",
    "| {} | ok | 3 |",
)
"""Where both stand: sentences in Portuguese and English, a field, a row; none has a word for what stands in it."""
