"""The token vector: every kind of token that a price or a second depends on. Absent is not zero."""

from dataclasses import dataclass

__all__ = ["TokenVector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenVector:
    """Tokens of one call by how they are billed and computed; None where the source did not say.

    `rule` names the rule that produced it, for instance that cached tokens were counted inside the input.
    """

    in_uncached: int | None = None
    in_cache_read: int | None = None
    in_cache_write_5m: int | None = None
    in_cache_write_1h: int | None = None
    out_visible: int | None = None
    out_reasoning: int | None = None
    rule: str

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{name} cannot be negative, found {value} (rule: {self.rule})")

    @property
    def input_total(self) -> int | None:
        """All input tokens, or None when even the uncached ones are unknown."""
        if self.in_uncached is None:
            return None
        cached = (self.in_cache_read, self.in_cache_write_5m, self.in_cache_write_1h)
        return self.in_uncached + sum(part or 0 for part in cached)

    @property
    def output_total(self) -> int | None:
        """All output tokens, or None when the visible ones are unknown."""
        return None if self.out_visible is None else self.out_visible + (self.out_reasoning or 0)
