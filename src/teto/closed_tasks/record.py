"""Runs items on an engine and gives what it said; the caller keeps each record before the next is asked."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from teto.closed_tasks.recorded import Recorded, RecordedToken
from teto.ports import Engine
from teto.traffic.task import Task
from teto.triage.empty_input import EMPTY_OUTPUT_TOKENS, closed_labels, emptied
from teto.triage.score import SECOND_MOST_TOKENS, second_request
from teto.wire.chat import ChatRequest, parse_chat_request
from teto.wire.generation import Finish, Piece, TokenLogprob

__all__ = ["record", "request_of"]

_OUTPUT_LIMIT_TOKENS: Final = 256
_RIVALS: Final = 5
_RIVALS_OF_FIRST: Final = 20  # of the first tokens, among which a label set has its rivals
_FIRST_TOKENS: Final = 12


@dataclass(frozen=True, slots=True)
class _Run:
    text: str
    tokens: list[TokenLogprob]
    finish: Finish


def request_of(item: dict[str, Any], **fields: Any) -> ChatRequest:
    """The chat request of an item."""
    body = {"model": "local", "messages": item["messages"], **fields}
    if item["response_format"] is not None:
        body["response_format"] = item["response_format"]
    return parse_chat_request(msgspec.json.encode(body))


async def _run(engine: Engine, request: ChatRequest, output_limit_tokens: int) -> _Run:
    text = ""
    tokens: list[TokenLogprob] = []
    async for event in engine.generate(request, output_limit_tokens=output_limit_tokens):
        if isinstance(event, Piece):
            text += event.text
            tokens += event.tokens
        else:
            return _Run(text, tokens, event)
    raise AssertionError("an engine ends every run with a Finish")


def _kept(tokens: Sequence[TokenLogprob]) -> tuple[RecordedToken, ...]:
    def one(index: int, token: TokenLogprob) -> RecordedToken:
        rivals = token.top[: _RIVALS_OF_FIRST if index < _FIRST_TOKENS else _RIVALS]
        return RecordedToken(token.text, round(token.logprob, 4), tuple((text, round(lp, 4)) for text, lp in rivals))

    return tuple(one(index, token) for index, token in enumerate(tokens))


async def _record(engine: Engine, item: dict[str, Any], task: Task) -> Recorded:
    asked = request_of(item, top_logprobs=_RIVALS_OF_FIRST, logprobs=True)
    first = await _run(engine, asked, _OUTPUT_LIMIT_TOKENS)
    timings = first.finish.timings
    second = None
    if len(first.tokens) < SECOND_MOST_TOKENS:
        second = (await _run(engine, second_request(asked), 2 * SECOND_MOST_TOKENS)).text
    empty = None
    without = emptied(asked) if closed_labels(asked, task) is not None else None
    if without is not None:
        empty = (await _run(engine, without, EMPTY_OUTPUT_TOKENS)).tokens
    return Recorded(
        id=item["id"],
        answer=first.text,
        finish_reason=first.finish.reason,
        prompt_tokens=timings.prompt_tokens,
        output_tokens=timings.output_tokens,
        prefill_s=round(timings.prefill_s, 4),
        decode_s=round(timings.decode_s, 4),
        tokens=_kept(first.tokens),
        second=second,
        empty=None if empty is None else _kept(empty),
    )


async def record(
    engine: Engine, items: Iterable[dict[str, Any]], task_of: Callable[[dict[str, Any]], Task]
) -> AsyncIterator[Recorded]:
    """The records of items in the order in which they are done; as many run at once as the engine has slots.

    `task_of` says what an item asks for, as the gateway would recognise it: closed sets of answers depend on it.

    Raises:
        EngineError: the engine cannot answer; what was given before is whole.
    """
    waiting = iter(items)
    running: set[asyncio.Task[Recorded]] = set()
    try:
        while True:
            while len(running) < engine.facts.slots and (item := next(waiting, None)) is not None:
                running.add(asyncio.create_task(_record(engine, item, task_of(item))))
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
