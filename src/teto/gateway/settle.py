"""From a served call to its receipt."""

from decimal import Decimal

from teto.gateway.cloud import Price
from teto.gateway.served import ServedCall
from teto.physics.cost import Cost, unknown_cost
from teto.physics.energy import unknown_energy
from teto.ports import Upstream
from teto.receipt import DecisionRecord, Receipt
from teto.traffic.tokens import TokenVector

__all__ = ["make_receipt"]


def _local_tokens(call: ServedCall) -> TokenVector | None:
    if call.local is None or not call.local.prompt_tokens:
        return None
    return TokenVector(
        in_uncached=call.local.prompt_tokens,
        out_visible=call.local.output_tokens,
        rule="the local model's own tokens; a cloud's tokenizer counts differently",
    )


def _cost(call: ServedCall) -> Cost:
    if call.cloud is not None:
        return call.cloud.cost
    if call.route == "local":
        return Cost(usd=Decimal(0), note="no API was called; electricity and hardware are not priced")
    return Cost(usd=Decimal(0), note="nothing was answered")


def _cost_had_all_gone_up(call: ServedCall, cloud: Upstream | None, model: str, price: Price) -> Cost:
    if call.cloud is not None and call.route == "cloud":
        return call.cloud.cost
    tokens = _local_tokens(call)
    if cloud is None:
        return unknown_cost("no cloud is configured")
    if tokens is None:
        return unknown_cost("nothing was answered")
    cost = price(cloud, model, tokens, call.created_s)
    return Cost(usd=cost.usd, note=f"{cost.note}; {tokens.rule}")


def make_receipt(
    call: ServedCall, *, total_s: float, cloud: Upstream | None, cloud_model: str, price: Price
) -> Receipt:
    """The receipt of a call that took `total_s` from its arrival."""
    energy = call.local.energy if call.local is not None else unknown_energy("an API does not say what it draws")
    return Receipt(
        id=call.id,
        created_s=call.created_s,
        mode=call.mode,
        requested_model=call.request.model,
        stream=call.request.stream,
        route=call.route,
        degraded=call.degraded,
        status=call.status,
        finish_reason=call.finish_reason,
        decision=DecisionRecord(
            verdict=call.verdict,
            decisive=call.decisive,
            task=call.task,
            confidence=call.confidence,
            threshold=call.threshold,
            calibrated=False,
            reasons=tuple(call.reasons),
        ),
        local=call.local,
        cloud=call.cloud,
        first_token_s=call.first_token_s,
        total_s=total_s,
        energy=energy,
        cost=_cost(call),
        cost_had_all_gone_up=_cost_had_all_gone_up(call, cloud, cloud_model, price),
    )
