"""What every way of calibrating has in common: what was asked, and the answer that is printed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from teto.cli.recorded_answer import Curves, curves_of
from teto.triage.calibration import PrefixRule
from teto.triage.deferral import Estimate, Evaluation, Recorded, evaluate
from teto.triage.judged import Judged
from teto.triage.standing import SliceReport, slice_reports
from teto.triage.threshold import Rule

__all__ = ["HOLD_BACKS_TOKENS", "Answer", "Asked", "RuleAnswer", "Saving", "answer_of", "evaluation_of"]

HOLD_BACKS_TOKENS: Final = (8, 32, 96)  # how much of an answer the calibrated rules wait for
_S_PER_HOUR: Final = 3600
_MTOK: Final = 1e6
_CALLS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options that do not depend on where rows come from; prices are in dollars."""

    rule: Rule
    alpha: float
    delta: float
    dry_run: bool
    usd_per_mtok: tuple[float, float] | None
    usd_per_hour: float | None
    n_resamples: int
    seed: int
    picture: Path | None
    lang: Literal["en", "pt"]
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """Of a thousand such calls: what kept ones would have cost up there, and what all local runs cost here.

    Dollars are None where a price is unknown; `discarded_s` is local work whose answer was thrown away.
    """

    spared_usd: float | None
    all_up_usd: float | None
    kept_s: float
    discarded_s: float
    local_usd: float | None

    @property
    def net_usd(self) -> float | None:
        """What is saved after the local work, discarded runs included."""
        return None if self.spared_usd is None or self.local_usd is None else self.spared_usd - self.local_usd


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleAnswer:
    """One rule on the judged rows: `figures` take the cloud as always right where its answers are unknown."""

    hold_back_tokens: int
    n_score: int
    slices: tuple[SliceReport, ...]
    figures: Mapping[str, Estimate]
    curves: Curves
    saving: Saving
    joint: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is printed. `judged_on` says which rows the reports are of; `written` is the file, None if none was."""

    engine: str
    model: str
    fingerprint: str
    source: str
    n_items: int
    n_admitted: int
    judged_on: str
    rule: Rule
    alpha: float
    delta: float
    is_cloud_known: bool
    rules: tuple[RuleAnswer, ...]
    written: str | None


def evaluation_of(rows: Sequence[Judged], rule: PrefixRule, asked: Asked) -> Evaluation:
    """The deferral curve of the rule's score; the cloud is taken as always right where nobody knows."""
    cloud = np.array([1.0 if row.cloud_right is None else float(row.cloud_right) for row in rows])
    recorded = Recorded(
        small=np.array([float(row.right) for row in rows]),
        large=cloud,
        score=np.array([row.score(rule.score) for row in rows]),
    )
    return evaluate(recorded, generator=np.random.default_rng(asked.seed), n_resamples=asked.n_resamples)


def answer_of(rows: Sequence[Judged], rule: PrefixRule, asked: Asked, *, n_score: int) -> RuleAnswer:
    """The rule's reports on judged rows.

    Raises:
        ValueError: no rows.
    """
    evaluation = evaluation_of(rows, rule, asked)
    return RuleAnswer(
        hold_back_tokens=rule.hold_back_tokens,
        n_score=n_score,
        slices=slice_reports(rows, rule),
        figures=evaluation.figures,
        curves=curves_of(evaluation),
        saving=_saving(rows, rule, asked),
        joint=tuple(reason.text for reason in rule.certification.reasons),
    )


def _saving(rows: Sequence[Judged], rule: PrefixRule, asked: Asked) -> Saving:
    reports = [report for report in slice_reports(rows, rule) if report.task == "all"]
    shares = [report.n / len(rows) * _CALLS for report in reports]

    def total(name: str) -> float:
        return sum(share * float(getattr(report.work, name)) for share, report in zip(shares, reports, strict=True))

    def price(tokens_in: str, tokens_out: str) -> float | None:
        if asked.usd_per_mtok is None:
            return None
        per_in, per_out = asked.usd_per_mtok
        return (total(tokens_in) * per_in + total(tokens_out) * per_out) / _MTOK

    seconds = total("kept_s_per_call") + total("discarded_s_per_call")
    return Saving(
        spared_usd=price("spared_prompt_tokens_per_call", "spared_output_tokens_per_call"),
        all_up_usd=price("prompt_tokens_per_call", "output_tokens_per_call"),
        kept_s=total("kept_s_per_call"),
        discarded_s=total("discarded_s_per_call"),
        local_usd=None if asked.usd_per_hour is None else seconds / _S_PER_HOUR * asked.usd_per_hour,
    )
