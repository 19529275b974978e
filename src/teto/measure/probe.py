"""Measures this machine: how fast it reads memory and multiplies matrices."""

import threading
import time
from pathlib import Path

import numpy as np
import psutil

from teto.physics.device import Device
from teto.units import MIB

__all__ = ["cpu_pressure_fraction", "probe_device"]

_WORKING_SET_BYTES = 512 * MIB  # beyond any last-level cache that one virtual machine owns
_GEMM_SIZE = 1536
_REPEATS = 4


def _read_bandwidth_bytes_per_s(n_threads: int) -> float:
    """The best of a few threaded matrix-vector products: each reads its rows once, as a decode step does."""
    columns = 4096
    matrix = np.ones((_WORKING_SET_BYTES // 4 // columns, columns), np.float32)
    vector = np.ones(columns, np.float32)
    parts = np.array_split(matrix, n_threads)
    best_s = float("inf")
    for _ in range(_REPEATS):
        threads = [threading.Thread(target=np.dot, args=(part, vector)) for part in parts]
        start_ns = time.perf_counter_ns()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        best_s = min(best_s, (time.perf_counter_ns() - start_ns) / 1e9)
    return matrix.nbytes / best_s


def _gemm_flops_per_s() -> float:
    """The best of a few square matrix products in 32-bit floats, on as many threads as BLAS takes."""
    matrix = np.ones((_GEMM_SIZE, _GEMM_SIZE), np.float32)
    best_s = float("inf")
    for _ in range(_REPEATS):
        start_ns = time.perf_counter_ns()
        np.dot(matrix, matrix)
        best_s = min(best_s, (time.perf_counter_ns() - start_ns) / 1e9)
    return float(2 * _GEMM_SIZE**3 / best_s)


def probe_device(*, cores: int) -> Device:
    """Measure this machine in about a second, on one core and on `cores` of them.

    Known error: on a machine that others use the figures are lower than an idle machine's; both are the best of
    a few repeats, so that they stay nearer a ceiling than a mean. The multiply rate is of 32-bit floats in BLAS;
    an engine that computes in 8-bit integers may pass it.
    """
    bandwidth = max(_read_bandwidth_bytes_per_s(n) for n in {1, cores})
    return Device(
        name="here",
        mem_bandwidth_bytes_per_s=bandwidth,
        flops_per_s={"fp32": _gemm_flops_per_s()},
        family="cpu",
        memory_bytes=psutil.virtual_memory().total,
        kind="measured",
        source=f"threaded matrix-vector reads of {_WORKING_SET_BYTES // MIB} MiB; float32 matrix product",
    )


def cpu_pressure_fraction(pressure_file: Path = Path("/proc/pressure/cpu")) -> float | None:
    """The share of the last ten seconds in which something waited for a core; None where the kernel tells not."""
    try:
        first = pressure_file.read_text().split("\n", 1)[0]
    except OSError:
        return None
    return float(first.split("avg10=")[1].split()[0]) / 100
