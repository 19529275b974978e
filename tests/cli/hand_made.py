"""Receipts whose every figure was chosen, so that their text can be checked."""

from decimal import Decimal
from typing import Final

from teto.physics.cost import Cost, unknown_cost
from teto.physics.energy import derived_energy, unknown_energy
from teto.receipt import CloudRun, DecisionRecord, LocalRun, Phase, Receipt
from teto.traffic.tokens import TokenVector
from teto.triage.admission import Reason

__all__ = ["ESCALATED", "KEPT", "REFUSED"]

_PREFILL: Final = Phase(
    tokens=40,
    seconds=0.4,
    bytes_read=1.92e9,
    flops=1.04e11,
    ceiling_s=0.2,
    bound="compute",
    energy=derived_energy(power_w=20, seconds=0.4, boundary="package", source="power.mean_power_w"),
)
_DECODE: Final = Phase(
    tokens=3,
    seconds=0.08,
    bytes_read=2.94e9,
    flops=7.8e9,
    ceiling_s=0.062,
    bound="memory",
    energy=unknown_energy("no counter"),
)
_LOCAL: Final = LocalRun(
    engine="embedded llama.cpp",
    model="qwen2.5-coder-1.5b-instruct-q4_k_m",
    fingerprint="cc324af070c2ecbf:2026.10.11549",
    outcome="kept",
    finish_reason="stop",
    prompt_tokens=52,
    cached_tokens=12,
    output_tokens=3,
    count_source="engine",
    queue_s=0.001,
    prefill=_PREFILL,
    decode=_DECODE,
    energy=unknown_energy("no counter"),
    answer_sha256="0" * 64,
)
KEPT: Final = Receipt(
    id="r-kept",
    created_s=1_800_000_000.0,  # 2027-01-15 08:00:00 UTC
    mode="auto",
    requested_model="teto/auto",
    stream=True,
    route="local",
    degraded=False,
    status=200,
    finish_reason="stop",
    decision=DecisionRecord(
        verdict="keep",
        decisive="confident",
        task="classify",
        confidence=0.97531,
        threshold=0.85,
        reasons=(
            Reason(code="task_closed", text="Task classify ('sentiment')."),
            Reason(code="confident", text="Confidence 0.975 over 2 tokens.", figures={"confidence": 0.97531}),
        ),
    ),
    local=_LOCAL,
    cloud=None,
    first_token_s=0.45,
    total_s=0.52,
    energy=unknown_energy("no counter"),
    cost=Cost(usd=Decimal(0), note="answered here"),
    cost_had_all_gone_up=Cost(usd=Decimal("0.00000960"), note="price from teto.toml"),
)
ESCALATED: Final = Receipt(
    id="r-up",
    created_s=1_800_000_060.0,
    mode="auto",
    requested_model="gpt-4o-mini",
    stream=False,
    route="cloud",
    degraded=False,
    status=200,
    finish_reason="stop",
    decision=DecisionRecord(
        verdict="escalate",
        decisive="task_open",
        task="unknown",
        confidence=None,
        threshold=None,
        reasons=(Reason(code="task_open", text="Task unknown ('explain' asks for more than the text holds)."),),
    ),
    local=None,
    cloud=CloudRun(
        upstream="main",
        model="gpt-4o-mini",
        status=200,
        finish_reason="stop",
        tokens=TokenVector(in_uncached=600, in_cache_read=400, out_visible=200, rule="openai"),
        first_token_s=None,
        total_s=1.234,
        cost=Cost(usd=Decimal("0.00024"), note="genai-prices, openai gpt-4o-mini"),
        answer_sha256="1" * 64,
    ),
    first_token_s=None,
    total_s=1.25,
    energy=unknown_energy("answered by the cloud"),
    cost=Cost(usd=Decimal("0.00024"), note="genai-prices, openai gpt-4o-mini"),
    cost_had_all_gone_up=Cost(usd=Decimal("0.00024"), note="it did"),
)
REFUSED: Final = Receipt(
    id="r-none",
    created_s=1_800_000_120.0,
    mode="auto",
    requested_model="teto/auto",
    stream=False,
    route="none",
    degraded=True,
    status=503,
    finish_reason=None,
    decision=DecisionRecord(
        verdict="refuse",
        decisive="none",
        task="unknown",
        confidence=None,
        threshold=None,
        reasons=(),
    ),
    local=None,
    cloud=None,
    first_token_s=None,
    total_s=0.002,
    energy=unknown_energy("nothing ran"),
    cost=unknown_cost("no cloud is configured"),
    cost_had_all_gone_up=unknown_cost("no cloud is configured"),
)
