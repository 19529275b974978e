"""Files that are no complete model: an error with the path, and nothing else."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.catalog.model_files import HEADERS, write_gguf
from teto.catalog.gguf import read_gguf
from teto.errors import WeightsError

PADDING_BYTES = 32  # the last tensor is padded to this, and nobody reads the padding


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A complete file."""
    return write_gguf(tmp_path_factory.mktemp("whole") / "whole.gguf", n_tokens=20).read_bytes()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where broken files are written."""
    return tmp_path_factory.mktemp("broken") / "broken.gguf"


@settings(deadline=None)  # a disk may be slow
@given(data=st.data())
def test_a_truncated_file(data: st.DataObject, whole: bytes, place: Path) -> None:
    """A file that ends early, in its header or in its tensors, is named and what to do is said."""
    place.write_bytes(whole[: data.draw(st.integers(0, len(whole) - PADDING_BYTES))])
    with pytest.raises(WeightsError, match="is no complete GGUF file") as raised:
        read_gguf(place)
    assert raised.value.message.startswith(f"{place} ")
    assert raised.value.fix == "Check the file, or download it again."


@settings(deadline=None)
@given(content=st.binary(max_size=300), magic=st.booleans())
def test_a_file_of_something_else(content: bytes, place: Path, *, magic: bool) -> None:
    """Any other bytes, with GGUF's magic number or without, are no model."""
    place.write_bytes(b"GGUF\x03\x00\x00\x00" + content if magic else content)
    with pytest.raises(WeightsError, match="is no complete GGUF file"):
        read_gguf(place)


@pytest.mark.parametrize("key", [key for key in HEADERS if key != "attention.head_count_kv"])
def test_a_missing_key(tmp_path: Path, key: str) -> None:
    """A header without a field that every model has is named, with its file."""
    path = write_gguf(tmp_path / "bare.gguf", headers={name: value for name, value in HEADERS.items() if name != key})
    with pytest.raises(WeightsError, match=rf"bare\.gguf .*qwen2\.{key}"):
        read_gguf(path)


@pytest.mark.parametrize("key", HEADERS)
def test_a_field_of_zero(tmp_path: Path, key: str) -> None:
    """A header whose field is 0 is an error, and no division by it."""
    path = write_gguf(tmp_path / "zero.gguf", headers={**HEADERS, key: 0})
    with pytest.raises(WeightsError, match=r"zero\.gguf "):
        read_gguf(path)


def test_a_broken_file_of_the_store(tmp_path: Path, whole: bytes) -> None:
    """Only a file of the store, which is called by its sha256, can be verified and pulled again."""
    store = tmp_path / "sha256"
    store.mkdir()
    for name, fix in (
        (f"{'0a' * 32}.gguf", "Run `teto models verify`, or pull it again."),
        ("mine.gguf", "Check the file, or download it again."),
    ):
        path = store / name
        path.write_bytes(whole[:100])
        with pytest.raises(WeightsError) as raised:
            read_gguf(path)
        assert raised.value.fix == fix


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it must begin with b'GGUF', found b''."),
        (b"abc", "it must begin with b'GGUF', found b'abc'."),
        (b"GGUF\x03\x00\x00\x00", "it must have at least 24 bytes, found 8."),
        (b"GGUF\x00\x00\x00\x03" + bytes(16), "its version must be 2 or 3, in little-endian order, found 50331648."),
        (b"GGUF\x03\x00\x00\x00" + b"\xff" * 16, "its header is damaged, ends too early, or states sizes beyond"),
        (b"GGUF\x03\x00\x00\x00" + bytes(16), "general.architecture is missing."),
    ],
)
def test_what_is_wrong_with_the_header(tmp_path: Path, content: bytes, words: str) -> None:
    """The text says what the header must have and what was found, and nothing of arrays."""
    path = tmp_path / "short.gguf"
    path.write_bytes(content)
    with pytest.raises(WeightsError) as raised:
        read_gguf(path)
    assert words in raised.value.message
    assert "dtype" not in raised.value.message


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A path without a file, or of a folder, is named."""
    for path in (tmp_path / "nowhere.gguf", tmp_path):
        with pytest.raises(WeightsError, match="cannot be read") as raised:
            read_gguf(path)
        assert str(path) in raised.value.message
