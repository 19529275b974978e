"""A receipt with every part filled in, for whoever keeps or shows one."""

from dataclasses import replace
from decimal import Decimal

from teto.physics.cost import Cost, unknown_cost
from teto.physics.energy import Energy, unknown_energy
from teto.receipt import CloudRun, DecisionRecord, LocalRun, Phase, Receipt
from teto.traffic.tokens import TokenVector
from teto.triage.admission import Reason

__all__ = ["a_receipt"]


def a_receipt(receipt_id: str = "r-1", *, created_s: float = 1000.0, status: int = 200) -> Receipt:
    """A receipt with every part filled in."""
    energy = Energy(joules=1.5, kind="measured", boundary="CPU package", note="powercap")
    phase = Phase(
        tokens=20,
        seconds=0.2,
        bytes_read=1e9,
        flops=2e9,
        ceiling_s=0.15,
        bound="memory",
        energy=replace(energy, joules=0.5, kind="derived"),
    )
    return Receipt(
        id=receipt_id,
        created_s=created_s,
        mode="auto",
        requested_model="teto/auto",
        stream=True,
        route="cloud",
        degraded=False,
        status=status,
        finish_reason="stop",
        decision=DecisionRecord(
            verdict="escalate",
            decisive="unsure",
            task="classify",
            confidence=0.5,
            threshold=0.85,
            reasons=(Reason(code="unsure", text="Não é certo.", figures={"confidence": 0.5}),),
        ),
        local=LocalRun(
            engine="fake",
            model="fake-model",
            fingerprint="fake:1",
            outcome="discarded",
            finish_reason=None,
            prompt_tokens=20,
            cached_tokens=0,
            output_tokens=3,
            count_source="fake",
            queue_s=0.0,
            prefill=phase,
            decode=None,
            energy=energy,
            answer_sha256=None,
        ),
        cloud=CloudRun(
            upstream="cloud",
            model="big-1",
            status=200,
            finish_reason="stop",
            tokens=TokenVector(in_uncached=20, out_visible=5, rule="openai"),
            first_token_s=0.1,
            total_s=0.4,
            cost=Cost(usd=Decimal("0.000123"), note="price from teto.toml"),
            answer_sha256="00",
        ),
        first_token_s=0.3,
        total_s=0.6,
        energy=unknown_energy("no counter"),
        cost=Cost(usd=Decimal("0.000123"), note="price from teto.toml"),
        cost_had_all_gone_up=unknown_cost("no cloud is configured"),
    )
