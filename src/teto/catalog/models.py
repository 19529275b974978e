"""The models that teto knows by name: `data/models/*.toml`, one file a family, the facts of each config.json."""

import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from typing import Any, Final

import msgspec

from teto.catalog.hf_config import ModelConfig, read_hf_config
from teto.catalog.lookup import data_files, find_by_name, index_by_name
from teto.errors import ConfigError
from teto.physics.shape import Shape

__all__ = ["ModelEntry", "Quoted", "all_models", "decode_models", "find_model"]

_UNNAMED: Final = "unnamed"  # a format that has no name of its own, such as a mix that a person made
_SEPARATORS: Final = re.compile(r"[\s_:\-]+")


class Quoted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters as their makers quote them, usually rounded, and usually with the input table among the active."""

    source: str
    total_params: float | None = None
    active_params: float | None = None


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """One model: the fields of its config.json that sizes follow from, and where they were read.

    `aliases` are other names of the same sizes. `formats` are names that state a weight format of their own.
    """

    id: str
    name: str
    source: str
    read_on: str
    config: dict[str, Any]
    aliases: tuple[str, ...] = ()
    formats: dict[str, str] = {}
    quoted: Quoted | None = None
    format: str | None = None  # the one that the name by which the entry was found states

    @cached_property
    def read(self) -> ModelConfig:
        """The config, read when it is first asked for.

        Raises:
            ConfigError: the entry has a field that is not understood.
        """
        return read_hf_config(self.config, name=self.id)

    @property
    def shape(self) -> Shape:
        """The architecture as numbers."""
        return self.read.shape

    @property
    def native_format(self) -> str | None:
        """The weight format that the name or the config states; None where that has no name."""
        if self.format is None:
            return self.read.native_format
        return None if self.format == _UNNAMED else self.format


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: tuple[ModelEntry, ...]


def decode_models(text: bytes, *, file: str) -> tuple[ModelEntry, ...]:
    """The entries of one TOML file.

    Raises:
        ConfigError: a key is unknown or missing, or a value of the wrong kind.
    """
    try:
        return msgspec.toml.decode(text, type=_File).model
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{file} is not a list of models: {error}.", fix=f"Correct the entry in {file}.") from error


@cache
def all_models() -> tuple[ModelEntry, ...]:
    """Every model of the catalog, by id; none of their configs is read yet.

    Raises:
        ConfigError: a data file is faulty.
    """
    entries = [entry for file, text in data_files("models") for entry in decode_models(text, file=file)]
    return tuple(sorted(entries, key=lambda entry: entry.id))


def find_model(name: str) -> ModelEntry:
    """The model of that id, hub id or alias; case, and whether spaces or dashes stand between words, do not matter.

    Raises:
        UnknownNameError: with the nearest ids.
    """
    return find_by_name(
        name,
        _by_name(),
        plain=_plain,
        kind="model",
        fix="Run `teto models catalog`, or give a .gguf file or a config.json.",
    )


@cache
def _by_name() -> Mapping[str, ModelEntry]:
    return _index(all_models())


def _index(entries: Iterable[ModelEntry]) -> Mapping[str, ModelEntry]:
    """Every entry by its id, name and aliases in plain form; under a name that states a format, with that format."""
    return index_by_name((pair for entry in entries for pair in _names(entry).items()), kind="model")


def _names(entry: ModelEntry) -> Mapping[str, ModelEntry]:
    named = {_plain(name): entry for name in (entry.id, entry.name, *entry.aliases)}
    stated = entry.formats.items()
    return named | {
        _plain(name): msgspec.structs.replace(entry, format=weight_format) for name, weight_format in stated
    }


def _plain(name: str) -> str:
    return _SEPARATORS.sub("-", name.strip().casefold())
