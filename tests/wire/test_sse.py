"""Server-sent events: split the same however the bytes arrive."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teto.wire.sse import DONE, SseEvent, SseSplitter, sse

STREAM = (
    b"data: one\n\n"
    b": ping\n\n"
    b"event: delta\r\ndata: two\r\n\r\n"
    b"data:three\ndata: four\nid: 7\n\n"
    b"data: line\xe2\x80\xa8separator and \xf0\x9f\x98\x80\n\n"
    b"data: [DONE]\n\n"
)
DATA = (b"one", None, b"two", b"three\nfour", b"line\xe2\x80\xa8separator and \xf0\x9f\x98\x80", b"[DONE]")


def split(chunks: list[bytes]) -> list[SseEvent]:
    """The events of those chunks, the end of the stream included."""
    splitter = SseSplitter()
    return [*(event for chunk in chunks for event in splitter.feed(chunk)), *splitter.flush()]


def test_events_of_every_kind() -> None:
    """Comments have no data, CRLF ends lines too, several data lines are one datum, U+2028 ends nothing."""
    assert tuple(event.data for event in split([STREAM])) == DATA


def test_bytes_one_at_a_time() -> None:
    """A stream that arrives byte by byte, characters cut in the middle, gives the same events."""
    assert split([STREAM[i : i + 1] for i in range(len(STREAM))]) == split([STREAM])


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=12).map(sorted))
def test_any_chunking_gives_the_same_events(cuts: list[int]) -> None:
    """Where the chunks end makes no difference."""
    edges = [0, *cuts, len(STREAM)]
    assert split([STREAM[a:b] for a, b in pairwise(edges)]) == split([STREAM])


LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)


@given(
    events=st.lists(st.lists(LINES, min_size=1, max_size=3), max_size=5),
    newline=st.sampled_from([b"\n", b"\r\n"]),
    cuts=st.lists(st.integers(0, 400), max_size=6).map(sorted),
)
def test_what_is_written_is_read(events: list[list[str]], newline: bytes, cuts: list[int]) -> None:
    """Every event's data comes back whole, and its raw bytes are those that came."""
    raws = [b"".join(b"data: " + line.encode() + newline for line in lines) + newline for lines in events]
    stream = b"".join(raws)
    edges = [0, *cuts, len(stream)]
    found = split([stream[a:b] for a, b in pairwise(edges)])
    assert [event.raw for event in found] == raws
    assert [event.data for event in found] == ["\n".join(lines).encode() for lines in events]


def test_an_event_waits_for_its_blank_line() -> None:
    """Nothing is given before the line that ends the event."""
    splitter = SseSplitter()
    assert list(splitter.feed(b"data: one\n")) == []
    assert list(splitter.feed(b"\n")) == [SseEvent(raw=b"data: one\n\n", data=b"one")]
    assert list(splitter.flush()) == []


@pytest.mark.parametrize("rest", [b"data: cut", b"data: cut\n", b"data: cut\r\n"])
def test_the_end_of_the_stream_gives_what_is_left(rest: bytes) -> None:
    """An event whose blank line never came is not lost, and given once."""
    splitter = SseSplitter()
    assert list(splitter.feed(rest)) == []
    assert list(splitter.flush()) == [SseEvent(raw=rest, data=b"cut")]
    assert list(splitter.flush()) == []


def test_written_events() -> None:
    """`sse` writes one data line, and DONE is the event that ends a stream of OpenAI's."""
    assert sse(b'{"a":1}') == b'data: {"a":1}\n\n'
    assert sse(b"[DONE]") == DONE
