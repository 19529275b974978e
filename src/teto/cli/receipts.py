"""`teto receipts`."""

import asyncio
import time
from typing import TYPE_CHECKING

import click

from teto.cli.ago import AGO
from teto.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from teto.config import Settings
    from teto.receipt import Receipt

__all__ = ["receipts"]


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--since", "since_s", type=AGO, help="Only those of the last 30m, 12h, 7d ...")
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


@receipts.command()
@click.option("--share", type=click.FloatRange(0, 1, min_open=True), required=True, help="Such as 0.05: one in twenty.")
@click.option("--since", "since_s", type=AGO, help="Only of the last 30m, 12h, 7d ...")
@click.pass_context
def draw(ctx: click.Context, *, share: float, since_s: float | None) -> None:
    """Draw local answers at random to be judged by you, and list those that still wait for it.

    Which ones depends on their ids alone, so drawing again gives the same ones, and a larger share adds to them.
    """
    from teto.cli import render, wiring
    from teto.cli.draws import draw_receipts

    found = asyncio.run(draw_receipts(wiring.load_settings(ctx), share, since_s))
    for receipt in found.waiting:
        click.echo(render.list_line(receipt))
    click.echo(
        f"{found.n_drawn:,} of {found.n_local:,} local answers are drawn, {len(found.waiting):,} wait for a judgement."
    )
    if found.waiting:
        click.echo("Judge each, kept or not: teto receipts label ID right|wrong")
        if not any(receipt.texts is not None for receipt in found.waiting):
            click.echo(
                "What was asked and said is not kept; with ledger.keep_texts on, `teto receipts show ID` has it."
            )


@receipts.command()
@click.argument("receipt_id", metavar="ID")
@click.argument("judgement", type=click.Choice(["right", "wrong"]))
@click.pass_context
def label(ctx: click.Context, receipt_id: str, judgement: str) -> None:
    """Say whether the local answer of a drawn call was right; `teto calibrate --from-receipts` uses it."""
    from teto.cli import wiring
    from teto.cli.draws import label_receipt

    asyncio.run(label_receipt(wiring.load_settings(ctx), receipt_id, right=judgement == "right"))
    click.echo(f"{receipt_id}: {judgement}")


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
