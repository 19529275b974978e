"""How sure an answer is, from the logprobs of the tokens that carry it; no extra token is generated."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Final

from teto.wire.generation import Piece, TokenLogprob

__all__ = ["Confidence", "confidence_of", "evidence_tokens"]

# The values of a JSON answer: what stands between the quotes of a string, numbers and words, behind a colon, a
# bracket or a comma, or alone.
_VALUE: Final = r'(?:"((?:[^"\\]|\\.)*)"|(-?\d[\d.eE+-]*|true|false|null))'
_JSON_VALUE: Final = re.compile(rf"\A\s*{_VALUE}\s*\Z|(?<=[:\[,])\s*{_VALUE}(?=\s*[,\]}}])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """Probabilities between 0 and 1, computed from the model's raw logprobs.

    `mean_probability` is the geometric mean over the evidence tokens,
    `least_probability` that of the least likely one, `first_margin` how far the first evidence token is ahead of
    its rival (1 when it has none in sight). `n_tokens` is how many tokens carried it.
    """

    mean_probability: float
    least_probability: float
    first_margin: float
    n_tokens: int

    @property
    def score(self) -> float:
        """What the first policy compares: an answer is as sure as its weakest token.

        On 118 closed development prompts and the default weights it told right answers from wrong ones better
        than the mean (AUROC 0.84 against 0.78).
        """
        return self.least_probability


def evidence_tokens(pieces: Sequence[Piece], *, is_json: bool) -> list[TokenLogprob]:
    """The tokens that say something: all that have text, or in JSON those that overlap a value.

    The quotes, names and braces of a structured answer are forced by the grammar: how unlikely the model found
    them says nothing about the values.
    """
    if not is_json:
        return [token for piece in pieces for token in piece.tokens if token.text.strip()]
    matches = _JSON_VALUE.finditer("".join(piece.text for piece in pieces))
    spans = [match.span(match.lastindex or 0) for match in matches if match[match.lastindex or 0]]
    kept: list[TokenLogprob] = []
    start = 0
    for piece in pieces:
        end = start + len(piece.text)
        if any(start < stop and end > begin for begin, stop in spans):
            kept += [token for token in piece.tokens if token.text.strip(' "\n')]
        start = end
    return kept


def _same_word(first: str, second: str) -> bool:
    return first.strip().lower() == second.strip().lower()


def _probability(token: TokenLogprob, *, is_label: bool) -> float:
    """The token's probability; of a label, that of all its spellings in sight: `Positive`, ` positive` ..."""
    if not is_label:
        return exp(token.logprob)
    spellings = {text: logprob for text, logprob in token.top if _same_word(text, token.text)}
    return min(1.0, sum(exp(logprob) for logprob in ({token.text: token.logprob} | spellings).values()))


def confidence_of(tokens: Sequence[TokenLogprob], *, is_label: bool) -> Confidence | None:
    """The confidence of those tokens; None when there are none, and then nothing can be said.

    Of a label (`is_label`) the spellings count together, because the case in which it is written is no doubt
    about which one it is.
    """
    if not tokens:
        return None
    probabilities = [_probability(token, is_label=is_label) for token in tokens]
    first = tokens[0]
    rivals = [logprob for text, logprob in first.top if not _same_word(text, first.text)]
    return Confidence(
        mean_probability=exp(sum(log(max(p, 1e-300)) for p in probabilities) / len(probabilities)),
        least_probability=min(probabilities),
        first_margin=probabilities[0] - exp(max(rivals)) if rivals else 1.0,
        n_tokens=len(tokens),
    )
