"""Every string of a request's body as text for the detectors, and what in it no detector can read.

The body is read as bytes of JSON, not through the fields that teto knows: what goes up is the client's own bytes, so
what is searched is all of them. Keys count, numbers count, and so does what a decoder would drop, such as the first
of two fields of one name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from teto.wire.chat import ChatRequest

__all__ = ["Window", "unscannable", "windows"]

_WINDOW_CHARACTERS: Final = 1 << 16
# Around a window: what a detector looks back at before a finding, and the longest finding.
_LEAD_CHARACTERS: Final = 64
_TAIL_CHARACTERS: Final = 1 << 14
_BACKSLASH: Final = ord("\\")
_A_LONG_NUMBER: Final = re.compile(rb"[0-9]{7}")
_NOT_A_NUMBER: Final = b" \t\r\n:,[]{}"

_TEXT_PARTS: Final = frozenset({"text", "refusal"})
_MEDIA: Final = re.compile(
    rb'"type"\s*:\s*"(image_url|input_audio|file|input_image|input_file|image|audio|video|video_url|document)"'
)
_DATA_URL: Final = re.compile(rb"data:[\w.+/\\-]{0,100}(?:;[\w=.+-]{1,64}){0,4};base64,")

_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\"\\/bfnrt]))")
_ESCAPED: Final = {"b": " ", "f": " ", "n": "\n", "r": "\n", "t": " "}
_DEEPEST_ESCAPES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A piece of text; findings that begin in [start, end) are this window's, the rest of it is context.

    `variants` are the same piece with one more layer of JSON escapes resolved in each: arguments of a tool call are
    JSON inside a string.
    """

    text: str
    start: int
    end: int

    @property
    def variants(self) -> Iterator[str]:
        """The text with its escapes resolved, once more in each, as long as there are any."""
        text = self.text
        for _ in range(_DEEPEST_ESCAPES):
            if "\\" not in text or (resolved := _unescape(text)) == text:
                return
            text = resolved
            yield text


def _unescape(text: str) -> str:
    plain = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _ESCAPED.get(found[2], found[2]), text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # joins what was two escapes


def _string(literal: bytes) -> str:
    """The text of a JSON string without its quotes."""
    if _BACKSLASH in literal:
        try:
            return msgspec.json.decode(b'"' + literal + b'"', type=str)
        except msgspec.DecodeError:  # half a surrogate pair, or bytes that are not UTF-8
            return _unescape(literal.decode("utf-8", "replace"))
    return literal.decode("utf-8", "replace")


def _end_of_string(raw: bytes, start: int) -> int:
    """The place of the quote that ends the string whose first character is at `start`."""
    end = raw.index(b'"', start)
    while True:
        first = end
        while first > start and raw[first - 1] == _BACKSLASH:
            first -= 1
        if (end - first) % 2 == 0:
            return end
        end = raw.index(b'"', end + 1)


def _pieces(raw: bytes) -> Iterator[str]:
    """The strings and long numbers of valid JSON in their order, a key with a colon behind it."""
    done = 0
    while (quote := raw.find(b'"', done)) >= 0:
        yield from _numbers(raw[done:quote])
        end = _end_of_string(raw, quote + 1)
        done = end + 1
        while raw[done : done + 1].isspace():
            done += 1
        is_key = raw[done : done + 1] == b":"
        yield _string(raw[quote + 1 : end]) + (": " if is_key else "\n")
    yield from _numbers(raw[done:])


def _numbers(between: bytes) -> Iterator[str]:
    """What stands between two strings, if a number in it is long enough to be one of somebody."""
    if _A_LONG_NUMBER.search(between):
        yield between.strip(_NOT_A_NUMBER).decode("utf-8", "replace") + "\n"


def _all_pieces(request: ChatRequest) -> Iterator[str]:
    for name, raw in request.raw.items():
        yield f"{name}: "
        yield from _pieces(bytes(raw))


def windows(request: ChatRequest) -> Iterator[Window]:
    """The whole body as text, in windows of bounded size: whoever searches it can let others work in between."""
    parts: list[str] = []
    size = 0
    begin = 0  # where in the joined parts the next window begins; before it stands what the window looks back at
    for piece in _all_pieces(request):
        parts.append(piece)
        size += len(piece)
        if size - begin < _WINDOW_CHARACTERS + _TAIL_CHARACTERS:
            continue
        text = "".join(parts)
        while len(text) - begin >= _WINDOW_CHARACTERS + _TAIL_CHARACTERS:
            lead = min(begin, _LEAD_CHARACTERS)
            piece_end = begin + _WINDOW_CHARACTERS + _TAIL_CHARACTERS
            yield Window(text=text[begin - lead : piece_end], start=lead, end=lead + _WINDOW_CHARACTERS)
            begin += _WINDOW_CHARACTERS
        lead = min(begin, _LEAD_CHARACTERS)
        parts, begin = [text[begin - lead :]], lead
        size = len(parts[0])
    text = "".join(parts)
    yield Window(text=text, start=begin, end=len(text))


def unscannable(request: ChatRequest) -> str | None:
    """What in the request is no text: a media part, or data in Base64; None if every part can be read."""
    for message in request.messages:
        if isinstance(message.content, list):
            for part in message.content:
                if part.type not in _TEXT_PARTS:
                    return "a part of a message that is not text"
    for raw in request.raw.values():
        if found := _MEDIA.search(bytes(raw)):
            return f"a part of type {found[1].decode()}"
        if _DATA_URL.search(bytes(raw)):
            return "data in Base64"
    return None
