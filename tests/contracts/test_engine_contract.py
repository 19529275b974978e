"""What every engine promises: the fake, the embedded one, and an OpenAI-compatible server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager

import pytest

from tests.fakes import FakeEngine, engine_facts, sure_pieces
from tests.smoke_weights import SLOTS, child_key, request, run, smoke_engine, smoke_process
from teto.engines.external import ExternalEngine, ExternalSetup
from teto.errors import EngineBusyError, EngineError
from teto.ports import Engine
from teto.wire.generation import Finish, Piece

Opener = Callable[[], AbstractAsyncContextManager[Engine]]

_QUEUE_LIMIT = 2
_PROMPT = "Write a long story about a dog, a cat and a boat."


@asynccontextmanager
async def open_fake() -> AsyncIterator[Engine]:
    """The fake, with a story to tell."""
    yield FakeEngine(
        pieces=sure_pieces("once upon a time a dog, a cat and a boat met at the end of the pier " * 4),
        delay_s=0.001,
        given_facts=engine_facts(slots=SLOTS),
        queue_limit=_QUEUE_LIMIT,
    )


@asynccontextmanager
async def open_llama() -> AsyncIterator[Engine]:
    """The embedded engine."""
    async with smoke_engine(queue_limit=_QUEUE_LIMIT) as engine:
        yield engine


@asynccontextmanager
async def open_external() -> AsyncIterator[Engine]:
    """A llama.cpp server's own OpenAI-compatible routes, as an engine of somebody else's."""
    async with smoke_process() as process:
        engine = ExternalEngine(
            ExternalSetup(
                base_url=f"{process.address}/v1",
                model="teto",
                api_key=child_key(process),
                context_tokens=2048,
                slots=SLOTS,
                queue_limit=_QUEUE_LIMIT,
                first_token_timeout_s=60.0,
                gap_timeout_s=30.0,
            )
        )
        await engine.start()
        try:
            yield engine
        finally:
            await engine.close()


_ALL: dict[str, Opener] = {"fake": open_fake, "llama": open_llama, "external": open_external}

every_engine = pytest.mark.parametrize("opener", _ALL.values(), ids=_ALL.keys())


async def answer(engine: Engine, *, limit: int = 12) -> tuple[list[Piece], Finish]:
    """The pieces and the finish of one answer, their order checked."""
    stream = engine.generate(request(_PROMPT), output_limit_tokens=limit)
    events = [event async for event in stream]
    pieces = [event for event in events if isinstance(event, Piece)]
    assert isinstance(events[-1], Finish)
    assert len(pieces) == len(events) - 1
    return pieces, events[-1]


async def until_waiting(engine: Engine, count: int) -> None:
    """Wait until so many requests stand in the queue."""
    while engine.state().waiting < count:  # noqa: ASYNC110 - the port has no event for it
        await asyncio.sleep(0.005)


@every_engine
def test_facts_are_sane(opener: Opener) -> None:
    """A started engine names itself and its model, has a context and slots, and is ready and idle."""

    async def main() -> None:
        async with opener() as engine:
            facts, state = engine.facts, engine.state()
        assert facts.name
        assert facts.model
        assert facts.fingerprint
        assert facts.context_tokens > 0
        assert facts.slots >= 1
        assert facts.prefill_tokens_per_s is None or facts.prefill_tokens_per_s > 0
        assert facts.decode_tokens_per_s is None or facts.decode_tokens_per_s > 0
        assert (state.ready, state.active, state.waiting, state.expected_wait_s) == (True, 0, 0, 0.0)

    run(main())


@every_engine
def test_a_prompt_has_tokens(opener: Opener) -> None:
    """A prompt counts more than 0 tokens, and fewer of them are cached."""

    async def main() -> None:
        async with opener() as engine:
            count = await engine.count(request(_PROMPT))
        assert count.tokens > 0
        assert 0 <= count.cached_tokens < count.tokens

    run(main())


@every_engine
def test_an_answer_is_pieces_and_then_one_finish(opener: Opener) -> None:
    """Pieces with text come first, then exactly one finish with the tokens and seconds of both phases."""

    async def main() -> None:
        async with opener() as engine:
            pieces, finish = await answer(engine)
            count = await engine.count(request(_PROMPT))
        assert "".join(piece.text for piece in pieces)
        timings = finish.timings
        assert timings.prompt_tokens == count.tokens or not count.exact
        assert timings.output_tokens > 0
        assert timings.decode_steps == timings.output_tokens - 1
        assert timings.prefill_s > 0
        assert timings.decode_s > 0
        assert timings.source

    run(main())


@every_engine
def test_tokens_are_exactly_the_pieces_text(opener: Opener) -> None:
    """The tokens of a piece, joined, are its text, and their logprobs are never above 0."""

    async def main() -> None:
        async with opener() as engine:
            assert "logprobs" in engine.facts.capabilities
            pieces, _ = await answer(engine)
        for piece in pieces:
            assert "".join(token.text for token in piece.tokens) == piece.text
        tokens = [token for piece in pieces for token in piece.tokens]
        assert tokens
        assert all(token.logprob <= 0 for token in tokens)
        assert all(logprob <= 0 for token in tokens for _, logprob in token.top)

    run(main())


@every_engine
def test_the_output_limit_is_obeyed(opener: Opener) -> None:
    """An answer that would be longer ends at the limit, and says that the length ended it."""

    async def main() -> None:
        async with opener() as engine:
            pieces, finish = await answer(engine, limit=5)
        assert finish.reason == "length"
        assert 0 < sum(len(piece.tokens) for piece in pieces) <= 5

    run(main())


@every_engine
def test_closing_the_iterator_early_frees_the_slot(opener: Opener) -> None:
    """As many answers as there are slots are left after their first piece; the next one works at once."""

    async def main() -> None:
        async with opener() as engine:
            for _ in range(SLOTS + 1):
                async with aclosing(engine.generate(request(_PROMPT), output_limit_tokens=1500)) as stream:
                    assert isinstance(await anext(stream), Piece)
                    assert engine.state().active == 1
                assert engine.state().active == 0
            async with asyncio.timeout(5):
                _, finish = await answer(engine, limit=3)
            assert finish.reason == "length"
            assert engine.state().active == 0

    run(main())


@every_engine
def test_an_iterator_that_was_never_read_holds_nothing(opener: Opener) -> None:
    """Making a stream starts no work, and closing it at once is no error."""

    async def main() -> None:
        async with opener() as engine:
            await engine.generate(request(_PROMPT), output_limit_tokens=5).aclose()
            assert engine.state().active == 0

    run(main())


@every_engine
def test_more_requests_than_slots_wait_and_all_finish(opener: Opener) -> None:
    """With a full queue never more than the slots are active, and every request is answered."""

    async def main() -> None:
        async with opener() as engine:
            most_active = 0

            async def one() -> Finish:
                nonlocal most_active
                stream = engine.generate(request(_PROMPT), output_limit_tokens=8)
                async for event in stream:
                    most_active = max(most_active, engine.state().active)
                    if isinstance(event, Finish):
                        return event
                raise AssertionError("no finish")

            finishes = await asyncio.gather(*(one() for _ in range(SLOTS + _QUEUE_LIMIT)))
            assert [finish.reason for finish in finishes] == ["length"] * (SLOTS + _QUEUE_LIMIT)
            assert most_active == SLOTS
            assert (engine.state().active, engine.state().waiting) == (0, 0)

    run(main())


@every_engine
def test_a_full_queue_is_said_at_once(opener: Opener) -> None:
    """One request more than slots and queue hold gets EngineBusyError, and disturbs none of the others."""

    async def main() -> None:
        async with opener() as engine, asyncio.TaskGroup() as group:
            others = [group.create_task(answer(engine, limit=40)) for _ in range(SLOTS + _QUEUE_LIMIT)]
            await until_waiting(engine, _QUEUE_LIMIT)
            assert engine.state().active == SLOTS
            with pytest.raises(EngineBusyError):
                await answer(engine)
            results = await asyncio.gather(*others)
            assert all(finish.reason == "length" for _, finish in results)

    run(main())


@every_engine
def test_one_that_waits_may_leave(opener: Opener) -> None:
    """A request that is cancelled in the queue leaves it, and those behind it are still answered."""

    async def main() -> None:
        async with opener() as engine:
            holders = [asyncio.create_task(answer(engine, limit=30)) for _ in range(SLOTS)]
            leaver = asyncio.create_task(answer(engine))
            await until_waiting(engine, 1)
            leaver.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await leaver
            assert engine.state().waiting == 0
            await asyncio.gather(answer(engine), *holders)
            assert (engine.state().active, engine.state().waiting) == (0, 0)

    run(main())


@every_engine
def test_a_closed_engine_says_so(opener: Opener) -> None:
    """After close it is not ready, and generating raises EngineError; closing again is no error."""

    async def main() -> None:
        async with opener() as engine:
            await engine.close()
            assert not engine.state().ready
            with pytest.raises(EngineError):
                await answer(engine)
            await engine.close()

    run(main())
