"""Reads a recorded table: for each question two answers' quality and a score, from CSV or JSON lines."""

import csv
import gzip
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from teto.cli.asked import nearest
from teto.errors import RequestError

if TYPE_CHECKING:
    from teto.triage.deferral import Recorded

__all__ = ["read_recorded"]

_WORDS: Final = {"true": 1.0, "false": 0.0}
_LONGEST_FIELD: Final = 2**31 - 1  # a prompt may stand beside the figures
_Line = tuple[int, Mapping[str, Any]]


def read_recorded(path: Path, *, small: str, large: str, score: str) -> "Recorded":
    """The three columns as arrays; true and false count as 1 and 0.

    Raises:
        RequestError: a file of another kind, or a field that is no number; file, line and column are named.
        UnknownNameError: a column that the table lacks, with the nearest ones.
    """
    import numpy as np

    from teto.triage.deferral import Recorded

    columns: dict[str, list[float]] = {small: [], large: [], score: []}
    try:
        for number, row in _rows(path):
            for name, values in columns.items():
                values.append(_number(row, name, path, number))
    except (UnicodeDecodeError, EOFError, OSError, csv.Error, zlib.error) as error:
        raise RequestError(
            f"{path} cannot be read as a table: {error}.", fix="Give UTF-8 text: .csv, .jsonl, or those with .gz."
        ) from error
    if not columns[small]:
        raise RequestError(f"{path} holds no rows.", fix=f"Expected a row per question with {small}, {large}, {score}.")
    return Recorded(small=np.array(columns[small]), large=np.array(columns[large]), score=np.array(columns[score]))


def _rows(path: Path) -> Iterator[_Line]:
    kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind not in {"csv", "jsonl"}:
        raise RequestError(
            f"{path} is neither .csv nor .jsonl, so its form is unknown.",
            fix="Name it .csv, .jsonl, or those with .gz.",
        )
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="" if kind == "csv" else "\n") as file:
        if kind == "jsonl":
            yield from _json_rows(file, path)
            return
        csv.field_size_limit(_LONGEST_FIELD)
        reader = csv.DictReader(file)
        for row in reader:
            yield reader.line_num, row


def _json_rows(lines: Any, path: Path) -> Iterator[_Line]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise RequestError(f"{path} line {number} is not JSON: {error}.", fix="One object a line.") from error
        if not isinstance(row, dict):
            raise RequestError(f"{path} line {number} is no JSON object.", fix='One object a line: {"small": 1, ...}.')
        yield number, row


def _number(row: Mapping[str, Any], name: str, path: Path, line: int) -> float:
    if name not in row:
        raise nearest(name, [str(known) for known in row], f"column of {path.name}, line {line},")
    found = row[name]
    text = str(found).strip().lower()
    try:
        number = _WORDS[text] if text in _WORDS else float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise RequestError(
            f"{path} line {line}: the column {name} holds {found!r}; expected a finite number, true or false.",
            fix="Drop the row, or fill the field.",
        )
    return number
