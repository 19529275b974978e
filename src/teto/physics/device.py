"""What a device can do: hold bytes, read them, and multiply numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from teto.physics.precision import DTYPES, Dtype
from teto.physics.values import require_positive

__all__ = ["Device", "FactKind", "Family", "Rate"]

FactKind = Literal["vendor", "measured", "derived", "assumed"]
Family = Literal["gddr", "hbm", "apple", "cpu", "apu", "npu"]


@dataclass(frozen=True, slots=True)
class Rate:
    """A dense multiply rate and the dtype that it is for."""

    dtype: Dtype
    flops_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device's limits, with where the figures come from.

    `flops_per_s` are dense rates by the dtype that computes; a dtype that is not there is unknown, and so is a
    field that is None. `link_bytes_per_s` is one device's share, in one direction.
    """

    name: str
    mem_bandwidth_bytes_per_s: float
    flops_per_s: Mapping[Dtype, float] = field(default_factory=dict)
    family: Family | None = None
    memory_bytes: float | None = None
    power_w: float | None = None
    link_bytes_per_s: float | None = None
    kind: FactKind
    source: str

    def __post_init__(self) -> None:
        require_positive(self, "mem_bandwidth_bytes_per_s", "memory_bytes", "power_w", "link_bytes_per_s")
        for dtype, flops_per_s in self.flops_per_s.items():
            if dtype not in DTYPES or not 0 < flops_per_s < float("inf"):
                raise ValueError(f"device {self.name!r}: a rate needs a known dtype and a value above 0: {dtype}")

    def rate(self, dtypes: Sequence[Dtype]) -> Rate | None:
        """The rate of the first of these dtypes that is known; None: no compute limit can be claimed."""
        return next((Rate(dtype, self.flops_per_s[dtype]) for dtype in dtypes if dtype in self.flops_per_s), None)

    def ridge_flops_per_byte(self, dtypes: Sequence[Dtype]) -> float | None:
        """The arithmetic intensity above which compute binds; None when the rate is unknown."""
        rate = self.rate(dtypes)
        return None if rate is None else rate.flops_per_s / self.mem_bandwidth_bytes_per_s
