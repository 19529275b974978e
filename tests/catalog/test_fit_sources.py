"""What becomes of a measured row: its work, its model's bytes, its whole answer, and which fit it speaks for."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from tests.physics.models import GPU, TINY, TINY_WEIGHTS
from teto.catalog.devices import find_device
from teto.catalog.fit.elsewhere import _on_its_card, elsewhere_tables
from teto.catalog.fit.families import BEFORE_TENSOR, NVIDIA, NVIDIA_GROUPS, TENSOR
from teto.catalog.fit.observe import observed, stack
from teto.catalog.fit.rows import Row
from teto.catalog.fit.single import SINGLE
from teto.catalog.fit.single_rows import identified, is_possible, mean_work, prompt, run, step_of_run
from teto.catalog.fits import all_fits
from teto.physics.estimate import Fit, Limits, step_time
from teto.physics.roofline import decode, decode_step, prefill

DATA: Final = Path(__file__).resolve().parents[3] / "shared" / "data"
PERFECT: Final = Fit(
    name="perfect",
    source="made up",
    n_rows=0,
    weights_fraction=1.0,
    cache_fraction=1.0,
    compute_fraction=1.0,
    layer_overhead_s=1e-6,
    band=(1.0, 1.0),
)
ROW: Final = Row(
    source="made up",
    device="RTX 4090",
    device_kind="gpu",
    n_devices=1,
    engine="llama.cpp",
    model="gpt-oss-20b",
    quant="MXFP4",
    weight_bytes=None,
    context_start_tokens=100.0,
    prompt_tokens=1000.0,
    output_tokens=200.0,
    batch=1.0,
    prefill_tokens_per_s=5000.0,
    decode_tokens_per_s=200.0,
    ttft_s=None,
    itl_s=None,
    power_w=None,
    j_per_token=None,
)


def test_a_run_is_the_mean_of_its_steps() -> None:
    """The mean step of ten, times ten, is the run; and the mean of two works is half their sum."""
    whole = decode(TINY, TINY_WEIGHTS, n_steps=10, start_context_tokens=5)
    step = step_of_run(TINY, TINY_WEIGHTS, n_steps=10, start_context_tokens=5)
    assert 10 * float(step.bytes) == pytest.approx(float(whole.bytes))
    assert 10 * float(step.flops) == pytest.approx(float(whole.flops))
    assert 2 * float(mean_work([whole, step]).bytes) == pytest.approx(float(whole.bytes) + float(step.bytes))


def test_a_row_gives_a_step_and_a_prompt() -> None:
    """200 tokens/s are 5 ms, in the middle of the run; 1,000 tokens at 5,000 a second are 200 ms in two passes."""
    (found,) = identified([ROW], Counter())
    step, whole = run(found), prompt(found)
    assert step is not None
    assert whole is not None
    assert (step.measured_s, step.context_tokens, step.device) == (0.005, 200.0, "rtx-4090")
    assert (whole.measured_s, whole.n_passes) == (0.2, 2)


def test_a_row_without_speeds_gives_nothing() -> None:
    """What the source does not state is not made up."""
    (found,) = identified([replace(ROW, prefill_tokens_per_s=None, decode_tokens_per_s=None)], Counter())
    assert (run(found), prompt(found)) == (None, None)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (replace(ROW, device="no such card"), "the device is not in the catalog"),
        (replace(ROW, model="no such model"), "the model is not in the catalog"),
        (replace(ROW, quant="Q1"), "the weight format has no name in teto"),
        (replace(ROW, device="RTX 3070", quant="F16"), "the weights do not fit the memory"),
    ],
)
def test_a_row_that_cannot_be_predicted_is_counted(row: Row, reason: str) -> None:
    """Each reason has its own count."""
    dropped: Counter[str] = Counter()
    assert list(identified([row], dropped)) == []
    assert dropped == {reason: 1}


def test_what_a_file_has_beside_mxfp4_experts_is_the_rest() -> None:
    """A file of 12.11 GB holds the same 4.25-bit experts, and all else in what is left: 8 bits, not 16."""
    (plain,) = identified([ROW], Counter())
    (filed,) = identified([replace(ROW, weight_bytes=12.11e9)], Counter())
    assert filed.weights.resident_bytes == 12.11e9
    assert filed.weights.experts == plain.weights.experts
    assert 0.45 < filed.weights.dense_bytes / plain.weights.dense_bytes < 0.6


def test_faster_than_the_memory_is_not_possible() -> None:
    """2,632 bytes at 3 TB/s take 0.877 ns; a step in less is another model's."""
    work = decode_step(TINY, TINY_WEIGHTS, context_tokens=1)
    seconds = float(work.bytes) / GPU.mem_bandwidth_bytes_per_s
    found = observed(device=GPU, shape=TINY, work=work, quant="bf16", measured_s=seconds * 1.01, context_tokens=1)
    assert is_possible(found)
    assert not is_possible(replace(found, measured_s=seconds * 0.99))


def test_a_whole_answer_is_its_prompt_and_its_steps() -> None:
    """The predicted time of an answer of 50 steps is that of the prompt and 50 times that of a step."""
    step = decode_step(TINY, TINY_WEIGHTS, context_tokens=40)
    ahead = prefill(TINY, TINY_WEIGHTS, n_tokens=30)
    answer = replace(
        observed(device=GPU, shape=TINY, work=step, quant="bf16", measured_s=1.0, context_tokens=40),
        n_steps=50,
        prompt_work=ahead,
        prompt_passes=1,
    )
    limits = Limits(mem_bandwidth_bytes_per_s=3e12, flops_per_s=900e12)
    expected = 50 * float(step_time(step, limits, PERFECT, n_layers=2).seconds)
    expected += float(step_time(ahead, limits, PERFECT, n_layers=2).seconds)
    assert stack([answer]).predicted_s(PERFECT) == pytest.approx([expected])


@pytest.mark.parametrize(
    ("computer", "card"),
    [
        ("Pi CM5 - 16GB (Nvidia RTX 4090)", "rtx-4090"),
        ("Ryzen 9 7950X (Nvidia 4070 Ti Super)", "rtx-4070-ti-super"),
        ("Ryzen 9 9950X (AMD 7900 XT)", "rx-7900-xt"),
        ("Pi 5 - 16GB (AMD Pro W7700)", "pro-w7700"),
        ("Pi 5 - 16GB", "raspberry-pi-5"),
    ],
)
def test_a_computer_with_a_card_is_the_card(computer: str, card: str) -> None:
    """The model runs on the card; without one, on the computer."""
    assert find_device(_on_its_card(replace(ROW, device=computer)).device).id == card


@pytest.mark.skipif(not DATA.is_dir(), reason="the measurements are not here")
def test_what_no_fit_saw_is_predicted_by_the_first_that_covers_it() -> None:
    """Every family of devices that the pages have is in the table, and what is left out is counted."""
    lines = list(elsewhere_tables(all_fits(), DATA))
    assert sum(line.startswith(("| graphics cards |", "| Apple |", "| CPUs |")) for line in lines) == 3
    assert lines[-1].startswith("Left out: the device is not in the catalog (")


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (NVIDIA, "rtx-4090", "rx-7900-xtx"),
        (TENSOR, "rtx-2060", "gtx-1080-ti"),
        (BEFORE_TENSOR, "gtx-1660", "t4"),
        (NVIDIA_GROUPS[0][1], "rtx-4070-ti-super", "rtx-4000-ada"),
        (NVIDIA_GROUPS[1][1], "rtx-a5000", "rtx-3060"),
    ],
)
def test_patterns_of_cards(pattern: str, yes: str, no: str) -> None:
    """Vendor, tensor units and product line are told by the catalog's ids."""
    assert re.search(pattern, yes)
    assert not re.search(pattern, no)


@pytest.mark.skipif(not DATA.is_dir(), reason="the measurements are not here")
@pytest.mark.parametrize("family", SINGLE, ids=lambda family: family.id)
def test_a_fit_covers_the_devices_that_it_is_from(family: object) -> None:
    """Whatever a fit has seen, it may be used for; and no row is faster than its memory by more than a twentieth."""
    loaded = family.load(DATA)  # type: ignore[attr-defined]
    entries = [entry for entry in all_fits() if entry.id.startswith(family.id)]  # type: ignore[attr-defined]
    for row in loaded.decode:
        device = find_device(row.device)
        covering = [
            entry
            for entry in entries
            if entry.covers(
                device,
                is_moe=row.is_moe,
                n_devices=1,
                engine=family.use.engine,  # type: ignore[attr-defined]
                quant=row.label.rpartition(" ")[2],
            )
        ]
        assert covering, row.device
        assert is_possible(replace(row, measured_s=1.05 * row.measured_s)), row
