"""How a rule does on judged rows, slice by slice and for each language together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from teto.triage.admission import Reason
from teto.triage.bounds import Interval, clopper_pearson, clopper_pearson_upper
from teto.triage.calibration import PrefixRule
from teto.triage.deferral import auroc
from teto.triage.judged import Judged
from teto.triage.slices import Certificate
from teto.triage.threshold import least_deferred_fraction

__all__ = ["SliceReport", "Work", "slice_reports"]

ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What kept answers spare and discarded ones cost, each as a mean over all calls of the slice.

    Spared tokens are those of kept calls, as this model counts them; `discarded_s_per_call` is the time of local
    runs whose answer went up all the same.
    """

    prompt_tokens_per_call: float
    output_tokens_per_call: float
    spared_prompt_tokens_per_call: float
    spared_output_tokens_per_call: float
    kept_s_per_call: float
    discarded_s_per_call: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceReport:
    """One slice, or with task "all" a whole language.

    `marginal_upper` bounds P(kept and wrong) on these rows at 1 - delta; `promised` is the bound that the rule's
    own calibration gives, None where nothing is certified. `regret_fraction` is None where the cloud's answers are
    unknown.
    """

    task: str
    language: str
    n: int
    error_fraction: float
    auroc: float | None
    standing: str
    lacking_rows: int
    kept_fraction: float
    marginal_fraction: float
    marginal_upper: float
    selective: Interval | None
    selective_fraction: float | None
    promised: float | None
    regret_fraction: float | None
    least_deferred_fraction: float
    work: Work
    reasons: tuple[Reason, ...]


def slice_reports(rows: Sequence[Judged], rule: PrefixRule) -> tuple[SliceReport, ...]:
    """A report for each task and language in the rows, then one for each language.

    Raises:
        ValueError: no rows.
    """
    if not rows:
        raise ValueError("a report needs at least one judged row")
    slices = sorted({(row.language, row.task) for row in rows})
    languages = sorted({row.language for row in rows})
    single = [
        _report(task, language, [row for row in rows if (row.task, row.language) == (task, language)], rule)
        for language, task in slices
    ]
    return (
        *single,
        *(_report(ALL, language, [row for row in rows if row.language == language], rule) for language in languages),
    )


def _keeps(row: Judged, rule: PrefixRule) -> bool:
    certificate = rule.certificate(row.task, row.language)
    if certificate is None or certificate.threshold is None or certificate.threshold.threshold is None:
        return False
    return 0 < row.score(rule.score) >= certificate.threshold.threshold


def _report(task: str, language: str, rows: Sequence[Judged], rule: PrefixRule) -> SliceReport:
    right = np.array([row.right for row in rows])
    score = np.array([row.score(rule.score) for row in rows])
    kept = np.array([_keeps(row, rule) for row in rows])
    n, n_kept, n_bad = len(rows), int(kept.sum()), int((kept & ~right).sum())
    certification = rule.certification
    certificate = None if task == ALL else rule.certificate(task, language)
    alpha, delta = certification.alpha, certification.delta
    known = all(row.cloud_right is not None for row in rows)
    regretted = sum(bool(row.cloud_right) and not row.right for row, stays in zip(rows, kept, strict=True) if stays)
    return SliceReport(
        task=task,
        language=language,
        n=n,
        error_fraction=1 - float(right.mean()),
        auroc=auroc(score, right),
        standing=_standing(task, certificate),
        lacking_rows=0 if certificate is None else certificate.lacking_rows,
        kept_fraction=n_kept / n,
        marginal_fraction=n_bad / n,
        marginal_upper=clopper_pearson_upper(n_bad, n, delta),
        selective=clopper_pearson(n_bad, n_kept) if n_kept else None,
        selective_fraction=n_bad / n_kept if n_kept else None,
        promised=None if certificate is None or certificate.threshold is None else certificate.threshold.bound,
        regret_fraction=regretted / n if known else None,
        least_deferred_fraction=least_deferred_fraction(1 - float(right.mean()), alpha, certification.rule),
        work=_work(rows, kept),
        reasons=() if certificate is None else certificate.reasons,
    )


def _standing(task: str, certificate: Certificate | None) -> str:
    if task == ALL:
        return "-"
    return "none" if certificate is None else certificate.standing


def _work(rows: Sequence[Judged], kept: "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]") -> Work:
    prompt = np.array([row.prompt_tokens for row in rows])
    output = np.array([row.n_tokens for row in rows])
    seconds = np.array([row.local_s for row in rows])
    return Work(
        prompt_tokens_per_call=float(prompt.mean()),
        output_tokens_per_call=float(output.mean()),
        spared_prompt_tokens_per_call=float((prompt * kept).mean()),
        spared_output_tokens_per_call=float((output * kept).mean()),
        kept_s_per_call=float((seconds * kept).mean()),
        discarded_s_per_call=float((seconds * ~kept).mean()),
    )
