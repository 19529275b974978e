"""Calls as neutral facts: token vectors, tasks, and how they arrive; pure."""
