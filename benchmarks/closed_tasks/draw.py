"""Choices that are the same on every machine and in every version of Python."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Draw"]

_T = TypeVar("_T")


class Draw:
    """Choices drawn from a key: the same key always gives the same ones."""

    def __init__(self, *key: object) -> None:
        self._key = "/".join(str(part) for part in key)
        self._drawn = 0

    def number(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        self._drawn += 1
        digest = hashlib.sha256(f"{self._key}#{self._drawn}".encode()).digest()
        return low + int.from_bytes(digest[:8], "big") % (high - low + 1)

    def pick(self, options: Sequence[_T]) -> _T:
        """One of the options."""
        return options[self.number(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        """True in that many cases of a hundred."""
        return self.number(1, 100) <= percent

    def some(self, options: Sequence[_T], count: int) -> list[_T]:
        """`count` different options, in a drawn order."""
        left = list(options)
        return [left.pop(self.number(0, len(left) - 1)) for _ in range(count)]

    def shuffled(self, options: Sequence[_T]) -> list[_T]:
        """All options in a drawn order."""
        return self.some(options, len(options))
