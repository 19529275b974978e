"""The life of a request from its arrival to its receipt."""
