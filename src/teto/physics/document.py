"""A long document on one machine: what its cache takes, how long reading it takes, and whether it fits."""

from dataclasses import dataclass

from teto.physics.deployment import Deployment
from teto.physics.memory import Fitting, fit_in_memory
from teto.physics.values import require_not_negative, require_positive
from teto.units import show_bytes

__all__ = ["DocumentReading", "read_document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReading:
    """A document and the answer about it: memory and seconds. `fits` takes the model's own limit in as well.

    `first_step_s` is a decode step before anything is in the context, `last_step_s` the one that ends the answer.
    """

    document_tokens: int
    answer_tokens: int
    memory: Fitting
    context_limit_tokens: int | None
    prefill_s: float
    first_step_s: float
    last_step_s: float
    answer_s: float
    fits: bool
    reasons: tuple[str, ...]

    @property
    def longest_document_tokens(self) -> int:
        """The longest document that leaves room for the answer."""
        return max(0, self.memory.max_context_tokens - self.answer_tokens)


def read_document(
    deployment: Deployment, *, document_tokens: int, answer_tokens: int, memory_bytes: float, other_bytes: float
) -> DocumentReading:
    """One document read whole, then answered, in the memory that the system and other programs leave.

    Raises:
        ValueError: a negative or absurd figure.
    """
    context_tokens = document_tokens + answer_tokens
    memory = fit_in_memory(
        deployment.shape,
        deployment.weights,
        memory_bytes=memory_bytes,
        other_bytes=other_bytes,
        context_tokens=context_tokens,
        batch=1,
        element_bytes=deployment.kv_element_bytes,
    )
    limit = deployment.shape.context_limit_tokens
    middle_s = float(deployment.decode_step_s(1.0, document_tokens + (answer_tokens + 1) / 2))
    found = DocumentReading(
        document_tokens=document_tokens,
        answer_tokens=answer_tokens,
        memory=memory,
        context_limit_tokens=limit,
        prefill_s=float(deployment.prefill_s(float(document_tokens))),
        first_step_s=float(deployment.decode_step_s(1.0, 1.0)),
        last_step_s=float(deployment.decode_step_s(1.0, float(context_tokens))),
        answer_s=answer_tokens * middle_s / deployment.tokens_per_step,
        fits=memory.fits and (limit is None or context_tokens <= limit),
        reasons=tuple(_reasons(memory, context_tokens, limit)),
    )
    require_positive(found, "document_tokens", "answer_tokens")
    require_not_negative(found, "answer_s", "prefill_s")
    return found


def _reasons(memory: Fitting, context_tokens: int, limit: int | None) -> list[str]:
    parts = (
        f"weights {show_bytes(memory.weight_bytes)} + KV {show_bytes(memory.kv_bytes)} + others "
        f"{show_bytes(memory.other_bytes)} of {show_bytes(memory.memory_bytes)}"
    )
    if memory.fits:
        found = [f"fits in memory, {show_bytes(memory.free_bytes)} left: {parts}"]
    else:
        found = [f"does not fit in memory by {show_bytes(-memory.free_bytes)}: {parts}"]
    if limit is not None and context_tokens > limit:
        found.append(f"{context_tokens:,} tokens are beyond the model's context of {limit:,}")
    if memory.max_context_tokens < context_tokens:
        found.append(f"the longest context that fits here is {memory.max_context_tokens:,} tokens")
    return found
