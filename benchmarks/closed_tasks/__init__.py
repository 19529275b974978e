"""The project's own closed tasks: items with one right answer, and the check that knows it."""
