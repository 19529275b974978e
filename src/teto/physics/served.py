"""A deployment as a loaded server: what its calls see at a concurrency, and how busy its devices are.

Fits of servers are of engines that let pieces of a prompt join the running steps. Engines of one request at a
time prefill whole prompts, and `loaded.whole_prefill` is their model.
"""

from dataclasses import replace
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from teto.physics.calls import CallTokens
from teto.physics.deployment import Deployment
from teto.physics.loaded import Behaviour, Loaded, whole_prefill
from teto.physics.power import Utilisation
from teto.physics.roofline import decode_step, prefill
from teto.physics.serving import Demand, Served, Server, closed_loop
from teto.physics.values import Values, smaller

__all__ = ["behaviour", "busy", "is_served", "served", "server_of"]


_TABLE_POINTS: Final = 96


def is_served(deployment: Deployment) -> bool:
    """Whether the fit is of a server: its time is memory and arithmetic one after the other."""
    return deployment.fit is not None and not deployment.fit.overlaps


def server_of(deployment: Deployment, *, slots: Values, front_s: float = 0.0) -> Server:
    """The deployment as a server with so many slots; `front_s` is what a call takes outside of it."""
    joins = is_served(deployment)
    return Server(
        decode_s=lambda running, context: deployment.decode_step_s(running, context) / deployment.tokens_per_step,
        prefill_s=deployment.prefill_s,
        added_s=deployment.added_prefill_s if joins else None,
        policy="chunked" if joins else "whole",
        slots=slots,
        front_s=front_s,
    )


def served(
    deployment: Deployment, tokens: CallTokens, *, concurrency: int, slots: int, front_s: float, burst_fraction: float
) -> Served:
    """What `concurrency` users see who each send the next call when the last is answered.

    `slots` is how many sequences the memory holds; `burst_fraction` of the calls come while all users start at once.
    """
    demand = Demand(prompt_tokens=tokens.prompt_tokens, output_tokens=tokens.output_tokens)
    server = server_of(deployment, slots=min(slots, concurrency), front_s=front_s)
    return closed_loop(server, demand, concurrency, burst_fraction=burst_fraction)


def _tabulated(server: Server, demand: Demand, most_running: float) -> Server:
    """The same server with its times read from a table: a fixed point asks for them many times.

    Between the points they are taken as linear, which is exact for dense models and within 0.1 % for experts.
    """
    running = np.concatenate(([0.0], np.geomspace(0.25, max(most_running, 1.0), _TABLE_POINTS)))
    decode_s = np.asarray(server.decode_s(running, demand.mean_context_tokens)) + 0.0 * running
    added_s = np.asarray(server.service_s(demand, running)) + 0.0 * running

    def read(table: NDArray[np.float64], at: Values) -> Values:
        return np.interp(at, running, table)

    return replace(
        server,
        decode_s=lambda at, _context: read(decode_s, at),
        added_s=lambda _tokens, at: read(added_s, at),
    )


def behaviour(front_s: float) -> Behaviour:
    """How an engine behaves with a batch always in flight, by what its fit is of."""

    def behave(deployment: Deployment, tokens: CallTokens, batch: Values) -> Loaded:
        if not is_served(deployment):
            return whole_prefill(deployment, tokens, batch)
        demand = Demand(prompt_tokens=float(tokens.prompt_tokens), output_tokens=float(tokens.output_tokens))
        server = _tabulated(server_of(deployment, slots=batch, front_s=front_s), demand, float(np.max(batch)))
        found = closed_loop(server, demand, batch)
        step_s = deployment.decode_step_s(batch, tokens.mean_context_tokens) / deployment.tokens_per_step
        return Loaded(ttft_s=found.ttft_s, tpot_s=found.itl_s, step_s=step_s, calls_per_s=found.calls_per_s)

    return behave


def busy(deployment: Deployment, tokens: CallTokens, batch: Values) -> Utilisation | None:
    """How busy one device is with `batch` sequences and their prompts; None where its multiply rate is unknown."""
    rate = deployment.rate
    if rate is None:
        return None
    shape, weights, kv = deployment.shape, deployment.weights, deployment.kv_element_bytes
    context = tokens.mean_context_tokens
    step = decode_step(shape, weights, batch=batch, context_tokens=context, kv_element_bytes=kv, is_expected=True)
    prompt = prefill(shape, weights, n_tokens=float(tokens.prompt_tokens), kv_element_bytes=kv, is_expected=True)
    prompts_a_step = batch / tokens.output_tokens
    added_s = deployment.added_prefill_s(float(tokens.prompt_tokens), batch)
    seconds = deployment.decode_step_s(batch, context) + prompts_a_step * added_s
    moved = step.bytes + prompts_a_step * prompt.kv_bytes
    done = step.flops + prompts_a_step * prompt.flops
    device, n = deployment.device, deployment.n_devices
    return Utilisation(
        memory_fraction=smaller(
            cast("Values", np.asarray(moved / (n * device.mem_bandwidth_bytes_per_s * seconds))), 1.0
        ),
        compute_fraction=smaller(cast("Values", np.asarray(done / (n * rate.flops_per_s * seconds))), 1.0),
    )
