"""`teto ceiling` as a person types it."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Home

_LLAMA = ("ceiling", "llama-3-8b", "--on", "rtx-4090", "--quant", "q4_k_m", "--context", "4096")


def answer(home: Home, *arguments: str) -> Any:
    """The JSON of a command that works."""
    done = home.run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("weight_bytes", "bandwidth", "tokens_per_s", "printed"),
    [("14e9", "3e12", 214.2857, "214"), ("7GB", "3TB/s", 428.5714, "428"), ("2e9", "100e9", 50.0, "50")],
)
def test_the_articles_figures(home: Home, weight_bytes: str, bandwidth: str, tokens_per_s: float, printed: str) -> None:
    """Plain numbers give the articles' ceilings: whole in JSON, rounded down for people."""
    plain = ("ceiling", "--weight-bytes", weight_bytes, "--bandwidth", bandwidth)
    assert answer(home, *plain)["decode"]["ceiling_tokens_per_s"] == tokens_per_s
    assert f"{printed} tok/s" in home.run(*plain).stdout


def test_a_batch_shares_one_reading(home: Home) -> None:
    """10, 20 and 50 requests on one reading of 14 GB: 2,142, 4,285 and 10,714 tok/s in all."""
    plain = ("ceiling", "--weight-bytes", "14e9", "--bandwidth", "3e12", "--batch")
    found = [answer(home, *plain, str(n))["decode"]["ceiling_aggregate_tokens_per_s"] for n in (1, 10, 20, 50)]
    assert found == [214.2857, 2142.8571, 4285.7143, 10714.2857]


def test_a_measurement_above_the_ceiling_is_impossible(home: Home) -> None:
    """260 tok/s over a ceiling of 214 needs 1.21 tokens a step, and the answer says so."""
    done = home.run("ceiling", "--weight-bytes", "14e9", "--bandwidth", "3e12", "--measured", "260")
    assert "121 % of the ceiling" in done.stdout
    assert "impossible with one token a step" in done.stdout
    assert "at least 1.21 tokens" in done.stdout


def test_both_phases_with_their_limits(home: Home) -> None:
    """Prefill is compute-bound and decode memory-bound; each has its bytes, FLOPs, ceiling and estimate."""
    found = answer(home, *_LLAMA)
    assert found["prefill"]["bound"] == "compute"
    assert found["decode"]["bound"] == "memory"
    # KV: (4,096 read + 1 written) · 131,072.
    assert found["decode"]["kv_bytes"] == 4097 * 131_072
    assert found["device"]["ridge_flops_per_byte"] == pytest.approx(163.9, abs=0.1)
    assert found["decode"]["estimate_s"] > found["decode"]["ceiling_s"]
    assert sum(rung["seconds"] for rung in found["decode"]["waterfall"]) == pytest.approx(found["decode"]["estimate_s"])
    gains = {lever["name"]: lever["gain_fraction"] for lever in found["levers"]}
    assert gains["twice the FLOPs"] == 0
    assert gains["twice the bandwidth"] > 0.4


def test_memory_that_is_really_free(home: Home) -> None:
    """What the system and a browser use is not there for the cache; what does not fit is said by how much."""
    found = answer(home, *_LLAMA, "--memory", "16GB", "--other-memory", "9GB")
    weights = found["model"]["resident_bytes"]
    assert found["memory"]["max_context_tokens"] == min(8192, int((7e9 - weights) // 131_072))
    done = home.run(*_LLAMA, "--memory", "4GB")
    assert "does not fit by 1.4" in done.stdout


def test_load_adds_prompts_and_queue(home: Home) -> None:
    """Users at once: the step that runs, what their prompts add to it, and the wait, each a rung of its own."""
    found = answer(
        home, "ceiling", "llama-3.1-8b", "--on", "h100-sxm", "--quant", "fp8", "--prompt", "1000",
        "--concurrency", "32", "--output-tokens", "200",
    )  # fmt: skip
    load = found["load"]
    assert found["context_tokens"] == 1100
    assert 1 < load["running"] <= 32
    assert found["decode"]["batch"] == round(load["running"])
    assert [rung["cause"] for rung in load["waterfall"]] == ["prefill interference", "queue, a token"]
    assert load["itl_s"] > found["decode"]["ceiling_s"]
    # Little's law: users are the calls a second times the seconds of a call.
    call_s = load["ttft_s"] + 199 * load["itl_s"]
    assert load["tokens_per_s"] / 200 * call_s == pytest.approx(32, rel=0.1)
    alone = home.run("ceiling", "llama-3.1-8b", "--on", "h100-sxm", "--concurrency", "32")
    assert "belong together" in alone.stderr


def test_without_a_multiply_rate_prefill_is_unknown(home: Home) -> None:
    """Memory alone would make a CPU's prefill a thousand times too fast: nothing is derived from it."""
    found = answer(home, "ceiling", "llama-3.1-8b", "--on", "ryzen-7-5700x", "--quant", "q4_k_m")
    assert found["prefill"]["bound"] == "unknown"
    assert found["prefill"]["joules_per_token_at_most"] is None
    assert found["decode"]["bound"] == "memory"
    refused = home.run("whatif", "llama-3.1-8b", "document", "--on", "ryzen-7-5700x", "--memory", "64GB")
    assert "The multiply rate of ryzen-7-5700x is unknown" in refused.stderr


def test_the_experts_of_the_others_are_a_rung(home: Home) -> None:
    """A batch of a mixture reads more experts than one token's: that is not inefficiency."""
    found = answer(home, "ceiling", "qwen3-30b-a3b", "--on", "h100-sxm", "--batch", "8")
    rungs = {rung["cause"]: rung["seconds"] for rung in found["decode"]["waterfall"]}
    # 48 layers of 128 experts, 8 active, 4,718,592 parameters of 2 bytes each: 51.63 more in each layer, over 3.35e12.
    more = 128 * (1 - (1 - 8 / 128) ** 8) - 8
    assert rungs["experts of the others"] == pytest.approx(48 * more * 4_718_592 * 2 / 3.35e12, rel=1e-3)


def test_what_is_outside_the_fit_has_no_band(home: Home) -> None:
    """A fit that saw one request at a time says nothing of how wrong it is for sixteen."""
    found = answer(home, *_LLAMA, "--batch", "16")
    assert found["decode"]["estimate_band_s"] is None
    assert "batch 16 is outside 1 to 1" in " ".join(found["notes"])
    assert answer(home, *_LLAMA)["decode"]["estimate_band_s"] is not None


def test_a_gguf_or_a_config_will_do(home: Home) -> None:
    """A config.json is a model as well."""
    config = {
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
        "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256, "torch_dtype": "bfloat16",
        "max_position_embeddings": 8192, "tie_word_embeddings": False,
    }  # fmt: skip
    (home.work / "config.json").write_text(json.dumps(config))
    found = answer(home, "ceiling", "config.json", "--bandwidth", "3e12")
    assert found["model"]["total_params"] == 8_030_261_248
    assert found["model"]["format"] == "bf16"
    assert found["decode"]["estimate_s"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ceiling",), "Give a model, or --weight-bytes"),
        (("ceiling", "llama-3-8b"), "A device is needed"),
        (("ceiling", "llama-3-8b", "--on", "here"), "Run `teto probe`"),
        (("ceiling", "llama-3-8c", "--on", "rtx-4090"), "llama-3-8b"),
        (("ceiling", "llama-3-8b", "--on", "rtx-4091"), "rtx-4090"),
        (("ceiling", "llama-3-8b", "--on", "rtx-4090", "--quant", "q4_k_n"), "q4_k_m"),
        (("ceiling", "llama-3-8b", "--on", "rtx-4090", "--context", "9000"), "beyond the 8,192 tokens"),
        (("ceiling", "llama-3-8b", "--on", "rtx-4090", "--context", "0"), "--context"),
        (("ceiling", "--weight-bytes", "-3", "--bandwidth", "1e12"), "above 0 such as"),
        (("ceiling", "--weight-bytes", "nan", "--bandwidth", "1e12"), "above 0 such as"),
        (("ceiling", "--weight-bytes", "14e9", "--bandwidth", "3TB/m"), "above 0 such as"),
        (("ceiling", "llama-3-8b", "--on", "rtx-4090", "--engine", "vlm"), "No fit is of an engine"),
        (("ceiling", "--weight-bytes", "1,5GB", "--bandwidth", "3TB/s"), "a point before decimals"),
        (("ceiling", "--weight-bytes", "14GB", "--bandwidth", "450W"), "above 0 such as"),
        (("ceiling", "--weight-bytes", "14GFLOP", "--bandwidth", "3e12"), "above 0 such as"),
        (("ceiling", "--weight-bytes", "14e9", "--bandwidth", "3Tb/s"), "above 0 such as"),
        (("ceiling", "--weight-bytes", "1e-300", "--bandwidth", "1e300"), "above 0 such as"),
        (("ceiling", "--weight-bytes", "14e9", "--bandwidth", "3e12", "--picture", "x.svg"), "says nothing to plain"),
        (("ceiling", "llama-3-8b", "--on", "rtx-4090", "--tokens-per-step", "nan"), "--tokens-per-step"),
        (("ceiling", "llama-3-8b", "--on", "rtx-4090", "--batch", "1000000000000"), "--batch"),
        (("ceiling", "missing.gguf", "--on", "rtx-4090"), "missing.gguf"),
    ],
)
def test_what_cannot_be_answered_says_what_to_do(home: Home, arguments: tuple[str, ...], words: str) -> None:
    """Unknown names come with the nearest, absurd numbers with what was expected; nothing is guessed."""
    done = home.run(*arguments)
    assert done.returncode == 2 or "missing.gguf" in arguments
    assert words in done.stderr
    assert done.stdout == ""


def test_devices_give_the_source_of_each_figure(home: Home) -> None:
    """The list is short, and one device shows where each of its figures was read."""
    assert "h100-sxm" in home.run("devices").stdout
    shown = home.run("devices", "show", "h100-sxm").stdout
    assert "295.2 FLOP/B" in shown
    assert "vendor, 2023-03: NVIDIA H100 datasheet" in shown
    assert "rent_usd_per_h" in shown
