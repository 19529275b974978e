"""Decides once, before anything is done with a request, whether it may leave; then there is nothing to leave by.

A private request is served with `sealed` parts: no upstream, no route to one, no breaker of one. Whatever is added
to the life of a request, a cache or a hedge, finds nothing there to send to.
"""

import asyncio
import hashlib
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from teto.config import PrivacySettings
from teto.errors import TetoError
from teto.gateway.parts import ChatParts
from teto.triage.admission import Reason
from teto.triage.privacy.find import redact
from teto.triage.privacy.finding import KINDS, Kind
from teto.triage.privacy.rules import Facts, Match, Rule, applies, count_private, match, tags_of
from teto.triage.privacy.texts import unscannable, windows
from teto.wire.chat import ChatRequest

__all__ = ["Headers", "PrivacyGuard", "clean_error", "clean_reason", "clean_trace", "sealed"]

Headers = Sequence[tuple[str, str]]
"""Pairs of name and value as they came, repeated ones repeated."""


def sealed(parts: ChatParts) -> ChatParts:
    """The same parts without anything that leads to a cloud."""
    return replace(parts, upstreams={}, router=parts.router.without_upstreams())


def _rule(index: int, settings: PrivacySettings) -> Rule:
    kinds = KINDS if "all" in settings.detect else tuple(kind for kind in KINDS if kind in settings.detect)
    return Rule(
        name=settings.name or f"privacy[{index}]",
        keys=tuple(key.lower() for key in settings.key),
        headers={name.lower(): glob for name, glob in settings.header.items()},
        tags=settings.tag,
        kinds=kinds,
    )


def _key_digests(headers: Headers) -> frozenset[str]:
    """The sha256 of every key that was sent, whether or not the gateway asks for one."""
    tokens = [value.partition(" ")[2] for name, value in headers if name == "authorization"]
    return frozenset(hashlib.sha256(token.strip().encode()).hexdigest() for token in tokens)


class PrivacyGuard:
    """The operator's rules."""

    def __init__(self, settings: Sequence[PrivacySettings]) -> None:
        self._rules = tuple(_rule(index, rule) for index, rule in enumerate(settings))

    async def judge(self, request: ChatRequest, headers: Headers) -> Match | None:
        """The rule that keeps a request here; None: it may leave. Others are served while a long one is read."""
        if not self._rules:
            return None
        named = [(name.lower(), value) for name, value in headers]
        metadata = bytes(request.raw["metadata"]) if "metadata" in request.raw else None
        facts = Facts(key_digests=_key_digests(named), headers=named, tags=tags_of(named, metadata))
        rules = [rule for rule in self._rules if applies(rule, facts)]
        if not rules or not rules[0].kinds:
            return match(rules, facts)
        kinds = {kind for rule in rules for kind in rule.kinds}
        counts: Counter[Kind] = Counter()
        for window in windows(request):
            counts += count_private(window, kinds)
            await asyncio.sleep(0)
        return match(rules, facts, counts=counts, unscanned=unscannable(request))


# -- what is written down of a private request -------------------------------------------------------------------


def clean_error(error: TetoError) -> None:
    """Take out of an error's text what detectors find: it may quote the request."""
    error.message = redact(error.message)
    error.fix = None if error.fix is None else redact(error.fix)


def clean_reason(reason: Reason) -> Reason:
    """The reason without what detectors find in its text."""
    return replace(reason, text=redact(reason.text))


def clean_trace(fault: BaseException) -> str:
    """Where a fault happened, without its message, which may quote the request."""
    return "".join(traceback.format_tb(fault.__traceback__)) + type(fault).__name__
