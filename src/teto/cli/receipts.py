"""`teto receipts`."""

import asyncio
import re
import time
from typing import TYPE_CHECKING

import click

from teto.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from teto.config import Settings
    from teto.receipt import Receipt

__all__ = ["receipts"]

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class _Ago(click.ParamType[float]):
    """A length of time such as 30m, 12h or 7d."""

    name = "30m|12h|7d"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", str(value))
        if found is None:
            self.fail(f"{value!r} is no length of time; write 30m, 12h or 7d.", param, ctx)
        return float(found[1]) * _UNITS_S[found[2]]


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--since", "since_s", type=_Ago(), help="Only those of the last 30m, 12h, 7d ...")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="At most this many, the newest.",
)
@click.pass_context
def receipts(ctx: click.Context, *, as_json: bool, since_s: float | None, limit: int) -> None:
    """List receipts, the newest first, or tell the story of one."""
    if ctx.invoked_subcommand is not None:
        return
    import msgspec

    from teto.cli import render, wiring

    found = asyncio.run(_recent(wiring.load_settings(ctx), since_s, limit))
    for receipt in found:
        click.echo(msgspec.json.encode(receipt).decode() if as_json else render.list_line(receipt))
    if not found and not as_json:
        click.echo("No receipts yet: ask something with `teto ask`, or through `teto serve`.")


async def _recent(settings: "Settings", since_s: float | None, limit: int) -> "Sequence[Receipt]":
    from teto.cli import wiring

    ledger = wiring.open_ledger(settings)
    try:
        return await ledger.recent(limit=limit, since_s=None if since_s is None else time.time() - since_s)
    finally:
        await ledger.close()


@receipts.command()
@click.argument("receipt_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def show(ctx: click.Context, receipt_id: str, *, as_json: bool) -> None:
    """Tell the whole story of one: what was decided, why, and what it cost, prefill and decode apart."""
    import msgspec

    from teto.cli import render, wiring

    receipt = asyncio.run(find_receipt(wiring.load_settings(ctx), receipt_id))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(receipt)))
        return
    for line in render.story(receipt):
        click.echo(line)


async def find_receipt(settings: "Settings", receipt_id: str) -> "Receipt":
    """The receipt of that id from the ledger.

    Raises:
        UnknownNameError: there is none.
    """
    from teto.cli import wiring

    ledger = wiring.open_ledger(settings)
    try:
        receipt = await ledger.find(receipt_id)
    finally:
        await ledger.close()
    if receipt is None:
        raise UnknownNameError(f"No receipt has the id {receipt_id!r}.", fix="See `teto receipts`.")
    return receipt
