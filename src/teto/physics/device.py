"""What a device can do: read bytes and multiply numbers."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Device", "FactKind"]

FactKind = Literal["vendor", "measured", "derived", "assumed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device's two limits, with where the figures come from.

    `flops_per_s` is the dense rate of the dtype in which the engine computes; None when nobody measured it,
    and then no compute limit is claimed.
    """

    name: str
    mem_bandwidth_bytes_per_s: float
    flops_per_s: float | None
    kind: FactKind
    source: str

    def __post_init__(self) -> None:
        if self.mem_bandwidth_bytes_per_s <= 0 or (self.flops_per_s is not None and self.flops_per_s <= 0):
            raise ValueError(f"device {self.name!r}: rates must be above 0, found {self}")

    @property
    def ridge_flops_per_byte(self) -> float | None:
        """The arithmetic intensity above which compute binds; None when the compute rate is unknown."""
        return None if self.flops_per_s is None else self.flops_per_s / self.mem_bandwidth_bytes_per_s
