"""Random draws of local answers for people to judge, written into the ledger."""

import hashlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from teto.errors import RequestError, UnknownNameError

if TYPE_CHECKING:
    from teto.config import Settings
    from teto.receipt import Receipt

__all__ = ["Draws", "draw_receipts", "is_drawn", "label_receipt"]

_MOST_RECEIPTS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """How many calls have a local answer, how many of them are drawn, and which wait for a judgement."""

    n_local: int
    n_drawn: int
    waiting: "tuple[Receipt, ...]"


def is_drawn(receipt_id: str, share: float) -> bool:
    """Whether a call is among a random share: by its id's digest, so that larger shares hold the smaller ones."""
    return int(hashlib.sha256(receipt_id.encode()).hexdigest()[:16], 16) < share * 16**16


async def draw_receipts(settings: "Settings", share: float, since_s: float | None) -> Draws:
    """Draw, and write the draw into the ledger. What the cloud's answer has judged already is not asked again."""
    from teto.cli import wiring
    from teto.receipt import Truth

    ledger = wiring.open_ledger(settings)
    try:
        start_s = None if since_s is None else time.time() - since_s
        receipts = await ledger.recent(limit=_MOST_RECEIPTS, since_s=start_s)
        local = [receipt for receipt in receipts if receipt.local is not None]
        drawn = []
        for receipt in local:
            truth = receipt.truth
            if not is_drawn(receipt.id, share) or (
                truth is not None and truth.source == "cloud" and truth.right is not None
            ):
                continue
            right = truth.right if truth is not None else None
            known = replace(receipt, truth=Truth(source="label", right=right, inclusion_fraction=share))
            if known != receipt:
                await ledger.append(known)
            drawn.append(known)
    finally:
        await ledger.close()
    waiting = tuple(receipt for receipt in drawn if receipt.truth is not None and receipt.truth.right is None)
    return Draws(n_local=len(local), n_drawn=len(drawn), waiting=waiting)


async def label_receipt(settings: "Settings", receipt_id: str, *, right: bool) -> None:
    """Write a judgement into a drawn receipt.

    Raises:
        UnknownNameError: no receipt has that id.
        RequestError: it was not drawn: a label on a call that somebody picked says nothing about the others.
    """
    from teto.cli import wiring

    ledger = wiring.open_ledger(settings)
    try:
        receipt = await ledger.find(receipt_id)
        if receipt is None:
            raise UnknownNameError(f"No receipt has the id {receipt_id!r}.", fix="See `teto receipts draw`.")
        if receipt.truth is None:
            raise RequestError(
                f"{receipt_id} was not drawn at random, so its label would say nothing about other calls.",
                fix="Draw calls with `teto receipts draw --share 0.05`, and judge those.",
            )
        await ledger.append(replace(receipt, truth=replace(receipt.truth, source="label", right=right)))
    finally:
        await ledger.close()
