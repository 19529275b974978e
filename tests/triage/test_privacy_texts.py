"""Every string of a request is read, wherever it stands, and what cannot be read is named."""

import json
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.triage.requests import ask, ask_all
from teto.triage.privacy.finding import Kind
from teto.triage.privacy.rules import count_private
from teto.triage.privacy.texts import unscannable, windows
from teto.wire.chat import ChatRequest, parse_chat_request

CPF = "111.444.777-35"


def counted(request: ChatRequest, *kinds: Kind) -> Counter[Kind]:
    """What is found in the whole request."""
    total: Counter[Kind] = Counter()
    for window in windows(request):
        total += count_private(window, kinds or ("cpf",))
    return total


def raw(body: str) -> ChatRequest:
    """A request whose bytes are exactly these."""
    return parse_chat_request(body.encode())


PLACES: list[dict[str, Any]] = [
    {"messages": [{"role": "system", "content": f"a {CPF}"}, {"role": "user", "content": "x"}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": CPF}]}]},
    {"messages": [{"role": "user", "content": "x", "name": CPF}]},
    {"messages": [{"role": "tool", "tool_call_id": "1", "content": CPF}]},
    {"messages": [{"role": "assistant", "content": None, "refusal": CPF}]},
    {"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": json.dumps({"cpf": CPF})}}]}]},
    {"messages": [{"role": "user", "content": "x"}], "tools": [{"function": {"description": CPF}}]},
    {"messages": [{"role": "user", "content": "x"}], "response_format": {"json_schema": {"schema": {"enum": [CPF]}}}},
    {"messages": [{"role": "user", "content": "x"}], "metadata": {"customer": CPF}},
    {"messages": [{"role": "user", "content": "x"}], "user": CPF},
    {"messages": [{"role": "user", "content": "x"}], "x_unknown": {"deep": [[{"er": CPF}]]}},
    {"messages": [{"role": "user", "content": "x"}], "x_unknown": {CPF: 1}},
    {"messages": [{"role": "user", "content": "x"}], CPF: True},
    {"messages": [{"role": "user", "content": "x"}], "x_number": 11144477735},
    {"messages": [{"role": "user", "content": "x"}], "x_numbers": [1, 11144477735, 2]},
    {"messages": [{"role": "user", "content": "x"}], "stop": [CPF]},
]


@pytest.mark.parametrize("fields", PLACES, ids=lambda fields: json.dumps(fields)[:90])
def test_every_string_is_read(fields: dict[str, Any]) -> None:
    """All roles, parts, names, tool definitions, arguments, unknown fields, keys and long numbers."""
    assert counted(parse_chat_request(json.dumps({"model": "m", **fields}).encode())) == {"cpf": 1}


@pytest.mark.parametrize(
    "content",
    [
        r"\u0031\u0031\u0031.444.777-35",
        r"111.444.777\u201335",
        r"111.444.777\u002d35",
        r"{\"cpf\": \"111.444.777-35\"}",
        r"{\"cpf\": \"\\u0031\\u0031\\u0031.444.777-35\"}",
        r"{\"a\": \"{\\\"cpf\\\": \\\"\\\\u0031\\\\u0031\\\\u0031.444.777-35\\\"}\"}",
        r"\\\"111.444.777-35\\\"",
        r"line one\n111.444.777-35\tline two",
    ],
)
def test_escapes_are_resolved(content: str) -> None:
    """JSON escapes hide nothing, nor do those of JSON inside a string, or inside that."""
    assert counted(raw(f'{{"model":"m","messages":[{{"role":"user","content":"{content}"}}]}}')) == {"cpf": 1}


def test_what_a_decoder_would_drop_is_read() -> None:
    """Of two fields of one name both go up in the client's bytes, so both are read."""
    body = f'{{"model":"m","messages":[{{"role":"user","content":"{CPF}","content":"clean"}}]}}'
    assert raw(body).messages[0].text == "clean"
    assert counted(raw(body)) == {"cpf": 1}


def test_a_key_is_context_of_its_value() -> None:
    """A field called telefone says what its number is."""
    request = ask("x", telefone="11987654321", pedido="11987654322", api_key="9f8a7b6c5d4e3f2a1b0c")
    assert counted(request, "phone_br", "api_key") == {"phone_br": 1, "api_key": 1}


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_the_strings_are_those_that_were_sent(value: Any) -> None:
    """Whatever is sent, each of its strings stands in the text that is searched, decoded."""
    body = msgspec.json.encode({"model": "m", "messages": [{"role": "user", "content": "x"}], "x_field": value})
    read = "".join(window.text[window.start : window.end] for window in windows(parse_chat_request(body)))

    def strings(inner: Any) -> list[str]:
        if isinstance(inner, str):
            return [inner]
        if isinstance(inner, dict):
            return [*inner, *(text for part in inner.values() for text in strings(part))]
        return [text for part in inner for text in strings(part)] if isinstance(inner, list) else []

    assert all(text in read for text in strings(value))


@pytest.mark.parametrize("head", [0, 65_470, 65_530, 65_536, 81_900, 131_060, 200_000])
@pytest.mark.parametrize("unit", ["a ", "ç "])
def test_a_long_text_is_read_in_windows_and_each_finding_is_counted_once(head: int, unit: str) -> None:
    """Where one window ends and the next begins nothing is missed and nothing is counted twice."""
    text = f"{unit * (head // 2)}{CPF} {unit * 60_000}tel 11987654321 {unit * 20_000}"
    request = ask(text)
    assert counted(request, "cpf", "phone_br") == {"cpf": 1, "phone_br": 1}
    assert max(len(window.text) for window in windows(request)) < 100_000
    whole = "".join(window.text[window.start : window.end] for window in windows(request))
    assert text in whole


def test_a_token_longer_than_a_line_is_found_across_windows() -> None:
    """A web token of 6,000 characters that begins at the end of a window is one finding."""
    token = f"eyJ{'a1' * 1000}.eyJ{'b2' * 1000}.{'c3' * 1000}"
    assert counted(ask(f"{'a ' * 32_700}{token} {'a ' * 30_000}"), "api_key") == {"api_key": 1}


def test_half_a_surrogate_pair_and_bytes_that_are_no_text_are_read_around() -> None:
    """What is no character in a field that teto does not read is left aside, and the rest of it is read."""
    head = b'{"model":"m","messages":[{"role":"user","content":"x"}],"x_field":"'
    assert counted(parse_chat_request(head + rb"\ud83d\ude00 111.444.777\u002d35" + b'"}')) == {"cpf": 1}
    assert counted(parse_chat_request(head + b'\xff 111.444.777-35"}')) == {"cpf": 1}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "file", "file": {"file_id": "f-1"}},
        {"type": "of_next_year"},
    ],
)
def test_a_part_that_is_no_text_cannot_be_read(part: dict[str, Any]) -> None:
    """Images, sounds, files, and kinds of part that nobody knows yet."""
    request = ask_all([{"role": "user", "content": [{"type": "text", "text": "x"}, part]}])
    assert unscannable(request) is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"x_attachments": [{"type": "input_file", "file_data": "AAAA"}]},
        {"x_field": "data:image/png;base64,AAAA"},
        {"x_field": "see data:application/pdf;name=a.pdf;base64,AAAA"},
    ],
)
def test_media_outside_the_messages_cannot_be_read(fields: dict[str, Any]) -> None:
    """A part of a known type in any field, and data in Base64 in any string."""
    assert unscannable(ask("x", **fields)) is not None


def test_text_can_be_read() -> None:
    """Text parts, refusals, tools and schemas are text."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    content = [{"type": "text", "text": "x"}, {"type": "refusal", "refusal": "no"}]
    assert unscannable(ask_all([{"role": "user", "content": content}], tools=tools)) is None


def test_a_megabyte_of_quotes_and_backslashes_is_read_once() -> None:
    """Escaped quotes and runs of backslashes, each of which a search could begin anew at, cost no more."""
    for content in ('"' * 300_000, "\\" * 300_000, '\\"' * 150_000):
        assert counted(ask(content)) == {}
