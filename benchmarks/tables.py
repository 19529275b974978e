"""Markdown tables of the newest results: python benchmarks/tables.py decisions|serve|planners|grid|triage."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_RESULTS = Path(__file__).parent / "results"


def _head(result: dict[str, Any]) -> str:
    machine = result["machine"]
    return (
        f"Commit `{result['commit']}`, {result['at'][:10]}, {machine['processor']}, {machine['cores']} cores, "
        f"{machine['system']}, Python {machine['python']}."
    )


def _bar(section: dict[str, Any]) -> str:
    if section["met"] is None:
        return "-"
    return f"{section['bar']}: {'met' if section['met'] else '**missed**'}"


def decisions(result: dict[str, Any]) -> Iterator[str]:
    """What was kept, what of it was right, and why the rest went up, with and without the delay limit."""
    yield "| | default delay limit (2 s) | no delay limit |"
    yield "|---|---|---|"
    both = [result["default_delay_limit"], result["no_delay_limit"]]
    figures = [section["figures"] for section in both]
    rows = [
        ("closed prompts kept", "closed_kept", "closed"),
        ("kept and right", "kept_right", "closed_kept"),
        ("must-go-up prompts kept", "must_go_up_kept", "must_go_up"),
    ]
    for name, key, total in rows:
        yield f"| {name} | " + " | ".join(f"{one[key]} of {one[total]}" for one in figures) + " |"
    why = [
        ", ".join(f"{code} {count}" for code, count in sorted(one["closed_sent_up_because"].items())) for one in figures
    ]
    yield f"| closed prompts sent up because | {' | '.join(why)} |"
    yield f"| bar | {' | '.join(_bar(section) for section in both)} |"


def serve(result: dict[str, Any]) -> Iterator[str]:
    """The figures of serving, each with its bar."""
    bandwidth, cost = result["read_bandwidth"]["figures"], result["gateway_overhead"]["figures"]
    swept, tuned = result["sweep"]["figures"], result["tune"]["figures"]
    yield "| what | figure | bar |"
    yield "|---|---|---|"
    helped = result["teto_help_s"]
    yield f"| `teto --help` | {helped['figures']['median'] * 1e3:.0f} ms | {_bar(helped)} |"
    yield f"| tune | {tuned['seconds']:.1f} s, chose {tuned['chosen']} | {_bar(result['tune'])} |"
    yield f"| time to ready, tuned before | {result['time_to_ready_s']['figures']['median']:.1f} s | - |"
    yield (
        f"| decode against the read bandwidth | {bandwidth['decode_tok_per_s']:.1f} of "
        f"{bandwidth['ceiling_tok_per_s']:.1f} tok/s at {bandwidth['read_bandwidth_gb_per_s']:.1f} GB/s: "
        f"{bandwidth['fraction_of_ceiling']:.0%} | - |"
    )
    yield (
        f"| gateway against the engine called directly, median of {cost['calls']} paired calls | "
        f"{cost['added_p50_ms']:+.1f} ms on {cost['direct_p50_ms']:.0f} ms | {_bar(result['gateway_overhead'])} |"
    )
    yield (
        f"| best setting of the sweep over the tuned one, decode | {swept['best_decode_over_tuned']:.3f} "
        f"({swept['best_decode']}) | {_bar(result['sweep'])} |"
    )
    yield ""
    yield "| setting | TTFT of 32 tokens | decode tok/s |"
    yield "|---|---|---|"
    for name, found in swept["settings"].items():
        mark = " (tuned)" if name == swept["tuned"] else ""
        yield f"| {name}{mark} | {found['ttft_s'] * 1e3:.0f} ms | {found['decode_tok_per_s']:.1f} |"


def planners(result: dict[str, Any]) -> Iterator[str]:
    """Errors of teto and of other planners on the same rows."""
    groups = [name for name in result if isinstance(result[name], dict) and "figures" in result[name]]
    yield "| planner | " + " | ".join(f"{name}: rows, median, p90, bias" for name in groups) + " |"
    yield "|---|" + "---|" * len(groups)
    for planner in result[groups[0]]["figures"]:
        cells = []
        for group in groups:
            found = result[group]["figures"][planner]
            cells.append(
                "cannot be asked"
                if found["rows"] == 0
                else f"{found['rows']}, {found['median']:.1%}, {found['p90']:.1%}, {found['bias']:+.1%}"
            )
        yield f"| {planner} | " + " | ".join(cells) + " |"


def grid(result: dict[str, Any]) -> Iterator[str]:
    """How fast predictions are."""
    evaluation, plan = result["evaluation"], result["plan over the whole catalog, process start included"]
    points_per_s, plan_s = evaluation["figures"]["points_per_s"], plan["figures"]["median_s"]
    yield "| what | figure | bar |"
    yield "|---|---|---|"
    yield f"| points (shape, device, format, batch, context) | {points_per_s:,} a second | {_bar(evaluation)} |"
    yield f"| `teto plan` over the whole catalog | {plan_s:.2f} s | {_bar(plan)} |"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _triage_bars(result: dict[str, Any]) -> Iterator[str]:
    within, pooled = result["within_task_auroc"], result["pooled_auroc"]
    figures = pooled["figures"]
    yield "| what | figure | bar |"
    yield "|---|---|---|"
    averages = within["figures"]
    yield (
        f"| AUROC of the score within a task, average | {averages['average_score']:.3f} (mean logprob "
        f"{averages['average_mean_logprob']:.3f}) | {_bar(within)} |"
    )
    low, high = figures["gain_95"]
    yield (
        f"| AUROC pooled | {figures['score']:.3f} against {figures['mean_logprob']:.3f}, gain {low:+.3f} to "
        f"{high:+.3f} | {_bar(pooled)} |"
    )
    for part in ("calibration", "untouched"):
        section = result[f"kept_{part}"]
        shares = section["figures"]
        told = ", ".join(f"{name} {_percent(one['kept_of_closed'])}" for name, one in shares.items())
        yield f"| kept of all closed items, {part} part | {told} | {_bar(section)} |"
    untouched = result["untouched_quarter"]
    told = ", ".join(
        f"{name} {_percent(mid)} ({_percent(low)} to {_percent(high)})"
        for name, (low, mid, high) in untouched["figures"].items()
    )
    yield f"| P(kept and wrong) on the untouched quarter | {told} | {_bar(untouched)} |"
    violations = result["violations"]
    told = ", ".join(f"{name} {_percent(one['violation_rate'])}" for name, one in violations["figures"].items())
    yield f"| promises broken, over 2,000 draws | {told} | {_bar(violations)} |"


def triage(result: dict[str, Any]) -> Iterator[str]:
    """The bars, the score within each task, and what the rules keep."""
    run = result["run"]["figures"]
    yield f"{run['items']:,} items run, {_percent(run['right'])} right."
    yield ""
    yield from _triage_bars(result)
    yield ""
    yield "| items | n | right | recognised as closed |"
    yield "|---|---|---|---|"
    for name, one in run["slices"].items():
        yield f"| {name} | {one['n']} | {_percent(one['right'])} | {_percent(one['admitted'])} |"
    yield ""
    yield "| within | n | right | AUROC of the score | of the mean logprob |"
    yield "|---|---|---|---|---|"
    for name, one in result["within_task_auroc"]["figures"].items():
        if isinstance(one, dict):
            score, mean = (f"{one[key]:.3f}" if one[key] is not None else "-" for key in ("score", "mean_logprob"))
            yield f"| {name} | {one['n']} | {_percent(one['right'])} | {score} | {mean} |"
    yield ""
    yield "| language, part | closed items | admitted | kept of admitted | kept of closed | kept & wrong | wrong of kept | wrong of admitted | any method must send up |"  # noqa: E501
    yield "|---|---|---|---|---|---|---|---|---|"
    for part in ("calibration", "untouched"):
        for name, one in result[f"kept_{part}"]["figures"].items():
            cells = [
                f"{one['closed_items']}",
                f"{one['admitted']}",
                *(
                    _percent(one[key])
                    for key in (
                        "kept_of_admitted", "kept_of_closed", "marginal", "wrong_of_kept", "error_of_admitted",
                        "least_deferred",
                    )
                ),
            ]  # fmt: skip
            yield f"| {name}, {part} | {' | '.join(cells)} |"
    yield ""
    yield "| decided after | AUROC | kept, kept & wrong (untouched quarter) |"
    yield "|---|---|---|"
    for tokens, one in result["hold_backs"]["figures"].items():
        told = ", ".join(
            f"{name} {_percent(kept)}, {_percent(wrong)}" for name, (kept, wrong) in one["kept_and_marginal"].items()
        )
        yield f"| {tokens} tokens | {one['auroc']:.3f} | {told} |"


def task_model(result: dict[str, Any]) -> Iterator[str]:
    """Macro-F1 by language on what was unseen, hard prompts called closed, closed ones called so, and speed."""
    yield "| macro-F1 of the task | English | Portuguese |"
    yield "|---|---|---|"
    for name, key in (
        ("unseen templates, sources and prompts", "task, unseen templates, sources and prompts"),
        ("unseen data sets", "task, unseen data sets"),
    ):
        figures = result[key]["figures"]
        cells = [f"{figures[language]['macro']:.3f} of {figures[language]['prompts']:,}" for language in ("en", "pt")]
        yield f"| {name} | {' | '.join(cells)} |"
    human = result["task, sets written by people and never trained on"]["figures"]
    enem = next(value for name, value in human.items() if name.startswith("ENEM 2022, with "))
    yield (
        f"| sets written by people, never trained on (Portuguese: ENEM 2022) | {human['en']['macro']:.3f} of "
        f"{human['en']['prompts']:,} | {enem['macro']:.3f} of {enem['prompts']:,} |"
    )
    yield ""
    hard = result["hard prompts called closed"]
    yield f"| hard prompts | n | called closed by the model | by all of recognition ({_bar(hard)}) |"
    yield "|---|---|---|---|"
    for name, one in hard["figures"].items():
        yield f"| {name} | {one['prompts']:,} | {_percent(one['model'])} | {_percent(one['admission'])} |"
    yield ""
    for key, name in (
        ("closed-task items called closed, their source unseen", "of an unseen source"),
        ("closed-task items called closed, the whole set unseen", "with the whole set unseen"),
    ):
        yield f"Closed-task items {name} that are called closed: {_percent(result[key]['figures']['all'])}."
        yield ""
    speed = result["speed"]
    yield f"| speed ({_bar(speed)}) | best | median |"
    yield "|---|---|---|"
    for name, one in speed["figures"].items():
        if "us_each_best" in one:
            yield f"| {name}, in batches | {one['us_each_best']} µs | {one['us_each_median']} µs |"
    single = speed["figures"]["one prompt"]
    yield f"| one prompt (p99 {single['us_p99']} µs) | | {single['us_median']} µs |"
    yield f"| loading {speed['figures']['file']['mb']} MB | | {speed['figures']['loading']['ms_median']} ms |"


_TABLES = {
    "task_model": task_model,
    "decisions": decisions,
    "serve": serve,
    "planners": planners,
    "grid": grid,
    "triage": triage,
}
_FILES = {"triage": "triage-qwen2.5-coder-1.5b-instruct-q4_k_m"}


def main() -> None:
    """Print the table that was named."""
    name = sys.argv[1]
    result = json.loads((_RESULTS / f"{_FILES.get(name, name)}.json").read_text())
    lines = _TABLES[name](result)
    print("\n".join((_head(result), "", *lines)))


if __name__ == "__main__":
    main()
