"""Fits the task model: three softmax models on the features that it reads at run time, in whole steps."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from task_model.data import Sample
from task_model.solve import fit_softmax
from teto.traffic.language import Language
from teto.traffic.task import Task
from teto.triage.task_model import STRUCTURE_STEPS, TaskModel
from teto.triage.text_features import BUCKETS, KINDS, STRUCTURE, Place, text_features, word_rows

__all__ = ["CLASSES", "LANGUAGES", "Matrix", "features_of", "fit_model"]

CLASSES: Final = (
    *((task, True) for task in (Task.CLASSIFY, Task.EXTRACT, Task.REWRITE, Task.CLOSED_QA, Task.SUMMARISE, Task.CODE)),
    *((task, False) for task in Task if task is not Task.EMBED_OR_MEDIA),
)
LANGUAGES: Final = (Language.EN, Language.PT, Language.OTHER)
_CONCEPTS: Final = Path(__file__).parent / "concepts.toml"
_CONCEPT_PLACES: Final = (Place.SYSTEM, Place.HEAD, Place.TAIL, Place.QUOTED)
_LEAST_GROUPS: Final = 2  # what stands in one template only is that template's
_STRUCTURE_SCALE: Final = 0.3  # of what counts are worth beside words
_TASK_PENALTY: Final = 0.1
_TASK_ITERATIONS: Final = 60
_CLOSED_PENALTY: Final = 0.1
_CLOSED_ITERATIONS: Final = 60
_LANGUAGE_PENALTY: Final = 0.02
_LANGUAGE_ITERATIONS: Final = 40
_CLIPPED_FRACTION: Final = 1e-4  # of the weights, so that a few large ones do not coarsen all others

Matrix: TypeAlias = Any  # a scipy.sparse.csr_matrix; scipy ships no types
Floats = NDArray[np.float64]


def _concept_columns() -> Matrix:
    """(BUCKETS, concepts): 1 where a row is that of a word of the concept, anywhere or at a place."""
    columns: list[set[int]] = []
    for words in tomllib.loads(_CONCEPTS.read_text()).values():
        anywhere: set[int] = set()
        placed: dict[Place, set[int]] = {place: set() for place in _CONCEPT_PLACES}
        for word in words.split():
            is_stem = word.endswith("*")
            rows, by_place = word_rows(word[:5] if is_stem else word, is_stem=is_stem)
            anywhere.update(rows)
            for place in _CONCEPT_PLACES if by_place else ():
                placed[place].add(by_place[place])
        columns += [anywhere, *placed.values()]
    pairs = [(row, number) for number, rows in enumerate(columns) for row in sorted(rows)]
    rows, numbers = np.array(pairs).T
    return scipy.sparse.csr_matrix((np.ones(len(pairs)), (rows, numbers)), shape=(BUCKETS, len(columns)))


def features_of(texts: Sequence[str]) -> tuple[Matrix, NDArray[np.bool_]]:
    """The words (n, BUCKETS), each text's divided by the root of their number, and the structure (n, columns)."""
    found = text_features(texts)
    flat = found.rows.ravel()
    share = np.where(flat > 0, np.repeat(1 / np.sqrt(found.n_words), found.n_words * KINDS), 0.0)
    bounds = np.append(found.first, len(found.rows)) * KINDS
    words = scipy.sparse.csr_matrix((share, flat, bounds), shape=(len(texts), BUCKETS))
    words.sum_duplicates()
    words.eliminate_zeros()
    return words, found.structure


def _shared_rows(words: Matrix, groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows that stand in several groups."""
    entries = words.tocoo()
    pairs = np.unique(entries.col.astype(np.int64) * (int(groups.max()) + 1) + groups[entries.row])
    rows, counts = np.unique(pairs // (int(groups.max()) + 1), return_counts=True)
    return rows[counts >= _LEAST_GROUPS]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """The weights of one softmax, on all rows: (BUCKETS, classes), (columns of structure, classes), (classes,)."""

    table: Floats
    structure: Floats
    bias: Floats


def _joined(heads: Sequence[_Head]) -> dict[str, Any]:
    """The arrays of the file: every head's columns beside the others, in whole steps of each column's scale."""
    table = np.hstack([head.table for head in heads])
    limits = np.quantile(np.abs(table), 1 - _CLIPPED_FRACTION, axis=0)
    scale = np.maximum(limits, 1e-9) / 127
    structure = np.hstack([head.structure for head in heads]) / scale * STRUCTURE_STEPS
    return {
        "table": np.clip(np.rint(table / scale), -127, 127).astype(np.int8),
        "structure": np.clip(np.rint(structure), -32767, 32767).astype(np.int16),
        "scale": scale.astype(np.float32),
        "bias": np.concatenate([head.bias for head in heads]).astype(np.float32),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Data:
    """What every head is fitted on."""

    words: Matrix
    structure: NDArray[np.bool_]
    groups: NDArray[np.int64]
    weights: Floats
    concepts: Matrix


def _fit_head(
    data: _Data, classes: NDArray[np.int64], *, n_classes: int, penalty: float, iterations: int, uses_concepts: bool
) -> _Head:
    """One softmax on what is labelled; a class of -1 says that it is not."""
    labelled = np.flatnonzero(classes >= 0)
    words = data.words[labelled]
    rows = _shared_rows(words, data.groups[labelled])
    parts = [words[:, rows], scipy.sparse.csr_matrix(data.structure[labelled] * _STRUCTURE_SCALE)]
    if uses_concepts:
        parts.append(words @ data.concepts)
    found, bias = fit_softmax(
        scipy.sparse.hstack(parts, format="csr"),
        classes[labelled],
        data.weights[labelled],
        n_classes=n_classes,
        penalty=penalty,
        iterations=iterations,
    )
    table = np.zeros((BUCKETS, n_classes))
    table[rows] = found[: len(rows)]
    after = len(rows) + len(STRUCTURE)
    if uses_concepts:  # a word's weight is its own and those of its concepts: one row at run time
        table += data.concepts @ found[after:]
    table[0] = 0.0
    return _Head(table=table, structure=found[len(rows) : after] * _STRUCTURE_SCALE, bias=bias)


def _open_against_closed(head: _Head) -> _Head:
    """Two columns as the one that says how much likelier the second is."""
    return _Head(
        table=head.table[:, 1:] - head.table[:, :1],
        structure=head.structure[:, 1:] - head.structure[:, :1],
        bias=head.bias[1:] - head.bias[:1],
    )


def fit_model(
    samples: Sequence[Sample], *, closed_threshold: float, task_threshold: float, language_threshold: float
) -> TaskModel:
    """The model that these samples teach; the same samples give the same model."""
    words, structure = features_of([sample.text for sample in samples])
    names = {name: number for number, name in enumerate(sorted({sample.group for sample in samples}))}
    data = _Data(
        words=words,
        structure=structure,
        groups=np.array([names[sample.group] for sample in samples]),
        weights=np.array([sample.weight for sample in samples]),
        concepts=_concept_columns(),
    )
    tasks = _fit_head(
        data,
        np.array([CLASSES.index((sample.task, sample.closed)) for sample in samples]),
        n_classes=len(CLASSES),
        penalty=_TASK_PENALTY,
        iterations=_TASK_ITERATIONS,
        uses_concepts=True,
    )
    closed = _fit_head(
        data,
        np.array([int(sample.closed) for sample in samples]),
        n_classes=2,
        penalty=_CLOSED_PENALTY,
        iterations=_CLOSED_ITERATIONS,
        uses_concepts=True,
    )
    languages = _fit_head(
        data,
        np.array([-1 if s.language is Language.UNKNOWN else LANGUAGES.index(s.language) for s in samples]),
        n_classes=len(LANGUAGES),
        penalty=_LANGUAGE_PENALTY,
        iterations=_LANGUAGE_ITERATIONS,
        uses_concepts=False,
    )
    return TaskModel(
        classes=CLASSES,
        languages=LANGUAGES,
        **_joined([tasks, _open_against_closed(closed), languages]),
        closed_threshold=closed_threshold,
        task_threshold=task_threshold,
        language_threshold=language_threshold,
    )
