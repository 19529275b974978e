"""`teto calibrate --compare A B`: two engines, or two quantizations, on the same items."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from teto.errors import RequestError
from teto.triage.paired import Paired

if TYPE_CHECKING:
    from collections.abc import Iterator

    from teto.cli.calibrate_rows import Asked

__all__ = ["compare_recordings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is printed: each slice's pairs, and all of them under the name "all"."""

    first: str
    second: str
    slices: dict[str, Paired]


def compare_recordings(first: Path, second: Path, *, asked: "Asked") -> None:
    """Print what the second recording gains or loses against the first on the shipped items in both.

    Raises:
        RequestError: no item of the shipped set is in both.
    """
    import numpy as np

    from teto.cli.asked import json_text
    from teto.closed_tasks.check import is_right
    from teto.closed_tasks.items import closed_task_items
    from teto.closed_tasks.recorded import read_records
    from teto.triage.paired import compare_pairs

    answers = [{one.id: one for one in read_records(path)} for path in (first, second)]
    items = [item for item in closed_task_items() if all(item["id"] in said for said in answers)]
    if not items:
        raise RequestError(
            f"{first.name} and {second.name} have no item of the shipped set in common.",
            fix="Make recordings with `teto calibrate --builtin`; it says where it keeps them.",
        )
    right = [
        np.array([_is_whole(said[item["id"]]) and is_right(item, said[item["id"]].answer) for item in items])
        for said in answers
    ]
    slices: dict[str, Paired] = {}
    for name, chosen in _slices(items):
        at = np.array(chosen)
        groups = [f"{items[i]['task']} {items[i]['source']}" for i in chosen]
        slices[name] = compare_pairs(
            right[0][at],
            right[1][at],
            groups,
            generator=np.random.default_rng(asked.seed),
            n_resamples=asked.n_resamples,
        )
    found = Comparison(first=first.name, second=second.name, slices=slices)
    if asked.as_json:
        click.echo(json_text(found))
    else:
        for line in _lines(found):
            click.echo(line)


def _is_whole(recorded: Any) -> bool:
    return bool(recorded.finish_reason == "stop")


def _slices(items: list[dict[str, Any]]) -> "Iterator[tuple[str, list[int]]]":
    for key in sorted({(item["task"], item["language"]) for item in items}):
        yield " ".join(key), [i for i, item in enumerate(items) if (item["task"], item["language"]) == key]
    for language in sorted({item["language"] for item in items}):
        yield f"all {language}", [i for i, item in enumerate(items) if item["language"] == language]
    yield "all", list(range(len(items)))


def _lines(found: Comparison) -> "Iterator[str]":
    from teto.cli.table import table
    from teto.units import show_fraction

    yield f"first: {found.first}"
    yield f"second: {found.second}"
    yield ""
    headings = ("slice", "n", "first right", "second right", "only first", "only second", "second - first", "95 %", "")
    rows = [
        (
            name,
            f"{one.n:,}",
            show_fraction(one.both + one.first_only),
            show_fraction(one.both + one.second_only),
            show_fraction(one.first_only),
            show_fraction(one.second_only),
            f"{100 * one.difference:+.1f} points",
            f"{100 * one.interval.low:+.1f} to {100 * one.interval.high:+.1f}",
            "" if one.is_told_apart else "not told apart",
        )
        for name, one in found.slices.items()
    ]
    yield from table(headings, rows)
