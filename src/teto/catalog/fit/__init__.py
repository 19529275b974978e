"""Fits the constants of the estimate to measurements of others, and judges them on what the fit had not seen.

Needs the `dev` extra (scipy). What ships are the constants, in `catalog/data/fits`.
"""
