"""Rules of privacy: which requests may not leave, and by which rule.

A rule states conditions on who asks (key), on what is sent with the request (header, tag) and on what it says
(detect). All that it states must hold; one rule that holds is enough. What cannot be read counts as held.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from teto.triage.admission import Reason
from teto.triage.privacy.find import find_private
from teto.triage.privacy.finding import KINDS, Kind
from teto.triage.privacy.texts import Window

__all__ = ["Facts", "Match", "Rule", "count_private", "match", "tags_of"]

_TAGS_HEADER: Final = "x-teto-tags"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. Empty conditions are not stated; a rule without any holds for nothing.

    `keys` are beginnings of the sha256 (hex) of a client's key; `headers` are globs by lower-case name; `tags` are
    globs of which one must fit one tag. Globs disregard case: privacy does not hang on a capital letter.
    """

    name: str
    keys: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a request without reading it: who sent it and what came with it.

    `headers` are pairs of lower-case name and value, repeated ones repeated; `tags` is None where they cannot be read.
    """

    key_digests: frozenset[str]
    headers: Sequence[tuple[str, str]]
    tags: frozenset[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The rule that keeps a request here, and why."""

    rule: str
    reason: Reason


def _fits(value: str, glob: str) -> bool:
    return fnmatchcase(value.strip().casefold(), glob.casefold())


def tags_of(headers: Iterable[tuple[str, str]], metadata: bytes | None) -> frozenset[str] | None:
    """The tags of `x-teto-tags` and of the body's `metadata.tags`, a list or a text with commas; None: unreadable."""
    given: list[str] = []
    for name, value in headers:
        if name == _TAGS_HEADER:
            given += value.split(",")
    if metadata is not None:
        try:
            inner: Any = msgspec.json.decode(metadata)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        tags = inner.get("tags") if isinstance(inner, dict) else None
        for tag in tags if isinstance(tags, list) else [tags]:
            given += str(tag).split(",") if isinstance(tag, str | int | float) else ()
    return frozenset(tag.strip() for tag in given if tag.strip())


def _stated(rule: Rule, facts: Facts) -> list[tuple[str, bool]]:
    """Each condition that needs no reading of the request, and whether it holds."""
    stated = []
    if rule.keys:
        stated.append(("key", any(digest.startswith(rule.keys) for digest in facts.key_digests)))
    for name, glob in rule.headers.items():
        stated.append((f"header {name}", any(n == name and _fits(value, glob) for n, value in facts.headers)))
    if rule.tags:
        tags = facts.tags
        stated.append(("tag", tags is None or any(_fits(tag, glob) for tag in tags for glob in rule.tags)))
    return stated


def applies(rule: Rule, facts: Facts) -> bool:
    """Whether all that the rule states beside `detect` holds."""
    stated = _stated(rule, facts)
    return all(holds for _, holds in stated) and bool(stated or rule.kinds)


def count_private(window: Window, kinds: Iterable[Kind]) -> Counter[Kind]:
    """How often each kind begins in the window, as it stands or with its escapes resolved, whichever is more."""
    wanted = tuple(kinds)
    counts: Counter[Kind] = Counter(
        found.kind for found in find_private(window.text, wanted) if window.start <= found.start < window.end
    )
    for variant in window.variants:
        counts |= Counter(found.kind for found in find_private(variant, wanted))
    return counts


def match(
    rules: Iterable[Rule], facts: Facts, *, counts: Mapping[Kind, int] | None = None, unscanned: str | None = None
) -> Match | None:
    """The first rule that holds; `counts` is what the detectors found, None when they have not been asked.

    `unscanned` names what no detector can read: under a rule that detects it keeps the request here.
    """
    for rule in rules:
        if not applies(rule, facts):
            continue
        conditions = ", ".join(name for name, _ in _stated(rule, facts))
        behind = f" ({conditions})" if conditions else ""
        if not rule.kinds:
            text = f"Privacy rule {rule.name!r} keeps it here{behind}."
            return Match(rule=rule.name, reason=Reason(code="private", text=text))
        found = {kind: counts[kind] for kind in KINDS if kind in rule.kinds and counts and counts.get(kind)}
        if found:
            listed = ", ".join(f"{kind} {count}" for kind, count in found.items())
            text = f"Privacy rule {rule.name!r} keeps it here{behind}: it found {listed}."
            figures: dict[str, float] = dict(found.items())
            return Match(rule=rule.name, reason=Reason(code="private", text=text, figures=figures))
        if unscanned is not None:
            text = f"Privacy rule {rule.name!r} keeps it here{behind}: it holds {unscanned}, which cannot be searched."
            return Match(rule=rule.name, reason=Reason(code="private_unscanned", text=text))
    return None
