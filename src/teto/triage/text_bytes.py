"""Texts as one array of plain bytes: lower case, without accents, digits alike, only their beginnings and ends."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CHOICE",
    "CLASSES",
    "CUT",
    "N_CLASSES",
    "SCHEMA",
    "SYSTEM_END",
    "TextBytes",
    "cut_middle",
    "join_texts",
    "without_marks",
]

# Marks that stand for what is not text; each is a word of its own. The start of a text is the zero byte.
SCHEMA: Final = "\x02"
CHOICE: Final = "\x03"
CUT: Final = "\x1d"
SYSTEM_END: Final = "\x1e"
_MARKS: Final = (SCHEMA, CHOICE, CUT, SYSTEM_END)
_START: Final = "\x00"

_HEAD_CHARACTERS: Final = 200  # what is read at the beginning of a text, and at its end
_TAIL_CHARACTERS: Final = 160
_MOST_SYSTEM_CHARACTERS: Final = 400  # `prompt_text` makes it shorter; other texts with that mark are cut here

# Bytes that are counted, by class; a word's byte is none of them.
CLASSES: Final = {"lines": "\n", "question": "?", "quote": '"', "colon": ":", "code": "{}();=[]", "tag": "<"}
_WORD: Final = 0x80  # the bit that says "a byte of a word"
_DIGIT: Final = len(CLASSES) + 1
_FOREIGN: Final = len(CLASSES) + 2
N_CLASSES: Final = len(CLASSES) + 3
# Quotes of typesetters, as the plain ones.
_TYPOGRAPHIC: Final = {"“": '"', "”": '"', "«": '"', "»": '"', "’": "'", "‘": "'"}
_PLAIN: Final = tuple((old.encode(), new.encode()) for old, new in _TYPOGRAPHIC.items())


def _fold_table() -> bytes:
    """ASCII to lower case, digits to 0, control characters that mark nothing to spaces."""
    table = bytearray(range(256))
    table[ord("A") : ord("Z") + 1] = b"abcdefghijklmnopqrstuvwxyz"
    table[ord("0") : ord("9") + 1] = b"0000000000"
    for byte in range(32):
        if chr(byte) not in {*_MARKS, _START, "\n"}:
            table[byte] = ord(" ")
    return bytes(table)


def _accent_table() -> NDArray[np.uint8]:
    """The second byte of U+00C0 to U+00FF, behind 0xC3, to its letter without accent."""
    table = np.arange(256, dtype=np.uint8)
    for code in range(0xC0, 0x100):
        plain = unicodedata.normalize("NFKD", chr(code))[0].lower()
        table[code - 0x40] = ord(
            {"ß": "s", "æ": "a", "ø": "o"}.get(chr(code).lower(), plain if plain.isascii() else "x")
        )
    return table


def _class_table() -> bytes:
    """The class of a byte, with a bit for those that make words."""
    table = bytearray(256)
    for number, characters in enumerate(CLASSES.values(), start=1):
        for character in characters:
            table[ord(character)] = number
    for byte in range(256):
        if byte >= 0x80:
            table[byte] = _WORD | _FOREIGN
        elif chr(byte) in {*_MARKS, _START, "_", "'"} or chr(byte).isalpha():
            table[byte] = _WORD
    table[ord("0")] = _WORD | _DIGIT
    return bytes(table)


_FOLD: Final = _fold_table()
_ACCENTS: Final = _accent_table()
_CLASS_OF: Final = _class_table()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBytes:
    """All texts in one row: each begins with a zero byte; behind the last stand three spaces.

    `data`, `classes`: (bytes,), the folded bytes and the class of each.
    `start`, `end`: (words,), where each word begins and ends. `first`: (texts,), the first word of each text.
    """

    data: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    first: NDArray[np.int64]


def without_marks(text: str) -> str:
    """The text without the characters that would be taken for marks."""
    for mark in _MARKS:
        if mark in text:
            text = text.replace(mark, " ")
    return text


def cut_middle(text: str, head: int, tail: int) -> str:
    """The first `head` and the last `tail` characters, with a mark between them; a short text as it is."""
    return text if len(text) <= head + tail else f"{text[:head]} {CUT} {text[-tail:]}"


def _read_part(text: str) -> str:
    text = text.rstrip()
    if len(text) > _HEAD_CHARACTERS + _TAIL_CHARACTERS:
        system, mark, rest = text.rpartition(SYSTEM_END)
        text = f"{system[:_MOST_SYSTEM_CHARACTERS]}{mark}{cut_middle(rest, _HEAD_CHARACTERS, _TAIL_CHARACTERS)}"
    if _START in text:
        text = text.replace(_START, " ")
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def join_texts(texts: Sequence[str]) -> TextBytes:
    """Any texts, lone surrogates included; compatibility forms of letters become the plain ones."""
    joined = "".join([f" {_START} {_read_part(text)}" for text in texts]).encode("utf-8", "replace")
    accents = b"\xc3" in joined
    if not joined.isascii():
        for old, new in _PLAIN:
            joined = joined.replace(old, new)
    folded = joined.translate(_FOLD) + b"   "
    data = np.frombuffer(folded, dtype=np.uint8)
    if accents:
        lead = data == 0xC3
        data = data.copy()
        after = np.flatnonzero(lead) + 1
        data[after] = _ACCENTS[data[after]]
        data = data[~lead]
        folded = data.tobytes()
    classes = np.frombuffer(folded.translate(_CLASS_OF), dtype=np.uint8)
    is_word = classes & _WORD
    edges = np.flatnonzero(is_word[1:] != is_word[:-1]) + 1  # the row begins and ends with a space
    start, end = edges[::2], edges[1::2]
    return TextBytes(
        data=data, classes=classes & ~np.uint8(_WORD), start=start, end=end, first=np.flatnonzero(data[start] == 0)
    )
