"""The official `openai` client, unmodified, over a real socket: what it sends is served, what it gets it parses."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from openai.types.chat import (
    ChatCompletionChunk,
    ChatCompletionMessageFunctionToolCall,
    ChatCompletionMessageParam,
    ChatCompletionToolParam,
)

from tests.fakes import FakeEngine, sure_pieces
from tests.gateway.stand import CLASSIFY, EXPLAIN, Stand, open_both, open_stand
from tests.scripted_upstream import Reply, fault, sse_events, streamed, whole
from teto.config import GatewaySettings

KEY = "sk-of-a-client"
LOCKED = GatewaySettings(api_key_sha256=(hashlib.sha256(KEY.encode()).hexdigest(),))
WEATHER: ChatCompletionToolParam = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Recife"}'}}
BILL = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "total": {"type": "number"}},
    "required": ["name", "total"],
    "additionalProperties": False,
}


def user(text: str) -> list[ChatCompletionMessageParam]:
    """A conversation of one user message."""
    return [{"role": "user", "content": text}]


def client(stand: Stand, key: str = KEY) -> openai.AsyncOpenAI:
    """The asynchronous client, told nothing but where the gateway is."""
    return openai.AsyncOpenAI(base_url=f"{stand.url}/v1", api_key=key, max_retries=0)


async def in_thread(stand: Stand, use: Callable[[openai.OpenAI], Any]) -> Any:
    """What a use of the synchronous client gives."""

    def run() -> Any:
        with openai.OpenAI(base_url=f"{stand.url}/v1", api_key=KEY, max_retries=0) as sync:
            return use(sync)

    return await asyncio.to_thread(run)


async def test_local_answer() -> None:
    """A plain call is answered here, and the client's types hold text, usage and finish."""
    async with open_both() as (stand, _), client(stand) as ai:
        answer = await ai.chat.completions.create(model="teto/auto", messages=user(CLASSIFY))
        assert answer.choices[0].message.content == "positive"
        assert answer.choices[0].finish_reason == "stop"
        assert answer.usage is not None
        assert answer.usage.total_tokens == 22
        assert answer.model == "fake-model"


async def test_headers_are_within_reach() -> None:
    """The raw response of the client shows the route, the reason and the receipt."""
    async with open_both() as (stand, _), client(stand) as ai:
        raw = await ai.chat.completions.with_raw_response.create(model="teto/auto", messages=user(EXPLAIN))
        assert raw.headers["x-teto-route"] == "cloud"
        assert raw.headers["x-teto-receipt"] in stand.ledger.receipts
        assert raw.parse().choices[0].message.content == "from the cloud"


@pytest.mark.parametrize("text", [CLASSIFY, EXPLAIN], ids=["local", "cloud"])
async def test_stream(text: str) -> None:
    """A stream with usage, from here or from the cloud, is iterated to its end."""
    async with open_both(streamed()) as (stand, _), client(stand) as ai:
        stream = await ai.chat.completions.create(
            model="teto/auto", messages=user(text), stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
        words = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
        assert "".join(words) == ("positive" if text == CLASSIFY else "from the cloud")
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.total_tokens == (22 if text == CLASSIFY else 38)


async def test_logprobs() -> None:
    """Logprobs of a local answer, whole and streamed, are parsed token by token."""
    async with open_stand(engine=FakeEngine(pieces=sure_pieces("very positive"))) as stand, client(stand) as ai:
        answer = await ai.chat.completions.create(
            model="teto/auto", messages=user(CLASSIFY), logprobs=True, top_logprobs=2
        )
        logprobs = answer.choices[0].logprobs
        assert logprobs is not None
        assert logprobs.content is not None
        assert [token.token for token in logprobs.content] == ["very", " positive"]
        stream = await ai.chat.completions.create(
            model="teto/auto", messages=user(CLASSIFY), logprobs=True, stream=True
        )
        seen = [chunk.choices[0].logprobs async for chunk in stream]
        tokens = [token.token for part in seen if part is not None for token in part.content or ()]
        assert tokens == ["very", " positive"]


async def test_json_schema() -> None:
    """A structured answer is kept and holds what the schema asks for."""
    engine = FakeEngine(pieces=sure_pieces('{"name": "Ana", "total": 12.5}'))
    async with open_both(engine=engine) as (stand, cloud), client(stand) as ai:
        answer = await ai.chat.completions.create(
            model="teto/auto",
            messages=user("Extract name and total: 'Ana pagou 12,50 pelo livro.'"),
            response_format={"type": "json_schema", "json_schema": {"name": "bill", "strict": True, "schema": BILL}},
        )
        assert json.loads(answer.choices[0].message.content or "") == {"name": "Ana", "total": 12.5}
        assert cloud.requests == []


async def test_tools_go_to_the_cloud() -> None:
    """A call with tools goes up with them, and the cloud's tool calls come back."""
    reply = whole(None, finish_reason="tool_calls", message={"tool_calls": [CALL]})
    async with open_both(reply) as (stand, cloud), client(stand) as ai:
        answer = await ai.chat.completions.create(model="teto/auto", messages=user(CLASSIFY), tools=[WEATHER])
        assert answer.choices[0].finish_reason == "tool_calls"
        calls = answer.choices[0].message.tool_calls
        assert calls is not None
        (call,) = calls
        assert isinstance(call, ChatCompletionMessageFunctionToolCall)
        assert json.loads(call.function.arguments) == {"city": "Recife"}
        assert cloud.requests[0].json["tools"] == [WEATHER]
        assert stand.engine.started == 0


async def test_tool_calls_stream_from_the_cloud() -> None:
    """Streamed tool arguments arrive in their parts, and count as the first token of the receipt."""
    deltas = [
        {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "weather", "arguments": part}}]}
        for part in ('{"city": ', '"Recife"}')
    ]
    parts = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    head, *_, finish, usage, done = sse_events([], finish_reason="tool_calls")
    events = [head, *(b"data: " + json.dumps(part).encode() + b"\n\n" for part in parts), finish, usage, done]
    async with open_both(streamed(events)) as (stand, _), client(stand) as ai:
        stream = await ai.chat.completions.create(
            model="teto/auto", messages=user(CLASSIFY), tools=[WEATHER], stream=True
        )
        calls = [chunk.choices[0].delta.tool_calls async for chunk in stream if chunk.choices]
        said = "".join(call.function.arguments or "" for part in calls if part for call in part if call.function)
        assert json.loads(said) == {"city": "Recife"}
        assert (await stand.only_receipt()).first_token_s is not None


async def test_models() -> None:
    """The client's model list has the virtual models."""
    async with open_stand() as stand, client(stand) as ai:
        assert [model.id async for model in ai.models.list()] == ["teto/auto", "teto/local", "teto/cloud"]


async def test_synchronous_client() -> None:
    """The synchronous client works the same, whole and streamed."""

    def use(ai: openai.OpenAI) -> tuple[str | None, str]:
        answer = ai.chat.completions.create(model="teto/auto", messages=user(CLASSIFY))
        stream = ai.chat.completions.create(model="teto/auto", messages=user(EXPLAIN), stream=True)
        said = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        return answer.choices[0].message.content, said

    async with open_both(streamed()) as (stand, _):
        assert await in_thread(stand, use) == ("positive", "from the cloud")


@pytest.mark.parametrize(
    ("reply", "fields", "error"),
    [
        (whole(), {"temperature": 9}, openai.BadRequestError),
        (fault(400), {}, openai.BadRequestError),
        (whole(), {"model": "nobody"}, openai.NotFoundError),
        (fault(404), {}, openai.NotFoundError),
        (fault(422), {}, openai.UnprocessableEntityError),
        (fault(429, headers={"Retry-After": "7"}), {}, openai.RateLimitError),
        (fault(500), {}, openai.InternalServerError),
        (fault(401), {}, openai.InternalServerError),
        (Reply(chunks=[b"{"], end="cut"), {}, openai.InternalServerError),
    ],
)
async def test_error_is_raised_as_its_class(
    reply: Reply, fields: dict[str, Any], error: type[openai.APIStatusError]
) -> None:
    """Each refusal, teto's own or the cloud's, becomes the client's exception of that meaning."""
    body: dict[str, Any] = {"model": "teto/auto", "messages": user(EXPLAIN), **fields}
    async with open_both(reply) as (stand, _), client(stand) as ai:
        with pytest.raises(error) as caught:
            await ai.chat.completions.create(**body)
        assert caught.value.message
        assert isinstance(caught.value.body, dict)
        if isinstance(caught.value, openai.RateLimitError):
            assert caught.value.response.headers["retry-after"] == "7"


async def test_wrong_key_is_an_authentication_error() -> None:
    """A wrong key raises the client's own authentication error; the right one is served."""
    async with open_stand(gateway=LOCKED) as stand:
        async with client(stand, "sk-wrong") as ai:
            with pytest.raises(openai.AuthenticationError):
                await ai.models.list()
        async with client(stand) as ai:
            assert (await ai.models.list()).data


async def test_error_inside_a_stream_is_raised() -> None:
    """A stream that breaks after some words raises in the client's loop; it does not look finished."""
    events = sse_events(["half"], finish_reason=None, usage=None, done=False)
    async with open_both(streamed(events, end="cut")) as (stand, _), client(stand) as ai:
        stream = await ai.chat.completions.create(model="teto/auto", messages=user(EXPLAIN), stream=True)
        words: list[str] = []
        with pytest.raises(openai.APIError, match="broke off"):
            await _read(stream, words)
        assert "".join(words) == "half"


async def _read(stream: openai.AsyncStream[ChatCompletionChunk], words: list[str]) -> None:
    async for chunk in stream:
        words.append(chunk.choices[0].delta.content or "")  # noqa: PERF401 - what came before an error counts
