"""Trains and judges the model that tells what a request asks for."""
