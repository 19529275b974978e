"""A calibration: the score and the certified thresholds of one engine, for the rule as it is deployed."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from teto.triage.judged import Judged, labelled, score_rows
from teto.triage.score import Score, fit_score
from teto.triage.slices import Certificate, Certification, certify
from teto.triage.threshold import Rule

__all__ = ["VERSION", "Calibration", "Origin", "PrefixRule", "learn", "recertify"]

VERSION: Final = 1

Origin = Literal["closed tasks", "labelled", "receipts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixRule:
    """The rule that decides once `hold_back_tokens` have come or the answer has ended, whichever is first."""

    hold_back_tokens: int
    score: Score
    certification: Certification

    @property
    def score_id(self) -> str:
        """Names the score: confidences compare only under the same one."""
        return hashlib.sha256(msgspec.json.encode(self.score)).hexdigest()[:12]

    def certificate(self, task: str, language: str) -> Certificate | None:
        """What a slice may rely on; None where no row of it was seen."""
        return self.certification.certificate(task, language)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Belongs to the engine with that `fingerprint` (weights, quantization, engine version, template), greedy.

    `rules` differ in how much of the answer they wait for, the shortest first. `n_score` rows taught the score and
    `n_calibration` others chose the thresholds.
    """

    version: int
    fingerprint: str
    model: str
    origin: Origin
    source: str
    created: str
    n_score: int
    n_calibration: int
    rules: tuple[PrefixRule, ...]

    def rule(self, hold_back_tokens: int) -> PrefixRule:
        """The rule that waits longest without waiting longer than that; the shortest where all do."""
        within = [rule for rule in self.rules if rule.hold_back_tokens <= hold_back_tokens]
        return within[-1] if within else self.rules[0]


def learn(
    hold_back_tokens: int,
    score_part: Sequence[Judged],
    calibration_part: Sequence[Judged],
    *,
    alpha: float,
    delta: float,
    rule: Rule = "marginal",
) -> PrefixRule:
    """Learn a score on one part and certify thresholds on the other, which the score never saw.

    Raises:
        ValueError: a part without rows, or without both right and wrong answers to learn from.
    """
    score = fit_score(score_rows(score_part))
    return recertify(hold_back_tokens, score, calibration_part, alpha=alpha, delta=delta, rule=rule)


def recertify(
    hold_back_tokens: int,
    score: Score,
    rows: Sequence[Judged],
    *,
    alpha: float,
    delta: float,
    rule: Rule = "marginal",
) -> PrefixRule:
    """New thresholds for a score that was fixed before these rows.

    Raises:
        ValueError: no rows.
    """
    certification = certify(
        labelled(rows, score),
        tasks=[row.task for row in rows],
        languages=[row.language for row in rows],
        alpha=alpha,
        delta=delta,
        rule=rule,
    )
    return PrefixRule(hold_back_tokens=hold_back_tokens, score=score, certification=certification)
