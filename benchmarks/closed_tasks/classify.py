"""Classify: hand-written texts of ten kinds, bank statement lines and measurements."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from closed_tasks.draw import Draw
from closed_tasks.item import Difficulty, Draft, Language, json_schema
from closed_tasks.words import DIFFICULTIES, frames, rows

__all__ = ["classify", "joined"]

_GENERATED = 30


@dataclass(frozen=True, slots=True)
class _Family:
    """A kind of text with its closed label set, and the words that a phrasing says of it."""

    source: str
    labels: tuple[str, ...]
    field: str
    words: dict[str, str]
    file: str = ""


def _en(source: str, labels: str, noun: str, aspect: str, *, field: str = "", file: str = "") -> _Family:
    words = {
        "the_aspect": f"the {aspect}",
        "aspect": aspect,
        "Aspect": aspect.capitalize(),
        "this_noun": f"this {noun}",
        "noun": noun,
        "nouns": f"{noun}s",
        "Noun": noun.capitalize(),
        "tag": noun.rsplit(maxsplit=1)[-1],
    }
    return _Family(source, tuple(labels.split(", ")), field or aspect.replace(" ", "_"), words, file)


def _pt(source: str, labels: str, noun: str, aspect: str, *, field: str = "", file: str = "") -> _Family:
    """`noun` and `aspect` carry their article: `a avaliação`, `o sentimento`; the plural is given after a slash."""
    single, plural = noun.split("/")
    article, name = single.split(" ", 1)
    bare = aspect.split(" ", 1)[1]
    words = {
        "o_aspecto": aspect,
        "aspecto": bare,
        "Aspecto": bare.capitalize(),
        "do_nome": f"d{article} {name}",
        "Nome": name.capitalize(),
        "nomes": plural,
        "tag": "texto",
    }
    return _Family(source, tuple(labels.split(", ")), field or bare.replace(" ", "_"), words, file)


_WRITTEN: dict[Language, tuple[_Family, ...]] = {
    "en": (
        _en("reviews", "positive, negative", "review", "sentiment", file="classify_reviews"),
        _en("posts", "positive, negative, neutral", "post", "tone", file="classify_posts"),
        _en("tickets", "billing, shipping, account, technical", "ticket", "category", file="classify_tickets"),
        _en(
            "headlines", "sports, politics, business, science, culture", "headline", "topic", file="classify_headlines"
        ),
        _en("urgency", "urgent, not urgent", "message", "priority", file="classify_urgency"),
        _en("mail", "spam, legitimate", "e-mail", "kind", file="classify_mail"),
        _en(
            "intents",
            "check_balance, make_transfer, report_lost_card, ask_loan",
            "request",
            "intent",
            file="classify_intents",
        ),
        _en("emotions", "joy, anger, sadness, fear", "diary note", "main emotion", file="classify_emotions"),
        _en("tenses", "past, present, future", "sentence", "tense of the main verb", field="tense", file="tenses"),
        _en(
            "spending",
            "groceries, transport, eating out, utilities, entertainment",
            "statement line",
            "spending category",
            file="spending",
        ),
    ),
    "pt": (
        _pt("avaliacoes", "positivo, negativo", "a avaliação/avaliações", "o sentimento", file="classify_avaliacoes"),
        _pt("posts", "positivo, negativo, neutro", "a postagem/postagens", "o tom", file="classify_posts"),
        _pt(
            "chamados",
            "financeiro, entrega, cadastro, técnico",
            "o chamado/chamados",
            "a categoria",
            file="classify_chamados",
        ),
        _pt(
            "manchetes",
            "esporte, política, economia, ciência, cultura",
            "a manchete/manchetes",
            "o assunto",
            file="classify_manchetes",
        ),
        _pt(
            "urgencia",
            "urgente, não urgente",
            "a mensagem/mensagens",
            "a prioridade",
            file="classify_urgencia",
        ),
        _pt("correio", "spam, legítimo", "o e-mail/e-mails", "o tipo", file="classify_correio"),
        _pt(
            "intencoes",
            "consultar_saldo, fazer_pix, perdi_cartao, pedir_emprestimo",
            "o pedido/pedidos",
            "a intenção",
            field="intencao",
            file="classify_intencoes",
        ),
        _pt(
            "emocoes",
            "alegria, raiva, tristeza, medo",
            "o relato/relatos",
            "a emoção principal",
            field="emocao",
            file="classify_emocoes",
        ),
        _pt(
            "tempos",
            "passado, presente, futuro",
            "a frase/frases",
            "o tempo do verbo principal",
            field="tempo",
            file="tempos",
        ),
        _pt(
            "gastos",
            "mercado, transporte, restaurante, contas da casa, lazer",
            "o lançamento/lançamentos do extrato",
            "a categoria do gasto",
            field="categoria",
            file="gastos",
        ),
    ),
}

_READINGS: dict[Language, _Family] = {
    "en": _en("readings", "within, outside", "reading", "position relative to the limits", field="position"),
    "pt": _pt("medicoes", "dentro, fora", "a medição/medições", "a situação em relação à faixa", field="situacao"),
}


def joined(options: Sequence[str], word: str) -> str:
    """`a, b or c`."""
    return f"{', '.join(options[:-1])} {word} {options[-1]}"


def _statement_line(merchant: str, draw: Draw, language: Language) -> str:
    amount = f"{draw.number(3, 240)}.{draw.number(0, 99):02d}"
    day = f"{draw.number(1, 28):02d}/{draw.number(1, 12):02d}"
    if language == "pt":
        amount = amount.replace(".", ",")
        shapes = (
            f"{day} COMPRA CARTÃO {merchant} R$ {amount}",
            f"{merchant} - {amount} (débito)",
            f"PIX ENVIADO {merchant} {amount}",
        )
    else:
        shapes = (
            f"{day} CARD PAYMENT {merchant} -{amount}",
            f"{merchant} {amount} DEBIT",
            f"POS {draw.number(1000, 9999)} {merchant} {amount}",
        )
    return draw.pick(shapes)


def _texts(family: _Family, language: Language) -> Iterator[tuple[str, Difficulty, str]]:
    """The label, the difficulty and the text of each hand-written one."""
    if family.file in {"spending", "gastos"}:
        for at, (label, merchant) in enumerate(rows(language, family.file, cells=2)):
            draw = Draw("classify", language, family.source, at)
            yield label, draw.pick(("easy", "medium")), _statement_line(merchant, draw, language)
        return
    for label, hint, text in rows(language, family.file, cells=3):
        yield label, DIFFICULTIES[hint], text


_MEASURED: dict[Language, tuple[tuple[str, int, int, int, str], ...]] = {
    "en": (
        ("Fridge {n}: {x} °C (allowed {a} to {b} °C)", 2, 8, 1, "."),
        ("Tank {n} pressure {x} bar, limits {a}-{b} bar", 3, 9, 1, "."),
        ("Batch {n}, acidity {x}; must lie between {a} and {b}", 4, 7, 1, "."),
        ("Scale {n} shows {x} g. Target range: at least {a} g, at most {b} g.", 480, 520, 0, "."),
    ),
    "pt": (
        ("Geladeira {n}: {x} °C (permitido de {a} a {b} °C)", 2, 8, 1, ","),
        ("Caldeira {n} com {x} bar; faixa de {a} a {b} bar", 3, 9, 1, ","),
        ("Lote {n}, acidez {x}. Tem que ficar entre {a} e {b}.", 4, 7, 1, ","),
        ("Balança {n} marcou {x} g, mínimo {a} g, máximo {b} g", 480, 520, 0, ","),
    ),
}


def _readings(family: _Family, language: Language) -> Iterator[tuple[str, Difficulty, str]]:
    for at in range(_GENERATED):
        draw = Draw("classify", language, "readings", at)
        shape, low, high, digits, point = draw.pick(_MEASURED[language])
        inside = draw.chance(50)
        unit = 10**digits
        if inside:
            tenths = draw.number(low * unit, high * unit)
        else:
            near = draw.number(1, 25)
            tenths = draw.pick((low * unit - near, high * unit + near))
        value = f"{tenths / unit:.{digits}f}".replace(".", point)
        text = shape.format(n=draw.number(1, 40), x=value, a=low, b=high)
        margin = min(abs(tenths - low * unit), abs(tenths - high * unit))
        yield family.labels[0 if inside else 1], "hard" if margin < 4 else "medium", text


def _draft(family: _Family, language: Language, at: int, found: tuple[str, Difficulty, str]) -> Draft:
    label, difficulty, text = found
    if label not in family.labels:
        raise ValueError(f"{family.source}: no label {label!r}")
    phrasings = frames(language, "classify_frames")
    order = Draw("classify", language, family.source, "order").shuffled(range(len(phrasings)))
    draw = Draw("classify", language, family.source, at, "labels")
    labels = draw.shuffled(family.labels)
    frame = phrasings[order[at % len(order)]]
    word = "ou" if language == "pt" else "or"
    return Draft(
        source=family.source,
        difficulty=difficulty,
        messages=frame.messages(
            **family.words,
            field=family.field,
            list=", ".join(labels),
            slash=" / ".join(labels),
            pipe=" | ".join(labels),
            braces="{" + ", ".join(labels) + "}",
            bullets="\n".join(f"- {one}" for one in labels),
            text=text,
            **{"or": joined(labels, word)},
        ),
        labels=labels,
        response_format=json_schema("label", {family.field: {"type": "string", "enum": labels}})
        if frame.mark == "json"
        else None,
        check={"kind": "label", "expected": label, "labels": labels},
        answer=f'{{"{family.field}": "{label}"}}' if frame.mark == "json" else label,
    )


def classify(language: Language) -> Iterator[Draft]:
    """Every classify draft of a language."""
    for family in _WRITTEN[language]:
        for at, found in enumerate(_texts(family, language)):
            yield _draft(family, language, at, found)
    family = _READINGS[language]
    for at, found in enumerate(_readings(family, language)):
        yield _draft(family, language, at, found)
