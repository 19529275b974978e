"""A deadline of the client: may the local model still try, or must the request go up to be answered in time?"""

from teto.triage.admission import Reason

__all__ = ["why_up_by_deadline"]


def why_up_by_deadline(
    *, left_s: float, decision_s: float | None, local_finish_s: float | None, cloud_finish_s: float | None
) -> Reason | None:
    """Why the request goes up at once; None: the local model may try.

    All seconds are from now. It stays when its answer would come in time and, were it not kept, the cloud's still
    would; or when the cloud cannot make it and the local model can, or comes sooner.

    Args:
        left_s: until the deadline.
        decision_s: predicted time of the local decision; None where the engine's speed is unknown.
        local_finish_s: predicted end of the local answer.
        cloud_finish_s: predicted time that the cloud takes from when it is asked; None where it is unknown.
    """
    if decision_s is None or local_finish_s is None:
        return Reason(code="deadline", text=f"{left_s:.2f} s are left, and the engine's speed is unknown.")
    cloud = "unknown" if cloud_finish_s is None else f"{cloud_finish_s:.2f} s"
    figures = {"left_s": left_s, "decision_s": decision_s, "local_finish_s": local_finish_s}
    if cloud_finish_s is not None:
        figures["cloud_finish_s"] = cloud_finish_s
    told = (
        f"{left_s:.2f} s are left; predicted: the local decision after {decision_s:.2f} s, its answer after "
        f"{local_finish_s:.2f} s, the cloud's takes {cloud}."
    )
    up = Reason(code="deadline", text=told, figures=figures)
    if local_finish_s <= left_s:
        can_cloud = cloud_finish_s is not None and cloud_finish_s <= left_s
        too_late_to_ask = cloud_finish_s is not None and decision_s + cloud_finish_s > left_s
        return up if can_cloud and too_late_to_ask else None
    return up if cloud_finish_s is None or cloud_finish_s < local_finish_s else None
