"""The embedded engine when things go wrong: its child dies, hangs or is slow, and clients leave."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from tests.fakes import engine_facts
from tests.smoke_weights import BATCH_TOKENS, request, run, smoke_engine, smoke_setup
from teto.engines.llama import LlamaEngine, LlamaLimits
from teto.engines.llama_process import LlamaProcess, child_environment
from teto.errors import EngineDiedError, EngineError
from teto.wire.generation import Finish, Piece

_STORY = "Write a very long story about a dog, a cat and a boat."
_LONG_PROMPT = "The dog sleeps on the boat and the cat counts the waves. " * 130  # about 1,700 tokens


async def answer(engine: LlamaEngine, text: str = "Hi.", *, limit: int = 3) -> Finish:
    """The finish of one answer."""
    finish = [event async for event in engine.generate(request(text), output_limit_tokens=limit)][-1]
    assert isinstance(finish, Finish)
    return finish


async def drain(stream: AsyncIterator[Piece | Finish]) -> None:
    """Read the stream to its end, which must not take long."""
    async with asyncio.timeout(5):
        async for _ in stream:
            pass


async def until(condition: Callable[[], bool], *, limit_s: float) -> float:
    """Wait for the condition; the seconds that it took."""
    start_s = time.monotonic()
    while not condition():
        assert time.monotonic() - start_s < limit_s
        await asyncio.sleep(0.01)
    return time.monotonic() - start_s


async def until_the_only_slot_is_free(engine: LlamaEngine) -> float:
    """The seconds until the child itself, with its one slot, answers the smallest request."""
    assert engine.process is not None
    start_s = time.monotonic()
    await engine.process.post_json("/completion", {"prompt": [1], "n_predict": 1, "id_slot": 0})
    return time.monotonic() - start_s


async def until_a_slot_is_free(engine: LlamaEngine) -> float:
    """The seconds until the first of the child's slots answers the smallest request."""
    assert engine.process is not None
    start_s = time.monotonic()
    body = {"prompt": [1], "n_predict": 1}
    tries = [
        asyncio.create_task(engine.process.post_json("/completion", {**body, "id_slot": slot}))
        for slot in range(engine.facts.slots)
    ]
    await asyncio.wait(tries, return_when=asyncio.FIRST_COMPLETED)
    free_s = time.monotonic() - start_s
    for attempt in tries:
        attempt.cancel()
    await asyncio.gather(*tries, return_exceptions=True)
    return free_s


def child_pid(engine: LlamaEngine) -> int:
    """The child's process id."""
    assert engine.process is not None
    return engine.process.pid


def kill(engine: LlamaEngine) -> int:
    """Kill the child as the system would for want of memory; its process id."""
    pid = child_pid(engine)
    os.kill(pid, signal.SIGKILL)
    return pid


def test_a_child_killed_mid_answer_is_told_and_replaced() -> None:
    """The answer in flight ends with EngineDiedError, the engine is not ready, and within 10 s it answers again."""

    async def main() -> None:
        async with smoke_engine() as engine:
            stream = engine.generate(request(_STORY), output_limit_tokens=1500)
            assert isinstance(await anext(stream), Piece)
            old_pid = kill(engine)
            with pytest.raises(EngineDiedError):
                await drain(stream)
            assert not engine.state().ready
            assert engine.state().active == 0
            with pytest.raises(EngineError, match="not running"):
                await answer(engine)
            await until(lambda: engine.state().ready, limit_s=10)
            assert child_pid(engine) != old_pid
            assert (engine.state().note, (await answer(engine)).reason) == ("", "length")

    run(main())


def test_a_new_child_starts_with_an_empty_cache() -> None:
    """What the dead child had cached is not promised of the new one."""

    async def main() -> None:
        async with smoke_engine() as engine:
            await answer(engine, _STORY)
            assert (await engine.count(request(_STORY))).cached_tokens > 0
            kill(engine)
            await until(lambda: not engine.state().ready, limit_s=5)
            await until(lambda: engine.state().ready, limit_s=10)
            assert (await engine.count(request(_STORY))).cached_tokens == 0
            assert (await answer(engine, _STORY)).timings.cached_tokens == 0

    run(main())


def test_every_request_ends_when_the_child_is_killed() -> None:
    """Requests that prefill, decode and wait when the child dies all end with EngineError: none hangs or crashes."""

    async def main() -> None:
        async with smoke_engine(queue_limit=20) as engine:
            texts = [_STORY, _LONG_PROMPT] * 5
            work = [asyncio.create_task(answer(engine, text, limit=400)) for text in texts]
            await until(lambda: engine.state().waiting > 0, limit_s=10)
            await asyncio.sleep(0.1)
            kill(engine)
            async with asyncio.timeout(8):
                results = await asyncio.gather(*work, return_exceptions=True)
            assert all(isinstance(result, EngineError) for result in results), results
            assert any(isinstance(result, EngineDiedError) for result in results)
            assert (engine.state().active, engine.state().waiting) == (0, 0)

    run(main())


@pytest.mark.parametrize("delay_s", [0.0, 0.002, 0.005, 0.01, 0.03])
def test_whenever_it_is_closed_requests_end_with_an_error(delay_s: float) -> None:
    """Closing the engine while requests arrive, prefill and decode ends each with an answer or EngineError."""

    async def main() -> None:
        async with smoke_engine(queue_limit=20) as engine:
            work = [asyncio.create_task(answer(engine, _STORY, limit=200)) for _ in range(8)]
            await asyncio.sleep(delay_s)
            await engine.close()
            async with asyncio.timeout(8):
                results = await asyncio.gather(*work, return_exceptions=True)
            assert all(isinstance(result, EngineError) for result in results), results

    run(main())


def test_closing_while_it_restarts_leaves_no_child() -> None:
    """An engine that is closed between its child's death and the next start is closed at once."""

    async def main() -> None:
        async with smoke_engine() as engine:
            kill(engine)
            await until(lambda: "restarting" in engine.state().note, limit_s=5)
            start_s = time.monotonic()
            await engine.close()
            assert time.monotonic() - start_s < 2.5
            assert engine.process is None

    run(main())


def starts_in_turn(failures: int) -> Callable[[], Coroutine[Any, Any, LlamaProcess]]:
    """A start that works once, then fails so many times, then works again."""
    n_starts = 0
    setup = smoke_setup()

    async def start() -> LlamaProcess:
        nonlocal n_starts
        n_starts += 1
        if 1 < n_starts <= 1 + failures:
            raise EngineError("no memory for the weights")
        return await LlamaProcess.start(setup, environment=child_environment())

    return start


@asynccontextmanager
async def engine_that_starts(start: Callable[[], Coroutine[Any, Any, LlamaProcess]]) -> AsyncIterator[LlamaEngine]:
    """A started engine with that way to start."""
    limits = LlamaLimits(queue_limit=2, first_token_timeout_s=60.0, gap_timeout_s=30.0)
    engine = LlamaEngine(engine_facts(), start_process=start, limits=limits)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()


def test_a_restart_that_fails_is_tried_again_and_says_why() -> None:
    """While the weights cannot be loaded the engine's note and its errors say why, and it goes on trying."""

    async def main() -> None:
        async with engine_that_starts(starts_in_turn(1)) as engine:
            kill(engine)
            await until(lambda: "no memory for the weights" in engine.state().note, limit_s=5)
            assert "restarting in" in engine.state().note
            with pytest.raises(EngineError, match="no memory for the weights"):
                await answer(engine)
            await until(lambda: engine.state().ready, limit_s=10)
            assert (await answer(engine)).reason == "length"

    run(main())


def test_a_first_start_that_fails_is_the_callers() -> None:
    """At the first start the error is raised, and closing such an engine is no error."""

    async def main() -> None:
        async def start() -> LlamaProcess:
            raise EngineError("cannot load x.gguf")

        limits = LlamaLimits(queue_limit=2, first_token_timeout_s=60.0, gap_timeout_s=30.0)
        engine = LlamaEngine(engine_facts(), start_process=start, limits=limits)
        with pytest.raises(EngineError, match="not started"):
            await engine.count(request("Hi."))
        with pytest.raises(EngineError, match=r"x\.gguf"):
            await engine.start()
        assert not engine.state().ready
        await engine.close()

    run(main())


def test_leaving_while_it_decodes_frees_the_engine() -> None:
    """A client that leaves mid-answer frees the child itself, not only the queue, within 500 ms."""

    async def main() -> None:
        async with smoke_engine(slots=1) as engine:
            async with aclosing(engine.generate(request(_STORY), output_limit_tokens=1500)) as stream:
                for _ in range(3):
                    assert isinstance(await anext(stream), Piece)
            assert engine.state().active == 0
            assert await until_the_only_slot_is_free(engine) < 0.5

    run(main())


def test_leaving_while_it_prefills_frees_the_engine() -> None:
    """A client that leaves during a prefill of seconds frees the child after about one batch."""

    async def main() -> None:
        async with smoke_engine(slots=1) as engine:
            assert (await engine.count(request(_LONG_PROMPT))).tokens > 1500
            work = asyncio.create_task(answer(engine, _LONG_PROMPT))
            await until(lambda: engine.state().active == 1, limit_s=5)
            await asyncio.sleep(0.3)
            assert not work.done()
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            assert engine.state().active == 0
            assert await until_the_only_slot_is_free(engine) < 1.5

    run(main())


def test_leaving_beside_another_stream_frees_the_engine_too() -> None:
    """llama.cpp looks for closed connections only while no slot has results; the other slot's tokens never let it."""

    async def main() -> None:
        async with smoke_engine(slots=2) as engine:
            other = asyncio.create_task(answer(engine, _STORY, limit=1500))
            await until(lambda: engine.state().active == 1, limit_s=5)
            work = asyncio.create_task(answer(engine, _LONG_PROMPT))
            await until(lambda: engine.state().active == 2, limit_s=5)
            await asyncio.sleep(0.5)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            assert await until_a_slot_is_free(engine) < 1.5
            assert not other.done()
            other.cancel()
            await asyncio.gather(other, return_exceptions=True)

    run(main())


def test_who_comes_back_finds_what_was_computed() -> None:
    """A prefill that was left is not lost: the next try of the same prompt goes on from its last whole batch."""

    async def main() -> None:
        async with smoke_engine(slots=1) as engine:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1.5):
                    await answer(engine, _LONG_PROMPT)
            count = await engine.count(request(_LONG_PROMPT))
            assert count.cached_tokens >= BATCH_TOKENS
            timings = (await answer(engine, _LONG_PROMPT)).timings
            assert timings.cached_tokens >= count.cached_tokens
            assert timings.prefilled_tokens + timings.cached_tokens == count.tokens

    run(main())


def test_the_first_token_has_a_time_limit() -> None:
    """A prefill that takes longer than the limit ends with an error then, although no header has come yet."""

    async def main() -> None:
        async with smoke_engine(slots=1, first_token_timeout_s=0.3) as engine:
            start_s = time.monotonic()
            with pytest.raises(EngineError, match=r"no token within 0\.3 s"):
                await answer(engine, _LONG_PROMPT)
            assert time.monotonic() - start_s < 2.0
            assert engine.state().active == 0

    run(main())


def test_a_child_that_falls_silent_is_told() -> None:
    """When no token comes for as long as the gap limit the answer ends with an error."""

    async def main() -> None:
        async with smoke_engine(gap_timeout_s=0.5) as engine:
            stream = engine.generate(request(_STORY), output_limit_tokens=1500)
            assert isinstance(await anext(stream), Piece)
            pid = child_pid(engine)
            os.kill(pid, signal.SIGSTOP)
            try:
                with pytest.raises(EngineError, match=r"no token within 0\.5 s"):
                    await drain(stream)
            finally:
                os.kill(pid, signal.SIGCONT)
            assert engine.state().active == 0

    run(main())
