"""The nearest of known names, for errors."""

import difflib
from collections.abc import Iterable

__all__ = ["near"]


def near(name: str, known: Iterable[str]) -> str:
    """A sentence that names what was probably meant, or all that is known."""
    choices = sorted(known)
    close = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(close)}?" if close else f"Known: {', '.join(choices)}."
