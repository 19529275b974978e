"""The taxonomy: fifteen tasks, and unknown."""

from enum import StrEnum

__all__ = ["CLOSED_TASKS", "Task"]


class Task(StrEnum):
    """What a call asks for. `UNKNOWN` is a class of its own and never means simple."""

    CLASSIFY = "classify"
    EXTRACT = "extract"
    SUMMARISE = "summarise"
    REWRITE = "rewrite"
    TRANSLATE = "translate"
    CLOSED_QA = "closed_qa"
    OPEN_QA = "open_qa"
    CODE = "code"
    MATH = "math"
    REASON = "reason"
    GENERATE = "generate"
    BRAINSTORM = "brainstorm"
    CHAT = "chat"
    AGENT = "agent"
    EMBED_OR_MEDIA = "embed_or_media"
    UNKNOWN = "unknown"


# The tasks whose answer is contained in the request: what a small model may try.
CLOSED_TASKS = frozenset({Task.CLASSIFY, Task.EXTRACT, Task.REWRITE, Task.CLOSED_QA})
