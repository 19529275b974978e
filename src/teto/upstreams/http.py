"""An OpenAI-compatible cloud over HTTP, behind the `Upstream` port."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp

from teto.errors import UpstreamCutError, UpstreamStatusError, UpstreamUnreachableError
from teto.ports import UpstreamFacts

__all__ = ["HttpUpstream", "HttpUpstreamSetup"]

_ERROR_BODY_LIMIT_BYTES = 65_536
_END_LIMIT_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpUpstreamSetup:
    """Where the cloud is, the key's value (never printed), and three time limits beside the connect's."""

    facts: UpstreamFacts
    api_key: str | None
    api_key_env: str
    connect_timeout_s: float
    first_token_timeout_s: float
    gap_timeout_s: float
    total_timeout_s: float

    def __repr__(self) -> str:
        return f"HttpUpstreamSetup({self.facts!r})"


class HttpUpstream:
    """One client session for all requests. No retry here: the caller's client has its own, and they multiply."""

    def __init__(self, setup: HttpUpstreamSetup) -> None:
        self._setup = setup
        self._url = f"{setup.facts.base_url.rstrip('/')}/chat/completions"
        self._session: aiohttp.ClientSession | None = None

    @property
    def facts(self) -> UpstreamFacts:
        """What the settings say of it."""
        return self._setup.facts

    def _open_session(self) -> aiohttp.ClientSession:
        # Made at the first use, because it belongs to the loop that runs then.
        if self._session is None:
            headers = {
                "Content-Type": "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": "teto",
            }
            if self._setup.api_key:
                headers["Authorization"] = f"Bearer {self._setup.api_key}"
            self._session = aiohttp.ClientSession(
                headers=headers,
                # Each default of the library is a trap here: 300 s in all, 100 connections, cookies, decompression.
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._setup.connect_timeout_s),
                # Servers close idle connections after 5 s at the least; a POST on a stale one cannot be repeated.
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60, keepalive_timeout=4.0),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._session

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    @contextlib.asynccontextmanager
    async def send(self, body: bytes) -> AsyncIterator["_HttpAnswer"]:
        """Send a chat completion; see the port."""
        name = self.facts.name
        loop = asyncio.get_running_loop()
        end_s = loop.time() + self._setup.total_timeout_s
        try:
            async with asyncio.timeout(self._setup.first_token_timeout_s):
                response = await self._open_session().post(self._url, data=body, allow_redirects=False)
        except TimeoutError:
            raise UpstreamUnreachableError(
                f"The cloud {name!r} did not answer within its time limit.", upstream=name
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            raise UpstreamUnreachableError(
                f"The cloud {name!r} at {self.facts.base_url} cannot be reached: {error}.", upstream=name
            ) from None
        try:
            if response.status != 200:
                raise await self._status_error(response)
            yield _HttpAnswer(response, self._setup, end_s)
            # Whoever has seen the end mark leaves: the end itself, a moment later, saves the next handshake.
            with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError):
                async with asyncio.timeout(_END_LIMIT_S):
                    await response.content.readany()
        finally:
            response.close()  # not released: an unread answer must not go on at our cost

    async def _status_error(self, response: aiohttp.ClientResponse) -> UpstreamStatusError:
        body = b""
        with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError):
            async with asyncio.timeout(self._setup.gap_timeout_s):
                # A read gives what has come, not all that was asked for.
                while part := await response.content.read(_ERROR_BODY_LIMIT_BYTES - len(body)):
                    body += part
        fix = None
        if response.status in {401, 403}:
            source = self._setup.api_key_env or "no api_key_env is set"
            fix = f"Check the key in the environment variable of upstreams.{self.facts.name}.api_key_env ({source})."
        return UpstreamStatusError(
            f"The cloud {self.facts.name!r} answered with status {response.status}.",
            upstream=self.facts.name,
            status=response.status,
            body=body,
            retry_after=response.headers.get("Retry-After"),
            fix=fix,
        )


class _HttpAnswer:
    def __init__(self, response: aiohttp.ClientResponse, setup: HttpUpstreamSetup, end_s: float) -> None:
        self._response = response
        self._setup = setup
        self._end_s = end_s

    @property
    def content_type(self) -> str:
        return self._response.headers.get("Content-Type", "application/json")

    async def chunks(self) -> AsyncIterator[bytes]:
        name = self._setup.facts.name
        loop = asyncio.get_running_loop()
        limit_s = self._setup.first_token_timeout_s
        try:
            while True:
                async with asyncio.timeout(min(limit_s, self._end_s - loop.time())):
                    chunk = await self._response.content.readany()
                if not chunk:
                    return
                yield chunk
                limit_s = self._setup.gap_timeout_s
        except TimeoutError:
            raise UpstreamCutError(f"The cloud {name!r} fell silent inside its answer.", upstream=name) from None
        except (aiohttp.ClientError, OSError) as error:
            raise UpstreamCutError(f"The cloud {name!r} broke off inside its answer: {error}.", upstream=name) from None
