"""The tables of single settings, by their names in the file."""

from collections.abc import Mapping
from typing import Final

from teto.config.settings import (
    DriftSettings,
    EngineSettings,
    GatewaySettings,
    LedgerSettings,
    PolicySettings,
    PowerSettings,
    WeightsSettings,
)

__all__ = ["SECTIONS"]

SECTIONS: Final[Mapping[str, type]] = {
    "gateway": GatewaySettings,
    "engine": EngineSettings,
    "weights": WeightsSettings,
    "policy": PolicySettings,
    "drift": DriftSettings,
    "power": PowerSettings,
    "ledger": LedgerSettings,
}
