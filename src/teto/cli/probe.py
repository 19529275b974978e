"""`teto probe`."""

import asyncio
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from teto.engines.tune import Tuning
    from teto.physics.device import Device

__all__ = ["probe"]


@click.command()
@click.option("--engine", "with_engine", is_flag=True, help="Also repeat the engine's tune.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def probe(ctx: click.Context, *, with_engine: bool, as_json: bool) -> None:
    """Measure this machine: how fast it reads memory and multiplies; with --engine, how the engine runs best."""
    import msgspec

    from teto.cli import wiring

    def tell(text: str) -> None:
        click.echo(f"teto: {text}", err=True)

    settings = wiring.load_settings(ctx)
    if with_engine:
        # Before anything is measured: a missing engine or missing weights should not cost a probe.
        wiring.require_engine_extra()
        wiring.open_store(settings).locate(settings.engine.weights)
    device = wiring.probe_here(again=True, progress=tell)
    tuning = asyncio.run(wiring.tune_here(settings, again=True, progress=tell)) if with_engine else None
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode({"device": device, "tuning": tuning})))
    else:
        _print(device, tuning)


def _print(device: "Device", tuning: "Tuning | None") -> None:
    from teto.units import show_rate

    click.echo(f"memory read  {show_rate(device.mem_bandwidth_bytes_per_s, 'B')}")
    for dtype, flops_per_s in device.flops_per_s.items():
        click.echo(f"multiply     {show_rate(flops_per_s, 'FLOP')} in {dtype}")
    click.echo(f"measured by  {device.source}")
    if tuning is not None:
        click.echo(f"engine       {tuning.variant}")
        click.echo(
            f"speed        prefill {tuning.measured.prefill_tokens_per_s:.1f} tok/s, "
            f"decode {tuning.measured.decode_tokens_per_s:.1f} tok/s "
            f"({len(tuning.tried)} variants, {tuning.seconds:.1f} s)"
        )
