"""What an answer says about its being right: signals that cost no extra token.

Most are computed from the model's raw logprobs (nats), on the tokens that carry the answer's content: probabilities
become log-odds or logs, margins are differences of logprobs, and what could be infinite is cut at 12 nats. The last
ones compare the answer with its request.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from math import exp, log, log1p
from typing import Final

from teto.triage.evidence import evidence_tokens, same_word
from teto.triage.grounding import Grounding
from teto.triage.labels import LabelShares, label_shares
from teto.wire.generation import Piece, TokenLogprob

__all__ = ["SIGNAL_NAMES", "SIGNAL_SIGNS", "Signals", "signals_of"]

_MOST_NATS: Final = 12.0
_LOW_QUANTILE: Final = 0.1
_UNSURE_LOGPROB: Final = log(0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """One answer's signals; of a prefix those of its tokens so far, and then `is_unfinished` is 1.

    `label_log_odds` is of the label that was said among the closed set, `divided_log_odds` the same after each
    label's probability was divided by its probability on an empty input; both are 0 where `has_labels` or
    `has_division` is 0.
    """

    mean_logprob: float
    least_logprob: float
    low_logprob: float  # the 10 % quantile
    first_logprob: float
    first_margin: float
    least_margin: float
    unsure_tokens: float  # log(1 + how many had less than half)
    log_tokens: float
    has_labels: float
    label_log_odds: float
    has_division: float
    divided_log_odds: float
    is_unfinished: float
    n_labels: float  # log(1 + how many there are to choose from)
    copied_fraction: float
    novel_numbers: float
    length_ratio: float
    is_unchanged: float
    given_words: float

    @property
    def values(self) -> tuple[float, ...]:
        """In the order of `SIGNAL_NAMES`."""
        return astuple(self)


SIGNAL_NAMES: Final = tuple(field.name for field in fields(Signals))
# Which way each signal can point: 1, more of it is never a sign of being wrong; -1, never one of being right; 0, both.
SIGNAL_SIGNS: Final = tuple(
    {"unsure_tokens": -1, "n_labels": -1, "novel_numbers": -1, "is_unchanged": -1, "copied_fraction": 1}.get(
        name, 1 if name.endswith(("logprob", "margin", "log_odds")) else 0
    )
    for name in SIGNAL_NAMES
)


def _logprob(token: TokenLogprob, *, is_label: bool) -> float:
    """Of the token, or of a label's spellings in sight together: its case is no doubt about which one it is."""
    if not is_label:
        return max(-_MOST_NATS, token.logprob)
    spellings = {text: logprob for text, logprob in token.top if same_word(text, token.text)}
    together = sum(exp(logprob) for logprob in (spellings | {token.text: token.logprob}).values())
    return max(-_MOST_NATS, min(0.0, log(max(together, 1e-300))))


def _margin(token: TokenLogprob) -> float:
    """How far the token is ahead of its best rival of another spelling; behind it, negative."""
    rivals = [logprob for text, logprob in token.top if not same_word(text, token.text)]
    # Cut first: two tokens without any probability are level, not incomparable.
    return _cut(token.logprob) - _cut(max(rivals)) if rivals else _MOST_NATS


def _cut(value: float) -> float:
    return max(-_MOST_NATS, min(_MOST_NATS, value))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """By linear interpolation between neighbours."""
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def signals_of(
    pieces: Sequence[Piece],
    *,
    is_json: bool,
    is_unfinished: bool,
    is_label: bool,
    labels: Sequence[str] | None,
    empty: Sequence[TokenLogprob] | None,
    grounding: Grounding,
) -> Signals | None:
    """The signals of an answer; None where the engine gave no token of it a logprob.

    Args:
        pieces: the answer so far.
        is_json: its form was forced by a schema: only the tokens of values count.
        is_unfinished: the engine has more to say.
        is_label: a label is asked for: the spellings of each token count together.
        labels: the closed set of answers, folded (`label_set`), or None.
        empty: the tokens of the answer to the same request without its given text, or None where it was not asked.
        grounding: how the answer hangs together with its request.
    """
    tokens = evidence_tokens(pieces, is_json=is_json)
    if not tokens:
        return None
    logprobs = [_logprob(token, is_label=is_label) for token in tokens]
    ordered = sorted(logprobs)
    margins = [_cut(_margin(token)) for token in tokens]
    shares = label_shares(tokens, labels, empty) if labels is not None else LabelShares()
    return Signals(
        mean_logprob=sum(logprobs) / len(logprobs),
        least_logprob=ordered[0],
        low_logprob=_quantile(ordered, _LOW_QUANTILE),
        first_logprob=logprobs[0],
        first_margin=margins[0],
        least_margin=min(margins),
        unsure_tokens=log1p(sum(logprob < _UNSURE_LOGPROB for logprob in logprobs)),
        log_tokens=log1p(len(tokens)),
        has_labels=float(shares.plain is not None),
        label_log_odds=0.0 if shares.plain is None else _log_odds(shares.plain),
        has_division=float(shares.divided is not None),
        divided_log_odds=0.0 if shares.divided is None else _log_odds(shares.divided),
        is_unfinished=float(is_unfinished),
        n_labels=log1p(0 if labels is None else len(labels)),
        copied_fraction=grounding.copied_fraction,
        novel_numbers=grounding.novel_numbers,
        length_ratio=grounding.length_ratio,
        is_unchanged=grounding.is_unchanged,
        given_words=grounding.given_words,
    )


def _log_odds(share: float) -> float:
    return _cut(log(max(share, 1e-9)) - log(max(1 - share, 1e-9)))
