"""The closed-task set: small tasks whose answers a program can check, and an engine's recorded answers to them."""
