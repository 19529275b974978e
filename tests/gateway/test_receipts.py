"""Receipts: there by the last byte, honest about time, energy and money, and readable over HTTP."""

import asyncio
import re
import time
from dataclasses import replace
from decimal import Decimal

import msgspec
import pytest

from tests.fakes import FakeEngine, FakeMeter, MemoryLedger, engine_facts, sure_pieces
from tests.gateway.stand import EXPLAIN, Answer, Stand, chat, open_both, open_stand, unsure_engine
from tests.scripted_upstream import fault, sse_events, streamed, whole
from teto.config import PolicySettings
from teto.errors import TetoError
from teto.receipt import Receipt

REWRITE = "Rewrite in a formal tone: 'oi, manda o boleto logo que eu preciso pagar hoje'"


async def timed(stand: Stand, text: str) -> tuple[Answer, float, float]:
    """A streamed answer, and the client's seconds to the first word and to the end."""
    start_s, first_s, parts = time.monotonic(), 0.0, []
    async with stand.http.post(f"{stand.url}/v1/chat/completions", json=chat(text, stream=True)) as response:
        async for part in response.content.iter_any():
            parts.append(part)
            if not first_s and re.search(rb'"content": ?"[^"]', part):
                first_s = time.monotonic() - start_s
    total_s = time.monotonic() - start_s
    return Answer(status=response.status, headers=response.headers, body=b"".join(parts)), first_s, total_s


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("text", [EXPLAIN, REWRITE])
async def test_receipt_is_kept_before_the_last_byte(text: str, *, stream: bool) -> None:
    """When the client has its answer, the receipt is already in the ledger."""
    async with open_both(streamed() if stream else whole()) as (stand, _):
        answer = await stand.ask(text, stream=stream)
        assert stand.kept_receipt(answer).status == 200


async def test_receipts_are_listed_and_shown() -> None:
    """The list has the newest first and obeys its limit; one alone is the same receipt."""
    async with open_both() as (stand, _):
        ids = [(await stand.ask(text)).headers["x-teto-receipt"] for text in (EXPLAIN, REWRITE, EXPLAIN)]
        listed = (await stand.request("GET", "/teto/receipts?limit=2")).json
        assert listed["object"] == "list"
        assert len(listed["data"]) == 2
        assert {receipt["id"] for receipt in listed["data"]} <= set(ids)
        shown = await stand.request("GET", f"/teto/receipts/{ids[0]}")
        assert msgspec.json.decode(shown.body, type=Receipt) == stand.ledger.receipts[ids[0]]
        later_s = stand.ledger.receipts[ids[2]].created_s + 1
        assert (await stand.request("GET", f"/teto/receipts?since={later_s}")).json["data"] == []


async def test_seconds_of_a_cloud_answer_agree_with_the_client() -> None:
    """First token and total of a one-second stream are within 5 % of the client's own clock."""
    async with open_both(streamed(delay_s=0.4, gap_s=0.1)) as (stand, _):
        answer, first_s, total_s = await timed(stand, EXPLAIN)
        receipt = stand.kept_receipt(answer)
        assert total_s > 1
        assert receipt.total_s == pytest.approx(total_s, rel=0.05)
        assert receipt.first_token_s == pytest.approx(first_s, rel=0.05)
        assert receipt.cloud is not None
        assert receipt.cloud.first_token_s == pytest.approx(first_s, rel=0.05)
        assert receipt.cloud.total_s == pytest.approx(total_s, rel=0.05)


async def test_seconds_of_a_local_answer_agree_with_the_client() -> None:
    """The same for an answer of the engine: the hold-back is part of the first token's time."""
    engine = FakeEngine(pieces=sure_pieces("um dois três quatro cinco seis sete oito nove dez"), delay_s=0.1)
    async with open_both(engine=engine, policy=PolicySettings(hold_back_tokens=4)) as (stand, _):
        answer, first_s, total_s = await timed(stand, REWRITE)
        receipt = stand.kept_receipt(answer)
        assert total_s > 1
        assert first_s > 0.4
        assert receipt.total_s == pytest.approx(total_s, rel=0.05)
        assert receipt.first_token_s == pytest.approx(first_s, rel=0.05)


async def test_whole_answer_has_no_first_token() -> None:
    """What comes in one piece has no time to its first token, and the receipt does not invent one."""
    async with open_both(whole(delay_s=0.1)) as (stand, _):
        receipt = stand.kept_receipt(await stand.ask(EXPLAIN))
        assert receipt.first_token_s is None
        assert receipt.cloud is not None
        assert receipt.cloud.first_token_s is None
        assert receipt.total_s >= 0.1


async def test_measured_energy_is_split_by_phase() -> None:
    """The counter's difference is the run's energy, and its two phases share it by their time."""
    async with open_both(power=FakeMeter(step_j=3.0)) as (stand, _):
        receipt = stand.kept_receipt(await stand.ask())
        assert (receipt.energy.joules, receipt.energy.kind, receipt.energy.boundary) == (3, "measured", "fake package")
        assert receipt.local is not None
        prefill, decode = receipt.local.prefill, receipt.local.decode
        assert prefill is not None
        assert decode is not None
        # The fake engine prefills for 0.02 s and decodes its one piece for 0.01 s.
        assert prefill.energy.joules == pytest.approx(2.0)
        assert decode.energy.joules == pytest.approx(1.0)
        assert (prefill.energy.kind, prefill.tokens, decode.tokens) == ("derived", 20, 1)


async def test_energy_ends_with_the_run() -> None:
    """What is drawn while a finished answer waits for a cloud that then fails is not the run's."""
    meter = FakeMeter(step_j=1.0)
    async with open_both(fault(500), engine=unsure_engine(), power=meter) as (stand, _):
        receipt = stand.kept_receipt(await stand.ask())
        assert receipt.degraded
        assert receipt.energy.joules == 1


async def test_energy_without_a_counter_is_unknown_with_the_reason() -> None:
    """No counter and no stated power: the energy is unknown, never zero, and the note says why."""
    async with open_both() as (stand, _):
        energy = stand.kept_receipt(await stand.ask()).energy
        assert (energy.joules, energy.kind) == (None, "unknown")
        assert "no counter in this test" in energy.note
        assert "power.mean_power_w" in energy.note
        energy = stand.kept_receipt(await stand.ask(model="teto/cloud")).energy
        assert (energy.joules, energy.kind) == (None, "unknown")


@pytest.mark.parametrize("stream", [False, True])
async def test_cost_at_ones_own_price_is_exact(*, stream: bool) -> None:
    """31 tokens at 2.5 and 7 at 10 dollars a million are 0.0001475 dollars, to the last digit."""
    async with open_both(streamed() if stream else whole()) as (stand, _):
        receipt = stand.kept_receipt(await stand.ask(EXPLAIN, stream=stream))
        assert receipt.cost.usd == Decimal("0.0001475")
        assert receipt.cost_had_all_gone_up == receipt.cost
        assert receipt.cloud is not None
        assert receipt.cloud.tokens is not None
        tokens = receipt.cloud.tokens
        assert (tokens.in_uncached, tokens.in_cache_read, tokens.out_visible, tokens.out_reasoning) == (20, 11, 5, 2)


async def test_kept_answer_costs_nothing_and_says_what_it_saved() -> None:
    """A local answer costs no API dollars; had it gone up, its 20 and 2 tokens would have cost 0.00007."""
    async with open_both() as (stand, _):
        receipt = stand.kept_receipt(await stand.ask())
        assert receipt.cost.usd == 0
        assert receipt.cost_had_all_gone_up.usd == Decimal("0.00007")
        assert "counts differently" in receipt.cost_had_all_gone_up.note


async def test_degraded_answer_costs_nothing_and_says_what_the_cloud_would_have_taken() -> None:
    """A cloud that refused billed nothing; what it would have cost is counted on the local tokens."""
    async with open_both(fault(500), engine=unsure_engine()) as (stand, _):
        receipt = stand.kept_receipt(await stand.ask())
        assert receipt.degraded
        assert receipt.cost.usd == 0
        assert receipt.cost_had_all_gone_up.usd == Decimal("0.00007")


async def test_broken_answer_has_an_unknown_cost() -> None:
    """A cloud stream that broke may have been billed: its cost is unknown."""
    events = sse_events(["half"], finish_reason=None, usage=None, done=False)
    async with open_both(streamed(events, end="cut")) as (stand, _):
        receipt = stand.kept_receipt(await stand.ask(EXPLAIN, stream=True))
        assert receipt.cost.usd is None


async def test_usage_that_never_came_is_unknown() -> None:
    """A cloud that sends no usage leaves tokens and dollars unknown, never zero."""
    async with open_both(streamed(sse_events(usage=None))) as (stand, _):
        receipt = stand.kept_receipt(await stand.ask(EXPLAIN, stream=True))
        assert receipt.cloud is not None
        assert receipt.cloud.tokens is None
        assert receipt.cost.usd is None
        assert receipt.cost.note


async def test_saving_without_a_cloud_is_unknown() -> None:
    """Where no cloud is configured nothing can be said about its price."""
    async with open_stand() as stand:
        receipt = stand.kept_receipt(await stand.ask())
        assert receipt.cost_had_all_gone_up.usd is None


async def test_waiting_in_the_queue_is_told_apart_from_work() -> None:
    """Time in which the engine worked on nothing of this request is its queue, not its prefill."""
    async with open_stand(engine=FakeEngine(delay_s=0.2)) as stand:
        receipt = stand.kept_receipt(await stand.ask())
        assert receipt.local is not None
        assert receipt.local.queue_s == pytest.approx(0.2 - 0.03, abs=0.05)


async def test_engine_that_shows_no_model_file_leaves_the_figures_out() -> None:
    """Bytes, FLOPs and the ceiling need the model's shape; without it they are absent, not zero."""
    async with open_stand(engine=FakeEngine(given_facts=replace(engine_facts(), shape=None))) as stand:
        receipt = stand.kept_receipt(await stand.ask())
        assert receipt.local is not None
        assert receipt.local.prefill is not None
        assert (receipt.local.prefill.bytes_read, receipt.local.prefill.bound) == (None, None)


async def test_receipt_never_holds_the_text() -> None:
    """Neither the prompt nor the answer is in a receipt: of the answer only its digest."""
    async with open_both(engine=FakeEngine(pieces=sure_pieces("segredo"))) as (stand, _):
        for text in ("Extract the name: 'chave-privada de Ana Souza'", EXPLAIN):
            await stand.ask(text)
        written = msgspec.json.encode(list(stand.ledger.receipts.values()))
        for secret in (b"chave-privada", b"Ana Souza", b"segredo", b"from the cloud", b"sky"):
            assert secret not in written


async def test_receipts_of_many_requests_at_once_are_all_there() -> None:
    """Forty requests at the same time leave forty receipts with forty ids."""
    async with open_both(streamed()) as (stand, _):
        answers = await asyncio.gather(*(stand.ask(EXPLAIN, stream=True) for _ in range(40)))
        ids = {answer.headers["x-teto-receipt"] for answer in answers}
        assert ids == set(stand.ledger.receipts)
        assert len(ids) == 40


class _FullDisk(MemoryLedger):
    async def append(self, receipt: Receipt) -> None:
        del receipt
        raise TetoError("A receipt could not be written: disk full.")


async def test_a_ledger_that_fails_costs_the_receipt_and_not_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    """An answer that was paid for is given even when nothing can be written down, and the log says so."""
    async with open_stand(ledger=_FullDisk()) as stand:
        answer = await stand.ask()
        assert (answer.status, answer.text) == (200, "positive")
    assert "is lost" in caplog.text
