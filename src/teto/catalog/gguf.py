"""Reads a GGUF file's header: the shape, and the exact bytes that a token reads."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from teto.errors import WeightsError
from teto.physics.shape import Shape, WeightBytes

__all__ = ["ModelFile", "read_gguf"]

# Architectures whose every layer is full attention with a dense feed-forward: what `Shape` can say today.
_DENSE: Final = frozenset({"llama", "qwen2", "qwen3"})
_STRING, _ARRAY = 8, 9  # type tags of the format's metadata
_U64: Final = struct.Struct("<Q")
_SCALAR_BYTES: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_SHORT_ARRAY: Final = 4096  # per-layer numbers are kept, vocabularies are stepped over


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """What a GGUF file says of its model. `shape` is None, with the reason, where it is beyond `Shape`."""

    architecture: str
    shape: Shape | None
    weights: WeightBytes | None
    note: str


def _skipping_reader(path: Path) -> Any:
    """A reader that steps over long arrays: a vocabulary of 150,000 entries costs it seconds otherwise."""
    from gguf import GGUFReader  # noqa: PLC0415 - brings numpy, which only readers of model files need

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


def _tensor_role(name: str) -> str:
    if name.startswith("blk."):
        return "block"
    if name.startswith("token_embd"):
        return "embedding"
    return "head" if name.startswith("output") else "other"


def _weights(tensors: Any) -> WeightBytes:
    sizes = dict.fromkeys(("block", "embedding", "head", "other"), 0)
    for tensor in tensors:
        sizes[_tensor_role(tensor.name)] += int(tensor.n_bytes)
    tied = not any(tensor.name == "output.weight" for tensor in tensors)
    rows = next(int(tensor.shape[1]) for tensor in tensors if tensor.name == "token_embd.weight")
    return WeightBytes(
        # Small tensors outside the blocks (rope factors, final norms) are read in every step too.
        block_bytes=sizes["block"] + sizes["other"],
        head_bytes=sizes["head"] + (sizes["embedding"] if tied else 0),
        embedding_row_bytes=0.0 if tied else sizes["embedding"] / rows,
        resident_bytes=sum(sizes.values()),
    )


def _shape(name: str, architecture: str, fields: Any, tensors: Any) -> Shape:
    def field(key: str) -> int:
        found = fields.get(f"{architecture}.{key}")
        if found is None:
            raise KeyError(f"{architecture}.{key}")
        return int(found.contents())

    heads, width = field("attention.head_count"), field("embedding_length")
    default_dim = width // heads

    def optional(key: str, otherwise: int) -> int:
        return field(key) if f"{architecture}.{key}" in fields else otherwise

    matrices = {t.name: int(t.n_elements) for t in tensors if len(t.shape) > 1}
    return Shape(
        name=name,
        n_layers=field("block_count"),
        n_heads=heads,
        n_kv_heads=optional("attention.head_count_kv", heads),
        key_dim=optional("attention.key_length", default_dim),
        value_dim=optional("attention.value_length", default_dim),
        block_params=sum(size for tensor, size in matrices.items() if tensor.startswith("blk.")),
        head_params=matrices.get("output.weight", matrices["token_embd.weight"]),
        context_limit_tokens=field("context_length"),
    )


def _why(error: Exception) -> str:
    """The library's own words only where it chose them; a field that was never there is named."""
    if isinstance(error, struct.error | IndexError):
        return "its header ends too early, or states sizes beyond its end"
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    return str(error) or type(error).__name__


def read_gguf(path: Path) -> ModelFile:
    """Read the header of a GGUF file, in tens of milliseconds whatever the vocabulary.

    Raises:
        WeightsError: not a GGUF file, truncated, or without a field that every model has.
    """
    try:
        reader = _skipping_reader(path)
        architecture = str(reader.fields["general.architecture"].contents())
        unsupported = architecture not in _DENSE or any("_exps." in tensor.name for tensor in reader.tensors)
        if unsupported:
            note = f"architecture {architecture!r} with these tensors is not a dense full-attention decoder"
            return ModelFile(architecture=architecture, shape=None, weights=None, note=note)
        weights = _weights(reader.tensors)
        shape = _shape(path.stem, architecture, reader.fields, reader.tensors)
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error.strerror}.", fix="Check the path.") from None
    except (ValueError, IndexError, KeyError, StopIteration, struct.error, TypeError, ZeroDivisionError) as error:
        raise WeightsError(
            f"{path} is no complete GGUF file: {_why(error)}.",
            fix="Run `teto models verify`, or pull it again.",
        ) from None
    return ModelFile(architecture=architecture, shape=shape, weights=weights, note="tensor sizes of the GGUF file")
