"""`teto devices`: what hardware the catalog knows, and where each figure comes from."""

from typing import TYPE_CHECKING, Any

import click

from teto.cli.asked import json_text
from teto.units import show_bytes, show_rate

if TYPE_CHECKING:
    from teto.catalog.devices import DeviceEntry, Fact

__all__ = ["devices"]

_FAMILIES = ("gddr", "hbm", "apple", "cpu", "apu", "npu")
_UNITS = {
    "mem_bandwidth_bytes_per_s": "B/s",
    "memory_bytes": "B",
    "power_w": "W",
    "link_bytes_per_s": "B/s",
    "rent_usd_per_h": "USD/h",
    "price_usd": "USD",
}


@click.group(invoke_without_command=True)
@click.pass_context
def devices(ctx: click.Context) -> None:
    """List the devices that teto knows, or show one with the source of each figure."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_devices)


@devices.command("list")
@click.option("--family", type=click.Choice(_FAMILIES), help="Only this kind of memory.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_devices(*, family: str | None = None, as_json: bool = False) -> None:
    """List devices by bandwidth."""
    from teto.catalog.devices import all_devices

    found = [entry for entry in all_devices() if family in {None, entry.family}]
    found.sort(key=lambda entry: entry.mem_bandwidth_bytes_per_s.value)
    if as_json:
        click.echo(json_text([_row(entry) for entry in found]))
        return
    width = max(len(entry.id) for entry in found)
    click.echo(
        f"{'id':{width}}  family  {'reads':>10}  {'holds':>8}  {'16-bit dense':>14}  {'FLOP/B':>6}  {'power':>6}"
    )
    for entry in found:
        click.echo(f"{entry.id:{width}}  {entry.family:6}  {_columns(entry)}")
    click.echo("unknown stays empty; `teto devices show ID` gives the source of each figure")


@devices.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_device(name: str, *, as_json: bool) -> None:
    """Show one device: every figure with its kind, source and date."""
    from teto.catalog.devices import find_device

    entry = find_device(name)
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(entry)).decode())
        return
    click.echo(f"{entry.name} ({entry.id}), family {entry.family}")
    for field, unit in _UNITS.items():
        _print_fact(field, getattr(entry, field), unit)
    for dtype in entry.flops_per_s.__struct_fields__:
        _print_fact(f"{dtype} dense", getattr(entry.flops_per_s, dtype), "FLOP/s")
    ridge = entry.ridge_flops_per_byte
    click.echo(f"{'ridge':27} {'unknown' if ridge is None else f'{ridge:.1f} FLOP/B in 16 bits'}")


def _print_fact(field: str, fact: "Fact | None", unit: str) -> None:
    if fact is None:
        click.echo(f"{field:27} unknown")
        return
    value = f"{fact.value:,.0f} {unit}" if unit in {"W", "USD"} else f"{fact.value:.4g} {unit}"
    click.echo(f"{field:27} {value:18} {fact.kind}, {fact.date}: {fact.source}")


def _columns(entry: "DeviceEntry") -> str:
    half, ridge = entry.half_precision, entry.ridge_flops_per_byte
    held = "" if entry.memory_bytes is None else show_bytes(entry.memory_bytes.value)
    rate = "" if half is None else show_rate(half.value, "FLOP")
    power = "" if entry.power_w is None else f"{entry.power_w.value:.0f} W"
    read = show_rate(entry.mem_bandwidth_bytes_per_s.value, "B")
    return f"{read:>10}  {held:>8}  {rate:>14}  {'' if ridge is None else f'{ridge:.0f}':>6}  {power:>6}"


def _row(entry: "DeviceEntry") -> dict[str, Any]:
    half = entry.half_precision
    return {
        "id": entry.id,
        "name": entry.name,
        "family": entry.family,
        "mem_bandwidth_bytes_per_s": entry.mem_bandwidth_bytes_per_s.value,
        "memory_bytes": None if entry.memory_bytes is None else entry.memory_bytes.value,
        "half_precision_flops_per_s": None if half is None else half.value,
        "ridge_flops_per_byte": entry.ridge_flops_per_byte,
        "power_w": None if entry.power_w is None else entry.power_w.value,
        "group": entry.group,
    }
