"""Any OpenAI-compatible server as the engine: Ollama, LM Studio, vLLM, llama.cpp, Lemonade, Foundry Local ..."""

import contextlib
import hashlib
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import orjson

from teto.engines.engine_http import EngineHttp
from teto.engines.slots import Slots
from teto.errors import EngineDiedError, EngineError
from teto.ports import Capability, EngineFacts, EngineState, PromptCount
from teto.wire.chat import ChatRequest
from teto.wire.generation import Finish, Piece, RunTimings, TokenLogprob
from teto.wire.usage import openai_usage

__all__ = ["ExternalEngine", "ExternalSetup", "external_fingerprint"]

_TOP_LOGPROBS: Final = 5
# High on purpose: an estimate that is too high never overflows a context. Byte-level vocabularies never need more
# tokens than bytes, and only for words of plain letters surely need fewer; templates may add a system prompt.
_LETTERS_PER_TOKEN: Final = 3
_TEMPLATE_TOKENS: Final = 64
_MESSAGE_TOKENS: Final = 8
_PROBE_PROMPT: Final = "Repeat exactly: one two three four five six seven eight nine ten eleven twelve."


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalSetup:
    """Where the server is and how patient to be; `context_tokens` holds where the server does not say."""

    base_url: str
    model: str
    api_key: str | None
    context_tokens: int
    slots: int
    queue_limit: int
    first_token_timeout_s: float
    gap_timeout_s: float


def external_fingerprint(base_url: str, model: str) -> str:
    """Names a model on a server. Weights that change behind the same name are not seen."""
    identity = f"{base_url.rstrip('/')}\n{model}"
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


class ExternalEngine:
    """Streams from the server's chat route. Its capabilities and speeds are probed once, at `start`."""

    def __init__(self, setup: ExternalSetup) -> None:
        self._setup = setup
        self._base_url = setup.base_url.rstrip("/")
        self._slots = Slots(setup.slots, queue_limit=setup.queue_limit)
        self._http: EngineHttp | None = None
        self._facts: EngineFacts | None = None
        self._note = "not started"
        self._is_reachable = True  # as the last request found it
        self._can_tokenize = True

    async def start(self) -> None:
        """Connect, and probe context length, logprobs, schema and speed with three short requests.

        Raises:
            EngineError: the server cannot be reached, or refuses a plain request.
        """
        headers = {}
        if self._setup.api_key:
            headers["Authorization"] = f"Bearer {self._setup.api_key}"
        self._http = EngineHttp(headers)
        try:
            context_tokens = await self._context_tokens()
            speeds, has_logprobs = await self._probe_speed()
            capabilities: set[Capability] = {"logprobs"} if has_logprobs else set()
            if await self._obeys_schema():
                capabilities.add("schema")
        except BaseException:
            await self.close()
            raise
        self._facts = EngineFacts(
            name=self._base_url,
            model=self._setup.model,
            fingerprint=external_fingerprint(self._base_url, self._setup.model),
            context_tokens=context_tokens,
            slots=self._setup.slots,
            capabilities=frozenset(capabilities),
            prefill_tokens_per_s=speeds[0],
            decode_tokens_per_s=speeds[1],
        )
        self._note = ""

    async def close(self) -> None:
        """Close the connections; the server is somebody else's."""
        http, self._http = self._http, None
        if http is not None:
            self._note = "stopped"
            await http.close()

    @property
    def facts(self) -> EngineFacts:
        """What the probe found."""
        if self._facts is None:
            raise EngineError("The external engine was not started.")
        return self._facts

    def state(self) -> EngineState:
        """How busy this client keeps it; what others ask of the server is not seen."""
        return EngineState(
            ready=self._http is not None and self._is_reachable,
            active=self._slots.active,
            waiting=self._slots.waiting,
            expected_wait_s=self._slots.expected_wait_s,
            note=self._note if self._is_reachable else "the server did not answer the last request",
        )

    async def count(self, request: ChatRequest) -> PromptCount:
        """Exact where the server has vLLM's `/tokenize` for messages, else estimated from characters, high."""
        if self._can_tokenize:
            messages = orjson.Fragment(bytes(request.raw["messages"]))
            body = {"model": self._setup.model, "messages": messages}
            with contextlib.suppress(EngineError):
                found = await self._call(self._base_url.removesuffix("/v1") + "/tokenize", body)
                count = found.get("count") if isinstance(found, dict) else None
                if isinstance(count, int) and count > 0:
                    return PromptCount(tokens=count, cached_tokens=0, exact=True)
            self._can_tokenize = False
        tokens = sum(_MESSAGE_TOKENS + _most_tokens(message.text) for message in request.messages)
        return PromptCount(tokens=_TEMPLATE_TOKENS + tokens, cached_tokens=0, exact=False)

    async def generate(self, request: ChatRequest, *, output_limit_tokens: int) -> AsyncGenerator[Piece | Finish, None]:
        """Stream the answer; see the port. Seconds are this client's, tokens the server's usage."""
        fields: dict[str, Any] = {
            **{name: orjson.Fragment(bytes(raw)) for name, raw in request.raw.items()},
            "temperature": request.fields.temperature if request.fields.temperature is not None else 0.0,
            "max_tokens": output_limit_tokens,
        }
        for name in ("max_completion_tokens", "logprobs", "top_logprobs"):
            fields.pop(name, None)
        if self._facts is None or "logprobs" in self._facts.capabilities:
            fields |= {"logprobs": True, "top_logprobs": max(_TOP_LOGPROBS, request.fields.top_logprobs or 0)}
        async with self._slots.hold(()), contextlib.aclosing(self._chat(fields)) as events:
            async for event in events:
                yield event

    async def _chat(self, fields: dict[str, Any]) -> AsyncGenerator[Piece | Finish, None]:
        body = {
            **fields,
            "model": self._setup.model,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        start_s = time.monotonic()
        first_s: float | None = None
        last_s, n_pieces, finish_reason, usage = start_s, 0, "", None
        async with contextlib.aclosing(self._events(body)) as events:
            async for event in events:
                usage = openai_usage(event.get("usage")) or usage
                for choice in event.get("choices") or ():
                    finish_reason = choice.get("finish_reason") or finish_reason
                    if text := (choice.get("delta") or {}).get("content"):
                        last_s = time.monotonic()
                        first_s = first_s if first_s is not None else last_s
                        n_pieces += 1
                        yield Piece(text=text, tokens=_tokens(choice.get("logprobs")))
        if not finish_reason:
            raise EngineError(f"{self._base_url} ended its answer without a finish.", fix="Send it again.")
        first_s = first_s if first_s is not None else time.monotonic()
        prompt = usage.input_total if usage is not None else None
        output = usage.output_total if usage is not None else None
        cached = usage.in_cache_read or 0 if usage is not None else 0
        source = "the server's usage" if prompt is not None and output is not None else "no usage: chunks counted"
        output = output if output is not None else n_pieces
        yield Finish(
            reason="length" if finish_reason == "length" else "stop",
            timings=RunTimings(
                prefilled_tokens=max(0, (prompt or 0) - cached),
                cached_tokens=cached,
                output_tokens=output,
                decode_steps=max(0, output - 1),
                prefill_s=first_s - start_s,
                decode_s=last_s - first_s,
                source=source,
            ),
        )

    async def _events(self, body: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        events = self._open().events(
            f"{self._base_url}/chat/completions",
            body,
            first_token_timeout_s=self._setup.first_token_timeout_s,
            gap_timeout_s=self._setup.gap_timeout_s,
        )
        try:
            async with contextlib.aclosing(events):
                async for event in events:
                    self._is_reachable = True
                    yield event
        except aiohttp.ClientConnectorError as error:
            raise self._unreachable(error) from None
        except aiohttp.ClientError as error:
            self._is_reachable = False
            raise EngineDiedError(f"The connection to {self._base_url} broke: {error}.") from None

    def _open(self) -> EngineHttp:
        if self._http is None:
            raise EngineError(f"The engine at {self._base_url} is {self._note}.")
        return self._http

    def _unreachable(self, error: Exception) -> EngineError:
        self._is_reachable = False
        return EngineError(
            f"{self._base_url} cannot be reached: {error}.",
            fix="Start that server, or correct engine.base_url.",
        )

    async def _call(self, url: str, body: Any) -> Any:
        try:
            return await self._open().call(url, body, timeout_s=10.0)
        except aiohttp.ClientError as error:
            raise self._unreachable(error) from None

    async def _context_tokens(self) -> int:
        """The context that the server's model list states (vLLM, LM Studio, llama.cpp), else the setting's."""
        listed: Any = {}
        with contextlib.suppress(EngineError):  # a server without the list may still answer
            listed = await self._call(f"{self._base_url}/models", None)
        models = listed.get("data", []) if isinstance(listed, dict) else []
        mine: dict[str, Any] = next((model for model in models if model.get("id") == self._setup.model), {})
        stated = (
            mine.get("max_model_len"),
            mine.get("max_context_length"),
            (mine.get("meta") or {}).get("n_ctx"),
        )
        return next((int(value) for value in stated if isinstance(value, int)), self._setup.context_tokens)

    async def _probe_speed(self) -> tuple[tuple[float | None, float | None], bool]:
        fields = {
            "messages": [{"role": "user", "content": _PROBE_PROMPT}],
            "temperature": 0.0,
            "max_tokens": 24,
            "logprobs": True,
            "top_logprobs": _TOP_LOGPROBS,
        }
        try:
            events = [event async for event in self._chat(fields)]
        except EngineDiedError:
            raise
        except EngineError:
            # Some servers refuse logprobs; a plain request must work.
            events = [event async for event in self._chat({k: v for k, v in fields.items() if "logprobs" not in k})]
        timings = next(event.timings for event in events if isinstance(event, Finish))
        has_logprobs = any(event.tokens for event in events if isinstance(event, Piece))
        known = timings.source == "the server's usage"
        prefill = timings.prefilled_tokens / timings.prefill_s if known and timings.prefill_s > 0 else None
        decode = timings.decode_steps / timings.decode_s if timings.decode_steps and timings.decode_s > 0 else None
        return (prefill or None, decode), has_logprobs

    async def _obeys_schema(self) -> bool:
        """Whether a schema whose only values no model would choose freely is obeyed."""
        schema = {
            "type": "object",
            "properties": {"k": {"type": "string", "enum": ["qzx", "vkj"]}},
            "required": ["k"],
            "additionalProperties": False,
        }
        fields = {
            "messages": [{"role": "user", "content": "Say hello."}],
            "temperature": 0.0,
            "max_tokens": 24,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "probe", "strict": True, "schema": schema},
            },
        }
        try:
            pieces = [event.text async for event in self._chat(fields) if isinstance(event, Piece)]
            return bool(orjson.loads("".join(pieces)).get("k") in {"qzx", "vkj"})
        except (EngineError, orjson.JSONDecodeError, AttributeError):
            return False


def _most_tokens(text: str) -> int:
    letters = sum(char.isascii() and char.isalpha() for char in text)
    return letters // _LETTERS_PER_TOKEN + len(text.encode(errors="replace")) - letters


def _tokens(logprobs: Any) -> tuple[TokenLogprob, ...]:
    entries = logprobs.get("content") if isinstance(logprobs, dict) else None
    return tuple(
        TokenLogprob(
            text=entry["token"],
            logprob=entry["logprob"],
            top=tuple((top["token"], top["logprob"]) for top in entry.get("top_logprobs") or ()),
        )
        for entry in entries or ()
    )
