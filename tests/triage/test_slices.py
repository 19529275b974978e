"""Certification per task and language."""

import numpy as np
import pytest

from teto.triage.labelled import Labelled
from teto.triage.slices import Certification, certify
from teto.triage.threshold import Rule


def certified(sizes: dict[tuple[str, str], int], *, wrong: float = 0.02, rule: Rule = "marginal") -> Certification:
    """Slices of those sizes, the first share of each wrong and scored lowest."""
    tasks, languages, scores, wrongs = [], [], [], []
    for (task, language), n in sizes.items():
        tasks += [task] * n
        languages += [language] * n
        scores += [float(at) for at in range(n)]
        wrongs += [at < wrong * n for at in range(n)]
    rows = Labelled(score=np.array(scores), wrong=np.array(wrongs))
    return certify(rows, tasks=tasks, languages=languages, alpha=0.05, delta=0.05, rule=rule)


SIZES = {("classify", "en"): 300, ("extract", "en"): 299, ("rewrite", "en"): 100, ("classify", "pt"): 120}


def test_alone_pooled_or_not_at_all() -> None:
    """300 rows stand alone, the smaller ones of English pool to 399, 120 in Portuguese are too few."""
    found = certified(SIZES)
    assert [(one.task, one.language, one.standing, one.lacking_rows) for one in found.certificates] == [
        ("classify", "en", "alone", 0),
        ("classify", "pt", "none", 180),
        ("extract", "en", "pooled", 1),
        ("rewrite", "en", "pooled", 200),
    ]
    none = found.certificate("classify", "pt")
    assert none is not None
    assert none.threshold is None
    assert none.reasons[0].figures["pool_lacking"] == 180


def test_the_pool_holds_only_who_uses_it() -> None:
    """The slice that stands alone is not in the pool, and those in it share one threshold."""
    found = certified(SIZES)
    extract, rewrite = found.certificate("extract", "en"), found.certificate("rewrite", "en")
    assert extract is not None
    assert rewrite is not None
    assert extract.threshold is rewrite.threshold
    assert extract.threshold is not None
    assert extract.threshold.n == 399


def test_a_slice_that_keeps_nothing_stays_alone() -> None:
    """With all wrong its threshold keeps nothing; it is no member of the pool all the same."""
    found = certified({("classify", "en"): 300}, wrong=1.0, rule="selective")
    one = found.certificate("classify", "en")
    assert one is not None
    assert one.standing == "alone"
    assert one.threshold is not None
    assert one.threshold.threshold is None


def test_the_joint_statement() -> None:
    """Two thresholds: both hold with 0.95 squared, and 1 - sqrt(0.95) each would give 0.95 for both."""
    found = certified(SIZES)
    assert found.n_statements == 2
    assert found.joint_level == pytest.approx(0.9025)
    assert found.delta_for_joint == pytest.approx(1 - 0.95**0.5)
    assert [reason.code for reason in found.reasons] == ["each", "joint"]
    assert found.reasons[1].figures["level_without_independence"] == pytest.approx(0.9)


def test_nothing_certified_says_so() -> None:
    """Too few rows everywhere: the cloud answers, and a slice never seen has no certificate."""
    found = certified({("classify", "en"): 10})
    assert (found.n_statements, found.joint_level) == (0, 1)
    assert found.reasons[0].code == "nothing_certified"
    assert found.certificate("classify", "pt") is None


def test_the_selective_rule_per_slice() -> None:
    """The same slices under the other risk."""
    found = certified(SIZES, rule="selective")
    one = found.certificate("classify", "en")
    assert one is not None
    assert one.threshold is not None
    assert one.threshold.rule == "selective"
    assert one.threshold.kept > 250


def test_columns_of_one_length() -> None:
    """A task for each row."""
    rows = Labelled(score=np.ones(2), wrong=np.zeros(2, bool))
    with pytest.raises(ValueError, match="2 rows, but 1 tasks and 2 languages"):
        certify(rows, tasks=["classify"], languages=["en", "en"], alpha=0.05, delta=0.05)
