"""Receipts as text: a line for a list, a few lines after an answer, and the whole story."""

from collections.abc import Iterator
from datetime import datetime

from teto.physics.cost import Cost
from teto.physics.energy import Energy
from teto.receipt import CloudRun, LocalRun, Phase, Receipt
from teto.triage.policy import Promise
from teto.units import show_bytes, show_flops, show_fraction, show_joules, show_rate, show_seconds, show_usd

__all__ = ["list_line", "story", "summary"]


def _when(receipt: Receipt) -> str:
    return datetime.fromtimestamp(receipt.created_s).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _money(cost: Cost) -> str:
    return "unknown" if cost.usd is None else show_usd(cost.usd)


def _energy(energy: Energy) -> str:
    if energy.joules is None:
        return f"unknown ({energy.note})"
    return f"{show_joules(energy.joules)} ({energy.kind}, {energy.boundary}; {energy.note})"


def _route(receipt: Receipt) -> str:
    return f"{receipt.route}{' (degraded)' if receipt.degraded else ''}"


def list_line(receipt: Receipt) -> str:
    """One line: when, id, route, status, task, confidence, times and money."""
    sure = "    -" if receipt.decision.confidence is None else f"{receipt.decision.confidence:.3f}"
    return (
        f"{_when(receipt)}  {receipt.id}  {_route(receipt):16}  {receipt.status}  {receipt.decision.task:10}  "
        f"{sure}  {show_seconds(receipt.total_s):>8}  {_money(receipt.cost):>12}  {receipt.decision.decisive}"
    )


def _phase_line(name: str, phase: Phase | None) -> str:
    if phase is None:
        return f"  {name:8} unknown: it was stopped before its first token"
    if phase.tokens == 0:
        return f"  {name:8} nothing to do"
    rate = show_rate(phase.tokens / phase.seconds, "tok") if phase.seconds > 0 else "-"
    line = f"  {name:8} {phase.tokens} tokens in {show_seconds(phase.seconds)} ({rate})"
    if phase.bytes_read is not None and phase.flops is not None:
        line += f"; {show_bytes(phase.bytes_read)}, {show_flops(phase.flops)}"
    if phase.ceiling_fraction is not None and phase.ceiling_s is not None:
        line += (
            f"; ceiling {show_seconds(phase.ceiling_s)}, reached {show_fraction(phase.ceiling_fraction)}, "
            f"bound: {phase.bound}"
        )
    return line


def summary(receipt: Receipt) -> Iterator[str]:
    """The receipt that follows an answer."""
    yield f"receipt {receipt.id}: {_route(receipt)}, {show_seconds(receipt.total_s)}. {receipt.decision.decisive_text}"
    if receipt.local is not None:
        yield from _local_lines(receipt.local)
    if receipt.cloud is not None:
        yield _cloud_line(receipt.cloud)
    yield from _privacy_lines(receipt)
    yield f"  cost     {_money(receipt.cost)}; had all gone up: {_money(receipt.cost_had_all_gone_up)}"
    yield f"  energy   {_energy(receipt.energy)}"


def _privacy_lines(receipt: Receipt) -> Iterator[str]:
    rule = receipt.decision.privacy
    if rule is not None:
        yield f"  privacy  local-only by the rule {rule!r}: nothing of it was sent to a cloud"


def _truth_lines(receipt: Receipt) -> Iterator[str]:
    truth, texts = receipt.truth, receipt.texts
    if truth is not None:
        by = "the cloud's answer" if truth.source == "cloud" else "a person"
        known = {True: "right", False: "wrong", None: "unknown"}[truth.right]
        yield f"  truth    the local answer is {known}, by {by}; drawn with chance {truth.inclusion_fraction:g}"
    if texts is not None:
        for name, text in (("asked", texts.asked), ("local", texts.local), ("cloud", texts.cloud)):
            if text is not None:
                yield f"\n{name}:"
                yield from (f"  | {line}" for line in text.split("\n"))


def _promise_line(promise: Promise) -> str:
    risk = "P(kept and wrong)" if promise.rule == "marginal" else "P(wrong | kept)"
    return (
        f"  promise  {risk} at most {show_fraction(promise.bound)} (alpha {show_fraction(promise.alpha)}), with "
        f"probability {show_fraction(1 - promise.delta)}; from {promise.n:,} judged calls, certified {promise.standing}"
    )


def _local_lines(run: LocalRun) -> Iterator[str]:
    yield (
        f"  local    {run.model} on {run.engine}: {run.outcome}; {run.prompt_tokens} prompt tokens "
        f"({run.cached_tokens} cached), {run.output_tokens} out, waited {show_seconds(run.queue_s)}"
    )
    yield _phase_line("prefill", run.prefill)
    yield _phase_line("decode", run.decode)
    for extra in run.extra:
        yield (
            f"  beside   {extra.kind}: {extra.prompt_tokens} prompt tokens, {extra.output_tokens} out, "
            f"{show_seconds(extra.seconds)}"
        )


def _cloud_line(run: CloudRun) -> str:
    tokens = "no usage"
    if run.tokens is not None:
        tokens = f"{run.tokens.input_total} tokens in, {run.tokens.output_total} out"
    first = "" if run.first_token_s is None else f", first token {show_seconds(run.first_token_s)}"
    ended = f"; {run.note}" if run.note else ""
    return (
        f"  cloud    {run.upstream} {run.model}: status {run.status}, {tokens}{first}, "
        f"{show_seconds(run.total_s)}{ended}"
    )


def story(receipt: Receipt) -> Iterator[str]:
    """Everything about one receipt: what was asked, what was decided and why, what it cost."""
    decision = receipt.decision
    yield f"receipt  {receipt.id}"
    yield f"  at       {_when(receipt)}, mode {receipt.mode}, model asked for: {receipt.requested_model}"
    yield (
        f"  answer   {_route(receipt)}, status {receipt.status}, finish {receipt.finish_reason or '-'}, "
        f"{'streamed' if receipt.stream else 'whole'}"
    )
    first = "" if receipt.first_token_s is None else f", first token {show_seconds(receipt.first_token_s)}"
    yield f"  time     {show_seconds(receipt.total_s)}{first}"
    yield from _privacy_lines(receipt)
    yield ""
    yield f"decision {decision.verdict}, task {decision.task}, settled by: {decision.decisive}"
    if decision.confidence is not None and decision.threshold is not None:
        kind = "uncalibrated: chosen, not measured" if decision.promise is None else f"score {decision.score_id}"
        yield f"  confidence {decision.confidence:.4f}, threshold {decision.threshold:g} ({kind})"
    if decision.promise is not None:
        yield _promise_line(decision.promise)
    for number, reason in enumerate(decision.reasons, 1):
        yield f"  {number}. {reason.text} [{reason.code}]"
    yield from _truth_lines(receipt)
    if receipt.local is not None:
        yield ""
        yield "local run"
        yield from _local_lines(receipt.local)
        yield f"  counted  {receipt.local.count_source}; engine {receipt.local.fingerprint}"
        for name, phase in (("prefill", receipt.local.prefill), ("decode", receipt.local.decode)):
            if phase is not None and phase.tokens:
                yield f"  energy   {name}: {_energy(phase.energy)}"
    if receipt.cloud is not None:
        yield ""
        yield "cloud run"
        yield _cloud_line(receipt.cloud)
        if receipt.cloud.tokens is not None:
            yield f"  counted  {receipt.cloud.tokens.rule}"
    yield ""
    yield f"cost     {_money(receipt.cost)} ({receipt.cost.note})"
    yield f"  had all gone up: {_money(receipt.cost_had_all_gone_up)} ({receipt.cost_had_all_gone_up.note})"
    yield f"energy   {_energy(receipt.energy)}"
