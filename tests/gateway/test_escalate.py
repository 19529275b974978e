"""What goes up: open tasks, unsure answers, slow or failing engines; and what the cloud then receives."""

from dataclasses import replace

import pytest

from tests.fakes import FakeEngine, engine_facts, sure_pieces
from tests.gateway.stand import CLASSIFY, EXPLAIN, dead_engine, open_both, slow_engine, unsure_engine
from tests.scripted_upstream import CLOUD_MODEL, streamed, whole
from teto.config import PolicySettings
from teto.errors import EngineBusyError, EngineDiedError
from teto.ports import PromptCount
from teto.wire.chat import ChatRequest

REWRITE = "Rewrite in a formal tone: 'oi, manda o boleto logo que eu preciso pagar hoje'"
DIED = EngineDiedError("The engine died on purpose.")

CHATTY = "I think it is rather a positive one"

CASES = [
    pytest.param(FakeEngine(), EXPLAIN, "task_open", id="open-task"),
    pytest.param(unsure_engine(), CLASSIFY, "unsure", id="unsure"),
    pytest.param(slow_engine(), CLASSIFY, "too_slow", id="too-slow"),
    pytest.param(dead_engine(DIED), CLASSIFY, "engine_died", id="engine-died"),
    pytest.param(dead_engine(EngineBusyError("The queue is full.")), CLASSIFY, "engine_busy", id="engine-busy"),
    pytest.param(FakeEngine(pieces=sure_pieces(CHATTY)), CLASSIFY, "not_a_label", id="form"),
    pytest.param(FakeEngine(prompt_tokens=5000), CLASSIFY, "context", id="context"),
    pytest.param(
        FakeEngine(given_facts=replace(engine_facts(), decode_tokens_per_s=None)),
        CLASSIFY,
        "delay_unknown",
        id="speed-unknown",
    ),
]


def fresh(engine: FakeEngine) -> FakeEngine:
    """An engine like the one given that has not worked yet."""
    return replace(engine, started=0, stopped_early=0, limits=[])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("engine", "text", "reason"), CASES)
async def test_request_goes_up_with_its_reason(engine: FakeEngine, text: str, reason: str, *, stream: bool) -> None:
    """What the local model cannot stand behind is answered by the cloud, and header and receipt say why."""
    async with open_both(streamed() if stream else whole(), engine=fresh(engine)) as (stand, cloud):
        answer = await stand.ask(text, stream=stream)
        assert (answer.status, answer.route, answer.reason) == (200, "cloud", reason)
        assert answer.text == "from the cloud"
        receipt = await stand.receipt(answer)
        assert (receipt.route, receipt.decision.verdict) == ("cloud", "escalate")
        assert reason in [r.code for r in receipt.decision.reasons]
        assert receipt.cloud is not None
        assert len(cloud.requests) == 1
        assert stand.engine.active == 0


async def test_virtual_name_becomes_the_model_of_the_upstream() -> None:
    """A request to teto/auto is sent up with the model of the settings."""
    async with open_both() as (stand, cloud):
        await stand.ask(EXPLAIN)
        assert cloud.requests[0].json["model"] == CLOUD_MODEL


async def test_answer_of_the_cloud_passes_byte_for_byte() -> None:
    """The body of a whole answer is the cloud's own, with fields that teto does not know."""
    async with open_both() as (stand, cloud):
        answer = await stand.ask(EXPLAIN)
        assert answer.body == b"".join(cloud.reply.chunks)


async def test_discarded_attempt_is_in_the_receipt() -> None:
    """The local work that was done in vain is accounted for beside the cloud's."""
    async with open_both(engine=unsure_engine()) as (stand, _):
        receipt = stand.kept_receipt(await stand.ask())
        assert receipt.local is not None
        assert (receipt.local.outcome, receipt.local.output_tokens) == ("discarded", 2)
        assert receipt.decision.confidence == pytest.approx(0.368, abs=1e-3)


async def test_attempt_that_overruns_goes_up() -> None:
    """An engine that is slower than it predicted is stopped at twice the added-delay limit."""
    engine = FakeEngine(delay_s=5)
    async with open_both(engine=engine, policy=PolicySettings(added_delay_limit_s=0.1)) as (stand, _):
        answer = await stand.ask()
        assert (answer.route, answer.reason) == ("cloud", "overrun")
        assert (engine.active, engine.stopped_early) == (0, 1)


@pytest.mark.parametrize("stream", [False, True])
async def test_engine_that_dies_within_the_hold_back_goes_up(*, stream: bool) -> None:
    """An engine that dies after some tokens, none of them shown, leaves no trace in the cloud's answer."""
    engine = dead_engine(DIED, after=2, text="Prezado senhor, solicito")
    async with open_both(streamed() if stream else whole(), engine=engine) as (stand, _):
        answer = await stand.ask(REWRITE, stream=stream)
        assert (answer.route, answer.reason, answer.text) == ("cloud", "engine_died", "from the cloud")


async def test_engine_that_dies_before_a_whole_answer_is_shown_goes_up() -> None:
    """Even after the decision to keep, a whole answer of which nothing was sent yet may still go up."""
    engine = dead_engine(DIED, after=6, text="Prezado senhor, solicito o envio do boleto hoje.")
    async with open_both(engine=engine, policy=PolicySettings(hold_back_tokens=3)) as (stand, _):
        answer = await stand.ask(REWRITE)
        assert (answer.route, answer.reason, answer.text) == ("cloud", "engine_died", "from the cloud")
        assert (await stand.receipt(answer)).status == 200


class _Broken(FakeEngine):
    """An engine with a defect that no port speaks of."""

    async def count(self, request: ChatRequest) -> PromptCount:
        """Fail in a way that nobody foresaw."""
        raise ZeroDivisionError(request.model)


async def test_defect_of_ours_is_an_answer_and_a_receipt_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    """What nobody foresaw is a 500 as OpenAI shapes it, with a receipt, and the log has the details."""
    async with open_both(engine=_Broken()) as (stand, _):
        answer = await stand.ask()
        assert answer.status == 500
        assert answer.error["type"] == "server_error"
        assert "ZeroDivisionError" in answer.error["message"]
        assert (await stand.receipt(answer)).status == 500
        assert "Traceback" in caplog.text


async def test_engine_that_dies_after_release_ends_the_stream_with_an_error() -> None:
    """Once words were shown the stream ends with an error event and no end mark; the cloud is not spliced on."""
    engine = dead_engine(DIED, after=6, text="Prezado senhor, solicito o envio do boleto hoje.")
    async with open_both(engine=engine, policy=PolicySettings(hold_back_tokens=3)) as (stand, cloud):
        answer = await stand.ask(REWRITE, stream=True)
        assert answer.status == 200
        assert answer.text == "Prezado senhor, solicito o envio do"
        assert answer.error["code"] == "engine_died"
        assert "[DONE]" not in answer.events
        assert cloud.requests == []
        receipt = await stand.receipt(answer)
        assert (receipt.route, receipt.status, receipt.finish_reason) == ("local", 503, None)
        assert receipt.local is not None
        assert (receipt.local.outcome, receipt.local.output_tokens) == ("failed", 6)
