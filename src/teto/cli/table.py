"""Plain aligned text: the first column to the left, figures to the right."""

from collections.abc import Iterator, Sequence

__all__ = ["bullets", "table"]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A line of headings and a line for each row."""
    lines = [tuple(headings), *(tuple(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    for first, *others in lines:
        cells = [f"{first:{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def bullets(reasons: Sequence[str]) -> Iterator[str]:
    """A line for each reason."""
    for reason in reasons:
        yield f"- {reason}"
