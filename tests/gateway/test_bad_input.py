"""Requests that cannot be served: OpenAI-shaped errors with the right status, that say what to do."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.fakes import FakeEngine, MemoryLedger
from tests.gateway.stand import CLASSIFY, EXPLAIN, Answer, Stand, chat, open_both, open_stand
from tests.scripted_upstream import fault
from teto.config import GatewaySettings
from teto.receipt import Receipt

USER = [{"role": "user", "content": CLASSIFY}]
JSON = {"Content-Type": "application/json"}


def assert_openai_error(answer: Answer, status: int, kind: str = "invalid_request_error") -> None:
    """The answer is an error as OpenAI shapes it."""
    assert answer.status == status
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json) == {"error"}
    assert set(answer.error) == {"message", "type", "param", "code"}
    assert answer.error["type"] == kind


async def send(stand: Stand, body: bytes) -> Answer:
    """The answer to a raw body."""
    return await stand.request("POST", "/v1/chat/completions", data=body, headers=JSON)


async def test_body_that_is_not_json_is_refused() -> None:
    """Broken JSON, an empty body, other types of values, bytes that are no UTF-8: 400, and nothing starts."""
    bodies = [b"", b"{", b"[]", b'"x"', b"null", b"model=x", b"\xff\xfe", b'{"model": "\xff"}', b"[" * 100_000]
    async with open_both() as (stand, cloud):
        for body in bodies:
            assert_openai_error(await send(stand, body), 400)
        assert (stand.engine.started, cloud.requests, stand.ledger.receipts) == (0, [], {})


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": "teto/auto"}, "messages"),
        ({"messages": USER}, "model"),
        ({"model": "", "messages": USER}, "model"),
        ({"model": 4, "messages": USER}, "model"),
        ({"model": "teto/auto", "messages": []}, "messages"),
        ({"model": "teto/auto", "messages": "hello"}, "messages"),
        ({"model": "teto/auto", "messages": [{"content": "x"}]}, "messages[0].role"),
        ({"model": "teto/auto", "messages": [{"role": "user", "content": 4}]}, "messages[0].content"),
        (chat(stream="yes"), "stream"),
        (chat(temperature=3), "temperature"),
        (chat(max_tokens=0), "max_tokens"),
        (chat(top_logprobs=21), "top_logprobs"),
        (chat(n="two"), "n"),
        (chat(response_format="json"), "response_format"),
    ],
)
async def test_field_that_is_wrong_is_named(fields: dict[str, Any], param: str) -> None:
    """A missing field, a wrong type or a value out of range is a 400 whose `param` is the field."""
    async with open_stand() as stand:
        answer = await send(stand, json.dumps(fields).encode())
        assert_openai_error(answer, 400)
        assert answer.error["param"] == param
        assert param.rpartition(".")[2] in answer.error["message"]


async def test_unknown_model_gives_the_nearest_names() -> None:
    """A model that no name and no route knows is a 404 that lists the nearest, and calls nobody."""
    async with open_both() as (stand, cloud):
        answer = await stand.ask(model="teto/lokal")
        assert_openai_error(answer, 404)
        assert "teto/local" in answer.error["message"]
        assert cloud.requests == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("POST", "/v1/completions"),
        ("GET", "/v1/chat/completions"),
        ("DELETE", "/teto/receipts"),
        ("GET", "/teto/mode"),
        ("POST", "/v1/models"),
    ],
)
async def test_wrong_path_or_method_says_what_there_is(method: str, path: str) -> None:
    """What does not exist is a 404 that lists what does."""
    async with open_stand() as stand:
        answer = await stand.request(method, path)
        assert_openai_error(answer, 404)
        assert "/v1/chat/completions" in answer.error["message"]


async def test_body_that_is_too_large_is_refused() -> None:
    """A body beyond the limit is a 413 that gives the limit; one within it is served."""
    async with open_stand(gateway=GatewaySettings(body_limit_bytes=10_000)) as stand:
        answer = await send(stand, json.dumps(chat("x" * 20_000)).encode())
        assert_openai_error(answer, 413)
        assert "10000" in answer.error["message"]
        assert (await stand.ask()).status == 200


async def test_prompt_larger_than_the_context_is_never_truncated() -> None:
    """teto/local gets a 413 with the numbers, teto/auto goes up; nothing is generated here for either."""
    async with open_both(engine=FakeEngine(prompt_tokens=5000)) as (stand, cloud):
        answer = await stand.ask(model="teto/local")
        assert_openai_error(answer, 413)
        assert answer.error["code"] == "context_length_exceeded"
        assert "5000" in answer.error["message"]
        assert "4096" in answer.error["message"]
        assert cloud.requests == []
        assert (await stand.ask()).route == "cloud"
        assert stand.engine.started == 0


async def test_prompt_that_fits_nowhere_is_refused_with_the_numbers() -> None:
    """Without a cloud teto/auto refuses a prompt larger than the context as teto/local does."""
    async with open_stand(engine=FakeEngine(prompt_tokens=5000)) as stand:
        answer = await stand.ask()
        assert_openai_error(answer, 413)
        assert "5000" in answer.error["message"]


async def test_answer_is_limited_to_the_room_in_the_context() -> None:
    """Without a limit the engine may fill the context and no more; a smaller limit of the client holds."""
    async with open_stand(engine=FakeEngine(prompt_tokens=4000)) as stand:
        await stand.ask(model="teto/local")
        await stand.ask(model="teto/local", max_tokens=3)
        assert stand.engine.limits == [96, 3]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"n": 2}, "2 answers"),
        ({"modalities": ["text", "audio"]}, "More than text"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {"pattern": "a+"}}}}, "pattern"),
    ],
)
async def test_what_the_engine_cannot_do_is_refused_for_local(fields: dict[str, Any], said: str) -> None:
    """teto/local with something the engine is not offered is a 400 that names it, whether or not it streams."""
    async with open_both() as (stand, cloud):
        for stream in (False, True):
            answer = await stand.ask(model="teto/local", stream=stream, **fields)
            assert_openai_error(answer, 400)
            assert said in answer.error["message"]
        assert cloud.requests == []


async def test_local_without_an_engine_says_why() -> None:
    """teto/local where no engine is configured is a 503 with the reason."""
    async with open_both(has_engine=False) as (stand, _):
        answer = await stand.ask(model="teto/local")
        assert_openai_error(answer, 503, "server_error")
        assert "No engine in this test" in answer.error["message"]
        assert (await stand.ask()).route == "cloud"


async def test_health_is_told_without_asking_anything() -> None:
    """Health is 200 while an engine or a cloud can answer, and 503 when neither can."""
    async with open_stand() as stand:
        healthy = await stand.request("GET", "/health")
        assert (healthy.status, healthy.json["status"], healthy.json["engine"]["ready"]) == (200, "ok", True)
    async with open_stand(has_engine=False) as stand:
        assert (await stand.request("GET", "/health")).status == 503


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "limit=10001", "limit=ten", "limit=1.5", "since=now"])
async def test_receipts_with_a_bad_limit_are_refused(query: str) -> None:
    """A limit or a time that makes no sense is a 400."""
    async with open_stand() as stand:
        assert_openai_error(await stand.request("GET", f"/teto/receipts?{query}"), 400)


async def test_receipt_that_nobody_wrote_is_not_found() -> None:
    """An unknown receipt is a 404 that names the id."""
    async with open_stand() as stand:
        answer = await stand.request("GET", "/teto/receipts/r-none")
        assert_openai_error(answer, 404)
        assert "r-none" in answer.error["message"]


async def test_refusals_have_receipts_too() -> None:
    """A request that was understood and refused leaves a receipt with its status and the reason."""
    async with open_both(fault(500)) as (stand, _):
        receipt = await stand.receipt(await stand.ask(EXPLAIN))
        assert (receipt.status, receipt.route) == (503, "none")
        assert receipt.decision.reasons[-1].code == "upstream_status"
        assert (await stand.receipt(await stand.ask(model="teto/local", n=2))).status == 400


@pytest.mark.parametrize(
    "content",
    [[{"type": "image_url", "image_url": {"url": "data:x"}}], [{"type": "text", "text": "x"}, {"type": "input_audio"}]],
    ids=["image", "audio"],
)
async def test_media_never_reaches_the_engine(content: list[dict[str, Any]]) -> None:
    """What the engine cannot take is not shown to it, not even to be counted: refused here, or sent up as media."""
    async with open_both(engine=FakeEngine(closed=True)) as (stand, _):
        body = {"messages": [{"role": "user", "content": content}]}
        refused = await send(stand, json.dumps({"model": "teto/local", **body}).encode())
        assert_openai_error(refused, 400)
        up = await send(stand, json.dumps({"model": "teto/auto", **body}).encode())
        assert (up.route, up.reason) == ("cloud", "media")


async def test_a_schema_too_deep_for_a_grammar_goes_up() -> None:
    """A schema of four hundred levels is no reason to fail: it is the cloud's, and refused for teto/local."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(100):
        schema = {"type": "object", "properties": {"a": schema}}
    form = {"type": "json_schema", "json_schema": {"name": "deep", "schema": schema}}
    async with open_both() as (stand, _):
        assert_openai_error(await stand.ask(model="teto/local", response_format=form), 400)
        assert (await stand.ask(response_format=form)).route == "cloud"


async def test_a_seed_beyond_64_bits_goes_up() -> None:
    """The cloud gets the number as it was written; the engine could not be sent it."""
    async with open_both() as (stand, _):
        assert_openai_error(await stand.ask(model="teto/local", seed=2**70), 400)
        assert (await stand.ask(seed=2**70)).reason == "seed"


async def test_one_model_can_be_retrieved() -> None:
    """`/v1/models/NAME` describes a name that exists and refuses one that does not."""
    async with open_stand() as stand:
        found = await stand.request("GET", "/v1/models/teto/auto")
        assert (found.status, found.json["id"], found.json["object"]) == (200, "teto/auto", "model")
        assert_openai_error(await stand.request("GET", "/v1/models/gpt-9"), 404)


class _BrokenLedger(MemoryLedger):
    async def recent(self, *, limit: int, since_s: float | None = None) -> Sequence[Receipt]:
        raise RuntimeError(f"a defect at {limit} {since_s}")


async def test_a_defect_is_answered_in_the_form_of_the_api(caplog: pytest.LogCaptureFixture) -> None:
    """What nobody foresaw is a JSON error with 500, and its traceback stands in the log alone."""
    async with open_stand(ledger=_BrokenLedger()) as stand:
        answer = await stand.request("GET", "/teto/receipts")
        assert_openai_error(answer, 500, "server_error")
        assert "a defect" not in answer.body.decode()
    assert "a defect" in caplog.text
