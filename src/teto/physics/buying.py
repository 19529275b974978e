"""Own, rent, or pay by the token: what the same calls cost each way, and the volume at which the answer changes.

Owning costs the price over its years of use and electricity for the work done; renting costs every hour that the
machines stand ready; an API costs only calls. Left out, because only the buyer knows them: people, space, spare
parts, interest, resale, and what idle hardware draws.
"""

from dataclasses import dataclass
from typing import Final

from teto.physics.values import require_not_negative, require_positive

__all__ = ["HOURS_PER_MONTH", "BreakEven", "Offer", "Owning", "Work", "api_offer", "break_even", "own_offer"]
__all__ += ["own_or_rent", "rent_offer"]

HOURS_PER_MONTH: Final = 8766 / 12  # of a mean year
_SECONDS_PER_MONTH: Final = HOURS_PER_MONTH * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is to be done, and what one group of devices can do of it.

    `usable_calls_per_s` is a group's capacity at the planned load; `group_watts` is its draw at that load.
    """

    calls_per_s: float
    output_tokens: int
    n_groups: int
    usable_calls_per_s: float
    group_watts: float | None

    def __post_init__(self) -> None:
        require_positive(self, "calls_per_s", "output_tokens", "n_groups", "usable_calls_per_s", "group_watts")

    @property
    def calls_per_month(self) -> float:
        """Calls in a mean month."""
        return self.calls_per_s * _SECONDS_PER_MONTH

    @property
    def utilisation_fraction(self) -> float:
        """The share of the usable capacity that the work takes."""
        return self.calls_per_s / (self.n_groups * self.usable_calls_per_s)

    @property
    def busy_s_per_call(self) -> float:
        """Seconds of one group for a call."""
        return 1 / self.usable_calls_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Owning:
    """The price of one group with its host, the years that it is used, and the price of electricity.

    `watts` of one group at the wall stands in for the estimate; None: the estimate, where there is one.
    """

    price_usd: float
    years: float
    usd_per_kwh: float
    watts: float | None = None

    def __post_init__(self) -> None:
        require_positive(self, "price_usd", "years", "watts")
        require_not_negative(self, "usd_per_kwh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One way to pay for the work: fixed dollars a month for one group, and dollars that each call adds."""

    name: str
    group_usd_per_month: float
    n_groups: int
    usd_per_call: float
    calls_per_month: float
    output_tokens: int
    reasons: tuple[str, ...]

    @property
    def usd_per_month(self) -> float:
        """All of it."""
        return self.n_groups * self.group_usd_per_month + self.calls_per_month * self.usd_per_call

    @property
    def usd_per_mtok(self) -> float:
        """Dollars for a million output tokens, prompts included."""
        return self.usd_per_month / (self.calls_per_month * self.output_tokens) * 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """From how many calls a month the first offer is cheaper than the second; None: at no volume."""

    calls_per_month: float | None
    utilisation_fraction: float | None
    reason: str


def own_offer(work: Work, owning: Owning) -> Offer:
    """Hardware of one's own: it is paid whether it works or not; electricity only while it works."""
    fixed = owning.price_usd / (owning.years * 12)
    watts = owning.watts if owning.watts is not None else work.group_watts
    reasons = [
        f"{owning.price_usd:,.0f} USD over {owning.years:g} years is {fixed:,.2f} USD a month for each group",
    ]
    if watts is None:
        reasons.append("its power is unknown: electricity is left out, so this is too low (give watts= in --own)")
        joules = 0.0
    else:
        joules = watts * work.busy_s_per_call
        reasons.append(
            f"electricity: {watts:,.0f} W x {work.busy_s_per_call:.3g} s a call at {owning.usd_per_kwh:g} USD/kWh; "
            "idle draw not counted"
        )
    return Offer(
        name="own",
        group_usd_per_month=fixed,
        n_groups=work.n_groups,
        usd_per_call=joules / 3.6e6 * owning.usd_per_kwh,
        calls_per_month=work.calls_per_month,
        output_tokens=work.output_tokens,
        reasons=tuple(reasons),
    )


def rent_offer(work: Work, *, usd_per_group_h: float) -> Offer:
    """Rented groups that stand ready all month."""
    return Offer(
        name="rented",
        group_usd_per_month=usd_per_group_h * HOURS_PER_MONTH,
        n_groups=work.n_groups,
        usd_per_call=0.0,
        calls_per_month=work.calls_per_month,
        output_tokens=work.output_tokens,
        reasons=(f"{usd_per_group_h:g} USD an hour for each group, {HOURS_PER_MONTH:g} hours a month",),
    )


def api_offer(work: Work, *, name: str, usd_per_call: float, source: str) -> Offer:
    """An API: nothing fixed."""
    return Offer(
        name=name,
        group_usd_per_month=0.0,
        n_groups=0,
        usd_per_call=usd_per_call,
        calls_per_month=work.calls_per_month,
        output_tokens=work.output_tokens,
        reasons=(source,),
    )


def break_even(fixed: Offer, by_call: Offer, work: Work) -> BreakEven:
    """The volume from which one's own (or rented) group is cheaper than paying for each call.

    It holds for one group; above its capacity another group starts empty, and the comparison starts again from
    the utilisation given here.
    """
    saved = by_call.usd_per_call - fixed.usd_per_call
    if saved <= 0:
        return BreakEven(
            calls_per_month=None,
            utilisation_fraction=None,
            reason=f"never: electricity alone costs as much as a call to {by_call.name}",
        )
    calls = fixed.group_usd_per_month / saved
    most = work.usable_calls_per_s * _SECONDS_PER_MONTH
    if calls > most:
        full = fixed.group_usd_per_month / most + fixed.usd_per_call
        return BreakEven(
            calls_per_month=None,
            utilisation_fraction=None,
            reason=(
                f"never: even a full group costs {full * 1e3:.3g} USD for a thousand calls, "
                f"and {by_call.name} {by_call.usd_per_call * 1e3:.3g}"
            ),
        )
    return BreakEven(
        calls_per_month=calls,
        utilisation_fraction=calls / most,
        reason=(
            f"{fixed.name} is cheaper than {by_call.name} from {calls:,.0f} calls a month on "
            f"({calls * work.output_tokens / 1e6:,.1f} M output tokens), when a group is {calls / most:.0%} used"
        ),
    )


def own_or_rent(own: Offer, rented: Offer) -> str:
    """From how many hours of use a day owning a group is cheaper than renting it for those hours."""
    busy_usd_per_h = own.usd_per_call * own.calls_per_month / (own.n_groups * HOURS_PER_MONTH)
    rent_usd_per_h = rented.group_usd_per_month / HOURS_PER_MONTH
    if rent_usd_per_h <= busy_usd_per_h:
        return "renting is cheaper at any number of hours: it costs less than the electricity of owning"
    hours = own.group_usd_per_month / (rent_usd_per_h - busy_usd_per_h) / HOURS_PER_MONTH * 24
    if hours > 24:
        return f"renting is cheaper even around the clock: owning would need {hours:.1f} hours of use a day"
    return f"owning is cheaper than renting from {hours:.1f} hours of use a day on"
