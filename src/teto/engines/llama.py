"""The embedded engine: llama.cpp in a child process, behind the `Engine` port."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

import orjson

from teto.engines.engine_http import no_token_error
from teto.engines.llama_process import LlamaProcess
from teto.engines.prefill import Prefilled, prefill_in_batches
from teto.engines.slots import Slot, Slots, shared_prefix
from teto.errors import EngineError
from teto.ports import EngineFacts, EngineState, PromptCount
from teto.wire.chat import ChatRequest
from teto.wire.generation import Finish, FinishReason, Piece, RunTimings, TokenLogprob

__all__ = ["LlamaEngine", "LlamaLimits"]

_FIRST_BACKOFF_S: Final = 0.5
_LAST_BACKOFF_S: Final = 30.0
_HEALTHY_AFTER_S: Final = 30.0  # a child that lived this long earns a quick restart again
_LEAST_TOP_LOGPROBS: Final = 5
_PROMPTS_REMEMBERED: Final = 32
_EMPTY_CONVERSATION: Final = b'[{"role":"user","content":""}]'

# OpenAI's names for sampling are llama.cpp's too, but for the limit.
_SAMPLING: Final = (
    "temperature", "top_p", "seed", "stop", "presence_penalty", "frequency_penalty", "logit_bias",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaLimits:
    """How many may wait, and how long for what."""

    queue_limit: int
    first_token_timeout_s: float
    gap_timeout_s: float


class LlamaEngine:
    """Keeps one child alive and streams from it.

    The prompt goes through the model's own template and is sent as tokens, so what is counted is what is
    computed, and every token that comes back carries exactly its text: no hidden code fence, no re-tokenising.
    """

    def __init__(
        self,
        facts: EngineFacts,
        *,
        start_process: Callable[[], Coroutine[Any, Any, LlamaProcess]],
        limits: LlamaLimits,
    ) -> None:
        self._facts = facts
        self._start_process = start_process
        self._limits = limits
        self._batch_tokens = facts.prefill_batch_tokens or facts.context_tokens
        self._slots = Slots(facts.slots, queue_limit=limits.queue_limit)
        self._process: LlamaProcess | None = None
        self._tokens: dict[bytes, list[int]] = {}
        self._note = "not started"
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the child and keep it alive from now on.

        Raises:
            EngineError: the first start failed; later failures are retried with back-off.
        """
        await self._launch()
        self._keeper = asyncio.create_task(self._keep_alive())

    async def _launch(self) -> None:
        self._process, self._note = await self._start_process(), ""
        with contextlib.suppress(EngineError):  # a child that cannot do this will say so to the first request
            await self._warm(self._process)

    async def _warm(self, process: LlamaProcess) -> None:
        """Put the template's fixed beginning into every slot's cache: no request has to wait for it."""
        tokens = await self._template_tokens(process, _EMPTY_CONVERSATION)
        for index in range(self._facts.slots):
            await process.post_json("/completion", {"prompt": tokens, "id_slot": index, "n_predict": 1})
        self._slots.filled_with(tokens)

    async def close(self) -> None:
        """Stop the child."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        process, self._process, self._note = self._process, None, "stopped"
        if process is not None:
            await process.stop()

    async def _keep_alive(self) -> None:
        loop = asyncio.get_running_loop()
        backoff_s, why = _FIRST_BACKOFF_S, ""
        while True:
            if self._process is not None:
                started_s = loop.time()
                await self._process.died.wait()
                await self._process.stop()
                self._process, why = None, "its process ended"
                self._slots.forget()
                if loop.time() - started_s > _HEALTHY_AFTER_S:
                    backoff_s = _FIRST_BACKOFF_S
            self._note = f"{why}; restarting in {backoff_s:g} s"
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, _LAST_BACKOFF_S)
            try:
                await self._launch()
            except EngineError as error:
                why = f"it cannot restart: {error}"

    @property
    def facts(self) -> EngineFacts:
        """What is true of it while it runs."""
        return self._facts

    @property
    def process(self) -> LlamaProcess | None:
        """The child while it runs: whoever measures calls it directly."""
        return self._process

    def state(self) -> EngineState:
        """How busy it is now."""
        return EngineState(
            ready=self._process is not None and not self._process.died.is_set(),
            active=self._slots.active,
            waiting=self._slots.waiting,
            expected_wait_s=self._slots.expected_wait_s,
            note=self._note,
        )

    def _running(self) -> LlamaProcess:
        if self._process is None or self._process.died.is_set():
            raise EngineError(f"The local engine is not running: {self._note or 'its process ended'}.")
        return self._process

    async def _prompt_tokens(self, request: ChatRequest) -> list[int]:
        process = self._running()
        key = bytes(request.raw["messages"])
        if key in self._tokens:  # counted a moment ago, for admission
            return self._tokens[key]
        tokens = await self._template_tokens(process, key)
        while len(self._tokens) >= _PROMPTS_REMEMBERED:
            del self._tokens[next(iter(self._tokens))]
        self._tokens[key] = tokens
        return tokens

    @staticmethod
    async def _template_tokens(process: LlamaProcess, messages: bytes) -> list[int]:
        # A model that would think aloud first is asked not to: the answer's own tokens are the evidence.
        template = {"messages": orjson.Fragment(messages), "chat_template_kwargs": {"enable_thinking": False}}
        prompt = (await process.post_json("/apply-template", template))["prompt"]
        tokenized = {"content": prompt, "add_special": True, "parse_special": True}
        tokens: list[int] = (await process.post_json("/tokenize", tokenized))["tokens"]
        return tokens

    async def count(self, request: ChatRequest) -> PromptCount:
        """The exact tokens of the prompt, and how many of them a free slot's cache already holds."""
        tokens = await self._prompt_tokens(request)
        return PromptCount(tokens=len(tokens), cached_tokens=self._slots.cached_tokens(tokens), exact=True)

    async def generate(self, request: ChatRequest, *, output_limit_tokens: int) -> AsyncGenerator[Piece | Finish, None]:
        """Stream the answer from a slot; see the port."""
        tokens = await self._prompt_tokens(request)
        async with self._slots.hold(tokens) as slot:
            slot.cached = tokens[: shared_prefix(slot.cached, tokens)]  # the engine drops the rest at once
            since_s = asyncio.get_running_loop().time()
            prefilled = await self._prefill(tokens, slot)
            body = self._completion_body(request, tokens, slot, output_limit_tokens)
            generated: list[int] = []
            stream = self._running().events(
                "/completion",
                body,
                first_token_timeout_s=self._limits.first_token_timeout_s,
                gap_timeout_s=self._limits.gap_timeout_s,
                since_s=since_s,
            )
            async with contextlib.aclosing(stream):
                async for event in stream:
                    generated += event.get("tokens", ())
                    slot.cached = tokens  # whatever becomes of the answer
                    if event.get("stop"):
                        slot.cached = tokens + generated[:-1]
                        yield _finish(event, prefilled.timings(event["timings"], len(tokens)))
                        return
                    if event.get("content") or event.get("completion_probabilities"):
                        yield _piece(event)
            raise EngineError("The engine's answer ended without its last event.", fix="Send the request again.")

    async def _prefill(self, tokens: list[int], slot: Slot) -> Prefilled:
        limit_s = self._limits.first_token_timeout_s
        complete = functools.partial(self._running().post_json, "/completion", timeout_s=2 * limit_s)
        try:
            async with asyncio.timeout(limit_s):
                return await prefill_in_batches(complete, tokens, slot, batch_tokens=self._batch_tokens)
        except TimeoutError:
            raise no_token_error(limit_s) from None

    def _completion_body(
        self, request: ChatRequest, tokens: list[int], slot: Slot, output_limit_tokens: int
    ) -> dict[str, Any]:
        fields = request.fields
        body: dict[str, Any] = {
            "prompt": tokens,
            "id_slot": slot.index,
            "n_predict": output_limit_tokens,
            "stream": True,  # a disconnect cancels only what is streamed
            "cache_prompt": True,
            "return_tokens": True,
            "n_probs": max(_LEAST_TOP_LOGPROBS, fields.top_logprobs or 0),
            "temperature": 0.0,
        }
        body |= {name: value for name in _SAMPLING if (value := getattr(fields, name)) is not None}
        if request.json_schema is not None:
            body["json_schema"] = request.json_schema
        return body


def _piece(event: dict[str, Any]) -> Piece:
    tokens = tuple(
        TokenLogprob(
            text=bytes(entry["bytes"]).decode(errors="replace"),
            logprob=entry["logprob"],
            top=tuple((top["token"], top["logprob"]) for top in entry["top_logprobs"]),
        )
        for entry in event.get("completion_probabilities", ())
        if entry["bytes"]  # the end token has no text
    )
    return Piece(text=event["content"], tokens=tokens)


def _finish(event: dict[str, Any], timings: RunTimings) -> Finish:
    reason: FinishReason = "length" if event.get("stop_type") == "limit" else "stop"
    return Finish(reason=reason, timings=timings)
