"""`teto calibrate --builtin` and `--data`: items run on the engine of the settings, judged, and calibrated on."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from teto.cli.calibrate_rows import HOLD_BACKS_TOKENS, Answer, Asked, RuleAnswer, answer_of, evaluation_of
from teto.errors import RequestError, UnavailableError

if TYPE_CHECKING:
    from teto.closed_tasks.recorded import Recorded
    from teto.config import Settings
    from teto.ports import EngineFacts
    from teto.traffic.task import Task
    from teto.triage.calibration import Calibration, Origin
    from teto.triage.judged import Judged

__all__ = ["Judge", "calibrate_engine", "judge_all", "learn_all", "tell_answer"]

Judge = Callable[[dict[str, Any], str], bool]
_PROGRESS_EVERY = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Items, what the engine said to them, and how they are judged."""

    items: Sequence[dict[str, Any]]
    recorded: "Sequence[Recorded]"
    facts: "EngineFacts"
    is_right: Judge
    origin: "Origin"
    source: str


def calibrate_engine(
    ctx: click.Context, asked: Asked, *, data: Path | None, n_items: int | None, keep_untouched: bool
) -> None:
    """Run, judge, calibrate or dry-run, and print."""
    from teto.cli import wiring
    from teto.cli.calibrations import calibration_of, calibrations_folder, first_prices

    settings = wiring.load_settings(ctx)
    run = _run_builtin(settings, n_items) if data is None else _run_data(settings, data, n_items)
    judged = judge_all(run.items, run.recorded, run.is_right)
    existing = calibration_of(run.facts.fingerprint)
    written: str | None = None
    if asked.dry_run:
        if existing is None:
            raise UnavailableError(
                f"The engine {run.facts.model} ({run.facts.fingerprint}) has no calibration to judge.",
                fix="Leave --dry-run out to make one.",
            )
        calibration, on = existing, {rule.hold_back_tokens: judged[rule.hold_back_tokens] for rule in existing.rules}
        judged_on = f"all {len(judged[HOLD_BACKS_TOKENS[-1]]):,} of them; rows that it was made from flatter it"
    else:
        base = existing if data is not None else None
        calibration, on, judged_on = learn_all(run, judged, asked, base=base, keep_untouched=keep_untouched)
        from teto.catalog.calibrations import write_calibration

        written = str(write_calibration(calibration, calibrations_folder()))
    priced = replace(asked, usd_per_mtok=asked.usd_per_mtok or first_prices(settings))
    rules = tuple(
        answer_of(on[rule.hold_back_tokens], rule, priced, n_score=calibration.n_score) for rule in calibration.rules
    )
    last = on[calibration.rules[-1].hold_back_tokens]
    tell_answer(
        _answer(run, judged=judged, rules=rules, asked=asked, judged_on=judged_on, written=written),
        asked,
        last,
        calibration,
    )


def _answer(
    run: _Run,
    *,
    judged: "dict[int, list[Judged]]",
    rules: tuple[RuleAnswer, ...],
    asked: Asked,
    judged_on: str,
    written: str | None,
) -> Answer:
    rows = judged[HOLD_BACKS_TOKENS[-1]]
    return Answer(
        engine=run.facts.name,
        model=run.facts.model,
        fingerprint=run.facts.fingerprint,
        source=run.source,
        n_items=len(run.recorded),
        n_admitted=len(rows),
        judged_on=judged_on,
        rule=asked.rule,
        alpha=asked.alpha,
        delta=asked.delta,
        is_cloud_known=all(row.cloud_right is not None for row in rows),
        rules=rules,
        written=written,
    )


def tell_answer(found: Answer, asked: Asked, rows: "Sequence[Judged]", calibration: "Calibration") -> None:
    """Print the answer, and draw the curve of the rule that waits longest if asked."""
    from teto.cli.asked import json_text
    from teto.cli.calibrate_rows_text import answer_lines

    if asked.as_json:
        click.echo(json_text(found))
    else:
        for line in answer_lines(found):
            click.echo(line)
    if asked.picture is not None:
        from teto.charts.deferral import DeferralFigure, deferral_svg

        evaluation = evaluation_of(rows, calibration.rules[-1], asked)
        figure = DeferralFigure(subject=found.model, evaluation=evaluation, is_share=True)
        asked.picture.write_text(deferral_svg(figure, asked.lang), encoding="utf-8")
        click.echo(f"picture: {asked.picture}", err=True)


# -- running ------------------------------------------------------------------------------------------------------


def _run_builtin(settings: "Settings", n_items: int | None) -> _Run:
    from teto.closed_tasks.check import is_right
    from teto.closed_tasks.items import closed_task_items

    items = closed_task_items()[:n_items]
    recorded, facts = asyncio.run(_record(settings, items, "closed-tasks"))
    source = f"the shipped closed tasks, {len(items):,} of {len(closed_task_items()):,}"
    return _Run(items=items, recorded=recorded, facts=facts, is_right=is_right, origin="closed tasks", source=source)


def _run_data(settings: "Settings", path: Path, n_items: int | None) -> _Run:
    from teto.cli.labelled_data import agrees, read_labelled

    items = read_labelled(path)[:n_items]
    recorded, facts = asyncio.run(_record(settings, items, hashlib.sha256(path.read_bytes()).hexdigest()[:12]))
    return _Run(items=items, recorded=recorded, facts=facts, is_right=agrees, origin="labelled", source=f"{path.name}")


async def _record(
    settings: "Settings", items: Sequence[dict[str, Any]], name: str
) -> "tuple[list[Recorded], EngineFacts]":
    """What the engine says to the items; what an earlier run kept is not asked again."""
    import msgspec

    from teto.catalog.task_model import shipped_task_model
    from teto.cli import wiring
    from teto.cli.calibrations import recordings_folder
    from teto.closed_tasks.record import record, request_of
    from teto.closed_tasks.recorded import drop_torn_end, read_records
    from teto.triage.recognise import recognise

    model = shipped_task_model()

    def tell(text: str) -> None:
        click.echo(f"teto: {text}", err=True)

    def task_of(item: dict[str, Any]) -> "Task":
        return recognise(request_of(item), model).task

    engine = await wiring.open_engine(settings, tell)
    if engine is None:
        raise UnavailableError("engine.kind is none: there is no engine to calibrate.", fix="Set engine.kind.")
    try:
        facts = engine.facts
        if "logprobs" not in facts.capabilities:
            raise UnavailableError(
                f"{facts.name} gives no logprobs for {facts.model}: its confidence cannot be known.",
                fix="Use a server or a version of it that returns logprobs.",
            )
        path = recordings_folder() / f"{facts.fingerprint.replace(':', '_')}.{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        drop_torn_end(path)
        wanted = {item["id"] for item in items}
        kept = [one for one in read_records(path) if one.id in wanted]
        done = {one.id for one in kept}
        todo = [item for item in items if item["id"] not in done]
        tell(f"{len(todo):,} items to run, {len(kept):,} kept in {path}; it may be broken off and goes on from there")
        with path.open("ab") as file:
            async for one in record(engine, todo, task_of):
                file.write(msgspec.json.encode(one) + b"\n")
                file.flush()
                kept.append(one)
                if len(kept) % _PROGRESS_EVERY == 0:
                    tell(f"{len(kept):,} of {len(items):,}")
    finally:
        await engine.close()
    return kept, facts


# -- judging and learning -----------------------------------------------------------------------------------------


def judge_all(
    items: Sequence[dict[str, Any]], recorded: "Sequence[Recorded]", is_right: Judge
) -> "dict[int, list[Judged]]":
    """The judged rows of what is recognised as closed, for each hold-back."""
    from teto.catalog.task_model import shipped_task_model
    from teto.closed_tasks.judge import judge
    from teto.closed_tasks.record import request_of
    from teto.triage.recognise import recognise

    model = shipped_task_model()
    by_id = {item["id"]: item for item in items}
    found: dict[int, list[Judged]] = {tokens: [] for tokens in HOLD_BACKS_TOKENS}
    for one in recorded:
        item = by_id[one.id]
        recognition = recognise(request_of(item), model)
        if not recognition.closed:
            continue
        right = is_right(item, one.answer)
        for tokens, rows in found.items():
            rows.append(judge(item, one, recognition, right=right, hold_back_tokens=tokens))
    return found


def learn_all(
    run: _Run,
    judged: "dict[int, list[Judged]]",
    asked: Asked,
    *,
    base: "Calibration | None",
    keep_untouched: bool,
) -> "tuple[Calibration, dict[int, list[Judged]], str]":
    """A calibration with a rule for each hold-back, the rows it is judged on, and their name.

    With a `base` its scores, which were fixed before these rows, are kept and all rows choose thresholds.
    """
    from teto.closed_tasks.items import part_of
    from teto.triage.calibration import VERSION, Calibration, learn, recertify

    def split(rows: "list[Judged]", *parts: str) -> "list[Judged]":
        return [row for row in rows if part_of(row.id) in parts]

    calibrating = ("calibration",) if keep_untouched else ("calibration", "untouched")
    rules, on = [], {}
    n_score = n_calibration = 0
    for tokens, rows in judged.items():
        limits = {"alpha": asked.alpha, "delta": asked.delta}
        try:
            if base is not None:
                chosen = rows
                score = base.rule(tokens).score
                rules.append(recertify(tokens, score, rows, rule=asked.rule, **limits))
            else:
                teaching, chosen = split(rows, "score"), split(rows, *calibrating)
                n_score = len(teaching)
                rules.append(learn(tokens, teaching, chosen, rule=asked.rule, **limits))
        except ValueError as error:
            raise RequestError(f"{run.source}: {error}.", fix="Calibrate on more items.") from None
        n_calibration = len(chosen)
        on[tokens] = split(rows, "untouched") if keep_untouched and base is None else chosen
    calibration = Calibration(
        version=VERSION,
        fingerprint=run.facts.fingerprint,
        model=run.facts.model,
        origin=run.origin,
        source=run.source,
        created=datetime.now(UTC).date().isoformat(),
        n_score=base.n_score if base is not None else n_score,
        n_calibration=n_calibration,
        rules=tuple(rules),
    )
    shown = on[HOLD_BACKS_TOKENS[-1]]
    judged_on = (
        f"the untouched {len(shown):,}"
        if keep_untouched and base is None
        else f"the {len(shown):,} that chose the thresholds"
    )
    return calibration, on, judged_on
