"""Models and devices whose figures can be checked by hand."""

from typing import Final

from teto.physics.device import Device
from teto.physics.shape import Shape, WeightBytes

__all__ = ["GPU", "LLAMA_2_7B", "LLAMA_2_7B_FP16", "TINY", "TINY_WEIGHTS"]

# 32 blocks of four 4096 × 4096 projections and three 4096 × 11008 ones: 32 · (67,108,864 + 135,266,304);
# the head is 32,000 × 4096.
LLAMA_2_7B: Final = Shape(
    name="llama-2-7b",
    n_layers=32,
    n_heads=32,
    n_kv_heads=32,
    key_dim=128,
    value_dim=128,
    block_params=6_476_005_376,
    head_params=131_072_000,
    context_limit_tokens=4096,
)
# Two bytes a parameter; an embedding row is 4096 · 2.
LLAMA_2_7B_FP16: Final = WeightBytes(
    block_bytes=12_952_010_752,
    head_bytes=262_144_000,
    embedding_row_bytes=8192,
    resident_bytes=13_476_298_752,
)
# One token of KV: 2 layers · 1 KV head · (3 + 5) · 2 bytes = 32. Attention: 2 · 2 · 4 heads · 8 · C = 128 C.
TINY: Final = Shape(
    name="tiny",
    n_layers=2,
    n_heads=4,
    n_kv_heads=1,
    key_dim=3,
    value_dim=5,
    block_params=1000,
    head_params=300,
    context_limit_tokens=512,
)
TINY_WEIGHTS: Final = WeightBytes(block_bytes=2000, head_bytes=600, embedding_row_bytes=20, resident_bytes=3200)
GPU: Final = Device(
    name="gpu",
    mem_bandwidth_bytes_per_s=3e12,
    flops_per_s=900e12,
    kind="assumed",
    source="the articles' round figures",
)
