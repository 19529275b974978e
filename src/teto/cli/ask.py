"""`teto ask`."""

import contextlib
import socket
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

from teto.errors import TetoError, UnavailableError

if TYPE_CHECKING:
    from teto.config import Settings

__all__ = ["ask"]


@click.command()
@click.argument("question")
@click.option(
    "--model",
    default="teto/auto",
    show_default=True,
    help="teto/auto, teto/local, teto/cloud, or a routed name.",
)
@click.option("--system", help="A system message.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Limit of the answer.")
@click.option("--json", "as_json", is_flag=True, help="The answer and the receipt as one JSON object.")
@click.pass_context
def ask(
    ctx: click.Context,
    question: str,
    model: str,
    system: str | None,
    max_tokens: int | None,
    *,
    as_json: bool,
) -> None:
    """Ask one question and see the answer and its receipt; uses the running gateway, or starts one for it."""
    from teto.cli import wiring
    from teto.cli.server import run_loop

    messages = [{"role": "system", "content": system}] if system else []
    body: dict[str, Any] = {
        "model": model,
        "messages": [*messages, {"role": "user", "content": question}],
        "stream": not as_json,
    }
    if max_tokens is not None:
        body["max_tokens"] = max_tokens
    run_loop(_ask(wiring.load_settings(ctx), body, as_json=as_json))


async def _ask(settings: "Settings", body: dict[str, Any], *, as_json: bool) -> int:
    async with _gateway(settings) as url:
        if as_json:
            await _print_json(url, body)
        else:
            await _print_answer(url, body)
    return 0


@contextlib.asynccontextmanager
async def _gateway(settings: "Settings") -> AsyncIterator[str]:
    """The URL of the running gateway, or of one that lives as long as this context."""
    import aiohttp

    from teto.cli import server, wiring
    from teto.cli.client import call, root_url

    url, running = root_url(settings), False
    with contextlib.suppress(TetoError):  # only of the look whether one runs
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=3)) as session:
            running = "mode" in await call(session, "GET", f"{url}/health")
    if running:
        yield url
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        async with (
            wiring.open_gateway(settings, lambda text: click.echo(f"teto: {text}", err=True)) as app,
            server.run_in_background(app, listener),
        ):
            yield f"http://127.0.0.1:{port}"


async def _print_json(url: str, body: dict[str, Any]) -> None:
    import aiohttp
    import msgspec

    from teto.cli.client import call, headers

    async with aiohttp.ClientSession() as session:
        async with session.post(f"{url}/v1/chat/completions", json=body, headers=headers()) as response:
            answer = await response.json(content_type=None)
            receipt_id = response.headers.get("x-teto-receipt")
        receipt = await call(session, "GET", f"{url}/teto/receipts/{receipt_id}") if receipt_id else None
    click.echo(msgspec.json.format(msgspec.json.encode({"answer": answer, "receipt": receipt})))
    if response.status != 200:
        raise UnavailableError(_error_text(answer))


async def _print_answer(url: str, body: dict[str, Any]) -> None:
    import aiohttp
    import msgspec

    from teto.cli import render
    from teto.cli.client import call, headers
    from teto.receipt import Receipt

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:
        async with session.post(f"{url}/v1/chat/completions", json=body, headers=headers()) as response:
            if response.status != 200:
                raise UnavailableError(_error_text(await response.json(content_type=None)))
            if response.content_type == "text/event-stream":
                await _print_stream(response)
            else:  # some clouds answer whole whatever was asked
                whole = await response.json(content_type=None)
                click.echo(whole["choices"][0]["message"].get("content") or "", nl=False)
            receipt_id = response.headers["x-teto-receipt"]
        raw = await call(session, "GET", f"{url}/teto/receipts/{receipt_id}")
    click.echo("\n")
    for line in render.summary(msgspec.convert(raw, Receipt)):
        click.echo(line)


async def _print_stream(response: Any) -> None:
    import orjson

    from teto.wire.sse import SseSplitter

    splitter = SseSplitter()
    async for part in response.content.iter_any():
        for event in splitter.feed(part):
            if event.data is None or event.data == b"[DONE]":
                continue
            body = orjson.loads(event.data)
            if "error" in body:
                raise UnavailableError(_error_text(body))
            for choice in body["choices"]:
                click.echo(choice["delta"].get("content") or "", nl=False)


def _error_text(body: Any) -> str:
    error = body.get("error") if isinstance(body, dict) else None
    return str(error.get("message") if isinstance(error, dict) else body)
