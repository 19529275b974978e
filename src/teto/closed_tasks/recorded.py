"""What an engine said to one item, with everything a score can be made of: kept as JSON, one object a line."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import msgspec

from teto.errors import ConfigError
from teto.wire.generation import TokenLogprob

__all__ = ["Recorded", "RecordedToken", "drop_torn_end", "read_records"]


class RecordedToken(msgspec.Struct, frozen=True, array_like=True):
    """A token of the answer: its text, its logprob (nats, rounded to 1e-4) and its likeliest rivals."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()

    @property
    def as_token(self) -> TokenLogprob:
        """The token as engines give it."""
        return TokenLogprob(text=self.text, logprob=self.logprob, top=self.top)


class Recorded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of one item.

    `second` is another answer to the same prompt, drawn at temperature 0.7, where the first was short. `empty` is
    how the answer begins when the request is asked without its given text, where its closed set of answers is
    known. Seconds are of a run among others on the same cores.
    """

    id: str
    answer: str
    finish_reason: str
    prompt_tokens: int
    output_tokens: int
    prefill_s: float
    decode_s: float
    tokens: tuple[RecordedToken, ...]
    second: str | None = None
    empty: tuple[RecordedToken, ...] | None = None


def read_records(path: Path) -> Iterator[Recorded]:
    """The records of a file, gzipped or not; none where there is no file. A last line that was cut off is left out.

    Raises:
        ConfigError: another line that is no record.
    """
    if not path.exists():
        return
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    *lines, _torn = text.split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            yield msgspec.json.decode(line, type=Recorded)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}, line {number}: {error}.", fix="Move it away and run again.") from None


def drop_torn_end(path: Path) -> None:
    """Cut off a last line that a killed run left unfinished, so that the next one can go on behind it."""
    if path.exists() and (text := path.read_bytes()) and not text.endswith(b"\n"):
        path.write_bytes(text[: text.rfind(b"\n") + 1])
