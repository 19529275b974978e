"""The fields of a config.json, each marked when it is read: what nobody reads must be known not to matter."""

import reprlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

from teto.catalog.hf.irrelevant import IRRELEVANT
from teto.errors import ConfigError

__all__ = ["FIX", "Fields", "shown"]

_Kind = TypeVar("_Kind", int, str, bool)
FIX: Final = "Correct the file; if it is right, teto cannot read this model yet: give --weight-bytes instead."
# Far above any model: larger numbers are mistakes, and would be counted to for minutes.
_LARGEST: Final = 10**12
_LARGEST_OF: Final[Mapping[str, int]] = {"num_hidden_layers": 10_000}
_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def shown(value: object) -> str:
    """A value as it is written, shortened where it is long or deep."""
    return _SHORT.repr(value)


class Fields:
    """Typed access to a config. A field that is null counts as absent.

    Raises:
        ConfigError: from every method, with the field, its value and what was expected.
    """

    def __init__(self, values: Mapping[str, Any], *, where: str) -> None:
        self._values = values
        self._where = where
        self._read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def fail(self, name: str, expected: str) -> NoReturn:
        """Refuse the value of a field."""
        raise ConfigError(
            f"{self._where}: field {name!r} must be {expected}, found {shown(self._values.get(name))}.", fix=FIX
        )

    def ignore(self, *names: str) -> None:
        """Mark fields that this family has, and that change no size."""
        self._read.update(names)

    def take(self, name: str) -> Any:
        """The value as it is; None where absent."""
        self._read.add(name)
        return self._values.get(name)

    def count(self, name: str, otherwise: int | None = None) -> int:
        """A whole number above 0; `otherwise` where absent."""
        value = self.take(name)
        if value is None:
            if otherwise is None:
                raise ConfigError(f"{self._where}: field {name!r} is missing.", fix=FIX)
            return otherwise
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.fail(name, "a whole number above 0")
        self._limit(name, value)
        return value

    def _limit(self, name: str, value: int) -> None:
        most = _LARGEST_OF.get(name, _LARGEST)
        if value > most:
            self.fail(name, f"at most {most:,}")

    def count_or_none(self, name: str) -> int | None:
        """A whole number above 0, or None where absent."""
        return self.count(name) if name in self else self.take(name)

    def count_or_zero(self, name: str) -> int:
        """A whole number of 0 or more; 0 where absent."""
        value = self.take(name)
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self.fail(name, "a whole number of 0 or more")
        self._limit(name, value)
        return value

    def layers_or_zero(self, name: str, n_layers: int) -> int:
        """A number of layers, of `n_layers` at most; 0 where absent."""
        value = self.count_or_zero(name)
        if value > n_layers:
            self.fail(name, f"at most the {n_layers} layers that there are")
        return value

    def number(self, name: str, otherwise: float | None = None) -> float:
        """A finite number above 0; `otherwise` where absent."""
        value = self.take(name)
        if value is None and otherwise is not None:
            return otherwise
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LARGEST:
            self.fail(name, f"a number above 0 and at most {_LARGEST:,}")
        return value

    def flag(self, name: str, *, otherwise: bool) -> bool:
        """True or false; `otherwise` where absent."""
        value = self.take(name)
        if value is None:
            return otherwise
        if not isinstance(value, bool):
            self.fail(name, "true or false")
        return value

    def expect(self, name: str, *allowed: Any) -> None:
        """A field of which only some values are understood; absent is one of them."""
        if self.take(name) not in (None, *allowed):
            self.fail(name, " or ".join([*map(repr, allowed), "absent"]))

    def expect_off(self, *names: str) -> None:
        """Switches that must be false or absent."""
        for name in names:
            if self.flag(name, otherwise=False):
                self.fail(name, "false or absent")

    def expect_on(self, *names: str) -> None:
        """Switches that must be true or absent."""
        for name in names:
            if not self.flag(name, otherwise=True):
                self.fail(name, "true or absent")

    def per_layer(self, name: str, kind: type[_Kind], n_layers: int, allowed: Collection[_Kind]) -> Sequence[_Kind]:
        """One value for each layer; longer lists describe prediction layers behind the last one."""
        values = self.take(name)
        choices = ", ".join(repr(value) for value in allowed)
        if not isinstance(values, list | tuple | str) or len(values) < n_layers:
            self.fail(name, f"a list of {n_layers}, one for each layer")
        found = list(values[:n_layers])
        if not all(isinstance(value, kind) and value in allowed for value in found):
            strange = next(value for value in found if not isinstance(value, kind) or value not in allowed)
            raise ConfigError(f"{self._where}: field {name!r} may hold {choices}, found {shown(strange)}.", fix=FIX)
        return found

    def positions(self, name: str, n_layers: int, *, first: int = 0) -> frozenset[int]:
        """A list of layer numbers, counted from `first`; empty where absent."""
        values = self.take(name)
        if values is None:
            return frozenset()
        if not isinstance(values, list | tuple) or not all(type(value) is int for value in values):
            self.fail(name, "a list of layer numbers")
        strange = next((value for value in values if not first <= value < first + n_layers), None)
        if strange is not None:
            last = first + n_layers - 1
            raise ConfigError(
                f"{self._where}: field {name!r} may hold layer numbers from {first} to {last}, found {shown(strange)}.",
                fix=FIX,
            )
        return frozenset(values)

    def nested(self, name: str) -> "Fields | None":
        """The fields inside a field; None where absent."""
        value = self.take(name)
        if value is None:
            return None
        return self.inside(name, value)

    def inside(self, name: str, value: Any) -> "Fields":
        """The fields of an object that was found at `name`."""
        if not isinstance(value, Mapping):
            raise ConfigError(f"{self._where}: {name} must be an object, found {shown(value)}.", fix=FIX)
        return Fields(value, where=f"{self._where}, {name}")

    def refuse_unread(self, kind: str) -> None:
        """Refuse what was neither read nor is known to change no size."""
        unread = sorted(set(self._values) - self._read - IRRELEVANT)
        if unread:
            names = ", ".join(repr(name) for name in unread)
            raise ConfigError(
                f"{self._where}: {names} {'is' if len(unread) == 1 else 'are'} not understood for {kind!r}, "
                "and could change its sizes.",
                fix=FIX,
            )
