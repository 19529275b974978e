"""Reads a GGUF file's header: the shape, and the exact bytes that a token reads."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from teto.catalog.gguf_layers import blocks_of, count_layers
from teto.catalog.gguf_metadata import Metadata
from teto.catalog.gguf_tensors import BeyondShapeError, weights_of
from teto.errors import WeightsError
from teto.physics.precision import WeightBytes
from teto.physics.shape import Shape

__all__ = ["ModelFile", "read_gguf"]

_STRING, _ARRAY = 8, 9  # type tags of the format's metadata
_U64: Final = struct.Struct("<Q")
_SCALAR_BYTES: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_SHORT_ARRAY: Final = 4096  # per-layer numbers are kept, vocabularies are stepped over
# `general.file_type`, as llama.cpp numbers it.
_FILE_TYPES: Final = {
    0: "fp32", 1: "f16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 10: "q2_k", 11: "q3_k_s",
    12: "q3_k_m", 13: "q3_k_l", 14: "q4_k_s", 15: "q4_k_m", 16: "q5_k_s", 17: "q5_k_m", 18: "q6_k", 25: "iq4_nl",
    30: "iq4_xs", 32: "bf16", 38: "mxfp4", 39: "nvfp4",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """What a GGUF file says of its model.

    `shape` and `weights` are None, with the reason in `note`, where the model is beyond `Shape`. `file_format` is
    the name of the format that most of its weights are in; None where the file does not say, or it has no name.
    """

    name: str
    architecture: str
    shape: Shape | None
    weights: WeightBytes | None
    file_format: str | None
    note: str


def _skipping_reader(path: Path) -> Any:
    """A reader that steps over long arrays: a vocabulary of 150,000 entries costs it seconds otherwise."""
    from gguf import GGUFReader  # noqa: PLC0415 - slow to import, and only readers of model files need it

    class SkippingReader(GGUFReader):
        def _get_field_parts(self, orig_offs: int, raw_type: int) -> tuple[int, list[Any], list[int], list[Any]]:
            if raw_type != _ARRAY:
                return super()._get_field_parts(orig_offs, raw_type)
            buffer, offset = self.data.data, orig_offs + 12
            kind = int.from_bytes(buffer[orig_offs : orig_offs + 4], "little")
            length = _U64.unpack_from(buffer, orig_offs + 4)[0]
            if length <= _SHORT_ARRAY or kind == _ARRAY:
                return super()._get_field_parts(orig_offs, raw_type)
            if kind != _STRING:
                return 12 + length * _SCALAR_BYTES[kind], [], [], []
            unpack = _U64.unpack_from
            for _ in range(length):
                offset += 8 + unpack(buffer, offset)[0]
            return offset - orig_offs, [], [], []

    return SkippingReader(path)


def _all_tensors(path: Path, reader: Any) -> list[Any]:
    """The tensors of the file, and of the other parts where a model is split over several."""
    count = int(reader.fields["split.count"].contents()) if "split.count" in reader.fields else 1
    if count <= 1:
        return list(reader.tensors)
    marker = f"-00001-of-{count:05d}"
    if not path.stem.endswith(marker):
        raise WeightsError(
            f"{path} is a part of a model in {count} files.", fix=f"Give the first one, whose name ends in {marker}."
        )
    first = path.stem.removesuffix(marker)
    parts = [path.with_name(f"{first}-{number:05d}-of-{count:05d}{path.suffix}") for number in range(2, count + 1)]
    return [*reader.tensors, *(tensor for part in parts for tensor in _skipping_reader(part).tensors)]


def _shape(name: str, metadata: Metadata, tensors: list[Any], *, n_layers: int, n_active: int | None) -> Shape:
    sizes = {str(tensor.name): int(tensor.n_elements) for tensor in tensors if not tensor.name.startswith("blk.")}
    embedding, head = sizes["token_embd.weight"], sizes.get("output.weight")
    return Shape(
        name=name,
        blocks=blocks_of(metadata, tensors, n_layers=n_layers, n_active=n_active),
        width=metadata.number("embedding_length"),
        head_params=head or embedding,
        table_params=(embedding if head else 0) + sizes.get("per_layer_token_embd.weight", 0),
        other_params=sum(size for key, size in sizes.items() if key.endswith("norm.weight")),
        context_limit_tokens=metadata.number("context_length"),
    )


def _why(error: Exception) -> str:
    """The library's own words only where it chose them; a field that was never there is named."""
    if isinstance(error, struct.error | IndexError):
        return "its header ends too early, or states sizes beyond its end"
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    return str(error) or type(error).__name__


def _read(path: Path) -> ModelFile:
    reader = _skipping_reader(path)
    architecture = str(reader.fields["general.architecture"].contents())
    metadata = Metadata(reader.fields, architecture)
    tensors = _all_tensors(path, reader)
    file_type = reader.fields.get("general.file_type")
    shape: Shape | None = None
    weights: WeightBytes | None = None
    note = "tensor sizes of the GGUF file"
    try:
        n_layers = count_layers(metadata)
        n_active = metadata.number("expert_used_count") if "expert_used_count" in metadata else None
        weights = weights_of(tensors, n_layers=n_layers, n_active=n_active)
        shape = _shape(path.stem, metadata, tensors, n_layers=n_layers, n_active=n_active)
    except BeyondShapeError as error:
        weights, note = None, str(error)
    return ModelFile(
        name=path.stem,
        architecture=architecture,
        shape=shape,
        weights=weights,
        file_format=None if file_type is None else _FILE_TYPES.get(int(file_type.contents())),
        note=note,
    )


def read_gguf(path: Path) -> ModelFile:
    """Read the header of a GGUF file, in tens of milliseconds whatever the vocabulary.

    A model that is split over several files is read from the first; the others lie beside it.

    Raises:
        WeightsError: not a GGUF file, truncated, without its other parts, or without a field that every model has.
    """
    try:
        return _read(path)
    except OSError as error:
        where = error.filename or path
        raise WeightsError(f"{where} cannot be read: {error.strerror}.", fix="Check the path.") from None
    except (ValueError, IndexError, KeyError, StopIteration, struct.error, TypeError, ZeroDivisionError) as error:
        raise WeightsError(
            f"{path} is no complete GGUF file: {_why(error)}.",
            fix="Run `teto models verify`, or pull it again.",
        ) from None
