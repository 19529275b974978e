"""Benchmarks are scripts beside the package: their folder is put where Python looks for modules."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
