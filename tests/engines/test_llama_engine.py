"""The embedded engine on real weights: what it says, what it counts, and how it treats its cache."""

import asyncio
import json
import time
from typing import Any

import aiohttp
import pytest

from tests.smoke_weights import request, run, smoke_engine
from teto.engines.llama import LlamaEngine
from teto.errors import EngineError
from teto.wire.chat import ChatRequest
from teto.wire.generation import Finish, Piece

_SPECIAL = "A ação não é só coração: 😀🎉 中文 “aspas” \\ tab\t fim"


def schema_request(prompt: str, schema: dict[str, Any], **fields: Any) -> ChatRequest:
    """A request whose answer must obey the schema."""
    form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
    return request(prompt, response_format=form, **fields)


async def answer(engine: LlamaEngine, asked: ChatRequest, *, limit: int = 60) -> tuple[str, list[Piece], Finish]:
    """The text, the pieces and the finish of one answer."""
    events = [event async for event in engine.generate(asked, output_limit_tokens=limit)]
    pieces = [event for event in events if isinstance(event, Piece)]
    assert isinstance(events[-1], Finish)
    return "".join(piece.text for piece in pieces), pieces, events[-1]


def token_text(pieces: list[Piece]) -> str:
    """The text of all tokens."""
    return "".join(token.text for piece in pieces for token in piece.tokens)


def test_a_schema_is_obeyed_and_its_tokens_are_the_content() -> None:
    """The answer to a schema is JSON of that schema and nothing else: no code fence hides among its tokens."""
    schema = {
        "type": "object",
        "properties": {"label": {"type": "string", "enum": ["qzx", "vkj"]}, "sure": {"type": "boolean"}},
        "required": ["label", "sure"],
        "additionalProperties": False,
    }

    async def main() -> None:
        async with smoke_engine() as engine:
            text, pieces, finish = await answer(engine, schema_request("Say hello to the dog.", schema))
        found = json.loads(text)
        assert found["label"] in {"qzx", "vkj"}
        assert isinstance(found["sure"], bool)
        assert set(found) == {"label", "sure"}
        assert token_text(pieces) == text
        assert finish.reason == "stop"

    run(main())


def test_special_characters_arrive_whole() -> None:
    """Accents, emoji and other scripts, of which some take several tokens, are never cut or replaced."""
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string", "enum": [_SPECIAL]}},
        "required": ["text"],
        "additionalProperties": False,
    }

    async def main() -> None:
        async with smoke_engine() as engine:
            text, pieces, _ = await answer(engine, schema_request(f"Repita: {_SPECIAL}", schema), limit=200)
        assert json.loads(text) == {"text": _SPECIAL}
        assert token_text(pieces) == text
        assert all("�" not in piece.text for piece in pieces)

    run(main())


def test_the_cached_prefix_is_reported() -> None:
    """The template's beginning is cached from the start, an answered prompt all but its last token, and count knows."""

    async def main() -> None:
        async with smoke_engine() as engine:
            asked = request("Is this text about animals? The dog sleeps on the boat. Answer yes or no.")
            fresh = await engine.count(asked)
            _, _, first = await answer(engine, asked, limit=8)
            counted = await engine.count(asked)
            _, _, second = await answer(engine, asked, limit=8)
        assert fresh.cached_tokens == first.timings.cached_tokens
        assert 0 < fresh.cached_tokens < fresh.tokens
        assert counted.tokens == fresh.tokens == first.timings.prompt_tokens == second.timings.prompt_tokens
        assert second.timings.cached_tokens > first.timings.cached_tokens
        assert abs(counted.cached_tokens - second.timings.cached_tokens) <= 2
        assert second.timings.prefill_s < first.timings.prefill_s

    run(main())


def test_the_cache_never_changes_the_answer() -> None:
    """Greedy answers with and without a cached prefix have the same text."""

    async def main() -> None:
        async with smoke_engine() as engine:
            asked = request("Name three animals.")
            texts = [(await answer(engine, asked, limit=20))[0] for _ in range(3)]
        assert texts[0]
        assert texts.count(texts[0]) == 3

    run(main())


def test_tokens_equal_the_engines_own_usage() -> None:
    """Prompt and output tokens are those that the engine's own chat route reports for the same messages."""

    async def main() -> None:
        async with smoke_engine() as engine:
            asked = request("Write one sentence about the sea. É só isso: 😀.")
            count = await engine.count(asked)
            text, _, finish = await answer(engine, asked, limit=25)
            assert engine.process is not None
            body = {"messages": json.loads(bytes(asked.raw["messages"])), "temperature": 0.0, "max_tokens": 25}
            chat = await engine.process.post_json("/v1/chat/completions", body)
        assert chat["usage"]["prompt_tokens"] == count.tokens == finish.timings.prompt_tokens
        assert chat["usage"]["completion_tokens"] == finish.timings.output_tokens
        assert chat["choices"][0]["message"]["content"] == text

    run(main())


def test_the_output_limit_counts_every_token() -> None:
    """At the limit exactly so many tokens were sampled, and one pass less was decoded after prefill."""

    async def main() -> None:
        async with smoke_engine() as engine:
            _, pieces, finish = await answer(engine, request("Write a long story."), limit=9)
        assert finish.reason == "length"
        assert finish.timings.output_tokens == sum(len(piece.tokens) for piece in pieces) == 9
        assert finish.timings.decode_steps == 8

    run(main())


def test_a_stop_text_ends_the_answer_before_it() -> None:
    """An answer with a stop text ends before that text, and its tokens are still its text."""

    async def main() -> None:
        async with smoke_engine() as engine:
            whole, _, _ = await answer(engine, request("Name three animals."), limit=20)
            stop = whole[8:12]
            text, pieces, finish = await answer(engine, request("Name three animals.", stop=stop), limit=20)
        assert text == whole[: whole.index(stop)]
        assert token_text(pieces) == text
        assert finish.reason == "stop"

    run(main())


def test_as_many_rivals_as_the_client_asked_for() -> None:
    """Each token carries at least five rivals, and more if the client asked for more, the likeliest first."""

    async def main() -> None:
        async with smoke_engine() as engine:
            _, few, _ = await answer(engine, request("Hi."), limit=3)
            _, many, _ = await answer(engine, request("Hi.", logprobs=True, top_logprobs=9), limit=3)
        assert {len(token.top) for piece in few for token in piece.tokens} == {5}
        for token in (token for piece in many for token in piece.tokens):
            assert len(token.top) == 9
            logprobs = [logprob for _, logprob in token.top]
            assert logprobs == sorted(logprobs, reverse=True)

    run(main())


def test_a_full_context_ends_the_answer() -> None:
    """An answer that reaches the end of the context stops there with the reason length; nothing is forgotten."""
    asked = request("one two three four " * 114, logit_bias={"2": -100})  # token 2 would end the answer

    async def main() -> None:
        async with smoke_engine(context_tokens=512) as engine:
            prompt = (await engine.count(asked)).tokens
            assert 450 < prompt < 512
            _, _, finish = await answer(engine, asked, limit=1000)
        assert finish.reason == "length"
        assert finish.timings.prompt_tokens == prompt
        assert 512 - 2 <= finish.timings.prompt_tokens + finish.timings.output_tokens <= 512 + 1

    run(main())


def test_a_prompt_larger_than_the_context_is_an_error() -> None:
    """A prompt that does not fit is refused with an error, never truncated, and the engine works on."""
    asked = request("one two three four " * 200)

    async def main() -> None:
        async with smoke_engine(context_tokens=512) as engine:
            assert (await engine.count(asked)).tokens > 512
            with pytest.raises(EngineError, match="400"):
                await answer(engine, asked)
            assert (await answer(engine, request("Hi."), limit=3))[0]

    run(main())


def test_many_streams_never_hang_the_child() -> None:
    """With seventy answers wanted at once the child's health is still told at once, and all are answered."""

    async def main() -> None:
        async with smoke_engine(queue_limit=100) as engine, aiohttp.ClientSession() as session:
            assert engine.process is not None
            url = f"{engine.process.address}/health"
            work = [asyncio.create_task(answer(engine, request("Hi."), limit=2)) for _ in range(70)]
            slowest_s, n_asked = 0.0, 0
            while not all(task.done() for task in work):
                start_s = time.monotonic()
                async with session.get(url) as health:
                    assert health.status == 200
                slowest_s, n_asked = max(slowest_s, time.monotonic() - start_s), n_asked + 1
                await asyncio.sleep(0.1)
            finishes = [finish for _, _, finish in await asyncio.gather(*work)]
        assert len(finishes) == 70
        assert n_asked > 3
        assert slowest_s < 2.0

    run(main())
