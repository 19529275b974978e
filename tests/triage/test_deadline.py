"""Whether a client's deadline lets the local model try."""

import pytest

from teto.triage.deadline import why_up_by_deadline


@pytest.mark.parametrize(
    ("left", "decision", "finish", "cloud", "goes_up"),
    [
        (5.0, 1.0, 2.0, 3.0, False),  # in time, and the cloud could still follow: 1 + 3 <= 5
        (3.5, 1.0, 2.0, 3.0, True),  # in time, but an escalation would be late: 1 + 3 > 3.5
        (2.5, 1.0, 2.0, 3.0, False),  # the cloud cannot make it, the local model can
        (5.0, 1.0, 2.0, None, False),  # nothing is known of the cloud, the local model is in time
        (1.5, 1.0, 2.0, 1.0, True),  # the local model is late, the cloud is not
        (1.5, 1.0, 2.0, None, True),  # the local model is late, nothing is known of the cloud
        (1.5, 1.0, 2.0, 4.0, False),  # both are late, the local model less so
        (9.0, None, None, 1.0, True),  # the engine's speed is unknown
    ],
)
def test_eight_cases_by_hand(
    left: float, decision: float | None, finish: float | None, cloud: float | None, *, goes_up: bool
) -> None:
    """Predicted finish times are compared, the local one against the cloud's."""
    why = why_up_by_deadline(left_s=left, decision_s=decision, local_finish_s=finish, cloud_finish_s=cloud)
    assert (why is not None) is goes_up
    if why is not None:
        assert why.code == "deadline"
