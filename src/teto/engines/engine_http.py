"""JSON to an engine's server and events back, with the limits and the clean end that the HTTP client leaves out."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any

import aiohttp
import orjson

from teto.errors import EngineError
from teto.wire.sse import SseSplitter

__all__ = ["EngineHttp", "no_token_error"]


class EngineHttp:
    """A session with a server. Whatever breaks is an `aiohttp.ClientError`, for the engine to explain."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._answers: set[aiohttp.ClientResponse] = set()
        self._session = aiohttp.ClientSession(
            headers={"Content-Type": "application/json", **headers},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=5.0),
            # llama.cpp promises to keep a connection and then closes it after a stream; a new one on loopback
            # costs 0.1 ms and is never stale.
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    async def close(self) -> None:
        """End everything: who reads an answer gets an error at once (closing the session alone lets them wait)."""
        for answer in tuple(self._answers):
            answer.close()
        await self._session.close()

    @contextlib.asynccontextmanager
    async def open(self, url: str, body: Any, *, until_s: float | None = None) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send JSON (None: just get) and leave the answer open; leaving the context closes it, which cancels the work.

        Raises:
            EngineError: a status other than 200.
            TimeoutError: no status by `until_s`, a time of the loop.
            aiohttp.ClientError: the connection broke, or this is closed.
        """
        if self._session.closed:
            raise aiohttp.ClientConnectionError("the session is closed")
        try:
            method, data = ("GET", None) if body is None else ("POST", orjson.dumps(body))
        except TypeError as error:  # a whole number beyond 64 bits, or too many levels
            raise EngineError(f"The engine cannot be sent this request: {error}.") from None
        async with asyncio.timeout_at(until_s):
            answer = await self._session.request(method, url, data=data)
        self._answers.add(answer)
        try:
            async with answer:
                if answer.status != 200:
                    text = (await answer.text())[:400]
                    raise EngineError(f"The engine answered {url} with {answer.status}: {text}.")
                yield answer
        finally:
            self._answers.discard(answer)

    async def call(self, url: str, body: Any, *, timeout_s: float) -> Any:
        """Send JSON (None: just get) and read JSON.

        Raises:
            EngineError: a status other than 200, no answer in time, or one that is not JSON.
            aiohttp.ClientError: the connection broke, or this is closed.
        """
        try:
            async with asyncio.timeout(timeout_s), self.open(url, body) as answer:
                return orjson.loads(await answer.read())
        except TimeoutError:
            raise EngineError(f"The engine did not answer {url} within {timeout_s:g} s.") from None
        except orjson.JSONDecodeError:
            raise EngineError(f"The engine did not answer {url} with JSON.") from None

    async def events(
        self,
        url: str,
        body: Any,
        *,
        first_token_timeout_s: float,
        gap_timeout_s: float,
        since_s: float | None = None,
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Send JSON and read a stream of JSON events.

        The first token's limit runs from `since_s`, a time of the loop (None: from now).

        Raises:
            EngineError: a status other than 200, an event that reports an error, or too long without one.
            aiohttp.ClientError: the connection broke, or this is closed.
        """
        splitter, loop = SseSplitter(), asyncio.get_running_loop()
        limit_s = first_token_timeout_s
        until_s = (loop.time() if since_s is None else since_s) + limit_s
        try:
            # Servers send not even a status before the first token, so its limit holds for both.
            async with self.open(url, body, until_s=until_s) as answer:
                while True:
                    async with asyncio.timeout_at(until_s):
                        chunk = await answer.content.readany()
                    if not chunk:
                        return
                    limit_s = gap_timeout_s
                    until_s = loop.time() + limit_s
                    for event in splitter.feed(chunk):
                        if event.data is not None and event.data != b"[DONE]":
                            yield _checked(event.data)
        except TimeoutError:
            raise no_token_error(limit_s) from None


def no_token_error(limit_s: float) -> EngineError:
    """What a run ends with whose next token took too long."""
    return EngineError(
        f"The engine gave no token within {limit_s:g} s.",
        fix="See engine.first_token_timeout_s and engine.gap_timeout_s.",
    )


def _checked(data: bytes) -> dict[str, Any]:
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise EngineError(f"The engine sent an event that is not JSON: {data[:80]!r}.") from None
    if not isinstance(event, dict):
        raise EngineError(f"The engine sent an event that is not an object: {data[:80]!r}.")
    if "error" in event:
        error = event["error"]
        raise EngineError(f"The engine reports: {error.get('message', error) if isinstance(error, dict) else error}.")
    return event
