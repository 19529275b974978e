"""An OpenAI-compatible server as the engine, as servers differ: what they lack, refuse, and break off."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from tests.smoke_weights import child_key, request, run, smoke_engine
from teto.engines.external import ExternalEngine, ExternalSetup
from teto.errors import EngineDiedError, EngineError
from teto.wire.generation import Finish, Piece

_USAGE = {"prompt_tokens": 20, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}


@dataclass(kw_only=True)
class Server:
    """A scripted server: what it can, and how it ends an answer."""

    has_logprobs: bool = True
    refuses_logprobs: bool = False
    obeys_schema: bool = True
    usage: dict[str, Any] | None = field(default_factory=lambda: dict(_USAGE))
    model: dict[str, Any] | None = None
    tokenize_count: int | None = None
    finish_reason: str | None = "stop"
    before_each: Callable[[web.StreamResponse], Awaitable[None]] | None = None
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def models(self, _: web.Request) -> web.Response:
        """The model list, or none."""
        if self.model is None:
            return web.Response(status=404)
        return web.json_response({"data": [{"id": "other", "max_model_len": 1}, {"id": "m", **self.model}]})

    async def tokenize(self, _: web.Request) -> web.Response:
        """Count as vLLM does, or not at all."""
        if self.tokenize_count is None:
            return web.Response(status=404)
        return web.json_response({"count": self.tokenize_count})

    async def chat(self, asked: web.Request) -> web.StreamResponse:
        """Stream three words, or the JSON that a schema asks for."""
        body = await asked.json()
        self.bodies.append(body)
        if self.refuses_logprobs and body.get("logprobs"):
            return web.Response(status=400, text="logprobs are not supported")
        words = ['{"k": "qzx"}'] if body.get("response_format") and self.obeys_schema else ["olá", ",", " 😀"]
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(asked)
        for word in words:
            if self.before_each is not None and body.get("seed") == 7:
                await self.before_each(response)
            logprobs = {"content": [{"token": word, "logprob": -0.5, "top_logprobs": []}]}
            choice = {"delta": {"content": word}, "logprobs": logprobs if self.has_logprobs else None}
            await response.write(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
        end: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": self.finish_reason}]}
        last: dict[str, Any] = {"choices": [], "usage": self.usage}
        for event in (end, last):
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response


@asynccontextmanager
async def served(server: Server) -> AsyncIterator[str]:
    """The base URL of the server while it runs."""
    application = web.Application()
    application.router.add_get("/v1/models", server.models)
    application.router.add_post("/tokenize", server.tokenize)
    application.router.add_post("/v1/chat/completions", server.chat)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def connected(server: Server, *, limit_s: float = 5.0) -> AsyncIterator[ExternalEngine]:
    """A started engine on the server."""
    async with served(server) as base_url:
        engine = make_engine(base_url, limit_s=limit_s)
        await engine.start()
        try:
            yield engine
        finally:
            await engine.close()


def make_engine(base_url: str, *, model: str = "m", api_key: str | None = None, limit_s: float = 5.0) -> ExternalEngine:
    """An engine that is not started yet."""
    return ExternalEngine(
        ExternalSetup(
            base_url=base_url,
            model=model,
            api_key=api_key,
            context_tokens=1234,
            slots=2,
            queue_limit=2,
            first_token_timeout_s=limit_s,
            gap_timeout_s=limit_s,
        )
    )


async def answer(engine: ExternalEngine, **fields: Any) -> tuple[str, Finish]:
    """The text and the finish of one answer."""
    events = [event async for event in engine.generate(request("Hi.", **fields), output_limit_tokens=9)]
    assert isinstance(events[-1], Finish)
    return "".join(event.text for event in events if isinstance(event, Piece)), events[-1]


def test_what_it_can_is_probed() -> None:
    """Logprobs, schema and speed are found by asking, and the context is the setting's if the server says none."""

    async def main() -> None:
        async with connected(Server()) as engine:
            assert engine.facts.capabilities == {"logprobs", "schema"}
            assert engine.facts.context_tokens == 1234
            assert engine.facts.decode_tokens_per_s is None or engine.facts.decode_tokens_per_s > 0
            assert (await answer(engine))[0] == "olá, 😀"

    run(main())


@pytest.mark.parametrize(
    ("server", "missing"),
    [
        (Server(has_logprobs=False), "logprobs"),
        (Server(has_logprobs=False, refuses_logprobs=True), "logprobs"),
        (Server(obeys_schema=False), "schema"),
    ],
    ids=["gives no logprobs", "refuses logprobs", "ignores schemas"],
)
def test_what_it_lacks_is_not_claimed(server: Server, missing: str) -> None:
    """A server without logprobs, that refuses to be asked for them, or that ignores schemas is used without them."""

    async def main() -> None:
        async with connected(server) as engine:
            assert missing not in engine.facts.capabilities
            assert (await answer(engine))[0] == "olá, 😀"
        if missing == "logprobs":
            assert "logprobs" not in server.bodies[-1]

    run(main())


@pytest.mark.parametrize(
    "model", [{"max_model_len": 8192}, {"max_context_length": 8192}, {"meta": {"n_ctx": 8192}}], ids=str
)
def test_the_stated_context_is_believed(model: dict[str, Any]) -> None:
    """The context length is read from the model list as vLLM, LM Studio and llama.cpp write it, for this model."""

    async def main() -> None:
        async with connected(Server(model=model)) as engine:
            assert engine.facts.context_tokens == 8192

    run(main())


def test_tokens_are_the_servers_usage() -> None:
    """Prompt, cached and output tokens are those of the usage, and what was asked for is passed on."""
    server = Server()

    async def main() -> None:
        async with connected(server) as engine:
            _, finish = await answer(engine, top_p=0.5, logprobs=True, top_logprobs=7, max_completion_tokens=99)
        timings = finish.timings
        assert (timings.prompt_tokens, timings.cached_tokens, timings.output_tokens) == (20, 5, 3)
        assert timings.source == "the server's usage"
        sent = server.bodies[-1]
        assert (sent["model"], sent["stream"], sent["max_tokens"], sent["top_p"]) == ("m", True, 9, 0.5)
        assert (sent["top_logprobs"], sent["temperature"]) == (7, 0.0)
        assert "max_completion_tokens" not in sent

    run(main())


def test_without_usage_the_chunks_are_counted_and_it_is_said() -> None:
    """A server that gives no usage has its chunks counted, and the source of the count says so."""

    async def main() -> None:
        async with connected(Server(usage=None)) as engine:
            assert engine.facts.prefill_tokens_per_s is None
            _, finish = await answer(engine)
        assert finish.timings.output_tokens == 3
        assert "chunks counted" in finish.timings.source

    run(main())


def test_a_server_that_counts_is_believed() -> None:
    """Where the server counts a conversation's tokens the count is exact, elsewhere it is an estimate."""

    async def main() -> None:
        async with connected(Server(tokenize_count=77)) as engine:
            count = await engine.count(request("Hi."))
            assert (count.tokens, count.exact) == (77, True)
        async with connected(Server()) as engine:
            assert not (await engine.count(request("Hi."))).exact

    run(main())


def test_an_estimate_is_never_too_low() -> None:
    """Where the server does not count, the estimate is at least what template and tokenizer really make of a text."""
    texts = (
        "Hi.",
        "one two three four " * 50,
        "A ação não é só coração. " * 30,
        "中文的提示 " * 40,
        "😀🎉" * 40,
        "48213750 " * 40,
    )

    async def main() -> None:
        async with smoke_engine() as real:
            assert real._process is not None
            key = child_key(real._process)
            engine = make_engine(f"{real._process.address}/v1", model="teto", api_key=key, limit_s=30.0)
            await engine.start()
            try:
                for text in texts:
                    estimate, exact = await engine.count(request(text)), await real.count(request(text))
                    assert not estimate.exact
                    assert exact.tokens <= estimate.tokens <= 3 * exact.tokens + 100
            finally:
                await engine.close()

    run(main())


def test_an_answer_without_a_finish_is_an_error() -> None:
    """A stream that ends without a finish reason is not a whole answer."""
    server = Server()

    async def main() -> None:
        async with connected(server) as engine:
            server.finish_reason = None
            with pytest.raises(EngineError, match="without a finish"):
                await answer(engine)

    run(main())


async def cut(response: web.StreamResponse) -> None:
    """Break the connection after what was written."""
    transport = response._req.transport if response._req is not None else None
    assert transport is not None
    await asyncio.sleep(0.05)
    transport.abort()
    await asyncio.sleep(0.05)


async def stay_silent(_: web.StreamResponse) -> None:
    """Write nothing for longer than any limit."""
    await asyncio.sleep(20)


async def report_error(response: web.StreamResponse) -> None:
    """An error event inside a stream with status 200."""
    await response.write(b'data: {"error": {"message": "out of memory"}}\n\n')


async def write_nonsense(response: web.StreamResponse) -> None:
    """An event that is not JSON."""
    await response.write(b"data: <html>\n\n")


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        (cut, EngineDiedError, "broke"),
        (stay_silent, EngineError, "no token within"),
        (report_error, EngineError, "out of memory"),
        (write_nonsense, EngineError, "not JSON"),
    ],
    ids=["cut", "silent", "error", "nonsense"],
)
def test_a_fault_in_the_stream_is_an_error(
    fault: Callable[[web.StreamResponse], Awaitable[None]], kind: type[EngineError], text: str
) -> None:
    """A stream that is cut, falls silent, reports an error or is no JSON ends with an error, and frees its slot."""

    async def main() -> None:
        async with connected(Server(before_each=fault), limit_s=0.5) as engine:
            with pytest.raises(kind, match=text):
                await answer(engine, seed=7)
            assert engine.state().active == 0
            assert (await answer(engine))[0] == "olá, 😀"

    run(main())


def test_a_server_that_is_not_there_is_named() -> None:
    """If nobody listens the error has the URL and what to do, and nothing is left open."""

    async def main() -> None:
        async with served(Server()) as base_url:
            pass
        engine = make_engine(base_url)
        with pytest.raises(EngineError, match=base_url) as caught:
            await engine.start()
        assert "base_url" in str(caught.value)
        assert not engine.state().ready
        with pytest.raises(EngineError, match="not started"):
            _ = engine.facts

    run(main())


def test_a_wrong_key_is_told() -> None:
    """A server that refuses the key fails the start with its status and words."""

    async def main() -> None:
        async with smoke_engine() as real:
            assert real._process is not None
            with pytest.raises(EngineError, match="401"):
                await make_engine(f"{real._process.address}/v1", model="teto", api_key="wrong").start()

    run(main())


def test_closing_ends_what_is_in_flight() -> None:
    """An answer that is being read when the engine is closed ends with an error at once, not at its time limit."""

    async def main() -> None:
        async with connected(Server(before_each=stay_silent), limit_s=10.0) as engine:
            work = asyncio.create_task(answer(engine, seed=7))
            await asyncio.sleep(0.2)
            await engine.close()
            async with asyncio.timeout(3):
                with pytest.raises(EngineError):
                    await work

    run(main())
