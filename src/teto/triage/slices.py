"""Certification per task and language: alone where there are rows enough, else pooled per language, else not at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from teto.triage.admission import Reason
from teto.triage.labelled import Labelled
from teto.triage.threshold import Rule, Threshold, marginal_threshold, selective_threshold

__all__ = ["LEAST_ROWS", "Certificate", "Certification", "Standing", "certify"]

LEAST_ROWS: Final = 300

Standing: TypeAlias = Literal["alone", "pooled", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What one slice may rely on. `lacking_rows`: labels that it still needs to stand alone.

    `threshold` is None where `standing` is "none": the cloud answers. A threshold may also keep nothing. Slices
    that are pooled share one threshold, and its bound is over their calls together, in the mix of the sample: a
    single slice of the pool may be worse.
    """

    task: str
    language: str
    n: int
    standing: Standing
    threshold: Threshold | None
    lacking_rows: int
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certification:
    """The certificates of all slices, and what holds for them together.

    `n_statements` thresholds were certified, each with probability 1 - delta over the calibration draw.
    `joint_level` is the probability with which all of them hold at once, and `delta_for_joint` the delta with
    which to certify each so that all hold with 1 - delta.
    """

    rule: Rule
    alpha: float
    delta: float
    certificates: tuple[Certificate, ...]
    n_statements: int
    joint_level: float
    delta_for_joint: float
    reasons: tuple[Reason, ...]

    def certificate(self, task: str, language: str) -> Certificate | None:
        """The certificate of that slice; None where no row of it was ever seen, and then the cloud answers."""
        return next((one for one in self.certificates if (one.task, one.language) == (task, language)), None)


def certify(
    rows: Labelled,
    *,
    tasks: Sequence[str],
    languages: Sequence[str],
    alpha: float,
    delta: float,
    rule: Rule = "marginal",
    least_rows: int = LEAST_ROWS,
) -> Certification:
    """Certify each task and language.

    Who stands alone is decided by counts, never by labels: a slice with rows enough whose own threshold keeps
    nothing is not given a second chance in the pool. A language's pool holds exactly the slices that use its
    threshold, because a bound over other calls would say nothing about theirs.

    Args:
        rows: the calibration rows.
        tasks: the task of each row.
        languages: the language of each row.
        alpha: the most risk, in each slice.
        delta: the chance of a broken promise, in each slice.
        rule: which risk.
        least_rows: the fewest rows of a slice, or of a pool, that is certified.

    Raises:
        ValueError: columns of different lengths, or figures that the rule refuses.
    """
    if not len(tasks) == len(languages) == rows.n:
        raise ValueError(f"{rows.n} rows, but {len(tasks)} tasks and {len(languages)} languages")
    members = _members(tasks, languages)
    small = {key: at for key, at in members.items() if len(at) < least_rows}
    pools = {language: _pool(small, language) for _, language in small}

    def threshold(at: NDArray[np.int64]) -> Threshold:
        choose = marginal_threshold if rule == "marginal" else selective_threshold
        return choose(rows.chosen(at), alpha=alpha, delta=delta)

    alone = {key: threshold(at) for key, at in members.items() if key not in small}
    pooled = {language: threshold(at) for language, at in pools.items() if len(at) >= least_rows}
    certificates = tuple(
        _certificate(
            key,
            len(at),
            alone=alone.get(key),
            pooled=None if key in alone else pooled.get(key[1]),
            in_pool=len(pools.get(key[1], ())),
            least_rows=least_rows,
        )
        for key, at in sorted(members.items())
    )
    n_statements = len(alone) + len(pooled)
    return Certification(
        rule=rule,
        alpha=alpha,
        delta=delta,
        certificates=certificates,
        n_statements=n_statements,
        joint_level=(1 - delta) ** n_statements,
        delta_for_joint=1 - (1 - delta) ** (1 / max(1, n_statements)),
        reasons=_joint_reasons(n_statements, alpha, delta, rule),
    )


def _members(tasks: Sequence[str], languages: Sequence[str]) -> dict[tuple[str, str], NDArray[np.int64]]:
    found: dict[tuple[str, str], list[int]] = {}
    for at, key in enumerate(zip(tasks, languages, strict=True)):
        found.setdefault((str(key[0]), str(key[1])), []).append(at)
    return {key: np.array(at, dtype=np.int64) for key, at in found.items()}


def _pool(small: dict[tuple[str, str], NDArray[np.int64]], language: str) -> NDArray[np.int64]:
    return np.sort(np.concatenate([at for (_, spoken), at in small.items() if spoken == language]))


def _certificate(
    key: tuple[str, str],
    n: int,
    *,
    alone: Threshold | None,
    pooled: Threshold | None,
    in_pool: int,
    least_rows: int,
) -> Certificate:
    task, language = key
    lacking = max(0, least_rows - n)
    if alone is not None:
        standing: Standing = "alone"
        reason = Reason(code="certified_alone", text=f"{n:,} rows of its own.", figures={"rows": n})
    elif pooled is not None:
        standing = "pooled"
        reason = Reason(
            code="certified_pooled",
            text=f"{n:,} rows, {lacking:,} short of standing alone; pooled with the other small slices of {language}: "
            f"{in_pool:,} rows. The bound is over the pool's calls together, not over this slice.",
            figures={"rows": n, "lacking": lacking, "pool_rows": in_pool},
        )
    else:
        standing = "none"
        reason = Reason(
            code="not_certified",
            text=f"{n:,} rows, {lacking:,} short of standing alone, and the pool of {language} with {in_pool:,} is "
            f"{least_rows - in_pool:,} short: the cloud answers.",
            figures={"rows": n, "lacking": lacking, "pool_rows": in_pool, "pool_lacking": least_rows - in_pool},
        )
    return Certificate(
        task=task,
        language=language,
        n=n,
        standing=standing,
        threshold=alone or pooled,
        lacking_rows=lacking,
        reasons=(reason,),
    )


def _joint_reasons(n_statements: int, alpha: float, delta: float, rule: Rule) -> tuple[Reason, ...]:
    if not n_statements:
        return (Reason(code="nothing_certified", text="No slice has rows enough: the cloud answers all of them."),)
    level, without = (1 - delta) ** n_statements, max(0.0, 1 - n_statements * delta)
    what = "all admitted calls" if rule == "marginal" else "all kept answers"
    each = f"Each of {n_statements} thresholds holds with probability {1 - delta:g} over its own calibration draw."
    joint = (
        f"All at once hold with probability {level:.4g} (they rest on different rows; without independence "
        f"{without:.4g}), and then the risk over {what} of the certified slices is at most {alpha:g} too, whatever "
        "the share of each (of a pool, with its members mixed as sampled)."
    )
    return (
        Reason(code="each", text=each, figures={"statements": n_statements, "level": 1 - delta}),
        Reason(code="joint", text=joint, figures={"level": level, "level_without_independence": without}),
    )
