"""Prints the answer of `teto ceiling` for people, and as JSON."""

import math
from typing import TYPE_CHECKING

import click

from teto.units import show_bytes, show_flops, show_fraction, show_joules, show_rate, show_seconds

if TYPE_CHECKING:
    from teto.cli.ceiling_answer import Answer, DevicePart, LoadPart, ModelPart, PhasePart
    from teto.physics.device import Device
    from teto.physics.judgement import Judgement
    from teto.physics.memory import Fitting

__all__ = ["print_answer", "print_plain"]

_LEFT = 14
_COLUMN = 42


def print_plain(
    device: "Device", weight_bytes: float, tokens_per_s: float, judgement: "Judgement | None", *, batch: int
) -> None:
    """The one division, with its figures."""
    read = show_rate(device.mem_bandwidth_bytes_per_s, "B")
    click.echo(f"decode ceiling  {_floored(tokens_per_s)} tok/s = {read} / {show_bytes(weight_bytes)} a token")
    if batch > 1:
        click.echo(f"batch of {batch:<6} {_floored(batch * tokens_per_s)} tok/s in all, while KV and FLOPs are small")
    click.echo("every token reads all weights once; KV, efficiency and overhead only take from this")
    if judgement is not None:
        _print_judgement(judgement)


def print_answer(found: "Answer") -> None:
    """Model and device, both phases side by side, the waterfall, the levers, memory and money."""
    _print_heads(found.model, found.device)
    click.echo()
    _print_phases(found)
    click.echo()
    _print_waterfall(found)
    if found.load is not None:
        _print_load(found.load)
    click.echo()
    _print_levers(found)
    click.echo()
    if found.memory is not None:
        _print_memory(found.memory, found.context_tokens, found.decode.batch)
    low, high = found.readers
    click.echo(f"{'readers':{_LEFT}} {low:,} to {high:,} people who read 10 to 7 tok/s at this batch")
    if found.judgement is not None:
        _print_judgement(found.judgement)
    if found.fit is not None:
        click.echo(f"{'fit':{_LEFT}} {found.fit}")
    for note in found.notes:
        click.echo(f"{'note':{_LEFT}} {note}")


def _floored(tokens_per_s: float) -> str:
    """A ceiling is never rounded up."""
    return f"{math.floor(tokens_per_s):,}" if tokens_per_s >= 10 else f"{math.floor(tokens_per_s * 10) / 10:.1f}"


def _print_heads(model: "ModelPart", device: "DevicePart") -> None:
    active = f", {model.active_params / 1e9:.2f} B active without the input table" if model.is_moe else ""
    exact = "tensor-exact" if model.is_exact else "from its shape"
    click.echo(
        f"{'model':{_LEFT}} {model.name}, {model.total_params / 1e9:.2f} B parameters{active}; "
        f"{model.format or 'mixed formats'}: {show_bytes(model.resident_bytes)} held, "
        f"{show_bytes(model.decode_bytes)} read a token ({exact})"
    )
    rate = "multiply rate unknown"
    if device.flops_per_s is not None and device.ridge_flops_per_byte is not None:
        rate = f"{show_rate(device.flops_per_s, 'FLOP')} {device.dtype}, ridge {device.ridge_flops_per_byte:.1f} FLOP/B"
    several = f"{device.n_devices} x " if device.n_devices > 1 else ""
    read = show_rate(device.mem_bandwidth_bytes_per_s, "B")
    click.echo(f"{'device':{_LEFT}} {several}{device.name}, {read}, {rate} ({device.kind})")
    click.echo(f"{'KV':{_LEFT}} {show_bytes(model.kv_bytes_per_token)} a token")


def _print_phases(found: "Answer") -> None:
    prefill, decode = found.prefill, found.decode
    left = f"prefill of {prefill.tokens:,} tokens"
    right = f"decode step at {found.context_tokens:,} tokens, batch {decode.batch}"
    click.echo(f"{'':{_LEFT}} {left:{_COLUMN}} {right}")
    for label, one, other in zip(_LABELS, _phase_lines(prefill), _phase_lines(decode), strict=True):
        if one or other:
            click.echo(f"{label:{_LEFT}} {one:{_COLUMN}} {other}")


_LABELS = ("bytes", "FLOPs", "intensity", "ceiling", "estimate", "band", "bound", "energy", "dollars")


def _phase_lines(part: "PhasePart") -> tuple[str, ...]:
    estimate = band = ""
    if part.estimate_s is not None and part.estimate_tokens_per_s is not None:
        estimate = _speed(part, part.estimate_s, f"{part.estimate_tokens_per_s:,.1f}")
        band = "unknown here"
    if part.estimate_band_s is not None:
        low, high = part.estimate_band_s
        band = f"{show_seconds(low)} to {show_seconds(high)}"
    joules = part.joules_per_token_at_most
    return (
        f"{show_bytes(part.bytes)} ({show_bytes(part.kv_bytes)} KV)",
        show_flops(part.flops),
        f"{part.intensity_flops_per_byte:,.1f} FLOP/B",
        f"longer than {show_seconds(part.ceiling_s)}"
        if part.bound == "unknown"
        else _speed(part, part.ceiling_s, _floored(part.ceiling_tokens_per_s)),
        estimate,
        band,
        part.bound,
        "" if joules is None else f"at most {show_joules(joules)}/token (rated power)",
        "" if part.usd_per_mtok is None else f"${part.usd_per_mtok:,.4f} per million tokens",
    )


def _speed(part: "PhasePart", seconds: float, tokens_per_s: str) -> str:
    text = f"{show_seconds(seconds)}, {tokens_per_s} tok/s"
    if part.batch == 1:
        return text
    aggregate = part.tokens / seconds * (part.ceiling_tokens_per_s * part.ceiling_s)
    return f"{text} each, {math.floor(aggregate):,} in all"


def _print_waterfall(found: "Answer") -> None:
    part = found.decode
    rungs = part.waterfall + (() if found.load is None else found.load.waterfall)
    total_s = sum(rung.seconds for rung in rungs)
    click.echo("from the ceiling down, one decode step")
    for rung in rungs:
        share = rung.seconds / total_s
        click.echo(f"  {rung.cause:22} {show_seconds(rung.seconds):>9}  {'#' * round(40 * share)}")


def _print_load(load: "LoadPart") -> None:
    click.echo(
        f"{'under load':{_LEFT}} {load.concurrency:,} users: {load.running:,.1f} decode at once, "
        f"{load.waiting:,.0f} wait for one of {load.slots:,} slots; "
        f"{show_fraction(load.utilisation_fraction)} of what it can do"
    )
    click.echo(
        f"{'':{_LEFT}} first token after {show_seconds(load.ttft_s)}, then one each {show_seconds(load.itl_s)}; "
        f"{load.tokens_per_s:,.0f} tok/s in all (means)"
    )


def _print_levers(found: "Answer") -> None:
    click.echo("what would help decode")
    for lever in found.levers:
        click.echo(f"  {lever.name:38} {lever.gain_fraction * 100:+.0f} %")


def _print_memory(memory: "Fitting", context_tokens: int, batch: int) -> None:
    whole = f"{show_bytes(memory.memory_bytes)} less {show_bytes(memory.other_bytes)} used by others"
    held = f"weights {show_bytes(memory.weight_bytes)}, KV {show_bytes(memory.kv_bytes)}"
    if not memory.fits:
        click.echo(f"{'memory':{_LEFT}} does not fit by {show_bytes(-memory.free_bytes)}: {held}, of {whole}")
        return
    click.echo(f"{'memory':{_LEFT}} {held}, {show_bytes(memory.free_bytes)} free, of {whole}")
    click.echo(
        f"{'':{_LEFT}} at most {memory.max_context_tokens:,} tokens of context at batch {batch}, "
        f"or {memory.max_sequences:,} sequences of {context_tokens:,}"
    )


def _print_judgement(judgement: "Judgement") -> None:
    click.echo(
        f"{'measured':{_LEFT}} {judgement.measured_tokens_per_s:,.1f} tok/s is "
        f"{show_fraction(judgement.fraction)} of the ceiling"
    )
    for reason in judgement.reasons:
        click.echo(f"{'':{_LEFT}} {reason}")
