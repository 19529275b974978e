"""Receipts as text, where nothing but the receipt decides it."""

from dataclasses import replace

from tests.cli.hand_made import ESCALATED, KEPT, REFUSED
from teto.cli.render import story, summary
from teto.receipt import Phase


def test_the_story_of_an_escalated_call() -> None:
    """A call that went up has a cloud run with tokens and price, and no local one."""
    lines = list(story(ESCALATED))
    assert [line for line in lines if not line.startswith("  at ")] == [
        "receipt  r-up",
        "  answer   cloud, status 200, finish stop, whole",
        "  time     1.25 s",
        "",
        "decision escalate, task unknown, settled by: task_open",
        "  1. Task unknown ('explain' asks for more than the text holds). [task_open]",
        "",
        "cloud run",
        "  cloud    main gpt-4o-mini: status 200, 1000 tokens in, 200 out, 1.23 s",
        "  counted  openai",
        "",
        "cost     $0.00024 (genai-prices, openai gpt-4o-mini)",
        "  had all gone up: $0.00024 (it did)",
        "energy   unknown (answered by the cloud)",
    ]


def test_the_story_of_a_refused_call() -> None:
    """A call that nobody answered is told without a run, and its price is unknown rather than nothing."""
    lines = list(story(REFUSED))
    assert "  answer   none (degraded), status 503, finish -, whole" in lines
    assert not [line for line in lines if "run" in line.split()]
    assert "cost     unknown (no cloud is configured)" in lines


def test_the_summary_behind_an_answer() -> None:
    """Behind an answer stand route, time, the last reason, both phases, money and energy."""
    assert KEPT.local is not None
    bare = replace(
        KEPT.local,
        prefill=None,
        decode=Phase(
            tokens=3,
            seconds=0.08,
            bytes_read=None,
            flops=None,
            ceiling_s=None,
            bound=None,
            energy=KEPT.energy,
        ),
    )
    assert list(summary(replace(KEPT, local=bare))) == [
        "receipt r-kept: local, 520 ms. Confidence 0.975 over 2 tokens.",
        f"  local    {bare.model} on {bare.engine}: kept; 52 prompt tokens (12 cached), 3 out, waited 1 ms",
        "  prefill  unknown: it was stopped before its first token",
        "  decode   3 tokens in 80 ms (37.5 tok/s)",
        "  cost     $0; had all gone up: $0.0000096",
        "  energy   unknown (no counter)",
    ]


def test_a_cloud_without_usage_says_so() -> None:
    """What the cloud did not count is not shown as 0, and its note is."""
    assert ESCALATED.cloud is not None
    receipt = replace(ESCALATED, cloud=replace(ESCALATED.cloud, tokens=None, first_token_s=0.3, note="cut"))
    assert "  cloud    main gpt-4o-mini: status 200, no usage, first token 300 ms, 1.23 s; cut" in list(
        summary(receipt)
    )


def test_a_receipt_of_a_private_call_says_so() -> None:
    """Story and summary name the rule that kept the call here; of any other call they say nothing about privacy."""
    private = replace(KEPT, decision=replace(KEPT.decision, privacy="people"))
    line = "  privacy  local-only by the rule 'people': nothing of it was sent to a cloud"
    assert line in list(story(private))
    assert line in list(summary(private))
    assert not [line for line in [*story(KEPT), *summary(ESCALATED)] if "privacy" in line]
