"""What the tensors of a GGUF file are for, by their names, and the bytes that a token reads of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

from teto.physics.precision import ExpertBytes, WeightBytes

__all__ = ["BeyondShapeError", "Role", "layer_of", "role_of", "weights_of"]

Role: TypeAlias = Literal["mixer", "dense", "experts", "small", "head", "table", "outside"]
# Read whole but hardly multiplied: short convolutions, and the decays of a state.
_SMALL: Final = ("ssm_conv1d", "ssm_a", "ssm_d", "shortconv.conv", "exp_probs_b")
_MIXER: Final = ("attn_", "ssm_", "shortconv.")
_DENSE: Final = ("ffn_", "inp_gate", "proj.")
_TABLES: Final = ("token_embd.weight", "per_layer_token_embd.weight")


class BeyondShapeError(Exception):
    """A model that `Shape` cannot say, with the reason as its text."""


def layer_of(name: str) -> int | None:
    """The layer of a tensor; None outside the layers."""
    return int(name.split(".", 2)[1]) if name.startswith("blk.") else None


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
    table = next(int(tensor.n_bytes) for tensor in tensors if tensor.name == _TABLES[0])
    rows = sum(
        int(tensor.n_bytes) / int(tensor.shape[1])
        for tensor in tensors
        if tensor.name in _TABLES and not (tied and tensor.name == _TABLES[0])
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
    return tuple(
        ExpertBytes(n_layers=count, n_experts=n_experts, n_active=n_active, expert_bytes=n_bytes / n_experts)
        for (n_experts, n_bytes), count in counts.items()
    )
