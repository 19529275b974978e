"""Rules of privacy: what each condition means, and that all of a rule's must hold."""

from typing import Any

import msgspec
import pytest

from tests.triage.requests import ask
from teto.triage.privacy.finding import KINDS, Kind
from teto.triage.privacy.rules import Facts, Rule, applies, match, tags_of

DIGEST = "ab12cd34ef56" + "0" * 52


def facts(**given: Any) -> Facts:
    """Facts of a request about which nothing else is known."""
    return Facts(**{"key_digests": frozenset(), "headers": (), "tags": frozenset(), **given})


@pytest.mark.parametrize(
    ("rule", "known", "holds"),
    [
        (Rule(name="r", keys=("ab12cd34ef56",)), facts(key_digests=frozenset({DIGEST})), True),
        (Rule(name="r", keys=(DIGEST,)), facts(key_digests=frozenset({DIGEST})), True),
        (Rule(name="r", keys=("ffffffffffff", "ab12cd34ef56")), facts(key_digests=frozenset({DIGEST})), True),
        (Rule(name="r", keys=("ffffffffffff",)), facts(key_digests=frozenset({DIGEST})), False),
        (Rule(name="r", keys=("ab12cd34ef56",)), facts(), False),
        (Rule(name="r", headers={"x-class": "secret*"}), facts(headers=[("x-class", "secret-2")]), True),
        (Rule(name="r", headers={"x-class": "SECRET*"}), facts(headers=[("x-class", " Secret ")]), True),
        (Rule(name="r", headers={"x-class": "secret"}), facts(headers=[("x-class", "a"), ("x-class", "secret")]), True),
        (Rule(name="r", headers={"x-class": "*"}), facts(), False),
        (Rule(name="r", headers={"x-class": "secret"}), facts(headers=[("x-other", "secret")]), False),
        (Rule(name="r", headers={"x-a": "1", "x-b": "2"}), facts(headers=[("x-a", "1"), ("x-b", "2")]), True),
        (Rule(name="r", headers={"x-a": "1", "x-b": "2"}), facts(headers=[("x-a", "1")]), False),
        (Rule(name="r", tags=("hr", "legal-*")), facts(tags=frozenset({"other", "Legal-BR"})), True),
        (Rule(name="r", tags=("hr",)), facts(tags=frozenset({"hrx"})), False),
        (Rule(name="r", tags=("hr",)), facts(tags=None), True),  # tags that cannot be read may be any
        (Rule(name="r", keys=("ab12cd34ef56",), tags=("hr",)), facts(key_digests=frozenset({DIGEST})), False),
        (Rule(name="r"), facts(), False),
    ],
)
def test_all_that_a_rule_states_must_hold(rule: Rule, known: Facts, *, holds: bool) -> None:
    """Keys by the beginning of their digest, headers and tags by globs in any case; none stated, nothing kept."""
    assert applies(rule, known) is holds
    found = match([rule], known)
    assert (found is not None) is holds
    if found is not None:
        assert (found.rule, found.reason.code) == ("r", "private")
        assert "'r' keeps it here" in found.reason.text


@pytest.mark.parametrize(
    ("kinds", "counts", "unscanned", "code"),
    [
        (KINDS, {"cpf": 2}, None, "private"),
        (("cpf",), {"cpf": 2, "email": 1}, None, "private"),
        (("email",), {"cpf": 2}, None, None),
        (KINDS, {}, None, None),
        (KINDS, {}, "a part of type file", "private_unscanned"),
        (KINDS, {"cpf": 1}, "a part of type file", "private"),
    ],
)
def test_what_detectors_find_keeps_it_here(
    kinds: tuple[Kind, ...], counts: dict[Kind, int], unscanned: str | None, code: str | None
) -> None:
    """A finding of a kind that the rule names, or something that no detector can read, for which there is a code."""
    found = match([Rule(name="r", kinds=kinds)], facts(), counts=counts, unscanned=unscanned)
    assert (found.reason.code if found else None) == code


def test_the_reason_names_rule_kinds_and_counts() -> None:
    """The rule's name, its other conditions, each kind with its count, and the counts again as figures."""
    rule = Rule(name="people", tags=("hr",), kinds=KINDS)
    found = match([rule], facts(tags=frozenset({"hr"})), counts={"email": 1, "cpf": 2, "rg": 0})
    assert found is not None
    assert found.reason.text == "Privacy rule 'people' keeps it here (tag): it found cpf 2, email 1."
    assert found.reason.figures == {"cpf": 2, "email": 1}


def test_the_first_rule_that_holds_is_named() -> None:
    """Rules are tried in the order of the file, and one is enough."""
    rules = [Rule(name="a", tags=("x",)), Rule(name="b", kinds=("cpf",)), Rule(name="c", kinds=("cpf",))]
    found = match(rules, facts(), counts={"cpf": 1})
    assert found is not None
    assert found.rule == "b"
    assert match([], facts()) is None


def test_a_rule_that_detects_still_needs_its_other_conditions() -> None:
    """A CPF under another tag keeps nothing here."""
    rule = Rule(name="r", tags=("hr",), kinds=KINDS)
    assert match([rule], facts(), counts={"cpf": 1}, unscanned="a file") is None


@pytest.mark.parametrize(
    ("headers", "metadata", "tags"),
    [
        ([("x-teto-tags", "a, b"), ("x-teto-tags", "c")], None, {"a", "b", "c"}),
        ([], {"tags": ["a", " b ", 3]}, {"a", "b", "3"}),
        ([], {"tags": "a,b"}, {"a", "b"}),
        ([("x-teto-tags", "a")], {"tags": "b"}, {"a", "b"}),
        ([("x-tags", "a")], {"tag": "b"}, set()),
        ([], {"tags": {"a": 1}}, set()),
        ([], ["tags"], set()),
        ([], None, set()),
        ([("x-teto-tags", " ,,")], {"tags": None}, set()),
    ],
)
def test_tags_come_from_the_header_and_the_metadata(
    headers: list[tuple[str, str]], metadata: Any, tags: set[str]
) -> None:
    """With commas or as a list; every header of the name counts."""
    request = ask("x", **({} if metadata is None else {"metadata": metadata}))
    found = tags_of(headers, bytes(request.raw["metadata"]) if "metadata" in request.raw else None)
    assert found == frozenset(tags)


def test_metadata_that_cannot_be_read_may_hold_any_tag() -> None:
    """A value nested too deeply to be decoded leaves the tags unknown, and not empty."""
    assert tags_of([], b"[" * 100_000 + b"]" * 100_000) is None
    assert tags_of([], msgspec.json.encode({"tags": "a"})) == frozenset({"a"})
