"""What a weight weighs in each format, and what dtype the engine multiplies it in.

Bits are those of the format's blocks, scales included, as llama.cpp's ggml-common.h (GGUF formats), the OCP
microscaling specification 1.0 (MXFP4) and NVIDIA's NVFP4 description define them. Mixed formats (the `_M` and
`_S` ones) are the average of llama.cpp's recipe over a gated decoder's matrices: within 1.5 % of real files whose
rows are multiples of 256. Others fall back to wider blocks there (Qwen2.5-0.5B's Q4_K_M is a fifth larger): give the
file for exact bytes.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from teto.physics.shape import Shape
from teto.physics.values import Values, require_not_negative, require_positive

__all__ = ["DTYPES", "FORMATS", "Dtype", "ExpertBytes", "Format", "WeightBytes", "weigh"]

Dtype = Literal["fp4", "fp8", "int8", "bf16", "fp16", "fp32"]
DTYPES: Final[tuple[Dtype, ...]] = ("fp4", "fp8", "int8", "bf16", "fp16", "fp32")
_SIXTEEN: Final[tuple[Dtype, ...]] = ("bf16", "fp16", "fp32")
_NORM_BYTES: Final = 4  # norms and biases stay in 32-bit floats in GGUF; a few in a million elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """Bits per weight by role, and the dtypes in which an engine may multiply, preferred first.

    A weight-only format is expanded and multiplied in 16 bits; only formats whose activations are quantized
    too (fp8, int8, nvfp4) use the narrow units.
    """

    name: str
    mixer_bits: float
    dense_bits: float
    expert_bits: float
    head_bits: float
    table_bits: float
    compute: tuple[Dtype, ...]

    def __post_init__(self) -> None:
        require_positive(self, "mixer_bits", "dense_bits", "expert_bits", "head_bits", "table_bits")


def _uniform(name: str, bits: float, *, compute: tuple[Dtype, ...] = _SIXTEEN) -> Format:
    return Format(
        name=name, mixer_bits=bits, dense_bits=bits, expert_bits=bits, head_bits=bits, table_bits=bits, compute=compute
    )


def _mixed(name: str, *, mixer: float, feed: float, head: float, table: float) -> Format:
    return Format(
        name=name, mixer_bits=mixer, dense_bits=feed, expert_bits=feed, head_bits=head, table_bits=table,
        compute=_SIXTEEN,
    )  # fmt: skip


def _blocks_only(name: str, bits: float, *, compute: tuple[Dtype, ...] = _SIXTEEN) -> Format:
    """Servers quantize the blocks and leave head and table in 16 bits."""
    return Format(
        name=name, mixer_bits=bits, dense_bits=bits, expert_bits=bits, head_bits=16, table_bits=16, compute=compute
    )


def _experts_only(name: str, bits: float, *, compute: tuple[Dtype, ...] = _SIXTEEN) -> Format:
    return Format(
        name=name, mixer_bits=16, dense_bits=16, expert_bits=bits, head_bits=16, table_bits=16, compute=compute
    )


_ALL: Final = (
    _uniform("fp32", 32, compute=("fp32",)),
    _uniform("bf16", 16),
    _uniform("f16", 16),
    _uniform("q8_0", 8.5),
    _uniform("q6_k", 6.5625),
    # llama.cpp's recipe: of attention values and feed-forward outputs half the layers get the wider format.
    _mixed("q5_k_m", mixer=5.6, feed=5.68, head=6.5625, table=5.5),
    _mixed("q5_k_s", mixer=5.5, feed=5.5, head=6.5625, table=5.5),
    _mixed("q5_0", mixer=5.5, feed=5.5, head=6.5625, table=5.5),
    _mixed("q4_k_m", mixer=4.6, feed=4.844, head=6.5625, table=4.5),
    _mixed("q4_k_s", mixer=4.55, feed=4.55, head=6.5625, table=4.5),
    _mixed("q4_0", mixer=4.5, feed=4.5, head=6.5625, table=4.5),
    _mixed("q4_1", mixer=5.0, feed=5.0, head=6.5625, table=5.0),
    _mixed("iq4_xs", mixer=4.25, feed=4.25, head=6.5625, table=4.25),
    _mixed("iq4_nl", mixer=4.5, feed=4.5, head=6.5625, table=4.5),
    _mixed("q3_k_m", mixer=3.75, feed=3.84, head=6.5625, table=3.4375),
    _mixed("q2_k", mixer=2.8, feed=2.9, head=6.5625, table=2.625),
    _blocks_only("int8", 8, compute=("int8", *_SIXTEEN)),
    _blocks_only("fp8", 8, compute=("fp8", *_SIXTEEN)),
    _blocks_only("int4", 4.15625),  # groups of 128: a 16-bit scale and a 4-bit zero each
    _blocks_only("nvfp4", 4.5, compute=("fp4", *_SIXTEEN)),
    _experts_only("mxfp4", 4.25),
)
FORMATS: Final = {found.name: found for found in _ALL}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertBytes:
    """The routed experts of `n_layers` equal layers: bytes of one expert in one layer."""

    n_layers: int
    n_experts: int
    n_active: int
    expert_bytes: float

    def __post_init__(self) -> None:
        require_positive(self, "n_layers", "n_experts", "n_active", "expert_bytes")

    def read_bytes(self, n_tokens: Values, *, is_expected: bool) -> Values:
        """Bytes that a batch of tokens reads: at least one token's experts, or the expected distinct ones.

        The expectation holds for independent uniform routing; the minimum is what a ceiling may use.
        """
        distinct: Values = self.n_active + 0.0 * n_tokens
        if is_expected:
            distinct = self.n_experts * (1 - (1 - self.n_active / self.n_experts) ** n_tokens)
        return self.n_layers * self.expert_bytes * distinct


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightBytes:
    """The bytes of a model's weights, by how often a token reads them.

    `dense_bytes` (the blocks but for routed experts, norms and biases included) and `head_bytes` (output head
    and last norm) are read whole in a decode step; of a table that is not the head's one row is read.
    """

    dense_bytes: float
    head_bytes: float
    embedding_row_bytes: float
    resident_bytes: float
    experts: tuple[ExpertBytes, ...] = ()

    def __post_init__(self) -> None:
        require_positive(self, "dense_bytes", "head_bytes", "resident_bytes")
        require_not_negative(self, "embedding_row_bytes")

    def block_bytes(self, n_tokens: Values, *, is_expected: bool = False) -> Values:
        """Bytes of the blocks that one pass over `n_tokens` reads."""
        read: Values = self.dense_bytes + 0.0 * n_tokens
        for group in self.experts:
            read = read + group.read_bytes(n_tokens, is_expected=is_expected)
        return read

    def scaled(self, factor: float) -> "WeightBytes":
        """The same weights in so many times the bytes."""
        return WeightBytes(
            dense_bytes=self.dense_bytes * factor,
            head_bytes=self.head_bytes * factor,
            embedding_row_bytes=self.embedding_row_bytes * factor,
            resident_bytes=self.resident_bytes * factor,
            experts=tuple(replace(group, expert_bytes=group.expert_bytes * factor) for group in self.experts),
        )

    @property
    def decode_bytes(self) -> float:
        """Bytes of weights that one decode step of one sequence reads."""
        return float(self.block_bytes(1)) + self.head_bytes + self.embedding_row_bytes


def weigh(shape: Shape, weight_format: Format) -> WeightBytes:
    """The bytes of a model in a format, from its shape; a file's own tensors are exact where there is one."""
    dense = 0.0
    experts = []
    for block in shape.blocks:
        layer_bits = block.mixer_params * weight_format.mixer_bits + block.dense_params * weight_format.dense_bits
        dense += block.count * (layer_bits / 8 + block.other_params * _NORM_BYTES)
        if block.experts is not None:
            experts.append(
                ExpertBytes(
                    n_layers=block.count,
                    n_experts=block.experts.n_experts,
                    n_active=block.experts.n_active,
                    expert_bytes=block.experts.expert_params * weight_format.expert_bits / 8,
                )
            )
    head = shape.head_params * weight_format.head_bits / 8 + shape.other_params * _NORM_BYTES
    table = shape.table_params * weight_format.table_bits / 8
    routed = sum(group.n_layers * group.n_experts * group.expert_bytes for group in experts)
    return WeightBytes(
        dense_bytes=dense,
        head_bytes=head,
        embedding_row_bytes=0.0 if shape.table_params == 0 else shape.width * weight_format.table_bits / 8,
        resident_bytes=dense + head + table + routed,
        experts=tuple(experts),
    )
