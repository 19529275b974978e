"""When the cloud cannot answer: admissible requests are answered and marked, the rest is refused with the reason."""

import json

import pytest

from tests.fakes import FakeClock, FakeEngine, sure_pieces
from tests.gateway.stand import EXPLAIN, dead_engine, open_both, open_stand, slow_engine, unsure_engine
from tests.scripted_upstream import Reply, closed_port_url, connect, fault, open_scripted, sse_events, streamed, whole
from teto.config import GatewaySettings
from teto.errors import EngineDiedError

BEST_EFFORT = GatewaySettings(degraded="best_effort")

# What the cloud does, and the status of a request that only it could have answered.
FAULTS = [
    pytest.param(fault(500), 503, id="500"),
    pytest.param(fault(503), 503, id="503"),
    pytest.param(fault(401), 502, id="401"),
    pytest.param(fault(429, headers={"Retry-After": "7"}), 429, id="429"),
    pytest.param(Reply(status=302, headers={"Location": "http://127.0.0.1:9/"}), 502, id="redirect"),
    pytest.param(Reply(chunks=[b'{"choices": [{"mess'], end="cut"), 503, id="cut"),
    pytest.param(Reply(content_type="text/html", chunks=[b"<html>busy</html>"]), 503, id="html"),
]


@pytest.mark.parametrize(("reply", "status"), FAULTS)
async def test_cloud_that_fails_leaves_the_admissible_answer(reply: Reply, status: int) -> None:
    """An unsure answer to a closed task stands when the cloud fails, marked degraded in header and receipt."""
    del status
    async with open_both(reply, engine=unsure_engine()) as (stand, _):
        answer = await stand.ask()
        assert (answer.status, answer.text, answer.route) == (200, "positive", "local")
        assert answer.headers["x-teto-degraded"] == "true"
        assert answer.reason == "degraded"
        receipt = await stand.receipt(answer)
        assert (receipt.degraded, receipt.route, receipt.status) == (True, "local", 200)
        assert receipt.local is not None
        assert receipt.local.outcome == "kept"
        assert receipt.cloud is not None
        assert receipt.cloud.note


@pytest.mark.parametrize(("reply", "status"), FAULTS)
async def test_cloud_that_fails_refuses_the_rest(reply: Reply, status: int) -> None:
    """An open task is refused with what the cloud did; the local model does not pretend."""
    async with open_both(reply) as (stand, _):
        answer = await stand.ask(EXPLAIN)
        assert answer.status == status
        assert answer.error["message"]
        assert answer.route == "none"
        assert stand.engine.started == 0
        receipt = await stand.receipt(answer)
        assert (receipt.route, receipt.status, receipt.degraded) == ("none", status, False)


@pytest.mark.parametrize("stream", [False, True])
async def test_unreachable_cloud(*, stream: bool) -> None:
    """With a cloud that nobody answers for, admissible requests are answered, others get a 503 that says so."""
    async with open_stand(engine=unsure_engine(), upstreams=[connect(closed_port_url())]) as stand:
        answer = await stand.ask(stream=stream)
        assert (answer.status, answer.text, answer.headers["x-teto-degraded"]) == (200, "positive", "true")
        refused = await stand.ask(EXPLAIN, stream=stream)
        assert (refused.status, refused.error["code"]) == (503, "upstream_unreachable")
        assert "cannot be reached" in refused.error["message"]


async def test_no_cloud_at_all() -> None:
    """Without any cloud, admissible requests are answered, and the refusal of others says what to configure."""
    async with open_stand(engine=unsure_engine()) as stand:
        answer = await stand.ask()
        assert (answer.status, answer.headers["x-teto-degraded"]) == (200, "true")
        refused = await stand.ask(EXPLAIN)
        assert (refused.status, refused.error["code"]) == (503, "unavailable")
        assert "No cloud is configured" in refused.error["message"]
        assert "teto.toml" in refused.error["message"]
        forced = await stand.ask(model="teto/cloud")
        assert (forced.status, forced.error["code"]) == (503, "unavailable")


async def test_slow_answer_is_given_when_no_cloud_is_there_to_be_faster() -> None:
    """The added-delay limit compares with a cloud: without one a sure answer is kept, however slow."""
    async with open_stand(engine=slow_engine()) as stand:
        answer = await stand.ask()
        assert (answer.status, answer.route) == (200, "local")
        assert "x-teto-degraded" not in answer.headers


async def test_slow_answer_is_degraded_when_the_cloud_fails() -> None:
    """A request that went up because the engine is slow is generated here when the cloud fails."""
    async with open_both(fault(500), engine=slow_engine()) as (stand, _):
        answer = await stand.ask()
        assert (answer.status, answer.text, answer.reason) == (200, "positive", "degraded")


@pytest.mark.parametrize("stream", [False, True])
async def test_best_effort_answers_open_tasks_too(*, stream: bool) -> None:
    """With degraded = best_effort everything that fits is answered, and marked."""
    engine = FakeEngine(pieces=sure_pieces("Because of scattering."))
    async with open_both(fault(500), engine=engine, gateway=BEST_EFFORT) as (stand, _):
        answer = await stand.ask(EXPLAIN, stream=stream)
        assert (answer.status, answer.text) == (200, "Because of scattering.")
        assert (answer.headers["x-teto-degraded"], answer.reason) == ("true", "degraded")


async def test_best_effort_does_not_answer_what_the_engine_cannot() -> None:
    """Tools stay out of reach of the local model, whatever the setting."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    async with open_both(fault(500), gateway=BEST_EFFORT) as (stand, _):
        answer = await stand.ask(tools=tools)
        assert answer.status == 503
        assert stand.engine.started == 0


async def test_rate_limit_passes_with_its_wait() -> None:
    """A 429 reaches the client with the cloud's own body and Retry-After."""
    reply = fault(429, headers={"Retry-After": "7"}, message="slow down")
    async with open_both(reply) as (stand, _):
        answer = await stand.ask(model="teto/cloud")
        assert (answer.status, answer.headers["retry-after"]) == (429, "7")
        assert answer.body == reply.chunks[0]


@pytest.mark.parametrize("status", [400, 404, 413, 422])
@pytest.mark.parametrize("model", ["teto/auto", "teto/cloud"])
async def test_fault_of_the_request_passes_as_the_cloud_words_it(status: int, model: str) -> None:
    """What the cloud refuses as the client's mistake is not answered elsewhere: status and body are the cloud's."""
    reply = fault(status)
    async with open_both(reply, engine=unsure_engine()) as (stand, _):
        answer = await stand.ask(model=model)
        assert answer.status == status
        assert answer.body == reply.chunks[0]
        assert (await stand.receipt(answer)).status == status


async def test_refused_key_is_the_operators_business() -> None:
    """A 401 of the cloud is not the client's 401: the error names the operator's variable, never the key."""
    async with open_both(fault(401)) as (stand, _):
        answer = await stand.ask(model="teto/cloud")
        assert answer.status == 502
        assert "CLOUD_API_KEY" in answer.error["message"]
        assert "sk-" not in answer.body.decode()


async def test_engine_and_cloud_both_down_is_an_honest_error() -> None:
    """With the engine dead and the cloud failing the client gets an error, and the receipt both reasons."""
    async with open_both(fault(500), engine=dead_engine(EngineDiedError("Died on purpose."))) as (stand, _):
        answer = await stand.ask()
        assert answer.status == 503
        codes = [r.code for r in (await stand.receipt(answer)).decision.reasons]
        assert "engine_died" in codes
        assert "upstream_status" in codes


async def test_cloud_that_is_down_is_left_alone_and_recovers() -> None:
    """After three failures requests are not sent up; after a pause one may try, and its success brings all back."""
    clock = FakeClock()
    async with open_both(fault(500), clock=clock) as (stand, cloud):
        for _ in range(3):
            assert (await stand.ask(EXPLAIN)).error["code"] == "upstream_status"
        refused = await stand.ask(EXPLAIN)
        assert refused.status == 503
        assert "down" in refused.error["message"]
        assert len(cloud.requests) == 3

        cloud.reply = whole()
        clock.now_s += 1.9
        assert (await stand.ask(EXPLAIN)).status == 503
        clock.now_s += 0.2
        assert (await stand.ask(EXPLAIN)).status == 200
        assert (await stand.ask(EXPLAIN)).status == 200
        assert len(cloud.requests) == 5


async def test_kept_answers_do_not_take_the_try_of_a_cloud_that_is_down() -> None:
    """A request that stays here does not use up the one try after the pause."""
    clock = FakeClock()
    async with open_both(fault(500), clock=clock) as (stand, cloud):
        for _ in range(3):
            await stand.ask(EXPLAIN)
        cloud.reply = whole()
        clock.now_s += 2.1
        assert (await stand.ask()).route == "local"
        assert (await stand.ask(EXPLAIN)).status == 200


async def test_client_errors_do_not_take_a_cloud_down() -> None:
    """A cloud that refuses requests as malformed, or asks to slow down, is up."""
    for status in (400, 429):
        async with open_both(fault(status)) as (stand, cloud):
            for _ in range(5):
                await stand.ask(EXPLAIN)
            assert len(cloud.requests) == 5


@pytest.mark.parametrize("end", ["cut", "whole"])
async def test_stream_that_breaks_after_release_ends_with_an_error(end: str) -> None:
    """A cloud stream that breaks off, or ends without a finish, ends with an error event and no end mark."""
    events = sse_events(["half", " an"], finish_reason=None, usage=None, done=False)
    async with open_both(Reply(content_type="text/event-stream", chunks=events, end=end)) as (stand, _):  # type: ignore[arg-type]
        answer = await stand.ask(EXPLAIN, stream=True)
        assert (answer.status, answer.text) == (200, "half an")
        assert answer.error["code"] == "upstream_cut"
        assert "[DONE]" not in answer.events
        receipt = await stand.receipt(answer)
        assert (receipt.route, receipt.status, receipt.finish_reason) == ("cloud", 503, None)


async def test_end_mark_without_a_finish_is_not_believed() -> None:
    """A stream that says [DONE] before any finish reason is broken, and the client is told."""
    events = sse_events(["half"], finish_reason=None, usage=None, done=True)
    async with open_both(streamed(events)) as (stand, _):
        answer = await stand.ask(EXPLAIN, stream=True)
        assert answer.error["code"] == "upstream_cut"
        assert "[DONE]" not in answer.events


@pytest.mark.parametrize("chunks", [[], [b'data: {"choices": [{"delta": {"role"']], ids=["nothing", "half-an-event"])
async def test_stream_that_breaks_before_release_falls_back(chunks: list[bytes]) -> None:
    """A cloud stream that breaks before its first event was shown is replaced by the local answer, whole."""
    async with open_both(streamed(chunks, end="cut"), engine=unsure_engine()) as (stand, _):
        answer = await stand.ask(stream=True)
        assert (answer.status, answer.text, answer.events[-1]) == (200, "positive", "[DONE]")
        assert answer.headers["x-teto-degraded"] == "true"


async def test_silent_cloud_is_given_up() -> None:
    """A cloud that takes the request and says nothing is left at its time limit, and the client gets an answer."""
    async with open_scripted(whole(delay_s=30)) as cloud:
        upstream = connect(cloud.base_url, first_token_timeout_s=0.1)
        async with open_stand(engine=unsure_engine(), upstreams=[upstream]) as stand:
            answer = await stand.ask()
            assert (answer.status, answer.headers["x-teto-degraded"]) == (200, "true")
            await cloud.wait_until_gone()


async def test_error_in_place_of_a_stream_is_an_error() -> None:
    """A cloud that answers 200 and reports a fault as its first event has not answered."""
    event = b"data: " + json.dumps({"error": {"message": "overloaded", "code": 529}}).encode() + b"\n\n"
    async with open_both(streamed([event])) as (stand, _):
        answer = await stand.ask(EXPLAIN, stream=True)
        assert "[DONE]" not in answer.events
        assert answer.error["code"] == "upstream_cut"


@pytest.mark.parametrize("stream", [False, True])
async def test_an_error_in_a_200_is_an_error(*, stream: bool) -> None:
    """A cloud that reports an error in the body of a 200 has not answered: one error reaches the client, with 503."""
    said = b'{"error": {"message": "model overloaded", "type": "server_error"}}'
    reply = streamed([b"data: " + said + b"\n\n"]) if stream else Reply(chunks=[said])
    async with open_both(reply) as (stand, _):
        answer = await stand.ask(EXPLAIN, stream=stream)
        assert answer.status == 503
        assert "model overloaded" in answer.error["message"]


async def test_a_body_without_choices_is_no_answer() -> None:
    """An empty object is valid JSON and no chat completion."""
    async with open_both(Reply(chunks=[b"{}"])) as (stand, _):
        assert (await stand.ask(EXPLAIN)).status == 503


async def test_a_refused_key_is_named_every_time() -> None:
    """A cloud that answers 401 at once spares nobody a wait by being called down: the variable stays named."""
    async with open_both(fault(401)) as (stand, cloud):
        for _ in range(5):
            answer = await stand.ask(EXPLAIN)
            assert answer.status == 502
            assert "CLOUD_API_KEY" in answer.error["message"]
        assert len(cloud.requests) == 5


async def test_who_is_turned_away_learns_why() -> None:
    """While the breaker is open the refusal repeats the cloud's last fault, and advises no cloud that is there."""
    async with open_both(fault(500)) as (stand, _):
        for _ in range(4):
            answer = await stand.ask(EXPLAIN)
        assert answer.status == 503
        assert "status 500" in answer.error["message"]
        assert "[upstreams.NAME]" not in answer.error["message"]
