"""The closed-task set, and engines recorded on it."""
