"""What `whatif` and `plan` take beside a model and a device: numbers, lists of them, kinds of call, pairs."""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import click

from teto.cli.inputs import BYTES, NUMBER, Quantity
from teto.errors import ConfigError, RequestError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from teto.physics.calls import CallTokens

__all__ = [
    "CALL",
    "COUNTS",
    "NOT_NEGATIVE",
    "NUMBERS",
    "POSITIVE",
    "PRICE_OF",
    "SIZE_OF",
    "Fields",
    "json_text",
    "nearest",
    "parse_fields",
    "refusals",
]

_Item = TypeVar("_Item")
_LARGEST: Final = 1e12
_CALL: Final = re.compile(r"(\d+)\s*(?::|/|->|→|x)\s*(\d+)")


def _positive(text: str) -> float:
    """A finite number above 0; nothing else.

    Raises:
        ValueError: anything else.
    """
    number = float(text)
    if not 0 < number <= _LARGEST:
        raise ValueError(text)
    return number


class Positive(click.ParamType[float]):
    """A finite number above 0."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        try:
            return _positive(str(value))
        except ValueError:
            self.fail(f"expected a finite number above 0, found {value!r}", param, ctx)


class NotNegative(click.ParamType[float]):
    """A finite number of at least 0."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 <= number < math.inf:
            self.fail(f"expected a finite number of at least 0, found {value!r}", param, ctx)
        return number


class Listed(click.ParamType[tuple[_Item, ...]], Generic[_Item]):
    """Values above 0 between commas."""

    def __init__(self, name: str, parse: Callable[[str], _Item], expected: str) -> None:
        self.name = name
        self._parse = parse
        self._expected = expected

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[_Item, ...]:
        """All of them."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self._parse(one.strip()) for one in str(value).split(","))
        except ValueError:
            self.fail(f"expected {self._expected}, found {value!r}", param, ctx)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


class Call(click.ParamType["CallTokens"]):
    """Tokens in and tokens out: `800:3`."""

    name = "in:out"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "CallTokens":
        """The kind of call."""
        from teto.physics.calls import CallTokens

        if isinstance(value, CallTokens):
            return value
        found = _CALL.fullmatch(str(value).strip())
        if found is None or int(found[1]) < 1 or int(found[2]) < 1:
            self.fail(f"expected tokens in and tokens out such as 800:3, each at least 1, found {value!r}", param, ctx)
        return CallTokens(prompt_tokens=int(found[1]), output_tokens=int(found[2]))


class Pair(click.ParamType[tuple[str, float]]):
    """A name and a number above 0, perhaps with a unit: `rtx-4090=0.35`, `m3-max-40-core-gpu=64GB`."""

    name = "name=number"

    def __init__(self, quantity: Quantity) -> None:
        self._quantity = quantity

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """Both."""
        if isinstance(value, tuple):
            return value
        name, separator, number = str(value).partition("=")
        if not (name and separator):
            self.fail(f"expected DEVICE=NUMBER such as rtx-4090=0.35, found {value!r}", param, ctx)
        return name, self._quantity.convert(number, param, ctx)


POSITIVE: Final = Positive()
NOT_NEGATIVE: Final = NotNegative()
COUNTS: Final = Listed("n,n,...", _count, "whole numbers of at least 1 such as 1,10,20,50")
NUMBERS: Final = Listed("x,x,...", _positive, "numbers above 0 such as 1,2,4")
CALL: Final = Call()
SIZE_OF: Final = Pair(BYTES)
PRICE_OF: Final = Pair(NUMBER)

Fields = dict[str, float]


def parse_fields(option: str, text: str, *, required: "Sequence[str]", optional: "Mapping[str, str]") -> Fields:
    """`key=number,...` of one option; what is missing or unknown is named.

    Raises:
        ConfigError: a key is missing, unknown or given twice, or a value is not a number above 0.
    """
    expected = f"{option} " + ",".join(f"{name}=..." for name in required)
    others = "".join(f", and {name}=... ({meaning})" for name, meaning in optional.items())
    fix = f"Write {expected}{others}."
    found: Fields = {}
    for part in text.split(","):
        name, separator, value = (piece.strip() for piece in part.partition("="))
        if not separator or name not in {*required, *optional}:
            raise ConfigError(f"{option} has an unknown part {part.strip()!r}.", fix=fix)
        if name in found:
            raise ConfigError(f"{option} gives {name} twice.", fix=fix)
        try:
            found[name] = _positive(value)
        except ValueError:
            raise ConfigError(f"{option}: {name} must be a number above 0, found {value!r}.", fix=fix) from None
    missing = [name for name in required if name not in found]
    if missing:
        raise ConfigError(f"{option} lacks {' and '.join(missing)}.", fix=fix)
    return found


@contextmanager
def refusals(fix: str | None = None) -> Iterator[None]:
    """What the core refuses (a call beyond the context, an absurd figure) ends as the request's fault."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        raise RequestError(f"{text[0].upper()}{text[1:]}.", fix=fix) from error


def json_text(value: Any) -> str:
    """Indented JSON of dataclasses, tuples and figures; infinite is null, and money a string, as in receipts."""
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_DATACLASS | orjson.OPT_SERIALIZE_NUMPY
    return orjson.dumps(value, default=_money, option=options).decode()


def _money(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def nearest(name: str, known: "Sequence[str]", what: str) -> UnknownNameError:
    """The error for a name that is not among these."""
    import difflib

    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"; the nearest are {', '.join(near)}" if near else ""
    return UnknownNameError(f"No {what} is called {name!r}{hint}.", fix=f"Use one of {', '.join(known)}.")
