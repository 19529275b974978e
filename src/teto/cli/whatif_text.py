"""The answers of `teto whatif` for people."""

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from teto.cli.table import bullets, table
from teto.units import show_bytes, show_seconds, show_usd

if TYPE_CHECKING:
    from teto.cli.whatif_answers import (
        About,
        BatchAnswer,
        CallsAnswer,
        DocumentAnswer,
        HardwareAnswer,
        LengthAnswer,
        QuantAnswer,
        SpeculateAnswer,
    )
    from teto.physics.calls import CallTime

__all__ = [
    "batch_lines",
    "calls_lines",
    "document_lines",
    "hardware_lines",
    "length_lines",
    "quant_lines",
    "speculate_lines",
]


def _head(about: "About", what: str, *, is_formatted: bool = True) -> Iterator[str]:
    several = f"{about.n_devices} x " if about.n_devices > 1 else ""
    weights = f" {about.weight_format or 'in mixed formats'}" if is_formatted else ""
    yield f"{about.model}{weights} on {several}{about.device}: {what} ({about.kind})"


def _foot(about: "About") -> Iterator[str]:
    if about.fit is not None:
        yield f"fit: {about.fit}"
    for note in about.notes:
        yield f"note: {note}"


def _left(free_bytes: float | None) -> str:
    if free_bytes is None:
        return "unknown"
    return show_bytes(free_bytes) if free_bytes >= 0 else f"lacks {show_bytes(-free_bytes)}"


def quant_lines(found: "QuantAnswer") -> Iterator[str]:
    """Formats side by side."""
    yield from _head(found.about, f"one request at {found.context_tokens:,} tokens of context", is_formatted=False)
    yield from table(
        (
            "format",
            "weights",
            "read/step",
            "step",
            "tok/s",
            "speed",
            f"prefill of {found.prompt_tokens:,}",
            "memory left",
            "bound",
        ),
        [
            (
                one.name,
                show_bytes(one.resident_bytes),
                show_bytes(one.step_bytes),
                show_seconds(one.step_s),
                f"{one.tokens_per_s:,.1f}",
                f"x{one.speed_ratio:.2f}",
                show_seconds(one.prefill_s),
                _left(one.free_bytes),
                one.bound,
            )
            for one in found.options
        ],
    )
    yield from bullets(
        (
            "fewer bytes of each weight are less to read for each token: a format moves latency as much as memory",
            "what it costs in quality is measured on your own calls, not assumed here",
        )
    )
    yield from _foot(found.about)


def batch_lines(found: "BatchAnswer") -> Iterator[str]:
    """Batches side by side, and what ends them."""
    yield from _head(found.about, f"requests that share each step, at {found.context_tokens:,} tokens of context each")
    yield from table(
        ("batch", "step", "tok/s each", "tok/s in all", "in all", "read/token", "KV", "memory left", "bound"),
        [
            (
                f"{one.batch:,}",
                show_seconds(one.step_s),
                f"{one.tokens_per_s_each:,.1f}",
                f"{one.tokens_per_s:,.1f}",
                f"x{one.aggregate_ratio:.2f}",
                show_bytes(one.bytes_per_token),
                show_bytes(one.kv_bytes),
                _left(one.free_bytes),
                one.bound,
            )
            for one in found.options
        ],
    )
    yield from bullets(found.end.reasons)
    yield from _foot(found.about)


def hardware_lines(found: "HardwareAnswer") -> Iterator[str]:
    """Limits multiplied, phase by phase."""
    yield from _head(found.about, "what more hardware would move")
    decode = f"decode step, batch {found.batch} at {found.context_tokens:,}"
    yield from table(
        ("device", decode, "gain", f"prefill of {found.prompt_tokens:,}", "gain"),
        [
            (
                one.name,
                show_seconds(one.decode_s),
                f"{one.decode_gain_fraction * 100:+.0f} %",
                show_seconds(one.prefill_s),
                f"{one.prefill_gain_fraction * 100:+.0f} %",
            )
            for one in found.options
        ],
    )
    yield f"- {found.decode_bound} binds decode here, {found.prefill_bound} prefill: pay only for what binds"
    yield from _foot(found.about)


def speculate_lines(found: "SpeculateAnswer") -> Iterator[str]:
    """One way to speculate."""
    one = found.found
    yield from _head(found.about, f"{one.draft_tokens} tokens proposed by {found.draft}, {one.batch} at once")
    yield f"tokens a pass    {one.tokens_per_pass:.3f} at an acceptance of {one.acceptance_fraction:g}"
    yield f"plain step       {show_seconds(one.plain_s)}"
    yield f"check            {show_seconds(one.check_s)}"
    yield f"draft            {show_seconds(one.draft_s)}"
    yield (
        f"speed            x{one.speed_ratio:.2f}: {found.tokens_per_s_before:,.1f} tok/s to "
        f"{found.tokens_per_s_after:,.1f} for each request"
    )
    yield from bullets(one.reasons)
    yield from _foot(found.about)


def calls_lines(found: "CallsAnswer") -> Iterator[str]:
    """Two kinds of call."""
    yield from _head(found.about, "two kinds of call, each alone")
    yield from table(
        ("call", "prefill", "decode", "in all", "decode's share", "a token read", "a token written"),
        [_call_row(one) for one in (found.found.first, found.found.second)],
    )
    times = found.ratio if found.ratio >= 1 else 1 / found.ratio
    which = "second" if found.ratio >= 1 else "first"
    yield f"the {which} takes {times:,.1f} times as long"
    yield from bullets(found.found.reasons)
    yield from _foot(found.about)


def _call_row(one: "CallTime") -> tuple[str, ...]:
    written = "-" if one.output_token_s is None else show_seconds(one.output_token_s)
    return (
        f"{one.tokens.prompt_tokens:,} in, {one.tokens.output_tokens:,} out",
        show_seconds(one.prefill_s),
        show_seconds(one.decode_s),
        show_seconds(one.total_s),
        f"{one.decode_fraction:.1%}",
        show_seconds(one.prompt_token_s),
        written,
    )


def document_lines(found: "DocumentAnswer") -> Iterator[str]:
    """A long document, read whole."""
    one = found.found
    pages = ""
    if found.pages is not None:
        assumed = " (assumed)" if found.is_page_assumed else ""
        pages = f"{found.pages:g} pages of {found.tokens_per_page:g} tokens{assumed}, "
    yield from _head(found.about, f"a document of {pages}{one.document_tokens:,} tokens")
    yield f"fits             {'yes' if one.fits else 'no'}"
    yield f"KV               {show_bytes(one.memory.kv_bytes)} with an answer of {one.answer_tokens:,} tokens"
    yield f"prefill          {show_seconds(one.prefill_s)} before the first word"
    yield (
        f"answer           {show_seconds(one.answer_s)}; a token takes {show_seconds(one.last_step_s)}, "
        f"on an empty context {show_seconds(one.first_step_s)}"
    )
    longest = found.longest_document_tokens
    in_pages = "" if found.tokens_per_page is None else f", {longest / found.tokens_per_page:,.0f} pages"
    yield f"longest          a document of {longest:,} tokens{in_pages}"
    yield from bullets(one.reasons)
    yield from _foot(found.about)


def length_lines(found: "LengthAnswer") -> Iterator[str]:
    """The bill against the length of the answer."""
    promises = []
    if found.promise.tpot_s is not None:
        promises.append(f"{show_seconds(found.promise.tpot_s)} a token")
    if found.promise.total_s is not None:
        promises.append(f"{show_seconds(found.promise.total_s)} an answer")
    promised = " and ".join(promises) or "nothing"
    yield from _head(found.about, f"longer answers, promised: {promised}")
    rows = []
    for one, usd in zip(found.options, found.usd_per_call, strict=True):
        row = [
            f"{one.tokens.prompt_tokens:,} in, {one.tokens.output_tokens:,} out",
            f"{one.batch:,}",
            "-" if one.tpot_s is None else show_seconds(one.tpot_s),
            "-" if one.device_s is None else show_seconds(one.device_s),
            "-" if usd is None else show_usd(Decimal(str(usd))),
            "-" if one.cost_ratio is None else f"x{one.cost_ratio:.2f}",
            one.constraint,
        ]
        rows.append(row)
    yield from table(("call", "at once", "a token", "device time a call", "dollars", "bill", "limit"), rows)
    for verdict in found.verdicts:
        yield from bullets(verdict)
    yield from _foot(found.about)
