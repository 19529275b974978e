"""Engines run a model here, behind the `Engine` port; the weights store feeds them."""
