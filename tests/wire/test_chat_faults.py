"""Chat requests that cannot be understood: the error names the field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teto.errors import RequestError
from teto.wire.chat import parse_chat_request

HELLO = '"messages":[{"role":"user","content":"Hi"}]'


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ('{"model":"m"}', "messages"),
        (f"{{{HELLO}}}", "model"),
        (f'{{"model":"",{HELLO}}}', "model"),
        (f'{{"model":7,{HELLO}}}', "model"),
        (f'{{"model":null,{HELLO}}}', "model"),
        ('{"model":"m","messages":[]}', "messages"),
        ('{"model":"m","messages":{}}', "messages"),
        ('{"model":"m","messages":null}', "messages"),
        ('{"model":"m","messages":["Hi"]}', "messages[0]"),
        ('{"model":"m","messages":[{"role":"user","content":"a"},{"content":"b"}]}', "messages[1].role"),
        ('{"model":"m","messages":[{"role":"user","content":5}]}', "messages[0].content"),
        ('{"model":"m","messages":[{"role":"user","content":[{"text":"a"}]}]}', "messages[0].content[0].type"),
        (
            '{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":1}]}]}',
            "messages[0].content[0].text",
        ),
        (f'{{"model":"m",{HELLO},"stream":"yes"}}', "stream"),
        (f'{{"model":"m",{HELLO},"stream_options":[]}}', "stream_options"),
        (f'{{"model":"m",{HELLO},"max_tokens":0}}', "max_tokens"),
        (f'{{"model":"m",{HELLO},"max_completion_tokens":-1}}', "max_completion_tokens"),
        (f'{{"model":"m",{HELLO},"max_tokens":1.5}}', "max_tokens"),
        (f'{{"model":"m",{HELLO},"temperature":2.1}}', "temperature"),
        (f'{{"model":"m",{HELLO},"temperature":1e999}}', "temperature"),
        (f'{{"model":"m",{HELLO},"top_p":0}}', "top_p"),
        (f'{{"model":"m",{HELLO},"top_logprobs":21}}', "top_logprobs"),
        (f'{{"model":"m",{HELLO},"n":0}}', "n"),
        (f'{{"model":"m",{HELLO},"stop":5}}', "stop"),
        (f'{{"model":"m",{HELLO},"tools":{{}}}}', "tools"),
        (f'{{"model":"m",{HELLO},"response_format":"json"}}', "response_format"),
        (f'{{"model":"m",{HELLO},"logit_bias":{{"5":"x"}}}}', "logit_bias[...]"),
    ],
)
def test_the_field_at_fault_is_named(body: str, param: str) -> None:
    """A missing field, a wrong type or a value out of range is refused with the field's path."""
    with pytest.raises(RequestError, match=r"\.$") as raised:
        parse_chat_request(body.encode())
    assert raised.value.param == param
    assert param in raised.value.message


@pytest.mark.parametrize("body", ["[]", '"text"', "5", "null"])
def test_a_body_is_an_object(body: str) -> None:
    """JSON of another kind is refused, and no field is at fault."""
    with pytest.raises(RequestError, match="Expected `object`") as raised:
        parse_chat_request(body.encode())
    assert raised.value.param is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"hello",
        f'{{"model":"m",{HELLO}'.encode(),
        f'{{"model":"m",{HELLO}}} x'.encode(),
        f'{{"model":"m",{HELLO},"x":NaN}}'.encode(),
        b'{"model":"m","messages":[{"role":"user","content":"\xff"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"\\ud800"}]}',
    ],
    ids=["empty", "text", "cut", "trailing", "nan", "not-utf-8", "lone-surrogate"],
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    """The client is told that its body is not JSON, and what to send."""
    with pytest.raises(RequestError, match="The body is not JSON: ") as raised:
        parse_chat_request(body)
    assert raised.value.fix == "Send a chat completion request as JSON in UTF-8."


@pytest.mark.parametrize("field", ["unknown", "tools", "response_format"])
def test_nesting_has_a_limit(field: str) -> None:
    """A body that is nested a hundred thousand levels deep is an error and no crash."""
    deep = "[" * 100_000 + "]" * 100_000
    value = f'{{"a":{deep}}}' if field == "response_format" else deep
    with pytest.raises(RequestError, match="recursion"):
        parse_chat_request(f'{{"model":"m",{HELLO},"{field}":{value}}}'.encode())


@given(body=st.binary(max_size=200))
def test_any_bytes_are_a_request_or_an_error(body: bytes) -> None:
    """No body makes the parser raise anything but its own error."""
    with pytest.raises(RequestError):
        parse_chat_request(body)
