"""A loaded server: exact where a hand can work it out, and what must hold whatever the constants."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teto.physics.serving import (
    Demand,
    Policy,
    Served,
    Server,
    capacity_calls_per_s,
    closed_loop,
    open_arrivals,
    queue_s,
)
from teto.physics.values import Values

CALL = Demand(prompt_tokens=1000, output_tokens=101)
POLICIES: tuple[Policy, ...] = ("whole", "chunked", "disaggregated")


def server(policy: Policy = "whole", *, slots: Values = 1000.0, front_s: float = 0.0) -> Server:
    """A step of 10 ms and 0.1 ms a sequence; 100 ms for a prompt alone, 60 ms where it joins a step."""
    return Server(
        decode_s=lambda running, _context: 0.010 + 0.0001 * running,
        prefill_s=lambda tokens: 1e-4 * tokens,
        added_s=lambda tokens, running: 0.6e-4 * tokens + 0.0 * running,
        policy=policy,
        slots=slots,
        front_s=front_s,
    )


def test_one_user_waits_for_nobody() -> None:
    """One user of a disaggregated server: 100 ms, then 100 steps of 10.1 ms, and 1 / 1.11 calls a second."""
    served = closed_loop(server("disaggregated"), CALL, 1)
    assert served.ttft_s == pytest.approx(0.1)
    assert served.itl_s == pytest.approx(0.010 + 0.0001 * served.running)
    assert served.call_s == pytest.approx(0.1 + 100 * float(served.itl_s))
    assert served.calls_per_s == pytest.approx(1 / float(served.call_s))


@pytest.mark.parametrize(("users", "expected"), [(1, 0.5), (3, 1.5), (40, 20.0)])
def test_nobody_thinks(users: int, expected: float) -> None:
    """With no time between visits everybody queues always: N users, each served in S, wait N S."""
    assert queue_s(0.5, 0.0, users) == pytest.approx(expected)


@pytest.mark.parametrize("think_s", [0.0, 1.0, 7.0])
def test_one_user_never_queues(think_s: float) -> None:
    """One user finds the station free, however long it stays away."""
    assert queue_s(0.5, think_s, 1) == pytest.approx(0.5)


def test_a_worked_queue() -> None:
    """Two users, S = 1, Z = 1: R² + R (1 - 2) - 1 = 0, so R = (1 + √5) / 2."""
    assert queue_s(1.0, 1.0, 2) == pytest.approx((1 + math.sqrt(5)) / 2)


def test_only_prompts() -> None:
    """Calls of one token out are a queue of prompts: N users wait N prefills, and 10 calls a second are done."""
    served = closed_loop(server("whole"), Demand(prompt_tokens=1000, output_tokens=1), 8)
    assert served.ttft_s == pytest.approx(0.8)
    assert served.calls_per_s == pytest.approx(10)
    assert served.running == pytest.approx(0)
    assert served.utilisation_fraction == pytest.approx(1)


def test_a_whole_prefill_stops_the_others() -> None:
    """With B running and n steps a call, a step is longer by B / n prefills: 20 / 100 · 100 ms here."""
    assert server("whole").itl_s(CALL, 20) == pytest.approx(0.010 + 0.002 + 0.020)
    assert server("chunked").itl_s(CALL, 20) == pytest.approx(0.010 + 0.002 + 0.012)
    assert server("disaggregated").itl_s(CALL, 20) == pytest.approx(0.010 + 0.002)


def test_a_prompt_in_pieces_takes_a_step_for_each() -> None:
    """1,000 tokens with a budget of 256 join four steps."""
    pieces = replace(server("chunked"), budget_tokens=256.0)
    assert pieces.first_step_s(CALL, 10) == pytest.approx(4 * 0.011)


def test_who_has_no_slot_waits() -> None:
    """12 users on 4 slots: 8 wait, and Little's law gives how long."""
    served = closed_loop(server("disaggregated", slots=4), CALL, 12)
    assert served.waiting == 8
    assert served.slot_wait_s == pytest.approx(8 / float(served.calls_per_s))
    assert served.ttft_s > closed_loop(server("disaggregated", slots=4), CALL, 4).ttft_s


def test_the_front_and_the_burst_are_in_the_first_token_only() -> None:
    """50 ms of front; a tenth of the calls behind half of nine others' 100 ms: 45 ms. Decoding is as before."""
    plain = closed_loop(server("whole"), CALL, 10)
    burst = closed_loop(server("whole", front_s=0.05), CALL, 10, burst_fraction=0.1)
    assert float(burst.ttft_s) - float(plain.ttft_s) == pytest.approx(0.05 + 0.1 * 4.5 * 0.1)
    assert burst.itl_s == plain.itl_s


@given(users=st.integers(1, 2000), slots=st.integers(1, 500), policy=st.sampled_from(POLICIES))
def test_what_always_holds(users: int, slots: int, policy: Policy) -> None:
    """Everybody is somewhere (Little's law in each place), and no server does more than its capacity."""
    one = server(policy, slots=slots)
    served = closed_loop(one, CALL, users)
    everybody = float(served.running) + float(served.in_prefill) + float(served.waiting)
    assert everybody == pytest.approx(users)
    assert served.running == pytest.approx(float(served.calls_per_s) * 100 * float(served.itl_s), rel=1e-6)
    assert served.calls_per_s <= float(capacity_calls_per_s(one, CALL)) * (1 + 1e-9)
    assert 0 < float(served.utilisation_fraction) <= 1


@pytest.mark.parametrize("policy", POLICIES)
def test_more_users_never_wait_less(policy: Policy) -> None:
    """Time between tokens, time to the first and throughput all rise with the users; arrays are as numbers."""
    users = np.array([1.0, 2, 5, 20, 100, 400])
    served = closed_loop(server(policy, slots=np.full(6, 150.0)), CALL, users)
    for values in (served.itl_s, served.ttft_s, served.calls_per_s, served.running):
        assert np.all(np.diff(np.asarray(values)) >= -1e-9)
    alone = closed_loop(server(policy, slots=150.0), CALL, 20)
    assert np.asarray(served.itl_s)[3] == pytest.approx(alone.itl_s)


@given(running=st.floats(1, 500))
def test_prompts_elsewhere_never_slow_the_tokens(running: float) -> None:
    """At the same batch a disaggregated step is the shortest and one with whole prefills the longest."""
    shortest, middle, longest = (
        server(policy).itl_s(CALL, running) for policy in ("disaggregated", "chunked", "whole")
    )
    assert shortest <= middle <= longest


def test_open_arrivals_follow_littles_law() -> None:
    """Two calls a second on a disaggregated server: B = 2 · 100 · (0.010 + 0.0001 B), so B = 2 / 0.98."""
    served = open_arrivals(server("disaggregated"), CALL, 2.0)
    assert served.running == pytest.approx(2 / 0.98)
    # Prompts are a queue of their own, a fifth loaded: 0.2 · 0.1 / (2 · 0.8) seconds of waiting.
    assert served.ttft_s == pytest.approx(0.1 + 0.2 * 0.1 / 1.6)
    assert served.tokens_per_s == pytest.approx(202)


def test_more_arrivals_than_capacity_fall_behind_for_ever() -> None:
    """Above capacity the first token has no bound, and the calls done are the capacity."""
    one = server("whole", slots=4)
    capacity = float(capacity_calls_per_s(one, CALL))
    served: Served = open_arrivals(one, CALL, 2 * capacity)
    assert served.ttft_s == math.inf
    assert served.calls_per_s == pytest.approx(capacity)
    assert served.utilisation_fraction == 1


def test_open_arrivals_below_capacity_are_all_done() -> None:
    """Throughput is the rate, and waiting grows with it."""
    one = server("chunked", slots=64)
    capacity = float(capacity_calls_per_s(one, CALL))
    served = [open_arrivals(one, CALL, share * capacity) for share in (0.1, 0.5, 0.9)]
    assert [one.calls_per_s for one in served] == pytest.approx([0.1 * capacity, 0.5 * capacity, 0.9 * capacity])
    times: list[Values] = [one.ttft_s for one in served]
    assert times == sorted(times)


def test_absurd_loads_are_errors() -> None:
    """No user, no slot, no token, no rate."""
    with pytest.raises(ValueError, match="at least one user"):
        closed_loop(server(), CALL, 0)
    with pytest.raises(ValueError, match="at least one slot"):
        server(slots=0)
    with pytest.raises(ValueError, match="at least one token"):
        Demand(prompt_tokens=10, output_tokens=0)
    with pytest.raises(ValueError, match="above 0 and finite"):
        open_arrivals(server(), CALL, math.nan)
