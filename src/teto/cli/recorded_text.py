"""The answer of `teto calibrate --recorded` for people."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from teto.cli.table import bullets, table
from teto.units import show_fraction

if TYPE_CHECKING:
    from teto.cli.recorded_answer import Answer
    from teto.triage.bounds import Interval
    from teto.triage.threshold import Threshold

__all__ = ["answer_lines"]

_NAMES: Final = {"apgr": "APGR", "cpt50": "CPT(50)", "cpt80": "CPT(80)", "audc": "AUDC", "auroc": "AUROC"}


def answer_lines(found: "Answer") -> Iterator[str]:
    """The score's figures beside the references, then the rules with their bounds, then the reasons."""
    yield (
        f"{found.table}: {found.n:,} rows; {'right' if found.is_share else 'mean quality'}: "
        f"small {_quality(found, found.small_mean)}, large {_quality(found, found.large_mean)}"
    )
    yield ""
    yield from _figure_lines(found)
    yield ""
    yield "random: no information · detector: knows each small answer's quality · oracle: knows both answers'"
    if found.luck is not None:
        low, high = _figure("apgr", found.luck.low), _figure("apgr", found.luck.high)
        yield f"luck alone: {show_fraction(found.level)} of random orders have an APGR of {low} to {high}"
    if found.rules:
        yield ""
        yield from _rule_lines(found)
    if found.reasons:
        yield ""
        yield from bullets([reason.text for reason in found.reasons])


def _quality(found: "Answer", quality: float) -> str:
    return show_fraction(quality) if found.is_share else f"{quality:.3g}"


def _figure_lines(found: "Answer") -> Iterator[str]:
    rows = []
    for name, shown in _NAMES.items():
        one = found.figures[name]
        others = [_figure(name, getattr(each, name)) for each in (found.random, found.perfect, found.oracle)]
        rows.append([shown, _figure(name, one.value), _interval(name, one.interval), *others])
    yield from table(["", "score", show_fraction(found.level), "random", "detector", "oracle"], rows)


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    return show_fraction(value) if name.startswith("cpt") else f"{value:.3f}"


def _interval(name: str, interval: "Interval | None") -> str:
    if interval is None:
        return "-"
    return f"{_figure(name, interval.low)} to {_figure(name, interval.high)}"


def _rule_lines(found: "Answer") -> Iterator[str]:
    yield (
        f"At alpha {show_fraction(found.alpha)} and delta {show_fraction(found.delta)}, were these rows a random draw "
        "of your calls"
    )
    yield "and the score fixed before them (the bound is the rule's own, of what its name says):"
    headings = ("rule", "bounds", "keep from", "kept", "kept & wrong", "wrong | kept", "95 %", "bound", "regret")
    yield from table(headings, [_rule_row(rule) for rule in found.rules])
    yield ""
    yield from bullets([f"{rule.rule}: {reason.text}" for rule in found.rules for reason in rule.reasons])


def _rule_row(rule: "Threshold") -> tuple[str, ...]:
    bounded = {"marginal": "P(kept & wrong)", "selective": "P(wrong | kept)"}[rule.rule]
    if rule.threshold is None or rule.bound is None or rule.selective_interval is None:
        return (rule.rule, bounded, "-", "nothing", "-", "-", "-", "-", "-")
    interval = rule.selective_interval
    return (
        rule.rule,
        bounded,
        f"{rule.threshold:.6g}",
        show_fraction(rule.kept_fraction),
        show_fraction(rule.kept_wrong / rule.n),
        show_fraction(rule.kept_wrong / rule.kept),
        f"{show_fraction(interval.low)} to {show_fraction(interval.high)}",
        show_fraction(rule.bound),
        "unknown" if rule.regretted is None else show_fraction(rule.regretted / rule.n),
    )
