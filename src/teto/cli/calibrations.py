"""Where this user's calibrations and recordings are kept, and which one is in force for an engine."""

from pathlib import Path
from typing import TYPE_CHECKING

from teto.cli.wiring import USER_FOLDERS

if TYPE_CHECKING:
    from teto.config import Settings
    from teto.triage.calibration import Calibration

__all__ = ["calibration_of", "calibrations_folder", "first_prices", "recordings_folder"]


def calibrations_folder() -> Path:
    """Where the calibrations made on this machine are kept."""
    return USER_FOLDERS.user_state_path / "calibrations"


def recordings_folder() -> Path:
    """Where `teto calibrate` keeps what engines said, so that a run that was broken off goes on."""
    return USER_FOLDERS.user_state_path / "recordings"


def calibration_of(fingerprint: str) -> "Calibration | None":
    """The calibration in force for an engine: the one made here, else the shipped one, else None."""
    from teto.catalog.calibrations import find_calibration

    return find_calibration(fingerprint, calibrations_folder())


def first_prices(settings: "Settings") -> tuple[float, float] | None:
    """Dollars for a million tokens in and out at the first upstream; None where they are not known."""
    import time

    from teto.catalog.prices import published_cost
    from teto.traffic.tokens import TokenVector
    from teto.units import MTOK

    upstream = next(iter(settings.upstreams.values()), None)
    if upstream is None:
        return None
    if upstream.usd_per_mtok_in is not None and upstream.usd_per_mtok_out is not None:
        return float(upstream.usd_per_mtok_in), float(upstream.usd_per_mtok_out)

    def cost(tokens_in: int, tokens_out: int) -> float | None:
        tokens = TokenVector(in_uncached=tokens_in, out_visible=tokens_out, rule="a price is asked for")
        found = published_cost(tokens, model=upstream.model, base_url=upstream.base_url, at_unix_s=time.time())
        return None if found.usd is None else float(found.usd)

    # A thousand tokens: list prices may step at long contexts.
    per_in, per_out = cost(1000, 0), cost(0, 1000)
    return None if per_in is None or per_out is None else (per_in * MTOK / 1000, per_out * MTOK / 1000)
