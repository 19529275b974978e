"""`teto calibrate --from-receipts`: your own traffic, by calls that were drawn at random to be known."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from teto.cli.calibrate_rows import Asked
from teto.errors import RequestError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from teto.config import Settings
    from teto.receipt import Receipt
    from teto.triage.calibration import Calibration
    from teto.triage.judged import Judged

__all__ = ["Drawn", "calibrate_receipts", "drawn_from"]

_MOST_RECEIPTS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Receipts that count, and why the others do not, by reason."""

    receipts: "tuple[Receipt, ...]"
    left_out: dict[str, int]


def _why_not(receipt: "Receipt", fingerprint: str, score_id: str) -> str | None:
    """Why a receipt tells nothing about the rule; None if it counts."""
    if receipt.truth is None:
        return "not drawn at random: neither observed nor shadowed"
    if receipt.local is None or receipt.decision.task == "unknown":
        return "not admitted: the local model did not try"
    if receipt.local.fingerprint != fingerprint:
        return "another engine's"
    if receipt.decision.score_id != score_id:
        return "another score's confidence"
    if receipt.truth.right is None:
        return "truth unknown: a program cannot compare such answers; judge it with `teto receipts label`"
    return None


def drawn_from(receipts: "Iterable[Receipt]", *, fingerprint: str, score_id: str) -> Drawn:
    """The receipts that calibrate this engine's score."""
    kept, left_out = [], Counter[str]()
    for receipt in receipts:
        why = _why_not(receipt, fingerprint, score_id)
        if why is None:
            kept.append(receipt)
        else:
            left_out[why] += 1
    return Drawn(receipts=tuple(kept), left_out=dict(left_out))


def calibrate_receipts(ctx: click.Context, asked: Asked, *, since_s: float | None) -> None:
    """Choose new thresholds on served calls, or judge those in force, and print."""
    from teto.cli import wiring
    from teto.cli.calibrations import calibration_of, calibrations_folder

    settings = wiring.load_settings(ctx)
    receipts = asyncio.run(_receipts(settings, since_s))
    fingerprint = next((r.local.fingerprint for r in receipts if r.local is not None), None)
    if fingerprint is None:
        raise UnavailableError("No receipt has a local run.", fix="Serve in observe mode first: `teto mode observe`.")
    calibration = calibration_of(fingerprint)
    if calibration is None:
        raise UnavailableError(
            f"The engine of these receipts ({fingerprint}) has no score yet.", fix="teto calibrate --builtin"
        )
    _calibrate(receipts, calibration, asked, settings, folder=calibrations_folder())


async def _receipts(settings: "Settings", since_s: float | None) -> "Sequence[Receipt]":
    from teto.cli import wiring

    ledger = wiring.open_ledger(settings)
    try:
        return await ledger.recent(limit=_MOST_RECEIPTS, since_s=None if since_s is None else time.time() - since_s)
    finally:
        await ledger.close()


def _calibrate(
    receipts: "Sequence[Receipt]", calibration: "Calibration", asked: Asked, settings: "Settings", *, folder: "Path"
) -> None:
    from teto.catalog.calibrations import write_calibration
    from teto.cli.calibrate_engine import tell_answer
    from teto.cli.calibrate_rows import Answer, answer_of
    from teto.cli.calibrations import first_prices
    from teto.triage.calibration import recertify

    in_force = calibration.rule(settings.policy.hold_back_tokens)
    drawn = drawn_from(receipts, fingerprint=calibration.fingerprint, score_id=in_force.score_id)
    rows = _judged(drawn.receipts, asked.seed)
    if not asked.dry_run:
        in_force = recertify(
            in_force.hold_back_tokens, in_force.score, rows, alpha=asked.alpha, delta=asked.delta, rule=asked.rule
        )
        calibration = replace(
            calibration,
            origin="receipts",
            source=f"{len(rows):,} served calls",
            created=datetime.now(UTC).date().isoformat(),
            n_calibration=len(rows),
            rules=(in_force,),
        )
    written = None if asked.dry_run else str(write_calibration(calibration, folder))
    priced = replace(asked, usd_per_mtok=asked.usd_per_mtok or first_prices(settings))
    out = "; ".join(f"{n:,} {why}" for why, n in sorted(drawn.left_out.items()))
    found = Answer(
        engine="receipts",
        model=calibration.model,
        fingerprint=calibration.fingerprint,
        source=f"{len(receipts):,} receipts, {len(drawn.receipts):,} that count"
        + (f" (left out: {out})" if out else ""),
        n_items=len(receipts),
        n_admitted=len(rows),
        judged_on=f"{len(rows):,} calls drawn with equal probability",
        rule=asked.rule,
        alpha=asked.alpha,
        delta=asked.delta,
        is_cloud_known=False,
        rules=(answer_of(rows, in_force, priced, n_score=calibration.n_score),),
        written=written,
    )
    tell_answer(found, asked, rows, replace(calibration, rules=(in_force,)))


def _judged(receipts: "Sequence[Receipt]", seed: int) -> "list[Judged]":
    """The receipts as judged rows, thinned so that each had the same chance to be here.

    Raises:
        RequestError: there are none.
    """
    import numpy as np

    from teto.triage.labelled import even_mask

    truths = [receipt.truth for receipt in receipts if receipt.truth is not None]
    if not truths:
        raise RequestError(
            "No receipt counts: the local answers of none are known by a random draw.",
            fix="Serve in observe mode for a while (`teto mode observe`), or set policy.shadow_fraction.",
        )
    inclusion = np.array([truth.inclusion_fraction for truth in truths])
    mask = even_mask(inclusion, least_inclusion_fraction=float(inclusion.min()), generator=np.random.default_rng(seed))
    return [_row(receipt) for receipt, stays in zip(receipts, mask, strict=True) if stays]


def _row(receipt: "Receipt") -> "Judged":
    from teto.triage.judged import Judged

    run, truth = receipt.local, receipt.truth
    assert run is not None  # noqa: S101 - such receipts were left out
    assert truth is not None  # noqa: S101
    seconds = sum(phase.seconds for phase in (run.prefill, run.decode) if phase is not None)
    return Judged(
        id=receipt.id,
        task=receipt.decision.task,
        language=receipt.decision.language,
        signals=None,
        n_tokens=run.output_tokens,
        right=bool(truth.right),
        prompt_tokens=run.prompt_tokens,
        local_s=seconds + sum(extra.seconds for extra in run.extra),
        given_score=receipt.decision.confidence if receipt.decision.confidence is not None else 0.0,
    )
