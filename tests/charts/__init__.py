"""Tests of teto.charts."""
