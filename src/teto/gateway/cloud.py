"""One attempt at an upstream: its bytes go to the client as they come, while usage and timing are read from them."""

import hashlib
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any

import msgspec

from teto.errors import UpstreamCutError, UpstreamStatusError
from teto.gateway.exchange import Closing, Outlet
from teto.gateway.routing import Target
from teto.gateway.served import ServedCall
from teto.physics.cost import Cost, unknown_cost
from teto.ports import Clock, Upstream
from teto.receipt import CloudRun
from teto.traffic.tokens import TokenVector
from teto.wire.sse import DONE, SseSplitter
from teto.wire.usage import openai_usage

__all__ = ["CloudAttempt", "Price"]

Price = Callable[[Upstream, str, TokenVector, float], Cost]


class _Delta(msgspec.Struct, frozen=True):
    content: Any = None
    reasoning_content: Any = None
    tool_calls: Any = None


class _Choice(msgspec.Struct, frozen=True):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _Body(msgspec.Struct, frozen=True):
    """The few fields of an answer that a receipt needs, in a chunk or whole."""

    choices: list[_Choice] = []
    usage: Any = None
    error: Any = None


_DECODER = msgspec.json.Decoder(_Body)


def _message(error: Any) -> str:
    return str(error.get("message", error) if isinstance(error, dict) else error)[:300]


class CloudAttempt:
    """Sends the request up and relays the answer; `account` is right after any end, good or bad."""

    def __init__(self, call: ServedCall, target: Target, upstream: Upstream, *, clock: Clock, price: Price) -> None:
        self._call = call
        self._upstream = upstream
        self._model = target.upstream_model or upstream.facts.model
        self._clock = clock
        self._price = price
        self._start_s = clock.monotonic_s()
        self._first_s: float | None = None
        self._tokens: TokenVector | None = None
        self._finish_reason: str | None = None
        self._digest = hashlib.sha256()
        self._text: list[str] = []
        self._status: int | None = None
        self._done = False

    async def relay(self, exchange: Outlet) -> Closing:
        """Relay the answer but for its last bytes, which the caller sends once the receipt is kept.

        Raises:
            UpstreamError: before or after the response has started; `exchange.started` tells which.
        """
        body = self._call.request.body_for(self._model, ask_usage=True)
        try:
            async with self._upstream.send(body) as answer:
                self._status = 200
                if self._call.request.stream and answer.content_type.startswith("text/event-stream"):
                    return await self._relay_events(answer.chunks(), exchange, answer.content_type)
                return await self._read_whole(answer.chunks(), answer.content_type)
        except UpstreamStatusError as error:
            self._status = error.status
            raise

    async def _relay_events(self, chunks: AsyncIterator[bytes], exchange: Outlet, content_type: str) -> Closing:
        splitter = SseSplitter()
        async for chunk in chunks:
            passed = [event.raw for event in splitter.feed(chunk) if self._passes(event.data)]
            if passed:
                await self._begin(exchange, content_type)
                await exchange.write(b"".join(passed))
            if self._done:
                break
        passed = [event.raw for event in splitter.flush() if self._passes(event.data)]
        if self._finish_reason is None:
            raise self._cut("ended its stream without a finish")
        await self._begin(exchange, content_type)
        return Closing(body=b"".join(passed) + (DONE if self._done else b""), content_type=content_type)

    def _passes(self, data: bytes | None) -> bool:
        """Read an event; the end mark is kept for last, the usage that only teto asked for stays here."""
        if data is None:
            return True
        if data == b"[DONE]":
            self._done = True
            return False
        body = self._read(data)
        if body is not None and body.error is not None:
            raise self._cut(f"reports an error: {_message(body.error)}")
        only_usage = body is not None and not body.choices and body.usage is not None
        return not only_usage or self._call.request.wants_usage_chunk

    async def _begin(self, exchange: Outlet, content_type: str) -> None:
        if not exchange.started:
            self._call.route = "cloud"
            headers = {"content-type": content_type, "cache-control": "no-cache", **self._call.headers}
            await exchange.start(200, headers)

    async def _read_whole(self, chunks: AsyncIterator[bytes], content_type: str) -> Closing:
        whole = b"".join([chunk async for chunk in chunks])
        body = self._read(whole)
        if body is not None and body.error is not None:
            raise self._cut(f"reports an error: {_message(body.error)}")
        if body is None or not body.choices:
            raise self._cut("sent a body that is not a whole chat completion")
        return Closing(body=whole, content_type=content_type)

    def _cut(self, what: str) -> UpstreamCutError:
        name = self._upstream.facts.name
        return UpstreamCutError(f"The cloud {name!r} {what}.", upstream=name)

    def _read(self, data: bytes) -> _Body | None:
        try:
            body = _DECODER.decode(data)
        except (msgspec.DecodeError, RecursionError):
            return None
        self._tokens = openai_usage(body.usage) or self._tokens
        for choice in body.choices:
            self._finish_reason = choice.finish_reason or self._finish_reason
            delta = choice.delta or choice.message or _Delta()
            if delta.content or delta.reasoning_content or delta.tool_calls:
                self._mark_first_token()
                if isinstance(delta.content, str):
                    self._digest.update(delta.content.encode())
                    self._text.append(delta.content)
        return body

    def _mark_first_token(self) -> None:
        if self._first_s is None and self._call.request.stream:
            self._first_s = self._clock.monotonic_s()
            self._call.first_token_s = self._first_s - self._call.arrived_s

    @property
    def text(self) -> str | None:
        """The whole answer's text; None before its end."""
        return "".join(self._text) if self._finish_reason is not None else None

    def account(self, note: str = "") -> CloudRun:
        """What the upstream did, as far as it got."""
        if self._tokens is not None:
            cost = self._price(self._upstream, self._model, self._tokens, self._call.created_s)
        elif self._status not in {None, 200}:
            cost = Cost(usd=Decimal(0), note=f"refused with status {self._status}")
        else:
            cost = unknown_cost("the upstream sent no usage")
        return CloudRun(
            upstream=self._upstream.facts.name,
            model=self._model,
            status=self._status,
            finish_reason=self._finish_reason,
            tokens=self._tokens,
            first_token_s=None if self._first_s is None else self._first_s - self._start_s,
            total_s=self._clock.monotonic_s() - self._start_s,
            cost=cost,
            answer_sha256=self._digest.hexdigest() if self._finish_reason is not None else None,
            note=note,
        )
