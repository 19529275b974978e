"""Tests of teto.wire."""
