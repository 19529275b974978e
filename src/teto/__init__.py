"""teto: the physical ceiling of an LLM token, and a gateway that lives under it."""

__all__ = ["__version__"]

__version__ = "0.1.0"
