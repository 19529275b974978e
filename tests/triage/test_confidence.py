"""Confidence from logprobs, by hand."""

from math import exp, inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.triage.requests import said
from teto.triage.confidence import Confidence, confidence_of, evidence_tokens
from teto.wire.generation import Piece, TokenLogprob


def token(text: str, probability: float, **rivals: float) -> TokenLogprob:
    """A token of that probability, its rivals by their texts."""
    top = {text: probability, **rivals}
    return TokenLogprob(text=text, logprob=log(probability), top=tuple((t, log(p)) for t, p in top.items()))


def test_the_score_is_a_geometric_mean() -> None:
    """Two tokens of 0.9 and 0.4 give the root of 0.36, which is 0.6."""
    found = confidence_of([token("big", 0.9, small=0.05), token("house", 0.4, home=0.5)], is_label=False)
    assert found is not None
    assert found.mean_probability == pytest.approx(0.6)
    assert found.least_probability == pytest.approx(0.4)
    assert found.first_margin == pytest.approx(0.85)  # 0.9 - 0.05
    assert found.n_tokens == 2


def test_the_spellings_of_a_label_count_together() -> None:
    """`Positive` and ` positive` are one label; its rival is another word."""
    tokens = [token("positive", 0.5, Positive=0.2, **{" positive": 0.1, "negative": 0.15})]
    label = confidence_of(tokens, is_label=True)
    # 0.5 + 0.2 + 0.1 = 0.8; 0.8 - 0.15 = 0.65.
    assert label is not None
    assert label.mean_probability == pytest.approx(0.8)
    assert label.first_margin == pytest.approx(0.65)
    text = confidence_of(tokens, is_label=False)
    assert text is not None
    assert text.mean_probability == pytest.approx(0.5)
    assert text.first_margin == pytest.approx(0.35)


def test_a_token_counts_once() -> None:
    """A token that stands among its own likeliest ones is not added to itself."""
    found = confidence_of([token("yes", 0.7, no=0.2)], is_label=True)
    assert found is not None
    assert found.mean_probability == pytest.approx(0.7)


def test_no_rival_in_sight_is_a_whole_margin() -> None:
    """Without rivals the first token is ahead of all."""
    found = confidence_of([TokenLogprob(text="yes", logprob=log(0.25))], is_label=False)
    assert found == Confidence(mean_probability=0.25, least_probability=0.25, first_margin=1.0, n_tokens=1)


@pytest.mark.parametrize("is_label", [True, False])
def test_nothing_can_be_said_of_no_tokens(*, is_label: bool) -> None:
    """An answer without logprobs has no confidence, rather than a full or an empty one."""
    assert confidence_of([], is_label=is_label) is None


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


@given(tokens=st.lists(TOKENS, min_size=1, max_size=20), is_label=st.booleans())
def test_confidence_is_a_probability(tokens: list[TokenLogprob], *, is_label: bool) -> None:
    """Mean and least lie between 0 and 1, the least below the mean, whatever an engine sends."""
    found = confidence_of(tokens, is_label=is_label)
    assert found is not None
    assert 0 <= found.least_probability <= 1
    assert 0 <= found.mean_probability <= 1
    assert found.least_probability <= found.mean_probability * (1 + 1e-9)
    assert -1 <= found.first_margin <= 1
    assert found.n_tokens == len(tokens)


@given(probabilities=st.lists(st.floats(0.001, 1), min_size=1, max_size=10))
def test_more_doubt_lowers_the_score(probabilities: list[float]) -> None:
    """Halving the probability of one token lowers the score by the n-th root of a half."""
    before = [TokenLogprob(text="x", logprob=log(p)) for p in probabilities]
    after = [TokenLogprob(text="x", logprob=before[0].logprob - log(2)), *before[1:]]
    first, second = confidence_of(before, is_label=False), confidence_of(after, is_label=False)
    assert first is not None
    assert second is not None
    assert second.mean_probability == pytest.approx(first.mean_probability * exp(-log(2) / len(before)))


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
