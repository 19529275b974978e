"""Requests and answers for these tests, made as a client and an engine make them."""

from typing import Any

import msgspec

from teto.wire.chat import ChatRequest, parse_chat_request
from teto.wire.generation import Piece, TokenLogprob

__all__ = ["ask", "ask_all", "said", "schema_format"]


def ask_all(messages: list[dict[str, Any]], **fields: Any) -> ChatRequest:
    """A request of those messages."""
    return parse_chat_request(msgspec.json.encode({"model": "teto/auto", "messages": messages, **fields}))


def ask(user: str, *, system: str = "", **fields: Any) -> ChatRequest:
    """A request of one turn, behind a system message if there is one."""
    before = [{"role": "system", "content": system}] if system else []
    return ask_all([*before, {"role": "user", "content": user}], **fields)


def schema_format(schema: Any) -> dict[str, Any]:
    """The `response_format` that asks for that schema."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def said(*texts: str, logprob: float = 0.0) -> list[Piece]:
    """An answer of those tokens, all of one logprob."""
    return [Piece(text=text, tokens=(TokenLogprob(text=text, logprob=logprob),)) for text in texts]
