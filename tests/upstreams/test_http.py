"""The HTTP upstream: what it sends, what it refuses to follow, and its four time limits."""

import asyncio
import time

import pytest

from tests.scripted_upstream import CLOUD_KEY, Reply, connect, open_scripted, sse_events, streamed, whole
from teto.errors import UpstreamCutError, UpstreamStatusError, UpstreamUnreachableError
from teto.upstreams.http import HttpUpstream


async def ask(upstream: HttpUpstream, body: bytes = b"{}") -> bytes:
    """The whole answer to a body."""
    async with upstream.send(body) as answer:
        return b"".join([chunk async for chunk in answer.chunks()])


async def test_key_goes_up_and_nowhere_else() -> None:
    """The key is sent as a bearer token, and the setup's text, which may reach a log, does not hold it."""
    async with open_scripted() as cloud:
        upstream = connect(cloud.base_url)
        await ask(upstream)
        await upstream.close()
        assert cloud.requests[0].headers["authorization"] == f"Bearer {CLOUD_KEY}"
        assert CLOUD_KEY not in repr(upstream._setup)


async def test_without_a_key_none_is_sent() -> None:
    """An upstream without a key sends no Authorization header."""
    async with open_scripted() as cloud:
        upstream = connect(cloud.base_url, api_key=None)
        await ask(upstream)
        await upstream.close()
        assert "authorization" not in cloud.requests[0].headers


async def test_request_is_a_plain_chat_completion() -> None:
    """The request goes to chat/completions as JSON, and asks for an answer that is not compressed."""
    async with open_scripted() as cloud:
        upstream = connect(f"{cloud.base_url}/")
        await ask(upstream)
        await upstream.close()
        seen = cloud.requests[0]
        assert seen.path == "/v1/chat/completions"
        assert seen.headers["content-type"] == "application/json"
        assert seen.headers["accept-encoding"] == "identity"


async def test_cookies_are_not_kept() -> None:
    """A cookie that the cloud sets does not come back with the next request."""
    async with open_scripted(Reply(headers={"Set-Cookie": "id=1; Path=/"}, chunks=[b"{}"])) as cloud:
        upstream = connect(cloud.base_url)
        await ask(upstream)
        await ask(upstream)
        await upstream.close()
        assert "cookie" not in cloud.requests[1].headers


async def test_redirect_is_not_followed() -> None:
    """A redirect is an answer other than 200: neither the body nor the key goes where it points."""
    async with open_scripted() as elsewhere:
        target = f"{elsewhere.base_url}/chat/completions"
        async with open_scripted(Reply(status=307, headers={"Location": target})) as cloud:
            upstream = connect(cloud.base_url)
            with pytest.raises(UpstreamStatusError) as caught:
                await ask(upstream)
            await upstream.close()
        assert caught.value.status == 307
        assert elsewhere.requests == []


async def test_connection_is_kept_for_the_next_request() -> None:
    """A whole answer leaves its connection open, so that the next request pays no handshake."""
    async with open_scripted() as cloud:
        upstream = connect(cloud.base_url)
        await ask(upstream)
        await ask(upstream)
        await upstream.close()
        assert {seen.connection for seen in cloud.requests} == {1}


async def test_more_than_a_hundred_answers_run_at_once() -> None:
    """The client library's limit of 100 connections is lifted: 120 requests are all with the cloud at once."""
    async with open_scripted(whole(delay_s=30)) as cloud:
        upstream = connect(cloud.base_url)
        asking = [asyncio.create_task(ask(upstream)) for _ in range(120)]
        await cloud.wait_for_requests(120)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await upstream.close()


async def test_error_body_in_several_parts_is_whole() -> None:
    """The body of an error is read to its end, however many parts it comes in."""
    async with open_scripted(
        Reply(status=400, chunks=[b'{"error": ', b'{"message": ', b'"no"}}'], gap_s=0.02)
    ) as cloud:
        upstream = connect(cloud.base_url)
        with pytest.raises(UpstreamStatusError) as caught:
            await ask(upstream)
        await upstream.close()
        assert caught.value.body == b'{"error": {"message": "no"}}'


async def test_error_body_has_a_limit() -> None:
    """Of an endless error no more than 64 KiB is kept."""
    async with open_scripted(Reply(status=500, chunks=[b"x" * 50_000] * 10)) as cloud:
        upstream = connect(cloud.base_url)
        with pytest.raises(UpstreamStatusError) as caught:
            await ask(upstream)
        await upstream.close()
        assert caught.value.body == b"x" * 65_536


async def test_error_body_that_never_ends_is_not_waited_for() -> None:
    """An error whose body falls silent is raised after the gap limit, with what came."""
    async with open_scripted(Reply(status=500, chunks=[b"half"], end="silent")) as cloud:
        upstream = connect(cloud.base_url, gap_timeout_s=0.1)
        with pytest.raises(UpstreamStatusError) as caught:
            await ask(upstream)
        await upstream.close()
        assert caught.value.body == b"half"


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_key_names_where_it_comes_from(status: int) -> None:
    """A key that the cloud refuses is an error that names the environment variable, never the key."""
    async with open_scripted(Reply(status=status)) as cloud:
        upstream = connect(cloud.base_url)
        with pytest.raises(UpstreamStatusError, match="CLOUD_API_KEY") as caught:
            await ask(upstream)
        await upstream.close()
        assert CLOUD_KEY not in str(caught.value)


async def test_silence_before_the_headers_is_unreachable() -> None:
    """A cloud that takes the request and says nothing is unreachable after the first-token limit, and is left."""
    async with open_scripted(whole(delay_s=30)) as cloud:
        upstream = connect(cloud.base_url, first_token_timeout_s=0.1)
        start_s = time.monotonic()
        with pytest.raises(UpstreamUnreachableError, match="time limit"):
            await ask(upstream)
        assert time.monotonic() - start_s < 0.5
        await cloud.wait_until_gone()
        await upstream.close()


async def test_silence_after_the_headers_is_a_cut() -> None:
    """A cloud that sends headers and no byte of an answer is left after the first-token limit."""
    async with open_scripted(streamed([], end="silent")) as cloud:
        upstream = connect(cloud.base_url, first_token_timeout_s=0.1)
        with pytest.raises(UpstreamCutError, match="silent"):
            await ask(upstream)
        await cloud.wait_until_gone()
        await upstream.close()


async def test_silence_inside_an_answer_is_a_cut() -> None:
    """A gap longer than its limit ends the answer with an error, though the first token may take longer."""
    async with open_scripted(streamed(sse_events()[:2], end="silent")) as cloud:
        upstream = connect(cloud.base_url, first_token_timeout_s=5, gap_timeout_s=0.1)
        start_s = time.monotonic()
        with pytest.raises(UpstreamCutError, match="silent"):
            await ask(upstream)
        assert time.monotonic() - start_s < 1
        await upstream.close()


async def test_answer_that_never_ends_is_cut_at_the_total() -> None:
    """An answer that keeps every gap short and does not end is cut at the total limit."""
    async with open_scripted(streamed([b"data: x\n\n"] * 1000, gap_s=0.02)) as cloud:
        upstream = connect(cloud.base_url, gap_timeout_s=1, total_timeout_s=0.2)
        start_s = time.monotonic()
        with pytest.raises(UpstreamCutError):
            await ask(upstream)
        assert time.monotonic() - start_s == pytest.approx(0.2, abs=0.15)
        await upstream.close()


async def test_name_that_is_not_found_is_unreachable() -> None:
    """A host name that does not exist is an unreachable cloud, named with its URL."""
    upstream = connect("http://nowhere.invalid/v1")
    with pytest.raises(UpstreamUnreachableError, match=r"nowhere\.invalid"):
        await ask(upstream)
    await upstream.close()
