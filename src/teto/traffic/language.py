"""The language that a call is written in, as far as decisions tell them apart."""

from enum import StrEnum

__all__ = ["Language"]


class Language(StrEnum):
    """The language of the instruction, not of the text it is about. `UNKNOWN`: too short or too mixed to say."""

    EN = "en"
    PT = "pt"
    OTHER = "other"
    UNKNOWN = "unknown"
