"""Answers whose truth is known, in the form in which the rule sees them: what scores and thresholds are made from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from teto.triage.labelled import Labelled
from teto.triage.score import Score, Scored
from teto.triage.signals import Signals

__all__ = ["Judged", "labelled", "score_rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One admitted call.

    `signals` is None where the answer had no logprobs or a fault of form: such an answer is never kept. `agreed`
    says whether a second answer was the same; None: none was drawn. `cloud_right` is None where nobody knows.
    `given_score` is the confidence that was recorded when it was served, None where it is to be computed. Seconds
    are of the local run.
    """

    id: str
    task: str
    language: str
    signals: Signals | None
    n_tokens: int
    right: bool
    agreed: bool | None = None
    cloud_right: bool | None = None
    prompt_tokens: int = 0
    local_s: float = 0.0
    given_score: float | None = None

    def score(self, score: Score) -> float:
        """What the deployed rule compares with its threshold; 0 where it escalates whatever the score."""
        if self.given_score is not None:
            return self.given_score
        if self.signals is None:
            return 0.0
        first = score.of(self.task, self.signals)
        if self.agreed is None or not score.asks_again(first, self.n_tokens):
            return first
        return score.after_second(first, agreed=self.agreed)


def score_rows(rows: Sequence[Judged]) -> list[Scored]:
    """The rows that a score can be learned from."""
    return [
        Scored(task=row.task, signals=row.signals, right=row.right, agreed=row.agreed)
        for row in rows
        if row.signals is not None
    ]


def labelled(rows: Sequence[Judged], score: Score) -> Labelled:
    """The rows as thresholds are chosen on them.

    Raises:
        ValueError: no rows.
    """
    known = all(row.cloud_right is not None for row in rows)
    return Labelled(
        score=np.array([row.score(score) for row in rows]),
        wrong=np.array([not row.right for row in rows]),
        cloud_right=np.array([bool(row.cloud_right) for row in rows]) if known else None,
    )
