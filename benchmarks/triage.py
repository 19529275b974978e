"""The decision on recorded runs: how well the score tells, what the rules keep, and whether their promise holds.

    python benchmarks/triage.py [MODEL] [--ship]

Reads data/closed_tasks/runs/MODEL.jsonl.gz. With --ship the calibration that is judged here is written into the
package. A quarter of the items teaches the score, half chooses the thresholds, and the last quarter is only judged.
"""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from report import Report
from teto.catalog.calibrations import write_shipped
from teto.catalog.weights import find_weights
from teto.cli.calibrate_engine import judge_all
from teto.cli.calibrate_rows import HOLD_BACKS_TOKENS
from teto.closed_tasks.check import is_right
from teto.closed_tasks.items import closed_task_items, part_of
from teto.closed_tasks.recorded import Recorded, read_records
from teto.triage.bounds import clopper_pearson, clopper_pearson_upper
from teto.triage.calibration import VERSION, Calibration, PrefixRule, learn
from teto.triage.deferral import auroc
from teto.triage.judged import Judged, labelled
from teto.triage.standing import slice_reports
from teto.triage.threshold import marginal_threshold

_RUNS = Path(__file__).parent / "data" / "closed_tasks" / "runs"
_DEFAULT = "qwen2.5-coder-1.5b-instruct-q4_k_m"
_ALPHA = _DELTA = 0.05
_DRAWS = 2000
_RESAMPLES = 2000
_Rows = Sequence[Judged]


def _split(rows: _Rows, *parts: str) -> list[Judged]:
    return [row for row in rows if part_of(row.id) in parts]


def _right(rows: _Rows) -> NDArray[np.bool_]:
    return np.array([row.right for row in rows])


def _scores(rows: _Rows, rule: PrefixRule) -> NDArray[np.float64]:
    return np.array([row.score(rule.score) for row in rows])


def _mean_logprobs(rows: _Rows) -> NDArray[np.float64]:
    """What the score is compared with; answers with a fault of form are at the bottom for both."""
    return np.array([-99.0 if row.signals is None else row.signals.mean_logprob for row in rows])


def within_tasks(rows: _Rows, item_task: dict[str, str], rule: PrefixRule) -> dict[str, Any]:
    """The score's AUROC inside each kind of item, beside that of the mean logprob."""
    tasks = sorted({item_task[row.id] for row in rows})
    found: dict[str, Any] = {}
    for task in tasks:
        mine = [row for row in rows if item_task[row.id] == task]
        right = _right(mine)
        found[task] = {
            "n": len(mine),
            "right": round(float(right.mean()), 4),
            "score": _rounded(auroc(_scores(mine, rule), right)),
            "mean_logprob": _rounded(auroc(_mean_logprobs(mine), right)),
        }
    for name in ("score", "mean_logprob"):
        values = [one[name] for one in found.values() if isinstance(one, dict) and one[name] is not None]
        found[f"average_{name}"] = round(float(np.mean(values)), 4)
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def against_mean_logprob(rows: _Rows, rule: PrefixRule) -> dict[str, Any]:
    """The pooled AUROC of both, and the difference with an interval over the same resamples of the rows."""
    right, score, mean = _right(rows), _scores(rows, rule), _mean_logprobs(rows)
    generator = np.random.default_rng(0)
    gained = []
    for _ in range(_RESAMPLES):
        at = generator.integers(0, len(rows), len(rows))
        ours, theirs = auroc(score[at], right[at]), auroc(mean[at], right[at])
        if ours is not None and theirs is not None:
            gained.append(ours - theirs)
    low, high = np.quantile(gained, [0.025, 0.975])
    ours, theirs = auroc(score, right), auroc(mean, right)
    return {
        "score": _rounded(ours),
        "mean_logprob": _rounded(theirs),
        "gain_95": [round(float(low), 4), round(float(high), 4)],
    }


def kept(rows: _Rows, n_items: dict[str, int], rule: PrefixRule) -> dict[str, Any]:
    """For each language what is kept, of the admitted items and of all closed items, and what of it is wrong."""
    found = {}
    for report in slice_reports(rows, rule):
        if report.task != "all":
            continue
        n_kept = round(report.kept_fraction * report.n)
        n_bad = round(report.marginal_fraction * report.n)
        found[report.language] = {
            "closed_items": n_items[report.language],
            "admitted": report.n,
            "kept": n_kept,
            "kept_of_admitted": round(n_kept / report.n, 4),
            "kept_of_closed": round(n_kept / n_items[report.language], 4),
            "kept_wrong": n_bad,
            "marginal": round(n_bad / report.n, 4),
            "marginal_low_95": round(clopper_pearson(n_bad, report.n, 0.9).low, 4),
            "marginal_high_95": round(clopper_pearson_upper(n_bad, report.n, _DELTA), 4),
            "wrong_of_kept": round(n_bad / max(1, n_kept), 4),
            "error_of_admitted": round(report.error_fraction, 4),
            "least_deferred": round(report.least_deferred_fraction, 4),
            "auroc": _rounded(report.auroc),
        }
    return found


def violations(rows: _Rows, rule: PrefixRule, language: str) -> dict[str, Any]:
    """The rows are the population: how often a calibration drawn from it promises what the population breaks."""
    population = labelled([row for row in rows if row.language == language], rule.score)
    generator = np.random.default_rng(1)
    broken, shares = 0, []
    for _ in range(_DRAWS):
        drawn = population.chosen(generator.integers(0, population.n, population.n))
        chosen = marginal_threshold(drawn, alpha=_ALPHA, delta=_DELTA).threshold
        stays = np.zeros(population.n, dtype=bool) if chosen is None else population.score >= chosen
        broken += bool((stays & population.wrong).mean() > _ALPHA)
        shares.append(float(stays.mean()))
    rate = broken / _DRAWS
    error = float(np.sqrt(_DELTA * (1 - _DELTA) / _DRAWS))
    return {
        "n": population.n,
        "draws": _DRAWS,
        "violation_rate": round(rate, 4),
        "monte_carlo_error": round(error, 4),
        "mean_kept": round(float(np.mean(shares)), 4),
        "holds": rate <= _DELTA + 2 * error,
    }


def _calibration(model: str, rules: dict[int, PrefixRule], n_score: int, n_calibration: int) -> Calibration:
    return Calibration(
        version=VERSION,
        fingerprint=f"{find_weights(model).sha256[:16]}:{version('xllamacpp')}",
        model=model,
        origin="closed tasks",
        source="the shipped closed tasks",
        created=datetime.now(UTC).date().isoformat(),
        n_score=n_score,
        n_calibration=n_calibration,
        rules=tuple(rules.values()),
    )


def _read(model: str) -> list[Recorded]:
    plain = _RUNS / f"{model}.jsonl"
    return list(read_records(plain if plain.exists() else _RUNS / f"{model}.jsonl.gz"))


def main() -> None:
    """Judge, print, and ship if asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model", nargs="?", default=_DEFAULT)
    parser.add_argument("--ship", action="store_true")
    asked = parser.parse_args()
    recorded = _read(asked.model)
    items = {item["id"]: item for item in closed_task_items()}
    judged = judge_all(list(items.values()), recorded, is_right)
    parts = {tokens: (_split(rows, "score"), _split(rows, "calibration")) for tokens, rows in judged.items()}
    rules = {tokens: learn(tokens, *parts[tokens], alpha=_ALPHA, delta=_DELTA) for tokens in HOLD_BACKS_TOKENS}
    _tell(asked.model, recorded, items, judged, rules)
    if asked.ship:
        teaching, choosing = parts[HOLD_BACKS_TOKENS[-1]]
        path = write_shipped(_calibration(asked.model, rules, len(teaching), len(choosing)))
        print(f"shipped: {path.name}")


def _tell(
    model: str,
    recorded: list[Recorded],
    items: dict[str, Any],
    judged: dict[int, list[Judged]],
    rules: dict[int, PrefixRule],
) -> None:
    report = Report(f"triage-{model}")
    longest = HOLD_BACKS_TOKENS[-1]
    rule = rules[longest]
    rows = judged[longest]
    item_task = {item_id: item["task"] for item_id, item in items.items()}
    unseen = _split(rows, "calibration", "untouched")
    report.add("run", _run_figures(recorded, items, rows))
    found = within_tasks(unseen, item_task, rule)
    average = found["average_score"]
    report.add("within_task_auroc", found, bar="average >= 0.80", met=average >= 0.80)
    pooled = against_mean_logprob(unseen, rule)
    report.add("pooled_auroc", pooled, bar="better than the mean logprob alone", met=pooled["gain_95"][0] > 0)
    for part in ("calibration", "untouched"):
        n_items = _count(recorded, items, part)
        shares = kept(_split(rows, part), n_items, rule)
        bars = {"en": 0.50, "pt": 0.40}
        met = all(shares[language]["kept_of_closed"] >= least for language, least in bars.items())
        report.add(f"kept_{part}", shares, bar=">= 50 % of closed English, >= 40 % of Portuguese", met=met)
    risks = kept(_split(rows, "untouched"), _count(recorded, items, "untouched"), rule)
    report.add(
        "untouched_quarter",
        {
            language: [one["marginal_low_95"], one["marginal"], one["marginal_high_95"]]
            for language, one in risks.items()
        },
        bar="lower bound of P(kept and wrong) within alpha",
        met=all(one["marginal_low_95"] <= _ALPHA for one in risks.values()),
    )
    tested = {language: violations(unseen, rule, language) for language in ("en", "pt")}
    report.add(
        "violations", tested, bar="rate <= delta + Monte-Carlo error", met=all(one["holds"] for one in tested.values())
    )
    report.add("hold_backs", _hold_backs(judged, rules))
    report.write()


def _count(recorded: list[Recorded], items: dict[str, Any], part: str) -> dict[str, int]:
    mine = [one for one in recorded if part_of(one.id) == part]
    return {language: sum(items[one.id]["language"] == language for one in mine) for language in ("en", "pt")}


def _run_figures(recorded: list[Recorded], items: dict[str, Any], rows: _Rows) -> dict[str, Any]:
    right = {one.id: one.finish_reason == "stop" and is_right(items[one.id], one.answer) for one in recorded}
    admitted = {row.id for row in rows}
    slices = sorted({(items[one.id]["task"], items[one.id]["language"]) for one in recorded})
    table = {}
    for task, language in slices:
        mine = [one.id for one in recorded if (items[one.id]["task"], items[one.id]["language"]) == (task, language)]
        table[f"{task} {language}"] = {
            "n": len(mine),
            "right": round(float(np.mean([right[one] for one in mine])), 4),
            "admitted": round(float(np.mean([one in admitted for one in mine])), 4),
        }
    return {"items": len(recorded), "right": round(float(np.mean(list(right.values()))), 4), "slices": table}


def _hold_backs(judged: dict[int, list[Judged]], rules: dict[int, PrefixRule]) -> dict[str, Any]:
    found = {}
    for tokens, rule in rules.items():
        rows = _split(judged[tokens], "untouched")
        right, score = _right(rows), _scores(rows, rule)
        shares = {
            r.language: [round(r.kept_fraction, 4), round(r.marginal_fraction, 4)]
            for r in slice_reports(rows, rule)
            if r.task == "all"
        }
        found[str(tokens)] = {"auroc": _rounded(auroc(score, right)), "kept_and_marginal": shares}
    return found


if __name__ == "__main__":
    main()
