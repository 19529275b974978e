"""Tests of teto."""
