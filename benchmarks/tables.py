"""Markdown tables of the newest results: python benchmarks/tables.py decisions|serve|planners|grid."""

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


def main() -> None:
    """Print the table that was named."""
    name = sys.argv[1]
    result = json.loads((_RESULTS / f"{name}.json").read_text())
    lines = {"decisions": decisions, "serve": serve, "planners": planners, "grid": grid}[name](result)
    print("\n".join((_head(result), "", *lines)))


if __name__ == "__main__":
    main()
