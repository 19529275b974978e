"""One contract suite per port, run against the fake and every real implementation."""
