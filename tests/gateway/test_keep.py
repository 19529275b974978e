"""Answers that the local model stands behind: the standard body, the headers, the receipt that says why."""

import socket

import pytest

from tests.fakes import FakeEngine, sure_pieces
from tests.gateway.stand import chat, open_both, open_stand
from tests.scripted_upstream import ScriptedUpstream
from teto.cli.server import run_in_background
from teto.config import PolicySettings

REWRITE = "Rewrite in a formal tone: 'oi, manda o boleto logo que eu preciso pagar hoje'"
LONG = "please " * 100 + "send it"


def assert_not_asked(cloud: ScriptedUpstream) -> None:
    """Nothing has reached the cloud."""
    assert cloud.requests == []


async def test_sure_closed_answer_is_kept() -> None:
    """A closed task with a sure answer is answered here, in the standard body, and nothing goes up."""
    async with open_both() as (stand, cloud):
        answer = await stand.ask()
        assert answer.status == 200
        assert answer.route == "local"
        assert answer.reason == "confident"
        assert "x-teto-degraded" not in answer.headers
        body = answer.json
        assert body["object"] == "chat.completion"
        assert body["model"] == "fake-model"
        assert body["choices"] == [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "positive", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ]
        assert body["usage"] == {
            "prompt_tokens": 20,
            "completion_tokens": 2,
            "total_tokens": 22,
            "prompt_tokens_details": {"cached_tokens": 0},
        }
        assert_not_asked(cloud)


async def test_receipt_says_why_it_was_kept() -> None:
    """The receipt has the task, the confidence against its threshold, and every reason in order."""
    async with open_both() as (stand, _):
        receipt = stand.kept_receipt(await stand.ask())
        decision = receipt.decision
        assert (receipt.route, receipt.status, receipt.degraded) == ("local", 200, False)
        assert (decision.verdict, decision.task, decision.promise) == ("keep", "classify", None)
        assert decision.confidence == pytest.approx(0.990, abs=1e-3)
        assert decision.threshold == PolicySettings().min_confidence
        assert [reason.code for reason in decision.reasons] == ["task_closed", "in_time", "confident"]
        assert receipt.local is not None
        assert receipt.local.outcome == "kept"
        assert receipt.cloud is None


async def test_kept_answer_streams() -> None:
    """A kept stream has the role first, the words, the finish and the end mark, all of one id and model."""
    engine = FakeEngine(pieces=sure_pieces("Prezado, solicito o envio."))
    async with open_both(engine=engine) as (stand, cloud):
        answer = await stand.ask(REWRITE, stream=True)
        *chunks, done = answer.events
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.route == "local"
        assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
        assert answer.text == "Prezado, solicito o envio."
        assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
        assert {(chunk["id"], chunk["model"]) for chunk in chunks} == {(chunks[0]["id"], "fake-model")}
        assert all("usage" not in chunk for chunk in chunks)
        assert done == "[DONE]"
        assert_not_asked(cloud)


async def test_usage_is_streamed_when_it_is_asked_for() -> None:
    """With include_usage the last chunk has no choices and the engine's own token counts."""
    async with open_both() as (stand, _):
        answer = await stand.ask(stream=True, stream_options={"include_usage": True})
        last = answer.events[-2]
        assert last["choices"] == []
        assert last["usage"]["total_tokens"] == 22


@pytest.mark.parametrize("stream", [False, True])
async def test_rest_of_a_long_answer_follows_the_part_that_was_held_back(*, stream: bool) -> None:
    """What comes after the decision is part of the answer, in order and once."""
    engine = FakeEngine(pieces=sure_pieces(LONG))
    async with open_both(engine=engine, policy=PolicySettings(hold_back_tokens=8)) as (stand, _):
        answer = await stand.ask(REWRITE, stream=stream)
        assert answer.text == LONG
        assert answer.route == "local"


async def test_logprobs_are_those_of_the_engine() -> None:
    """A client that asks for logprobs gets each token with its logprob, and no rivals it did not ask for."""
    async with open_both() as (stand, _):
        answer = await stand.ask(logprobs=True)
        (token,) = answer.json["choices"][0]["logprobs"]["content"]
        assert token["token"] == "positive"
        assert token["logprob"] == pytest.approx(-0.01)
        assert token["bytes"] == list(b"positive")
        assert token["top_logprobs"] == []


async def test_kept_without_a_cloud_is_not_degraded() -> None:
    """Without any cloud a sure answer is an ordinary one."""
    async with open_stand() as stand:
        answer = await stand.ask()
        assert answer.route == "local"
        assert answer.reason == "confident"
        assert "x-teto-degraded" not in answer.headers


async def test_structured_answer_that_keeps_its_schema_is_kept() -> None:
    """An answer under a schema is kept when it satisfies the schema."""
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "total": {"type": "number"}},
        "required": ["name", "total"],
    }
    engine = FakeEngine(pieces=sure_pieces('{"name": "Ana", "total": 12.5}'))
    async with open_both(engine=engine) as (stand, cloud):
        answer = await stand.ask(
            "Extract name and total: 'Ana pagou 12,50 pelo livro.'",
            response_format={"type": "json_schema", "json_schema": {"name": "bill", "schema": schema}},
        )
        assert answer.route == "local"
        assert answer.text == '{"name": "Ana", "total": 12.5}'
        assert_not_asked(cloud)


async def test_gateway_runs_in_the_background_of_a_loop() -> None:
    """Served as `teto ask` serves it, beside other work in one loop, the gateway answers and stops."""
    async with open_stand() as stand:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/chat/completions"
            async with run_in_background(stand.app, listener), stand.http.post(url, json=chat()) as response:
                assert response.headers["x-teto-route"] == "local"
                assert (await response.json())["choices"][0]["message"]["content"] == "positive"


async def test_empty_piece_does_not_end_a_stream_early() -> None:
    """Pieces without text, as engines send them for half a character, are passed over."""
    pieces = [*sure_pieces("Prezada"), FakeEngine(pieces=sure_pieces("")).pieces[0], *sure_pieces(" Ana")]
    async with open_both(engine=FakeEngine(pieces=pieces)) as (stand, _):
        answer = await stand.ask(REWRITE, stream=True)
        assert answer.text == "Prezada Ana"
        assert answer.events[-1] == "[DONE]"
