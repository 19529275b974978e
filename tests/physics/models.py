"""Models and devices whose figures can be checked by hand."""

from typing import Final

from teto.physics.device import Device
from teto.physics.mixers import FullAttention
from teto.physics.precision import Dtype, WeightBytes
from teto.physics.shape import Block, Shape

__all__ = ["BF16", "GPU", "LLAMA_2_7B", "LLAMA_2_7B_FP16", "TINY", "TINY_WEIGHTS"]

# 32 blocks of four 4096 × 4096 projections and three 4096 × 11008 ones: 32 · (67,108,864 + 135,266,304);
# the head is 32,000 × 4096, and so is the table.
LLAMA_2_7B: Final = Shape(
    name="llama-2-7b",
    blocks=(
        Block(
            count=32,
            mixer=FullAttention(n_heads=32, n_kv_heads=32, key_dim=128, value_dim=128),
            mixer_params=67_108_864,
            dense_params=135_266_304,
            other_params=8192,
        ),
    ),
    width=4096,
    head_params=131_072_000,
    table_params=131_072_000,
    other_params=4096,
    context_limit_tokens=4096,
)
# Two bytes a parameter; an embedding row is 4096 · 2. Norms left out.
LLAMA_2_7B_FP16: Final = WeightBytes(
    dense_bytes=12_952_010_752,
    head_bytes=262_144_000,
    embedding_row_bytes=8192,
    resident_bytes=13_476_298_752,
)
# One token of KV: 2 layers · 1 KV head · (3 + 5) · 2 bytes = 32. Attention: 2 · 2 · 4 heads · 8 · C = 128 C.
TINY: Final = Shape(
    name="tiny",
    blocks=(
        Block(
            count=2,
            mixer=FullAttention(n_heads=4, n_kv_heads=1, key_dim=3, value_dim=5),
            mixer_params=200,
            dense_params=300,
        ),
    ),
    width=10,
    head_params=300,
    table_params=300,
    context_limit_tokens=512,
)
TINY_WEIGHTS: Final = WeightBytes(dense_bytes=2000, head_bytes=600, embedding_row_bytes=20, resident_bytes=3200)
BF16: Final[tuple[Dtype, ...]] = ("bf16",)
GPU: Final = Device(
    name="gpu",
    mem_bandwidth_bytes_per_s=3e12,
    flops_per_s={"bf16": 900e12},
    kind="assumed",
    source="the articles' round figures",
)
