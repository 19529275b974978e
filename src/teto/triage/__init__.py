"""The decision: may the local model try, how sure is its answer, keep or escalate; pure."""
