"""The smoke-test weights and a real engine on them: 93 MB, quick, and as good as chance at answering."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import platformdirs
import pytest

from teto.catalog.weights import find_weights
from teto.engines.llama import LlamaEngine, LlamaLimits
from teto.engines.llama_process import LlamaProcess, LlamaSetup, child_environment
from teto.engines.weights import WeightsStore, free_disk_bytes
from teto.errors import MissingWeightsError
from teto.ports import EngineFacts
from teto.wire.chat import ChatRequest, parse_chat_request

__all__ = [
    "BATCH_TOKENS",
    "CONTEXT_TOKENS",
    "SLOTS",
    "WEIGHTS_ID",
    "child_key",
    "request",
    "run",
    "smoke_engine",
    "smoke_process",
    "smoke_setup",
    "smoke_weights",
    "store_folder",
]

WEIGHTS_ID = "smollm2-135m-instruct-q4_1"
CONTEXT_TOKENS = 2048
SLOTS = 2
BATCH_TOKENS = 64

_Result = TypeVar("_Result")


def store_folder() -> Path:
    """Where `teto models pull` puts weights for this user."""
    return platformdirs.PlatformDirs("teto", appauthor=False).user_cache_path / "weights"


def smoke_weights() -> Path:
    """The file of the smoke weights; without it the test is skipped, and in CI it fails."""
    store = WeightsStore(folder=store_folder(), sources=[], free_bytes=free_disk_bytes)
    try:
        return store.locate(find_weights(WEIGHTS_ID)).path
    except MissingWeightsError:
        reason = f"the smoke weights are not here: run `teto models pull {WEIGHTS_ID}`"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


def run(main: Coroutine[Any, Any, _Result], *, limit_s: float = 60.0) -> _Result:
    """The coroutine's result, from a loop of its own; one that hangs is a failure."""

    async def limited() -> _Result:
        async with asyncio.timeout(limit_s):
            return await main

    return asyncio.run(limited())


def request(text: str, **fields: Any) -> ChatRequest:
    """A chat request of one user message."""
    body = {"model": "teto/local", "messages": [{"role": "user", "content": text}], **fields}
    return parse_chat_request(json.dumps(body).encode())


def smoke_setup(weights: Path | None = None, *, slots: int = SLOTS, context_tokens: int = CONTEXT_TOKENS) -> LlamaSetup:
    """A child on two threads that wait passively, so that tests share the machine with others."""
    return LlamaSetup(
        weights=weights or smoke_weights(),
        context_tokens=context_tokens,
        slots=slots,
        batch_tokens=BATCH_TOKENS,
        decode_threads=1,
        prefill_threads=2,
        wait_policy="passive",
        repack=False,
    )


@asynccontextmanager
async def smoke_process(*, slots: int = SLOTS) -> AsyncIterator[LlamaProcess]:
    """A child, stopped at the end."""
    process = await LlamaProcess.start(smoke_setup(slots=slots), environment=child_environment())
    try:
        yield process
    finally:
        await process.stop()


def child_key(process: LlamaProcess) -> str:
    """The key that the child asks for; nothing but its parent's session knows it."""
    return str(process._http._session.headers["Authorization"]).removeprefix("Bearer ")


@asynccontextmanager
async def smoke_engine(
    *,
    slots: int = SLOTS,
    context_tokens: int = CONTEXT_TOKENS,
    queue_limit: int = 2,
    first_token_timeout_s: float = 60.0,
    gap_timeout_s: float = 30.0,
) -> AsyncIterator[LlamaEngine]:
    """A started engine, closed at the end."""
    setup = smoke_setup(slots=slots, context_tokens=context_tokens)
    engine = LlamaEngine(
        EngineFacts(
            name="embedded llama.cpp",
            model=WEIGHTS_ID,
            fingerprint="smoke",
            context_tokens=context_tokens,
            slots=slots,
            capabilities=frozenset({"logprobs", "schema"}),
            prefill_tokens_per_s=None,
            decode_tokens_per_s=None,
            prefill_batch_tokens=BATCH_TOKENS,
        ),
        start_process=lambda: LlamaProcess.start(setup, environment=child_environment()),
        limits=LlamaLimits(
            queue_limit=queue_limit,
            first_token_timeout_s=first_token_timeout_s,
            gap_timeout_s=gap_timeout_s,
        ),
    )
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()
