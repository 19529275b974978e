"""OpenAI chat-completion requests: what is peeked at, while every byte that is not understood is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from teto.errors import RequestError

__all__ = ["ChatRequest", "ContentPart", "Message", "parse_chat_request"]


class ContentPart(msgspec.Struct, frozen=True):
    """One part of a message whose content is a list; only text parts have text."""

    type: str
    text: str | None = None


class Message(msgspec.Struct, frozen=True):
    """A message; fields that decide nothing here stay in the request's bytes."""

    role: str
    content: str | list[ContentPart] | None = None

    @property
    def text(self) -> str:
        """The text of the message, its parts joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.text is not None)

    @property
    def has_media(self) -> bool:
        """Whether a part is anything but text."""
        return isinstance(self.content, list) and any(part.type != "text" for part in self.content)


class _StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool = False


_Count = Annotated[int, msgspec.Meta(ge=1)]


class _Fields(msgspec.Struct, frozen=True):
    model: Annotated[str, msgspec.Meta(min_length=1)]
    messages: Annotated[list[Message], msgspec.Meta(min_length=1)]
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: _Count | None = None
    max_completion_tokens: _Count | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, msgspec.Meta(ge=0, le=20)] | None = None
    n: _Count | None = None
    response_format: dict[str, Any] | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    modalities: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A parsed request: the peeked fields, and each top-level field's own bytes."""

    fields: _Fields
    raw: dict[str, msgspec.Raw]

    @property
    def model(self) -> str:
        """The model name as the client wrote it."""
        return self.fields.model

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation."""
        return self.fields.messages

    @property
    def stream(self) -> bool:
        """Whether the client asked for a stream."""
        return bool(self.fields.stream)

    @property
    def wants_usage_chunk(self) -> bool:
        """Whether the client asked for a last chunk with the usage."""
        return self.fields.stream_options is not None and self.fields.stream_options.include_usage

    @property
    def output_limit_tokens(self) -> int | None:
        """The client's limit on the answer, or None."""
        return self.fields.max_completion_tokens or self.fields.max_tokens

    @property
    def json_schema(self) -> dict[str, Any] | None:
        """The schema of a structured answer, or None; `json_object` is a schema of any object."""
        form = self.fields.response_format or {}
        if form.get("type") == "json_object":
            return {"type": "object"}
        inner = form.get("json_schema") if form.get("type") == "json_schema" else None
        schema = inner.get("schema") if isinstance(inner, dict) else None
        return schema if isinstance(schema, dict) else None

    def with_fields(self, **fields: Any) -> "ChatRequest":
        """The same request with those top-level fields set."""
        raw = {**self.raw, **{name: msgspec.Raw(msgspec.json.encode(value)) for name, value in fields.items()}}
        return parse_chat_request(msgspec.json.encode(raw))

    def body_for(self, model: str, *, ask_usage: bool) -> bytes:
        """The body to send on: only the model's name, and if asked the usage option, are replaced."""
        fields: dict[str, Any] = {**self.raw, "model": model}
        if ask_usage and self.stream:
            options = msgspec.json.decode(self.raw["stream_options"]) if self._has_stream_options else {}
            fields["stream_options"] = {**options, "include_usage": True}
        return msgspec.json.encode(fields)

    @property
    def _has_stream_options(self) -> bool:
        return self.fields.stream_options is not None


_RAW_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])
_FIELDS_DECODER = msgspec.json.Decoder(_Fields)


def parse_chat_request(body: bytes) -> ChatRequest:
    """Parse a request's body.

    Raises:
        RequestError: not JSON, or a field that teto reads is missing, of a wrong type or out of range.
    """
    try:
        return ChatRequest(fields=_FIELDS_DECODER.decode(body), raw=_RAW_DECODER.decode(body))
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$")
        missing = text.partition("missing required field `")[2].rstrip("`")
        where = (path.rstrip("`").lstrip(".") + (f".{missing}" if missing and path else missing)) or None
        place = f" in {where}" if path else ""
        raise RequestError(f"{text}{place}.", param=where) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(
            f"The body is not JSON: {error}.", fix="Send a chat completion request as JSON in UTF-8."
        ) from None
