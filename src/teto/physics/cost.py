"""Money with its source, or the reason why it is unknown."""

from dataclasses import dataclass
from decimal import Decimal

__all__ = ["Cost", "unknown_cost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Dollars of one call. None is unknown, never zero; `note` says where the price comes from, or why not."""

    usd: Decimal | None
    note: str


def unknown_cost(reason: str) -> Cost:
    """No figure, and why."""
    return Cost(usd=None, note=reason)
