"""The official OpenAI client, unmodified but for its base URL."""

import json
from collections.abc import Iterator

import openai
import pytest
from openai.types.chat import ChatCompletionMessageFunctionToolCall

from tests.end_to_end.cloud import CLOUD_ANSWER, CLOUD_MODEL, CLOUD_USAGE, Cloud
from tests.end_to_end.home import Gateway

_QUESTION = "Write a long story about a dog, a cat and a boat."


@pytest.fixture
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    """A client of the shared gateway, which would not try again by itself."""
    with openai.OpenAI(base_url=gateway.base_url, api_key="any", max_retries=0, timeout=60) as made:
        yield made


def test_a_whole_answer(client: openai.OpenAI) -> None:
    """A local answer comes whole, with its finish reason and a usage that adds up."""
    answer = client.chat.completions.create(
        model="teto/local",
        messages=[{"role": "user", "content": _QUESTION}],
        max_tokens=10,
    )
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "length"
    assert answer.choices[0].logprobs is None
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 10
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 10


def test_a_streamed_answer_is_the_whole_one(client: openai.OpenAI) -> None:
    """The pieces of a streamed answer join to the same text, and its last chunk holds the usage if asked for."""
    whole = client.chat.completions.create(
        model="teto/local",
        messages=[{"role": "user", "content": _QUESTION}],
        max_tokens=20,
    )
    chunks = list(
        client.chat.completions.create(
            model="teto/local",
            messages=[{"role": "user", "content": _QUESTION}],
            max_tokens=20,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    finishes = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    assert text == whole.choices[0].message.content
    assert finishes == ["length"]
    assert len(chunks) > 10
    assert chunks[-1].usage is not None
    assert whole.usage is not None
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens == 20


def test_logprobs(client: openai.OpenAI) -> None:
    """Each token of the answer comes with its logprob, its bytes, and as many rivals as were asked for."""
    answer = client.chat.completions.create(
        model="teto/local",
        messages=[{"role": "user", "content": "Repita: ação, coração"}],
        max_tokens=12,
        logprobs=True,
        top_logprobs=3,
    )
    choice = answer.choices[0]
    assert choice.logprobs is not None
    assert choice.logprobs.content
    assert "".join(token.token for token in choice.logprobs.content) == choice.message.content
    for token in choice.logprobs.content:
        assert token.logprob <= 0
        assert len(token.top_logprobs) == 3
        assert bytes(token.bytes or ()).decode() == token.token


def test_logprobs_of_a_stream(client: openai.OpenAI) -> None:
    """In a stream the tokens come with the text that they are."""
    chunks = client.chat.completions.create(
        model="teto/local",
        messages=[{"role": "user", "content": "Hello."}],
        max_tokens=8,
        logprobs=True,
        stream=True,
    )
    for chunk in chunks:
        for choice in chunk.choices:
            tokens = choice.logprobs.content if choice.logprobs is not None else None
            assert "".join(token.token for token in tokens or ()) == (choice.delta.content or "")


def test_a_json_schema(client: openai.OpenAI) -> None:
    """A local answer to a schema is JSON of that schema."""
    answer = client.chat.completions.create(
        model="teto/local",
        messages=[{"role": "user", "content": "Is it good? 'adorei o atendimento'"}],
        response_format={
            "type": "json_schema",
            "json_schema": {
                "name": "sentiment",
                "strict": True,
                "schema": {
                    "type": "object",
                    "properties": {"label": {"type": "string", "enum": ["positivo", "negativo"]}},
                    "required": ["label"],
                    "additionalProperties": False,
                },
            },
        },
    )
    assert json.loads(answer.choices[0].message.content or "")["label"] in {"positivo", "negativo"}
    assert answer.choices[0].finish_reason == "stop"


def test_tools_go_to_the_cloud(client: openai.OpenAI, cloud: Cloud) -> None:
    """A request with tools goes up as it is, and the cloud's tool call comes back as it is."""
    answer = client.chat.completions.with_raw_response.create(
        model="teto/auto",
        messages=[{"role": "user", "content": "Classify the weather in Belém."}],
        tools=[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}],
        tool_choice="auto",
    )
    assert answer.headers["x-teto-route"] == "cloud"
    sent = cloud.bodies[-1]
    assert sent["model"] == CLOUD_MODEL
    assert sent["tools"][0]["function"] == {"name": "weather", "parameters": {"type": "object"}}
    assert sent["tool_choice"] == "auto"
    choice = answer.parse().choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls is not None
    (call,) = choice.message.tool_calls
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    assert json.loads(call.function.arguments) == {"city": "Belém"}


def test_the_cloud_streams_through(client: openai.OpenAI) -> None:
    """A streamed answer of the cloud arrives with its text, its finish and its usage."""
    chunks = list(
        client.chat.completions.create(
            model="teto/cloud",
            messages=[{"role": "user", "content": "Hello."}],
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text == CLOUD_ANSWER.replace(" ", "")
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == CLOUD_USAGE["total_tokens"]


def test_the_models_are_listed(client: openai.OpenAI) -> None:
    """The client sees the three virtual models."""
    assert [model.id for model in client.models.list()] == ["teto/auto", "teto/local", "teto/cloud"]


def test_an_unknown_model_is_the_clients_error(client: openai.OpenAI) -> None:
    """A model that does not exist raises the client's own NotFoundError, which names the nearest ones."""
    with pytest.raises(openai.NotFoundError, match="teto/local"):
        client.chat.completions.create(model="teto/lokal", messages=[{"role": "user", "content": "Hello."}])


def test_a_prompt_larger_than_the_context_is_the_clients_error(client: openai.OpenAI) -> None:
    """A prompt that does not fit the local context is refused with both numbers, never truncated."""
    with pytest.raises(openai.APIStatusError, match="2048") as caught:
        client.chat.completions.create(
            model="teto/local",
            messages=[{"role": "user", "content": "one two three four " * 600}],
        )
    assert caught.value.status_code == 413
