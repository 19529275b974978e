"""What settings must hold, each alone and together."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from math import isfinite
from typing import Any, Final

from teto.config.near import near
from teto.config.sections import SECTIONS
from teto.config.settings import PrivacySettings, Settings, UpstreamSettings
from teto.errors import ConfigError
from teto.triage.privacy.finding import KINDS

__all__ = ["check"]

_Rules = Iterator[tuple[bool, str, str]]


def _is_url(text: str) -> bool:
    return re.fullmatch(r"https?://[^/@\s]+(?:/\S*)?", text) is not None


_A_URL: Final = "must be an http(s) URL without a name or password in it"


def _finite(owner: Any, dotted: str) -> _Rules:
    for item in fields(owner):
        value = getattr(owner, item.name)
        if isinstance(value, float):
            yield isfinite(value), f"{dotted}.{item.name}", "must be a finite number"


def _rules(settings: Settings) -> _Rules:
    for section in SECTIONS:
        yield from _finite(getattr(settings, section), section)
    gateway, engine, policy = settings.gateway, settings.engine, settings.policy
    yield bool(gateway.host), "gateway.host", "must name an address"
    yield 0 <= gateway.port <= 65535, "gateway.port", "must be between 0 and 65535"
    yield gateway.body_limit_bytes > 0, "gateway.body_limit_bytes", "must be above 0"
    digests = all(re.fullmatch(r"[0-9a-f]{64}", key) for key in gateway.api_key_sha256)
    yield digests, "gateway.api_key_sha256", "must hold sha256 digests in hex, never the keys"
    yield engine.context_tokens >= 256, "engine.context_tokens", "must be 256 or more"
    yield 1 <= engine.slots <= 32, "engine.slots", "must be between 1 and 32"
    yield engine.queue_limit >= 0, "engine.queue_limit", "cannot be negative"
    yield engine.first_token_timeout_s > 0, "engine.first_token_timeout_s", "must be above 0"
    yield engine.gap_timeout_s > 0, "engine.gap_timeout_s", "must be above 0"
    if engine.kind == "external":
        named = bool(engine.base_url and engine.model)
        yield named, "engine.kind", "external needs engine.base_url and engine.model"
        yield _is_url(engine.base_url), "engine.base_url", _A_URL
    yield 0 < policy.min_confidence <= 1, "policy.min_confidence", "must be above 0 and at most 1"
    yield policy.added_delay_limit_s > 0, "policy.added_delay_limit_s", "must be above 0"
    yield policy.hold_back_tokens >= 1, "policy.hold_back_tokens", "must be 1 or more"
    yield 0 <= policy.hedge_above <= 1, "policy.hedge_above", "must be between 0 and 1; 1 never asks"
    yield from _drift_rules(settings)
    yield settings.power.mean_power_w >= 0, "power.mean_power_w", "cannot be negative"
    for name, upstream in settings.upstreams.items():
        yield from _upstream_rules(f"upstreams.{name}", upstream)
    for index, rule in enumerate(gateway.privacy):
        earlier = {other.name for other in gateway.privacy[:index]}
        yield from _privacy_rules(f"privacy[{index}]", rule, earlier, gateway.api_key_sha256)


def _drift_rules(settings: Settings) -> _Rules:
    drift = settings.drift
    yield 0 <= drift.shadow_fraction <= 1, "drift.shadow_fraction", "must be between 0 and 1"
    yield 0 <= drift.baseline_disagreement < 1, "drift.baseline_disagreement", "must be at least 0 and below 1"
    yield 0 < drift.delta < 1, "drift.delta", "must be between 0 and 1"
    for index, route in enumerate(settings.routes):
        inside = route.hedge_above is None or 0 <= route.hedge_above <= 1
        yield inside, f"routes[{index}].hedge_above", "must be between 0 and 1; 1 never asks"


def _upstream_rules(dotted: str, upstream: UpstreamSettings) -> _Rules:
    yield from _finite(upstream, dotted)
    yield _is_url(upstream.base_url), f"{dotted}.base_url", _A_URL
    for key in ("connect_timeout_s", "first_token_timeout_s", "gap_timeout_s", "total_timeout_s"):
        yield getattr(upstream, key) > 0, f"{dotted}.{key}", "must be above 0"
    for key in ("usd_per_mtok_in", "usd_per_mtok_out"):
        price = getattr(upstream, key)
        yield price is None or (price.is_finite() and price >= 0), f"{dotted}.{key}", "cannot be negative"
    both = (upstream.usd_per_mtok_in is None) == (upstream.usd_per_mtok_out is None)
    yield both, f"{dotted}.usd_per_mtok_in", "and usd_per_mtok_out are stated together, or neither"


def _privacy_rules(dotted: str, rule: PrivacySettings, earlier: Collection[str], digests: tuple[str, ...]) -> _Rules:
    states = bool(rule.key or rule.header or rule.tag or rule.detect)
    yield states, dotted, "must state a condition: key, header, tag or detect"
    yield not rule.name or rule.name not in earlier, f"{dotted}.name", "must differ from the other rules' names"
    for key in rule.key:
        hexadecimal = re.fullmatch(r"[0-9a-fA-F]{12,64}", key) is not None
        yield hexadecimal, f"{dotted}.key", "must hold 12 to 64 hex digits of a key's sha256, never the key"
        known = not digests or any(digest.startswith(key.lower()) for digest in digests)
        yield known, f"{dotted}.key", "must name keys of gateway.api_key_sha256, or no client is ever meant"
    for name, glob in rule.header.items():
        token = re.fullmatch(r"[0-9A-Za-z!#$%&'*+.^_`|~-]+", name) is not None
        yield token and bool(glob.strip()), f"{dotted}.header", "must give names of headers, each with a glob"
    yield all(glob.strip() for glob in rule.tag), f"{dotted}.tag", "must hold globs, none of them empty"


def _check_detectors(settings: Settings, origins: Mapping[str, str]) -> None:
    for index, rule in enumerate(settings.gateway.privacy):
        for kind in rule.detect:
            if kind not in {*KINDS, "all"}:
                name = f"privacy[{index}].detect"
                raise ConfigError(
                    f"{origins.get(name, 'settings')}: {name}: there is no detector {kind!r}.",
                    fix=near(kind, [*KINDS, "all"]),
                )


def check(settings: Settings, origins: Mapping[str, str]) -> None:
    """Check every rule; `origins` says where each setting came from.

    Raises:
        ConfigError: the first that does not hold.
    """
    for holds, name, rule in _rules(settings):
        if not holds:
            raise ConfigError(f"{origins.get(name, 'settings')}: {name} {rule}.", fix="Correct it there.")
    _check_detectors(settings, origins)
    for index, route in enumerate(settings.routes):
        if route.upstream and route.upstream not in settings.upstreams:
            raise ConfigError(
                f"{origins.get(f'routes[{index}].upstream', 'settings')}: routes[{index}].upstream = "
                f"{route.upstream!r} is no upstream.",
                fix=near(route.upstream, settings.upstreams)
                if settings.upstreams
                else "Add an [upstreams.NAME] table.",
            )
