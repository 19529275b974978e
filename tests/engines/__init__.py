"""Tests of teto.engines."""
