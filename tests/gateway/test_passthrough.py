"""Nothing of a request or an answer is lost or changed on its way through."""

import json

import pytest

from tests.gateway.stand import EXPLAIN, open_both
from tests.scripted_upstream import USAGE, Reply, sse_events, streamed

RAW_REQUEST = (
    '{"model": "teto/cloud", "messages": [{"role": "user", "content": "ol\\u00e1 \\ud83d\\ude00", "name": "ana"}], '
    '"temperature": 1.0, "seed": 12345678901234567890, "x_vendor": {"ratio": 1.50, "big": 1e400, "deep": [[[]]]}, '
    '"metadata": {"a/b": null}, "max_tokens": 7, "stop": ["\\n"]}'
)


async def post_raw(body: str, reply: Reply | None = None) -> tuple[bytes, bytes]:
    """What the cloud received for a raw body, and what the client got back."""
    async with open_both(reply) as (stand, cloud):
        headers = {"Content-Type": "application/json"}
        answer = await stand.request("POST", "/v1/chat/completions", data=body.encode(), headers=headers)
        assert answer.status == 200
        return cloud.requests[0].body, answer.body


async def test_every_field_goes_up_as_it_was_written() -> None:
    """Unknown fields, number formats, escapes and nesting reach the cloud in the client's own bytes."""
    body, _ = await post_raw(RAW_REQUEST)
    for written in (
        '"x_vendor":{"ratio": 1.50, "big": 1e400, "deep": [[[]]]}',
        '"temperature":1.0',
        '"seed":12345678901234567890',
        '"messages":[{"role": "user", "content": "ol\\u00e1 \\ud83d\\ude00", "name": "ana"}]',
        '"metadata":{"a/b": null}',
    ):
        assert written.encode() in body
    assert b'"model":"big-1"' in body
    assert b"stream_options" not in body
    assert list(json.loads(body)) == list(json.loads(RAW_REQUEST))


async def test_usage_is_asked_for_beside_the_clients_own_options() -> None:
    """A stream asks the cloud for its usage, and keeps the options that the client set itself."""
    request = '{"model":"teto/cloud","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":%s}'
    body, _ = await post_raw(request % '{"include_obfuscation":false}', streamed())
    assert json.loads(body)["stream_options"] == {"include_obfuscation": False, "include_usage": True}
    body, _ = await post_raw(request % "null", streamed())
    assert json.loads(body)["stream_options"] == {"include_usage": True}


async def test_usage_that_only_teto_asked_for_is_not_shown() -> None:
    """A client that did not ask for usage sees every event but that one, byte for byte; the receipt has it."""
    async with open_both(streamed()) as (stand, _):
        answer = await stand.ask(EXPLAIN, stream=True)
        events = sse_events()
        assert answer.body == b"".join(events[:-2] + events[-1:])
        receipt = await stand.receipt(answer)
        assert receipt.cloud is not None
        assert receipt.cloud.tokens is not None
        assert (receipt.cloud.tokens.input_total, receipt.cloud.tokens.output_total) == (31, 7)


async def test_usage_that_the_client_asked_for_is_shown() -> None:
    """A client that asked for usage gets the cloud's stream whole, byte for byte."""
    async with open_both(streamed()) as (stand, _):
        answer = await stand.ask(EXPLAIN, stream=True, stream_options={"include_usage": True})
        assert answer.body == b"".join(sse_events())


async def test_usage_beside_content_is_never_taken_out() -> None:
    """A chunk that carries both words and usage, as some servers send it, passes."""
    chunk = {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}], "usage": dict(USAGE)}
    events = [b"data: " + json.dumps(chunk).encode() + b"\n\n", b"data: [DONE]\n\n"]
    async with open_both(streamed(events)) as (stand, _):
        answer = await stand.ask(EXPLAIN, stream=True)
        assert answer.body == b"".join(events)


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls", "content_filter", "of_tomorrow"])
async def test_finish_reason_passes_exactly(reason: str) -> None:
    """Whatever reason the cloud gives, one unknown to teto too, reaches client and receipt."""
    async with open_both(streamed(sse_events(finish_reason=reason))) as (stand, _):
        answer = await stand.ask(EXPLAIN, stream=True)
        finishes = [event["choices"][0]["finish_reason"] for event in answer.events[:-1]]
        assert finishes[-1] == reason
        assert (await stand.receipt(answer)).finish_reason == reason


@pytest.mark.parametrize("size", [1, 3, 7])
async def test_stream_cut_anywhere_arrives_whole(size: int) -> None:
    """Characters and events that the network splits anywhere, inside a UTF-8 sequence too, arrive byte for byte."""
    events = b"".join([b": ping\n\n", *sse_events(["olá", " ação", " 😀", " 日本"])])
    parts = [events[i : i + size] for i in range(0, len(events), size)]
    async with open_both(streamed(parts)) as (stand, _):
        answer = await stand.ask(EXPLAIN, stream=True, stream_options={"include_usage": True})
        assert answer.body == events
        assert answer.text == "olá ação 😀 日本"


async def test_events_with_carriage_returns_pass() -> None:
    """Servers that end their lines with CR LF are understood, and their bytes are kept."""
    events = b"".join(sse_events()).replace(b"\n", b"\r\n")
    async with open_both(streamed([events])) as (stand, _):
        answer = await stand.ask(EXPLAIN, stream=True, stream_options={"include_usage": True})
        assert answer.body.removesuffix(b"data: [DONE]\n\n") == events.removesuffix(b"data: [DONE]\r\n\r\n")
        assert (await stand.receipt(answer)).finish_reason == "stop"


async def test_stream_without_an_end_mark_gets_none() -> None:
    """A cloud that finishes and sends no [DONE] has its stream passed on as it is."""
    events = sse_events(done=False, usage=None)
    async with open_both(streamed(events)) as (stand, _):
        answer = await stand.ask(EXPLAIN, stream=True)
        assert answer.body == b"".join(events)
        assert (await stand.receipt(answer)).status == 200


async def test_streams_share_one_connection() -> None:
    """A stream that ended leaves its connection to the next one, so that no request pays a handshake for nothing."""
    async with open_both(streamed()) as (stand, cloud):
        for _ in range(10):
            assert (await stand.ask(EXPLAIN, stream=True)).status == 200
        assert {seen.connection for seen in cloud.requests} == {1}


async def test_stream_that_is_not_closed_after_its_end_mark_ends() -> None:
    """A cloud that says [DONE] and keeps the connection open does not keep the client waiting."""
    async with open_both(streamed(end="silent")) as (stand, cloud):
        answer = await stand.ask(EXPLAIN, stream=True)
        assert answer.events[-1] == "[DONE]"
        assert stand.kept_receipt(answer).total_s < 0.3
        await cloud.wait_until_gone()


async def test_whole_answer_to_a_stream_passes() -> None:
    """A cloud that cannot stream answers whole, and so does the gateway."""
    async with open_both() as (stand, cloud):
        answer = await stand.ask(EXPLAIN, stream=True)
        assert answer.headers["content-type"] == "application/json"
        assert answer.body == cloud.reply.chunks[0]


async def test_first_words_are_not_held_until_the_last() -> None:
    """A cloud's words reach the client as they come: the first long before the last."""
    async with open_both(streamed(gap_s=0.1)) as (stand, _):
        body = {"model": "teto/cloud", "messages": [{"role": "user", "content": "x"}], "stream": True}
        async with stand.http.post(f"{stand.url}/v1/chat/completions", json=body) as response:
            parts = [part async for part in response.content.iter_any()]
        assert len(parts) >= 5
