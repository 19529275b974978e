"""A prompt goes into the engine's cache a batch at a time, so that a client who leaves stops it at the next one.

llama.cpp looks for a closed connection only after a second in which no slot had a result: beside another slot's
stream it never does, and a prefill that nobody waits for runs to its end.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from teto.engines.slots import Slot
from teto.wire.generation import RunTimings

__all__ = ["Prefilled", "prefill_in_batches"]


@dataclass(frozen=True, slots=True)
class Prefilled:
    """What the engine computed before the last batch, which the answer's own request computes."""

    tokens: int
    seconds: float

    def timings(self, last: dict[str, Any], prompt_tokens: int) -> RunTimings:
        """The timings of the whole run, from those that llama.cpp gives for its last request."""
        prefilled = self.tokens + int(last["prompt_n"])
        output = int(last["predicted_n"])
        return RunTimings(
            prefilled_tokens=prefilled,
            cached_tokens=prompt_tokens - prefilled,
            output_tokens=output,
            decode_steps=max(0, output - 1),
            prefill_s=self.seconds + last["prompt_ms"] / 1e3,
            decode_s=last["predicted_ms"] / 1e3,
            source="llama.cpp timings",
        )


async def prefill_in_batches(
    complete: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]],
    tokens: list[int],
    slot: Slot,
    *,
    batch_tokens: int,
) -> Prefilled:
    """Prefill all but the last `batch_tokens` or fewer; `complete` posts a completion and returns its answer.

    The slot's `cached` follows, so that a request that comes back finds what its first try computed.
    """
    computed, seconds = 0, 0.0
    while len(tokens) - len(slot.cached) > batch_tokens:
        batch_end = len(slot.cached) + batch_tokens
        body = {"prompt": tokens[:batch_end], "id_slot": slot.index, "n_predict": 0, "cache_prompt": True}
        timings = (await complete(body))["timings"]
        computed += int(timings["prompt_n"])
        seconds += timings["prompt_ms"] / 1e3
        slot.cached = tokens[:batch_end]
    return Prefilled(computed, seconds)
