"""Model names and modes over HTTP: which name goes where, and what the cloud is called with."""

import asyncio

import pytest

from tests.fakes import FakeEngine
from tests.gateway.stand import CLASSIFY, EXPLAIN, open_both, open_stand
from tests.scripted_upstream import CLOUD_MODEL, connect, open_scripted, streamed, until, whole
from teto.config import GatewaySettings, Mode, RouteSettings

ROUTES = (
    RouteSettings(match="gpt-4o*", to="auto"),
    RouteSettings(match="tiny", to="local"),
    RouteSettings(match="o3", to="cloud"),
    RouteSettings(match="*", to="cloud"),
)


@pytest.mark.parametrize(
    ("model", "text", "route", "reason", "called"),
    [
        ("teto/auto", CLASSIFY, "local", "confident", None),
        ("teto/auto", EXPLAIN, "cloud", "task_open", CLOUD_MODEL),
        ("teto/local", EXPLAIN, "local", "forced_local", None),
        ("teto/cloud", CLASSIFY, "cloud", "forced_cloud", CLOUD_MODEL),
        ("gpt-4o-mini", CLASSIFY, "local", "confident", None),
        ("gpt-4o-mini", EXPLAIN, "cloud", "task_open", "gpt-4o-mini"),
        ("tiny", EXPLAIN, "local", "forced_local", None),
        ("o3", CLASSIFY, "cloud", "forced_cloud", "o3"),
        ("claude-x", CLASSIFY, "cloud", "forced_cloud", "claude-x"),
    ],
)
async def test_name_decides_the_route(model: str, text: str, route: str, reason: str, called: str | None) -> None:
    """Virtual names and globs choose the route; the name that the client used is the one called in the cloud."""
    async with open_both(routes=ROUTES) as (stand, cloud):
        answer = await stand.ask(text, model=model)
        assert (answer.status, answer.route, answer.reason) == (200, route, reason)
        assert [seen.json["model"] for seen in cloud.requests] == ([] if called is None else [called])
        assert (await stand.receipt(answer)).requested_model == model


async def test_route_may_name_its_upstream() -> None:
    """A route with an upstream goes up there, any other to the first."""
    async with open_scripted() as first, open_scripted() as second:
        upstreams = [connect(first.base_url, name="first"), connect(second.base_url, name="second")]
        routes = [RouteSettings(match="far", to="cloud", upstream="second"), RouteSettings(match="near", to="cloud")]
        async with open_stand(upstreams=upstreams, routes=routes) as stand:
            await stand.ask(model="far")
            receipt = await stand.receipt(await stand.ask(model="near"))
        assert (len(first.requests), len(second.requests)) == (1, 1)
        assert receipt.cloud is not None
        assert receipt.cloud.upstream == "first"


async def test_models_are_listed() -> None:
    """The list has the virtual models and the routes that are plain names, and no glob."""
    async with open_stand(routes=ROUTES) as stand:
        listed = (await stand.request("GET", "/v1/models")).json
        assert listed["object"] == "list"
        assert [model["id"] for model in listed["data"]] == ["teto/auto", "teto/local", "teto/cloud", "tiny", "o3"]


@pytest.mark.parametrize(
    ("mode", "model", "text", "route"),
    [
        ("local", "teto/auto", EXPLAIN, "local"),
        ("cloud", "teto/auto", CLASSIFY, "cloud"),
        ("observe", "teto/auto", CLASSIFY, "cloud"),
        ("observe", "teto/local", CLASSIFY, "local"),
        ("observe", "teto/cloud", CLASSIFY, "cloud"),
    ],
)
async def test_mode_decides_for_auto(mode: Mode, model: str, text: str, route: str) -> None:
    """The mode settles what auto means; a name that says local or cloud keeps its word."""
    async with open_both(gateway=GatewaySettings(mode=mode)) as (stand, _):
        answer = await stand.ask(text, model=model)
        assert (answer.status, answer.route) == (200, route)
        assert (await stand.receipt(answer)).mode == mode


@pytest.mark.parametrize(("mode", "model"), [("cloud", "teto/local"), ("local", "teto/cloud")])
async def test_name_that_the_mode_switched_off_is_refused(mode: Mode, model: str) -> None:
    """A promise is not bent: local in mode cloud and cloud in mode local are refused, and nothing works for them."""
    async with open_both(gateway=GatewaySettings(mode=mode)) as (stand, cloud):
        answer = await stand.ask(model=model)
        assert answer.status == 503
        assert "teto mode auto" in answer.error["message"]
        assert cloud.requests == []
        assert stand.engine.started == 0


async def test_mode_switches_while_running() -> None:
    """`teto mode cloud` is the kill switch: the next request goes up; health shows the mode."""
    async with open_both() as (stand, cloud):
        assert (await stand.ask()).route == "local"
        assert (await stand.switch("cloud")).json == {"mode": "cloud", "before": "auto"}
        assert (await stand.ask()).route == "cloud"
        assert (await stand.request("GET", "/health")).json["mode"] == "cloud"
        assert (await stand.switch("auto")).json == {"mode": "auto", "before": "cloud"}
        assert (await stand.ask()).route == "local"
        assert len(cloud.requests) == 1


async def test_request_under_way_keeps_its_mode() -> None:
    """A request that came before a switch is served, and receipted, in the mode it came in."""
    async with open_both(engine=FakeEngine(delay_s=0.15)) as (stand, _):
        asking = asyncio.create_task(stand.ask())
        await until(lambda: stand.engine.active == 1)
        await stand.switch("cloud")
        answer = await asking
        assert answer.route == "local"
        assert (await stand.receipt(answer)).mode == "auto"


@pytest.mark.parametrize(
    ("body", "content_type", "said"),
    [
        (b'{"mode": "clod"}', "application/json", "Did you mean cloud?"),
        (b'{"mode": ["cloud"]}', "application/json", "must be one of"),
        (b"{}", "application/json", "must be one of"),
        (b'"cloud"', "application/json", "not a JSON object"),
        (b"mode=cloud", "application/json", "not a JSON object"),
        (b'{"mode": "cloud"}', "text/plain", "application/json"),
    ],
)
async def test_mode_that_makes_no_sense_changes_nothing(body: bytes, content_type: str, said: str) -> None:
    """A wrong mode, a wrong body, or the content type that a web page may send unasked: 400, and the mode stays."""
    async with open_stand() as stand:
        answer = await stand.request("POST", "/teto/mode", data=body, headers={"Content-Type": content_type})
        assert answer.status == 400
        assert said in answer.error["message"]
        assert stand.app.service.mode == "auto"


async def test_observe_answers_from_the_cloud_and_decides_beside_it() -> None:
    """In observe mode the client gets the cloud's answer at once; the local decision is in the receipt afterwards."""
    engine = FakeEngine(delay_s=0.3)
    async with open_both(engine=engine, gateway=GatewaySettings(mode="observe")) as (stand, _):
        loop = asyncio.get_running_loop()
        start_s = loop.time()
        answer = await stand.ask()
        took_s = loop.time() - start_s
        assert (answer.route, answer.reason, answer.text) == ("cloud", "observe", "from the cloud")
        assert took_s < 0.2
        before = stand.kept_receipt(answer)
        assert before.local is None
        after = await stand.receipt(answer)
        assert (after.route, after.decision.verdict, after.decision.task) == ("cloud", "keep", "classify")
        assert after.decision.confidence is not None
        assert after.local is not None
        assert (after.local.outcome, after.local.finish_reason) == ("shadow", "stop")
        assert after.total_s == before.total_s < 0.2
        assert [r.code for r in after.decision.reasons] == ["observe", "task_closed", "in_time", "confident"]


@pytest.mark.parametrize("stream", [False, True])
async def test_observe_of_an_open_task_says_escalate(*, stream: bool) -> None:
    """The shadow of an open task generates nothing, and its receipt says that it would have gone up."""
    reply = streamed() if stream else whole()
    async with open_both(reply, gateway=GatewaySettings(mode="observe")) as (stand, _):
        answer = await stand.ask(EXPLAIN, stream=stream)
        assert answer.reason == "observe"
        receipt = await stand.receipt(answer)
        assert receipt.decision.verdict == "escalate"
        assert receipt.local is None
        assert stand.engine.started == 0


async def test_observe_without_an_engine_still_answers() -> None:
    """A shadow that cannot decide disturbs nothing."""
    async with open_both(has_engine=False, gateway=GatewaySettings(mode="observe")) as (stand, _):
        answer = await stand.ask()
        assert (answer.status, answer.reason) == (200, "observe")
        assert "no_engine" in [r.code for r in (await stand.receipt(answer)).decision.reasons]
