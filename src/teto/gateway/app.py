"""The ASGI application: routes, reads bodies, watches for clients that leave, and turns errors into answers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from teto.errors import RequestError, TetoError, UnknownNameError
from teto.gateway import control
from teto.gateway.chat import ChatService
from teto.gateway.exchange import Exchange, Send
from teto.gateway.parts import ChatParts
from teto.wire.bodies import error_body, model_list, model_object
from teto.wire.chat import parse_chat_request

__all__ = ["App", "create_app"]

_LOG = logging.getLogger(__name__)
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Scope = MutableMapping[str, Any]


def create_app(parts: ChatParts) -> "App":
    """An application that serves with these parts; whoever made the parts also closes them."""
    return App(parts)


class App:
    """The gateway as an ASGI application on its `parts`; `service` holds the mode and what runs in the background."""

    def __init__(self, parts: ChatParts) -> None:
        self.parts = parts
        self.service = ChatService(parts)
        self._started_s = int(parts.clock.unix_s())

    @property
    def models(self) -> list[str]:
        """The model names that clients may use."""
        return self.parts.router.names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request; any other kind of connection is refused by not being handled."""
        if scope["type"] != "http":
            return
        arrived_s = self.parts.clock.monotonic_s()
        exchange = Exchange(send)
        try:
            await self._route(scope, receive, exchange, arrived_s)
        except TetoError as error:
            await _refuse(exchange, error)
        except _ClientGone:
            pass
        except Exception as fault:  # noqa: BLE001 - a defect of ours is answered in the form of the API, and logged
            _LOG.exception("%s %s", scope["method"], scope["path"])
            await _refuse(exchange, TetoError(f"The gateway failed: {type(fault).__name__}.", fix="See its log."))

    async def _route(self, scope: Scope, receive: Receive, exchange: Exchange, arrived_s: float) -> None:
        method, path = scope["method"], scope["path"].rstrip("/") or "/"
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if (method, path) == ("GET", "/health"):
            status, body = control.health(self.parts, self.service)
            await exchange.respond(status, {"content-type": "application/json"}, body)
            return
        control.authenticate(headers, self.parts.gateway.api_key_sha256)
        if (method, path) == ("POST", "/v1/chat/completions"):
            await self._chat(scope, receive, exchange, arrived_s)
            return
        if (method, path) == ("GET", "/teto/health"):
            await exchange.respond(200, {"content-type": "application/json"}, control.drift(self.parts, self.service))
            return
        if (method, path) == ("GET", "/v1/models"):
            body = model_list(self.parts.router.names, self._started_s)
        elif method == "GET" and path.startswith("/v1/models/"):
            body = model_object(self._known_model(path.removeprefix("/v1/models/")), self._started_s)
        elif (method, path) == ("GET", "/teto/receipts"):
            body = await control.list_receipts(self.parts, scope["query_string"].decode("latin-1"))
        elif method == "GET" and path.startswith("/teto/receipts/"):
            body = await control.show_receipt(self.parts, path.removeprefix("/teto/receipts/"))
        elif (method, path) == ("POST", "/teto/mode"):
            body = control.change_mode(self.service, headers, await self._body(receive))
        else:
            raise UnknownNameError(
                f"There is no {method} {path} here.",
                fix="See POST /v1/chat/completions and /teto/mode, GET /v1/models, /health, /teto/health and "
                "/teto/receipts.",
            )
        await exchange.respond(200, {"content-type": "application/json"}, body)

    def _known_model(self, name: str) -> str:
        self.parts.router.look_up(name)
        return name

    async def _body(self, receive: Receive) -> bytes:
        limit = self.parts.gateway.body_limit_bytes
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _ClientGone
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > limit:
                raise _BodyTooLargeError(f"The body is larger than gateway.body_limit_bytes ({limit}).")
            if not message.get("more_body", False):
                return b"".join(parts)

    async def _chat(self, scope: Scope, receive: Receive, exchange: Exchange, arrived_s: float) -> None:
        request = parse_chat_request(await self._body(receive))
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        work = asyncio.ensure_future(self.service.serve(request, exchange, headers=headers, arrived_s=arrived_s))
        # The server drops what is sent to a client that left, in silence: only receive() tells.
        watch = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            watch.cancel()
            if not work.done():
                work.cancel()
            results = await asyncio.gather(work, watch, return_exceptions=True)
        if isinstance(results[0], Exception):
            raise results[0]


async def _refuse(exchange: Exchange, error: TetoError) -> None:
    if not exchange.started:
        await exchange.respond(error.http_status, {"content-type": "application/json"}, error_body(error))


class _ClientGone(Exception):  # noqa: N818 - nothing failed: somebody left
    """The client closed the connection before its body was complete."""


class _BodyTooLargeError(RequestError):
    http_status = 413
    code = "body_too_large"


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
