"""Releases a local answer in the form the client asked for."""

from teto.gateway.exchange import Closing, Exchange
from teto.gateway.local import LocalAttempt
from teto.gateway.served import ServedCall
from teto.ports import Clock
from teto.wire.bodies import AnswerHead, chunk, completion, usage_chunk
from teto.wire.generation import Finish, Piece
from teto.wire.sse import DONE, sse

__all__ = ["release"]


async def release(call: ServedCall, attempt: LocalAttempt, exchange: Exchange, *, clock: Clock, model: str) -> Closing:
    """Send the answer, what was held back first; the last bytes are returned, not sent.

    Raises:
        EngineError: the engine failed in the middle.
    """
    fields = call.request.fields
    top_count = (fields.top_logprobs or 0) if fields.logprobs else None
    head = AnswerHead(id=f"chatcmpl-{call.id}", created_s=int(call.created_s), model=model)
    if call.request.stream:
        finish = await _stream(call, attempt, exchange, clock=clock, head=head, top_count=top_count)
        closing = Closing(body=_stream_end(call, finish, head), content_type="text/event-stream")
    else:
        await attempt.hold_back(None)
        finish = _finished(attempt)
        closing = Closing(body=completion(head, attempt.pieces, finish, top_count=top_count))
    call.finish_reason = finish.reason
    return closing


def _finished(attempt: LocalAttempt) -> Finish:
    if attempt.finish is None:
        raise AssertionError("an attempt that was read to its end has a finish")
    return attempt.finish


async def _stream(
    call: ServedCall,
    attempt: LocalAttempt,
    exchange: Exchange,
    *,
    clock: Clock,
    head: AnswerHead,
    top_count: int | None,
) -> Finish:
    async def send(piece: Piece) -> None:
        if not exchange.started:
            headers = {"content-type": "text/event-stream", "cache-control": "no-cache", **call.headers}
            await exchange.start(200, headers)
            await exchange.write(sse(chunk(head, first=True)))
        if call.first_token_s is None and piece.text:
            call.first_token_s = clock.monotonic_s() - call.arrived_s
        if piece.text or piece.tokens:
            await exchange.write(sse(chunk(head, piece=piece, top_count=top_count)))

    for held in tuple(attempt.pieces):
        await send(held)
    while (piece := await attempt.next()) is not None:
        await send(piece)
    if not exchange.started:  # an empty answer is an answer
        await send(Piece(text=""))
    return _finished(attempt)


def _stream_end(call: ServedCall, finish: Finish, head: AnswerHead) -> bytes:
    end = sse(chunk(head, finish_reason=finish.reason))
    if call.request.wants_usage_chunk:
        end += sse(usage_chunk(head, finish.timings))
    return end + DONE
