"""Tests of teto.catalog."""
