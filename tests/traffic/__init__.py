"""Tests of teto.traffic."""
