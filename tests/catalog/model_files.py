"""Small GGUF files, written by the format's own library."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from gguf import GGUFWriter

__all__ = ["BLOCK_TENSORS", "HEADERS", "VOCABULARY", "WIDTH", "Headers", "write_gguf"]

Headers: TypeAlias = Mapping[str, int | Sequence[int]]

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
    headers: Headers = HEADERS,
    tied: bool = True,
    blocks: Sequence[Mapping[str, tuple[int, ...]]] = (BLOCK_TENSORS, BLOCK_TENSORS),
    more_tensors: Mapping[str, tuple[int, ...]] | None = None,
    n_tokens: int = 0,
    file_type: int | None = None,
    part: tuple[int, int] | None = None,
) -> Path:
    """Write a model of so many blocks in 32-bit floats; `n_tokens` gives it a vocabulary in its metadata.

    `part` is the number of this file, from 0, and of all files of a split model; only the first has the tables.
    """
    writer: Any = GGUFWriter(path, architecture)
    for key, value in headers.items():
        if isinstance(value, int):
            writer.add_uint32(f"{architecture}.{key}", value)
        else:
            writer.add_array(f"{architecture}.{key}", list(value))
    if file_type is not None:
        writer.add_uint32("general.file_type", file_type)
    if part is not None:
        writer.add_uint16("split.no", part[0])
        writer.add_uint16("split.count", part[1])
    if n_tokens:
        writer.add_token_list([f"token {i} ção" for i in range(n_tokens)])
        writer.add_token_scores([0.5] * n_tokens)
        writer.add_token_types([1] * n_tokens)
    tensors: dict[str, tuple[int, ...]] = {}
    if part is None or part[0] == 0:
        tensors = {"token_embd.weight": (VOCABULARY, WIDTH), "output_norm.weight": (WIDTH,)}
        if not tied:
            tensors["output.weight"] = (VOCABULARY, WIDTH)
    for index, block in enumerate(blocks):
        tensors |= {_full_name(index, name): shape for name, shape in block.items()}
    for name, shape in {**tensors, **(more_tensors or {})}.items():
        writer.add_tensor(name, np.zeros(shape, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _full_name(index: int, name: str) -> str:
    return f"blk.{index}.{name}" if name.endswith(".bias") else f"blk.{index}.{name}.weight"
