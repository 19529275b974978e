"""What serving is given."""

from collections.abc import Mapping
from dataclasses import dataclass

from teto.config import DriftSettings, GatewaySettings, PolicySettings
from teto.gateway.cloud import Price
from teto.gateway.routing import Router
from teto.ports import Clock, DriftStore, Engine, Ledger, PowerMeter, Upstream
from teto.triage.calibration import Calibration
from teto.triage.task_model import TaskModel

__all__ = ["ChatParts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatParts:
    """What serving needs, all given; `engine` is None where none is configured, and `engine_note` says why.

    `calibration` is the engine's own, None where there is none: then the conservative policy holds.
    """

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
    task_model: TaskModel
    calibration: Calibration | None
    drift: DriftSettings
    drift_store: DriftStore
    keep_texts: bool
    mean_power_w: float
