"""What is asked of the cloud beside the local model: hedges, shadows, and calls that a deadline sends up."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.fakes import FakeEngine, MemoryDriftStore, engine_facts, sure_pieces
from tests.gateway.stand import CLASSIFY, chat, open_both, slow_engine
from tests.gateway.test_calibrated import calibration, label
from tests.scripted_upstream import fault, sse_events, streamed, until, whole
from teto.config import DriftSettings, GatewaySettings, PolicySettings, PrivacySettings, RouteSettings
from teto.receipt import Truth

HEDGE = PolicySettings(hedge_above=0.3)
SURE = -0.01
UNSURE = -3.0


def words(logprob: float, n: int = 12, delay_s: float = 0.0) -> FakeEngine:
    """An engine that says a long answer, word by word."""
    return FakeEngine(pieces=sure_pieces(" ".join(["word"] * n), logprob=logprob), delay_s=delay_s)


def language_rule() -> Any:
    """A calibration in which requests of unknown language are certified, as those of these tests are."""
    return calibration(language="en", hold_back_tokens=2)


# -- hedges --------------------------------------------------------------------------------------------------------


async def test_doubt_starts_the_cloud_early_and_its_answer_is_used() -> None:
    """The cloud is asked while the local model still speaks; on escalation its answer is there already."""
    engine = FakeEngine(pieces=sure_pieces("positive", logprob=UNSURE))
    async with open_both(whole(), engine=engine, calibration=language_rule(), policy=HEDGE) as (stand, cloud):
        answer = await stand.ask()
        assert (answer.route, answer.status) == ("cloud", 200)
        assert b"from the cloud" in answer.body
        assert len(cloud.requests) == 1
        codes = [reason.code for reason in (await stand.receipt(answer)).decision.reasons]
        assert "hedged" in codes


async def test_a_streamed_hedge_is_held_until_it_is_wanted() -> None:
    """Nothing of the cloud's stream is seen before the decision, and all of it after, in order, once."""
    engine = FakeEngine(pieces=sure_pieces("very very positive", logprob=UNSURE), delay_s=0.05)
    async with open_both(streamed(), engine=engine, calibration=language_rule(), policy=HEDGE) as (stand, cloud):
        answer = await stand.ask(stream=True)
        assert answer.body.count(b"data: [DONE]") == 1
        assert [line for line in answer.body.split(b"\n\n") if b"from" in line]
        assert answer.body.index(b'" the"') < answer.body.index(b'" cloud"')
        assert answer.route == "cloud"
        assert len(cloud.requests) == 1
        receipt = await stand.receipt(answer)
        assert receipt.first_token_s is not None
        assert receipt.cloud is not None
        assert receipt.cloud.tokens is not None


async def test_no_doubt_asks_nobody() -> None:
    """A sure beginning starts no hedge."""
    engine = FakeEngine(pieces=sure_pieces("positive", logprob=SURE))
    async with open_both(whole(), engine=engine, calibration=language_rule(), policy=HEDGE) as (stand, _):
        answer = await stand.ask()
        codes = [reason.code for reason in (await stand.receipt(answer)).decision.reasons]
        assert "hedged" not in codes


async def test_a_hedge_that_is_not_wanted_is_stopped_and_its_cost_is_not_hidden() -> None:
    """When the local answer is kept the cloud call is cancelled; the receipt has it, with its cost unknown."""
    found = language_rule()
    (certificate,) = found.rules[0].certification.certificates
    loose = replace(certificate, language="en", threshold=replace(certificate.threshold, threshold=0.0))
    kept_all = replace(
        found,
        rules=(replace(found.rules[0], certification=replace(found.rules[0].certification, certificates=(loose,))),),
    )
    engine = FakeEngine(pieces=sure_pieces("positive", logprob=UNSURE), delay_s=0.05)
    silent = replace(streamed(), delay_s=30.0)
    async with open_both(silent, engine=engine, calibration=kept_all, policy=HEDGE) as (stand, cloud):
        answer = await stand.ask()
        assert answer.route == "local"
        await until(lambda: bool(cloud.requests) and cloud.requests[0].gone_s is not None)
        receipt = await stand.receipt(answer)
        assert receipt.cloud is not None
        assert receipt.cloud.note == "cancelled"
        assert receipt.cost.usd is None


async def test_a_hedge_that_fails_is_a_failed_cloud() -> None:
    """The error of a hedged call is met when its answer is wanted: the local answer stands, degraded."""
    engine = FakeEngine(pieces=sure_pieces("positive", logprob=UNSURE))
    async with open_both(fault(500), engine=engine, calibration=language_rule(), policy=HEDGE) as (stand, _):
        answer = await stand.ask()
        assert (answer.route, answer.headers.get("x-teto-degraded")) == ("local", "true")


async def test_a_route_has_its_own_limit() -> None:
    """A route that hedges does so where the policy does not."""
    engine = FakeEngine(pieces=sure_pieces("positive", logprob=UNSURE))
    routes = [RouteSettings(match="eager", hedge_above=0.3), RouteSettings(match="calm")]
    async with open_both(whole(), engine=engine, calibration=language_rule(), routes=routes) as (stand, _):
        for name, hedges in (("eager", True), ("calm", False)):
            answer = await stand.ask(model=name)
            codes = [reason.code for reason in (await stand.receipt(answer)).decision.reasons]
            assert ("hedged" in codes) is hedges


# -- deadlines -----------------------------------------------------------------------------------------------------


async def test_a_deadline_that_the_local_model_would_miss_sends_up() -> None:
    """Twenty predicted seconds do not fit in three: the cloud is asked at once, without a local try."""
    engine = slow_engine()
    policy = PolicySettings(added_delay_limit_s=600.0)
    async with open_both(whole(), engine=engine, policy=policy) as (stand, _):
        body = chat(CLASSIFY)
        late = await stand.request("POST", "/v1/chat/completions", json=body, headers={"x-teto-deadline-ms": "3000"})
        assert (late.route, late.reason) == ("cloud", "deadline")
        assert engine.started == 0
        fine = await stand.request("POST", "/v1/chat/completions", json=body, headers={"x-teto-deadline-ms": "60000"})
        assert fine.route == "local"


@pytest.mark.parametrize("stated", ["soon", "0", "-5", "nan", "inf"])
async def test_what_is_no_deadline_is_refused(stated: str) -> None:
    """A header that holds no milliseconds above 0 is an error of the request."""
    async with open_both(whole()) as (stand, cloud):
        answer = await stand.request(
            "POST", "/v1/chat/completions", json=chat(CLASSIFY), headers={"x-teto-deadline-ms": stated}
        )
        assert answer.status == 400
        assert "x-teto-deadline-ms" in answer.error["message"]
        assert not cloud.requests


# -- shadows -------------------------------------------------------------------------------------------------------

ALL = DriftSettings(shadow_fraction=1.0)


async def test_kept_answers_are_compared_behind_the_clients_back() -> None:
    """The client has the local answer; the cloud's agreement with it is in the receipt, with the odds of the draw."""
    async with open_both(whole("Positive."), drift=ALL) as (stand, cloud):
        answer = await stand.ask()
        assert answer.route == "local"
        receipt = await stand.receipt(answer)
        assert receipt.truth == Truth(source="cloud", right=True, inclusion_fraction=1.0)
        assert receipt.cloud is not None
        assert receipt.route == "local"
        assert len(cloud.requests) == 1


async def test_nothing_is_shadowed_unless_it_is_asked_for() -> None:
    """By default no cloud hears of a kept answer."""
    async with open_both(whole("Positive.")) as (stand, cloud):
        receipt = await stand.receipt(await stand.ask())
        assert receipt.truth is None
        assert not cloud.requests


async def test_a_drawn_call_that_goes_up_is_finished_and_compared_too() -> None:
    """A random draw holds kept and escalated calls alike: the discarded run ends, and is judged by the cloud's."""
    engine = words(UNSURE, n=200)
    async with open_both(whole("word"), engine=engine, drift=ALL) as (stand, _):
        answer = await stand.ask()
        assert answer.route == "cloud"
        receipt = await stand.receipt(answer)
        assert receipt.local is not None
        assert receipt.local.finish_reason == "stop"
        assert receipt.truth is not None
        assert receipt.truth.inclusion_fraction == 1.0


async def test_a_failed_shadow_is_unknown() -> None:
    """A cloud that fails the shadow leaves the truth unknown, and the client's answer as it was."""
    async with open_both(fault(503), drift=ALL) as (stand, _):
        answer = await stand.ask()
        assert (answer.route, answer.status) == ("local", 200)
        receipt = await stand.receipt(answer)
        assert receipt.truth == Truth(source="cloud", right=None, inclusion_fraction=1.0)


async def test_observe_mode_knows_every_truth() -> None:
    """In observe mode both answers are whole, whatever was decided, and the agreement is kept."""
    async with open_both(whole("negative"), engine=FakeEngine()) as (stand, _):
        await stand.switch("observe")
        receipt = await stand.receipt(await stand.ask())
        assert receipt.route == "cloud"
        assert receipt.truth == Truth(source="cloud", right=False, inclusion_fraction=1.0)


async def test_texts_are_kept_only_where_the_operator_said_so() -> None:
    """With `ledger.keep_texts` a receipt shows what was asked and both answers; without it none of them."""
    async with open_both(whole("Positive."), drift=ALL, keep_texts=True) as (stand, _):
        receipt = await stand.receipt(await stand.ask())
        assert receipt.texts is not None
        assert CLASSIFY in receipt.texts.asked
        assert (receipt.texts.local, receipt.texts.cloud) == ("positive", "Positive.")
    async with open_both(whole("Positive."), drift=ALL) as (stand, _):
        assert (await stand.receipt(await stand.ask())).texts is None


async def test_texts_of_private_requests_are_never_kept() -> None:
    """A rule of privacy is stronger than the wish to judge."""
    rules = GatewaySettings(privacy=(PrivacySettings(name="all", detect=("email",)),))
    async with open_both(whole(), gateway=rules, keep_texts=True) as (stand, _):
        receipt = await stand.receipt(await stand.ask(CLASSIFY.replace("adorei", "ana@example.com: adorei")))
        assert receipt.decision.privacy == "all"
        assert receipt.texts is None


# -- drift ---------------------------------------------------------------------------------------------------------


async def test_disagreement_rings_and_then_nothing_is_kept() -> None:
    """Kept answers that the cloud keeps contradicting ring the alarm; from then on such calls go up."""
    store = MemoryDriftStore()
    engine = FakeEngine(pieces=label("positive", 0.9999))
    parts: dict[str, Any] = {
        "engine": engine,
        "calibration": calibration(language="en"),
        "drift": ALL,
        "drift_store": store,
    }
    async with open_both(whole("negative"), **parts) as (stand, _):
        kept = 0
        for _ in range(60):
            answer = await stand.ask("Classify the sentiment as positive or negative.\n\nText: kind staff and hot soup")
            await stand.receipt(answer)
            kept += answer.route == "local"
            if answer.reason == "drift":
                break
        assert answer.reason == "drift"
        assert 0 < kept < 60
        health = msgspec.json.decode((await stand.request("GET", "/teto/health")).body)
        (found,) = health["drift"]["tests"].values()
        assert found["is_alarm"]
        assert any(notice["code"] == "proxy" for notice in health["drift"]["notices"])
    # A restart forgets nothing: the state was kept with every label.
    async with open_both(whole("negative"), **parts) as (stand, _):
        answer = await stand.ask("Classify the sentiment as positive or negative.\n\nText: kind staff and hot soup")
        assert answer.reason == "drift"


async def test_health_tells_what_is_watched_when_nothing_is() -> None:
    """Without a calibration there is no alarm, and /teto/health still answers."""
    async with open_both(whole()) as (stand, _):
        health = msgspec.json.decode((await stand.request("GET", "/teto/health")).body)
        assert health["calibration"] is None
        assert "tests" not in health["drift"]


def test_the_events_of_a_stream_are_what_these_tests_take_them_for() -> None:
    """The scripted stream begins with the role and ends with the mark."""
    events = sse_events()
    assert b"assistant" in events[0]
    assert events[-1] == b"data: [DONE]\n\n"
    assert engine_facts().fingerprint == "fake:1"
