"""Calibrations: learned on one part, certified on another, quoted in each decision."""

from dataclasses import replace
from math import log

import msgspec
import pytest

from tests.triage.made import judged
from tests.triage.requests import ask, said
from teto.traffic.task import Task
from teto.triage.calibration import VERSION, Calibration, PrefixRule, learn
from teto.triage.form import Answer
from teto.triage.policy import Case, Decision, Verdict, decide, sampler_fault, wants_empty, wants_second


def rule(n: int = 600, *, with_second: bool = False) -> PrefixRule:
    """A rule for English classification."""
    return learn(
        32,
        judged(400, seed=1, with_second=with_second),
        judged(n, seed=2, with_second=with_second),
        alpha=0.05,
        delta=0.05,
    )


def calibration(*hold_backs: int) -> Calibration:
    """A calibration with a rule of each hold-back."""
    one = rule()
    return Calibration(
        version=VERSION,
        fingerprint="engine:1",
        model="small",
        origin="closed tasks",
        source="made up",
        created="2026-12-01",
        n_score=400,
        n_calibration=600,
        rules=tuple(
            PrefixRule(hold_back_tokens=n, score=one.score, certification=one.certification) for n in hold_backs
        ),
    )


def decided(logprob: float, found: PrefixRule, *, task: Task = Task.CLASSIFY, language: str = "en") -> Decision:
    """The decision about a word of that logprob."""
    return decide(case(logprob, found, task=task, language=language), min_confidence=0.6)


def case(
    logprob: float,
    found: PrefixRule | None,
    *,
    task: Task = Task.CLASSIFY,
    language: str = "en",
    second: str | None = None,
) -> Case:
    """A whole answer of one word, two nats ahead of its rival, as the made-up rows are."""
    answer = Answer(pieces=said("positive", logprob=logprob), finish_reason="stop")
    return Case(
        task=task,
        language=language,
        answer=answer,
        schema=None,
        labels=None,
        empty=None,
        rule=found,
        request_text="",
        given="",
        second=second,
    )


def test_a_kept_answer_quotes_its_promise() -> None:
    """Confidence, threshold, the bound and the rows it rests on are in the decision and in its words."""
    found = rule()
    certified = found.certificate("classify", "en")
    assert certified is not None
    assert certified.threshold is not None
    decision = decided(-0.01, found)
    assert decision.verdict is Verdict.KEEP
    assert decision.promise is not None
    assert decision.promise.bound == certified.threshold.marginal_upper <= 0.05
    assert (decision.promise.n, decision.promise.standing, decision.promise.rule) == (600, "alone", "marginal")
    (reason,) = decision.reasons
    assert "P(kept and wrong) is at most" in reason.text
    assert "from 600 judged calls (its own)" in reason.text


def test_an_unsure_answer_goes_up_by_the_same_threshold() -> None:
    """Below the threshold the promise is still quoted: it is why the answer is not kept."""
    decision = decided(-4.0, rule())
    assert (decision.verdict, decision.reasons[0].code) == (Verdict.ESCALATE, "unsure")
    assert decision.promise is not None


@pytest.mark.parametrize(("task", "language"), [(Task.REWRITE, "en"), (Task.CLASSIFY, "pt")])
def test_what_was_not_calibrated_goes_up(task: Task, language: str) -> None:
    """A task or a language without rows is never kept, however sure."""
    decision = decided(-0.001, rule(), task=task, language=language)
    assert (decision.verdict, decision.reasons[0].code) == (Verdict.ESCALATE, "uncertified")


def test_too_few_rows_certify_nothing() -> None:
    """With 200 rows, 100 short of standing, every answer goes up and the shortage is told."""
    decision = decided(-0.001, rule(200))
    assert decision.reasons[0].code == "uncertified"
    assert "100 short" in decision.reasons[0].text


def test_the_rule_that_waits_longest_within_the_limit() -> None:
    """Of 8, 32 and 96 tokens a limit of 50 takes 32; one below them all takes the shortest."""
    found = calibration(8, 32, 96)
    assert [found.rule(limit).hold_back_tokens for limit in (4, 8, 50, 96, 500)] == [8, 8, 32, 96, 96]


def test_a_calibration_survives_the_disk() -> None:
    """As JSON and back it is the same, and its scores have the same name."""
    found = calibration(8)
    again = msgspec.json.decode(msgspec.json.encode(found), type=Calibration)
    assert again == found
    assert again.rules[0].score_id == found.rules[0].score_id


def test_another_sampler_is_not_what_was_calibrated() -> None:
    """Temperature 0 and a seed are; anything that changes the draw is named."""
    assert sampler_fault(ask("x", temperature=0, seed=3, top_p=0.5)) is None
    fault = sampler_fault(ask("x", temperature=0.7, stop=["\n"]))
    assert fault is not None
    assert "temperature, stop" in fault.text


def test_a_second_answer_is_wanted_in_the_grey_zone_only() -> None:
    """A sure answer is decided at once, an undecided one is drawn again, and a drawn one is not drawn a third time."""
    found = rule(with_second=True)
    assert wants_second(case(-1.2, found))
    assert not wants_second(case(-0.001, found))
    assert not wants_second(case(-1.2, found, second="positive"))
    assert not wants_second(case(-1.2, None))


def test_agreement_is_said_in_the_reason() -> None:
    """The confidence after a second answer is higher when it agrees, and the words say that it was drawn."""
    found = rule(with_second=True)
    agreed = decide(case(-1.2, found, second="Positive."), min_confidence=0.6)
    differs = decide(case(-1.2, found, second="negative"), min_confidence=0.6)
    assert agreed.confidence is not None
    assert differs.confidence is not None
    assert agreed.confidence > differs.confidence
    assert "after a second answer" in agreed.reasons[0].text


def test_the_empty_input_is_wanted_for_closed_sets_only() -> None:
    """Without a set of labels, or without a calibration, nothing more is asked of the engine."""
    found = rule()
    assert not wants_empty(case(-0.1, found))
    with_labels = replace(case(-0.1, found), labels=("positive", "negative"))
    assert wants_empty(with_labels)
    assert not wants_empty(replace(with_labels, rule=None))
    assert not wants_empty(replace(with_labels, labels=("good", "bad")))  # a fault of form decides already


def test_an_answer_is_cut_as_it_was_held_back() -> None:
    """Of five tokens, two held back leave an unfinished answer of two; only behind the fifth its end is known."""
    whole = Answer(pieces=said("a", "b", "c", "d", "e", logprob=log(0.9)), finish_reason="stop")
    assert whole.cut(2).text == "ab"
    assert whole.cut(2).finish_reason is None
    assert whole.cut(5).finish_reason is None
    assert whole.cut(6) is whole
    assert whole.n_tokens == 5
