"""The diagram of one token shows the figures that it was given."""

from dataclasses import replace

import pytest

from tests.charts.figures import CEILING_S, TOKEN, spoken, texts
from teto.charts.token import Pass, token_svg
from teto.physics.deployment import Rung


def test_shows_prefill_decode_and_the_ceiling() -> None:
    """The prompt's pass, a bar for each token with GB and ms, and the division that gives 214 tok/s."""
    shown = texts(token_svg(TOKEN))
    assert "1,000 prompt tokens, one pass over the weights" in shown
    assert "14 TFLOP · 14 GB · 20 ms estimated · compute-bound" in shown
    assert [text for text in shown if text.startswith("token ")] == [*(f"token {n}" for n in range(1, 7)), "token 200"]
    assert shown.count("14 GB") == 7
    assert shown.count("5.67 ms") == 7
    assert {"3 TB/s memory bandwidth", "14 GB read per token", "= 214 tok/s"} <= set(shown)


def test_the_waterfall_goes_from_the_ceiling_to_the_estimate() -> None:
    """Each cause with its time, the ceiling after what it consists of, and no row for what takes no time."""
    shown = texts(token_svg(TOKEN))
    assert {"4.67 ms", "+500 µs", "4.67 ms = 214 tok/s", "5.67 ms = 176 tok/s"} <= set(shown)
    names = ["weights", "CEILING", "efficiency", "queue", "ESTIMATE"]
    assert [text for text in shown if text in {*names, "KV", "MEASURED"}] == names


def test_the_answer_is_drawn_to_scale() -> None:
    """200 tokens of 5.67 ms take 1.13 s after a prefill of 20 ms."""
    shown = texts(token_svg(TOKEN))
    assert {"prefill 20 ms", "decode 1.13 s for 200 tokens"} <= set(shown)


def test_without_an_estimate_times_are_least_times() -> None:
    """A ceiling alone is never shown as an estimate."""
    bare = replace(
        TOKEN,
        prefill=replace(TOKEN.prefill, estimate_s=None),
        decode=replace(TOKEN.decode, estimate_s=None),
        waterfall=TOKEN.waterfall[:2],
        band_s=None,
    )
    shown = texts(token_svg(bare))
    assert "14 TFLOP · 14 GB · 14 ms at least · compute-bound" in shown
    assert "CEILING" in shown
    assert not any("estimate" in text.lower() for text in shown)


def test_a_batch_shares_the_pass() -> None:
    """The ceiling is one request's; all together have it times the batch."""
    shown = texts(token_svg(replace(TOKEN, batch=16)))
    assert {"= 214 tok/s", "3,428 tok/s for all 16 together", "14 GB read per pass"} <= set(shown)
    assert "one pass serves 16 requests; each gets one token" in shown


def test_speculation_multiplies_the_ceiling() -> None:
    """Two tokens a pass double the ceiling, and the diagram says where that comes from."""
    shown = texts(token_svg(replace(TOKEN, tokens_per_pass=2.0)))
    assert {"= 428 tok/s", "× 2 tokens per pass"} <= set(shown)


def test_where_compute_binds_the_ceiling_divides_flops() -> None:
    """1,000 sequences at 14 GFLOP each: 14 ms of compute against 4.67 ms of memory, so 71 tok/s."""
    decode = Pass(weight_bytes=14e9, kv_bytes=0, flops=14e12, ceiling_s=0.014, bound="compute")
    waterfall = (Rung("weights", CEILING_S), Rung("compute beyond memory", 0.014 - CEILING_S))
    shown = texts(token_svg(replace(TOKEN, batch=1000, decode=decode, waterfall=waterfall, band_s=None)))
    assert {"1 PFLOP/s compute", "14 TFLOP per pass", "= 71 tok/s", "compute beyond memory"} <= set(shown)


def test_a_measurement_is_held_against_the_ceiling() -> None:
    """10 ms a token is 100 tok/s: 46.7 % of 214."""
    shown = texts(token_svg(replace(TOKEN, measured_s=0.01)))
    assert {"measured: 100 tok/s, 46.7 % of it", "MEASURED", "10 ms = 100 tok/s"} <= set(shown)


def test_few_tokens_are_all_drawn() -> None:
    """Up to seven tokens there is no ellipsis."""
    shown = texts(token_svg(replace(TOKEN, output_tokens=7)))
    assert [text for text in shown if text.startswith("token ")] == [f"token {n}" for n in range(1, 8)]
    assert "· · ·" not in shown
    assert "token 1" in texts(token_svg(replace(TOKEN, output_tokens=1, prompt_tokens=1)))


def test_only_active_weights_are_claimed_for_experts() -> None:
    """A mixture of experts does not read all its weights for a token."""
    shown = texts(token_svg(replace(TOKEN, is_moe=True)))
    assert "2. Decode: all the active weights are read again for every token" in shown


def test_an_unknown_cause_keeps_its_name() -> None:
    """A cause that the table of texts lacks is shown as it came."""
    assert "cosmic rays" in texts(token_svg(replace(TOKEN, waterfall=(*TOKEN.waterfall, Rung("cosmic rays", 1e-4)))))


def test_speaks_portuguese() -> None:
    """Words and decimal commas in Portuguese; the subject is the caller's and stays."""
    svg = token_svg(replace(TOKEN, subject="llama-3.1 em 3.35 TB/s"), "pt")
    shown = texts(svg)
    assert {
        "O preço de um token",
        "3. O teto",
        "TETO",
        "pesos",
        "fila",
        "1.000 tokens de prompt, uma passagem pelos pesos",
    } <= set(shown)
    assert "5,67 ms = 176 tok/s" in shown
    assert spoken(svg)[1].startswith("llama-3.1 em 3.35 TB/s. Prefill de 1.000 tokens")


def test_absurd_figures_are_refused() -> None:
    """No bandwidth, no tokens, no time: an error names the field."""
    with pytest.raises(ValueError, match="mem_bandwidth_bytes_per_s"):
        replace(TOKEN, mem_bandwidth_bytes_per_s=0)
    with pytest.raises(ValueError, match="prompt_tokens"):
        replace(TOKEN, prompt_tokens=0)
    with pytest.raises(ValueError, match="ceiling_s"):
        replace(TOKEN.decode, ceiling_s=float("inf"))
