"""How fast a cloud is taken to be."""

from dataclasses import replace
from decimal import Decimal

from teto.gateway.pace import CloudPace
from teto.physics.cost import Cost
from teto.receipt import CloudRun
from teto.traffic.tokens import TokenVector


def run(first_s: float | None, total_s: float, tokens: int) -> CloudRun:
    """A call that ended well."""
    return CloudRun(
        upstream="a", model="big", status=200, finish_reason="stop",
        tokens=TokenVector(in_uncached=5, out_visible=tokens, rule="test"),
        first_token_s=first_s, total_s=total_s, cost=Cost(usd=Decimal(0), note=""), answer_sha256=None,
    )  # fmt: skip


def test_medians_by_hand() -> None:
    """First tokens after 0.2, 0.4 and 0.9 s, then 10, 20 and 40 ms a token: 0.4 + 100 times 20 ms."""
    pace = CloudPace()
    for first_s, total_s, tokens in ((0.2, 0.3, 10), (0.4, 1.4, 50), (0.9, 1.3, 10)):
        pace.saw(run(first_s, total_s, tokens))
    assert pace.finish_s(100) == 0.4 + 100 * 0.02


def test_three_good_calls_are_needed() -> None:
    """Calls that failed, were cancelled or had no usage teach nothing."""
    pace = CloudPace()
    good = run(0.1, 0.2, 10)
    for taught in (good, good, replace(good, status=500), replace(good, note="cancelled"), replace(good, tokens=None)):
        pace.saw(taught)
        assert pace.finish_s(10) is None
    pace.saw(run(None, 1.0, 10))
    assert pace.finish_s(10) is not None
