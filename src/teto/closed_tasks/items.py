"""The items that ship with teto, and the three parts that they fall into."""

import hashlib
import json
from functools import cache
from importlib import resources
from typing import Any, Final, Literal

__all__ = ["Part", "closed_task_items", "part_of"]

Part = Literal["score", "calibration", "untouched"]

_PARTS: Final[tuple[Part, ...]] = ("score", "calibration", "calibration", "untouched")


@cache
def closed_task_items() -> tuple[dict[str, Any], ...]:
    """Every item, in an order that is the same everywhere and mixes tasks, sources and languages.

    So any beginning of it is a fair sample, and a run that was broken off is one too.
    """
    text = resources.files("teto.closed_tasks").joinpath("items.jsonl").read_text(encoding="utf-8")
    items = [json.loads(line) for line in text.split("\n") if line]
    return tuple(sorted(items, key=lambda item: _digest(item["id"])))


def _digest(item_id: str) -> str:
    return hashlib.sha256(item_id.encode()).hexdigest()


def part_of(item_id: str) -> Part:
    """The part of an item: a quarter teaches the score, half calibrates, a quarter is left untouched.

    By a digit of a digest of the id that the order does not depend on: it says nothing about the item.
    """
    return _PARTS[int(_digest(item_id)[-5], 16) % 4]
