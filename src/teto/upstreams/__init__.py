"""Upstreams are remote APIs, behind the `Upstream` port."""
