"""How fast predictions are: points per second on one core, and a plan over the whole catalog.

A point is one (shape, device, format, batch, context): its decode step is evaluated with a fit where one covers
it. Run: python benchmarks/grid.py
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from report import Report
from teto.catalog.devices import all_devices
from teto.catalog.fits import find_fit
from teto.catalog.models import find_model
from teto.catalog.resolve import device_from_entry
from teto.physics.deployment import Deployment
from teto.physics.precision import FORMATS, weigh

MODELS = ("llama-3-8b", "llama-3-70b", "qwen3-30b-a3b", "deepseek-v3", "gpt-oss-120b")
QUANTS = ("bf16", "q8_0", "q4_k_m", "fp8")
BATCHES = np.array([1.0, 2, 4, 8, 16, 32, 64, 128, 256, 512])
CONTEXTS = np.linspace(256.0, 32768.0, 20)


def plan_seconds() -> dict[str, Any]:
    """The seconds of `teto plan` as a person runs it, the middle of three."""
    command = [
        str(Path(sys.executable).with_name("teto")), "plan", "--model", "llama-3.1-8b", "--prompt-tokens", "800",
        "--output-tokens", "200", "--rate", "2", "--ttft-ms", "500", "--tpot-ms", "50",
    ]  # fmt: skip
    taken = []
    for _ in range(3):
        start_s = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        taken.append(time.perf_counter() - start_s)
    return {"median_s": round(sorted(taken)[1], 3), "runs": len(taken)}


def main() -> None:
    """Evaluate every catalog device on a grid, and print the rate."""
    devices = [(entry, device_from_entry(entry)) for entry in all_devices()]
    shapes = [find_model(name).shape for name in MODELS]
    batches, contexts = (grid.ravel() for grid in np.meshgrid(BATCHES, CONTEXTS))
    start_s = time.perf_counter()
    n_points, total_s = 0, 0.0
    for shape in shapes:
        for quant in QUANTS:
            weights, compute = weigh(shape, FORMATS[quant]), FORMATS[quant].compute
            for entry, device in devices:
                fit = find_fit(entry, is_moe=shape.is_moe)
                deployment = Deployment(shape=shape, weights=weights, compute=compute, device=device, fit=fit)
                steps_s = np.asarray(deployment.decode_step_s(batches, contexts))
                n_points += steps_s.size
                total_s += float(steps_s.sum())
    taken_s = time.perf_counter() - start_s
    report = Report("grid")
    report.add(
        "evaluation",
        {
            "points": n_points,
            "seconds": round(taken_s, 3),
            "points_per_s": round(n_points / taken_s),
            "shapes": len(shapes),
            "devices": len(devices),
            "formats": len(QUANTS),
            "batch_context_pairs": int(batches.size),
            "sum_of_steps_s": total_s,  # so that nothing is left out
        },
        bar=">= 300,000 points/s on one core",
        met=n_points / taken_s >= 300_000,
    )
    plan = plan_seconds()
    report.add("plan over the whole catalog, process start included", plan, bar="< 1 s", met=plan["median_s"] < 1)
    report.write()


if __name__ == "__main__":
    main()
