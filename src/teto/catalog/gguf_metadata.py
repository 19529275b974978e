"""The numbers in a GGUF file's header: one for the model, or one for each layer."""

from typing import Any, Final

from teto.catalog.hf.fields import shown

__all__ = ["FaultyFileError", "IncompleteFileError", "Metadata", "contents_of"]

# Far above any model: larger numbers are mistakes, and would be counted to for minutes.
_LARGEST: Final = 10**12
_LARGEST_OF: Final = {"block_count": 10_000}


class FaultyFileError(Exception):
    """What a file states cannot be, with what was expected and found as its text."""


class IncompleteFileError(FaultyFileError):
    """Something that every model has is not in the file, with its name in the text."""


def contents_of(field: Any, name: str) -> Any:
    """The value of a field of the header.

    Raises:
        FaultyFileError: a text that is none.
    """
    try:
        return field.contents()
    except ValueError:
        raise FaultyFileError(f"field {name!r} must be text in UTF-8, found other bytes") from None


class Metadata:
    """Numbers under the architecture's own prefix.

    Raises:
        IncompleteFileError: from every method, for a field that is left out where nothing stands in for it.
        FaultyFileError: from every method, for a value that cannot be, with the field's name.
    """

    def __init__(self, fields: Any, architecture: str) -> None:
        self._fields = fields
        self._read: dict[str, Any] = {}
        self.architecture = architecture

    def __contains__(self, key: str) -> bool:
        return f"{self.architecture}.{key}" in self._fields

    def fail(self, key: str, expected: str, found: object) -> FaultyFileError:
        """The error for a value that is not as expected."""
        return FaultyFileError(f"field '{self.architecture}.{key}' must be {expected}, found {shown(found)}")

    def _value(self, key: str) -> Any:
        name = f"{self.architecture}.{key}"
        if name not in self._fields:
            raise IncompleteFileError(f"{name} is missing")
        if name not in self._read:
            self._read[name] = contents_of(self._fields[name], name)
        return self._read[name]

    def _whole(self, key: str, value: object, least: int, *, where: str = "") -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            kind = "a whole number above 0" if least else "a whole number of 0 or more"
            raise self.fail(key, f"{kind}{where}", value)
        most = _LARGEST_OF.get(key, _LARGEST)
        if value > most:
            raise self.fail(key, f"at most {most:,}{where}", value)
        return value

    def _of_layer(self, key: str, values: list[Any], layer: int) -> Any:
        if layer >= len(values):
            raise self.fail(key, f"a number, or a list with one for each layer up to {layer}", values)
        return values[layer]

    def number(self, key: str, otherwise: int | None = None, *, least: int = 1) -> int:
        """The whole number of that key, of `least` (0 or 1) or more; `otherwise` where the file leaves it out."""
        if otherwise is not None and key not in self:
            return otherwise
        return self._whole(key, self._value(key), least)

    def at_layer(self, key: str, layer: int, otherwise: int | None = None) -> int:
        """The same, above 0, for one layer, where the file may list one number for each."""
        if otherwise is not None and key not in self:
            return otherwise
        value = self._value(key)
        if not isinstance(value, list):
            return self._whole(key, value, 1)
        return self._whole(key, self._of_layer(key, value, layer), 1, where=f" in layer {layer}")

    def flag_at_layer(self, key: str, layer: int) -> bool:
        """Whether a list of flags holds for one layer."""
        value = self._of_layer(key, self._value(key), layer)
        if not isinstance(value, int) or value not in (0, 1):
            raise self.fail(key, f"true or false in layer {layer}", value)
        return bool(value)

    def is_list(self, key: str) -> bool:
        """Whether the file lists one number for each layer."""
        return key in self and isinstance(self._value(key), list)
