"""What would help a decode step, and what would not: each change alone, as a gain in speed."""

from dataclasses import dataclass, replace

from teto.physics.deployment import Deployment

__all__ = ["Lever", "levers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """A change and the gain in tokens per second that it brings: 0 where what it improves does not bind."""

    name: str
    gain_fraction: float


def levers(deployment: Deployment, *, batch: int, context_tokens: int) -> tuple[Lever, ...]:
    """The usual changes to hardware, format and batch, on the estimate or, without a fit, on the ceiling.

    The batch's gain is of all requests together; the others' of each request too.
    """
    lighter = replace(deployment, weights=deployment.weights.scaled(0.5))
    leaner = replace(deployment, kv_element_bytes=deployment.kv_element_bytes / 2)
    now_s = float(deployment.decode_step_s(batch, context_tokens))
    changed = {
        "twice the FLOPs": deployment.with_device(flops_factor=2),
        "twice the bandwidth": deployment.with_device(bandwidth_factor=2),
        "half the bytes of the weights": lighter,
        "half the bytes of KV": leaner,
    }
    if deployment.fit is not None:
        fit = replace(
            deployment.fit, layer_overhead_s=0.0, step_overhead_s=0.0, link_overhead_s=0.0, sequence_overhead_s=0.0
        )
        changed["no overhead of the engine"] = replace(deployment, fit=fit)
    found = [
        Lever(name=name, gain_fraction=now_s / float(other.decode_step_s(batch, context_tokens)) - 1)
        for name, other in changed.items()
    ]
    doubled_s = float(deployment.decode_step_s(2 * batch, context_tokens))
    found.append(Lever(name="twice the batch, all requests together", gain_fraction=2 * now_s / doubled_s - 1))
    return tuple(found)
