"""What keeps a promise, what it costs, and why the rest does not."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.physics.models import BF16, GPU, LLAMA_2_7B, LLAMA_2_7B_FP16
from teto.physics.buying import (
    HOURS_PER_MONTH,
    Owning,
    Work,
    api_offer,
    break_even,
    own_offer,
    own_or_rent,
    rent_offer,
)
from teto.physics.calls import CallTokens
from teto.physics.deployment import Deployment
from teto.physics.estimate import Fit
from teto.physics.loaded import Loaded, slot_wait_s, whole_prefill
from teto.physics.pareto import front
from teto.physics.planning import Candidate, Option, Targets, plan
from teto.physics.values import Values

CALL = CallTokens(prompt_tokens=500, output_tokens=101)
BATCHES = (1, 2, 4, 8, 16, 32, 64)


def option(
    name: str = "gpu",
    *,
    bandwidth: float = 3e12,
    memory: float | None = 80e9,
    usd: float | None = 2.0,
    n_devices: int = 1,
    link: float | None = None,
) -> Option:
    """Llama-2-7B in 16 bits on devices like the articles' GPU."""
    device = replace(GPU, name=name, mem_bandwidth_bytes_per_s=bandwidth, memory_bytes=memory, link_bytes_per_s=link)
    deployment = Deployment(shape=LLAMA_2_7B, weights=LLAMA_2_7B_FP16, compute=BF16, device=device, n_devices=n_devices)
    return Option(deployment=deployment, format_name="f16", usd_per_device_h=usd)


def constant(deployment: Deployment, tokens: CallTokens, batch: Values) -> Loaded:
    """An engine that prefills in 0.1 s and makes a token every 10 ms, however full it is."""
    del deployment
    call_s = 0.1 + (tokens.output_tokens - 1) * 0.01
    return Loaded(ttft_s=0.1, tpot_s=0.01, step_s=0.01, calls_per_s=batch / call_s)


def watts(deployment: Deployment, tokens: CallTokens, batch: Values) -> Values | None:
    """100 W and 10 W for each call in flight."""
    del tokens
    return None if deployment.device.name == "unmetered" else 100 + 10 * batch


def test_one_full_group_by_hand() -> None:
    """Eight calls of 1.1 s at once are 7.27 calls a second: dollars, joules and seconds follow."""
    found = plan([option()], CALL, Targets(), batches=(8,), behave=constant, watts=watts)
    (one,) = found.admitted
    tokens_per_s = 8 / 1.1 * 101
    assert one.tokens_per_s == pytest.approx(tokens_per_s)
    assert one.usd_per_mtok == pytest.approx(2 / 3600 / tokens_per_s * 1e6)
    assert one.j_per_token == pytest.approx(180 / tokens_per_s)
    assert one.call_s == pytest.approx(1.1)
    # 80 GB less 13,476,298,752 less 8 caches of 600 · 524,288.
    assert one.free_bytes == pytest.approx(80e9 - 13_476_298_752 - 8 * 600 * 524_288)
    assert (one.n_groups, one.load_fraction) == (1, 1)


def test_a_rate_needs_groups() -> None:
    """20 calls a second at 7.27 for each group, at most nine tenths full, need 4 groups; each then has 69 %."""
    targets = Targets(calls_per_s=20, most_load_fraction=0.9)
    (one,) = plan([option()], CALL, targets, batches=(8,), behave=constant, watts=watts).admitted
    assert one.n_groups == 4
    assert one.load_fraction == pytest.approx(20 / 4 / (8 / 1.1))
    assert one.ttft_s == pytest.approx(0.1 + float(slot_wait_s(one.load_fraction, 8.0, 1.1)))
    # Each group has 5.5 calls in flight: 155 W.
    assert one.j_per_token == pytest.approx(4 * 155 / (20 * 101))
    assert one.usd_per_mtok == pytest.approx(4 * 2 / 3600 / (20 * 101) * 1e6)


def test_a_first_token_in_time_needs_more_groups() -> None:
    """A tighter first token lowers the load that the slots may have."""
    loose = plan([option()], CALL, Targets(calls_per_s=20), batches=(8,), behave=constant).admitted[0]
    tight = plan([option()], CALL, Targets(calls_per_s=20, ttft_s=0.105), batches=(8,), behave=constant).admitted[0]
    assert tight.n_groups > loose.n_groups
    assert tight.ttft_s <= 0.105


def test_every_reason_is_given() -> None:
    """What is too slow and does not fit says both, with the figures."""
    found = plan([option(memory=14e9)], CALL, Targets(ttft_s=0.05, tpot_s=0.005), batches=(8,), behave=constant)
    # 13,476,298,752 + 8 · 314,572,800 is 1.99 GB more than 14 GB.
    assert found.rejected[0].reasons == ("does not fit by 1.99 GB", "TTFT 100 ms > 50 ms", "TPOT 10 ms > 5 ms")


def test_out_at_every_batch() -> None:
    """Weights that do not fit, an unknown memory or an unknown link take an option out once, with the reason."""
    options = [
        option(memory=13e9),
        option("box", memory=None),
        option("pair", memory=8e9, n_devices=2),
        option("linked", memory=8e9, n_devices=2, link=1e11),
    ]
    found = plan(options, CALL, Targets(), batches=(1, 2))
    assert [rejection.reasons[0] for rejection in found.rejected] == [
        "does not fit by 791 MB",
        "the memory of box is unknown (sold in several sizes)",
        "the link between devices of pair is unknown, and they would share every step",
    ]
    assert {found.option.label for found in found.admitted} == {"2 x linked f16"}


@given(
    rate=st.floats(0.01, 500),
    ttft_ms=st.floats(5, 2000),
    tpot_ms=st.floats(2, 100),
    load=st.floats(0.2, 1),
)
def test_what_is_admitted_keeps_the_promise(rate: float, ttft_ms: float, tpot_ms: float, load: float) -> None:
    """Every candidate fits and keeps each target at the rate; every rejection breaks one."""
    targets = Targets(calls_per_s=rate, ttft_s=ttft_ms / 1e3, tpot_s=tpot_ms / 1e3, most_load_fraction=load)
    options = [option(), option("small", bandwidth=4e11, memory=24e9), option("tiny", memory=10e9)]
    found = plan(options, CALL, targets, batches=BATCHES)
    for one in found.admitted:
        assert one.free_bytes >= 0
        assert one.ttft_s <= ttft_ms / 1e3 * (1 + 1e-6)
        assert one.tpot_s <= tpot_ms / 1e3 * (1 + 1e-6)
        assert one.load_fraction <= load * (1 + 1e-6)
        assert one.n_groups * one.group_calls_per_s * one.load_fraction == pytest.approx(rate)
    assert all(rejection.reasons for rejection in found.rejected)
    assert len(found.admitted) + len(found.rejected) == 2 * len(BATCHES) + 1


def test_columns_are_as_single_rows() -> None:
    """Judging all batches together gives what each gives alone."""
    options = [option(), option("small", bandwidth=4e11, memory=24e9)]
    targets = Targets(calls_per_s=3, ttft_s=1.0)
    together = plan(options, CALL, targets, batches=BATCHES)
    alone = [
        found for one in options for size in BATCHES for found in plan([one], CALL, targets, batches=(size,)).admitted
    ]
    assert [(one.option.label, one.batch, one.n_groups) for one in together.admitted] == [
        (one.option.label, one.batch, one.n_groups) for one in alone
    ]


def dominates(one: Candidate, other: Candidate) -> bool:
    """All three figures known, none worse, one better."""
    ours = (one.usd_per_mtok, one.j_per_token, one.call_s)
    theirs = (other.usd_per_mtok, other.j_per_token, other.call_s)
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
    return len(pairs) == 3 and all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def test_the_front_beats_the_rest() -> None:
    """With all figures known, nothing on the front is dominated, and everything else is."""
    options = [option(), option("fast", bandwidth=8e12, usd=6), option("slow", bandwidth=1e12, usd=0.5)]
    found = plan(options, CALL, Targets(), batches=BATCHES, watts=watts)
    best = front(found.admitted)
    assert not any(dominates(other, one) for one in best for other in found.admitted)
    assert all(any(dominates(one, other) for one in best) for other in found.admitted if other not in best)
    assert [one.usd_per_mtok for one in best] == sorted(one.usd_per_mtok or 0 for one in best)


def test_an_unknown_price_is_no_price() -> None:
    """A device without a price is beaten by no priced one, and beats none; among its own, device time decides."""
    options = [option(usd=1.0), option("unpriced", usd=None, bandwidth=3e11)]
    found = plan(options, CALL, Targets(), batches=BATCHES, watts=watts)
    best = front(found.admitted)
    unpriced = [one for one in best if one.option.deployment.device.name == "unpriced"]
    assert unpriced
    assert all(one.usd_per_mtok is None for one in unpriced)
    assert [one.usd_per_mtok is None for one in best] == sorted(one.usd_per_mtok is None for one in best)
    for one, other in pairwise(unpriced):
        assert one.device_s_per_token < other.device_s_per_token


def test_no_candidate_no_front() -> None:
    """Where nothing keeps the promise the front is empty."""
    assert front(plan([option()], CALL, Targets(tpot_s=1e-9), batches=(1,)).admitted) == ()


def test_a_ceiling_drops_no_estimate() -> None:
    """A faster device without a fit does not drop a slower one with a fit; the other way round it does."""
    fit = Fit(
        name="t",
        source="t",
        n_rows=1,
        weights_fraction=0.5,
        cache_fraction=0.5,
        compute_fraction=0.5,
        band=(0.9, 1.1),
    )
    slow = option("slow", bandwidth=1e12)
    slow = replace(slow, deployment=replace(slow.deployment, fit=fit))
    for fast, left in ((1e13, {"slow", "fast"}), (4e11, {"slow"})):
        options = [slow, option("fast", bandwidth=fast)]
        best = front(plan(options, CALL, Targets(), batches=(8,), watts=watts).admitted)
        assert {one.option.deployment.device.name for one in best} == left


def test_unknown_joules_stay_unknown() -> None:
    """A device whose power is unknown has no joules, and its batches are compared by the rest."""
    found = plan([option("unmetered")], CALL, Targets(), batches=(1, 64), behave=constant, watts=watts)
    best = front(found.admitted)
    assert [(one.batch, one.j_per_token) for one in best] == [(64, None)]


@pytest.mark.parametrize(
    "bad",
    [
        {"calls_per_s": 0.0},
        {"ttft_s": -1.0},
        {"tpot_s": float("nan")},
        {"calls_per_s": float("inf")},
        {"most_load_fraction": 1.1},
    ],
)
def test_an_absurd_target_is_refused(bad: dict[str, float]) -> None:
    """Targets are above 0 and finite, and a load is at most 1."""
    with pytest.raises(ValueError, match="found"):
        replace(Targets(), **bad)


def test_a_call_beyond_the_context_is_refused() -> None:
    """The plan refuses a call that the model cannot hold, before any device is judged."""
    with pytest.raises(ValueError, match=r"the model's limit is 4,096"):
        plan([option()], CallTokens(prompt_tokens=4000, output_tokens=200), Targets(), batches=(1,))


def test_the_base_behaviour_is_used() -> None:
    """Without another function an engine that prefills whole prompts is assumed."""
    (one,) = plan([option()], CALL, Targets(), batches=(16,)).admitted
    expected = whole_prefill(one.option.deployment, CALL, 16.0)
    assert (one.ttft_s, one.tpot_s) == pytest.approx((expected.ttft_s, expected.tpot_s))


# A group does 10 calls a second at 500 W; 1 call a second is asked.
WORK = Work(calls_per_s=1, output_tokens=200, n_groups=1, usable_calls_per_s=10, group_watts=500)
OWN = Owning(price_usd=36_000, years=3, usd_per_kwh=0.36)


def test_owning_by_hand() -> None:
    """36,000 USD over 36 months is 1,000 a month; 50 J a call is 5e-6 USD."""
    found = own_offer(WORK, OWN)
    assert found.group_usd_per_month == pytest.approx(1000)
    assert found.usd_per_call == pytest.approx(500 / 10 / 3.6e6 * 0.36)
    assert found.usd_per_month == pytest.approx(1000 + HOURS_PER_MONTH * 3600 * 5e-6)


def test_renting_and_calling_by_hand() -> None:
    """Rent counts every hour, an API every call."""
    calls = HOURS_PER_MONTH * 3600
    assert rent_offer(WORK, usd_per_group_h=2).usd_per_month == pytest.approx(2 * HOURS_PER_MONTH)
    api = api_offer(WORK, name="api", usd_per_call=0.001, source="list")
    assert api.usd_per_month == pytest.approx(0.001 * calls)
    assert api.usd_per_mtok == pytest.approx(5)


def test_the_break_even_volume() -> None:
    """1,000 USD a month against a tenth of a cent a call: about a million calls, 3.8 % of a group."""
    own, api = own_offer(WORK, OWN), api_offer(WORK, name="api", usd_per_call=0.001, source="list")
    found = break_even(own, api, WORK)
    assert found.calls_per_month == pytest.approx(1000 / (0.001 - 5e-6))
    assert found.utilisation_fraction == pytest.approx(1000 / (0.001 - 5e-6) / (10 * HOURS_PER_MONTH * 3600))
    # At that volume both cost the same.
    assert found.calls_per_month is not None
    at = replace(WORK, calls_per_s=found.calls_per_month / HOURS_PER_MONTH / 3600)
    assert own_offer(at, OWN).usd_per_month == pytest.approx(
        api_offer(at, name="api", usd_per_call=0.001, source="list").usd_per_month
    )


@pytest.mark.parametrize(("usd_per_call", "words"), [(1e-6, "electricity alone"), (2e-5, "even a full group")])
def test_an_api_that_is_always_cheaper(usd_per_call: float, words: str) -> None:
    """Below the electricity, or below what a full group costs, there is no break-even."""
    api = api_offer(WORK, name="api", usd_per_call=usd_per_call, source="list")
    found = break_even(own_offer(WORK, OWN), api, WORK)
    assert found.calls_per_month is None
    assert words in found.reason


def test_own_or_rent() -> None:
    """1.37 USD an hour of owning against 3 of renting: from 11 hours of use a day; below 1.37 never."""
    own = own_offer(WORK, OWN)
    assert own_or_rent(own, rent_offer(WORK, usd_per_group_h=3)) == (
        "owning is cheaper than renting from 11.0 hours of use a day on"
    )
    assert "even around the clock" in own_or_rent(own, rent_offer(WORK, usd_per_group_h=1))
    assert "any number of hours" in own_or_rent(own, rent_offer(WORK, usd_per_group_h=0.01))


def test_owning_without_watts_says_so() -> None:
    """Unknown power is left out of the sum and named, never counted as nothing in silence."""
    found = own_offer(replace(WORK, group_watts=None), OWN)
    assert found.usd_per_call == 0
    assert any("power is unknown" in reason for reason in found.reasons)
