"""The questions that place a call, in the order in which they decide: a tree as data, for text and for pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from teto.physics.cost import Cost
from teto.physics.placement import Crossovers, Local, PlacedCall
from teto.units import show_seconds, show_usd

__all__ = ["Leaf", "Question", "Tree", "placement_tree"]

Place: TypeAlias = Literal["local", "cloud", "neither"]
Lang: TypeAlias = Literal["en", "pt"]

_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "private": ("Must the data stay on this machine?", "Os dados têm de ficar nesta máquina?"),
    "only you": ("only you know", "só você sabe"),
    "fits": ("Does it fit here?", "Cabe aqui?"),
    "context": (
        "{needed} tokens of context; memory holds {held}",
        "{needed} tokens de contexto; na memória cabem {held}",
    ),
    "stays": ("privacy: nothing leaves this machine", "privacidade: nada sai desta máquina"),
    "refused": (
        "refused: it takes a shorter prompt or a smaller model to keep it here",
        "recusada: para ficar aqui, só com um prompt mais curto ou um modelo menor",
    ),
    "no room": ("the local memory holds no such context", "esse contexto não cabe na memória local"),
    "open": (
        "Is it open reasoning, or knowledge that is not in the prompt?",
        "É raciocínio aberto, ou conhecimento que não está no prompt?",
    ),
    "fluent": (
        "small models are fluently wrong there; measure on your own calls",
        "aí modelos pequenos erram com fluência; meça nas suas próprias chamadas",
    ),
    "wrong": (
        "speed and price do not matter when the answer is wrong",
        "velocidade e preço não importam quando a resposta está errada",
    ),
    "fast": ("Is local at least as fast?", "O local é pelo menos tão rápido?"),
    "times": ("{here} here, {there} in the cloud; {turn}", "{here} aqui, {there} na nuvem; {turn}"),
    "turn": ("with this prompt that turns at {n} answer tokens", "com este prompt isso vira em {n} tokens de resposta"),
    "no turn": (
        "with this prompt no length of the answer turns it",
        "com este prompt nenhum tamanho de resposta muda isso",
    ),
    "faster": ("faster, and at the margin only electricity", "mais rápido, e na margem só a energia"),
    "worth": ("Is the wait worth the price?", "A espera vale o preço?"),
    "longer": ("{wait} longer here; {here} here, {there} there", "{wait} a mais aqui; {here} aqui, {there} lá"),
    "not longer": ("no wait for this call; {here} here, {there} there", "esta não espera; {here} aqui, {there} lá"),
    "unknown": ("unknown", "desconhecido"),
    "patient": (
        "nobody waits: batch work, or the price matters more",
        "ninguém espera: trabalho em lote, ou o preço pesa mais",
    ),
    "the faster": ("the faster one", "a mais rápida"),
}
_TO_PORTUGUESE: Final = str.maketrans(",.", ".,")


@dataclass(frozen=True, slots=True)
class Leaf:
    """Where the call goes, `neither` being a refusal, and why."""

    place: Place
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with what this call answers to it: None where only the caller can know."""

    text: str
    figure: str
    answer: bool | None
    yes: "Tree"
    no: "Tree"


Tree: TypeAlias = Question | Leaf


@dataclass(frozen=True, slots=True)
class _Words:
    lang: Lang

    def __call__(self, key: str, **figures: str) -> str:
        """The text of that key with its figures, as the language writes them."""
        if self.lang == "en":
            return _TEXTS[key][0].format(**figures)
        # What was said by this table already is left as it is: only bare figures change their marks.
        written = {name: one if name == "turn" else one.translate(_TO_PORTUGUESE) for name, one in figures.items()}
        return _TEXTS[key][1].format(**written)

    def money(self, cost: Cost) -> str:
        """Dollars, or that they are unknown."""
        return self("unknown") if cost.usd is None else show_usd(cost.usd)


def placement_tree(placed: PlacedCall, crossing: Crossovers, local: Local, *, lang: Lang = "en") -> Tree:
    """Privacy first, then what is possible, then quality, then latency, then money."""
    say = _Words(lang)
    held = f"{local.longest_context_tokens:,}"
    context = say("context", needed=f"{placed.tokens.context_tokens:,}", held=held)
    return Question(
        text=say("private"),
        figure=say("only you"),
        answer=None,
        yes=Question(
            text=say("fits"),
            figure=context,
            answer=placed.fits_locally,
            yes=Leaf("local", say("stays")),
            no=Leaf("neither", say("refused")),
        ),
        no=Question(
            text=say("fits"),
            figure=context,
            answer=placed.fits_locally,
            yes=_quality(placed, crossing, say),
            no=Leaf("cloud", say("no room")),
        ),
    )


def _quality(placed: PlacedCall, crossing: Crossovers, say: _Words) -> Question:
    return Question(
        text=say("open"),
        figure=say("fluent"),
        answer=None,
        yes=Leaf("cloud", say("wrong")),
        no=_latency(placed, crossing, say),
    )


def _latency(placed: PlacedCall, crossing: Crossovers, say: _Words) -> Question:
    at = crossing.output_tokens
    turn = say("no turn") if at is None else say("turn", n=f"{at:,}")
    here, there = show_seconds(placed.local_s), show_seconds(placed.cloud_s)
    return Question(
        text=say("fast"),
        figure=say("times", here=here, there=there, turn=turn),
        answer=placed.wins == "local",
        yes=Leaf("local", say("faster")),
        no=_price(placed, say),
    )


def _price(placed: PlacedCall, say: _Words) -> Question:
    longer_s = placed.local_s - placed.cloud_s
    prices = {"here": say.money(placed.local_cost), "there": say.money(placed.cloud_cost)}
    return Question(
        text=say("worth"),
        figure=say("longer", wait=show_seconds(longer_s), **prices) if longer_s > 0 else say("not longer", **prices),
        answer=None,
        yes=Leaf("local", say("patient")),
        no=Leaf("cloud", say("the faster")),
    )
