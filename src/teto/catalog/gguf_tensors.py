"""What the tensors of a GGUF file are for, by their names, and the bytes that a token reads of them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

from teto.catalog.gguf_metadata import FaultyFileError, IncompleteFileError
from teto.physics.precision import ExpertBytes, WeightBytes

__all__ = ["BeyondShapeError", "Role", "check_layers", "layer_of", "role_of", "weights_of"]

Role: TypeAlias = Literal["mixer", "dense", "experts", "small", "head", "table", "outside"]
# Read whole but hardly multiplied: short convolutions, and the decays of a state.
_SMALL: Final = ("ssm_conv1d", "ssm_a", "ssm_d", "shortconv.conv", "exp_probs_b")
_MIXER: Final = ("attn_", "ssm_", "shortconv.")
_DENSE: Final = ("ffn_", "inp_gate", "proj.")
_TABLES: Final = ("token_embd.weight", "per_layer_token_embd.weight")
_IN_LAYER: Final = re.compile(r"blk\.([0-9]{1,9})\..+")


class BeyondShapeError(Exception):
    """A model that `Shape` cannot say, with the reason as its text."""


def layer_of(name: str) -> int | None:
    """The layer of a tensor; None outside the layers.

    Raises:
        FaultyFileError: it should be in a layer, and its name has no number.
    """
    if not name.startswith("blk."):
        return None
    found = _IN_LAYER.fullmatch(name)
    if found is None:
        raise FaultyFileError(f"a tensor's name must be like 'blk.0.attn_q.weight', found {name[:80]!r}")
    return int(found[1])


def check_layers(tensors: Sequence[Any], *, block_count: int) -> None:
    """Check that every layer that the header counts has tensors, and that no other has.

    Raises:
        FaultyFileError: a layer is missing or not counted, or a tensor is empty.
    """
    for tensor in tensors:
        if not all(int(size) > 0 for size in tensor.shape):
            sides = " by ".join(str(int(size)) for size in tensor.shape)
            raise FaultyFileError(f"tensor {str(tensor.name)[:80]!r} must have sides above 0, found {sides}")
    present = {layer for tensor in tensors if (layer := layer_of(str(tensor.name))) is not None}
    missing = next((layer for layer in range(block_count) if layer not in present), None)
    if missing is not None:
        raise FaultyFileError(f"its block_count is {block_count}, and layer {missing} has no tensors")
    if max(present) >= block_count:
        raise FaultyFileError(f"its block_count is {block_count}, and there are tensors of layer {max(present)}")


def role_of(tensor: Any) -> Role:
    """What a tensor is for.

    Raises:
        BeyondShapeError: a matrix in a layer whose name says nothing known.
    """
    name = str(tensor.name)
    if not name.startswith("blk."):
        if name in _TABLES:
            return "table"
        return "head" if name.startswith("output") else "outside"
    own = name.split(".", 2)[2]
    if "_exps." in own:
        return "experts"
    if sum(size > 1 for size in tensor.shape) < 2 or own.startswith(_SMALL):
        return "small"
    if own.startswith(_MIXER):
        return "mixer"
    if own.startswith(_DENSE):
        return "dense"
    raise BeyondShapeError(f"tensor {name!r} is of no known kind")


def weights_of(tensors: Sequence[Any], *, n_layers: int, n_active: int | None) -> WeightBytes:
    """The exact bytes, by how often a token reads them; layers behind the last one are resident only.

    Raises:
        BeyondShapeError: there are experts, and the file does not say how many are active.
        FaultyFileError: more experts are active than there are, or the input table is missing or no matrix.
    """
    sizes: Counter[Role] = Counter()
    experts: dict[int, tuple[int, int]] = {}
    for tensor in tensors:
        layer, n_bytes = layer_of(tensor.name), int(tensor.n_bytes)
        if layer is not None and layer >= n_layers:
            continue
        role = role_of(tensor)
        sizes[role] += n_bytes
        if role == "experts" and layer is not None:
            experts[layer] = (int(tensor.shape[-1]), experts.get(layer, (0, 0))[1] + n_bytes)
    tied = not any(tensor.name == "output.weight" for tensor in tensors)
    tables = {str(tensor.name): tensor for tensor in tensors if tensor.name in _TABLES}
    if _TABLES[0] not in tables:
        raise IncompleteFileError(f"tensor {_TABLES[0]} is missing")
    for name, tensor in tables.items():
        if len(tensor.shape) < 2:
            raise FaultyFileError(f"tensor {name!r} must be a matrix, found one row")
    table = int(tables[_TABLES[0]].n_bytes)
    rows = sum(
        int(tensor.n_bytes) / int(tensor.shape[1])
        for name, tensor in tables.items()
        if not (tied and name == _TABLES[0])
    )
    return WeightBytes(
        # Small tensors outside the layers (rope factors) are read in every step too.
        dense_bytes=sizes["mixer"] + sizes["dense"] + sizes["small"] + sizes["outside"],
        head_bytes=sizes["head"] + (table if tied else 0),
        embedding_row_bytes=float(rows),
        resident_bytes=sum(int(tensor.n_bytes) for tensor in tensors),
        experts=_expert_groups(experts.values(), n_active),
    )


def _expert_groups(layers: Iterable[tuple[int, int]], n_active: int | None) -> tuple[ExpertBytes, ...]:
    """Layers whose experts have the same size, put together."""
    counts = Counter(layers)
    if not counts:
        return ()
    if n_active is None:
        raise BeyondShapeError("it has experts, and expert_used_count is missing")
    fewest = min(n_experts for n_experts, _ in counts)
    if not 0 < n_active <= fewest:
        raise FaultyFileError(f"expert_used_count must be from 1 to the {fewest} experts of a layer, found {n_active}")
    return tuple(
        ExpertBytes(n_layers=count, n_experts=n_experts, n_active=n_active, expert_bytes=n_bytes / n_experts)
        for (n_experts, n_bytes), count in counts.items()
    )
