"""Serves chat completions: the life of each request, then its receipt, then its last bytes."""

import asyncio
import logging
import secrets
from collections.abc import Coroutine
from math import inf, nan
from typing import Any

from teto.config import Mode
from teto.errors import RequestError, StoppingError, TetoError, UpstreamStatusError
from teto.gateway.exchange import Exchange
from teto.gateway.life import Life
from teto.gateway.parts import ChatParts
from teto.gateway.privacy import Headers, PrivacyGuard, clean_error, clean_trace, sealed
from teto.gateway.routing import Target
from teto.gateway.served import ServedCall
from teto.gateway.settle import make_receipt
from teto.gateway.shared import Clouds, Shared
from teto.gateway.watch import DriftWatch
from teto.triage.privacy.find import redact
from teto.wire.bodies import error_body
from teto.wire.chat import ChatRequest
from teto.wire.sse import sse

__all__ = ["ChatService"]

_LOG = logging.getLogger(__name__)
_AGAIN = "Send the request again in a moment."
_CLIENT_GONE = 499  # what is written down for a client that left; nobody is there to read it


def _deadline_s(headers: Headers) -> float | None:
    """The client's deadline in seconds from arrival, from `x-teto-deadline-ms`; None where it states none.

    Raises:
        RequestError: not a number above 0.
    """
    stated = next((value for name, value in headers if name.lower() == "x-teto-deadline-ms"), None)
    if stated is None:
        return None
    try:
        deadline_ms = float(stated)
    except ValueError:
        deadline_ms = nan
    if not 0 < deadline_ms < inf:
        raise RequestError(f"x-teto-deadline-ms must be milliseconds above 0, found {stated!r}.")
    return deadline_ms / 1e3


class ChatService:
    """Serves chat completions. `mode` may be switched while it runs; a request keeps the mode it came in."""

    def __init__(self, parts: ChatParts) -> None:
        self._parts = parts
        self.mode: Mode = parts.gateway.mode
        watch = DriftWatch.of(
            parts.calibration,
            parts.policy.hold_back_tokens,
            delta=parts.drift.delta,
            baseline=parts.drift.baseline_disagreement,
            store=parts.drift_store,
        )
        self._shared = Shared(clouds=Clouds(parts.upstreams, parts.clock), watch=watch)
        self._guard = PrivacyGuard(parts.gateway.privacy)
        self._sealed = sealed(parts)  # what a private request is served with: it leads to no cloud
        self._background: set[asyncio.Task[None]] = set()
        self._active: set[asyncio.Task[Any]] = set()
        self._stopping = False

    async def serve(self, request: ChatRequest, exchange: Exchange, *, headers: Headers, arrived_s: float) -> None:
        """Answer one request. Cancelling this stops all its work and still leaves a receipt.

        Whether it may leave is decided first: nothing else is done with a request before.

        Raises:
            TetoError: before the response has started; afterwards an error becomes an event of the stream.
        """
        call = ServedCall(
            id=f"r-{int(self._parts.clock.unix_s() * 1e3):012x}{secrets.token_hex(4)}",
            request=request,
            mode=self.mode,
            arrived_s=arrived_s,
            created_s=self._parts.clock.unix_s(),
            deadline_s=_deadline_s(headers),
        )
        kept = await self._guard.judge(request, headers)
        if kept is None:
            target = self._parts.router.resolve(request.model, call.mode)
            life = Life(self._parts, self._shared, call, target, exchange)
        else:
            call.keep_here(kept.rule, kept.reason)
            target = self._sealed.router.resolve_private(redact(request.model), call.mode)
            life = Life(self._sealed, self._shared.sealed(self._parts.clock), call, target, exchange)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has a task
        self._active.add(task)
        task.add_done_callback(self._active.discard)
        try:
            closing = await life.run()
        except asyncio.CancelledError:
            if self._stopping:
                await self._fail(call, target, exchange, StoppingError("The gateway is being stopped.", fix=_AGAIN))
                return
            call.status = _CLIENT_GONE
            call.note("client_gone", "The client closed the connection.")
            self._in_background(self._settle(call, target))
            raise
        except TetoError as error:
            await self._fail(call, target, exchange, error)
            return
        except Exception as fault:  # noqa: BLE001 - see below
            # A defect of ours: the client gets an answer and the call a receipt all the same.
            if call.privacy is None:
                _LOG.exception("receipt %s", call.id)
            else:
                _LOG.error("receipt %s\n%s", call.id, clean_trace(fault))
            internal = TetoError(f"The gateway failed: {type(fault).__name__}.", fix="Its log has the details.")
            await self._fail(call, target, exchange, internal)
            return
        await self._settle(call, target)
        if life.afterwards.is_due:
            self._in_background(self._settle_later(life, call, target))
        await exchange.close(closing, call.headers)

    async def _fail(self, call: ServedCall, target: Target, exchange: Exchange, error: TetoError) -> None:
        if call.privacy is not None:
            clean_error(error)
        call.fail(error, error.http_status)
        if not exchange.started:
            call.route = "none"
        await self._settle(call, target)
        if exchange.started:  # never a clean end: an error event, and no end mark
            await exchange.finish(sse(error_body(error)))
            return
        headers = {"content-type": "application/json", **call.headers}
        body = error_body(error)
        if isinstance(error, UpstreamStatusError):
            if error.retry_after is not None:
                headers["retry-after"] = error.retry_after
            if error.passes_through and error.body:
                body = error.body  # the cloud explains best what it did not like
        await exchange.respond(call.status, headers, body)

    async def _settle(self, call: ServedCall, target: Target) -> None:
        parts = self._parts
        if call.total_s is None:
            call.total_s = parts.clock.monotonic_s() - call.arrived_s
        receipt = make_receipt(
            call,
            total_s=call.total_s,
            cloud=target.upstream,
            cloud_model=target.upstream_model,
            price=parts.price,
            keep_texts=parts.keep_texts,
        )
        try:
            await parts.ledger.append(receipt)
        except TetoError:
            # The answer is good and was paid for: a full disk must not take the gateway with it.
            _LOG.exception("receipt %s is lost", call.id)

    async def _settle_later(self, life: Life, call: ServedCall, target: Target) -> None:
        """The receipt again, once it is known what the client did not wait for."""
        await life.afterwards.run()
        await self._settle(call, target)

    @property
    def drift(self) -> dict[str, Any] | None:
        """What the drift alarms say; None where no calibration is watched."""
        return None if self._shared.watch is None else self._shared.watch.report()

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def stop(self) -> None:
        """End what is being answered, each with an error that says so."""
        self._stopping = True
        for task in tuple(self._active):
            task.cancel()

    async def drain(self) -> None:
        """Wait for receipts and shadows that are still being written."""
        while self._background:
            await asyncio.gather(*self._background, return_exceptions=True)
