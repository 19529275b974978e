"""Fits of servers: known constants are found again, rows are read for what they are, and what ships holds."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from teto.catalog.devices import find_device
from teto.catalog.fit.energy import Load, device_power_w, fit_power, predicted_load
from teto.catalog.fit.observe import shape_key
from teto.catalog.fit.server_rows import ServerRow, read_mlenergy, read_silicon
from teto.catalog.fit.servers import fit_servers, held_out_groups, stack_rows, time_errors
from teto.catalog.fit.ttft import fit_queue, predict_ttft
from teto.catalog.fits import all_fits
from teto.catalog.load_fits import PowerEntry, QueueEntry, encode_load, find_power_fit, queue_entry
from teto.catalog.models import find_model
from teto.catalog.resolve import device_from_entry
from teto.physics.estimate import Fit
from teto.physics.power import PowerFit, mean_power_w
from teto.physics.precision import FORMATS, weigh

HEADER: Final = (
    "source,device,device_kind,n_devices,mem_bw_gbs,engine,model,params_b,active_params_b,quant,weight_bytes,"
    "context_start,prompt_len,gen_len,batch,prefill_tps,decode_tps,decode_tps_per_user,ttft_ms,itl_ms,power_w,"
    "j_per_token,notes"
)
TRUTH: Final = Fit(
    name="truth", source="made up", n_rows=0, weights_fraction=0.8, cache_fraction=0.6, compute_fraction=0.5,
    layer_overhead_s=40e-6, sequence_overhead_s=15e-6, overlaps=False, band=(1.0, 1.0),
)  # fmt: skip
START: Final = replace(
    TRUTH, weights_fraction=1.0, cache_fraction=1.0, compute_fraction=1.0, layer_overhead_s=0.0, sequence_overhead_s=0.0
)
TERMS: Final = (
    "weights_fraction", "cache_fraction", "compute_fraction", "layer_overhead_s", "sequence_overhead_s",
)  # fmt: skip
POWER: Final = PowerFit(
    name="truth", source="made up", n_rows=0, idle_fraction=0.2, memory_fraction=0.4, compute_fraction=0.3, band=(1, 1)
)


def rows(*, is_running_known: bool = True) -> list[ServerRow]:
    """Two devices, three models, batches from 1 to 256, with no time measured yet."""
    found = []
    for device_name in ("h100-sxm", "b200"):
        device = device_from_entry(find_device(device_name))
        for model in ("llama-3.1-8b", "qwen3-32b", "llama-3.1-70b"):
            shape = find_model(model).shape
            for users in (1.0, 16.0, 64.0, 256.0):
                found += [
                    ServerRow(
                        device=device,
                        shape=shape,
                        shape_key=shape_key(shape),
                        weights=weigh(shape, FORMATS["bf16"]),
                        quant="bf16",
                        kind="dense",
                        engine="vllm" if users > 20 else "sglang",
                        n_devices=4,
                        flops_per_s=device.flops_per_s["bf16"],
                        prompt_tokens=prompt,
                        output_tokens=500.0,
                        users=users,
                        running=users if is_running_known else None,
                        slots=1000.0,
                        spreads_sequences=False,
                        spreads_experts=False,
                        itl_s=1.0,
                    )
                    for prompt in (200.0, 4000.0)
                ]
    return found


def measured(known: list[ServerRow], *, is_running_known: bool = True) -> list[ServerRow]:
    """The same with the times that the truth gives."""
    stack = stack_rows(known)
    times = stack.decode_s(TRUTH, stack.users) if is_running_known else stack.served(TRUTH).itl_s
    return [replace(row, itl_s=float(time)) for row, time in zip(known, np.asarray(times), strict=True)]


@pytest.mark.parametrize("is_running_known", [True, False])
def test_known_constants_are_found_again(*, is_running_known: bool) -> None:
    """From a step's times, and through the closed loop where only the users are known."""
    known = measured(rows(is_running_known=is_running_known), is_running_known=is_running_known)
    found = fit_servers(START, TERMS, known)
    for term in TERMS:
        assert getattr(found, term) == pytest.approx(getattr(TRUTH, term), rel=0.02), term
    assert np.max(np.abs(time_errors(found, known))) < 0.01


def test_groups_leave_whole() -> None:
    """No row of the device, or of the shape, that is predicted was seen; each row is predicted once."""
    known = measured(rows())

    def predict(seen: object, left_out: object) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        assert isinstance(seen, list)
        assert isinstance(left_out, list)
        assert not {row.device.name for row in seen} & {row.device.name for row in left_out}
        return np.zeros(len(left_out))

    errors = held_out_groups(known, "device", predict)
    assert (errors.n_rows, errors.n_groups) == (len(known), 2)
    by_shape = held_out_groups(known, "shape_key", lambda seen, out: np.full(len(out), float(len(seen))))
    assert (by_shape.n_groups, set(by_shape.signed)) == (3, {float(2 * len(known) / 3)})


def test_front_and_burst_are_found_again() -> None:
    """Two engines' fronts and the burst, from times to the first token that were made with them."""
    known = rows(is_running_known=False)
    base = predict_ttft(
        {"dense": TRUTH}, fit_queue({"dense": TRUTH}, [replace(row, ttft_s=1.0) for row in known]), known
    )
    assert np.all(base > 0)
    queue = replace(fit_queue({"dense": TRUTH}, [replace(row, ttft_s=1.0) for row in known]), burst_fraction=0.3)
    queue = replace(queue, front_s={"sglang": 0.2, "vllm": 0.05})
    times = predict_ttft({"dense": TRUTH}, queue, known)
    found = fit_queue(
        {"dense": TRUTH}, [replace(row, ttft_s=float(time)) for row, time in zip(known, times, strict=True)]
    )
    assert found.burst_fraction == pytest.approx(0.3, rel=0.01)
    assert found.front_s == pytest.approx({"sglang": 0.2, "vllm": 0.05}, rel=0.01)
    assert found.front_of("an engine that nobody measured") == pytest.approx(0.125, rel=0.01)


def test_a_power_curve_is_found_again() -> None:
    """Watts made with a curve give the curve; throughput is batch over the mean step, prompts included."""
    known = measured(rows())
    load: Load = predicted_load(TRUTH, known)
    watts = np.asarray(mean_power_w(POWER, load.rated_w, load.busy))
    found = fit_power(replace(POWER, idle_fraction=0.5), load, watts)
    assert found.idle_fraction == pytest.approx(0.2, rel=0.05)
    assert found.memory_fraction == pytest.approx(0.4, rel=0.05)
    step_s = np.array([row.itl_s for row in known])
    assert np.all(load.tokens_per_s <= np.array([row.users for row in known]) / step_s)
    assert device_power_w([replace(known[0], power_w=2000.0)])[0] == pytest.approx(500)


def write(folder: Path, name: str, *lines: str) -> None:
    """A data file with these rows."""
    (folder / "physics").mkdir(exist_ok=True)
    (folder / "physics" / name).write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")


def silicon(*, device: str = "h200_sxm", n: int = 8, model: str = "deepseek-ai/DeepSeek-V3", notes: str) -> str:
    """A row of the silicon sample at 64 users."""
    return f"x,{device},gpu,{n},4800,trtllm 1.0,{model},,,fp8,,,1024,1024,64,,,,500,30.0,,,mode=agg; {notes}"


def test_degrees_that_were_multiplied_are_undone(tmp_path: Path) -> None:
    """Eight devices whose experts are spread stand as 64; where the source states its own degrees they are kept."""
    write(
        tmp_path, "aic_silicon_server.csv",
        silicon(n=64, notes="tp=64; dp=1; moe_tp=8; ep=8; concurrency=64; silicon_concurrency=64"),
        silicon(n=8, notes="tp=1; dp=8; moe_tp=1; ep=8; concurrency=32; silicon_concurrency=32"),
        silicon(n=4, model="Qwen/Qwen3-235B-A22B-FP8", notes="tp=4; dp=; moe_tp=2; ep=2; concurrency=16"),
    )  # fmt: skip
    found = read_silicon(tmp_path, Counter())
    assert [row.n_devices for row in found] == [8, 8, 4]
    assert [row.spreads_sequences for row in found] == [False, True, False]
    # InferenceMAX draws lengths from 0.8 to 1 of those stated.
    assert [row.prompt_tokens for row in found] == pytest.approx([921.6, 921.6, 1024])


def test_rows_that_say_too_little_are_counted(tmp_path: Path) -> None:
    """Disaggregated, several tokens a step, not stated, impossible, repeated: each left out under its reason."""
    good = silicon(notes="tp=8; dp=1; moe_tp=8; ep=1; concurrency=64; silicon_concurrency=64")
    write(
        tmp_path, "aic_silicon_server.csv",
        good, good,
        good.replace("mode=agg", "mode=disagg"),
        good.replace("DeepSeek-V3", "DeepSeek-R1"),
        good.replace("concurrency=64; silicon_concurrency=64", "other=1"),
        silicon(n=1, notes="tp=1; dp=1; moe_tp=1; ep=1; concurrency=64"),
        good.replace("500,30.0", "900000,30.0"),
    )  # fmt: skip
    dropped: Counter[str] = Counter()
    assert len(read_silicon(tmp_path, dropped)) == 1
    assert sum(dropped.values()) == 6
    assert len(dropped) == 6


def test_mlenergy_rows_are_text_only(tmp_path: Path) -> None:
    """A chat row has its measured batch, power and energy; a row with videos is left out, with the reason."""
    line = (
        "x,H100,gpu,2,3350,vLLM,Qwen/Qwen3-32B,,,bfloat16,,,,630,64,,2600,,,22.5,970,0.37,"
        "tp=2; ep=1; dp=1; max_num_seqs=64; arch=Dense Transformer; task="
    )
    write(tmp_path, "mlenergy_v3.csv", line + "lm-arena-chat", line + "video-chat")
    dropped: Counter[str] = Counter()
    (row,) = read_mlenergy(tmp_path, dropped)
    assert (row.running, row.n_devices, row.kind, row.power_w, row.j_per_token) == (64, 2, "dense", 970, 0.37)
    assert row.itl_s == pytest.approx(0.0225)
    assert sum(dropped.values()) == 1


def test_what_ships_for_servers_is_complete() -> None:
    """Dense and MoE, from both sources; nothing hides behind anything; power and queue have sensible constants."""
    servers = {entry.id: entry for entry in all_fits() if not entry.overlaps}
    assert set(servers) == {"server-dense", "server-moe", "vllm-dense", "vllm-moe"}
    assert all(entry.several_devices and entry.n_rows > 100 for entry in servers.values())
    for is_moe in (False, True):
        power = find_power_fit(is_moe=is_moe)
        assert power is not None
        assert power.band[0] < 1 < power.band[1]
    assert 0 < queue_entry().burst_fraction < 1
    assert all(0 < seconds < 1 for seconds in queue_entry().front_s.values())


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """The TOML of power and queue holds their numbers."""
    import msgspec  # noqa: PLC0415 - only here

    power = PowerEntry(
        id="p", is_moe=True, source="s", n_rows=3, idle_fraction=0.001, memory_fraction=1.0, compute_fraction=1.1,
        band=(0.5, 2.0),
    )  # fmt: skip
    queue = QueueEntry(id="q", source="s", n_rows=4, front_s={"a": 0.05}, burst_fraction=0.2, band=(0.5, 2.0))
    text = encode_load((power,), queue)
    read = msgspec.toml.decode(text)
    assert msgspec.convert(read["power"][0], PowerEntry) == power
    assert msgspec.convert(read["queue"], QueueEntry) == queue
    (tmp_path / "loaded.toml").write_text(text, encoding="utf-8")
