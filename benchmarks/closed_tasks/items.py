"""The whole set: every slice with the same number of items, and no source larger than it must be."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from closed_tasks.classify import classify
from closed_tasks.closed_qa import closed_qa
from closed_tasks.coding import code
from closed_tasks.extract import extract
from closed_tasks.item import LANGUAGES, Draft, Language
from closed_tasks.language import language_of
from closed_tasks.rewrite import rewrite
from closed_tasks.summarise import summarise

__all__ = ["SLICE_SIZE", "all_items", "prompt_key", "rendered"]

SLICE_SIZE: Final = 264

_T = TypeVar("_T")

_TASKS: Final[dict[str, Callable[[Language], Iterator[Draft]]]] = {
    "classify": classify,
    "extract": extract,
    "closed_qa": closed_qa,
    "rewrite": rewrite,
    "summarise": summarise,
    "language": language_of,
    "code": code,
}


def prompt_key(messages: list[dict[str, str]]) -> str:
    """The prompt in lower case with single spaces: two items with the same key would be the same item."""
    return " ".join(" ".join(f"{message['role']}: {message['content']}" for message in messages).lower().split())


def all_items() -> list[dict[str, Any]]:
    """Every item, ready to be written as JSON; the same list on every machine."""
    return [item for task in _TASKS for language in LANGUAGES for item in _slice(task, language)]


def rendered() -> str:
    """The file's text: one JSON object per line."""
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in all_items())


def _slice(task: str, language: Language) -> list[dict[str, Any]]:
    sources: dict[str, list[dict[str, Any]]] = {}
    seen: set[str] = set()
    for draft in _TASKS[task](language):
        key = prompt_key(draft.messages)
        if key not in seen:
            seen.add(key)
            found = sources.setdefault(draft.source, [])
            found.append(draft.numbered(len(found) + 1, task=task, language=language))
    sizes = _sizes({source: len(found) for source, found in sources.items()})
    return [item for source, found in sources.items() for item in _spread(found, sizes[source])]


def _sizes(available: dict[str, int]) -> dict[str, int]:
    """How many items to take of each source: all of the small ones, as equal as can be of the others."""
    if sum(available.values()) < SLICE_SIZE:
        raise ValueError(f"only {available}, {SLICE_SIZE} are needed")
    sizes: dict[str, int] = {}
    left = SLICE_SIZE
    for place, source in enumerate(sorted(available, key=lambda name: (available[name], name))):
        sizes[source] = min(available[source], left // (len(available) - place))
        left -= sizes[source]
    return sizes


def _spread(found: list[_T], count: int) -> list[_T]:
    """`count` of the items, evenly spread over their order."""
    return [found[at * len(found) // count] for at in range(count)]
