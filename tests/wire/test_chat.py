"""Chat requests: what is read from them, and that everything else goes on byte for byte."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teto.wire.chat import Message, parse_chat_request

HELLO = '"messages":[{"role":"user","content":"Hi"}]'


def body(*fields: str) -> bytes:
    """A body with those fields beside a model and a message."""
    inside = ",".join(('"model":"m"', HELLO, *fields))
    return f"{{{inside}}}".encode()


def test_what_is_read() -> None:
    """Model, messages, stream and limits are read as the client wrote them."""
    request = parse_chat_request(
        b'{"model": "gpt-4o", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 7,'
        b' "messages": [{"role": "system", "content": "Seja breve."}, {"role": "user", "content": "Ol\xc3\xa1"}]}'
    )
    assert request.model == "gpt-4o"
    assert request.stream
    assert request.wants_usage_chunk
    assert request.output_limit_tokens == 7
    assert [message.text for message in request.messages] == ["Seja breve.", "Olá"]


def test_what_is_left_out_is_off() -> None:
    """Nothing is assumed of a bare request."""
    request = parse_chat_request(body())
    assert not request.stream
    assert not request.wants_usage_chunk
    assert request.output_limit_tokens is None
    assert request.json_schema is None


def test_the_newer_limit_wins() -> None:
    """`max_completion_tokens` stands above `max_tokens`, which it replaced."""
    assert parse_chat_request(body('"max_tokens":9', '"max_completion_tokens":5')).output_limit_tokens == 5
    assert parse_chat_request(body('"max_tokens":9', '"max_completion_tokens":null')).output_limit_tokens == 9


@pytest.mark.parametrize(
    ("form", "schema"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"type": "object"}),
        ({"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "string"}}}, {"type": "string"}),
        ({"type": "json_schema", "json_schema": {"name": "x"}}, None),
        ({"type": "json_schema", "json_schema": {"schema": True}}, None),
        ({"type": "json_schema"}, None),
    ],
)
def test_the_schema_of_a_structured_answer(form: dict[str, Any], schema: dict[str, Any] | None) -> None:
    """The schema is read from where OpenAI's format has it, and any object will do for `json_object`."""
    assert parse_chat_request(body(f'"response_format":{json.dumps(form)}')).json_schema == schema


def test_parts_are_joined_and_media_is_seen() -> None:
    """A message of several texts is their text; a part of another type is media and has no text."""
    texts = msgspec.json.decode(
        '{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}', type=Message
    )
    assert texts.text == "a\nb"
    assert not texts.has_media
    image = msgspec.json.decode(
        '{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{}}]}', type=Message
    )
    assert image.text == "a"
    assert image.has_media
    assert not Message(role="assistant").has_media
    assert Message(role="assistant").text == ""


def test_every_byte_but_the_models_goes_on() -> None:
    """Unknown fields, order, spaces inside values, big numbers, escapes and non-ASCII text survive as they came."""
    sent = (
        '{"zeta":  {"b" : 1,"a":[ 1, 2 ]},"model":"client/name","seed":123456789012345678901234567890,'
        '"messages":[ {"role": "user", "content": "Ol\\u00e1 \\ud83d\\ude00 ção", "weird": 1.0e400} ],'
        '"metadata":{"n":0.10000000000000000000001},"alpha":null}'
    )
    received = parse_chat_request(sent.encode()).body_for("other", ask_usage=True)
    assert received.decode() == (
        '{"zeta":{"b" : 1,"a":[ 1, 2 ]},"model":"other","seed":123456789012345678901234567890,'
        '"messages":[ {"role": "user", "content": "Ol\\u00e1 \\ud83d\\ude00 ção", "weird": 1.0e400} ],'
        '"metadata":{"n":0.10000000000000000000001},"alpha":null}'
    )


def test_usage_is_asked_for_only_in_a_stream() -> None:
    """The usage option is added to a stream that lacks it, beside what the client put there."""
    whole = parse_chat_request(body())
    assert whole.body_for("m", ask_usage=True) == body()
    bare = parse_chat_request(body('"stream":true'))
    assert bare.body_for("m", ask_usage=True) == body('"stream":true', '"stream_options":{"include_usage":true}')
    assert bare.body_for("m", ask_usage=False) == body('"stream":true')
    refused = parse_chat_request(
        body('"stream_options":{"include_usage":false,"x":18446744073709551617}', '"stream":true')
    )
    assert refused.body_for("m", ask_usage=True) == body(
        '"stream_options":{"include_usage":true,"x":18446744073709551617}', '"stream":true'
    )
    null = parse_chat_request(body('"stream":true', '"stream_options":null'))
    assert null.body_for("m", ask_usage=True) == body('"stream":true', '"stream_options":{"include_usage":true}')


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(
    unknown=st.dictionaries(st.text().map(lambda key: f"x-{key}"), JSON_VALUES, max_size=4),
    ensure_ascii=st.booleans(),
    model=st.text(min_size=1),
)
def test_unknown_fields_survive(unknown: dict[str, Any], model: str, *, ensure_ascii: bool) -> None:
    """Whatever fields a client invents reach the upstream with their order and their bytes."""

    def written(value: Any) -> bytes:
        return json.dumps(value, ensure_ascii=ensure_ascii, separators=(",", ":")).encode()

    fields = {**unknown, "model": "m", "messages": [{"role": "user", "content": "Hi", **unknown}]}
    received = parse_chat_request(written(fields)).body_for(model, ask_usage=False)
    found = msgspec.json.decode(received, type=dict[str, msgspec.Raw])
    assert list(found) == list(fields)
    assert all(bytes(found[key]) == written(value) for key, value in fields.items() if key != "model")
    assert msgspec.json.decode(found["model"]) == model
