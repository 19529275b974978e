"""What fills the blanks of the extract texts: how a value is shown, and which values are right."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from closed_tasks.draw import Draw
from closed_tasks.item import Language
from closed_tasks.words import table

__all__ = ["VALUES", "Values", "amount", "clock", "day_of"]

Filled: TypeAlias = tuple[dict[str, str], dict[str, tuple[Any, ...]]]
Values: TypeAlias = Callable[[Draw, Language], Filled]

_FIRM: Final = {
    "en": {
        True: ("open to offers", "price negotiable", "or nearest offer"),
        False: ("price is firm", "no haggling", "fixed price"),
    },
    "pt": {
        True: ("aceito proposta", "dá pra negociar", "preço a combinar na hora"),
        False: ("não baixo o preço", "preço fixo", "sem choro, o preço é esse"),
    },
}


def amount(cents: int, language: Language) -> str:
    """A sum of money with its separators: 1,284.50 or 1.284,50."""
    text = f"{cents / 100:,.2f}"
    return text.replace(",", "_").replace(".", ",").replace("_", ".") if language == "pt" else text


def whole(number: int, language: Language) -> str:
    """A whole number with its separator."""
    return f"{number:,}".replace(",", ".") if language == "pt" else f"{number:,}"


def clock(minutes: int, language: Language, *, style: int) -> str:
    """A time of day as people write it; `style` picks one of the ways."""
    hour, minute = divmod(minutes, 60)
    if language == "pt":
        return (f"{hour}h{minute:02d}" if minute else f"{hour}h", f"{hour:02d}:{minute:02d}")[style % 2]
    half = "am" if hour < 12 else "pm"
    twelve = hour % 12 or 12
    return (f"{twelve}:{minute:02d} {half}" if minute else f"{twelve} {half}", f"{hour:02d}:{minute:02d}")[style % 2]


def day_of(draw: Draw, language: Language, year: int) -> tuple[str, str]:
    """A date as people write it, and in ISO form."""
    day, month = draw.number(1, 28), draw.number(1, 12)
    name = table(language, "vocabulary")["months"][month - 1]
    if language == "pt":
        shown = draw.pick((f"{day} de {name} de {year}", f"{day:02d}/{month:02d}/{year}"))
    else:
        shown = draw.pick((f"{day} {name} {year}", f"{name} {day}, {year}"))
    return shown, f"{year}-{month:02d}-{day:02d}"


def _quarter(draw: Draw) -> int:
    return draw.number(8 * 4, 20 * 4) * 15


def _orders(draw: Draw, language: Language) -> Filled:
    words = table(language, "vocabulary")
    colours, cities = draw.some(words["colours"], 2), draw.some(words["cities"], 2)
    counts = draw.some(range(3, 13), 3)
    customer, product = draw.pick(words["names"]), draw.pick(words["products"])
    shown = {
        "customer": customer,
        "product": product,
        "quantity": str(counts[0]),
        "quantity_word": words["numbers"][counts[0] - 2],
        "other": str(counts[1]),
        "other2": str(counts[2]),
        "colour": colours[0],
        "colour2": colours[1],
        "city": cities[0],
        "city2": cities[1],
    }
    singular = (product[:-1],) if product.endswith("s") and not product.endswith("ves") else ()
    right: dict[str, tuple[Any, ...]] = {
        "customer": (customer,),
        "product": (product, *singular),
        "quantity": (counts[0],),
        "colour": (colours[0],),
        "city": (cities[0],),
    }
    return shown, right


def _appointments(draw: Draw, language: Language) -> Filled:
    words = table(language, "vocabulary")
    days, cities, firsts = (draw.some(words[name], 2) for name in ("days", "cities", "firsts"))
    person = draw.pick(words["others"])
    at, before = _quarter(draw), _quarter(draw)
    before += 30 if before == at else 0
    style = draw.number(0, 3) // 3  # the 24-hour clock in a quarter of the texts
    shown = {
        "person": person,
        "first": firsts[0],
        "first2": firsts[1],
        "day": days[0],
        "day2": days[1],
        "time12": clock(at, language, style=style),
        "time12b": clock(before, language, style=style),
        "city": cities[0],
        "city2": cities[1],
    }
    short = days[0].removesuffix("-feira")
    right: dict[str, tuple[Any, ...]] = {
        "person": (person, person.split(" ", 1)[1]),
        "day": tuple(dict.fromkeys((days[0], short))),
        "time": (f"{at // 60:02d}:{at % 60:02d}",),
        "city": (cities[0],),
    }
    return shown, right


def _ads(draw: Draw, language: Language) -> Filled:
    words = table(language, "vocabulary")
    cities = draw.some(words["cities"], 2)
    item = draw.pick(words["things"])
    price = draw.number(8, 190) * 10
    firm_or_not = draw.chance(50)
    said = draw.pick(_FIRM[language][firm_or_not])
    year = draw.number(2008, 2023)
    shown = {
        "item": item,
        "price": whole(price, language),
        "price2": whole(price * 2 + draw.number(1, 30) * 10, language),
        "firm": said,
        "firm_cap": said.capitalize(),
        "year": str(year),
        "city": cities[0],
        "city2": cities[1],
    }
    return shown, {
        "item": (item,),
        "price": (price,),
        "year": (year,),
        "city": (cities[0],),
        "negotiable": (firm_or_not,),
    }


def _logs(draw: Draw, language: Language) -> Filled:
    services = draw.some(table(language, "vocabulary")["services"], 2)
    level = draw.pick(("info", "warning", "error"))
    codes = draw.some((200, 201, 204, 301, 400, 401, 403, 404, 409, 429, 500, 502, 503), 2)
    ms = draw.number(12, 4800)
    shown = {
        "service": services[0],
        "service2": services[1],
        "level": level,
        "LEVEL": level.upper(),
        "code": str(codes[0]),
        "code2": str(codes[1]),
        "ms": str(ms),
        "pid": str(draw.number(1000, 32000)),
        "clock": f"{draw.number(0, 23):02d}:{draw.number(0, 59):02d}:{draw.number(0, 59):02d}",
    }
    return shown, {"level": (level,), "service": (services[0],), "code": (codes[0],), "ms": (ms,)}


def _signatures(draw: Draw, language: Language) -> Filled:
    words = table(language, "vocabulary")
    name, company, other = (draw.pick(words[kind]) for kind in ("names", "companies", "others"))
    numbers = draw.some(range(100, 200), 2)
    prefix = f"({draw.pick((11, 21, 31, 71, 81))}) 5550-0" if language == "pt" else "555-0"
    phones = [f"{prefix}{number}" for number in numbers]
    user = name.split()[0].lower().translate(str.maketrans("áâãéêíóôõúüç", "aaaeeiooouuc"))
    email = f"{user}{draw.pick(('', '.', str(draw.number(2, 99))))}@{company.split()[-1].lower()}.example"
    email = email.replace(".@", f".{name.split()[-1].lower()}@")
    email = email.translate(str.maketrans("áâãéêíóôõúüç", "aaaeeiooouuc"))
    shown = {
        "name": name,
        "company": company,
        "other": other,
        "phone": phones[0],
        "phone2": phones[1],
        "email": email,
    }
    return shown, {"name": (name,), "company": (company,), "phone": (phones[0],), "email": (email,)}


def _invoices(draw: Draw, language: Language) -> Filled:
    words = table(language, "vocabulary")
    company = draw.pick(words["companies"])
    numbers = [
        draw.pick((f"A-{number}", f"2025/{number}", str(number * 7))) for number in draw.some(range(1000, 9999), 2)
    ]
    cents = draw.number(2000, 420000)
    other = round(cents * (1.1 if language == "pt" else 0.9))
    due, issued = day_of(draw, language, 2025), day_of(draw, language, 2024)
    shown = {
        "company": company,
        "number": numbers[0],
        "number2": numbers[1],
        "total": amount(cents, language),
        "total2": amount(other, language),
        "date": due[0],
        "date2": issued[0],
    }
    right: dict[str, tuple[Any, ...]] = {
        "company": (company,),
        "number": (numbers[0],),
        "total": (cents / 100,),
        "date": (due[1],),
    }
    return shown, right


def _tickets(draw: Draw, language: Language) -> Filled:
    words = table(language, "vocabulary")
    origin, via = draw.some(words["cities"], 2)
    destination = draw.pick(words["towns"])
    at = _quarter(draw)
    count = draw.number(3, 9)
    seats = [f"{number}{letter}" for number, letter in zip(draw.some(range(1, 46), 2), "AD", strict=True)]
    style = draw.number(0, 1)
    shown = {
        "origin": origin,
        "via": via,
        "destination": destination,
        "time12": clock(at, language, style=style),
        "time12b": clock(at + 75, language, style=style),
        "seat": seats[0],
        "seat2": seats[1],
        "count": str(count),
        "count_word": words["numbers"][count - 2],
    }
    return shown, {
        "origin": (origin,),
        "destination": (destination,),
        "time": (f"{at // 60:02d}:{at % 60:02d}",),
        "seat": (seats[0],),
        "count": (count,),
    }


VALUES: Final[dict[str, Values]] = {
    "orders": _orders,
    "pedidos": _orders,
    "appointments": _appointments,
    "consultas": _appointments,
    "ads": _ads,
    "anuncios": _ads,
    "logs": _logs,
    "registros": _logs,
    "signatures": _signatures,
    "assinaturas": _signatures,
    "invoices": _invoices,
    "boletos": _invoices,
    "tickets": _tickets,
    "passagens": _tickets,
}
