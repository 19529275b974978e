"""Small GGUF files, written by the format's own library."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from gguf import GGUFWriter

__all__ = ["BLOCK_TENSORS", "HEADERS", "VOCABULARY", "WIDTH", "write_gguf"]

WIDTH: Final = 8
VOCABULARY: Final = 10
# Rows and columns of one block's tensors: eight numbers wide, two heads of four, one KV head, 16 hidden.
BLOCK_TENSORS: Final[Mapping[str, tuple[int, ...]]] = {
    "attn_norm": (8,),
    "attn_q": (8, 8),
    "attn_k": (4, 8),
    "attn_v": (4, 8),
    "attn_output": (8, 8),
    "ffn_norm": (8,),
    "ffn_gate": (16, 8),
    "ffn_up": (16, 8),
    "ffn_down": (8, 16),
}
HEADERS: Final[Mapping[str, int]] = {
    "block_count": 2,
    "context_length": 64,
    "embedding_length": WIDTH,
    "attention.head_count": 2,
    "attention.head_count_kv": 1,
}


def write_gguf(
    path: Path,
    *,
    architecture: str = "qwen2",
    headers: Mapping[str, int] = HEADERS,
    tied: bool = True,
    more_tensors: Mapping[str, tuple[int, ...]] | None = None,
    n_tokens: int = 0,
) -> Path:
    """Write a dense model of two blocks in 32-bit floats; `n_tokens` gives it a vocabulary in its metadata."""
    writer: Any = GGUFWriter(path, architecture)
    for key, value in headers.items():
        writer.add_uint32(f"{architecture}.{key}", value)
    if n_tokens:
        writer.add_token_list([f"token {i} ção" for i in range(n_tokens)])
        writer.add_token_scores([0.5] * n_tokens)
        writer.add_token_types([1] * n_tokens)
    tensors = {"token_embd.weight": (VOCABULARY, WIDTH), "output_norm.weight": (WIDTH,)}
    if not tied:
        tensors["output.weight"] = (VOCABULARY, WIDTH)
    for block in range(2):
        tensors |= {f"blk.{block}.{name}.weight": shape for name, shape in BLOCK_TENSORS.items()}
    for name, shape in {**tensors, **(more_tensors or {})}.items():
        writer.add_tensor(name, np.zeros(shape, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
