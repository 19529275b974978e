"""Extract: fields of orders, appointments, ads, logs, signatures, invoices, tickets and hand-written notes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from closed_tasks.draw import Draw
from closed_tasks.extract_values import VALUES, Values
from closed_tasks.item import Difficulty, Draft, Language, json_schema
from closed_tasks.words import DIFFICULTIES, fill, frames, rows, sections

__all__ = ["extract"]

_PER_SOURCE: Final = 38
_TYPES: Final = {"s": "string", "i": "integer", "n": "number", "b": "boolean"}


@dataclass(frozen=True, slots=True)
class _Field:
    """A field as it is asked for, with the values that are right; `options` closes a string."""

    name: str
    kind: str
    said: str
    accepted: tuple[Any, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """The field's part of the JSON schema."""
        return {"type": "string", "enum": list(self.options)} if self.options else {"type": _TYPES[self.kind]}


# For each source: the words file, the values of its blanks, and its fields by the name of the blank.
_LEVELS: Final = ("info", "warning", "error")
_SOURCES: Final[dict[Language, dict[str, dict[str, _Field]]]] = {
    "en": {
        "orders": {
            "customer": _Field("customer", "s", "the customer's name"),
            "product": _Field("product", "s", "what is ordered, without number and colour"),
            "quantity": _Field("quantity", "i", "how many, as an integer"),
            "colour": _Field("colour", "s", "the colour"),
            "city": _Field("city", "s", "the city the goods go to"),
        },
        "appointments": {
            "person": _Field("person", "s", "with whom"),
            "day": _Field("day", "s", "the day of the week"),
            "time": _Field("time", "s", "the time as HH:MM on the 24-hour clock"),
            "city": _Field("city", "s", "the city"),
        },
        "ads": {
            "item": _Field("item", "s", "the thing that is sold"),
            "price": _Field("price", "n", "the price asked now"),
            "year": _Field("year", "i", "the year"),
            "city": _Field("city", "s", "the city of collection"),
            "negotiable": _Field("negotiable", "b", "true if the price can be negotiated, else false"),
        },
        "logs": {
            "level": _Field("level", "s", "the level", options=_LEVELS),
            "service": _Field("service", "s", "the service that answered"),
            "code": _Field("status", "i", "the final status code"),
            "ms": _Field("duration_ms", "i", "the duration in milliseconds"),
        },
        "signatures": {
            "name": _Field("name", "s", "the person's name"),
            "company": _Field("company", "s", "the company"),
            "phone": _Field("phone", "s", "the person's own valid phone number"),
            "email": _Field("email", "s", "the e-mail address"),
        },
        "invoices": {
            "number": _Field("number", "s", "the number of the invoice to be paid"),
            "company": _Field("company", "s", "the company to be paid"),
            "total": _Field("total", "n", "the total to pay, as a number"),
            "date": _Field("due_date", "s", "the due date as YYYY-MM-DD"),
        },
        "tickets": {
            "origin": _Field("from", "s", "where the trip starts"),
            "destination": _Field("to", "s", "where it ends"),
            "time": _Field("departure", "s", "the departure as HH:MM on the 24-hour clock"),
            "seat": _Field("seat", "s", "the writer's or first passenger's seat"),
            "count": _Field("passengers", "i", "the number of passengers"),
        },
    },
    "pt": {
        "pedidos": {
            "customer": _Field("cliente", "s", "o nome do cliente"),
            "product": _Field("produto", "s", "o produto pedido, sem quantidade nem cor"),
            "quantity": _Field("quantidade", "i", "a quantidade final, em número inteiro"),
            "colour": _Field("cor", "s", "a cor"),
            "city": _Field("cidade", "s", "a cidade para onde vai a mercadoria"),
        },
        "consultas": {
            "person": _Field("com_quem", "s", "com quem é o compromisso"),
            "day": _Field("dia", "s", "o dia da semana"),
            "time": _Field("horario", "s", "o horário no formato HH:MM, de 00 a 23 horas"),
            "city": _Field("cidade", "s", "a cidade"),
        },
        "anuncios": {
            "item": _Field("item", "s", "o que está à venda"),
            "price": _Field("preco", "n", "o preço pedido agora"),
            "year": _Field("ano", "i", "o ano"),
            "city": _Field("cidade", "s", "a cidade da retirada"),
            "negotiable": _Field("negociavel", "b", "true se o preço pode ser negociado, senão false"),
        },
        "registros": {
            "level": _Field("nivel", "s", "o nível", options=_LEVELS),
            "service": _Field("servico", "s", "o serviço que respondeu"),
            "code": _Field("status", "i", "o código de status final"),
            "ms": _Field("duracao_ms", "i", "a duração em milissegundos"),
        },
        "assinaturas": {
            "name": _Field("nome", "s", "o nome da pessoa"),
            "company": _Field("empresa", "s", "a empresa"),
            "phone": _Field("telefone", "s", "o telefone válido da própria pessoa"),
            "email": _Field("email", "s", "o e-mail"),
        },
        "boletos": {
            "number": _Field("numero", "s", "o número do boleto a pagar"),
            "company": _Field("empresa", "s", "a empresa que recebe"),
            "total": _Field("valor", "n", "o valor a pagar, como número"),
            "date": _Field("vencimento", "s", "o vencimento no formato AAAA-MM-DD"),
        },
        "passagens": {
            "origin": _Field("origem", "s", "de onde sai"),
            "destination": _Field("destino", "s", "para onde vai"),
            "time": _Field("saida", "s", "a hora de saída no formato HH:MM"),
            "seat": _Field("poltrona", "s", "a poltrona de quem escreve ou do primeiro passageiro"),
            "count": _Field("passageiros", "i", "o número de passageiros"),
        },
    },
}


def _draft(
    source: str,
    language: Language,
    at: int,
    *,
    difficulty: Difficulty,
    text: str,
    fields: list[_Field],
) -> Draft:
    phrasings = frames(language, "extract_frames")
    order = Draw("extract", language, source, "order").shuffled(range(len(phrasings)))
    said = [f"{field.name} ({field.said})" for field in fields]
    word = " e " if language == "pt" else " and "
    listed = word.join([", ".join(said[:-1]), said[-1]]) if len(said) > 1 else said[0]
    return Draft(
        source=source,
        difficulty=difficulty,
        messages=phrasings[order[at % len(order)]].messages(
            text=text,
            fields=listed,
            bullets="\n".join(f"- {field.name}: {field.said}" for field in fields),
        ),
        response_format=json_schema("fields", {field.name: field.schema for field in fields}),
        check={"kind": "json_fields", "expected": {field.name: list(field.accepted) for field in fields}},
        answer=json.dumps({field.name: field.accepted[0] for field in fields}, ensure_ascii=False),
    )


def _generated(source: str, language: Language) -> Iterator[Draft]:
    known = _SOURCES[language][source]
    shapes = rows(language, f"extract_{source}", cells=2)
    make: Values = VALUES[source]
    for at in range(_PER_SOURCE):
        draw = Draw("extract", language, source, at)
        hint, shape = shapes[at % len(shapes)]
        shown, right = make(draw, language)
        chosen = draw.some(list(known), draw.number(2, min(4, len(known))))
        fields = [
            _Field(known[blank].name, known[blank].kind, known[blank].said, right[blank], known[blank].options)
            for blank in known
            if blank in chosen
        ]
        text = fill(shape.replace("\\n", "\n"), **shown)
        yield _draft(source, language, at, difficulty=DIFFICULTIES[hint], text=text, fields=fields)


def _value(kind: str, written: str) -> Any:
    return written if kind == "s" else json.loads(written)


def _written(source: str, language: Language) -> Iterator[Draft]:
    for at, (hint, lines) in enumerate(sections(language, f"extract_{source}")):
        text = "\n".join(line for line in lines if not line.startswith("- "))
        fields = []
        for line in lines:
            if line.startswith("- "):
                asked, _, values = line[2:].partition(" = ")
                name, kind, said = asked.split(": ", 2)
                fields.append(_Field(name, kind, said, tuple(_value(kind, one) for one in values.split(" | "))))
        yield _draft(source, language, at, difficulty=DIFFICULTIES[hint], text=text, fields=fields)


def extract(language: Language) -> Iterator[Draft]:
    """Every extract draft of a language."""
    for source in _SOURCES[language]:
        yield from _generated(source, language)
    yield from _written("notas" if language == "pt" else "notes", language)
