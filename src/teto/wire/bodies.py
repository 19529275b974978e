"""OpenAI-shaped answers that teto writes itself: completions, chunks, the model list, errors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from teto.errors import AuthenticationError, RequestError, TetoError, UnknownNameError
from teto.wire.generation import Finish, Piece, RunTimings, TokenLogprob

__all__ = ["AnswerHead", "chunk", "completion", "error_body", "model_list", "model_object", "usage_chunk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerHead:
    """What every body of one answer repeats."""

    id: str
    created_s: int
    model: str


def _token(token: TokenLogprob, top_count: int) -> dict[str, Any]:
    def entry(text: str, logprob: float) -> dict[str, Any]:
        return {"token": text, "logprob": logprob, "bytes": list(text.encode())}

    return {
        **entry(token.text, token.logprob),
        "top_logprobs": [entry(text, logprob) for text, logprob in token.top[:top_count]],
    }


def _logprobs(pieces: Iterable[Piece], top_count: int | None) -> dict[str, Any] | None:
    if top_count is None:
        return None
    return {
        "content": [_token(token, top_count) for piece in pieces for token in piece.tokens],
        "refusal": None,
    }


def _usage(timings: RunTimings) -> dict[str, Any]:
    return {
        "prompt_tokens": timings.prompt_tokens,
        "completion_tokens": timings.output_tokens,
        "total_tokens": timings.prompt_tokens + timings.output_tokens,
        "prompt_tokens_details": {"cached_tokens": timings.cached_tokens},
    }


def _envelope(head: AnswerHead, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": head.id,
        "object": kind,
        "created": head.created_s,
        "model": head.model,
        "choices": choices,
    }


def completion(head: AnswerHead, pieces: Sequence[Piece], finish: Finish, *, top_count: int | None) -> bytes:
    """A whole answer; `top_count` is None when the client asked for no logprobs."""
    choice = {
        "index": 0,
        "message": {
            "role": "assistant",
            "content": "".join(piece.text for piece in pieces),
            "refusal": None,
        },
        "logprobs": _logprobs(pieces, top_count),
        "finish_reason": finish.reason,
    }
    return orjson.dumps({**_envelope(head, "chat.completion", [choice]), "usage": _usage(finish.timings)})


def chunk(
    head: AnswerHead,
    *,
    piece: Piece | None = None,
    first: bool = False,
    finish_reason: str | None = None,
    top_count: int | None = None,
) -> bytes:
    """One streamed chunk: the role if it is the first, a piece of content, or the finish."""
    delta: dict[str, Any] = {"role": "assistant", "content": ""} if first else {}
    if piece is not None:
        delta["content"] = piece.text
    choice = {
        "index": 0,
        "delta": delta,
        "logprobs": _logprobs([piece], top_count) if piece is not None else None,
        "finish_reason": finish_reason,
    }
    return orjson.dumps(_envelope(head, "chat.completion.chunk", [choice]))


def usage_chunk(head: AnswerHead, timings: RunTimings) -> bytes:
    """The chunk without choices that carries the usage when the client asked for it."""
    return orjson.dumps({**_envelope(head, "chat.completion.chunk", []), "usage": _usage(timings)})


def model_list(names: Iterable[str], created_s: int) -> bytes:
    """The body of `/v1/models`."""
    return orjson.dumps({"object": "list", "data": [_model(name, created_s) for name in names]})


def model_object(name: str, created_s: int) -> bytes:
    """The body of `/v1/models/NAME`."""
    return orjson.dumps(_model(name, created_s))


def _model(name: str, created_s: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created_s, "owned_by": "teto"}


def error_body(error: TetoError) -> bytes:
    """An OpenAI-shaped error; the message carries what to do."""
    if isinstance(error, AuthenticationError):
        kind = "authentication_error"
    elif isinstance(error, RequestError | UnknownNameError):
        kind = "invalid_request_error"
    else:
        kind = "server_error"
    param = error.param if isinstance(error, RequestError) else None
    return orjson.dumps({"error": {"message": str(error), "type": kind, "param": param, "code": error.code}})
