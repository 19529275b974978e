"""`teto plan --local DEVICE --cloud MODEL`: when local wins, and where that changes."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from teto.cli.asked import refusals
from teto.cli.inputs import named_deployment, named_device, named_model, require_rate
from teto.cli.table import bullets, table
from teto.errors import ConfigError
from teto.physics.calls import CallTokens, time_call
from teto.physics.energy import Energy, derived_energy, unknown_energy
from teto.physics.memory import longest_context_tokens
from teto.physics.placement import (
    Cloud,
    Crossovers,
    Local,
    PlacedCall,
    PlacementGrid,
    crossovers,
    place_call,
    placement_grid,
)
from teto.physics.placement_tree import Leaf, Tree, placement_tree
from teto.units import show_joules, show_seconds, show_usd

if TYPE_CHECKING:
    from teto.physics.deployment import Deployment

__all__ = ["PlacementAnswer", "fine_grid", "placement_answer", "placement_lines"]

_REQUIRED: Final = {
    "cloud_first_token_ms": "the provider's own time to the first token, without the network",
    "cloud_tokens_per_s": "the provider's speed after it",
    "round_trip_ms": "the network's round trip to it",
}
_PROMPTS: Final = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
_OUTPUTS: Final = (1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementAnswer:
    """One kind of call in both places, the map around it, where it turns, and the questions in their order."""

    model: str
    weight_format: str | None
    device: str
    kind: str
    cloud: Cloud
    placed: PlacedCall
    wins: str
    local_s: float
    cloud_s: float
    crossover: Crossovers
    grid: PlacementGrid
    tree: Tree
    notes: tuple[str, ...]


def _cloud(options: Mapping[str, Any], tokens: CallTokens) -> Cloud:
    """The API as its caller measured it.

    Raises:
        ConfigError: a figure is missing: there is no default for a network or a provider.
    """
    for name, meaning in _REQUIRED.items():
        if options[name] is None:
            option = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{option} is missing: {meaning}.", fix=f"Measure it and give {option}.")
    return Cloud(
        name=options["cloud"],
        round_trip_s=options["round_trip_ms"] / 1e3,
        first_token_s=options["cloud_first_token_ms"] / 1e3,
        tokens_per_s=options["cloud_tokens_per_s"],
        prefill_tokens_per_s=options["cloud_prefill_tokens_per_s"],
        first_token_prompt_tokens=tokens.prompt_tokens,
    )


def _local(options: Mapping[str, Any]) -> "tuple[Local, str, str | None]":
    quant = options["quant"][0] if options["quant"] else None
    resolved = named_model(options["model"], quant)
    device = named_device(
        options["local"], bandwidth=None, flops=options["flops"], memory=dict(options["memory"]).get(options["local"])
    )
    count = options["counts"][0] if options["counts"] else 1
    deployment = named_deployment(resolved, device, kv=options["kv"], n_devices=count, engine=options["engine"])
    require_rate(deployment)
    if device.memory_bytes is None:
        raise ConfigError(f"The memory of {device.name} is unknown.", fix=f"Give it: --memory {options['local']}=16GB.")
    room = count * device.memory_bytes - resolved.weights.resident_bytes - (options["other_memory"] or 0.0)
    local = Local(
        deployment=deployment,
        queue_s=options["queue_ms"] / 1e3,
        longest_context_tokens=0
        if room <= 0
        else longest_context_tokens(resolved.shape, room, deployment.kv_element_bytes),
    )
    return local, resolved.name, None if resolved.weight_format is None else resolved.weight_format.name


def _energy(deployment: "Deployment", tokens: CallTokens, watts: float | None) -> Energy:
    seconds = time_call(deployment, tokens).total_s
    if watts is not None:
        return derived_energy(power_w=watts, seconds=seconds, boundary="as given", source="--watts")
    power_w = deployment.device.power_w
    if power_w is None:
        return unknown_energy(f"the power of {deployment.device.name} is unknown (--watts gives it)")
    return derived_energy(
        power_w=deployment.n_devices * power_w,
        seconds=seconds,
        boundary="device",
        source="rated power, at most",
    )


def placement_answer(options: Mapping[str, Any], tokens: CallTokens) -> PlacementAnswer:
    """Local against cloud for one kind of call and for the lengths around it."""
    from teto.catalog.prices import listed_cost

    if options["local"] is None or options["cloud"] is None:
        raise ConfigError("Local and cloud are compared with each other.", fix="Give both --local and --cloud.")
    cloud = _cloud(options, tokens)
    local, model, weight_format = _local(options)
    cost = listed_cost(
        model=options["cloud"],
        prompt_tokens=tokens.prompt_tokens,
        output_tokens=tokens.output_tokens,
        at_unix_s=time.time(),
    )
    with refusals("Give a shorter call, or a model with a longer context."):
        placed = place_call(
            local,
            cloud,
            tokens,
            local_energy=_energy(local.deployment, tokens, options["watts"]),
            usd_per_kwh=options["usd_per_kwh"],
            cloud_cost=cost,
        )
    crossing = crossovers(local, cloud, tokens)
    return PlacementAnswer(
        model=model,
        weight_format=weight_format,
        device=local.deployment.device.name,
        kind="ceiling" if local.deployment.fit is None else "estimate",
        cloud=cloud,
        placed=placed,
        wins=placed.wins,
        local_s=placed.local_s,
        cloud_s=placed.cloud_s,
        crossover=crossing,
        grid=placement_grid(
            local, cloud, prompt_tokens=np.array(_PROMPTS, dtype=float), output_tokens=np.array(_OUTPUTS, dtype=float)
        ),
        tree=placement_tree(placed, crossing, local, lang=options["lang"]),
        notes=_notes(local, cloud),
    )


def fine_grid(options: Mapping[str, Any], tokens: CallTokens) -> PlacementGrid:
    """The same map with eight lengths for each doubling, for a picture."""
    local, _, _ = _local(options)
    prompts = np.unique(np.round(np.geomspace(_PROMPTS[0], _PROMPTS[-1], 81)))
    outputs = np.unique(np.round(np.geomspace(_OUTPUTS[0], _OUTPUTS[-1], 97)))
    return placement_grid(local, _cloud(options, tokens), prompt_tokens=prompts, output_tokens=outputs)


def _notes(local: Local, cloud: Cloud) -> tuple[str, ...]:
    notes = []
    if local.deployment.fit is None:
        notes.append("no fit covers the local model: its times are ceilings, so local is slower than shown")
    if local.deployment.rate is None:
        notes.append("its multiply rate is unknown: prefill is bounded by memory alone, which is too fast")
    if cloud.prefill_tokens_per_s is None:
        notes.append("the cloud's first token is taken as the same for every prompt (--cloud-prefill-tokens-per-s)")
    return tuple(notes)


def placement_lines(found: PlacementAnswer) -> Iterator[str]:
    """Both places side by side, the map, the crossovers and the tree."""
    placed = found.placed
    yield (
        f"{placed.tokens.prompt_tokens:,} tokens in, {placed.tokens.output_tokens:,} out: {found.model} "
        f"{found.weight_format or 'in mixed formats'} on {found.device} ({found.kind}) against {found.cloud.name}: "
        f"{found.wins} is faster"
    )
    yield from table(
        ("", "local", "cloud"),
        [
            ("latency", show_seconds(found.local_s), show_seconds(found.cloud_s)),
            ("made of", _parts(placed.local_parts_s), _parts(placed.cloud_parts_s)),
            ("at the margin", _usd(placed.local_cost.usd), _usd(placed.cloud_cost.usd)),
            ("energy", _joules(placed.local_energy), "unknown: not published"),
            ("privacy", "stays on this machine", "the prompt leaves it"),
        ],
    )
    yield from bullets((*placed.reasons, *found.crossover.reasons))
    yield f"local cost: {placed.local_cost.note}"
    yield f"cloud cost: {placed.cloud_cost.note}"
    if placed.local_energy.joules is not None:
        yield f"local energy: {placed.local_energy.note}; boundary: {placed.local_energy.boundary}"
    yield ""
    yield "local time over cloud time, prompt tokens down, answer tokens across (below 1 local is faster)"
    yield from _map_lines(found.grid)
    yield ""
    yield from _tree_lines(found.tree, "")
    for note in found.notes:
        yield f"note: {note}"


def _parts(parts: tuple[tuple[str, float], ...]) -> str:
    return " + ".join(f"{name} {show_seconds(seconds)}" for name, seconds in parts)


def _usd(usd: Any) -> str:
    return "unknown" if usd is None else show_usd(usd)


def _joules(energy: Energy) -> str:
    return "unknown" if energy.joules is None else show_joules(energy.joules)


def _map_lines(grid: PlacementGrid) -> Iterator[str]:
    rows = [
        (f"{prompt:,.0f}", *("no room" if np.isinf(one) else f"{one:.2f}" for one in ratios))
        for prompt, ratios in zip(grid.prompt_tokens, grid.ratio, strict=True)
    ]
    yield from table(("", *(f"{output:,.0f}" for output in grid.output_tokens)), rows)


def _tree_lines(tree: Tree, indent: str) -> Iterator[str]:
    if isinstance(tree, Leaf):
        yield f"{indent}-> {tree.place}: {tree.because}"
        return
    answer = "" if tree.answer is None else f" [here: {'yes' if tree.answer else 'no'}]"
    yield f"{indent}{tree.text} ({tree.figure}){answer}"
    for word, branch in (("yes", tree.yes), ("no", tree.no)):
        yield f"{indent}  {word}:"
        yield from _tree_lines(branch, indent + "    ")
