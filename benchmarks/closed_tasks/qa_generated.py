"""Questions about tables, price lists, near-namesakes and who-does-what talks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from closed_tasks.draw import Draw
from closed_tasks.extract_values import amount, clock
from closed_tasks.item import Difficulty, Language
from closed_tasks.words import table

__all__ = ["GENERATORS", "Made"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A generated question."""

    text: str
    asked: str
    difficulty: Difficulty = "medium"
    yes_no: str = ""
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()


def _yes(holds: bool) -> str:  # noqa: FBT001 - a plain conversion
    return "yes" if holds else "no"


_COURSES: Final = {
    "en": ("Pottery", "Judo", "Choir", "Chess", "Yoga", "Robotics", "Drawing", "First aid"),
    "pt": ("Capoeira", "Cerâmica", "Coral", "Xadrez", "Ioga", "Robótica", "Desenho", "Violão"),
}


def _timetable(draw: Draw, language: Language) -> Made:
    words = table(language, "vocabulary")
    courses = draw.some(_COURSES[language], 4)
    starts = draw.some(range(34, 80), 4)
    days, people = draw.some(words["days"][:5], 4), draw.some(words["others"], 4)
    times = [clock(start * 15, language, style=1) for start in starts]
    head = "Curso | Dia | Início | Com" if language == "pt" else "Course | Day | Start | With"
    bars = zip(courses, days, times, people, strict=True)
    text = "\n".join([head, *(" | ".join(row) for row in bars)])
    one, two = draw.some(range(4), 2)
    kind = draw.number(0, 4)
    if language == "pt":
        asked = (
            f"A que horas começa o curso de {courses[one]}?",
            f"Em que dia é o curso de {courses[one]}?",
            f"Que curso é na {days[one]}?",
            f"O curso de {courses[one]} começa mais cedo (em horário) que o de {courses[two]}?",
            f"Quem dá o curso de {courses[one]} é {people[draw.pick((one, two))]}?",
        )[kind]
    else:
        asked = (
            f"At what time does {courses[one]} start?",
            f"On which day is {courses[one]}?",
            f"Which course is on {days[one]}?",
            f"Does {courses[one]} start at an earlier hour than {courses[two]}?",
            f"Is {courses[one]} taught by {people[draw.pick((one, two))]}?",
        )[kind]
    if kind == 4:
        return Made(text=text, asked=asked, yes_no=_yes(people[one] in asked))
    if kind == 3:
        return Made(text=text, asked=asked, difficulty="hard", yes_no=_yes(starts[one] < starts[two]))
    hour = starts[one] * 15
    right = (
        (times[one], *(clock(hour, language, style=style) for style in (0, 1)), f"{hour // 60}:{hour % 60:02d}"),
        (days[one], days[one].removesuffix("-feira")),
        (courses[one],),
    )[kind]
    column = (times, days, courses)[kind]
    wrong = tuple(value for at, value in enumerate(column) if at != one)
    return Made(text=text, asked=asked, accept=tuple(dict.fromkeys(right)), reject=wrong)


_DISHES: Final = {
    "en": ("Tomato soup", "Pea soup", "Fish pie", "Apple pie", "Green salad", "Egg salad", "Rice bowl", "Lentil stew"),
    "pt": (
        "Feijoada",
        "Moqueca",
        "Pastel de queijo",
        "Pastel de carne",
        "Caldo verde",
        "Suco de caju",
        "Pudim",
        "Coxinha",
    ),
}
_ABSENT: Final = {"en": ("Onion soup", "Cherry pie"), "pt": ("Pastel de palmito", "Suco de manga")}


def _prices(draw: Draw, language: Language) -> Made:
    dishes = draw.some(_DISHES[language], 5)
    cents = [50 * number for number in draw.some(range(8, 70), 5)]
    shown = [amount(one, language) for one in cents]
    mark = "R$ " if language == "pt" else ""
    text = draw.pick(("\n", "; ")).join(f"{dish}: {mark}{price}" for dish, price in zip(dishes, shown, strict=True))
    one, two = draw.some(range(5), 2)
    kind = draw.number(0, 4)
    there = draw.chance(50)
    looked_for = dishes[one] if there else draw.pick(_ABSENT[language])
    most = max(range(5), key=cents.__getitem__)
    least = min(range(5), key=cents.__getitem__)
    others = tuple(price for at, price in enumerate(shown) if at != one)
    if language == "pt":
        asked = (
            f"Quanto custa: {dishes[one]}?",
            f"{dishes[one]} é mais caro que {dishes[two]}?",
            "Qual é o item mais caro da lista?",
            "Qual é o item mais barato da lista?",
            f"Tem {looked_for.lower()} na lista?",
        )[kind]
    else:
        asked = (
            f"What does the {dishes[one].lower()} cost?",
            f"Is the {dishes[one].lower()} more expensive than the {dishes[two].lower()}?",
            "Which item is the most expensive?",
            "Which item is the cheapest?",
            f"Is {looked_for.lower()} on the list?",
        )[kind]
    if kind == 0:
        return Made(text=text, asked=asked, difficulty="easy", accept=(shown[one],), reject=others)
    if kind == 1:
        return Made(text=text, asked=asked, difficulty="medium", yes_no=_yes(cents[one] > cents[two]))
    if kind == 4:
        return Made(text=text, asked=asked, difficulty="easy", yes_no=_yes(there))
    found = most if kind == 2 else least
    wrong = tuple(dish for at, dish in enumerate(dishes) if at != found)
    return Made(text=text, asked=asked, difficulty="hard", accept=(dishes[found],), reject=wrong)


_ALIKE: Final = {
    "en": (
        ("Carla Jensen", "Karla Jansen"),
        ("Tom Reid", "Tim Reed"),
        ("Anna Holm", "Hanna Ohm"),
        ("Mark Lowe", "Marc Low"),
        ("Sara Dean", "Sarah Deane"),
        ("Jon Marsh", "John March"),
    ),
    "pt": (
        ("Luísa Prado", "Luiza Prates"),
        ("Tiago Reis", "Thiago Régis"),
        ("Ana Horta", "Hanna Orta"),
        ("Marcos Leme", "Marco Lemos"),
        ("Sara Dias", "Sarah Diaz"),
        ("João Matos", "Joana Mattos"),
    ),
}


def _namesakes(draw: Draw, language: Language) -> Made:
    """Two people whose names are almost the same; genders are avoided in what is said of them."""
    one, two = draw.shuffled(draw.pick(_ALIKE[language]))
    words = table(language, "vocabulary")
    towns, cities = draw.some(words["towns"], 2), draw.some(words["cities"], 2)
    ages = draw.some(range(24, 69), 2)
    years = draw.some(range(2009, 2023), 2)
    kind = draw.number(0, 4)
    named = draw.pick((0, 1))
    who, other = (one, two) if named == 0 else (two, one)
    if language == "pt":
        text = (
            f"{one}, {ages[0]} anos, nasceu em {towns[0]} e trabalha em {cities[0]} desde {years[0]}. "
            f"{two}, {ages[1]} anos, é de {towns[1]} e está em {cities[1]} desde {years[1]}. "
            "As cartas vivem sendo trocadas."
        )
        asked = (
            f"Quantos anos tem {who}?",
            f"Quem trabalha em {cities[named]}?",
            f"Desde que ano {who} está em {cities[named]}?",
            f"{who} é de {towns[draw.pick((0, 1))]}?",
            f"{who} tem mais idade que {other}?",
        )[kind]
    else:
        text = (
            f"{one}, {ages[0]}, was born in {towns[0]} and has worked in {cities[0]} since {years[0]}. "
            f"{two}, {ages[1]}, comes from {towns[1]} and has been in {cities[1]} since {years[1]}. "
            "Their letters are mixed up all the time."
        )
        asked = (
            f"How old is {who}?",
            f"Who works in {cities[named]}?",
            f"Since what year has {who} been in {cities[named]}?",
            f"Is {who} from {towns[draw.pick((0, 1))]}?",
            f"Is {who} older than {other}?",
        )[kind]
    if kind == 3:
        return Made(text=text, asked=asked, difficulty="hard", yes_no=_yes(towns[named] in asked))
    if kind == 4:
        return Made(text=text, asked=asked, difficulty="hard", yes_no=_yes(ages[named] > ages[1 - named]))
    right, wrong = (
        (str(ages[named]), str(ages[1 - named])),
        (who, other),
        (str(years[named]), str(years[1 - named])),
    )[kind]
    return Made(text=text, asked=asked, difficulty="hard", accept=(right,), reject=(wrong,))


_BRING: Final = {
    "en": ("the salad", "the chairs", "the drinks", "the speakers", "the tent", "the cake", "the plates", "the grill"),
    "pt": ("a salada", "as cadeiras", "o refri", "a caixa de som", "a barraca", "o bolo", "os pratos", "o carvão"),
}


def _who_brings(draw: Draw, language: Language) -> Made:
    names = draw.some(table(language, "vocabulary")["firsts"], 3)
    things = draw.some(_BRING[language], 3)
    swapped = draw.chance(60)
    a, b, c = names
    if language == "pt":
        talk = [f"{a}: eu levo {things[0]}", f"{b}: então fico com {things[1]}", f"{c}: e eu com {things[2]}"]
        if swapped:
            talk += [f"{b}: {c}, troca comigo?", f"{c}: troco"]
        talk += draw.pick(([f"{a}: fechou"], [f"{a}: combinado, até sábado"], []))
    else:
        talk = [f"{a}: I'll bring {things[0]}", f"{b}: then I take {things[1]}", f"{c}: and I take {things[2]}"]
        if swapped:
            talk += [f"{b}: {c}, can we swap, my thing for yours?", f"{c}: sure"]
        talk += draw.pick(([f"{a}: great"], [f"{a}: perfect, see you on Saturday"], []))
    brings = {a: things[0], b: things[2 if swapped else 1], c: things[1 if swapped else 2]}
    who = draw.pick(names)
    text = "\n".join(talk)
    level: Difficulty = "hard" if swapped and who != a else "medium"
    kind = draw.number(0, 2)
    if kind == 0:
        asked = f"Quem leva {brings[who]}?" if language == "pt" else f"Who brings {brings[who]} in the end?"
        return Made(
            text=text, asked=asked, difficulty=level, accept=(who,), reject=tuple(name for name in names if name != who)
        )
    if kind == 1:
        asked = f"O que {who} vai levar, no fim?" if language == "pt" else f"What does {who} bring in the end?"
        right = (brings[who], brings[who].split(" ", 1)[1])
        wrong = tuple(thing.split(" ", 1)[1] for thing in things if thing != brings[who])
        return Made(text=text, asked=asked, difficulty=level, accept=right, reject=wrong)
    thing = draw.pick(things)
    asked = f"No fim, é {who} quem leva {thing}?" if language == "pt" else f"In the end, does {who} bring {thing}?"
    return Made(text=text, asked=asked, difficulty=level, yes_no=_yes(brings[who] == thing))


GENERATORS: Final[dict[str, Callable[[Draw, Language], Made]]] = {
    "timetables": _timetable,
    "price-lists": _prices,
    "namesakes": _namesakes,
    "talks": _who_brings,
}
