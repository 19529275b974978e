"""A deployment as a loaded server."""

from dataclasses import replace

import numpy as np
import pytest

from tests.physics.test_deployment import FIT, FITTED, PLAIN
from teto.physics.calls import CallTokens
from teto.physics.loaded import whole_prefill
from teto.physics.served import behaviour, busy, is_served, served

CALL = CallTokens(prompt_tokens=500, output_tokens=100)
SERVER = replace(FITTED, fit=replace(FIT, overlaps=False))


def test_the_fit_says_what_kind_of_engine_it_is() -> None:
    """A fit whose memory and arithmetic do not overlap is of a server; others prefill whole prompts."""
    assert is_served(SERVER)
    assert not is_served(FITTED)
    assert not is_served(PLAIN)
    sizes = np.array([1.0, 8.0])
    assert np.array_equal(
        np.asarray(behaviour(0.1)(FITTED, CALL, sizes).tpot_s), np.asarray(whole_prefill(FITTED, CALL, sizes).tpot_s)
    )


def test_one_user_waits_for_nobody() -> None:
    """Alone, a call's tokens come at the step's pace, with its own prompt spread over none of them."""
    found = behaviour(0.0)(SERVER, CALL, np.array([1.0]))
    step_s = float(SERVER.decode_step_s(1, CALL.mean_context_tokens))
    assert float(np.asarray(found.step_s)[0]) == pytest.approx(step_s)
    assert float(np.asarray(found.ttft_s)[0]) >= float(SERVER.added_prefill_s(500, 1))


def test_tables_change_nothing() -> None:
    """Times read from a table are those of the functions, within a thousandth."""
    found = behaviour(0.0)(SERVER, CALL, np.array([32.0]))
    exact = served(SERVER, CALL, concurrency=32, slots=32, front_s=0.0, burst_fraction=0.0)
    assert float(np.asarray(found.tpot_s)[0]) == pytest.approx(float(exact.itl_s), rel=1e-3)
    assert float(np.asarray(found.ttft_s)[0]) == pytest.approx(float(exact.ttft_s), rel=1e-3)


def test_more_users_never_make_tokens_come_sooner() -> None:
    """The time between tokens grows with the batch, and so does what all get together."""
    found = behaviour(0.0)(SERVER, CALL, np.array([1.0, 4, 16, 64, 256]))
    assert (np.diff(np.asarray(found.tpot_s)) > 0).all()
    assert (np.diff(np.asarray(found.calls_per_s)) > 0).all()


def test_few_slots_make_the_rest_wait() -> None:
    """With room for 8 of 32 users, 24 wait."""
    found = served(SERVER, CALL, concurrency=32, slots=8, front_s=0.0, burst_fraction=0.0)
    assert float(found.waiting) == 24
    assert float(found.running) <= 8


def test_a_prompt_that_joins_costs_less_than_one_alone() -> None:
    """It shares the reading of the weights with the steps that run anyway."""
    assert float(SERVER.added_prefill_s(500, 8)) < float(SERVER.prefill_s(500))


def test_a_device_is_busy_for_at_most_all_of_the_time() -> None:
    """Utilisations are between 0 and 1, and unknown without a multiply rate."""
    found = busy(SERVER, CALL, np.array([1.0, 64, 1024]))
    assert found is not None
    for fraction in (found.memory_fraction, found.compute_fraction):
        assert (np.asarray(fraction) > 0).all()
        assert (np.asarray(fraction) <= 1).all()
    assert busy(replace(SERVER, device=replace(SERVER.device, flops_per_s={})), CALL, 1.0) is None
