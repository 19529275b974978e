"""How likely the label that was said is among the closed set, by the rivals in sight at the token that tells it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Final

from teto.triage.instruction import fold
from teto.wire.generation import TokenLogprob

__all__ = ["LabelShares", "label_shares"]

_LEAST_MASS: Final = 1e-9
_EDGES: Final = " \t\n\"'`*.“”«»▁"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelShares:
    """The share of the label that was said, plain and divided by its likelihood on an empty input; None: unknown."""

    plain: float | None = None
    divided: float | None = None


def label_shares(
    tokens: Sequence[TokenLogprob], labels: Sequence[str], empty: Sequence[TokenLogprob] | None
) -> LabelShares:
    """The shares of the label that the answer says.

    The labels are told apart token by token: at each one, those that still fit share the probability in sight, and
    the shares multiply until one label is left. A rival that is not in sight gets at most what the least in sight
    has. Division (Zhao et al. 2021, "Calibrate before use") compares first tokens only, since the empty input's
    answer soon goes its own way.
    """
    said = _said("".join(token.text for token in tokens), labels)
    if said is None:
        return LabelShares()
    plain, seen, left = 1.0, "", list(labels)
    for token in tokens:
        if len(left) == 1:
            break
        masses = _masses(token, left, seen)
        own = fold(token.text).strip(_EDGES)
        together = [label for label in left if label[len(seen) :].lstrip().startswith(own)]
        if not together or said not in together:
            return LabelShares()
        plain *= sum(masses[label] for label in together) / sum(masses.values())
        seen, left = said[: len(said) - len(said[len(seen) :].lstrip()) + len(own)], together
    return LabelShares(plain=plain, divided=_divided(tokens[0], said, labels, empty))


def _said(answer: str, labels: Sequence[str]) -> str | None:
    """The one label that the answer is."""
    text = fold(answer).strip(_EDGES)
    return next((label for label in labels if label == text), None)


def _masses(token: TokenLogprob, labels: Sequence[str], seen: str) -> dict[str, float]:
    """The probability in sight of each label at this token; what several labels share is split evenly."""
    found = dict.fromkeys(labels, 0.0)
    entries = dict(token.top) | {token.text: token.logprob}
    for text, logprob in entries.items():
        part = fold(text).strip(_EDGES)
        fitting = [label for label in labels if part and _fits(label[len(seen) :].lstrip(), part)]
        for label in fitting:
            found[label] += exp(logprob) / len(fitting)
    least = exp(min(entries.values()))
    return {label: max(mass, least / 2, _LEAST_MASS) for label, mass in found.items()}


def _fits(rest: str, part: str) -> bool:
    return rest.startswith(part) or (bool(rest) and part.startswith(rest))


def _divided(
    first: TokenLogprob, said: str, labels: Sequence[str], empty: Sequence[TokenLogprob] | None
) -> float | None:
    if not empty:
        return None
    given, without = _masses(first, labels, ""), _masses(empty[0], labels, "")
    ratios = {label: given[label] / without[label] for label in labels}
    return ratios[said] / sum(ratios.values())
