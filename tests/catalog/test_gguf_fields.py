"""Model files whose header states what cannot be, and the name that a header gives its model."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from gguf import GGUFWriter

from tests.catalog import model_files
from tests.catalog.model_files import BLOCK_TENSORS, HEADERS, Headers, write_gguf
from teto.catalog.gguf import read_gguf
from teto.errors import WeightsError

WriteOdd: TypeAlias = Callable[[Mapping[str, Any]], Path]
EXPERTS: Mapping[str, tuple[int, ...]] = {
    **{name: shape for name, shape in BLOCK_TENSORS.items() if not name.startswith("ffn_")},
    "ffn_gate_inp": (4, 8),
    "ffn_up_exps": (4, 6, 8),
    "ffn_down_exps": (4, 8, 6),
}
STATE: Mapping[str, tuple[int, ...]] = {"attn_norm": (8,), "ssm_conv1d": (24,)}
LATENT: Headers = {
    **HEADERS,
    "attention.key_length_mla": 6,
    "attention.value_length_mla": 5,
    "attention.kv_lora_rank": 6,
    "rope.dimension_count": 6,
}


@pytest.fixture
def write_odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteOdd:
    """Writes a file with some fields of any type, in place of the whole numbers that they should be."""

    def write(odd: Mapping[str, Any]) -> Path:
        class OddWriter(GGUFWriter):
            def write_header_to_file(self, path: Path | None = None) -> None:
                for key, value in odd.items():
                    if isinstance(value, bool):
                        self.add_bool(key, value)
                    elif isinstance(value, float):
                        self.add_float32(key, value)
                    elif isinstance(value, str):
                        self.add_string(key, value)
                    else:
                        self.add_uint64(key, value)
                super().write_header_to_file(path)

        monkeypatch.setattr(model_files, "GGUFWriter", OddWriter)
        headers = {key: value for key, value in HEADERS.items() if f"qwen2.{key}" not in odd}
        return write_gguf(tmp_path / "odd.gguf", headers=headers)

    return write


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("qwen2.block_count", 2**40, "must be at most 10,000, found 1099511627776"),
        ("qwen2.block_count", 2.5, "must be a whole number above 0, found 2.5"),
        ("qwen2.block_count", "many", "must be a whole number above 0, found 'many'"),
        ("qwen2.attention.head_count", True, "must be a whole number above 0, found True"),
        ("qwen2.embedding_length", 2**62, "must be at most 1,000,000,000,000, found 4611686018427387904"),
        ("split.count", "two", "must be a whole number of at most 10,000, found 'two'"),
        ("split.count", 2**40, "must be a whole number of at most 10,000, found 1099511627776"),
    ],
)
def test_a_number_that_cannot_be(write_odd: WriteOdd, key: str, value: Any, words: str) -> None:
    """The field, what it must be and what was found are said, at once and without counting to it."""
    path = write_odd({key: value})
    start = time.perf_counter()
    with pytest.raises(WeightsError) as raised:
        read_gguf(path)
    assert time.perf_counter() - start < 5
    assert raised.value.message == f"{path} is no model that can be: field {key!r} {words}."
    assert raised.value.fix == "Check the file, or download it again."


@pytest.mark.parametrize(
    ("architecture", "headers", "block", "words"),
    [
        ("qwen2", {**HEADERS, "block_count": 3}, BLOCK_TENSORS, "its block_count is 3, and layer 2 has no tensors"),
        (
            "qwen2",
            {**HEADERS, "block_count": 1},
            BLOCK_TENSORS,
            "its block_count is 1, and there are tensors of layer 1",
        ),
        (
            "qwen2",
            {**HEADERS, "nextn_predict_layers": 2},
            BLOCK_TENSORS,
            "'qwen2.nextn_predict_layers' must be fewer than the 2 of block_count, found 2",
        ),
        (
            "qwen2",
            {**HEADERS, "attention.head_count": 3, "attention.head_count_kv": 2},
            BLOCK_TENSORS,
            "'qwen2.attention.head_count_kv' must be a divisor of the 3 heads, found 2",
        ),
        (
            "qwen2",
            {**HEADERS, "attention.head_count": 3},
            BLOCK_TENSORS,
            "'qwen2.embedding_length' must be a multiple of the 3 heads, as attention.key_length is not given, found 8",
        ),
        (
            "qwen2",
            {**HEADERS, "attention.head_count_kv": [1]},
            BLOCK_TENSORS,
            "must be a number, or a list with one for each layer up to 1, found [1]",
        ),
        (
            "qwen2",
            {**HEADERS, "attention.head_count_kv": [1, 0]},
            BLOCK_TENSORS,
            "'qwen2.attention.head_count_kv' must be a whole number above 0 in layer 1, found 0",
        ),
        (
            "gemma4",
            {**HEADERS, "attention.sliding_window": 16, "attention.sliding_window_pattern": [1, 7]},
            BLOCK_TENSORS,
            "'gemma4.attention.sliding_window_pattern' must be true or false in layer 1, found 7",
        ),
        (
            "qwen3moe",
            {**HEADERS, "expert_used_count": 5},
            EXPERTS,
            "expert_used_count must be from 1 to the 4 experts of a layer, found 5",
        ),
        (
            "qwen3moe",
            {**HEADERS, "expert_used_count": 0},
            EXPERTS,
            "expert_used_count must be from 1 to the 4 experts of a layer, found 0",
        ),
        (
            "deepseek2",
            LATENT,
            BLOCK_TENSORS,
            "'deepseek2.rope.dimension_count' must be fewer than the 6 of attention.key_length_mla, found 6",
        ),
        ("mamba2", HEADERS, STATE, "tensor 'blk.0.ssm_conv1d.weight' must be a matrix, found one row"),
    ],
)
def test_numbers_that_contradict_each_other(
    tmp_path: Path, architecture: str, headers: Headers, block: Mapping[str, tuple[int, ...]], words: str
) -> None:
    """Numbers that no model has together are refused, with what was expected and found."""
    path = write_gguf(tmp_path / "odd.gguf", architecture=architecture, headers=headers, blocks=[block, block])
    with pytest.raises(WeightsError) as raised:
        read_gguf(path)
    assert raised.value.message.startswith(f"{path} is no model that can be: ")
    assert words in raised.value.message


def test_a_tensor_of_no_layer(tmp_path: Path) -> None:
    """A name that should have a layer's number and has none is shown, with one that has."""
    path = write_gguf(tmp_path / "odd.gguf", more_tensors={"blk.x.attn_q.weight": (8, 8)})
    with pytest.raises(
        WeightsError, match=r"name must be like 'blk\.0\.attn_q\.weight', found 'blk\.x\.attn_q\.weight'"
    ):
        read_gguf(path)


def test_tables_that_cannot_be(tmp_path: Path) -> None:
    """An input table that is missing, or no matrix, is named."""
    second = {f"blk.0.{name}.weight": shape for name, shape in BLOCK_TENSORS.items()}
    headers: Headers = {**HEADERS, "block_count": 1}
    bare = write_gguf(tmp_path / "bare.gguf", headers=headers, blocks=[], more_tensors=second, part=(1, 1))
    with pytest.raises(WeightsError, match=r"is no complete GGUF file: tensor token_embd\.weight is missing"):
        read_gguf(bare)
    row = write_gguf(tmp_path / "row.gguf", more_tensors={"token_embd.weight": (80,)})
    with pytest.raises(WeightsError, match=r"tensor 'token_embd\.weight' must be a matrix, found one row"):
        read_gguf(row)


@pytest.mark.parametrize(
    ("stated", "name"),
    [
        ("Tiny Qwen 2", "Tiny Qwen 2"),
        ("  Tiny \t", "Tiny"),
        ("", "odd"),
        ("two\nlines", "odd"),
        ("\x1b[31mred", "odd"),
        ("n" * 500, "odd"),
        (7, "odd"),
    ],
)
def test_a_model_is_called_as_its_header_says(write_odd: WriteOdd, stated: Any, name: str) -> None:
    """The header's name is the model's, unless it is none to print on a line: then the file's is."""
    found = read_gguf(write_odd({"general.name": stated}))
    assert found.shape is not None
    assert (found.name, found.shape.name) == (name, name)


def test_texts_of_other_bytes(write_odd: WriteOdd) -> None:
    """Where the name is no text the file's is taken; an architecture that is none is an error."""
    path = write_odd({"general.name": "NAME"})
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"NAME", b"\xff\xfe\xff\xfe"))
    assert read_gguf(path).name == "odd"
    path.write_bytes(whole.replace(b"\x05\x00\x00\x00\x00\x00\x00\x00qwen2", b"\x05" + bytes(7) + b"\xffwen2"))
    with pytest.raises(WeightsError, match=r"field 'general\.architecture' must be text in UTF-8, found other bytes"):
        read_gguf(path)
