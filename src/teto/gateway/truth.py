"""Whether the local answer of a randomly drawn call agrees with the cloud's."""

import hashlib

from teto.gateway.served import ServedCall
from teto.receipt import Truth
from teto.triage.agreement import TESTABLE_TASKS, agree
from teto.triage.empty_input import closed_labels

__all__ = ["is_drawn", "truth_of"]


def is_drawn(call_id: str, share: float) -> bool:
    """Whether a call is among a random share: by a digest of its id, so by nothing that it asks or answers."""
    return int(hashlib.sha256(f"shadow {call_id}".encode()).hexdigest()[:16], 16) < share * 16**16


def truth_of(call: ServedCall, *, inclusion_fraction: float) -> Truth:
    """The truth by agreement; unknown where an answer is not whole, or a program cannot compare such answers."""
    right: bool | None = None
    if call.local_text is not None and call.cloud_text is not None and call.task in TESTABLE_TASKS:
        right = agree(
            call.task,
            call.local_text,
            call.cloud_text,
            schema=call.request.json_schema,
            labels=closed_labels(call.request, call.task),
        )
    return Truth(source="cloud", right=right, inclusion_fraction=inclusion_fraction)
