"""A loaded server: how many calls run, how long a token and the first token take, and how many calls it finishes.

A call waits for a slot, for its prompt, and then decodes in steps that it shares with whatever else runs. What a
prompt does to the steps of the others is the engine's policy:

- `whole`: decoding stops while a prompt is prefilled, so a step takes (running / steps of a call) prefills longer;
- `chunked`: prompt tokens join the steps that are running anyway, and add only what they cost beyond those;
- `disaggregated`: other devices prefill, and decoding never waits.

Concurrency is not the running batch: of N users who each send their next call when the last is answered, those
whose prompt waits do not decode. A fixed point links them; in it the prompts queue at one station, with
Schweitzer's approximation of mean value analysis (1979), which is exact for one user and where nobody thinks.
Known error: means only; arrivals do not know of each other, lengths are the mean ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from teto.physics.values import Values, larger, require_positive, smaller

__all__ = ["Demand", "Policy", "Served", "Server", "capacity_calls_per_s", "closed_loop", "open_arrivals", "queue_s"]

Policy = Literal["whole", "chunked", "disaggregated"]
_MOST_ITERATIONS = 200
_CLOSE_ENOUGH = 1e-10
_FULL = 1 - 1e-9
_SHORTEST_S = 1e-15


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Mean tokens of a call. The first token is the prefill's, so a call takes `output_tokens - 1` steps."""

    prompt_tokens: Values
    output_tokens: Values

    def __post_init__(self) -> None:
        if np.any(np.less_equal(self.prompt_tokens, 0)) or np.any(np.less(self.output_tokens, 1)):
            raise ValueError(f"a call has at least one token each way: {self.prompt_tokens}, {self.output_tokens}")

    @property
    def n_steps(self) -> Values:
        """Decode steps of a call."""
        return self.output_tokens - 1

    @property
    def mean_context_tokens(self) -> Values:
        """Positions that a step attends over, the mean over a call."""
        return self.prompt_tokens + self.output_tokens / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """An engine on its devices, as functions of a batch that runs; numbers or arrays.

    `decode_s(running, context_tokens)` is a step without prompts, `prefill_s(prompt_tokens)` a prompt alone, and
    `added_s(prompt_tokens, running)` what a prompt adds to steps that run anyway (at most `prefill_s`; None: as
    alone). `slots` is the most that memory or the engine lets run. `front_s` is what a call takes outside: the
    network, the tokenizer, the first launch. Of a prompt at most `budget_tokens` join one step (chunked).
    """

    decode_s: Callable[[Values, Values], Values]
    prefill_s: Callable[[Values], Values]
    added_s: Callable[[Values, Values], Values] | None = None
    policy: Policy
    slots: Values
    front_s: Values = 0.0
    budget_tokens: float | None = None

    def __post_init__(self) -> None:
        require_positive(self, "budget_tokens")
        if np.any(np.less(self.slots, 1)):
            raise ValueError(f"a server needs at least one slot, found {self.slots}")

    def interference_s(self, demand: Demand, running: Values) -> Values:
        """What one prompt takes from the steps of the others."""
        if self.policy == "disaggregated":
            return 0.0 * running
        return self.service_s(demand, running)

    def service_s(self, demand: Demand, running: Values) -> Values:
        """What one prompt takes at the station where prompts queue."""
        if self.policy == "chunked" and self.added_s is not None:
            return self.added_s(demand.prompt_tokens, running)
        return self.prefill_s(demand.prompt_tokens) + 0.0 * running

    def itl_s(self, demand: Demand, running: Values) -> Values:
        """The mean time between tokens of a call with so many running: a step, and its share of their prompts."""
        step_s = self.decode_s(running, demand.mean_context_tokens)
        return step_s + running / larger(demand.n_steps, 1.0) * self.interference_s(demand, running)

    def first_step_s(self, demand: Demand, running: Values) -> Values:
        """What a prompt's own steps take besides it: the others decode in them; it takes a step for each piece."""
        if self.policy == "disaggregated":
            return 0.0 * running
        step_s = self.decode_s(running, demand.mean_context_tokens)
        if self.policy == "whole" or self.budget_tokens is None:
            return step_s
        return np.ceil(demand.prompt_tokens / self.budget_tokens) * step_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What the calls of a loaded server see, all of them means.

    `running` decode, `in_prefill` wait for their prompt or have it worked on, `waiting` have no slot. `ttft_s`
    is from sending to the first token: `slot_wait_s`, then the queue and the prefill, and the front.
    """

    running: Values
    in_prefill: Values
    waiting: Values
    itl_s: Values
    ttft_s: Values
    slot_wait_s: Values
    calls_per_s: Values
    output_tokens: Values
    utilisation_fraction: Values

    @property
    def tokens_per_s(self) -> Values:
        """Tokens out, of all calls together."""
        return self.calls_per_s * self.output_tokens

    @property
    def call_s(self) -> Values:
        """Seconds of a call, from sending to the last token."""
        return self.ttft_s + (self.output_tokens - 1) * self.itl_s


def queue_s(service_s: Values, think_s: Values, users: Values) -> Values:
    """The mean time at one station, service included, of users who come back after `think_s`.

    R = S (1 + (N - 1) R / (R + Z)), solved: exact for one user (S) and where nobody thinks (N S).
    """
    excess = service_s * users - think_s
    return (excess + np.sqrt(excess**2 + 4 * think_s * service_s)) / 2


def capacity_calls_per_s(server: Server, demand: Demand) -> Values:
    """The most calls a second: every slot decodes, and prompts come one after the other."""
    running = server.slots
    steps_s = demand.n_steps * server.decode_s(running, demand.mean_context_tokens)
    all_slots_s = steps_s + running * server.interference_s(demand, running)
    by_slots = running / larger(all_slots_s, _SHORTEST_S)
    return smaller(by_slots, 1 / larger(server.service_s(demand, running), _SHORTEST_S))


def _settle(update: Callable[[Values], Values], start: Values) -> Values:
    """A fixed point, damped: the map rises with the batch, so that it settles from either side."""
    value = start
    for _ in range(_MOST_ITERATIONS):
        following = (value + update(value)) / 2
        if np.all(np.abs(following - value) <= _CLOSE_ENOUGH * np.abs(following)):
            return following
        value = following
    return value


def closed_loop(server: Server, demand: Demand, users: Values, *, burst_fraction: Values = 0.0) -> Served:
    """`users` who each send a call, wait for all of its answer, and send the next.

    Load generators with a fixed concurrency do that, and begin with all of them at once: `burst_fraction` of the
    calls arrived in such a burst, where a prompt waits for half of the others'. A generator that sends ten calls a
    user has at least a tenth of its calls there.
    """
    if np.any(np.less(users, 1)):
        raise ValueError(f"a closed loop has at least one user, found {users}")
    inside = smaller(users, server.slots)
    steps = demand.n_steps

    def stay_s(running: Values) -> tuple[Values, Values]:
        service_s = server.service_s(demand, running)
        decoding_s = steps * server.itl_s(demand, running)
        return queue_s(service_s, decoding_s, inside), decoding_s

    def update(running: Values) -> Values:
        prompt_s, decoding_s = stay_s(running)
        return inside * decoding_s / (prompt_s + decoding_s)

    running = _settle(update, 1.0 * inside)
    prompt_s, decoding_s = stay_s(running)
    calls_per_s = inside / (prompt_s + decoding_s)
    slot_wait_s = (users - inside) / calls_per_s
    burst_s = burst_fraction * (inside - 1) / 2 * server.service_s(demand, running)
    first_s = server.first_step_s(demand, running) * smaller(steps, 1.0)
    return Served(
        running=running,
        in_prefill=inside - running,
        waiting=users - inside,
        itl_s=server.itl_s(demand, running),
        ttft_s=server.front_s + slot_wait_s + prompt_s + burst_s + first_s,
        slot_wait_s=slot_wait_s,
        calls_per_s=calls_per_s,
        output_tokens=demand.output_tokens,
        utilisation_fraction=smaller(calls_per_s / capacity_calls_per_s(server, demand), 1.0),
    )


def open_arrivals(server: Server, demand: Demand, calls_per_s: float) -> Served:
    """Calls that come at random, at a mean rate, whoever is still waiting; numbers, not arrays.

    The running batch is what Little's law asks for; prompts queue as in M/D/1. At or above its capacity the server
    falls behind for ever: all slots run, and the time to the first token has no bound (infinity).
    """
    if not 0 < calls_per_s < np.inf:
        raise ValueError(f"a rate must be above 0 and finite, found {calls_per_s}")
    capacity = float(capacity_calls_per_s(server, demand))
    load = calls_per_s / capacity
    slots = float(server.slots)
    running, is_behind = slots, load >= _FULL
    if not is_behind:
        running = float(
            _settle(lambda batch: smaller(calls_per_s * demand.n_steps * server.itl_s(demand, batch), slots), 0.0)
        )
    service_s = float(server.service_s(demand, running))
    share = calls_per_s * service_s
    is_behind = is_behind or share >= _FULL
    queued_s = np.inf if is_behind else share * service_s / (2 * (1 - share))
    ttft_s = float(server.front_s) + service_s + queued_s + float(server.first_step_s(demand, running))
    done = min(calls_per_s, capacity)
    return Served(
        running=running,
        in_prefill=np.inf if is_behind else done * (service_s + queued_s),
        waiting=np.inf if is_behind else 0.0,
        itl_s=server.itl_s(demand, running),
        ttft_s=ttft_s,
        slot_wait_s=np.inf if is_behind else 0.0,
        calls_per_s=done,
        output_tokens=demand.output_tokens,
        utilisation_fraction=min(load, 1.0),
    )
