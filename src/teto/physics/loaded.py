"""An engine that several calls share: what each of them then sees, and how many it finishes.

`whole_prefill` is the simplest model of it: an engine that prefills one prompt at a time and lets every decode
step wait for it. A function of the same form can stand in its place wherever a `Behaviour` is taken.
Known error: arrivals are taken as independent, and a mean is not a tail. Engines that mix pieces of a prefill into
decode steps spread the same interference over more steps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from teto.physics.calls import CallTokens
from teto.physics.deployment import Deployment
from teto.physics.values import Values, larger, smaller

__all__ = ["Behaviour", "Loaded", "slot_wait_s", "whole_prefill"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A deployment that always has `batch` calls in flight: mean seconds, and calls finished a second.

    `ttft_s` is from the moment that a call has a slot to its first token; `tpot_s` is the time between later
    tokens; `step_s` is that time without interference. Arrays where the batch is one.
    """

    ttft_s: Values
    tpot_s: Values
    step_s: Values
    calls_per_s: Values

    def call_s(self, output_tokens: int) -> Values:
        """Seconds of a whole call."""
        return self.ttft_s + (output_tokens - 1) * self.tpot_s


Behaviour: TypeAlias = Callable[[Deployment, CallTokens, Values], Loaded]


def whole_prefill(deployment: Deployment, tokens: CallTokens, batch: Values) -> Loaded:
    """`batch` calls in flight; while one prompt is prefilled, nobody else's token is made.

    Over its life a call waits for the prefill of every other: (batch - 1) prefills spread over its own steps.
    Its prompt waits for the half of a step that is running, and behind other prompts as in an M/D/1 queue whose
    load is the prefills' share of the time, at most half of the others' prefills.
    """
    n_steps = tokens.output_tokens - 1
    prefill_s = float(deployment.prefill_s(float(tokens.prompt_tokens)))
    step_s = deployment.decode_step_s(batch, tokens.mean_context_tokens) / deployment.tokens_per_step
    others = batch - 1
    interference_s = others * prefill_s / n_steps if n_steps else 0.0 * others
    tpot_s = step_s + interference_s
    share = interference_s / tpot_s
    queue_s = smaller(share * prefill_s / (2 * larger(1 - share, 1e-12)), others * prefill_s / 2)
    running_s = step_s / 2 * smaller(others, 1.0) if n_steps else 0.0 * others
    return Loaded(
        ttft_s=prefill_s + queue_s + running_s,
        tpot_s=tpot_s,
        step_s=step_s,
        calls_per_s=batch / (batch * prefill_s + n_steps * step_s),
    )


def slot_wait_s(load_fraction: Values, slots: Values, call_s: Values) -> Values:
    """The mean wait for one of `slots` when they are in use for `load_fraction` of the time.

    Sakasegawa's approximation of an M/M/c queue (Ann. Inst. Stat. Math. 29, 1977), exact for one slot, within a few
    per cent for more; calls whose lengths vary less than an exponential wait less. A full load waits for ever.
    """
    free = larger(1 - load_fraction, 1e-12)
    exponent = np.sqrt(2 * (slots + 1)) - 1
    return call_s / slots * load_fraction**exponent / free
