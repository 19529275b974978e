"""Tests of teto.physics."""
