"""Tests of teto.triage."""
