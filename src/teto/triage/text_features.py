"""Turns texts into hashed features, many at a time and without a loop over words.

Every word, every stem (the first letters of a word) alone and with the place it stands at, and every pair of
neighbours becomes a row number of the model's table. Words are hashed by differences of prefix sums of a polynomial
in the bytes (arithmetic of 64 bits that wraps around): one pass over the bytes, then one operation per word,
whatever its length.

Only the beginning and the end of each text are read, where instructions stand, so that time is bounded.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from teto.triage.text_bytes import (
    CHOICE,
    CLASSES,
    N_CLASSES,
    SCHEMA,
    SYSTEM_END,
    TextBytes,
    cut_middle,
    join_texts,
    without_marks,
)
from teto.wire.chat import Message

__all__ = ["BUCKETS", "KINDS", "STRUCTURE", "Features", "Place", "prompt_text", "text_features", "word_rows"]

BUCKETS: Final = 1 << 16  # rows of the table; row 0 is kept for "none"
KINDS: Final = 4  # rows of a word: itself, its stem with its place, it and the next one, its stem
_STEM: Final = 5  # letters
_HEAD_WORDS: Final = 24
_TAIL_WORDS: Final = 20
_SYSTEM_HEAD: Final = 240  # characters read of a system message
_SYSTEM_TAIL: Final = 120

_U64 = NDArray[np.uint64]
_Ints = NDArray[np.int64]
_BASE: Final = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2**64
_MIX: Final = np.uint64(0xFF51AFD7ED558CCD)
_MIX_PAIR: Final = np.uint64(0xC4CEB9FE1A85EC53)
_HALF: Final = np.uint64(32)
_TOP: Final = np.uint64(64 - 16)
_OF_PLACE: Final = 11
_OF_STEM: Final = np.uint64(7)
_AFTER_THE_LAST: Final = np.uint64(1)  # the hash of the start mark, so that every text ends alike

# What a text is like beyond its words: each column says that a count is at least so much.
_LEVELS: Final = {
    "length": (12, 30, 60, 120, 250, 500, 1000, 2000, 4000, 8000),
    "lines": (1, 2, 3, 5, 9, 20),
    "question": (1, 2, 3),
    "quote": (1, 2, 4),
    "colon": (1, 2, 4),
    "code": (3, 8, 20),
    "tag": (1, 2),
    "digit": (1, 4, 12),
    "foreign": (4, 30),
    "fence": (1,),
    "bullet": (1, 3),
    "option": (2, 3, 4),
    "words": (2, 4, 8, 16),
    "asks_last": (1,),
    "unfinished": (1,),
    "quoted_words": (3, 12),
}
STRUCTURE: Final = tuple(f"{name} >= {least}" for name, levels in _LEVELS.items() for least in levels)
_COLUMN: Final = np.array([number for number, levels in enumerate(_LEVELS.values()) for _ in levels])
_LEAST: Final = np.array([least for levels in _LEVELS.values() for least in levels])


class Place(IntEnum):
    """Where a word stands: where instructions do (a system message, the beginning, the end), or where they do not."""

    SYSTEM = 0
    HEAD = 1
    TAIL = 2
    MIDDLE = 3
    QUOTED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The features of n texts with w words.

    `rows` (w, KINDS), 0 for none; `first` (n,), each text's first word; `n_words` (n,); `structure` (n, columns of
    STRUCTURE), true or false.
    """

    rows: _Ints
    first: _Ints
    n_words: _Ints
    structure: NDArray[np.bool_]


def prompt_text(messages: Sequence[Message], schema: dict[str, Any] | None) -> str:
    """One text for a request, as the model was trained on: its messages, with marks for what is not text."""
    system = "\n".join(message.text for message in messages if message.role in {"system", "developer"})
    user = "\n".join(message.text for message in messages if message.role not in {"system", "developer"})
    mark = "" if schema is None else f"{CHOICE if asks_for_choice(schema) else SCHEMA} "
    before = f"{cut_middle(without_marks(system), _SYSTEM_HEAD, _SYSTEM_TAIL)} {SYSTEM_END} " if system.strip() else ""
    return f"{mark}{before}{without_marks(user)}"


def asks_for_choice(schema: dict[str, Any]) -> bool:
    """Whether the one thing that a schema asks for is one of a list, or true or false."""
    fields = schema.get("properties")
    one: Any = next(iter(fields.values())) if isinstance(fields, dict) and len(fields) == 1 else schema
    return isinstance(one, dict) and (isinstance(one.get("enum"), list) or one.get("type") == "boolean")


@functools.cache
def _powers(bits: int) -> tuple[_U64, _U64]:
    """The powers of the base up to 2**bits, and those of its inverse, modulo 2**64."""
    both = []
    for base in (_BASE, pow(_BASE, -1, 1 << 64)):
        factors = np.full(1 << bits, np.uint64(base))
        factors[0] = 1
        both.append(np.multiply.accumulate(factors))
    return both[0], both[1]


def _row(hashes: _U64) -> _Ints:
    mixed = (hashes ^ (hashes >> _HALF)) * _MIX
    return ((mixed ^ (mixed >> _HALF)) * _MIX_PAIR >> _TOP).astype(np.int64)


def word_rows(word: str, *, is_stem: bool) -> tuple[list[int], dict[Place, int]]:
    """The rows that a folded word has anywhere, and the row it has at each place; for training.

    A stem stands for every longer word that begins with it. Only what is no longer than a stem has rows by place.
    """
    value = sum((byte + 1) * pow(_BASE, at, 1 << 64) for at, byte in enumerate(word.encode()))
    whole = np.array([value & (2**64 - 1)], dtype=np.uint64)
    anywhere = [int(_row(whole)[0])] + ([int(_row(whole + _OF_STEM)[0])] if is_stem else [])
    places = {place: int(_row(whole * _MIX + np.uint64(place + _OF_PLACE))[0]) for place in Place}
    return anywhere, places if len(word) <= _STEM else {}


def _places(text: TextBytes, text_of: _Ints, n_words: _Ints) -> tuple[_Ints, NDArray[np.bool_]]:
    """The place of each word, and whether it is quoted; quotes that do not pair up mark nothing."""
    start, first = text.start, text.first
    index = np.arange(len(start))
    user_first = first.copy()
    system_end = np.flatnonzero(text.data[start] == ord(SYSTEM_END))
    user_first[text_of[system_end]] = system_end
    quotes = np.flatnonzero(text.data == ord('"'))
    before = np.searchsorted(quotes, start)
    before_text = before[first]
    is_paired = (np.append(before_text[1:], len(quotes)) - before_text) % 2 == 0
    quoted = ((before - before_text[text_of]) & 1).astype(bool) & is_paired[text_of]
    place = np.full(len(start), Place.MIDDLE, dtype=np.int64)
    place[index >= (first + n_words - _TAIL_WORDS)[text_of]] = Place.TAIL
    from_user = index - user_first[text_of]
    place[from_user < _HEAD_WORDS] = Place.HEAD
    place[from_user < 0] = Place.SYSTEM
    place[quoted] = Place.QUOTED
    return place, quoted


def text_features(texts: Sequence[str]) -> Features:
    """The features of texts as `prompt_text` makes them, or of plain ones; any strings will do."""
    text = join_texts(texts)
    start, end, first = text.start, text.end, text.first
    n_words = np.diff(np.append(first, len(start)))
    text_of = np.repeat(np.arange(len(texts)), n_words)
    power, inverse = _powers(max(12, len(text.data).bit_length()))
    sums = np.zeros(len(text.data) + 1, dtype=np.uint64)
    np.cumsum((text.data + np.uint64(1)) * power[: len(text.data)], out=sums[1:])
    before, shift = sums[start], inverse[start]
    whole = (sums[end] - before) * shift
    stem = (sums[np.minimum(end, start + _STEM)] - before) * shift
    place, quoted = _places(text, text_of, n_words)
    rows = np.empty((len(start), KINDS), dtype=np.int64)
    rows[:, 0] = _row(whole)
    rows[:, 1] = _row(stem * _MIX + (place + _OF_PLACE).astype(np.uint64))
    rows[:, 2] = _row(whole * _MIX_PAIR + np.append(whole[1:], _AFTER_THE_LAST))
    rows[:, 2][place >= Place.MIDDLE] = 0
    rows[:, 3] = _row(stem + _OF_STEM)
    rows[:, 3][end - start <= _STEM] = 0
    structure = _structure(texts, text, text_of, quoted)
    return Features(rows=rows, first=first, n_words=n_words, structure=structure)


def _structure(texts: Sequence[str], text: TextBytes, text_of: _Ints, quoted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    n, data = len(texts), text.data
    begin = text.start[text.first]
    marked = np.flatnonzero(text.classes)
    owner = np.searchsorted(begin, marked, side="right") - 1
    counts = np.bincount(owner * N_CLASSES + text.classes[marked], minlength=n * N_CLASSES).reshape(n, N_CLASSES)

    def per_text(positions: _Ints) -> _Ints:
        return np.bincount(np.searchsorted(begin, positions, side="right") - 1, minlength=n)

    lines = marked[text.classes[marked] == 1]
    after_line = data[lines + 1]
    ticks = np.flatnonzero(data == ord("`"))
    options = (text.end - text.start == 1) & ((data[text.end] == ord(")")) | (data[text.end] == ord(".")))
    ends = np.append(begin[1:], len(data) - 2)  # one space before each start mark, three behind the last text
    last = np.append(text.first[1:], len(text.start)) - 1
    questions = marked[text.classes[marked] == 2]
    columns = {name: counts[:, number] for number, name in enumerate(CLASSES, start=1)} | {
        "length": np.array([len(one) for one in texts]),
        "digit": counts[:, N_CLASSES - 2],
        "foreign": counts[:, N_CLASSES - 1],
        "fence": per_text(ticks) // 3,
        "bullet": per_text(lines[(after_line == ord("-")) | (after_line == ord("*"))]),
        "option": np.bincount(text_of[options], minlength=n),
        "words": np.diff(np.append(text.first, len(text.start))),
        "asks_last": np.searchsorted(questions, ends) - np.searchsorted(questions, np.maximum(begin, ends - 20)),
        "unfinished": ends - text.end[last] == 1,
        "quoted_words": np.bincount(text_of[quoted], minlength=n),
    }
    values = np.stack([columns[name] for name in _LEVELS], axis=1)
    return np.asarray(values[:, _COLUMN] >= _LEAST)
