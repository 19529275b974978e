"""When local wins: the seconds, dollars and joules of one call here against the same call in a cloud.

Latency here is queue + prefill + decode; there it is round trip + queue and prefill (the provider's time to its
first token) + decode at the provider's speed. Known error: the cloud's speed is the caller's own figure and is
taken as the same for every length, unless a prefill rate is given.
"""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from teto.physics.calls import CallTokens, time_call
from teto.physics.cost import Cost
from teto.physics.deployment import Deployment
from teto.physics.energy import Energy
from teto.physics.values import Values, require_not_negative, require_positive

__all__ = [
    "Cloud",
    "Crossovers",
    "Local",
    "PlacedCall",
    "PlacementGrid",
    "crossovers",
    "place_call",
    "placement_grid",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """An API as its caller sees it.

    `first_token_s` is the provider's own time to the first token, queue and prefill, without the network;
    `prefill_tokens_per_s` makes it grow with the prompt beyond `first_token_prompt_tokens` (both None: the same
    for every prompt).
    """

    name: str
    round_trip_s: float
    first_token_s: float
    tokens_per_s: float
    prefill_tokens_per_s: float | None = None
    first_token_prompt_tokens: int = 0

    def __post_init__(self) -> None:
        require_positive(self, "tokens_per_s", "prefill_tokens_per_s")
        require_not_negative(self, "round_trip_s", "first_token_s", "first_token_prompt_tokens")

    def seconds(self, prompt_tokens: Values, output_tokens: Values) -> Values:
        """From sending the prompt to the last token."""
        reading_s: Values = self.round_trip_s + self.first_token_s + 0.0 * prompt_tokens
        if self.prefill_tokens_per_s is not None:
            beyond = prompt_tokens - self.first_token_prompt_tokens
            reading_s = reading_s + np.maximum(beyond, 0.0) / self.prefill_tokens_per_s
        return reading_s + (output_tokens - 1) / self.tokens_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """A deployment and the mean seconds that a call waits for it; the longest context that its memory holds."""

    deployment: Deployment
    queue_s: float
    longest_context_tokens: int

    def __post_init__(self) -> None:
        require_not_negative(self, "queue_s", "longest_context_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedCall:
    """One kind of call in both places. Times are in the order of their parts; `reasons` say who wins what.

    `wins` is the faster place; a call that does not fit here is the cloud's. A cloud's joules are not published.
    """

    tokens: CallTokens
    local_parts_s: tuple[tuple[str, float], ...]
    cloud_parts_s: tuple[tuple[str, float], ...]
    fits_locally: bool
    local_cost: Cost
    cloud_cost: Cost
    local_energy: Energy
    reasons: tuple[str, ...]

    @property
    def local_s(self) -> float:
        """Seconds here."""
        return sum(seconds for _, seconds in self.local_parts_s)

    @property
    def cloud_s(self) -> float:
        """Seconds there."""
        return sum(seconds for _, seconds in self.cloud_parts_s)

    @property
    def wins(self) -> str:
        """`local` or `cloud`, by latency."""
        return "local" if self.fits_locally and self.local_s <= self.cloud_s else "cloud"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementGrid:
    """Seconds over prompt x output lengths, prompts along the rows; infinite where the context does not fit here."""

    prompt_tokens: NDArray[np.float64]
    output_tokens: NDArray[np.float64]
    local_s: NDArray[np.float64]
    cloud_s: NDArray[np.float64]

    @property
    def ratio(self) -> NDArray[np.float64]:
        """Local over cloud: below 1 local is faster."""
        return self.local_s / self.cloud_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossovers:
    """Where the faster place changes along one length while the other stays; in tokens, None: it never does.

    `output_tokens` is the first answer length, and `prompt_tokens` the first prompt length, at which the place
    differs from that of the shortest; `reasons` say it in words.
    """

    output_tokens: int | None
    prompt_tokens: int | None
    reasons: tuple[str, ...]


def place_call(
    local: Local, cloud: Cloud, tokens: CallTokens, *, local_energy: Energy, usd_per_kwh: float | None, cloud_cost: Cost
) -> PlacedCall:
    """One kind of call in both places.

    Raises:
        ValueError: the call is longer than the local model's context.
    """
    time = time_call(local.deployment, tokens)
    writing_s = (tokens.output_tokens - 1) / cloud.tokens_per_s
    reading_s = float(cloud.seconds(float(tokens.prompt_tokens), 1.0)) - cloud.round_trip_s
    local_parts = (("queue", local.queue_s), ("prefill", time.prefill_s), ("decode", time.decode_s))
    cloud_parts = (("round trip", cloud.round_trip_s), ("queue and prefill", reading_s), ("decode", writing_s))
    fits = tokens.context_tokens <= local.longest_context_tokens
    local_cost = _marginal_cost(local_energy, usd_per_kwh)
    return PlacedCall(
        tokens=tokens,
        local_parts_s=local_parts,
        cloud_parts_s=cloud_parts,
        fits_locally=fits,
        local_cost=local_cost,
        cloud_cost=cloud_cost,
        local_energy=local_energy,
        reasons=tuple(_reasons(local_parts, cloud_parts, fits=fits, local=local, costs=(local_cost, cloud_cost))),
    )


def _marginal_cost(energy: Energy, usd_per_kwh: float | None) -> Cost:
    if energy.joules is None:
        return Cost(usd=None, note=f"the energy is unknown: {energy.note}")
    if usd_per_kwh is None:
        return Cost(usd=None, note="the price of electricity was not given")
    usd = Decimal(repr(energy.joules * usd_per_kwh / 3.6e6))
    return Cost(usd=usd, note=f"electricity only, at {usd_per_kwh:g} USD/kWh; boundary: {energy.boundary}")


def _reasons(
    local_parts: tuple[tuple[str, float], ...],
    cloud_parts: tuple[tuple[str, float], ...],
    *,
    fits: bool,
    local: Local,
    costs: tuple[Cost, Cost],
) -> list[str]:
    found = []
    if not fits:
        found.append(f"it does not fit here: memory holds a context of {local.longest_context_tokens:,} tokens")
    local_s, cloud_s = sum(s for _, s in local_parts), sum(s for _, s in cloud_parts)
    slower, parts = ("local", local_parts) if local_s > cloud_s else ("cloud", cloud_parts)
    name, seconds = max(parts, key=lambda part: part[1])
    times = max(local_s, cloud_s) / min(local_s, cloud_s)
    found.append(
        f"{slower} is {times:.2f} times slower, and {seconds / max(local_s, cloud_s):.0%} of its time is {name}"
    )
    here, there = (cost.usd for cost in costs)
    if here is not None and there is not None and here > 0:
        found.append(f"at the margin the cloud costs {there / here:,.0f} times the electricity of the local call")
    found.append("local keeps the data on this machine; the cloud sees the prompt")
    return found


def placement_grid(
    local: Local, cloud: Cloud, *, prompt_tokens: NDArray[np.float64], output_tokens: NDArray[np.float64]
) -> PlacementGrid:
    """Both latencies over every pair of lengths; decode steps are summed as the mean of their context."""
    prompts, outputs = np.meshgrid(prompt_tokens, output_tokens, indexing="ij")
    local_s = _local_s(local, prompts, outputs)
    limit = local.deployment.shape.context_limit_tokens
    longest = local.longest_context_tokens if limit is None else min(limit, local.longest_context_tokens)
    return PlacementGrid(
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        local_s=np.where(prompts + outputs - 1 <= longest, local_s, np.inf),
        cloud_s=np.asarray(cloud.seconds(prompts, outputs)),
    )


def _local_s(local: Local, prompts: NDArray[np.float64], outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    deployment = local.deployment
    step_s = np.asarray(deployment.decode_step_s(np.ones_like(prompts), prompts + outputs / 2))
    prefill_s = np.asarray(deployment.prefill_s(prompts, np.zeros_like(prompts)))
    return np.asarray(local.queue_s + prefill_s + (outputs - 1) * step_s / deployment.tokens_per_step)


def crossovers(local: Local, cloud: Cloud, tokens: CallTokens) -> Crossovers:
    """Where the faster place changes when this call's answer, or its prompt, gets longer or shorter."""
    limit = local.deployment.shape.context_limit_tokens
    longest = local.longest_context_tokens if limit is None else min(limit, local.longest_context_tokens)
    outputs = _lengths(longest - tokens.prompt_tokens + 1)
    prompts = _lengths(longest - tokens.output_tokens + 1)
    by_output = placement_grid(
        local, cloud, prompt_tokens=np.array([float(tokens.prompt_tokens)]), output_tokens=outputs
    ).ratio[0]
    by_prompt = placement_grid(
        local, cloud, prompt_tokens=prompts, output_tokens=np.array([float(tokens.output_tokens)])
    ).ratio[:, 0]
    output, prompt = _first_change(by_output), _first_change(by_prompt)
    at_output = None if output is None else int(outputs[output])
    at_prompt = None if prompt is None else int(prompts[prompt])
    return Crossovers(
        output_tokens=at_output,
        prompt_tokens=at_prompt,
        reasons=(
            _in_words(by_output, at_output, f"a prompt of {tokens.prompt_tokens:,} tokens", "answers", longest),
            _in_words(by_prompt, at_prompt, f"an answer of {tokens.output_tokens:,} tokens", "prompts", longest),
        ),
    )


def _lengths(most: int) -> NDArray[np.float64]:
    """Every length up to 4,096, then steps of a thousandth: what is printed has three digits."""
    most = max(1, most)
    exact = np.arange(1.0, min(most, 4096) + 1)
    if most <= 4096:
        return exact
    return np.unique(np.concatenate([exact, np.floor(np.geomspace(4096, most, 4000))]))


def _first_change(ratio: NDArray[np.float64]) -> int | None:
    is_local = ratio <= 1
    changes = np.flatnonzero(is_local != is_local[0])
    return int(changes[0]) if changes.size else None


def _in_words(ratio: NDArray[np.float64], at: int | None, given: str, what: str, longest: int) -> str:
    first = "local" if ratio[0] <= 1 else "cloud"
    other = "cloud" if first == "local" else "local"
    if at is None:
        return f"with {given} {first} is faster at every length of {what} that fits here ({longest:,} tokens in all)"
    return f"with {given} {first} is faster for {what} under {at:,} tokens, {other} from there on"
