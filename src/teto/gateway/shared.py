"""What requests share while a gateway runs: what is known of clouds, of instructions, and of drift."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from teto.gateway.aside import EmptyInputs
from teto.gateway.breaker import Breaker
from teto.gateway.pace import CloudPace
from teto.gateway.watch import DriftWatch
from teto.ports import Clock

__all__ = ["Clouds", "Shared"]


class Clouds:
    """For each cloud by its name: whether it is up, and how fast it answered lately."""

    def __init__(self, names: Iterable[str], clock: Clock) -> None:
        listed = tuple(names)
        self.breakers = {name: Breaker(clock) for name in listed}
        self.paces = {name: CloudPace() for name in listed}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """`watch` is None where the engine has no calibration."""

    clouds: Clouds
    watch: DriftWatch | None
    empty_inputs: EmptyInputs = field(default_factory=EmptyInputs)

    def sealed(self, clock: Clock) -> "Shared":
        """The same for a private request: no cloud is known, and nothing of its instruction is remembered."""
        return replace(self, clouds=Clouds((), clock), empty_inputs=EmptyInputs())
