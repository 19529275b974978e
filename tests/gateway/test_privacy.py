"""Requests that a rule of privacy keeps here, over HTTP: on no path does a byte of them go up."""

import contextlib
import hashlib
import logging
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tests.fakes import FakeEngine, sure_pieces
from tests.gateway.stand import (
    CLASSIFY,
    EXPLAIN,
    Answer,
    Stand,
    chat,
    dead_engine,
    open_both,
    open_stand,
    slow_engine,
    unsure_engine,
)
from tests.gateway.test_calibrated import calibration
from tests.scripted_upstream import ScriptedUpstream, connect, fault, open_scripted
from teto.config import DriftSettings, GatewaySettings, Mode, PolicySettings, PrivacySettings, RouteSettings
from teto.errors import EngineBusyError, EngineDiedError, EngineError, TetoError

CPF = "111.444.777-35"
PRIVATE = f"Classify the sentiment: 'adorei, meu CPF é {CPF}'. Answer positive or negative."
PRIVATE_OPEN = f"Explain why the customer {CPF} is angry."
DETECTS = PrivacySettings(name="people", detect=("all",))
ROUTES = (RouteSettings(match="tiny", to="local"), RouteSettings(match="o3", to="cloud"), RouteSettings(match="gpt-*"))


def guarded(*rules: PrivacySettings, **settings: Any) -> GatewaySettings:
    """Settings with these rules, or with the one that detects everything."""
    return GatewaySettings(privacy=rules or (DETECTS,), **settings)


@contextlib.asynccontextmanager
async def open_guarded(*rules: PrivacySettings, **parts: Any) -> AsyncIterator[tuple[Stand, ScriptedUpstream]]:
    """A gateway with rules and a cloud that nothing may reach."""
    gateway = parts.pop("gateway", None) or guarded(*rules)
    async with open_both(gateway=gateway, routes=ROUTES, **parts) as (stand, cloud):
        yield stand, cloud


def refused(answer: Answer, status: int, code: str) -> str:
    """The refusal's text, once its status, its code and its headers are right."""
    assert (answer.status, answer.error["code"]) == (status, code), answer.body
    assert (answer.route, answer.headers["x-teto-privacy"]) == ("none", "local-only")
    return str(answer.error["message"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["auto", "observe"])
@pytest.mark.parametrize("model", ["teto/auto", "gpt-4o"])
async def test_a_sure_answer_is_given_here(mode: Mode, model: str, *, stream: bool) -> None:
    """What the local model can stand behind it answers, in observe mode too, and the receipt says by which rule."""
    async with open_guarded(gateway=guarded(mode=mode)) as (stand, cloud):
        answer = await stand.ask(PRIVATE, model=model, stream=stream)
        assert (answer.status, answer.text, answer.route, answer.reason) == (200, "positive", "local", "confident")
        assert answer.headers["x-teto-privacy"] == "local-only"
        assert "x-teto-degraded" not in answer.headers
        receipt = await stand.receipt(answer)
        assert (receipt.decision.privacy, receipt.decision.verdict) == ("people", "keep")
        assert receipt.decision.reasons[0].code == "private"
        assert receipt.decision.reasons[0].text == "Privacy rule 'people' keeps it here: it found cpf 1."
        assert receipt.decision.reasons[0].figures == {"cpf": 1}
        assert receipt.cost_had_all_gone_up.usd is None
        assert "could not have gone up" in receipt.cost_had_all_gone_up.note
        assert cloud.requests == []


@pytest.mark.parametrize("mode", ["auto", "observe"])
async def test_what_is_not_private_goes_where_it_went(mode: Mode) -> None:
    """Beside a rule everything else is as it was: no header, no name in the receipt, and the cloud is asked."""
    async with open_guarded(gateway=guarded(mode=mode)) as (stand, cloud):
        answer = await stand.ask(EXPLAIN)
        assert (answer.status, answer.route) == (200, "cloud")
        assert "x-teto-privacy" not in answer.headers
        assert (await stand.receipt(answer)).decision.privacy is None
        assert len(cloud.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("engine", "text", "why"),
    [
        (unsure_engine(), PRIVATE, "Confidence"),
        (FakeEngine(pieces=sure_pieces("a long story about it all instead of one label")), PRIVATE, "words came"),
        (FakeEngine(), PRIVATE_OPEN, "it reads like"),
    ],
)
async def test_an_answer_that_nobody_stands_behind_is_refused(
    engine: FakeEngine, text: str, why: str, *, stream: bool
) -> None:
    """Low confidence, a wrong form, an open task: 422 with the reason, and what the operator can do about it."""
    async with open_guarded(engine=engine) as (stand, cloud):
        answer = await stand.ask(text, stream=stream)
        said = refused(answer, 422, "private_unanswered")
        assert "The privacy rule 'people' keeps this request here" in said
        assert why in said
        assert "best_effort" in said
        assert CPF not in said
        receipt = await stand.receipt(answer)
        assert (receipt.decision.privacy, receipt.decision.verdict, receipt.status) == ("people", "refuse", 422)
        assert cloud.requests == []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("text", "said"), [(PRIVATE, "positive"), (PRIVATE_OPEN, "positive")])
async def test_best_effort_answers_all_the_same(text: str, said: str, *, stream: bool) -> None:
    """With degraded = best_effort the local answer stands, and is marked."""
    async with open_guarded(engine=unsure_engine(), gateway=guarded(degraded="best_effort")) as (stand, cloud):
        answer = await stand.ask(text, stream=stream)
        assert (answer.status, answer.text, answer.reason) == (200, said, "degraded")
        assert (answer.headers["x-teto-degraded"], answer.headers["x-teto-privacy"]) == ("true", "local-only")
        assert (await stand.receipt(answer)).decision.privacy == "people"
        assert cloud.requests == []


async def test_a_slow_answer_is_waited_for() -> None:
    """The added-delay limit compares with a cloud, and there is none for a private request."""
    async with open_guarded(engine=slow_engine()) as (stand, cloud):
        answer = await stand.ask(PRIVATE)
        assert (answer.status, answer.route) == (200, "local")
        assert cloud.requests == []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("mode", "model"), [("auto", "teto/cloud"), ("observe", "teto/cloud"), ("auto", "o3")])
async def test_who_asks_for_a_cloud_is_refused(mode: Mode, model: str, *, stream: bool) -> None:
    """A name that says cloud is 403 for a private request: nothing is sent, and the receipt keeps it."""
    async with open_guarded(gateway=guarded(mode=mode)) as (stand, cloud):
        answer = await stand.ask(PRIVATE, model=model, stream=stream)
        said = refused(answer, 403, "private_request")
        assert "Nothing was sent" in said
        assert "teto/auto or teto/local" in said
        assert (await stand.receipt(answer)).decision.privacy == "people"
        assert (cloud.requests, stand.engine.started) == ([], 0)


@pytest.mark.parametrize("model", ["teto/auto", "teto/local", "teto/cloud", "gpt-4o", "tiny", "o3"])
async def test_in_cloud_mode_private_requests_are_refused(model: str) -> None:
    """The mode cloud leaves nobody who may answer, whatever the name."""
    async with open_guarded(gateway=guarded(mode="cloud")) as (stand, cloud):
        assert "teto mode auto" in refused(await stand.ask(PRIVATE, model=model), 403, "private_request")
        assert (cloud.requests, stand.engine.started) == ([], 0)
        assert (await stand.ask(EXPLAIN)).route == "cloud"


@pytest.mark.parametrize(
    ("mode", "model"), [("auto", "teto/local"), ("observe", "teto/local"), ("auto", "tiny"), ("local", "teto/auto")]
)
async def test_who_asks_for_the_local_model_gets_it(mode: Mode, model: str) -> None:
    """A name or a mode that says local is answered as without the rule, and carries its name."""
    async with open_guarded(engine=unsure_engine(), gateway=guarded(mode=mode)) as (stand, cloud):
        answer = await stand.ask(PRIVATE_OPEN, model=model)
        assert (answer.status, answer.route, answer.reason) == (200, "local", "forced_local")
        assert answer.headers["x-teto-privacy"] == "local-only"
        assert (await stand.receipt(answer)).decision.privacy == "people"
        assert cloud.requests == []


@pytest.mark.parametrize("model", ["teto/auto", "teto/local"])
@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("error", [EngineDiedError("Died."), EngineBusyError("Full."), EngineError("Broken.")])
async def test_an_engine_that_fails_sends_nothing_up(model: str, after: int, error: TetoError) -> None:
    """Before or after its first token: an error that may pass, with 503, and not the cloud."""
    async with open_guarded(engine=dead_engine(error, after=after)) as (stand, cloud):
        answer = await stand.ask(PRIVATE, model=model)
        assert answer.status == 503
        assert answer.headers["x-teto-privacy"] == "local-only"
        assert cloud.requests == []


async def test_without_an_engine_nothing_is_sent_up() -> None:
    """Nobody here can answer: 503 that says so."""
    async with open_guarded(has_engine=False) as (stand, cloud):
        said = refused(await stand.ask(PRIVATE), 503, "unavailable")
        assert "'people' keeps this request here" in said
        assert "No engine in this test" in said
        assert cloud.requests == []


TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize("model", ["teto/auto", "teto/local"])
async def test_what_the_engine_cannot_is_refused(model: str) -> None:
    """Tools and prompts that do not fit are refused as such, and no cloud is advised."""
    async with open_guarded(engine=FakeEngine(prompt_tokens=5000)) as (stand, cloud):
        said = refused(await stand.ask(PRIVATE, model=model, tools=TOOLS), 422, "private_unanswered")
        assert "tools" in said
        too_long = refused(await stand.ask(PRIVATE, model=model), 413, "context_length_exceeded")
        assert "cloud" not in said + too_long
        assert cloud.requests == []


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "file", "file": {"file_id": "f-1"}},
    ],
)
async def test_what_cannot_be_searched_stays_here(part: dict[str, Any]) -> None:
    """Under a rule that detects, media are private, with a reason of their own."""
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, part]}]
    async with open_guarded() as (stand, cloud):
        answer = await stand.ask(messages=messages)
        refused(answer, 422, "private_unanswered")
        assert (await stand.receipt(answer)).decision.reasons[0].code == "private_unscanned"
        refused(await stand.ask(messages=messages, model="teto/cloud"), 403, "private_request")
        assert cloud.requests == []


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [{"role": "system", "content": CPF}, {"role": "user", "content": "hi"}]},
        {"messages": [{"role": "user", "content": "hi", "name": CPF}]},
        {"tools": [{"type": "function", "function": {"name": "f", "description": CPF}}]},
        {"x_unknown": {"deep": [{CPF: 1}]}},
        {"x_number": 11144477735},
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": '{"cpf":"111.444.777-35"}'}}]}]},
    ],
)
async def test_no_place_in_a_request_is_left_out(fields: dict[str, Any]) -> None:
    """Roles, names, tools, arguments, unknown fields, keys, numbers."""
    async with open_guarded() as (stand, cloud):
        assert (await stand.ask(EXPLAIN, **{"model": "teto/cloud", **fields})).status == 403
        assert cloud.requests == []


KEY, OTHER = "sk-of-hr", "sk-of-sales"
DIGESTS = tuple(hashlib.sha256(key.encode()).hexdigest() for key in (KEY, OTHER))


@pytest.mark.parametrize(
    ("rule", "headers", "fields"),
    [
        (PrivacySettings(name="hr", key=(DIGESTS[0][:12],)), {"Authorization": f"Bearer {KEY}"}, {}),
        (PrivacySettings(name="hr", key=(DIGESTS[0],)), {"Authorization": f"Bearer {KEY}"}, {}),
        (PrivacySettings(name="hr", header={"X-Class": "secret*"}), {"x-class": "Secret-2"}, {}),
        (PrivacySettings(name="hr", tag=("hr",)), {"x-teto-tags": "a, HR"}, {}),
        (PrivacySettings(name="hr", tag=("hr-*",)), {}, {"metadata": {"tags": ["hr-br"]}}),
        (PrivacySettings(name="hr", tag=("hr",)), {}, {"metadata": {"tags": "a,hr"}}),
    ],
)
async def test_rules_by_key_header_and_tag(
    rule: PrivacySettings, headers: dict[str, str], fields: dict[str, Any]
) -> None:
    """Each keeps the request that it means here, and lets one of another key, without header and tag, go up."""
    gateway = GatewaySettings(privacy=(rule,), api_key_sha256=DIGESTS)
    async with open_both(gateway=gateway) as (stand, cloud):
        body = chat(EXPLAIN, model="teto/cloud", **fields)
        meant = {"Authorization": f"Bearer {OTHER}", **headers}
        answer = await stand.request("POST", "/v1/chat/completions", json=body, headers=meant)
        assert (answer.status, answer.headers["x-teto-privacy"]) == (403, "local-only")
        assert (await stand.only_receipt()).decision.privacy == "hr"
        assert cloud.requests == []
        plain = {"Authorization": f"Bearer {OTHER}"}
        body = chat(EXPLAIN, model="teto/cloud")
        assert (await stand.request("POST", "/v1/chat/completions", json=body, headers=plain)).status == 200
        assert len(cloud.requests) == 1


async def test_a_header_that_is_sent_twice_counts_twice() -> None:
    """The second header of a name does not hide the first."""
    rule = PrivacySettings(tag=("hr",))
    async with open_both(gateway=guarded(rule)) as (stand, cloud):
        headers = [("x-teto-tags", "hr"), ("x-teto-tags", "other")]
        answer = await stand.request("POST", "/v1/chat/completions", json=chat(model="teto/cloud"), headers=headers)
        assert answer.status == 403
        assert (await stand.only_receipt()).decision.privacy == "privacy[0]"
        assert cloud.requests == []


async def test_a_route_with_an_upstream_of_its_own_leads_nowhere() -> None:
    """A route that names its cloud is no way out, and its name still exists."""
    async with open_scripted() as first, open_scripted() as second:
        upstreams = [connect(first.base_url, name="first"), connect(second.base_url, name="second")]
        routes = [
            RouteSettings(match="far", upstream="second"),
            RouteSettings(match="up", to="cloud", upstream="second"),
        ]
        async with open_stand(upstreams=upstreams, routes=routes, gateway=guarded()) as stand:
            assert (await stand.ask(PRIVATE, model="far")).route == "local"
            assert (await stand.ask(PRIVATE_OPEN, model="far")).status == 422
            assert (await stand.ask(PRIVATE, model="up")).status == 403
            assert (await stand.ask(PRIVATE, model="nowhere")).status == 404
        assert (first.requests, second.requests) == ([], [])


async def test_a_cloud_that_is_down_changes_nothing() -> None:
    """With an open breaker a private request is answered as always, and takes no try from it."""
    async with open_guarded(reply=fault(500)) as (stand, cloud):
        for _ in range(3):
            await stand.ask(EXPLAIN)
        assert (await stand.ask(PRIVATE)).status == 200
        assert (await stand.ask(PRIVATE_OPEN)).status == 422
        assert len(cloud.requests) == 3
        assert not [seen for seen in cloud.requests if CPF.encode() in seen.body]


SENTIMENT = "Classify the sentiment as positive or negative.\n\nText: the waiter was kind and the soup was hot"


async def test_a_private_answer_has_no_shadow() -> None:
    """Where every kept answer is compared with the cloud's, a private one still stays here."""
    async with open_guarded(drift=DriftSettings(shadow_fraction=1.0)) as (stand, cloud):
        public = await stand.receipt(await stand.ask(CLASSIFY))
        assert (public.route, len(cloud.requests)) == ("local", 1)
        private = await stand.receipt(await stand.ask(PRIVATE))
        assert (private.route, private.decision.privacy) == ("local", "people")
        assert (private.cloud, private.truth) == (None, None)
        assert [CPF.encode() in seen.body for seen in cloud.requests] == [False]


async def test_a_private_request_is_not_hedged() -> None:
    """Where the slightest doubt asks the cloud beside the local model, a private request still stays here."""
    parts = {"calibration": calibration(), "policy": PolicySettings(hedge_above=0.0)}
    async with open_guarded(**parts) as (stand, cloud):
        public = await stand.receipt(await stand.ask(SENTIMENT))
        assert "hedged" in [reason.code for reason in public.decision.reasons]
        assert public.cloud is not None
        private = await stand.receipt(await stand.ask(f"{SENTIMENT} {CPF}"))
        assert (private.decision.privacy, private.cloud) == ("people", None)
        assert "hedged" not in [reason.code for reason in private.decision.reasons]
        assert not [seen for seen in cloud.requests if CPF.encode() in seen.body]


async def test_nothing_that_was_found_is_written_down(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not in an error, a log, a receipt, a header: not even where a name or a schema's key quotes the request."""
    caplog.set_level(logging.DEBUG)
    shown = []
    broken = FakeEngine(error=RuntimeError(f"defect at {CPF}"), fails_after=0)  # type: ignore[arg-type]
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {CPF: 1}}}
    asked: list[tuple[FakeEngine, dict[str, Any]]] = [
        (FakeEngine(), {}),
        (unsure_engine(), {}),
        (FakeEngine(), {"model": "teto/cloud"}),
        (FakeEngine(), {"model": f"gpt-{CPF}"}),
        (FakeEngine(), {"model": f"no-{CPF}"}),
        (FakeEngine(), {"response_format": schema}),
        (FakeEngine(), {"response_format": {"type": CPF}}),
        (dead_engine(EngineDiedError(f"Died at {CPF}.")), {}),
        (broken, {}),
    ]
    for engine, fields in asked:
        async with open_guarded(engine=engine) as (stand, cloud):
            answer = await stand.ask(PRIVATE, **fields)
            await stand.app.service.drain()
            shown += [answer.body.decode(), str(answer.headers)]
            shown.append(msgspec.json.encode(list(stand.ledger.receipts.values())).decode())
            assert cloud.requests == []
    output = capfd.readouterr()
    for text in (*shown, caplog.text, output.out, output.err):
        assert CPF not in text
    assert "RuntimeError" in caplog.text


async def test_a_long_private_request_lets_others_be_served() -> None:
    """While a long body is searched the gateway answers others, and the body stays here."""
    async with open_guarded(gateway=guarded(body_limit_bytes=10_000_000)) as (stand, cloud):
        text = f"{'palavra ' * 100_000}{CPF}"
        assert (await stand.ask(text, model="teto/cloud")).status == 403
        assert (await stand.ask(CLASSIFY)).route == "local"
        assert cloud.requests == []
