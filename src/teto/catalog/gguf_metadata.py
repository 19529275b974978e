"""The numbers in a GGUF file's header: one for the model, or one for each layer."""

from typing import Any

__all__ = ["Metadata"]


class Metadata:
    """Numbers under the architecture's own prefix."""

    def __init__(self, fields: Any, architecture: str) -> None:
        self._fields = fields
        self.architecture = architecture

    def __contains__(self, key: str) -> bool:
        return f"{self.architecture}.{key}" in self._fields

    def _value(self, key: str) -> Any:
        name = f"{self.architecture}.{key}"
        if name not in self._fields:
            raise KeyError(name)
        return self._fields[name].contents()

    def number(self, key: str, otherwise: int | None = None) -> int:
        """The number of that key; `otherwise` where the file leaves it out.

        Raises:
            KeyError: it is left out, and nothing stands in for it.
        """
        if otherwise is not None and key not in self:
            return otherwise
        return int(self._value(key))

    def at_layer(self, key: str, layer: int, otherwise: int | None = None) -> int:
        """The same for one layer, where the file may list one number for each."""
        if otherwise is not None and key not in self:
            return otherwise
        value = self._value(key)
        return int(value[layer]) if isinstance(value, list) else int(value)

    def is_list(self, key: str) -> bool:
        """Whether the file lists one number for each layer."""
        return key in self and isinstance(self._value(key), list)
