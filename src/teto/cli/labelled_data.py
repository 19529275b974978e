"""Your own labelled calls: JSON lines with messages and the answer that is right."""

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec

from teto.errors import RequestError
from teto.traffic.task import Task
from teto.triage.agreement import agree

__all__ = ["agrees", "read_labelled"]


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    messages: list[dict[str, Any]]
    expected: str | list[str] | dict[str, Any]
    id: str | None = None
    response_format: dict[str, Any] | None = None
    cloud_right: bool | None = None


def read_labelled(path: Path) -> list[dict[str, Any]]:
    """The rows as items that can be run.

    Each line holds `messages` and `expected` (an answer, a list of answers that are right, or a JSON object), and
    may hold `id`, `response_format` and `cloud_right`.

    Raises:
        RequestError: a line that is none, two rows of one id, or no rows.
    """
    items: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=_Row)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RequestError(
                f"{path.name}, line {number}: {error}.",
                fix='Each line is an object such as {"messages": [...], "expected": "positive"}.',
            ) from None
        item = {**msgspec.to_builtins(row), "id": row.id or hashlib.sha256(line).hexdigest()[:16]}
        if item["id"] in items:
            raise RequestError(f"{path.name}, line {number}: the id {item['id']!r} occurs twice.", fix="Keep one.")
        items[item["id"]] = item
    if not items:
        raise RequestError(f"{path.name} holds no rows.", fix="Put a JSON object on each line.")
    return list(items.values())


def agrees(item: dict[str, Any], answer: str) -> bool:
    """Whether the answer is one of those that are right; what cannot be compared by a program is not."""
    expected = item["expected"]
    accepted = expected if isinstance(expected, list) else [expected]
    schema = {"type": "object"} if isinstance(expected, dict) or item["response_format"] is not None else None
    texts = [one if isinstance(one, str) else json.dumps(one) for one in accepted]
    task = Task.EXTRACT if schema is not None else Task.CLOSED_QA
    return any(agree(task, answer, text, schema=schema) is True for text in texts)
