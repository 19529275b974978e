"""`teto plan --own / --rented / --api`: the same calls on one's own devices, on rented ones, or by the token."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from teto.cli.asked import Fields, parse_fields
from teto.cli.plan_answers import Row, row_of
from teto.cli.plan_text import show_usd_per_mtok
from teto.cli.table import bullets, table
from teto.errors import ConfigError
from teto.physics.buying import (
    BreakEven,
    Offer,
    Owning,
    Work,
    api_offer,
    break_even,
    own_offer,
    own_or_rent,
    rent_offer,
)
from teto.physics.planning import Candidate, Plan

if TYPE_CHECKING:
    from teto.cli.plan_options import Built

__all__ = ["BuyingAnswer", "buying_answer", "buying_lines", "check_buying", "is_buying"]

_OWN_EXTRAS = {"watts": "of one group at the wall, in place of the rated power"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferRow:
    """One offer with its sums."""

    name: str
    usd_per_month: float
    usd_per_mtok: float
    usd_per_call: float
    offer: Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class BuyingAnswer:
    """The candidate that does the work with the fewest device seconds, and what each way to pay for it costs."""

    model: str
    devices: Row
    utilisation_fraction: float
    calls_per_month: float
    offers: tuple[OfferRow, ...]
    break_evens: tuple[BreakEven, ...]
    reasons: tuple[str, ...]


def is_buying(options: Mapping[str, Any]) -> bool:
    """Whether any way to pay was asked for."""
    return any(options[name] is not None for name in ("own", "rented", "api"))


def check_buying(options: Mapping[str, Any]) -> tuple[Fields | None, Fields | None]:
    """The keys of --own and --rented, before anything is computed.

    Raises:
        ConfigError: a key or an option is missing or unknown.
    """
    own = rented = None
    if options["own"] is not None:
        own = parse_fields("--own", options["own"], required=("price", "years", "kwh"), optional=_OWN_EXTRAS)
    if options["rented"] is not None:
        rented = parse_fields("--rented", options["rented"], required=("usd_per_h",), optional={})
    if len(options["on"]) != 1:
        raise ConfigError(
            f"What is cheaper depends on the device, found {len(options['on'])} with --on instead of one.",
            fix="Name it: --on h100-sxm.",
        )
    if options["rate"] is None:
        raise ConfigError(
            "--rate is missing: what is cheaper depends on the volume.",
            fix="Give the calls a second, such as --rate 2.",
        )
    return own, rented


def buying_answer(options: Mapping[str, Any], built: "Built", found: Plan) -> BuyingAnswer:
    """Own, rented and API, whichever were asked for, for the plan's leanest candidate.

    Where the price of an hour is known and --rented was not given, renting at that price is among them.

    Raises:
        ConfigError: a key or an option is missing, nothing keeps the promise, or the API's price is unknown.
    """
    own, rented = check_buying(options)
    if not found.admitted:
        raise ConfigError(
            f"Nothing on {options['on'][0]} keeps the promise; the nearest: {_nearest(built, found)}.",
            fix="Loosen it, or name another device with --on.",
        )
    best = min(found.admitted, key=lambda one: (one.device_s_per_token, one.call_s))
    work = _work(best, found, options)
    offers: list[Offer] = []
    if own is not None:
        owning = Owning(price_usd=own["price"], years=own["years"], usd_per_kwh=own["kwh"], watts=own.get("watts"))
        offers.append(own_offer(work, owning))
    usd_per_device_h = best.option.usd_per_device_h if rented is None else rented["usd_per_h"]
    if usd_per_device_h is not None:
        offers.append(rent_offer(work, usd_per_group_h=usd_per_device_h * best.option.deployment.n_devices))
    if options["api"] is not None:
        offers.append(_api(work, found, options["api"]))
    fixed = [offer for offer in offers if offer.group_usd_per_month > 0]
    api = [offer for offer in offers if offer.group_usd_per_month == 0]
    reasons = [own_or_rent(fixed[0], fixed[1])] if len(fixed) == 2 else []
    return BuyingAnswer(
        model=options["model"],
        devices=row_of(best, found.tokens),
        utilisation_fraction=work.utilisation_fraction,
        calls_per_month=work.calls_per_month,
        offers=tuple(_row(offer) for offer in offers),
        break_evens=tuple(break_even(one, api[0], work) for one in fixed) if api else (),
        reasons=tuple(reasons),
    )


def _nearest(built: "Built", found: Plan) -> str:
    if found.rejected:
        one = min(found.rejected, key=lambda one: one.excess_fraction)
        return f"{one.option.label}, batch {one.batch}: {'; '.join(one.reasons)}"
    return f"{built.refused[0].label}: {'; '.join(built.refused[0].reasons)}"


def _work(best: Candidate, found: Plan, options: Mapping[str, Any]) -> Work:
    # A group may be filled to the load that was planned; a promise of the first token can lower that further.
    usable = best.group_calls_per_s * options["load"]
    return Work(
        calls_per_s=options["rate"],
        output_tokens=found.tokens.output_tokens,
        n_groups=best.n_groups,
        usable_calls_per_s=usable,
        group_watts=best.group_watts,
    )


def _api(work: Work, found: Plan, model: str) -> Offer:
    from teto.catalog.prices import listed_cost

    cost = listed_cost(
        model=model,
        prompt_tokens=found.tokens.prompt_tokens,
        output_tokens=found.tokens.output_tokens,
        at_unix_s=time.time(),
    )
    if cost.usd is None:
        raise ConfigError(f"--api {model}: {cost.note}.", fix="Check the model's name as its provider writes it.")
    return api_offer(work, name=model, usd_per_call=float(cost.usd), source=cost.note)


def _row(offer: Offer) -> OfferRow:
    return OfferRow(
        name=offer.name,
        usd_per_month=offer.usd_per_month,
        usd_per_mtok=offer.usd_per_mtok,
        usd_per_call=offer.usd_per_month / offer.calls_per_month,
        offer=offer,
    )


def buying_lines(found: BuyingAnswer) -> Iterator[str]:
    """The offers side by side, the break-even volumes, and what each sum is made of."""
    row = found.devices
    yield (
        f"{found.model}: {found.calls_per_month:,.0f} calls a month on {row.n_groups} x "
        f"{'' if row.n_devices == 1 else f'{row.n_devices} '}{row.device} {row.weight_format}, batch {row.batch} "
        f"({row.kind}); {found.utilisation_fraction:.1%} of what they may do is used"
    )
    yield from table(("", "$/month", "$/Mtok out", "$/1,000 calls"), [_cells(one) for one in found.offers])
    yield from bullets([one.reason for one in found.break_evens])
    yield from bullets(found.reasons)
    for one in found.offers:
        for reason in one.offer.reasons:
            yield f"{one.name}: {reason}"
    yield "left out: people, space, spare parts, interest, resale, and what idle hardware draws"


def _cells(one: OfferRow) -> Sequence[str]:
    return (
        one.name,
        f"${one.usd_per_month:,.2f}",
        show_usd_per_mtok(one.usd_per_mtok),
        f"${one.usd_per_call * 1e3:,.4f}",
    )
