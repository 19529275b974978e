"""Small functions put together from a condition and what is done with what meets it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from closed_tasks.draw import Draw
from closed_tasks.item import Difficulty, Language

__all__ = ["Problem", "for_gaps", "generated"]

_EACH: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A function: its signature, what it does, a right body, and the arguments it is tried on."""

    source: str
    difficulty: Difficulty
    signature: str
    said: str
    body: str
    arguments: list[str]


# Code, then how it is said in English and in Portuguese; {k} is drawn.
_NUMBERS: Final = (
    ("x % 2 == 0", "even", "pares"),
    ("x % 2 != 0", "odd", "ímpares"),
    ("x > {k}", "greater than {k}", "maiores que {k}"),
    ("x < {k}", "smaller than {k}", "menores que {k}"),
    ("x >= {k}", "not smaller than {k}", "maiores ou iguais a {k}"),
    ("x % {k} == 0", "divisible by {k}", "divisíveis por {k}"),
    ("x < 0", "negative", "negativos"),
    ("abs(x) <= {k}", "between -{k} and {k} (both included)", "entre -{k} e {k} (inclusive)"),
)
_OVER_NUMBERS: Final = (
    ("return sum(found)", "the sum of the numbers that are {}", "a soma dos números {}", "easy"),
    ("return len(found)", "how many of the numbers are {}", "quantos dos números são {}", "easy"),
    (
        "return [x * x for x in found]",
        "a list with the squares of the numbers that are {}",
        "a lista dos quadrados dos números {}",
        "medium",
    ),
    (
        "return max(found) if found else None",
        "the largest of the numbers that are {}, or None if there is none",
        "o maior dos números {}, ou None se não houver nenhum",
        "medium",
    ),
    (
        "return found[0] if found else -1",
        "the first of the numbers that is {}, or -1 if there is none",
        "o primeiro dos números {}, ou -1 se não houver nenhum",
        "medium",
    ),
    (
        "return [i for i, x in enumerate(numbers) if x in found]",
        "the list of the positions (from 0) of the numbers that are {}",
        "a lista das posições (a partir de 0) dos números {}",
        "hard",
    ),
    (
        "return found[::-1]",
        "the numbers that are {}, as a list in reverse order",
        "os números {}, numa lista em ordem inversa",
        "medium",
    ),
    (
        "return [x for x in numbers if x not in found]",
        "the list without the numbers that are {}",
        "a lista sem os números {}",
        "hard",
    ),
)


def _filtered(draw: Draw, language: Language) -> Problem:
    k = draw.number(2, 12)
    condition, *said_condition = (part.format(k=k) for part in draw.pick(_NUMBERS))
    code, *said, level = draw.pick(_OVER_NUMBERS)
    at = 1 if language == "pt" else 0
    name = draw.pick(("seleciona", "calcula", "filtra", "processa") if at else ("select", "compute", "pick", "handle"))
    parameter = "numeros" if at else "numbers"
    body = f"    found = [x for x in {parameter} if {condition}]\n    {code.replace('numbers', parameter)}"
    lists = [[draw.number(-15, 30) for _ in range(draw.number(3, 7))] for _ in range(3)]
    return Problem(
        source="filters",
        difficulty=_level(level),
        signature=f"{name}({parameter})",
        said=("devolver " if at else "return ") + said[at].format(said_condition[at]),
        body=body,
        arguments=[*(str(one) for one in lists), "[]", f"[{k}, -{k}, {k + 1}, {k - 1}, 0]"],
    )


def _level(name: str) -> Difficulty:
    return "easy" if name == "easy" else "hard" if name == "hard" else "medium"


_WORDS: Final = (
    ("w.startswith('{c}')", 'begin with "{c}"', 'começam com "{c}"'),
    ("w.endswith('{c}')", 'end in "{c}"', 'terminam em "{c}"'),
    ("'{c}' in w", 'contain the letter "{c}"', 'contêm a letra "{c}"'),
    ("'{c}' not in w", 'do not contain the letter "{c}"', 'não contêm a letra "{c}"'),
    ("len(w) > {k}", "have more than {k} letters", "têm mais de {k} letras"),
    ("len(w) == {k}", "have exactly {k} letters", "têm exatamente {k} letras"),
)
_OVER_WORDS: Final = (
    ("return len(found)", "how many of the words {}", "quantas das palavras {}", "easy"),
    ("return found", "the list of the words that {}", "a lista das palavras que {}", "easy"),
    (
        "return [w.upper() for w in found]",
        "the words that {}, in upper case, as a list",
        "as palavras que {}, em maiúsculas, numa lista",
        "easy",
    ),
    (
        "return '+'.join(found)",
        'the words that {}, joined with "+" into one string',
        'as palavras que {}, juntas num só texto com "+"',
        "medium",
    ),
    (
        "return sorted(found)",
        "a sorted list of the words that {}",
        "a lista ordenada das palavras que {}",
        "medium",
    ),
    (
        "return {w: len(w) for w in found}",
        "a dict from each of the words that {} to its length",
        "um dicionário das palavras que {} para o tamanho de cada uma",
        "medium",
    ),
    (
        "return max(found, key=len) if found else ''",
        "the longest of the words that {}, the first one if there is a tie, or an empty string if there is none",
        "a mais longa das palavras que {}, a primeira em caso de empate, ou um texto vazio se não houver nenhuma",
        "hard",
    ),
    (
        "return sum(len(w) for w in found)",
        "the number of letters, in all, of the words that {}",
        "o total de letras das palavras que {}",
        "medium",
    ),
)
_TRIED: Final = {
    "en": [
        "sun",
        "stone",
        "arrow",
        "tree",
        "ant",
        "lamp",
        "noon",
        "river",
        "salt",
        "tornado",
        "echo",
        "ear",
        "lens",
        "nurse",
    ],
    "pt": [
        "sol",
        "pedra",
        "seta",
        "rio",
        "anel",
        "trem",
        "noite",
        "sal",
        "tornado",
        "eco",
        "onda",
        "ninho",
        "lápis",
        "rosa",
    ],
}


def _worded(draw: Draw, language: Language) -> Problem:
    values = {"c": draw.pick("aenorst"), "k": str(draw.number(3, 5))}
    condition, *said_condition = (part.format(**values) for part in draw.pick(_WORDS))
    code, *said, level = draw.pick(_OVER_WORDS)
    at = 1 if language == "pt" else 0
    name = draw.pick(("palavras_certas", "escolhe", "resume_palavras") if at else ("choose", "of_words", "matching"))
    parameter = "palavras" if at else "words"
    return Problem(
        source="words",
        difficulty=_level(level),
        signature=f"{name}({parameter})",
        said=("devolver " if at else "return ") + said[at].format(said_condition[at]),
        body=f"    found = [w for w in {parameter} if {condition}]\n    {code}",
        arguments=[*(str(draw.some(_TRIED[language], draw.number(4, 7))) for _ in range(4)), "[]"],
    )


_GOODS: Final = {"en": ("name", "price", "stock"), "pt": ("nome", "preco", "estoque")}
_OVER_GOODS: Final = (
    (
        "[g['{a}'] for g in {p} if g['{b}'] {op} {k}]",
        'the list of "{a}" of the products whose "{b}" is {said} {k}',
        'a lista de "{a}" dos produtos com "{b}" {said} {k}',
        "easy",
    ),
    (
        "sum(g['{b}'] for g in {p} if g['{c}'] {op} {k})",
        'the sum of "{b}" over the products whose "{c}" is {said} {k}',
        'a soma de "{b}" dos produtos com "{c}" {said} {k}',
        "easy",
    ),
    (
        "sum(g['{b}'] * g['{c}'] for g in {p})",
        'the sum over all products of "{b}" times "{c}"',
        'a soma, sobre todos os produtos, de "{b}" vezes "{c}"',
        "medium",
    ),
    (
        "[g['{a}'] for g in sorted({p}, key=lambda g: g['{b}']{minus})]",
        'the list of "{a}" of all products, ordered by "{b}" {order}',
        'a lista de "{a}" de todos os produtos, em ordem {order} de "{b}"',
        "medium",
    ),
    (
        "{{g['{a}']: g['{b}'] for g in {p} if g['{c}'] {op} {k}}}",
        'a dict from "{a}" to "{b}" for the products whose "{c}" is {said} {k}',
        'um dicionário de "{a}" para "{b}" dos produtos com "{c}" {said} {k}',
        "medium",
    ),
    (
        "[{{**g, '{b}': g['{b}'] + {k}}} for g in {p}]",
        'a new list of the products with {k} added to each "{b}", leaving the given dicts unchanged',
        'uma lista nova com os produtos e {k} a mais em cada "{b}", sem alterar os dicionários recebidos',
        "hard",
    ),
)


def _recorded(draw: Draw, language: Language) -> Problem:
    at = 1 if language == "pt" else 0
    a, *numeric = _GOODS[language]
    b, c = draw.shuffled(numeric)
    op, *said_op = draw.pick((("<", "less than", "menor que"), (">", "greater than", "maior que")))
    rising = draw.chance(50)
    order = (("crescente", "rising") if rising else ("decrescente", "falling"))[0 if at else 1]
    parameter = "produtos" if at else "products"
    code, *said, level = draw.pick(_OVER_GOODS)
    k = draw.number(2, 9)
    blanks = {"a": a, "b": b, "c": c, "op": op, "k": k, "p": parameter, "said": said_op[at], "order": order}
    goods = [
        dict(zip((a, *numeric), (draw.pick(_TRIED[language]), price, stock), strict=True))
        for price, stock in zip(draw.some(range(1, 13), 4), draw.some(range(13), 4), strict=True)
    ]
    goods = [{**good, a: f"{good[a]}{number}"} for number, good in enumerate(goods)]
    name = draw.pick(("relatorio", "consulta", "estoque_de") if at else ("report", "query", "overview"))
    lead = "receber uma lista de dicionários e devolver " if at else "given a list of dicts, return "
    return Problem(
        source="records",
        difficulty=_level(level),
        signature=f"{name}({parameter})",
        said=lead + said[at].format(**blanks),
        body="    return " + code.format(**blanks, minus="" if rising else " * -1"),
        arguments=[str(goods), str(goods[:1]), "[]"],
    )


_TIERS: Final = {
    "en": (
        (
            "shipping(total)",
            "return the shipping cost: {v0} if total is at least {t0}, {v1} if it is at least {t1}, else {v2}",
        ),
        ("fare(age)", "return the fare: {v0} for an age from {t0}, {v1} from {t1}, and {v2} below that"),
        ("grade(points)", 'return "{g0}" from {t0} points, "{g1}" from {t1} points, otherwise "{g2}"'),
        (
            "speed_fine(over)",
            "return the fine: {v0} if over is more than {t0}, {v1} if it is more than {t1}, else {v2}",
        ),
    ),
    "pt": (
        (
            "frete(total)",
            "devolver o frete: {v0} se total for pelo menos {t0}, {v1} se for pelo menos {t1}, senão {v2}",
        ),
        ("ingresso(idade)", "devolver o preço: {v0} a partir de {t0} anos, {v1} a partir de {t1}, e {v2} abaixo disso"),
        ("conceito(nota)", 'devolver "{g0}" a partir de {t0}, "{g1}" a partir de {t1} e "{g2}" nos outros casos'),
        (
            "multa(excesso)",
            "devolver a multa: {v0} se excesso for mais que {t0}, {v1} se for mais que {t1}, senão {v2}",
        ),
    ),
}


def _tiered(draw: Draw, language: Language) -> Problem:
    at = draw.number(0, 3)
    signature, said = _TIERS[language][at]
    parameter = signature.partition("(")[2].rstrip(")")
    low, high = sorted(draw.some(range(4, 40), 2))
    costs = [str(one) for one in sorted(draw.some(range(21), 3), reverse=at != 0)]
    grades = sorted(draw.some(("A", "B", "C", "D", "E"), 3))
    results = [f'"{grade}"' for grade in grades] if at == 2 else costs
    op = ">" if at == 3 else ">="
    edges = sorted({low - 1, low, low + 1, high - 1, high, high + 1, 0})
    return Problem(
        source="tiers",
        difficulty="medium" if op == ">=" else "hard",
        signature=signature,
        said=said.format(
            t0=high, t1=low, v0=costs[0], v1=costs[1], v2=costs[2], g0=grades[0], g1=grades[1], g2=grades[2]
        ),
        body=f"    if {parameter} {op} {high}:\n        return {results[0]}\n"
        f"    return {results[1]} if {parameter} {op} {low} else {results[2]}",
        arguments=[str(edge) for edge in edges],
    )


_FORMATS: Final = (
    ("f'{{{a}}} x {{{b}}}'", '"{A} x {B}"', "easy"),
    ("f'{{{b}}}{s}{{{a}}}'", '"{B}{s}{A}"', "easy"),
    ("f'{{{b}:0{w}d}}{s}{{{a}}}'", '"{B}{s}{A}", {B} {padded}', "medium"),
    ("f'[{{{a}.upper()}}]{s}{{{b}}}'", '"[{A}]{s}{B}", {A} {upper}', "medium"),
    ("f'{{{a}[:{w}]}}{s}{{{b}}}'", '"{A}{s}{B}", {A} {cut}', "medium"),
    ("f'{{{a}}}{s}{{{b} / 100:.2f}}'", '"{A}{s}{B}", {B} {divided}', "hard"),
    ("f'{{{a}[::-1]}}{s}{{{b} + {w}}}'", '"{A}{s}{B}", {A} {backwards}, {B} {raised}', "hard"),
)
_HOW: Final = {
    "en": {
        "padded": "with at least {w} digits, filled with zeros",
        "upper": "in upper case",
        "cut": "cut to its first {w} characters",
        "divided": "divided by 100, with two decimals",
        "backwards": "written backwards",
        "raised": "raised by {w}",
    },
    "pt": {
        "padded": "com pelo menos {w} dígitos, completado com zeros",
        "upper": "em maiúsculas",
        "cut": "só com os {w} primeiros caracteres",
        "divided": "dividido por 100, com duas casas decimais e ponto",
        "backwards": "de trás para a frente",
        "raised": "somado com {w}",
    },
}


def _formatted(draw: Draw, language: Language) -> Problem:
    at = 1 if language == "pt" else 0
    a, b = ("nome", "numero") if at else ("name", "number")
    code, said, level = draw.pick(_FORMATS)
    blanks: dict[str, object] = {"a": a, "b": b, "A": a, "B": b}
    blanks |= {"s": draw.pick((": ", "-", " / ", "#", " = ", "_", " | ")), "w": draw.number(3, 6)}
    how = {key: value.format(w=blanks["w"]) for key, value in _HOW[language].items()}
    name = draw.pick(("etiqueta", "linha", "codigo", "rotulo") if at else ("label", "line", "code_of", "tag"))
    lead = "devolver um texto no formato " if at else "return a string of the form "
    return Problem(
        source="formats",
        difficulty=_level(level),
        signature=f"{name}({a}, {b})",
        said=lead + said.format(**blanks, **how),
        body="    return " + code.format(**blanks),
        arguments=["'tea', 7", "'lantern', 1250", f"'o{draw.pick('aei')}x', 0"],
    )


_Maker = Callable[[Draw, Language], Problem]


def _different(make: _Maker, language: Language, count: int) -> list[Problem]:
    """The first problems that do not do the same thing."""
    found: dict[str, Problem] = {}
    at = 0
    while len(found) < count:
        problem = make(Draw("code", language, make.__name__, at), language)
        found.setdefault(problem.said, problem)
        at += 1
    return list(found.values())


def generated(language: Language) -> Iterator[Problem]:
    """Every generated function of a language that is written whole."""
    for make in (_filtered, _worded, _recorded, _tiered, _formatted):
        yield from _different(make, language, _EACH)


def for_gaps(language: Language) -> Iterator[Problem]:
    """Other functions of the same kinds, for an expression to be taken out of them."""
    for make in (_filtered, _worded):
        yield from _different(make, language, _EACH + _EACH // 2)[_EACH:]
