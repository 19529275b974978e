"""What a text asks for, in which language, and whether its answer is in it: a linear model on hashed words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from teto.traffic.language import Language
from teto.traffic.task import Task
from teto.triage.text_features import BUCKETS, KINDS, STRUCTURE, text_features

__all__ = ["STRUCTURE_STEPS", "Reading", "Readings", "TaskModel"]

STRUCTURE_STEPS: Final = 64  # a weight of the structure is given in so many parts of a column's scale
_AT_ONCE: Final = 128  # texts whose intermediate arrays fit a processor's cache
_LEAST_WORDS_OF_A_LANGUAGE: Final = 2
_TASKS: Final = tuple(Task)
_LANGUAGES: Final = tuple(Language)
_UNKNOWN_TASK: Final = _TASKS.index(Task.UNKNOWN)
_UNKNOWN_LANGUAGE: Final = _LANGUAGES.index(Language.UNKNOWN)

_Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one text asks for.

    `probability` is that of `closed` where it is, else that of the task; below the model's threshold the task is
    unknown.
    """

    task: Task
    closed: bool
    probability: float
    language: Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Of n texts, each (n,): `task` and `language` number the members of `Task` and `Language` in their order."""

    task: NDArray[np.int8]
    closed: NDArray[np.bool_]
    probability: _Floats
    language: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.task)

    def __getitem__(self, index: int) -> Reading:
        """The reading of one text."""
        return Reading(
            task=_TASKS[self.task[index]],
            closed=bool(self.closed[index]),
            probability=float(self.probability[index]),
            language=_LANGUAGES[self.language[index]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskModel:
    """The weights and what they mean.

    Columns are the `classes` (a task, and whether it is closed), one for closed against open, and the `languages`.
    `table` (BUCKETS, columns) has the rows of words, `structure` (len(STRUCTURE), columns) those of counts; both are
    whole numbers, so that a text scores the same alone and among others, and on every processor. `scale` (columns,)
    is what one step of the table is worth; `bias` (columns,) is added.

    Raises:
        ValueError: arrays of other shapes than the features have, or a threshold that is no probability.
    """

    classes: tuple[tuple[Task, bool], ...]
    languages: tuple[Language, ...]
    table: NDArray[np.int8]
    structure: NDArray[np.int16]
    scale: _Floats
    bias: _Floats
    closed_threshold: float
    task_threshold: float
    language_threshold: float

    def __post_init__(self) -> None:
        columns = len(self.classes) + 1 + len(self.languages)
        shapes = {
            "table": (self.table.shape, (BUCKETS, columns)),
            "structure": (self.structure.shape, (len(STRUCTURE), columns)),
            "scale": (self.scale.shape, (columns,)),
            "bias": (self.bias.shape, (columns,)),
        }
        for name, (found, expected) in shapes.items():
            if found != expected:
                raise ValueError(f"{name} has the shape {found}; the features of this version need {expected}")
        for threshold in (self.closed_threshold, self.task_threshold, self.language_threshold):
            if not 0 <= threshold <= 1:
                raise ValueError(f"a threshold of {threshold} is no probability")

    def classify(self, text: str) -> Reading:
        """What one text asks for: a plain one, or one made by `prompt_text`."""
        return self._classify([text])[0]

    def classify_batch(self, texts: Sequence[str]) -> Readings:
        """What each text asks for; the same as one at a time, and many times faster."""
        parts = [self._classify(texts[at : at + _AT_ONCE]) for at in range(0, len(texts), _AT_ONCE)] or [_NOTHING]
        return Readings(
            task=np.concatenate([part.task for part in parts]),
            closed=np.concatenate([part.closed for part in parts]),
            probability=np.concatenate([part.probability for part in parts]),
            language=np.concatenate([part.language for part in parts]),
        )

    def probabilities(self, texts: Sequence[str]) -> tuple[_Floats, _Floats]:
        """The probability (n, tasks) of every member of `Task` in its order, and (n,) that a text is closed."""
        parts = [self._scores(texts[at : at + _AT_ONCE])[0] for at in range(0, len(texts), _AT_ONCE)]
        scores = np.concatenate([np.zeros((0, len(self.bias)), dtype=np.float32), *parts])
        by_task, closed, _ = self._closed(scores)
        return by_task, closed

    def _scores(self, texts: Sequence[str]) -> tuple[_Floats, NDArray[np.int64]]:
        """The scores (n, columns), and the number of words of each text with its marks."""
        found = text_features(texts)
        rows = np.take(self.table, found.rows.ravel(), axis=0)
        words = np.add.reduceat(rows, found.first * KINDS, axis=0, dtype=np.int32)
        counts = found.structure.astype(np.float32) @ self.structure.astype(np.float32)  # exact: whole numbers
        steps = words / np.sqrt(found.n_words)[:, None] + counts / STRUCTURE_STEPS
        return (steps * self.scale + self.bias).astype(np.float32), found.n_words

    def _closed(self, scores: _Floats) -> tuple[_Floats, _Floats, NDArray[np.int64]]:
        """The probability of each task, that of closed, and the likeliest closed task.

        Two models judge whether a text is closed, one beside the task and one alone: the geometric mean holds.
        """
        n = len(self.classes)
        each = _softmax(scores[:, :n])
        is_closed = np.array([closed for _, closed in self.classes])
        task_of = np.array([_TASKS.index(task) for task, _ in self.classes])
        by_task = each @ (task_of[:, None] == np.arange(len(_TASKS))).astype(np.float32)
        alone = 1 / (1 + np.exp(-scores[:, n]))
        closed = np.sqrt(each[:, is_closed].sum(axis=1) * alone)
        return by_task, closed, task_of[is_closed][each[:, is_closed].argmax(axis=1)]

    def _classify(self, texts: Sequence[str]) -> Readings:
        scores, n_words = self._scores(texts)
        by_task, closed_probability, closed_task = self._closed(scores)
        closed = closed_probability >= self.closed_threshold
        best = by_task.argmax(axis=1)
        probability = by_task[np.arange(len(texts)), best]
        task = np.where(probability >= self.task_threshold, best, _UNKNOWN_TASK)
        return Readings(
            task=np.where(closed, closed_task, task).astype(np.int8),
            closed=closed,
            probability=np.where(closed, closed_probability, probability).astype(np.float32),
            language=self._spoken(scores[:, len(self.classes) + 1 :], n_words),
        )

    def _spoken(self, scores: _Floats, n_words: NDArray[np.int64]) -> NDArray[np.int8]:
        each = _softmax(scores)
        number = np.array([_LANGUAGES.index(language) for language in self.languages])
        is_sure = (each.max(axis=1) >= self.language_threshold) & (n_words > _LEAST_WORDS_OF_A_LANGUAGE)
        return np.where(is_sure, number[each.argmax(axis=1)], _UNKNOWN_LANGUAGE).astype(np.int8)


def _softmax(scores: _Floats) -> _Floats:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


_NOTHING: Final = Readings(
    task=np.zeros(0, dtype=np.int8),
    closed=np.zeros(0, dtype=np.bool_),
    probability=np.zeros(0, dtype=np.float32),
    language=np.zeros(0, dtype=np.int8),
)
