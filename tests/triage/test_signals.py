"""The signals of an answer from its logprobs, by hand."""

from collections.abc import Sequence
from math import exp, inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.triage.requests import said
from teto.triage.evidence import evidence_tokens
from teto.triage.grounding import grounding_of
from teto.triage.labels import label_shares
from teto.triage.signals import SIGNAL_NAMES, SIGNAL_SIGNS, Signals, signals_of
from teto.wire.generation import Piece, TokenLogprob


def token(text: str, probability: float, **rivals: float) -> TokenLogprob:
    """A token of that probability, its rivals by their texts."""
    top = {text: probability, **rivals}
    return TokenLogprob(text=text, logprob=log(probability), top=tuple((t, log(p)) for t, p in top.items()))


NOTHING = grounding_of("", request="", given="")


def signals(
    tokens: Sequence[TokenLogprob],
    *,
    is_label: bool = False,
    labels: Sequence[str] | None = None,
    empty: Sequence[TokenLogprob] | None = None,
) -> Signals:
    """The signals of a whole plain answer of those tokens."""
    pieces = [Piece(text=token.text, tokens=(token,)) for token in tokens]
    found = signals_of(
        pieces, is_json=False, is_unfinished=False, is_label=is_label, labels=labels, empty=empty, grounding=NOTHING
    )
    assert found is not None
    return found


def test_two_tokens_by_hand() -> None:
    """Of 0.9 (rival 0.05) and 0.4 (rival 0.5) every signal is worked out by hand."""
    found = signals([token("big", 0.9, small=0.05), token("house", 0.4, home=0.5)])
    assert found.mean_logprob == pytest.approx(log(0.6))  # the root of 0.36
    assert found.least_logprob == pytest.approx(log(0.4))
    assert found.low_logprob == pytest.approx(0.9 * log(0.4) + 0.1 * log(0.9))
    assert found.first_logprob == pytest.approx(log(0.9))
    assert found.first_margin == pytest.approx(log(18))
    assert found.least_margin == pytest.approx(log(0.8))
    assert found.unsure_tokens == pytest.approx(log(2))
    assert found.log_tokens == pytest.approx(log(3))
    assert (found.has_labels, found.has_division, found.is_unfinished) == (0, 0, 0)


def test_every_signal_has_a_sign() -> None:
    """What is known beforehand: sure tokens never speak against an answer, unsure ones never for it."""
    signs = dict(zip(SIGNAL_NAMES, SIGNAL_SIGNS, strict=True))
    assert {name for name, sign in signs.items() if sign == 1} == {
        "mean_logprob", "least_logprob", "low_logprob", "first_logprob", "first_margin", "least_margin",
        "label_log_odds", "divided_log_odds", "copied_fraction",
    }  # fmt: skip
    assert {name for name, sign in signs.items() if sign == -1} == {
        "unsure_tokens", "n_labels", "novel_numbers", "is_unchanged",
    }  # fmt: skip


def test_grounding_by_hand() -> None:
    """Three of four words and one of two numbers come from the request; five words were given."""
    found = grounding_of(
        "Ana paid 30 today", request="Who paid 30? Text: ana paid 30 in May", given="ana paid 30 in May"
    )
    assert found.copied_fraction == 0.75
    assert found.novel_numbers == 0
    assert found.length_ratio == pytest.approx(log(5 / 6))
    assert found.is_unchanged == 0
    assert found.given_words == pytest.approx(log(6))
    assert grounding_of("It cost 31", request="30", given="30").novel_numbers == pytest.approx(log(2))
    assert grounding_of("Ana paid 30 in May.", request="", given="ana paid 30 in may").is_unchanged == 1


def test_the_spellings_of_a_label_count_together() -> None:
    """`Positive` and ` positive` are one label; its rival is another word."""
    tokens = [token("positive", 0.5, Positive=0.2, **{" positive": 0.1, "negative": 0.15})]
    assert exp(signals(tokens, is_label=True).first_logprob) == pytest.approx(0.8)
    assert exp(signals(tokens).first_logprob) == pytest.approx(0.5)
    assert signals(tokens).first_margin == pytest.approx(log(0.5 / 0.15))


def test_a_token_counts_once() -> None:
    """A token that stands among its own likeliest ones is not added to itself."""
    assert exp(signals([token("yes", 0.7, no=0.2)], is_label=True).mean_logprob) == pytest.approx(0.7)


def test_no_rival_in_sight_is_a_whole_margin() -> None:
    """Without rivals the token is ahead by as much as can be."""
    assert signals([TokenLogprob(text="yes", logprob=log(0.25))]).least_margin == 12


def test_nothing_can_be_said_of_no_tokens() -> None:
    """An answer without logprobs has no signals, rather than good or bad ones."""
    pieces = [Piece(text="positive")]
    assert (
        signals_of(
            pieces, is_json=False, is_unfinished=False, is_label=True, labels=None, empty=None, grounding=NOTHING
        )
        is None
    )


def test_the_share_of_a_label_among_the_closed_set() -> None:
    """0.6 for yes against 0.2 for no is 3 in 4, whatever the rest of the vocabulary has."""
    found = signals([token("Yes", 0.5, yes=0.1, no=0.2, maybe=0.1)], is_label=True, labels=("yes", "no"))
    assert found.has_labels == 1
    assert found.label_log_odds == pytest.approx(log(3))


def test_an_empty_input_divides() -> None:
    """A model that says yes to nothing at 0.8 against 0.1 has said little with 0.6 against 0.3: 0.75 to 3."""
    said = [token("yes", 0.6, no=0.3)]
    found = signals(said, is_label=True, labels=("yes", "no"), empty=[token("yes", 0.8, no=0.1)])
    assert found.has_division == 1
    assert found.divided_log_odds == pytest.approx(log(0.75 / 3))


def test_labels_of_several_tokens_are_told_apart_where_they_part() -> None:
    """`not urgent` and `not spam` share their first token; the second one tells: 0.6 to 0.2, times all of `not`."""
    said = [token("not", 0.9, urgent=0.1), token(" urgent", 0.6, **{" spam": 0.2})]
    shares = label_shares(said, ("not urgent", "not spam", "urgent"), None)
    assert shares.plain == pytest.approx(0.9 / 1.0 * 0.75)


def test_a_rival_out_of_sight_has_at_most_half_of_the_least_in_sight() -> None:
    """Three labels, one of them not among the likeliest: it gets half of the least probability shown."""
    shares = label_shares([token("red", 0.8, blue=0.1)], ("red", "blue", "green"), None)
    assert shares.plain == pytest.approx(0.8 / (0.8 + 0.1 + 0.05))


@pytest.mark.parametrize("text", ["perhaps", "yesterday", "yes and no"])
def test_an_answer_outside_the_set_has_no_share(text: str) -> None:
    """What is none of the labels has no share among them."""
    assert label_shares([token(text, 0.9)], ("yes", "no"), None).plain is None


def test_space_is_no_evidence() -> None:
    """Of plain text every token with a visible character is evidence."""
    assert [t.text for t in evidence_tokens(said("a", " ", "\n", " b", "."), is_json=False)] == ["a", " b", "."]


@pytest.mark.parametrize(
    ("texts", "evidence"),
    [
        (['{"', "mood", '":', ' "', "good", '"}'], ["good"]),
        (['{"', "mood", '":"', "good", '","', "n", '":', "5", "}"], ["good", "5"]),
        (['{"a": ', "true", ', "b": ', "null", ', "c": ', "-1", ".5", "}"], ["true", "null", "-1", ".5"]),
        (['["', "x", '", "', "y", '"]'], ["x", "y"]),
        (['"', "positive", '"'], ["positive"]),
        (["4", "2"], ["4", "2"]),
        (['{"a":"', "say ", '\\"', "hi", '\\"', '"}'], ["say ", '\\"', "hi", '\\"']),
        (['{"a":"', "b: true, c", '"}'], ["b: true, c"]),
        (['{"a":', '""', "}"], []),
        (["{", "}"], []),
    ],
    ids=["spaced", "merged", "words", "array", "string", "number", "escaped", "lookalike", "empty-value", "empty"],
)
def test_only_values_are_evidence_in_json(texts: list[str], evidence: list[str]) -> None:
    """Braces, names and quotes are forced by the grammar, even where one token holds several of them."""
    assert [t.text for t in evidence_tokens(said(*texts), is_json=True)] == evidence


def test_a_token_across_a_values_edge_is_evidence() -> None:
    """A token that holds a quote and the begin of the value says something."""
    assert [t.text for t in evidence_tokens(said('{"a":', ' "go', 'od"', "}"), is_json=True)] == [' "go', 'od"']


LOGPROBS = st.floats(max_value=0, allow_nan=False) | st.just(-inf)
WORDS = st.sampled_from(["yes", " Yes", "YES", "no", " no", "5"])
TOKENS = st.builds(
    TokenLogprob,
    text=WORDS,
    logprob=LOGPROBS,
    top=st.lists(st.tuples(WORDS, LOGPROBS), max_size=5).map(tuple),
)


@given(tokens=st.lists(TOKENS, min_size=1, max_size=20), is_label=st.booleans(), labels=st.booleans())
def test_signals_are_finite(tokens: list[TokenLogprob], *, is_label: bool, labels: bool) -> None:
    """Every signal is a number within 12 nats, the least token below the mean, whatever an engine sends."""
    found = signals(tokens, is_label=is_label, labels=("yes", "no") if labels else None, empty=tokens)
    assert all(-12 <= value <= 12 for value in found.values)
    assert found.least_logprob <= found.mean_logprob + 1e-9
    assert len(found.values) == len(SIGNAL_NAMES)


@given(text=st.text(max_size=60), size=st.integers(1, 5))
def test_evidence_is_some_of_the_tokens(text: str, size: int) -> None:
    """Whatever the engine says, evidence is taken from its tokens in their order."""
    pieces = [
        Piece(text=part, tokens=(TokenLogprob(text=part, logprob=-1),))
        for part in (text[i : i + size] for i in range(0, len(text), size))
    ]
    for is_json in (True, False):
        evidence = evidence_tokens(pieces, is_json=is_json)
        everything = iter(token for piece in pieces for token in piece.tokens)
        assert all(any(found is other for other in everything) for found in evidence)
