"""Clients that leave: all work for them stops within 200 ms, and a receipt says that they left."""

import asyncio
import contextlib
import time
from typing import Any

import aiohttp
import pytest

from tests.fakes import FakeEngine, sure_pieces
from tests.gateway.stand import CLASSIFY, EXPLAIN, Stand, chat, open_both, open_stand, unsure_engine
from tests.scripted_upstream import Reply, streamed, until, whole
from teto.config import GatewaySettings, PolicySettings
from teto.receipt import Receipt

MOST_S = 0.2
REWRITE = "Rewrite in a formal tone: 'oi, manda o boleto logo que eu preciso pagar hoje'"
ENDLESS = streamed([b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'] * 1000, gap_s=0.02)


def start(stand: Stand, text: str, **fields: Any) -> asyncio.Task[aiohttp.ClientResponse]:
    """A request under way; cancelling it before its headers came closes its connection."""
    return asyncio.create_task(stand.http.post(f"{stand.url}/v1/chat/completions", json=chat(text, **fields)))


async def leave(asking: asyncio.Task[aiohttp.ClientResponse]) -> float:
    """Close the connection of a request; when that was."""
    if asking.done():
        asking.result().close()
    else:
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
    return time.monotonic()


async def receipt_of_the_one_who_left(stand: Stand) -> Receipt:
    """The receipt, with the status that is written down for a client that left."""
    await until(lambda: bool(stand.ledger.receipts), limit_s=MOST_S)
    receipt = await stand.only_receipt()
    assert receipt.status == 499
    assert receipt.decision.reasons[-1].code == "client_gone"
    return receipt


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["teto/auto", "teto/cloud"])
async def test_cloud_stops_when_the_client_leaves_before_the_first_token(model: str, *, stream: bool) -> None:
    """A client that leaves while the cloud is still thinking takes the cloud's work with it."""
    async with open_both(whole(delay_s=30)) as (stand, cloud):
        asking = start(stand, EXPLAIN, model=model, stream=stream)
        await cloud.wait_for_requests()
        left_s = await leave(asking)
        assert await cloud.wait_until_gone() - left_s < MOST_S
        receipt = await receipt_of_the_one_who_left(stand)
        assert receipt.cloud is not None
        assert receipt.cloud.note == "cancelled"


async def test_cloud_stops_when_the_client_leaves_inside_a_stream() -> None:
    """A client that leaves after some words stops the rest, and its receipt says how far it got."""
    async with open_both(ENDLESS) as (stand, cloud):
        asking = start(stand, EXPLAIN, stream=True)
        response = await asking
        await response.content.readany()
        left_s = await leave(asking)
        assert await cloud.wait_until_gone() - left_s < MOST_S
        receipt = await receipt_of_the_one_who_left(stand)
        assert receipt.route == "cloud"
        assert receipt.first_token_s is not None


async def test_cloud_stops_when_the_client_leaves_inside_a_whole_answer() -> None:
    """A client that leaves a non-streaming call while its answer is arriving stops it too."""
    reply = Reply(chunks=[b'{"choices":'], end="silent")
    async with open_both(reply) as (stand, cloud):
        asking = start(stand, EXPLAIN)
        await cloud.wait_for_requests()
        await asyncio.sleep(0.05)
        left_s = await leave(asking)
        assert await cloud.wait_until_gone() - left_s < MOST_S
        await receipt_of_the_one_who_left(stand)


@pytest.mark.parametrize("stream", [False, True])
async def test_engine_stops_when_the_client_leaves_before_the_decision(*, stream: bool) -> None:
    """A client that leaves during the hold-back frees the engine, and nothing goes up for it."""
    async with open_both(engine=FakeEngine(delay_s=1)) as (stand, cloud):
        asking = start(stand, CLASSIFY, stream=stream)
        await until(lambda: stand.engine.active == 1)
        await leave(asking)
        await until(lambda: stand.engine.active == 0, limit_s=MOST_S)
        assert stand.engine.stopped_early == 1
        receipt = await receipt_of_the_one_who_left(stand)
        assert receipt.local is not None
        assert receipt.local.outcome == "cancelled"
        assert cloud.requests == []


async def test_engine_stops_when_the_client_leaves_inside_a_stream() -> None:
    """A client that leaves a local stream frees the engine; the receipt has the tokens that came."""
    engine = FakeEngine(pieces=sure_pieces("please " * 200 + "send"), delay_s=0.02)
    async with open_both(engine=engine, policy=PolicySettings(hold_back_tokens=2)) as (stand, _):
        asking = start(stand, REWRITE, stream=True)
        response = await asking
        await response.content.readany()
        await leave(asking)
        await until(lambda: engine.active == 0, limit_s=MOST_S)
        assert engine.stopped_early == 1
        receipt = await receipt_of_the_one_who_left(stand)
        assert receipt.route == "local"
        assert receipt.local is not None
        assert receipt.local.outcome == "cancelled"
        assert 2 <= receipt.local.output_tokens < 20


async def test_engine_stops_when_the_client_leaves_inside_a_whole_answer() -> None:
    """A client that leaves a non-streaming call after the decision frees the engine as well."""
    engine = FakeEngine(pieces=sure_pieces("please " * 200 + "send"), delay_s=0.02)
    async with open_both(engine=engine, policy=PolicySettings(hold_back_tokens=2)) as (stand, _):
        asking = start(stand, REWRITE)
        await until(lambda: engine.active == 1)
        await asyncio.sleep(0.1)
        await leave(asking)
        await until(lambda: engine.active == 0, limit_s=MOST_S)
        receipt = await receipt_of_the_one_who_left(stand)
        assert receipt.local is not None
        assert receipt.local.outcome == "cancelled"


async def test_shadow_stops_with_its_client() -> None:
    """In observe mode a client that leaves while the cloud answers ends the shadow too."""
    engine = FakeEngine(delay_s=1)
    async with open_both(whole(delay_s=30), engine=engine, gateway=GatewaySettings(mode="observe")) as (stand, cloud):
        asking = start(stand, CLASSIFY)
        await cloud.wait_for_requests()
        await until(lambda: engine.active == 1)
        left_s = await leave(asking)
        await until(lambda: engine.active == 0, limit_s=MOST_S)
        assert await cloud.wait_until_gone() - left_s < MOST_S
        await receipt_of_the_one_who_left(stand)


async def test_discarded_attempt_is_remembered_when_the_client_leaves_later() -> None:
    """Local work that was done before the client left the cloud's answer stays in the receipt."""
    async with open_both(whole(delay_s=30), engine=unsure_engine()) as (stand, cloud):
        asking = start(stand, CLASSIFY)
        await cloud.wait_for_requests()
        await leave(asking)
        receipt = await receipt_of_the_one_who_left(stand)
        assert receipt.local is not None
        assert receipt.local.outcome == "discarded"


async def test_client_that_leaves_inside_its_own_body_disturbs_nobody() -> None:
    """A connection that breaks before its request is complete leaves no receipt and no error."""
    async with open_both() as (stand, cloud):
        host, port = stand.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000\r\n\r\n"
        writer.write(head.encode() + b'{"model":')
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.transport.abort()
        await asyncio.sleep(0.05)
        assert (stand.ledger.receipts, cloud.requests) == ({}, [])
        assert (await stand.ask()).status == 200


async def test_others_are_served_while_one_leaves() -> None:
    """Twenty clients at once, every second one leaving, give ten answers and twenty receipts."""
    async with open_both(whole(delay_s=0.3)) as (stand, cloud):
        asking = [start(stand, EXPLAIN) for _ in range(20)]
        await cloud.wait_for_requests(20)
        for task in asking[::2]:
            await leave(task)
        answers = [await (await task).read() for task in asking[1::2]]
        await stand.app.service.drain()
        assert set(answers) == {cloud.reply.chunks[0]}
        statuses = sorted(receipt.status for receipt in stand.ledger.receipts.values())
        assert statuses == [200] * 10 + [499] * 10


async def test_a_prefill_that_was_cut_short_claims_no_work() -> None:
    """Before the first token nobody knows what was computed: no tokens, bytes or FLOPs are stated for it."""
    engine = FakeEngine(delay_s=30)
    async with open_stand(engine=engine) as stand:
        asking = start(stand, CLASSIFY, model="teto/local")
        await until(lambda: engine.active == 1)
        await leave(asking)
        receipt = await receipt_of_the_one_who_left(stand)
        assert receipt.local is not None
        assert (receipt.local.prefill, receipt.local.decode) == (None, None)
        assert receipt.local.output_tokens == 0


@pytest.mark.parametrize("model", ["teto/local", "teto/cloud"])
async def test_a_gateway_that_stops_says_so(model: str) -> None:
    """Answers under way end with an error event and a receipt that names the gateway, not the client."""
    engine = FakeEngine(pieces=sure_pieces("word " * 500), delay_s=0.02)
    async with open_both(ENDLESS, engine=engine) as (stand, cloud):
        response = await start(stand, EXPLAIN, model=model, stream=True)
        await response.content.readany()
        stand.app.service.stop()
        rest = await response.read()
        assert b'"code":"stopping"' in rest
        assert b"[DONE]" not in rest
        receipt = await stand.only_receipt()
        assert (receipt.status, receipt.decision.decisive) == (503, "stopping")
        assert engine.active == 0
        if model == "teto/cloud":
            await cloud.wait_until_gone()
