"""What a call to an upstream costs: the operator's own price, else genai-prices at the call's date, else unknown."""

from datetime import UTC, datetime
from decimal import Decimal

from teto.physics.cost import Cost, unknown_cost
from teto.traffic.tokens import TokenVector
from teto.units import MTOK

__all__ = ["OwnPrice", "listed_cost", "own_cost", "published_cost"]

OwnPrice = tuple[Decimal, Decimal]  # dollars for a million input and a million output tokens


def own_cost(tokens: TokenVector, price: OwnPrice) -> Cost:
    """The cost at the operator's own price per million tokens in and out."""
    tokens_in, tokens_out = tokens.input_total, tokens.output_total
    if tokens_in is None or tokens_out is None:
        return unknown_cost("the upstream sent no usage")
    per_in, per_out = price
    return Cost(usd=(tokens_in * per_in + tokens_out * per_out) / MTOK, note="price from teto.toml")


def published_cost(tokens: TokenVector, *, model: str, base_url: str, at_unix_s: float) -> Cost:
    """The cost at the price that genai-prices lists for the provider behind the URL on the call's date."""
    if tokens.input_total is None or tokens.output_total is None:
        return unknown_cost("the upstream sent no usage")
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - its price table takes 0.3 s to load

    usage = Usage(
        input_tokens=tokens.input_total,
        cache_read_tokens=tokens.in_cache_read,
        output_tokens=tokens.output_total,
    )
    try:
        found = calc_price(
            usage,
            model,
            provider_api_url=base_url,
            genai_request_timestamp=datetime.fromtimestamp(at_unix_s, UTC),
        )
    except (LookupError, ValueError) as error:
        return unknown_cost(f"genai-prices knows no price for {model!r} at this URL ({type(error).__name__})")
    return Cost(usd=found.total_price, note=f"genai-prices, {found.provider.id} {found.model.id}")


def listed_cost(*, model: str, prompt_tokens: int, output_tokens: int, at_unix_s: float) -> Cost:
    """The cost of one call at the price that genai-prices lists for the model on that date, nothing cached.

    A name that several providers sell is the first one's; the note says whose price it is.
    """
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - its price table takes 0.3 s to load

    when = datetime.fromtimestamp(at_unix_s, UTC)
    try:
        found = calc_price(
            Usage(input_tokens=prompt_tokens, output_tokens=output_tokens), model, genai_request_timestamp=when
        )
    except (LookupError, ValueError):
        return unknown_cost(f"genai-prices knows no price for {model!r}")
    return Cost(
        usd=found.total_price, note=f"genai-prices, {found.provider.id} {found.model.id}, list price of {when:%Y-%m-%d}"
    )
