"""Settings resolved in one function, from flags, environment, teto.toml and defaults."""

import difflib
import tomllib
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from decimal import Decimal
from typing import Any

import msgspec

from teto.config.near import near
from teto.config.rules import check
from teto.config.sections import SECTIONS
from teto.config.settings import PrivacySettings, RouteSettings, Settings, UpstreamSettings
from teto.errors import ConfigError

__all__ = ["Origin", "Resolved", "describe", "resolve"]

Origin = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The settings, and for each dotted name where its value came from."""

    settings: Settings
    origins: Mapping[str, Origin]


def _single(kind: type) -> list[Field[Any]]:
    """The fields that are settings of their own; what has no help is a list of tables."""
    return [item for item in fields(kind) if "help" in item.metadata]


def _field(kind: type, key: str, dotted: str, origin: Origin) -> Field[Any]:
    known = {item.name: item for item in _single(kind)}
    if key not in known:
        raise ConfigError(f"{origin}: unknown setting {dotted!r}.", fix=near(key, known))
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
        if item.name not in values and item.default is MISSING and item.default_factory is MISSING:
            raise ConfigError(f"{origin}: {name} is required: {item.metadata['help']}.", fix="Add it.")
        origins[name] = origin if item.name in values else "default"
    return kind(**values)


def _build_list(
    kind: type, tables: Mapping[str, Any], name: str, origins: dict[str, Origin], origin: Origin
) -> tuple[Any, ...]:
    """The tables of a list, each checked; what they hold has its origin by its index."""
    rows = tables.get(name, [])
    if not isinstance(rows, list):
        raise ConfigError(f"{origin}: {name} must be [[{name}]] tables.", fix="Use double brackets.")
    built = []
    for index, row in enumerate(rows):
        dotted = f"{name}[{index}]"
        origins[dotted] = origin
        built.append(_build(kind, _table(row, dotted, origin), dotted, origins, origin))
    return tuple(built)


def _file_tables(text: bytes | None, origin: Origin) -> Mapping[str, Any]:
    if text is None:
        return {}
    try:
        tables = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{origin} is not TOML: {error}.", fix="Correct it, or move it away.") from None
    known = {*SECTIONS, "upstreams", "routes", "privacy"}
    for name in tables:
        if name not in known:
            raise ConfigError(f"{origin}: unknown table {name!r}.", fix=near(name, known))
    return tables


def _check_section(name: str) -> None:
    """A variable whose section is nearly one of ours is a slip; any other TETO_ variable is the operator's own."""
    first, _, rest = name.lower().partition("_")
    section, _, key = rest.partition("_")
    if (first, section) == ("teto", "privacy"):  # a rule that somebody trusts must not be left out in silence
        raise ConfigError(f"environment {name}: rules of privacy live in the file.", fix="Add a [[privacy]] table.")
    near = difflib.get_close_matches(section, SECTIONS, n=1, cutoff=0.75)
    if first == "teto" and key and near and section not in SECTIONS:
        raise ConfigError(f"environment {name}: unknown section {section!r}.", fix=f"Did you mean {near[0]}?")


def _environment_values(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str, Origin]]:
    for name in environment:
        _check_section(name)
    for section, kind in SECTIONS.items():
        prefix = f"TETO_{section.upper()}_"
        for name, text in environment.items():
            if name.startswith(prefix):
                key = name.removeprefix(prefix).lower()
                _field(kind, key, f"{section}.{key}", f"environment {name}")
                yield section, key, text, f"environment {name}"


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
    values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for section, kind in SECTIONS.items():
        for item in _single(kind):
            origins[f"{section}.{item.name}"] = "default"
        for key, value in _table(tables.get(section, {}), section, file_name).items():
            values[section][key] = _convert(kind, key, value, f"{section}.{key}", file_name, strict=True)
            origins[f"{section}.{key}"] = file_name
    for section, key, text, origin in _environment_values(environment):
        parsed: Any = text.split(",") if key == "api_key_sha256" else text
        values[section][key] = _convert(SECTIONS[section], key, parsed, f"{section}.{key}", origin, strict=False)
        origins[f"{section}.{key}"] = origin
    for dotted, value in flags.items():
        section, _, key = dotted.partition(".")
        values[section][key] = _convert(SECTIONS[section], key, value, dotted, "flag", strict=True)
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
    routes = _build_list(RouteSettings, tables, "routes", origins, file_name)
    values["gateway"]["privacy"] = _build_list(PrivacySettings, tables, "privacy", origins, file_name)
    sections = {section: kind(**values[section]) for section, kind in SECTIONS.items()}
    settings = Settings(**sections, upstreams=upstreams, routes=routes)
    check(settings, origins)
    return Resolved(settings=settings, origins=origins)


def describe(resolved: Resolved) -> Iterator[tuple[str, Any, Origin, str]]:
    """Every setting as (dotted name, value, origin, help), in the order of the tree."""

    def walk(owner: Any, dotted: str) -> Iterator[tuple[str, Any, Origin, str]]:
        for item in fields(owner):
            value, name = getattr(owner, item.name), f"{dotted}{item.name}"
            if is_dataclass(value):
                yield from walk(value, f"{name}.")
            elif item.name == "upstreams":
                for key, inner in value.items():
                    yield from walk(inner, f"{name}.{key}.")
            elif "help" not in item.metadata:  # a list of tables, named as in the file
                for index, inner in enumerate(value):
                    yield from walk(inner, f"{item.name}[{index}].")
            else:
                yield name, value, resolved.origins.get(name, "default"), item.metadata["help"]

    yield from walk(resolved.settings, "")
