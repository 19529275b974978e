"""The answers of `teto plan` for people."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from teto.cli.table import bullets, table
from teto.units import show_joules, show_rate, show_seconds

if TYPE_CHECKING:
    from teto.cli.plan_answers import PlanAnswer, RejectedRow, Row

__all__ = ["plan_lines", "promise_words", "show_usd_per_mtok"]


def show_usd_per_mtok(usd: float | None) -> str:
    """Dollars for a million tokens, three digits; unknown stays unknown."""
    return "unknown" if usd is None else f"${usd:,.0f}" if usd >= 999.5 else f"${usd:.3g}"


def promise_words(found: "PlanAnswer") -> str:
    """What is promised, in words."""
    targets, tokens = found.targets, found.tokens
    words = [f"{tokens.prompt_tokens:,} tokens in, {tokens.output_tokens:,} out"]
    if targets.calls_per_s is not None:
        words.append(f"{targets.calls_per_s:g} calls/s at a load of at most {targets.most_load_fraction:.0%}")
    if targets.ttft_s is not None:
        words.append(f"TTFT at most {show_seconds(targets.ttft_s)}")
    if targets.tpot_s is not None:
        words.append(f"TPOT at most {show_seconds(targets.tpot_s)}")
    return "; ".join(words)


def plan_lines(found: "PlanAnswer", *, top: int) -> Iterator[str]:
    """The front, then the reasons of the rest."""
    yield f"{found.model}: {promise_words(found)}"
    unpriced = sum(row.usd_per_mtok is None for row in found.front)
    of_these = f", {unpriced:,} of them without a known price" if 0 < unpriced < len(found.front) else ""
    yield (
        f"{found.n_admitted:,} of {found.n_candidates:,} candidates keep it; {len(found.front):,} are beaten by none "
        f"in dollars, joules and seconds at once{of_these}"
    )
    if found.front:
        yield ""
        yield from _front_lines(found.front, top)
        yield from bullets(tuple(_best(found.front)))
    if found.rejected:
        yield ""
        yield from _rejected_lines(found.rejected, top)
    yield ""
    for note in found.notes:
        yield f"note: {note}"
    for name, source in found.price_sources.items():
        yield f"price of {name}: {source}"


def _front_lines(rows: Sequence["Row"], top: int) -> Iterator[str]:
    headings = (
        "groups x devices",
        "format",
        "batch",
        "load",
        "TTFT",
        "TPOT",
        "call",
        "in all",
        "$/Mtok",
        "J/token",
        "bound",
        "",
    )
    yield from table(
        headings,
        [
            (
                f"{_count(row)}{row.device}",
                row.weight_format,
                f"{row.batch:,}",
                f"{row.load_fraction:.0%}",
                show_seconds(row.ttft_s),
                show_seconds(row.tpot_s),
                show_seconds(row.call_s),
                show_rate(row.tokens_per_s, "tok"),
                show_usd_per_mtok(row.usd_per_mtok),
                "unknown" if row.j_per_token is None else show_joules(row.j_per_token),
                row.bound,
                row.kind,
            )
            for row in rows[:top]
        ],
    )
    if len(rows) > top:
        yield f"... and {len(rows) - top:,} more (--top, --json)"


def _count(row: "Row") -> str:
    """`3 x (2 x name)`: three groups of two devices that share every step."""
    if row.n_devices == 1:
        return f"{row.n_groups:,} x "
    return f"{row.n_groups:,} x {row.n_devices} "


def _best(rows: Sequence["Row"]) -> Iterator[str]:
    """The best in each of the three figures, of those where it is known; a ceiling only where nothing is estimated."""
    rows = [row for row in rows if row.kind != "ceiling"] or rows
    priced = [row for row in rows if row.usd_per_mtok is not None]
    metered = [row for row in rows if row.j_per_token is not None]
    if priced:
        yield f"cheapest: {_name(min(priced, key=lambda row: row.usd_per_mtok or 0))}"
    if metered:
        yield f"least energy: {_name(min(metered, key=lambda row: row.j_per_token or 0))}"
    yield f"fastest: {_name(min(rows, key=lambda row: row.call_s))}"


def _name(row: "Row") -> str:
    return f"{_count(row)}{row.device} {row.weight_format}, batch {row.batch}"


def _rejected_lines(rows: Sequence["RejectedRow"], top: int) -> Iterator[str]:
    """One line an option that keeps the promise at no batch: the batch that comes nearest, and why not."""
    nearest: dict[str, RejectedRow] = {}
    for row in rows:
        if row.label not in nearest or _excess(row) < _excess(nearest[row.label]):
            nearest[row.label] = row
    shown = sorted(nearest.values(), key=_excess)
    if not shown:
        return
    yield "out, nearest first:"
    for row in shown[:top]:
        batch = "" if row.batch is None else f", batch {row.batch}"
        yield f"  {row.label}{batch}: {'; '.join(row.reasons)}"
    if len(shown) > top:
        yield f"  ... and {len(shown) - top:,} more (--top, --json)"


def _excess(row: "RejectedRow") -> tuple[bool, float]:
    """What fits comes before what does not: only it was judged for its speed."""
    is_too_large = row.reasons[0].startswith("does not fit")
    return is_too_large, math.inf if row.excess_fraction is None else row.excess_fraction
