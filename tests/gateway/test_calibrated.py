"""A calibrated gateway: decisions quote their promise, and what they cost beside the answer is in the receipt."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from math import log

from tests.fakes import FakeEngine, engine_facts, sure_pieces
from tests.gateway.stand import open_both, open_stand
from tests.triage.made import judged
from teto.config import PolicySettings
from teto.errors import EngineError
from teto.triage.calibration import VERSION, Calibration, PrefixRule, learn
from teto.wire.chat import ChatRequest
from teto.wire.generation import Finish, Piece, TokenLogprob

QUESTION = "Classify the sentiment as positive or negative.\n\nText: the waiter was kind and the soup was hot"


def calibration(*, hold_back_tokens: int = 32, with_second: bool = False, language: str = "en") -> Calibration:
    """A calibration of the fake engine for classification in one language."""
    rule = learn(
        hold_back_tokens,
        judged(400, seed=1, with_second=with_second, language=language),
        judged(600, seed=2, with_second=with_second, language=language),
        alpha=0.05,
        delta=0.05,
    )
    return of(rule)


def of(*rules: PrefixRule) -> Calibration:
    """A calibration of those rules."""
    return Calibration(
        version=VERSION,
        fingerprint=engine_facts().fingerprint,
        model="fake-model",
        origin="closed tasks",
        source="made up",
        created="2026-12-01",
        n_score=400,
        n_calibration=600,
        rules=rules,
    )


@dataclass(slots=True)
class ListeningEngine(FakeEngine):
    """Remembers what it was asked, and says `other` to whatever is not the first question."""

    other: list[Piece] = field(default_factory=list)
    other_error: EngineError | None = None
    asked: list[ChatRequest] = field(default_factory=list)

    async def generate(self, request: ChatRequest, *, output_limit_tokens: int) -> AsyncGenerator[Piece | Finish, None]:
        """Say the pieces of the first question, or the others."""
        self.asked.append(request)
        first = self.pieces
        if len(self.asked) > 1:
            self.pieces, self.error = self.other, self.other_error
        async for event in FakeEngine.generate(self, request, output_limit_tokens=output_limit_tokens):
            yield event
        self.pieces = first


def label(text: str, probability: float, rival: str = "negative") -> list[Piece]:
    """A label of that probability, its rival with the rest."""
    token = TokenLogprob(
        text=text, logprob=log(probability), top=((text, log(probability)), (rival, log(1 - probability)))
    )
    return [Piece(text=text, tokens=(token,))]


async def test_a_kept_answer_quotes_its_promise() -> None:
    """The receipt holds confidence, threshold, bound, n and the score that they are of."""
    engine = ListeningEngine(pieces=label("positive", 0.995), other=label("positive", 0.5))
    async with open_stand(engine=engine, calibration=calibration()) as stand:
        answer = await stand.ask(QUESTION)
        assert answer.route == "local"
        decision = (await stand.receipt(answer)).decision
        assert decision.promise is not None
        assert decision.promise.bound <= 0.05
        assert (decision.promise.n, decision.promise.standing) == (600, "alone")
        assert decision.score_id == calibration().rules[0].score_id
        assert decision.language == "en"
        assert "P(kept and wrong) is at most" in decision.decisive_text


async def test_another_language_is_not_certified_and_goes_up() -> None:
    """A calibration of Portuguese keeps no English answer."""
    async with open_both(engine=FakeEngine(), calibration=calibration(language="pt")) as (stand, cloud):
        answer = await stand.ask(QUESTION)
        assert (answer.route, answer.headers["x-teto-reason"]) == ("cloud", "uncertified")
        assert len(cloud.requests) == 1


async def test_the_empty_input_is_asked_once_for_an_instruction() -> None:
    """The second call with the same instruction finds the answer remembered; only the first pays for it."""
    engine = ListeningEngine(pieces=label("positive", 0.995), other=label("positive", 0.5))
    async with open_stand(engine=engine, calibration=calibration()) as stand:
        first = await stand.receipt(await stand.ask(QUESTION))
        engine.asked.clear()
        second = await stand.receipt(await stand.ask(QUESTION.replace("waiter", "cook")))
        assert first.local is not None
        assert second.local is not None
        assert [extra.kind for extra in first.local.extra] == ["empty input"]
        assert second.local.extra == ()
        assert len(engine.asked) == 1


async def test_the_empty_input_holds_no_given_text() -> None:
    """What is asked beside the answer is the instruction alone."""
    engine = ListeningEngine(pieces=label("positive", 0.995), other=label("positive", 0.5))
    async with open_stand(engine=engine, calibration=calibration()) as stand:
        await stand.ask(QUESTION)
        assert "Classify the sentiment" in engine.asked[1].messages[0].text
        assert "waiter" not in engine.asked[1].messages[0].text


async def test_a_second_answer_is_drawn_in_the_grey_zone() -> None:
    """An undecided short answer is drawn again at temperature 0.7, and the receipt says what that cost."""
    engine = ListeningEngine(pieces=sure_pieces("positive", logprob=-1.2), other=sure_pieces("positive"))
    async with open_stand(engine=engine, calibration=calibration(with_second=True)) as stand:
        receipt = await stand.receipt(
            await stand.ask("Which language is this text in?\n\nText: the soup was hot today")
        )
        assert receipt.local is not None
        assert [extra.kind for extra in receipt.local.extra] == ["second answer"]
        assert engine.asked[1].fields.temperature == 0.7
        assert "after a second answer" in receipt.decision.reasons[-1].text or receipt.degraded


async def test_a_failure_beside_the_answer_escalates() -> None:
    """Without what the calibration had, its promise would not hold: the call goes up."""
    engine = ListeningEngine(pieces=label("positive", 0.995), other_error=EngineError("The fake broke."))
    async with open_both(engine=engine, calibration=calibration()) as (stand, cloud):
        answer = await stand.ask(QUESTION)
        assert answer.route == "cloud"
        assert len(cloud.requests) == 1


async def test_another_sampler_goes_up() -> None:
    """A client that asks for temperature 0.9 is outside of what was calibrated; nothing is generated for it here."""
    engine = FakeEngine()
    async with open_both(engine=engine, calibration=calibration()) as (stand, _):
        answer = await stand.ask(QUESTION, temperature=0.9)
        assert (answer.route, answer.headers["x-teto-reason"]) == ("cloud", "sampler")
        assert engine.started == 0


async def test_the_rule_of_the_hold_back_decides() -> None:
    """With rules for 2 and 96 tokens and a hold-back of 10, a long answer is judged after 2 of its tokens."""
    short = calibration(hold_back_tokens=2).rules[0]
    both = of(short, replace(short, hold_back_tokens=96))

    engine = FakeEngine(pieces=sure_pieces("one two three four five six seven", logprob=-9.0))
    async with open_both(engine=engine, calibration=both, policy=PolicySettings(hold_back_tokens=10)) as (stand, _):
        receipt = await stand.receipt(await stand.ask(QUESTION))
        assert receipt.local is not None
        assert receipt.local.output_tokens == 2
