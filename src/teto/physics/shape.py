"""A model's architecture as numbers: what one token must compute, and what it must read."""

from dataclasses import dataclass

from teto.units import KV_F16_BYTES

__all__ = ["Shape", "WeightBytes"]


def _require_positive(owner: object, *names: str) -> None:
    for name in names:
        value = getattr(owner, name)
        if value <= 0:
            raise ValueError(f"{type(owner).__name__}.{name} must be above 0, found {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A dense decoder with full attention in every layer.

    `block_params` counts the parameters of the blocks that are multiplied once per token (projections and
    feed-forward, no norms or biases); `head_params` the output head. The input embedding is a table from
    which one row is read, so it is in neither. Head dimensions are per head, keys and values apart.
    """

    name: str
    n_layers: int
    n_heads: int
    n_kv_heads: int
    key_dim: int
    value_dim: int
    block_params: int
    head_params: int
    context_limit_tokens: int

    def __post_init__(self) -> None:
        _require_positive(
            self,
            "n_layers",
            "n_heads",
            "n_kv_heads",
            "key_dim",
            "value_dim",
            "block_params",
            "head_params",
            "context_limit_tokens",
        )

    def kv_bytes_per_token(self, element_bytes: float = KV_F16_BYTES) -> float:
        """Bytes that one token adds to the KV cache: layers · KV heads · (key + value dimension) · element."""
        return self.n_layers * self.n_kv_heads * (self.key_dim + self.value_dim) * element_bytes

    def attention_flops(self, context_tokens: float) -> float:
        """FLOPs of one token's scores and weighted values over a context: 2 · layers · heads · (dk + dv) · C."""
        return 2 * self.n_layers * self.n_heads * (self.key_dim + self.value_dim) * context_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightBytes:
    """The bytes of a model's tensors, by how often a token reads them.

    `block_bytes` (all blocks, norms and biases included) and `head_bytes` (output head and last norm) are read
    whole in a decode step; of an input embedding that is not shared with the head one row is read.
    """

    block_bytes: int
    head_bytes: int
    embedding_row_bytes: float
    resident_bytes: int

    def __post_init__(self) -> None:
        _require_positive(self, "block_bytes", "head_bytes", "resident_bytes")

    @property
    def decode_bytes(self) -> float:
        """Bytes of weights that one decode step reads, whatever the batch."""
        return self.block_bytes + self.head_bytes + self.embedding_row_bytes
