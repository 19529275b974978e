"""The candidates that nothing beats in dollars, joules and seconds at once; an unknown figure beats nothing.

Where a price is unknown, candidates of the same device are compared by device seconds, which its price would only
multiply. Where both have unknown joules and share a device, joules do not decide. Anything else that is unknown
makes two candidates incomparable, so neither drops the other. A candidate without a fit has ceilings for figures,
which its engine will not reach: it drops no candidate that has estimates, while those may drop it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from teto.physics.planning import Candidate

__all__ = ["front"]


def front(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The Pareto front over dollars per token, joules per token and seconds of a call.

    Known prices come before unknown ones, then estimates before ceilings, then the cheapest.
    """
    by_option: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        by_option.setdefault(id(candidate.option), []).append(candidate)
    # First within each option: it leaves a few of each, and the comparison of all pairs stays small.
    left = [candidate for group in by_option.values() for candidate in _undominated(group)]
    return tuple(sorted(_undominated(left), key=_order))


def _order(candidate: Candidate) -> tuple[bool, bool, float, float]:
    usd = candidate.usd_per_mtok
    return usd is None, _is_ceiling(candidate), candidate.device_s_per_token if usd is None else usd, candidate.call_s


def _is_ceiling(candidate: Candidate) -> bool:
    return candidate.option.deployment.fit is None


def _undominated(candidates: Sequence[Candidate]) -> list[Candidate]:
    devices = {name: i for i, name in enumerate(sorted({found.option.deployment.device.name for found in candidates}))}
    device = np.array([devices[found.option.deployment.device.name] for found in candidates])
    is_same = device[:, None] == device[None, :]
    usd = _column([found.usd_per_mtok for found in candidates])
    joules = _column([found.j_per_token for found in candidates])
    seconds = _column([found.call_s for found in candidates])
    device_s = _column([found.device_s_per_token for found in candidates])
    # A comparison with NaN is false: an unknown figure is never smaller or equal.
    is_unpriced = np.isnan(usd)[:, None] & np.isnan(usd)[None, :] & is_same
    is_unmetered = np.isnan(joules)[:, None] & np.isnan(joules)[None, :] & is_same
    usd_at_most = (usd[:, None] <= usd[None, :]) | (is_unpriced & (device_s[:, None] <= device_s[None, :]))
    usd_below = (usd[:, None] < usd[None, :]) | (is_unpriced & (device_s[:, None] < device_s[None, :]))
    at_most = usd_at_most & ((joules[:, None] <= joules[None, :]) | is_unmetered)
    at_most &= seconds[:, None] <= seconds[None, :]
    below = usd_below | (joules[:, None] < joules[None, :]) | (seconds[:, None] < seconds[None, :])
    is_ceiling = np.array([_is_ceiling(found) for found in candidates], dtype=np.bool_)
    is_unfair = is_ceiling[:, None] & ~is_ceiling[None, :]
    is_dominated = (at_most & below & ~is_unfair).any(axis=0)
    return [found for found, dominated in zip(candidates, is_dominated, strict=True) if not dominated]


def _column(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
