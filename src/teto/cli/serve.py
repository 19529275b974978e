"""`teto serve`."""

import json
import signal
import socket
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from teto.config import Settings

__all__ = ["serve"]


@click.command()
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=int, help="Port to listen on; 0 takes a free one.")
@click.option("--mode", type=click.Choice(["auto", "observe", "local", "cloud"]), help="Mode at start.")
@click.option("--weights", metavar="ID|FILE", help="Catalog id or .gguf file of the embedded engine.")
@click.pass_context
def serve(ctx: click.Context, host: str | None, port: int | None, mode: str | None, weights: str | None) -> None:
    """Serve the gateway: local first, cloud when unsure, a receipt for every answer."""
    from teto.cli import server, wiring

    flags = {"gateway.host": host, "gateway.port": port, "gateway.mode": mode, "engine.weights": weights}
    settings = wiring.load_settings(ctx, flags)
    listener = server.bind(settings.gateway.host, settings.gateway.port, has_keys=bool(settings.gateway.api_key_sha256))
    with listener:
        server.run_loop(_serve(settings, listener))


async def _serve(settings: "Settings", listener: socket.socket) -> int:
    from teto.cli import server, wiring

    async with wiring.open_gateway(settings, lambda text: click.echo(f"teto: {text}")) as app:
        _announce(settings, listener.getsockname(), app)
        # uvicorn raises the signal that ended it once more; here it has done its work.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        await server.serve_until_stopped(app, listener)
        click.echo("teto: stopping")
    return 0


def _announce(settings: "Settings", address: Any, app: Any) -> None:
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    base_url = f"http://{host}:{address[1]}/v1"
    clouds = ", ".join(f"{name} ({up.model})" for name, up in settings.upstreams.items()) or "none configured"
    question = "Is this review positive or negative? Answer with one word. Review: it broke on the first day"
    body = json.dumps({"model": "teto/auto", "messages": [{"role": "user", "content": question}]})
    key = ' -H "Authorization: Bearer $TETO_API_KEY"' if settings.gateway.api_key_sha256 else ""
    click.echo(f"\nteto serves {base_url}   (mode {app.service.mode}, cloud: {clouds})")
    click.echo(f"models: {', '.join(app.models)}")
    click.echo(f"try:\n  curl -s {base_url}/chat/completions -H 'Content-Type: application/json'{key} -d '{body}'\n")
