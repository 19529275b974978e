"""Bodies that teto writes, read by the types of the official `openai` package."""

from typing import Final

import orjson
import pytest
from openai.types import Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from teto.errors import (
    AuthenticationError,
    ContextOverflowError,
    EngineBusyError,
    RequestError,
    TetoError,
    UnknownNameError,
    UpstreamUnreachableError,
)
from teto.wire.bodies import AnswerHead, chunk, completion, error_body, model_list, usage_chunk
from teto.wire.generation import Finish, Piece, RunTimings, TokenLogprob

HEAD: Final = AnswerHead(id="chatcmpl-1", created_s=1_800_000_000, model="teto/auto")
FINISH: Final = Finish(
    reason="stop",
    timings=RunTimings(
        prefilled_tokens=12,
        cached_tokens=30,
        output_tokens=2,
        decode_steps=2,
        prefill_s=0.1,
        decode_s=0.2,
        source="engine",
    ),
)
PIECES: Final = (
    Piece(text="não", tokens=(TokenLogprob(text="não", logprob=-0.5, top=(("não", -0.5), ("sim", -1.0))),)),
    Piece(text=".", tokens=(TokenLogprob(text=".", logprob=-0.25),)),
)


def test_a_completion_is_openais() -> None:
    """A whole answer is a ChatCompletion with its text, its finish and its usage, and no field more."""
    answer = ChatCompletion.model_validate_json(completion(HEAD, PIECES, FINISH, top_count=None))
    assert (answer.id, answer.created, answer.model) == ("chatcmpl-1", 1_800_000_000, "teto/auto")
    assert answer.object == "chat.completion"
    (choice,) = answer.choices
    assert (choice.index, choice.finish_reason, choice.logprobs) == (0, "stop", None)
    assert (choice.message.role, choice.message.content) == ("assistant", "não.")
    assert answer.usage is not None
    # 12 computed and 30 cached are a prompt of 42; 42 + 2 = 44.
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (42, 2, 44)
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 30
    assert not answer.model_extra
    assert not choice.model_extra


def test_logprobs_are_openais() -> None:
    """Logprobs hold each token with its bytes and as many rivals as were asked for."""
    answer = ChatCompletion.model_validate_json(completion(HEAD, PIECES, FINISH, top_count=1))
    logprobs = answer.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.content is not None
    first, last = logprobs.content
    assert (first.token, first.logprob, first.bytes) == ("não", -0.5, [110, 195, 163, 111])
    assert [(rival.token, rival.logprob) for rival in first.top_logprobs] == [("não", -0.5)]
    assert (last.token, last.top_logprobs) == (".", [])


def test_no_rivals_asked_for_are_none_given() -> None:
    """`logprobs` without `top_logprobs` gives the tokens alone."""
    answer = ChatCompletion.model_validate_json(completion(HEAD, PIECES, FINISH, top_count=0))
    logprobs = answer.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.content is not None
    assert [token.top_logprobs for token in logprobs.content] == [[], []]


def test_chunks_are_openais() -> None:
    """A stream is the role, the pieces, the finish and the usage, each a ChatCompletionChunk of the same answer."""
    bodies = [
        chunk(HEAD, first=True),
        *(chunk(HEAD, piece=piece, top_count=1) for piece in PIECES),
        chunk(HEAD, finish_reason="stop"),
        usage_chunk(HEAD, FINISH.timings),
    ]
    role, no, stop, end, usage = (ChatCompletionChunk.model_validate_json(body) for body in bodies)
    assert {part.id for part in (role, no, stop, end, usage)} == {"chatcmpl-1"}
    assert (role.choices[0].delta.role, role.choices[0].delta.content) == ("assistant", "")
    assert (no.choices[0].delta.role, no.choices[0].delta.content) == (None, "não")
    assert stop.choices[0].delta.content == "."
    assert no.choices[0].logprobs is not None
    assert no.choices[0].logprobs.content is not None
    assert [token.token for token in no.choices[0].logprobs.content] == ["não"]
    assert (end.choices[0].finish_reason, end.choices[0].delta.content) == ("stop", None)
    assert usage.choices == []
    assert usage.usage is not None
    assert usage.usage.total_tokens == 44


def test_one_chunk_can_carry_everything() -> None:
    """Role, text and finish may come in one chunk."""
    body = chunk(HEAD, piece=PIECES[0], first=True, finish_reason="length")
    choice = ChatCompletionChunk.model_validate_json(body).choices[0]
    assert (choice.delta.role, choice.delta.content, choice.finish_reason) == ("assistant", "não", "length")
    assert choice.logprobs is None


def test_models_are_openais() -> None:
    """The list of models holds Model objects in the order given."""
    body = orjson.loads(model_list(["teto/auto", "teto/local"], 1_800_000_000))
    assert body["object"] == "list"
    models = [Model.model_validate(item) for item in body["data"]]
    assert [(model.id, model.owned_by, model.created) for model in models] == [
        ("teto/auto", "teto", 1_800_000_000),
        ("teto/local", "teto", 1_800_000_000),
    ]


@pytest.mark.parametrize(
    ("error", "kind", "param", "code"),
    [
        (RequestError("Bad.", param="messages"), "invalid_request_error", "messages", "invalid_request"),
        (
            ContextOverflowError("Long.", param="messages"),
            "invalid_request_error",
            "messages",
            "context_length_exceeded",
        ),
        (UnknownNameError("No model."), "invalid_request_error", None, "not_found"),
        (AuthenticationError("No key."), "authentication_error", None, "invalid_api_key"),
        (EngineBusyError("Busy."), "server_error", None, "engine_busy"),
        (UpstreamUnreachableError("Down.", upstream="main"), "server_error", None, "upstream_unreachable"),
        (TetoError("Broken."), "server_error", None, "internal_error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, TetoError) else None,
)
def test_errors_are_openais(error: TetoError, kind: str, param: str | None, code: str) -> None:
    """An error has OpenAI's four fields; its type tells whose fault it is."""
    assert orjson.loads(error_body(error)) == {
        "error": {"message": error.message, "type": kind, "param": param, "code": code}
    }


def test_an_error_says_what_to_do() -> None:
    """The message ends with the way out."""
    body = orjson.loads(error_body(UnknownNameError("No model is called x.", fix="See /v1/models.")))
    assert body["error"]["message"] == "No model is called x. See /v1/models."
