"""From a served call to its receipt."""

from decimal import Decimal

from teto.gateway.cloud import Price
from teto.gateway.privacy import clean_reason
from teto.gateway.served import ServedCall
from teto.physics.cost import Cost, unknown_cost
from teto.physics.energy import Energy, added, unknown_energy
from teto.ports import Upstream
from teto.receipt import DecisionRecord, LocalRun, Receipt, Texts
from teto.traffic.tokens import TokenVector
from teto.triage.privacy.find import redact

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
    if call.privacy is not None:
        return unknown_cost("privacy keeps it here: it could not have gone up")
    if cloud is None:
        return unknown_cost("no cloud is configured")
    if tokens is None:
        return unknown_cost("nothing was answered")
    cost = price(cloud, model, tokens, call.created_s)
    return Cost(usd=cost.usd, note=f"{cost.note}; {tokens.rule}")


def _energy(run: LocalRun | None) -> Energy:
    if run is None:
        return unknown_energy("an API does not say what it draws")
    return added([run.energy, *(extra.energy for extra in run.extra)])


def _texts(call: ServedCall) -> Texts:
    asked = "\n\n".join(f"[{message.role}] {message.text}" for message in call.request.messages)
    return Texts(asked=asked, local=call.local_text, cloud=call.cloud_text)


def make_receipt(
    call: ServedCall, *, total_s: float, cloud: Upstream | None, cloud_model: str, price: Price, keep_texts: bool
) -> Receipt:
    """The receipt of a call that took `total_s` from its arrival."""
    energy = _energy(call.local)
    return Receipt(
        id=call.id,
        created_s=call.created_s,
        mode=call.mode,
        requested_model=call.request.model if call.privacy is None else redact(call.request.model),
        stream=call.request.stream,
        route=call.route,
        degraded=call.degraded,
        status=call.status,
        finish_reason=call.finish_reason,
        decision=DecisionRecord(
            verdict=call.verdict,
            decisive=call.decisive,
            task=call.task,
            language=call.language,
            confidence=call.confidence,
            threshold=call.threshold,
            reasons=tuple(call.reasons if call.privacy is None else map(clean_reason, call.reasons)),
            promise=call.promise,
            score_id=call.score_id,
            privacy=call.privacy,
        ),
        local=call.local,
        cloud=call.cloud,
        first_token_s=call.first_token_s,
        total_s=total_s,
        energy=energy,
        cost=_cost(call),
        truth=call.truth,
        texts=_texts(call) if keep_texts and call.privacy is None else None,
        cost_had_all_gone_up=_cost_had_all_gone_up(call, cloud, cloud_model, price),
    )
