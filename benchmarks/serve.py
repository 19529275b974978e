"""The speed of serving: start, tuning against an independent sweep, bandwidth, the gateway's own cost.

    python benchmarks/serve.py [WEIGHTS_ID]

Everything runs on the default model unless another is named. Ratios are of figures from this one run.
"""

import asyncio
import itertools
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, replace
from typing import Any

import aiohttp

from report import Report
from teto.cli import wiring
from teto.cli.server import bind, run_in_background
from teto.config import Settings
from teto.engines.llama import LlamaEngine
from teto.engines.llama_process import LlamaSetup, WaitPolicy, child_environment
from teto.engines.tune import Measured, Tuning, Variant, measure_variant, usable_cores
from teto.physics.device import Device
from teto.physics.roofline import ceiling, decode

_WAIT_POLICIES: tuple[WaitPolicy, ...] = ("active", "passive")
_OVERHEAD_CALLS = 60
_SWEEP_ROUNDS = 3  # medians over rounds, so that a slow minute of a shared machine hits every setting


def help_seconds() -> list[float]:
    """Wall time of `teto --help`, five times."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "teto", "--help"], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return times


async def ready_seconds(settings: Settings) -> float:
    """From the command line to the first 200 of /health, weights and tuning already there."""
    with bind("127.0.0.1", 0, has_keys=False) as listener:
        port = listener.getsockname()[1]
    start = time.perf_counter()
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "teto", "serve", "--port", str(port), "--weights", settings.engine.weights,
        stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with aiohttp.ClientSession() as session:
            while time.perf_counter() - start < 60:
                try:
                    async with session.get(f"http://127.0.0.1:{port}/health") as answer:
                        if answer.status == 200:
                            return time.perf_counter() - start
                except aiohttp.ClientError:
                    await asyncio.sleep(0.02)
    finally:
        server.terminate()
        await server.wait()
    raise RuntimeError("the server was not ready within 60 s")


async def sweep(setup: LlamaSetup, tuned: Variant, *, may_repack: bool) -> dict[str, Any]:
    """Every setting in turn, several rounds, so that a slow minute hits all of them; and how the tuned one ranks."""
    cores = usable_cores()
    threads = sorted({1, max(1, cores // 2), cores})
    layouts = [False, True] if may_repack else [False]
    variants = [
        Variant(decode_threads=d, prefill_threads=p, wait_policy=policy, repack=repack)
        for d, p, policy, repack in itertools.product(threads, threads, _WAIT_POLICIES, layouts)
        if p >= d
    ]
    runs: dict[Variant, list[Measured]] = {variant: [] for variant in (*variants, tuned)}
    for _ in range(_SWEEP_ROUNDS):
        for variant, found in runs.items():
            measured, _version = await measure_variant(setup, variant, child_environment())
            found.append(measured)
    figures = {variant: _medians(found) for variant, found in runs.items()}
    best = max(figures, key=lambda v: figures[v]["decode_tok_per_s"])
    quickest = min(figures, key=lambda v: figures[v]["call_s"])
    return {
        "settings": {str(variant): found for variant, found in figures.items()},
        "tuned": str(tuned),
        "best_decode": str(best),
        "best_decode_over_tuned": figures[best]["decode_tok_per_s"] / figures[tuned]["decode_tok_per_s"],
        "best_call": str(quickest),
        "tuned_call_over_best": figures[tuned]["call_s"] / figures[quickest]["call_s"],
    }


def _medians(found: list[Measured]) -> dict[str, float]:
    prefill = statistics.median(one.prefill_tokens_per_s for one in found)
    decoded = statistics.median(one.decode_tokens_per_s for one in found)
    return {
        "ttft_s": 32 / prefill,
        "prefill_tok_per_s": prefill,
        "decode_tok_per_s": decoded,
        "call_s": 64 / prefill + 32 / decoded,
    }


async def overhead(settings: Settings) -> dict[str, Any]:
    """The same short call through the gateway and at the same engine's own chat route, alternating."""
    body = {"messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 1, "temperature": 0}
    direct, through = [], []
    with bind("127.0.0.1", 0, has_keys=False) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/chat/completions"
        async with (
            wiring.open_gateway(settings, print) as app,
            run_in_background(app, listener),
            aiohttp.ClientSession() as session,
        ):
            engine = app.parts.engine
            assert isinstance(engine, LlamaEngine) and engine.process is not None  # noqa: PT018
            for index in range(_OVERHEAD_CALLS):
                start = time.perf_counter()
                asked = {**body, "logprobs": True, "top_logprobs": 5, "id_slot": 0}
                await engine.process.post_json("/v1/chat/completions", asked)
                middle = time.perf_counter()
                async with session.post(url, json={**body, "model": "teto/local"}) as answer:
                    await answer.read()
                if index >= 5:  # the first ones fill caches
                    direct.append(middle - start)
                    through.append(time.perf_counter() - middle)
    differences = [b - a for a, b in zip(direct, through, strict=True)]
    return {
        "direct_p50_ms": 1e3 * statistics.median(direct),
        "gateway_p50_ms": 1e3 * statistics.median(through),
        "added_p50_ms": 1e3 * statistics.median(differences),
        "calls": len(differences),
    }


def bandwidth(device: Device, tuning: Tuning, settings: Settings) -> dict[str, Any]:
    """Decode as a fraction of what the measured read bandwidth allows."""
    from teto.catalog.gguf import read_gguf  # noqa: PLC0415 - beside its only use

    located = wiring.open_store(settings).locate(settings.engine.weights)
    model = read_gguf(located.path)
    assert model.shape is not None and model.weights is not None  # noqa: PT018
    rate = device.rate(("fp32",))
    least = ceiling(
        decode(model.shape, model.weights, n_steps=1, start_context_tokens=64),
        mem_bandwidth_bytes_per_s=device.mem_bandwidth_bytes_per_s,
        flops_per_s=None if rate is None else rate.flops_per_s,
    )
    return {
        "read_bandwidth_gb_per_s": device.mem_bandwidth_bytes_per_s / 1e9,
        "decode_bytes": model.weights.decode_bytes,
        "ceiling_tok_per_s": 1 / least.seconds,
        "decode_tok_per_s": tuning.measured.decode_tokens_per_s,
        "fraction_of_ceiling": tuning.measured.decode_tokens_per_s * least.seconds,
    }


async def run(report: Report, settings: Settings) -> None:
    """All sections, in an order that measures the machine before the engine warms it."""
    device = wiring.probe_here(again=True, progress=print)
    tuning = await wiring.tune_here(settings, again=True, progress=print)
    tried = [[str(variant), asdict(measured)] for variant, measured in tuning.tried]
    report.add("tune", {"chosen": str(tuning.variant), "seconds": tuning.seconds, "tried": tried},
               bar="under 15 s", met=tuning.seconds < 15)  # fmt: skip
    report.add("read_bandwidth", bandwidth(device, tuning, settings))
    ready = [await ready_seconds(settings) for _ in range(3)]
    report.add("time_to_ready_s", {"median": statistics.median(ready), "runs": ready})
    located = wiring.open_store(settings).locate(settings.engine.weights)
    setup = replace(wiring.llama_setup(settings, located.path), **asdict(tuning.variant))
    cost = await overhead(settings)
    report.add("gateway_overhead", cost, bar="<= 2 ms p50 added", met=cost["added_p50_ms"] <= 2)
    with bind("127.0.0.1", 0, has_keys=False) as listener:
        async with wiring.open_gateway(settings, print) as app, run_in_background(app, listener):
            found = await sweep(setup, tuning.variant, may_repack=wiring.may_repack(located.path))
    report.add("sweep", found, bar="no setting more than 5 % better than the tuned one",
               met=found["best_decode_over_tuned"] <= 1.05)  # fmt: skip


def main() -> None:
    """Run and write the report."""
    weights = sys.argv[1] if len(sys.argv) > 1 else Settings().engine.weights
    settings = Settings(engine=replace(Settings().engine, weights=weights))
    report = Report("serve" if len(sys.argv) == 1 else f"serve-{weights}")
    helps = help_seconds()
    report.add("teto_help_s", {"median": statistics.median(helps), "runs": helps}, bar="< 300 ms",
               met=statistics.median(helps) < 0.3)  # fmt: skip
    asyncio.run(run(report, settings))
    report.write()


if __name__ == "__main__":
    main()
