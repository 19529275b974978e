"""Who is let in, over HTTP; and that no key is ever written down."""

import hashlib
import logging

import msgspec
import pytest

from tests.gateway.stand import EXPLAIN, open_both, open_stand
from tests.scripted_upstream import CLOUD_KEY, fault
from teto.config import GatewaySettings

KEY = "sk-of-a-client"
LOCKED = GatewaySettings(api_key_sha256=(hashlib.sha256(KEY.encode()).hexdigest(),))


async def test_without_keys_a_foreign_host_is_refused() -> None:
    """A page that reaches this port under its own name is turned away; localhost is answered."""
    async with open_both() as (stand, cloud):
        for path in ("/v1/models", "/teto/receipts"):
            answer = await stand.request("GET", path, headers={"Host": "evil.example"})
            assert answer.status == 401
            assert "evil.example" in answer.error["message"]
        refused = await stand.request("POST", "/teto/mode", json={"mode": "cloud"}, headers={"Host": "evil.example"})
        assert (refused.status, stand.app.service.mode) == (401, "auto")
        assert (await stand.request("GET", "/v1/models", headers={"Host": "localhost:1"})).status == 200
        assert cloud.requests == []


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example"])
async def test_without_keys_a_foreign_page_is_refused(origin: str) -> None:
    """A web page of another site cannot spend the operator's money through the browser of this machine."""
    async with open_both() as (stand, cloud):
        body = {"model": "teto/cloud", "messages": [{"role": "user", "content": "x"}]}
        answer = await stand.request("POST", "/v1/chat/completions", json=body, headers={"Origin": origin})
        assert (answer.status, cloud.requests) == (401, [])
        own = {"Origin": "http://localhost:3000"}
        assert (await stand.request("POST", "/v1/chat/completions", json=body, headers=own)).status == 200


@pytest.mark.parametrize("authorization", [None, "Bearer wrong", f"Basic {KEY}", "Bearer", KEY])
async def test_without_the_right_key_nothing_is_served(authorization: str | None) -> None:
    """No key, a wrong one or another scheme: 401 as OpenAI words it, and nothing works for it."""
    headers = {} if authorization is None else {"Authorization": authorization}
    async with open_both(gateway=LOCKED) as (stand, cloud):
        body = {"model": "teto/auto", "messages": [{"role": "user", "content": "x"}]}
        answer = await stand.request("POST", "/v1/chat/completions", json=body, headers=headers)
        assert answer.status == 401
        assert (answer.error["type"], answer.error["code"]) == ("authentication_error", "invalid_api_key")
        assert (await stand.request("GET", "/teto/receipts", headers=headers)).status == 401
        assert (stand.engine.started, cloud.requests) == (0, [])
        assert (await stand.request("GET", "/health")).status == 200


async def test_right_key_passes_from_any_host() -> None:
    """With a key the gateway may be called by any name."""
    async with open_stand(gateway=LOCKED) as stand:
        headers = {"Authorization": f"Bearer {KEY}", "Host": "teto.example"}
        assert (await stand.request("GET", "/v1/models", headers=headers)).status == 200


async def test_keys_are_never_written_down(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither the client's key nor the cloud's is in a log, in the output, in a receipt, or in an error's text."""
    caplog.set_level(logging.DEBUG)
    headers = {"Authorization": f"Bearer {KEY}"}
    shown = []
    async with open_both(gateway=LOCKED) as (stand, cloud):
        for reply in (cloud.reply, fault(401), fault(500), fault(400)):
            cloud.reply = reply
            body = {"model": "teto/auto", "messages": [{"role": "user", "content": EXPLAIN}]}
            answer = await stand.request("POST", "/v1/chat/completions", json=body, headers=headers)
            shown += [answer.body.decode(), str(answer.headers)]
        assert cloud.requests[0].headers["authorization"] == f"Bearer {CLOUD_KEY}"
        assert KEY.encode() not in cloud.requests[0].body
        shown.append(msgspec.json.encode(list(stand.ledger.receipts.values())).decode())
        assert len(stand.ledger.receipts) == 4
    output = capfd.readouterr()
    for text in (*shown, caplog.text, output.out, output.err):
        assert KEY not in text
        assert CLOUD_KEY not in text
