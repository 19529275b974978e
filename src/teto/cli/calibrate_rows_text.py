"""The answer of `teto calibrate` for people."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from teto.cli.table import bullets, table
from teto.units import show_fraction, show_seconds

if TYPE_CHECKING:
    from teto.cli.calibrate_rows import Answer, RuleAnswer, Saving
    from teto.triage.standing import SliceReport

__all__ = ["answer_lines"]

_HEADINGS: Final = (
    "slice", "n", "wrong", "AUROC", "stands", "labels short", "kept", "kept & wrong", "bound", "wrong | kept", "95 %",
    "regret", "least up",
)  # fmt: skip
_FIGURES: Final = {"apgr": "APGR", "cpt50": "CPT(50)", "cpt80": "CPT(80)", "audc": "AUDC", "auroc": "AUROC"}


def answer_lines(found: "Answer") -> Iterator[str]:
    """What was run, each slice of the rule that waits longest, the other rules in brief, and what it saves."""
    yield f"{found.model} on {found.engine} ({found.fingerprint}): {found.source}"
    yield (
        f"{found.n_items:,} items, {found.n_admitted:,} of them recognised as closed "
        f"({show_fraction(found.n_admitted / max(1, found.n_items))}); judged on {found.judged_on}"
    )
    yield f"rule: {found.rule}, alpha {show_fraction(found.alpha)}, delta {show_fraction(found.delta)}"
    longest = found.rules[-1]
    yield ""
    yield from table(_HEADINGS, [_slice_row(report) for report in longest.slices])
    yield ""
    yield from _brief_lines(found)
    yield ""
    yield from _figure_lines(found, longest)
    yield from _saving_lines(longest.saving)
    yield ""
    yield from bullets(_reasons(longest))
    if found.written is not None:
        yield f"written: {found.written}"


def _slice_row(report: "SliceReport") -> tuple[str, ...]:
    bounded = report.promised if report.promised is not None else report.marginal_upper
    interval = report.selective
    return (
        f"{report.task} {report.language}",
        f"{report.n:,}",
        show_fraction(report.error_fraction),
        "-" if report.auroc is None else f"{report.auroc:.3f}",
        report.standing,
        f"{report.lacking_rows:,}" if report.lacking_rows else "-",
        show_fraction(report.kept_fraction),
        show_fraction(report.marginal_fraction),
        show_fraction(bounded),
        "-" if report.selective_fraction is None else show_fraction(report.selective_fraction),
        "-" if interval is None else f"{show_fraction(interval.low)} to {show_fraction(interval.high)}",
        "unknown" if report.regret_fraction is None else show_fraction(report.regret_fraction),
        show_fraction(report.least_deferred_fraction),
    )


def _brief_lines(found: "Answer") -> Iterator[str]:
    rows = []
    for rule in found.rules:
        for report in rule.slices:
            if report.task == "all":
                auroc = "-" if report.auroc is None else f"{report.auroc:.3f}"
                kept, wrong = show_fraction(report.kept_fraction), show_fraction(report.marginal_fraction)
                rows.append((f"{rule.hold_back_tokens} tokens, {report.language}", auroc, kept, wrong))
    yield from table(("decided after", "AUROC", "kept", "kept & wrong"), rows)


def _figure_lines(found: "Answer", rule: "RuleAnswer") -> Iterator[str]:
    cloud = "the cloud as judged" if found.is_cloud_known else "were the cloud always right"
    parts = []
    for name, shown in _FIGURES.items():
        one = rule.figures[name]
        if one.value is not None:
            span = (
                ""
                if one.interval is None
                else f" ({_show(name, one.interval.low)} to {_show(name, one.interval.high)})"
            )
            parts.append(f"{shown} {_show(name, one.value)}{span}")
    yield f"deferral ({cloud}): {', '.join(parts)}"


def _show(name: str, value: float) -> str:
    return show_fraction(value) if name.startswith("cpt") else f"{value:.3f}"


def _saving_lines(saving: "Saving") -> Iterator[str]:
    kept, discarded = show_seconds(saving.kept_s), show_seconds(saving.discarded_s)
    yield f"per 1,000 such calls: {kept} of local work for kept answers and {discarded} for discarded ones"
    if saving.spared_usd is None or saving.all_up_usd is None:
        yield "  what they would cost up there is unknown: give --usd-in and --usd-out, or configure an upstream"
        return
    yield f"  up there all cost ${saving.all_up_usd:.4f}; kept ones spare ${saving.spared_usd:.4f}"
    if saving.local_usd is None or saving.net_usd is None:
        yield "  what the local work costs is unknown: give --usd-per-hour"
    else:
        yield f"  the local work costs ${saving.local_usd:.4f}, discarded runs included: net ${saving.net_usd:.4f}"


def _reasons(rule: "RuleAnswer") -> list[str]:
    short = [
        f"{report.task} {report.language}: {reason.text}"
        for report in rule.slices
        for reason in report.reasons
        if report.standing != "alone"
    ]
    return [*short, *rule.joint]
