"""The HTTP upstream against a scripted server."""
