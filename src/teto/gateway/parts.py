"""What serving is given."""

from collections.abc import Mapping
from dataclasses import dataclass

from teto.config import GatewaySettings, PolicySettings
from teto.gateway.cloud import Price
from teto.gateway.routing import Router
from teto.ports import Clock, Engine, Ledger, PowerMeter, Upstream

__all__ = ["ChatParts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatParts:
    """What serving needs, all given; `engine` is None where none is configured, and `engine_note` says why."""

    engine: Engine | None
    engine_note: str
    upstreams: Mapping[str, Upstream]
    router: Router
    ledger: Ledger
    power: PowerMeter
    clock: Clock
    price: Price
    gateway: GatewaySettings
    policy: PolicySettings
    mean_power_w: float
