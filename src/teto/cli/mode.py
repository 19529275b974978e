"""`teto mode`."""

import asyncio
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from teto.config import Settings

__all__ = ["mode"]


@click.command()
@click.argument("wished", type=click.Choice(["auto", "observe", "local", "cloud"]), required=False)
@click.pass_context
def mode(ctx: click.Context, wished: str | None) -> None:
    """Show the mode of the running gateway, or switch it; `teto mode cloud` is the kill switch."""
    from teto.cli import wiring

    click.echo(asyncio.run(_mode(wiring.load_settings(ctx), wished)))


async def _mode(settings: "Settings", wished: str | None) -> str:
    import aiohttp

    from teto.cli.client import call, root_url

    url = root_url(settings)
    async with aiohttp.ClientSession() as session:
        if wished is None:
            return str((await call(session, "GET", f"{url}/health"))["mode"])
        switched = await call(session, "POST", f"{url}/teto/mode", {"mode": wished})
    return f"{switched['before']} → {switched['mode']}"
