"""Levers, by hand: formats, batches, hardware, speculation, two kinds of call, a document, a longer answer."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.physics.models import BF16, GPU, LLAMA_2_7B, LLAMA_2_7B_FP16, TINY, TINY_WEIGHTS
from teto.physics.calls import CallTokens, compare_calls, time_call
from teto.physics.deployment import Deployment
from teto.physics.document import read_document
from teto.physics.estimate import Fit
from teto.physics.length import Promise, length_options, length_verdict
from teto.physics.loaded import slot_wait_s, whole_prefill
from teto.physics.speculation import check_s, speculate, tokens_per_pass
from teto.physics.whatif import batch_end, batch_options, format_options, hardware_options

SEVEN = Deployment(shape=LLAMA_2_7B, weights=LLAMA_2_7B_FP16, compute=BF16, device=replace(GPU, memory_bytes=80e9))
HALF = replace(
    SEVEN,
    weights=replace(
        LLAMA_2_7B_FP16,
        dense_bytes=6_476_005_376,
        head_bytes=131_072_000,
        embedding_row_bytes=4096,
        resident_bytes=6_738_149_376,
    ),
)
# 1,000 B/s and 1e6 FLOP/s: a step of TINY's 2,620 bytes of weights takes 2.62 s and its KV 0.032 s a position.
SLOW = Deployment(
    shape=TINY,
    weights=TINY_WEIGHTS,
    compute=BF16,
    device=replace(GPU, mem_bandwidth_bytes_per_s=1e3, flops_per_s={"bf16": 1e6}),
)


def test_formats_are_a_latency_lever() -> None:
    """Half the bytes of weights give nearly twice the speed; the KV, which does not shrink, is the rest."""
    full, half = format_options({"f16": SEVEN, "q8": HALF}, prompt_tokens=100, context_tokens=1000)
    # KV of a step: 1,001 positions of 524,288 bytes = 524,812,288.
    assert full.step_bytes == 13_214_162_944 + 524_812_288
    assert half.speed_ratio == pytest.approx((13_214_162_944 + 524_812_288) / (6_607_081_472 + 524_812_288))
    assert full.speed_ratio == 1
    assert full.free_bytes == 80e9 - 13_476_298_752 - 1000 * 524_288


def test_the_articles_batches() -> None:
    """10, 20 and 50 requests on one reading of the weights: the aggregate grows until KV has its share."""
    found = batch_options(SEVEN, batches=(1, 10, 20, 50), context_tokens=1000)
    for option in found:
        step_bytes = 13_214_154_752 + option.batch * (8192 + 524_812_288)
        assert option.step_s == pytest.approx(step_bytes / 3e12)
        assert option.tokens_per_s == pytest.approx(option.batch * 3e12 / step_bytes)
        assert option.bytes_per_token == pytest.approx(step_bytes / option.batch)
        assert option.bound == "memory"
    assert found[0].aggregate_ratio == 1
    assert [option.batch * found[0].step_s / option.step_s for option in found] == pytest.approx(
        [option.aggregate_ratio for option in found]
    )


def test_what_ends_a_batch() -> None:
    """126 caches of 1,000 tokens fit beside 7B in 80 GB; on short contexts compute binds instead."""
    # (80e9 - 13,476,298,752) / 524,288,000 = 126.8.
    assert batch_end(SEVEN, context_tokens=1000).memory_batch == 126
    # Without KV to read, B · 13.2e9 FLOPs at 900e12 pass 13.2e9 bytes at 3e12 at B = 300; KV moves it up a little.
    end = batch_end(SEVEN, context_tokens=1)
    assert end.compute_batch == 308
    assert batch_end(SEVEN, context_tokens=1000).compute_batch is None


@given(context=st.integers(1, 300))
def test_the_compute_batch_is_the_first(context: int) -> None:
    """At that batch compute takes longer than memory, and one below it does not."""
    end = batch_end(SEVEN, context_tokens=context)
    if end.compute_batch is None:
        return
    at = SEVEN.decode(batch=end.compute_batch, context_tokens=context)
    assert at.bound == "compute"
    assert SEVEN.decode(batch=end.compute_batch - 1, context_tokens=context).bound == "memory"


def test_unknown_limits_are_said() -> None:
    """Without a memory size or a rate no end is claimed, and the reasons say so."""
    bare = replace(SEVEN, device=replace(GPU, flops_per_s={}))
    end = batch_end(bare, context_tokens=1000)
    assert (end.memory_batch, end.compute_batch) == (None, None)
    assert [("unknown" in reason) for reason in end.reasons] == [True, True]


def test_twice_the_flops_moves_decode_by_nothing() -> None:
    """Decode follows bandwidth and nothing else; a long prefill follows FLOPs and nothing else."""
    _, flops, bandwidth, both = hardware_options(SEVEN, factor=2, batch=1, prompt_tokens=2000, context_tokens=1000)
    assert (flops.decode_gain_fraction, bandwidth.decode_gain_fraction) == pytest.approx((0, 1))
    assert (flops.prefill_gain_fraction, bandwidth.prefill_gain_fraction) == pytest.approx((1, 0))
    assert (both.decode_gain_fraction, both.prefill_gain_fraction) == pytest.approx((1, 1))


def test_overheads_eat_bandwidth() -> None:
    """With a fit, twice the bandwidth gives less than twice the speed: overheads stay."""
    fit = Fit(
        name="t",
        source="t",
        n_rows=1,
        weights_fraction=1,
        cache_fraction=1,
        compute_fraction=1,
        layer_overhead_s=13_738_975_232 / 3e12 / 32 / 10,
        band=(0.9, 1.1),
    )
    _, flops, bandwidth, _ = hardware_options(
        replace(SEVEN, fit=fit), factor=2, batch=1, prompt_tokens=100, context_tokens=1000
    )
    # A step of 1 and overhead of 0.1: 1.1 / 0.6.
    assert bandwidth.decode_gain_fraction == pytest.approx(1.1 / 0.6 - 1)
    assert flops.decode_gain_fraction == 0


@pytest.mark.parametrize(
    ("acceptance", "drafted", "tokens"), [(0.8, 4, 3.3616), (0, 4, 1), (1, 4, 5), (0.5, 1, 1.5), (0.7, 3, 2.533)]
)
def test_tokens_per_pass(acceptance: float, drafted: int, tokens: float) -> None:
    """(1 - a^(k+1)) / (1 - a): 0.8 and 4 give 3.3616."""
    assert tokens_per_pass(acceptance, drafted) == pytest.approx(tokens)


def test_a_check_reads_everything_once() -> None:
    """Five tokens at once read one set of weights and one cache: nearly the time of one token."""
    # TINY: 2,600 + 5 · 20 bytes of weights, 11 · 32 of KV: 3,052 bytes at 1,000 B/s.
    assert check_s(SLOW, draft_tokens=4, batch=1, context_tokens=10) == pytest.approx(3.052)


def test_speculation_by_hand() -> None:
    """4 proposals at 0.8 with a draft of a tenth of a step: 3.3616 tokens in the time of 1.42 steps."""
    found = speculate(SLOW, acceptance_fraction=0.8, draft_tokens=4, context_tokens=10, draft_step_fraction=0.1)
    plain_s = (2620 + 11 * 32) / 1e3
    assert found.plain_s == pytest.approx(plain_s)
    assert found.speed_ratio == pytest.approx(3.3616 * plain_s / (3.052 + 0.4 * plain_s))
    assert found.break_even_acceptance is not None
    again = speculate(
        SLOW,
        acceptance_fraction=found.break_even_acceptance,
        draft_tokens=4,
        context_tokens=10,
        draft_step_fraction=0.1,
    )
    assert again.speed_ratio == pytest.approx(1)


def test_a_draft_that_never_pays() -> None:
    """A draft as dear as the model cannot win, whatever is accepted."""
    found = speculate(SLOW, acceptance_fraction=1, draft_tokens=4, context_tokens=10, draft=SLOW)
    assert found.break_even_acceptance is None
    assert "never pays" in found.reasons[-1]


def test_a_large_batch_ends_speculation() -> None:
    """Where multiplying binds already, checking five tokens takes five times as long."""
    few = speculate(SEVEN, acceptance_fraction=0.8, draft_tokens=4, context_tokens=10, draft_step_fraction=0.1)
    many = speculate(
        SEVEN, acceptance_fraction=0.8, draft_tokens=4, batch=400, context_tokens=10, draft_step_fraction=0.1
    )
    assert few.speed_ratio > 2
    assert many.speed_ratio < 1


@pytest.mark.parametrize("bad", [{"acceptance_fraction": 1.5}, {"acceptance_fraction": -0.1}, {"draft_tokens": 0}])
def test_absurd_speculation_is_refused(bad: dict[str, float]) -> None:
    """An acceptance is a fraction, and a draft proposes something."""
    figures = {"acceptance_fraction": 0.5, "draft_tokens": 4, **bad}
    with pytest.raises(ValueError, match="found"):
        speculate(
            SLOW,
            acceptance_fraction=figures["acceptance_fraction"],
            draft_tokens=int(figures["draft_tokens"]),
            context_tokens=10,
            draft_step_fraction=0.1,
        )


def test_a_call_by_hand() -> None:
    """A prefill of 3 tokens and two decode steps: the first token comes with the prefill."""
    found = time_call(SLOW, CallTokens(prompt_tokens=3, output_tokens=3))
    # Prefill: 2,600 bytes of weights, 3 rows of 20, KV 3 read and 3 written: 2,852 bytes.
    assert found.prefill_s == pytest.approx(2.852)
    # Steps at contexts 4 and 5: 2,620 each, KV 5 and 6 positions.
    assert found.decode_s == pytest.approx((2 * 2620 + 11 * 32) / 1e3)


def test_classifying_against_writing() -> None:
    """800 in and 3 out is prefill, 200 in and 600 out is decode, and so many times longer."""
    found = compare_calls(
        SEVEN,
        CallTokens(prompt_tokens=800, output_tokens=3),
        CallTokens(prompt_tokens=200, output_tokens=600),
    )
    assert found.first.decode_fraction < 0.5
    assert found.second.decode_fraction > 0.98
    assert found.ratio == pytest.approx(found.second.total_s / found.first.total_s)
    assert found.ratio > 50
    assert "written costs" in found.reasons[0]


def test_a_call_beyond_the_context() -> None:
    """A call that the model's context cannot hold is refused with both figures."""
    with pytest.raises(ValueError, match="need a context of 5,000, and the model's limit is 4,096"):
        time_call(SEVEN, CallTokens(prompt_tokens=4000, output_tokens=1001))


def test_a_document_in_16_gb() -> None:
    """7B in 8 bits with 6 GB of others leaves 3.26 GB: 6,220 tokens of KV, but the model stops at 4,096."""
    found = read_document(HALF, document_tokens=3000, answer_tokens=500, memory_bytes=16e9, other_bytes=6e9)
    assert found.memory.kv_bytes == 3500 * 524_288
    assert found.fits
    assert found.longest_document_tokens == 4096 - 500
    tight = read_document(HALF, document_tokens=3000, answer_tokens=500, memory_bytes=8e9, other_bytes=1e9)
    # 8e9 - 1e9 - 6,738,149,376 = 261,850,624; KV needs 1,835,008,000.
    assert not tight.fits
    assert "does not fit in memory by 1.57 GB" in tight.reasons[0]
    assert tight.memory.max_context_tokens == 499


def test_interference_by_hand() -> None:
    """Three calls: each decode waits for the two other prefills, spread over its own steps."""
    tokens = CallTokens(prompt_tokens=3, output_tokens=3)
    one, three = (whole_prefill(SLOW, tokens, batch) for batch in (1.0, 3.0))
    alone = time_call(SLOW, tokens)
    assert (one.ttft_s, one.tpot_s) == pytest.approx((alone.prefill_s, alone.decode_s / 2))
    assert one.calls_per_s == pytest.approx(1 / alone.total_s)
    assert three.tpot_s == pytest.approx(float(three.step_s) + 2 * 2.852 / 2)
    assert three.calls_per_s == pytest.approx(3 / (3 * 2.852 + 2 * float(three.step_s)))


@given(batch=st.integers(1, 200), prompt=st.integers(1, 300), output=st.integers(1, 200))
def test_a_fuller_engine_is_slower_for_each_and_faster_for_all(batch: int, prompt: int, output: int) -> None:
    """Another call in flight never makes the others faster, and never lowers the calls finished."""
    tokens = CallTokens(prompt_tokens=prompt, output_tokens=output)
    less, more = (whole_prefill(SLOW, tokens, float(size)) for size in (batch, batch + 1))
    assert more.ttft_s >= less.ttft_s
    assert more.tpot_s >= less.tpot_s
    assert float(more.calls_per_s) >= float(less.calls_per_s) * (1 - 1e-9)


def test_one_slot_is_an_m_m_1_queue() -> None:
    """One slot in use for half of the time: a call waits as long as it lasts."""
    assert slot_wait_s(0.5, 1.0, 3.0) == pytest.approx(3.0)
    loads = np.array([0.1, 0.5, 0.9, 0.99])
    assert np.all(np.diff(np.asarray(slot_wait_s(loads, 8.0, 1.0))) > 0)


def promise(**figures: float) -> Promise:
    """At most 512 sequences, and what is given."""
    return Promise(most_sequences=512, tpot_s=figures.get("tpot_s"), total_s=figures.get("total_s"))


def test_a_bill_that_more_than_doubles() -> None:
    """With memory full, twice the answer means fewer calls at once: the bill grows more than the length."""
    one, two = length_options(
        SEVEN,
        CallTokens(prompt_tokens=200, output_tokens=1000),
        factors=(1, 2),
        promise=promise(),
        free_bytes=30e9,
    )
    # 30e9 / (1,199 · 524,288) = 47.7 and 30e9 / (2,199 · 524,288) = 26.02.
    assert (one.batch, one.constraint) == (47, "memory")
    assert (two.batch, two.constraint) == (26, "memory")
    assert one.cost_ratio == 1
    # Steps of 30.49 GB for 47 and of 29.59 GB for 26: 999 · 10.16 ms / 47 against 1,999 · 9.86 ms / 26, and one
    # prefill of 4.44 ms in each.
    assert two.cost_ratio == pytest.approx(3.459, abs=1e-3)
    verdict = length_verdict(one, two)
    assert verdict[0] == "the bill more than doubles: x3.46 for x2 the length"
    assert verdict[1].startswith("calls in flight go from 47 to 26 (memory): 27 caches of 1.15 GB are more than")


def test_a_bill_that_less_than_doubles() -> None:
    """With a long prompt and a short answer most of the bill is the prompt, which does not grow."""
    one, two = length_options(
        SEVEN,
        CallTokens(prompt_tokens=3000, output_tokens=10),
        factors=(1, 2),
        promise=promise(),
        free_bytes=60e9,
    )
    assert two.cost_ratio is not None
    assert two.cost_ratio < 1.5
    verdict = length_verdict(one, two)
    assert verdict[0].startswith("the bill less than doubles")
    assert "prompt is read once" in verdict[-1]


def test_a_promise_per_answer_is_the_harder_one() -> None:
    """The same seconds for twice the tokens halve the time of a step: the batch falls, or nothing keeps it."""
    tokens = CallTokens(prompt_tokens=100, output_tokens=500)
    one, two, four = length_options(SEVEN, tokens, factors=(1, 2, 4), promise=promise(total_s=7.0), free_bytes=60e9)
    assert one.constraint == "time per answer"
    assert 0 < two.batch < one.batch
    assert two.reason.endswith("more than 7 s")
    assert four.batch == 0
    assert four.cost_ratio is None
    assert "not even one call" in length_verdict(one, four)[0]


@given(tpot_ms=st.floats(5, 100), output=st.integers(2, 1500))
def test_the_batch_of_a_length_is_the_largest(tpot_ms: float, output: int) -> None:
    """The batch keeps the promise and memory, and one more would break what is named."""
    tokens = CallTokens(prompt_tokens=100, output_tokens=output)
    (found,) = length_options(SEVEN, tokens, factors=(1,), promise=promise(tpot_s=tpot_ms / 1e3), free_bytes=60e9)
    kv = tokens.context_tokens * 524_288
    assert found.batch * kv <= 60e9
    assert found.batch == 0 or float(whole_prefill(SEVEN, tokens, float(found.batch)).tpot_s) <= tpot_ms / 1e3
    more = whole_prefill(SEVEN, tokens, float(found.batch + 1))
    broken = {
        "memory": (found.batch + 1) * kv > 60e9,
        "time per token": float(more.tpot_s) > tpot_ms / 1e3,
        "batch limit": found.batch == 512,
    }
    assert broken[found.constraint]
