"""The bodies, streams and usage of the APIs that teto speaks; pure, and the only place that knows them."""
