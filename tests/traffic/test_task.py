"""The taxonomy of tasks."""

from teto.traffic.task import CLOSED_TASKS, Task


def test_fifteen_tasks_and_unknown() -> None:
    """The taxonomy has fifteen tasks beside unknown."""
    assert len(set(Task) - {Task.UNKNOWN}) == 15


def test_closed_tasks_hold_their_answer() -> None:
    """The tasks that a small model may try are four, and unknown is none of them."""
    assert {"classify", "extract", "rewrite", "closed_qa"} == CLOSED_TASKS
