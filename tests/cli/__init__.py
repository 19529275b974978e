"""Tests of teto.cli."""
