"""Reads a GGUF file's header: the shape, and the exact bytes that a token reads."""

import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from teto.catalog.gguf_layers import blocks_of, count_layers
from teto.catalog.gguf_metadata import FaultyFileError, IncompleteFileError, Metadata, contents_of
from teto.catalog.gguf_tensors import BeyondShapeError, check_layers, weights_of
from teto.catalog.hf.fields import shown
from teto.errors import WeightsError
from teto.physics.precision import WeightBytes
from teto.physics.shape import Shape

__all__ = ["ModelFile", "read_gguf"]

_STRING, _ARRAY = 8, 9  # type tags of the format's metadata
_U64: Final = struct.Struct("<Q")
_SCALAR_BYTES: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_VERSIONS: Final = (2, 3)
_START: Final = struct.Struct("<4sI")  # magic number and version
_HEADER_BYTES: Final = 24  # these, and the numbers of tensors and of fields
_MOST_FILES: Final = 10_000
_LONGEST_NAME: Final = 120
_IN_STORE: Final = re.compile(r"[0-9a-f]{64}\.gguf")
# What the format's library raises over bytes that are no header; its texts are about arrays, not about the file.
_DAMAGE: Final = (ValueError, LookupError, ArithmeticError, TypeError, AttributeError, MemoryError, struct.error)
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

    `name` is the one that its metadata states, else the file's. `shape` and `weights` are None, with the reason in
    `note`, where the model is beyond `Shape`. `file_format` is the name of the format that most of its weights are
    in; None where the file does not say, or it has no name.
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

    _check_start(path)
    try:
        return SkippingReader(path)
    except _DAMAGE:
        raise IncompleteFileError("its header is damaged, ends too early, or states sizes beyond its end") from None


def _check_start(path: Path) -> None:
    """Look at the first bytes before the library does."""
    with path.open("rb") as file:
        start = file.read(_HEADER_BYTES)
    if not start.startswith(b"GGUF"):
        raise IncompleteFileError(f"it must begin with b'GGUF', found {start[:4]!r}")
    if len(start) < _HEADER_BYTES:
        raise IncompleteFileError(f"it must have at least {_HEADER_BYTES} bytes, found {len(start)}")
    _, version = _START.unpack_from(start)
    if version not in _VERSIONS:
        raise IncompleteFileError(f"its version must be 2 or 3, in little-endian order, found {version}")


def _all_tensors(path: Path, reader: Any) -> list[Any]:
    """The tensors of the file, and of the other parts where a model is split over several."""
    field = reader.fields.get("split.count")
    count = 1 if field is None else contents_of(field, "split.count")
    if not isinstance(count, int) or not 0 <= count <= _MOST_FILES:
        raise FaultyFileError(
            f"field 'split.count' must be a whole number of at most {_MOST_FILES:,}, found {shown(count)}"
        )
    if count <= 1:
        return list(reader.tensors)
    marker = f"-00001-of-{count:05d}"
    if not path.stem.endswith(marker):
        raise WeightsError(
            f"{path} is a part of a model in {count} files.", fix=f"Give the first one, whose name ends in {marker}."
        )
    first = path.stem.removesuffix(marker)
    parts = [path.with_name(f"{first}-{number:05d}-of-{count:05d}{path.suffix}") for number in range(2, count + 1)]
    return [*reader.tensors, *(tensor for part in parts for tensor in _part(part).tensors)]


def _part(path: Path) -> Any:
    try:
        return _skipping_reader(path)
    except FaultyFileError as error:
        raise _refused(path, error) from None


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


def _refused(path: Path, error: FaultyFileError) -> WeightsError:
    kind = "no complete GGUF file" if isinstance(error, IncompleteFileError) else "no model that can be"
    in_store = path.parent.name == "sha256" and _IN_STORE.fullmatch(path.name)
    fix = "Run `teto models verify`, or pull it again." if in_store else "Check the file, or download it again."
    return WeightsError(f"{path} is {kind}: {error}.", fix=fix)


def _general(reader: Any, key: str) -> Any:
    field = reader.fields.get(f"general.{key}")
    return None if field is None else contents_of(field, f"general.{key}")


def _architecture(reader: Any) -> str:
    found = _general(reader, "architecture")
    if found is None:
        raise IncompleteFileError("general.architecture is missing")
    if not isinstance(found, str):
        raise FaultyFileError(f"field 'general.architecture' must be a name, found {shown(found)}")
    return found


def _name(reader: Any, path: Path) -> str:
    """`general.name` where it is one line to print; the file's name else, which in the store is a hash."""
    try:
        stated = _general(reader, "name")
    except FaultyFileError:
        stated = None
    name = stated.strip() if isinstance(stated, str) else ""
    return name if 0 < len(name) <= _LONGEST_NAME and name.isprintable() else path.stem


def _read(path: Path) -> ModelFile:
    reader = _skipping_reader(path)
    architecture, name = _architecture(reader), _name(reader, path)
    metadata = Metadata(reader.fields, architecture)
    tensors = _all_tensors(path, reader)
    file_type = _general(reader, "file_type")
    shape: Shape | None = None
    weights: WeightBytes | None = None
    note = "tensor sizes of the GGUF file"
    try:
        n_layers = count_layers(metadata)
        check_layers(tensors, block_count=metadata.number("block_count"))
        n_active = metadata.number("expert_used_count", least=0) if "expert_used_count" in metadata else None
        weights = weights_of(tensors, n_layers=n_layers, n_active=n_active)
        shape = _shape(name, metadata, tensors, n_layers=n_layers, n_active=n_active)
    except BeyondShapeError as error:
        weights, note = None, str(error)
    except ValueError as error:  # numbers that are each understood, and together no model
        raise FaultyFileError(f"its numbers contradict each other: {error}") from None
    return ModelFile(
        name=name,
        architecture=architecture,
        shape=shape,
        weights=weights,
        file_format=_FILE_TYPES.get(file_type) if isinstance(file_type, int) else None,
        note=note,
    )


def read_gguf(path: Path) -> ModelFile:
    """Read the header of a GGUF file, in tens of milliseconds whatever the vocabulary.

    A model that is split over several files is read from the first; the others lie beside it.

    Raises:
        WeightsError: not a GGUF file, truncated, without its other parts or a field that every model has, or with
            numbers that cannot be.
    """
    try:
        return _read(path)
    except OSError as error:
        where = error.filename or path
        raise WeightsError(f"{where} cannot be read: {error.strerror}.", fix="Check the path.") from None
    except FaultyFileError as error:
        raise _refused(path, error) from None
