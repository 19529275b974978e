"""Runs the gateway's application under uvicorn, in this process."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Coroutine
from typing import TYPE_CHECKING, Any

from teto.errors import ConfigError, PortTakenError

if TYPE_CHECKING:
    import uvicorn

    from teto.gateway.app import App

__all__ = ["bind", "new_server", "run_in_background", "run_loop", "serve_until_stopped"]

_BACKLOG = 2048
_GRACE_S = 2.0  # a server that is told to stop lets answers finish this long, then ends them with an error
_LAST_GRACE_S = 5


def bind(host: str, port: int, *, has_keys: bool) -> socket.socket:
    """Take the address before anything slow is done.

    Raises:
        ConfigError: an address that is not loopback, without keys.
        PortTakenError: another process has it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)  # now: a second server must fail here, and an early client must wait, not fail
    except OSError as error:
        listener.close()
        raise PortTakenError(
            f"{host}:{port} cannot be listened on: {error.strerror}.",
            fix="Stop the process that has it (perhaps another `teto serve`), or choose one with --port.",
        ) from None
    address = listener.getsockname()[0]
    if not has_keys and not (address.startswith("127.") or address == "::1"):
        listener.close()
        raise ConfigError(
            f"{host} can be reached from other machines, and gateway.api_key_sha256 is empty.",
            fix="Set gateway.api_key_sha256 to the sha256 of a key, or listen on 127.0.0.1.",
        )
    return listener


def new_server(app: "App") -> "uvicorn.Server":
    """A server for the application, quiet, with limits where the defaults have none."""
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            app,
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_LAST_GRACE_S,
        )
    )


async def serve_until_stopped(app: "App", listener: socket.socket) -> None:
    """Serve until a signal asks to stop; answers under way get a moment, then an error that says so."""
    server = new_server(app)
    ending = asyncio.create_task(_end_answers(server, app))
    try:
        await server.serve(sockets=[listener])
    finally:
        ending.cancel()
        await asyncio.gather(ending, return_exceptions=True)


async def _end_answers(server: "uvicorn.Server", app: "App") -> None:
    while not server.should_exit:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.1)
    await asyncio.sleep(_GRACE_S)
    app.service.stop()


@contextlib.asynccontextmanager
async def run_in_background(app: "App", listener: socket.socket) -> AsyncIterator[None]:
    """Serve while the context lasts."""
    server = new_server(app)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        yield
    finally:
        server.should_exit = True
        await serving


def run_loop(main: Coroutine[Any, Any, int]) -> int:
    """Run on uvloop where it exists."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)
