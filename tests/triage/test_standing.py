"""Reports on judged rows, by hand."""

from dataclasses import replace

import pytest

from tests.triage.made import judged
from teto.triage.bounds import clopper_pearson_upper
from teto.triage.calibration import PrefixRule, learn
from teto.triage.judged import Judged
from teto.triage.standing import slice_reports


def rule() -> PrefixRule:
    """A rule for English classification, its threshold moved to 0.8."""
    learned = learn(32, judged(400, seed=1), judged(600, seed=2), alpha=0.05, delta=0.05)
    (certificate,) = learned.certification.certificates
    assert certificate.threshold is not None
    moved = replace(certificate, threshold=replace(certificate.threshold, threshold=0.8))
    return replace(learned, certification=replace(learned.certification, certificates=(moved,)))


def row(name: str, score: float, *, right: bool, task: str = "classify", cloud_right: bool | None = None) -> Judged:
    """A judged row of that score, 10 prompt tokens, 2 of answer and half a second."""
    return Judged(
        id=name, task=task, language="en", signals=None, n_tokens=2, right=right, cloud_right=cloud_right,
        prompt_tokens=10, local_s=0.5, given_score=score,
    )  # fmt: skip


ROWS = [
    row("a", 0.9, right=True, cloud_right=True),
    row("b", 0.85, right=False, cloud_right=True),
    row("c", 0.5, right=False, cloud_right=False),
    row("d", 0.0, right=True, cloud_right=True),
]


def test_four_rows_by_hand() -> None:
    """Two of four are kept, one of them wrong where the cloud was right."""
    report = slice_reports(ROWS, rule())[0]
    assert (report.task, report.language, report.n, report.standing) == ("classify", "en", 4, "alone")
    assert (report.error_fraction, report.kept_fraction, report.marginal_fraction) == (0.5, 0.5, 0.25)
    assert report.marginal_upper == clopper_pearson_upper(1, 4, 0.05)
    assert report.selective_fraction == 0.5
    assert report.regret_fraction == 0.25
    assert report.least_deferred_fraction == pytest.approx(0.45)  # 0.5 wrong less 0.05
    # Right 0.9 and 0.0 against wrong 0.85 and 0.5: two pairs of four in order.
    assert report.auroc == 0.5
    assert report.work.spared_prompt_tokens_per_call == 5
    assert report.work.spared_output_tokens_per_call == 1
    assert (report.work.kept_s_per_call, report.work.discarded_s_per_call) == (0.25, 0.25)


def test_a_language_is_all_of_its_slices() -> None:
    """Behind the slices stands the language, with slices that nothing is certified for in it."""
    found = slice_reports([*ROWS, row("e", 0.99, right=True, task="rewrite")], rule())
    assert [(one.task, one.standing) for one in found] == [("classify", "alone"), ("rewrite", "none"), ("all", "-")]
    assert found[1].kept_fraction == 0
    assert found[2].n == 5
    assert found[2].kept_fraction == pytest.approx(0.4)


def test_an_unknown_cloud_gives_no_regret() -> None:
    """One row whose cloud answer nobody knows leaves the regret unknown."""
    assert slice_reports([*ROWS, row("e", 0.9, right=True)], rule())[0].regret_fraction is None


def test_no_rows_are_no_report() -> None:
    """Nothing can be said of no rows."""
    with pytest.raises(ValueError, match="at least one judged row"):
        slice_reports([], rule())
