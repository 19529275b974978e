"""Settings: one frozen tree, resolved in one function from flags, environment, teto.toml and defaults."""

from teto.config.resolve import Origin, Resolved, describe, resolve
from teto.config.settings import (
    DriftSettings,
    EngineSettings,
    GatewaySettings,
    LedgerSettings,
    Mode,
    PolicySettings,
    PowerSettings,
    PrivacySettings,
    RouteSettings,
    Settings,
    UpstreamSettings,
    WeightsSettings,
)

__all__ = [
    "DriftSettings",
    "EngineSettings",
    "GatewaySettings",
    "LedgerSettings",
    "Mode",
    "Origin",
    "PolicySettings",
    "PowerSettings",
    "PrivacySettings",
    "Resolved",
    "RouteSettings",
    "Settings",
    "UpstreamSettings",
    "WeightsSettings",
    "describe",
    "resolve",
]
