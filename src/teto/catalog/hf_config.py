"""Reads a model's config.json, as repositories of the model hub carry it: its shape, and the format it states.

Counted are the decoder's blocks, its head and its input table. Prediction layers (for speculation) and towers
for images or sound are not. What a field could change and nobody knows is an error, never a guess.
"""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from teto.catalog.hf.families import BEYOND, FAMILIES
from teto.catalog.hf.fields import FIX, Fields, shown
from teto.catalog.hf.formats import stated_format
from teto.catalog.hf.irrelevant import IRRELEVANT_OUTSIDE_TEXT
from teto.catalog.hf.parts import Stack, grouped
from teto.errors import ConfigError
from teto.physics.shape import Shape

__all__ = ["ModelConfig", "read_hf_config", "read_hf_config_file"]

_PREDICTION: Final = ("num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers")
_TOWERS: Final = ("vision_config", "audio_config")
_DEEPEST: Final = 30  # published configs have at most six levels
_TOO_DEEP: Final = f"{{file}} must hold a config of at most {_DEEPEST} levels, found objects or lists nested deeper."


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """What a config.json says: `native_format` is None where it states none that has a name; `note` says more."""

    shape: Shape
    native_format: str | None
    note: str


def read_hf_config(
    config: Mapping[str, Any], *, name: str | None = None, quantization: Mapping[str, Any] | None = None
) -> ModelConfig:
    """The shape and format that a config states.

    Args:
        config: The content of config.json.
        name: What the model is called; its `model_type` where not given.
        quantization: The content of hf_quant_config.json, where that file exists.

    Raises:
        ConfigError: an architecture, field or value that is not understood, named.
    """
    where = name or f"config of {shown(config.get('model_type'))}"
    text = _text_part(config, where)
    if "model_type" not in text:
        raise ConfigError(f"{where}: field 'model_type' is missing.", fix=FIX)
    kind = text["model_type"]
    if not isinstance(kind, str):
        raise ConfigError(f"{where}: field 'model_type' must be a name, found {shown(kind)}.", fix=FIX)
    if kind in BEYOND:
        raise ConfigError(f"{where}: model_type {kind!r} has {BEYOND[kind]}, which teto cannot compute yet.", fix=FIX)
    if kind not in FAMILIES:
        raise ConfigError(f"{where}: model_type {shown(kind)} is not one that teto can read{_near(kind)}.", fix=FIX)
    family = FAMILIES[kind]
    left_out = {field: value for field, value in family.defaults.items() if text.get(field) is None}
    fields = Fields({**text, **left_out}, where=where)
    fields.ignore("model_type", *_TOWERS)
    tied = fields.flag("tie_word_embeddings", otherwise=_tied_outside(config, text, where, otherwise=family.is_tied))
    try:
        stack = family.read(fields)
        shape = _shape(fields, stack, name=name or kind, tied=tied)
    except ValueError as error:  # sizes that are each understood, and together no model
        raise ConfigError(f"{where}: its fields contradict each other: {error}.", fix=FIX) from None
    fields.expect_off("add_cross_attention", "is_encoder_decoder", "tie_encoder_decoder")
    fields.expect("cross_attention_hidden_size")
    fields.expect("pruned_heads", {})
    fields.refuse_unread(kind)
    native_format, stated = stated_format(config, quantization, where=where)
    return ModelConfig(shape=shape, native_format=native_format, note=_note(config, text, stack, stated))


def _text_part(config: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    text = config.get("text_config")
    if text is None:
        return config
    if not isinstance(text, Mapping):
        raise ConfigError(f"{where}: field 'text_config' must be an object, found {shown(text)}.", fix=FIX)
    outside = sorted(set(config) - IRRELEVANT_OUTSIDE_TEXT)
    if outside:
        names = ", ".join(repr(field) for field in outside)
        raise ConfigError(
            f"{where}: {names} beside 'text_config' of {config.get('model_type')!r} is not understood, and could "
            "change its sizes.",
            fix=FIX,
        )
    return text


def _tied_outside(config: Mapping[str, Any], text: Mapping[str, Any], where: str, *, otherwise: bool) -> bool:
    outer, inner = config.get("tie_word_embeddings"), text.get("tie_word_embeddings")
    if outer is not None and not isinstance(outer, bool):
        raise ConfigError(f"{where}: 'tie_word_embeddings' must be true or false, found {shown(outer)}.", fix=FIX)
    if outer is not None and inner is not None and outer != inner:
        raise ConfigError(
            f"{where}: 'tie_word_embeddings' is {outer} outside 'text_config' and {shown(inner)} inside.",
            fix=FIX,
        )
    return otherwise if outer is None else outer


def _shape(fields: Fields, stack: Stack, *, name: str, tied: bool) -> Shape:
    width = fields.count("hidden_size")
    head_params = fields.count("vocab_size") * width
    return Shape(
        name=name,
        blocks=grouped(stack.layers),
        width=width,
        head_params=head_params,
        table_params=stack.extra_table + (0 if tied else head_params),
        other_params=width if stack.final_norm is None else stack.final_norm,
        context_limit_tokens=fields.count_or_none("max_position_embeddings"),
    )


def _note(config: Mapping[str, Any], text: Mapping[str, Any], stack: Stack, stated: str) -> str:
    notes = [stated, *stack.notes]
    if any(text.get(field) for field in _PREDICTION):
        notes.append("prediction layers are not counted")
    if any(config.get(tower) for tower in _TOWERS):
        notes.append("towers for images and sound are not counted")
    return "; ".join(notes)


def _near(kind: str) -> str:
    near = difflib.get_close_matches(kind[:80], FAMILIES, n=3, cutoff=0.5)
    return f"; the nearest that it can are {', '.join(near)}" if near else ""


def read_hf_config_file(path: Path) -> ModelConfig:
    """The same from a config.json, or from the folder that holds one; hf_quant_config.json beside it counts too.

    A model is called as its folder, or as its file where that has a name of its own.

    Raises:
        ConfigError: the file cannot be read, is no JSON object, or is not understood.
    """
    file = path / "config.json" if path.is_dir() else path
    beside = file.with_name(file.name.replace("config.json", "hf_quant_config.json"))
    own_name = file.name.removesuffix(".json").removesuffix("config").rstrip("_-.")
    quantization = _load(beside) if beside != file and beside.is_file() else None
    return read_hf_config(_load(file), name=own_name or file.absolute().parent.name, quantization=quantization)


def _load(file: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.", fix="Check the path.") from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"{file} is no JSON: {error}.", fix="Fetch the file again.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is no JSON: it is not text in UTF-8.", fix="Fetch the file again.") from None
    except ValueError:  # the language refuses to read such numbers
        raise ConfigError(f"{file} holds a number of thousands of digits.", fix="Fetch the file again.") from None
    except RecursionError:
        raise ConfigError(_TOO_DEEP.format(file=file), fix="Fetch the file again.") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{file} must hold an object, found {type(found).__name__}.", fix="Fetch the file again.")
    if _depth(found) > _DEEPEST:
        raise ConfigError(_TOO_DEEP.format(file=file), fix="Fetch the file again.")
    return found


def _depth(found: Any) -> int:
    """Levels of objects and lists inside each other, without a recursion that could itself go too deep."""
    depth, level = 0, [found]
    while level and depth <= _DEEPEST:
        inside = [part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list)]
        level = [value for values in inside for value in values]
        depth += 1
    return depth
