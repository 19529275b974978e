"""Fitting: known constants are found again, groups leave whole, and the shipped fits hold their bounds."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from tests.physics.models import GPU, LLAMA_2_7B, LLAMA_2_7B_FP16
from teto.catalog.devices import all_devices, find_device
from teto.catalog.fit.__main__ import agrees
from teto.catalog.fit.holdout import Errors, held_out, noise_floor, speed_errors
from teto.catalog.fit.observe import Observation, observed
from teto.catalog.fit.solve import solve
from teto.catalog.fits import all_fits, decode_fits, encode_fits, find_fit
from teto.catalog.models import find_model
from teto.catalog.resolve import device_from_entry
from teto.errors import ConfigError
from teto.physics.deployment import Deployment
from teto.physics.estimate import Fit, Limits, step_time
from teto.physics.precision import FORMATS, weigh
from teto.physics.roofline import decode_step

DATA: Final = Path(__file__).resolve().parents[3] / "shared" / "data"
TRUTH: Final = Fit(
    name="truth",
    source="made up",
    n_rows=0,
    weights_fraction=0.7,
    cache_fraction=0.4,
    compute_fraction=None,
    layer_overhead_s=60e-6,
    band=(1.0, 1.0),
)
START: Final = replace(TRUTH, weights_fraction=0.9, cache_fraction=0.9, layer_overhead_s=0.0)
TERMS: Final = ("weights_fraction", "cache_fraction", "layer_overhead_s")


def made_up(*, noise: float = 0.0) -> list[Observation]:
    """What three devices would show if the truth were the truth."""
    random = np.random.default_rng(7)
    found = []
    for bandwidth in (3e11, 9e11, 3e12):
        device = replace(GPU, name=f"gpu-{bandwidth:g}", mem_bandwidth_bytes_per_s=bandwidth)
        for context in (10, 1000, 4000):
            work = decode_step(LLAMA_2_7B, LLAMA_2_7B_FP16, context_tokens=context)
            limits = Limits(mem_bandwidth_bytes_per_s=bandwidth, flops_per_s=None)
            seconds = float(step_time(work, limits, TRUTH, n_layers=32).seconds)
            found.append(
                observed(
                    device=device,
                    shape=LLAMA_2_7B,
                    work=work,
                    quant="f16",
                    measured_s=seconds * float(np.exp(noise * random.standard_normal())),
                    context_tokens=context,
                )
            )
    return found


def test_known_constants_are_found_again() -> None:
    """From exact data the solver returns the constants that made it."""
    found = solve(START, TERMS, made_up())
    assert found.weights_fraction == pytest.approx(0.7, rel=1e-3)
    assert found.cache_fraction == pytest.approx(0.4, rel=1e-3)
    assert found.layer_overhead_s == pytest.approx(60e-6, rel=1e-2)


def test_bounds_hold_whatever_the_data() -> None:
    """Times below the ceiling cannot push an efficiency above 1 or an overhead below 0."""
    fast = [replace(row, measured_s=row.measured_s / 10) for row in made_up()]
    found = solve(START, TERMS, fast)
    assert found.weights_fraction <= 1
    assert found.layer_overhead_s >= 0
    assert (speed_errors(found, fast) < 0).all()


def test_a_device_leaves_with_all_its_rows() -> None:
    """Each device is predicted by a fit that saw none of its rows."""
    seen: list[set[str]] = []

    def fit_to(rows: object) -> Fit:
        assert isinstance(rows, list)
        seen.append({row.device for row in rows})
        return solve(START, TERMS, rows)

    errors = held_out(made_up(noise=0.01), "device", fit_to)
    assert errors is not None
    assert (errors.n_rows, errors.n_groups) == (9, 3)
    assert [len(devices) for devices in seen] == [2, 2, 2]
    assert errors.median < 0.05


def test_one_group_cannot_be_held_out() -> None:
    """With one shape only there is no error of an unseen shape to state."""
    assert held_out(made_up(), "shape_key", lambda rows: solve(START, TERMS, rows)) is None


def test_the_floor_is_what_repeats_show() -> None:
    """Three repeats of 10, 10 and 20 ms: the medians of the others are 15, 15 and 10."""
    row = made_up()[0]
    repeats = [replace(row, measured_s=seconds) for seconds in (0.01, 0.01, 0.02)]
    floor = noise_floor(repeats)
    assert floor is not None
    assert sorted(floor.signed) == pytest.approx([-1 / 3, -1 / 3, 1.0])


def test_errors_are_of_speed() -> None:
    """A prediction of half the measured time is twice too fast, +100 %, and the band says so."""
    errors = Errors(signed=(1.0, 0.0, -0.5), n_groups=1)
    assert (errors.median, errors.bias) == (0.5, 0.0)
    assert errors.band == pytest.approx((0.6, 1.8))


@pytest.mark.parametrize("entry", all_fits(), ids=lambda entry: entry.id)
def test_shipped_fits_hold_their_bounds(entry: object) -> None:
    """Each loads as a `Fit`, which checks its fractions and overheads, and its band is around 1."""
    fit = entry.fit  # type: ignore[attr-defined]
    assert fit.band[0] <= fit.band[1]
    assert fit.n_rows > 0


def test_what_is_written_is_what_is_read() -> None:
    """The TOML of the shipped fits reads back as the same entries."""
    assert decode_fits(encode_fits(all_fits()).encode(), file="x") == all_fits()


def test_a_faulty_file_is_named() -> None:
    """An unknown key is an error with the file's name."""
    with pytest.raises(ConfigError, match=r"x\.toml is not a list of fits"):
        decode_fits(b"[[fit]]\nspeed = 3\n", file="x.toml")


@pytest.mark.parametrize(
    ("device", "engine", "name"),
    [
        ("rtx-4090", "llama.cpp", "llamacpp-gddr-ada-geforce"),
        ("rtx-3090", "llama.cpp", "llamacpp-gddr-ampere-geforce"),
        ("m1-max-32-core-gpu", None, "llamafile-apple-m1"),
        ("rx-7900-xtx", None, "llamafile-amd"),
        ("gtx-1080-ti", None, "llamafile-nvidia-before-tensor"),
        ("core-i7-1165g7", None, "llamafile-cpu-mobile"),
        ("ryzen-9-5950x", None, "llamafile-cpu-desktop"),
        ("epyc-9454p", None, "llamafile-cpu-server"),
        ("ryzen-ai-7-350-npu", None, "fastflowlm-npu"),
    ],
)
def test_which_fit_covers_what(device: str, engine: str | None, name: str) -> None:
    """The generation, the vendor and the engine choose the fit."""
    fit = find_fit(find_device(device), is_moe=False, engine=engine)
    assert fit is not None
    assert fit.name == name


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("rtx-3090", "llamacpp-moe-nvidia"),
        ("m3-pro-18-core-gpu", "llamacpp-moe-apple"),
        ("ryzen-ai-max-395-igpu", "llamacpp-apu-moe"),
    ],
)
def test_mixtures_of_experts_have_their_own(device: str, name: str) -> None:
    """Where experts were measured apart, their fit comes before that of dense models."""
    fit = find_fit(find_device(device), is_moe=True)
    assert fit is not None
    assert fit.name == name


def test_no_estimate_of_the_catalog_is_below_its_ceiling() -> None:
    """Every device that a fit covers, dense and with experts, in several formats, batches and contexts."""
    batches, contexts = (grid.ravel() for grid in np.meshgrid([1.0, 4, 32, 256], [1.0, 2000, 30_000]))
    n_checked = 0
    for name in ("llama-3-8b", "qwen3-30b-a3b", "deepseek-v3"):
        shape = find_model(name).shape
        for quant in ("bf16", "q4_k_m", "fp8"):
            weights, compute = weigh(shape, FORMATS[quant]), FORMATS[quant].compute
            for entry in all_devices():
                fit = find_fit(entry, is_moe=shape.is_moe)
                device = device_from_entry(entry)
                deployment = Deployment(shape=shape, weights=weights, compute=compute, device=device, fit=fit)
                ceiling_s = np.asarray(deployment.decode_ceiling_s(batches, contexts))
                assert (np.asarray(deployment.decode_step_s(batches, contexts)) >= ceiling_s * (1 - 1e-12)).all()
                bare = replace(deployment, fit=None)
                least_s = np.asarray(bare.prefill_s(contexts))
                assert (np.asarray(deployment.prefill_s(contexts)) >= least_s * (1 - 1e-12)).all()
                n_checked += 1
    assert n_checked > 1000


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("eta = 0.935, bias -0.1 %", "eta = 0.934, bias +0.1 %", True),
        ("t0 = 8.000e-05", "t0 = 8.100e-05", True),
        ("t0 = 8.000e-05", "t0 = 9.000e-05", False),
        ("median 6.1 %: **missed**", "median 6.0 %: met", False),
        ("p90 11.8 %", "p90 12.9 %", False),
    ],
)
def test_a_check_forgives_rounding_only(first: str, second: str, *, same: bool) -> None:
    """Other processors add in another order: numbers may move in their last place, words may not."""
    assert agrees(first, second) == same


@pytest.mark.timeout(400)
@pytest.mark.skipif(not DATA.is_dir(), reason="the measurements are not here")
def test_the_data_gives_the_shipped_fits() -> None:
    """Fitting again writes nothing new."""
    done = subprocess.run(
        [sys.executable, "-m", "teto.catalog.fit", str(DATA), "--check"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
