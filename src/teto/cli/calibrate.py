"""`teto calibrate`: what the local model may keep, measured, with a bound."""

from pathlib import Path
from typing import Final

import click

from teto.cli.ago import AGO
from teto.cli.inputs import COUNT
from teto.errors import RequestError

__all__ = ["calibrate"]

_SHARE: Final = click.FloatRange(0, 1, min_open=True, max_open=True)
_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--builtin", is_flag=True, help="Run the shipped closed tasks on the engine of the settings.")
@click.option("--data", type=_FILE, help="Run your own: JSON lines with messages and expected.")
@click.option(
    "--from-receipts", is_flag=True, help="Use served calls whose truth is known: observed, shadowed, labelled."
)
@click.option("--recorded", type=_FILE, help="Judge a score in a table of recorded answers, .csv or .jsonl (or .gz).")
@click.option(
    "--compare", type=_FILE, nargs=2, help="Two recordings of the same items: what one loses against the other."
)
@click.option("--dry-run", is_flag=True, help="Judge the calibration in force on these rows; write nothing.")
@click.option("--items", "n_items", type=COUNT, help="With --builtin, --data: only the first so many.")
@click.option("--keep-untouched", is_flag=True, help="With --builtin: leave a quarter out, and judge the result on it.")
@click.option("--since", "since_s", type=AGO, help="With --from-receipts: of the last 30m, 12h, 7d ...")
@click.option("--rule", type=click.Choice(["marginal", "selective"]), default="marginal", show_default=True,
              help="Bound P(kept and wrong), or P(wrong | kept).")  # fmt: skip
@click.option("--alpha", type=_SHARE, default=0.05, show_default=True, help="The most risk that a rule may take.")
@click.option("--delta", type=_SHARE, default=0.05, show_default=True, help="The chance that a rule's promise breaks.")
@click.option("--usd-in", type=float, help="Price of a million input tokens up there; else the first upstream's.")
@click.option("--usd-out", type=float, help="Price of a million output tokens up there.")
@click.option(
    "--usd-per-hour", type=float, help="What an hour of this machine costs you; else only its seconds are said."
)
@click.option(
    "--small", default="small", show_default=True, help="--recorded: column of the small model's answer, 1 or 0."
)
@click.option("--large", default="large", show_default=True, help="--recorded: column of the large model's.")
@click.option("--score", default="score", show_default=True, help="--recorded: column; higher means keep the small's.")
@click.option("--first-cut", type=COUNT, help="Selective rule: rows of the strictest threshold that is tested.")
@click.option("--resamples", type=click.IntRange(min=2), default=1000, show_default=True, help="Of the bootstrap.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap.")
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), help="Write the curves to this SVG.")
@click.option("--lang", type=click.Choice(["en", "pt"]), default="en", help="Language of the picture.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def calibrate(
    ctx: click.Context,
    *,
    builtin: bool,
    data: Path | None,
    from_receipts: bool,
    recorded: Path | None,
    compare: tuple[Path, Path] | None,
    dry_run: bool,
    n_items: int | None,
    keep_untouched: bool,
    since_s: float | None,
    rule: str,
    alpha: float,
    delta: float,
    usd_in: float | None,
    usd_out: float | None,
    usd_per_hour: float | None,
    small: str,
    large: str,
    score: str,
    first_cut: int | None,
    resamples: int,
    seed: int,
    picture: Path | None,
    lang: str,
    as_json: bool,
) -> None:
    """Make the engine's calibration, or judge one: what stays local, and with which bound on wrong answers.

    For example: teto calibrate --builtin
    """
    modes = {
        "--builtin": builtin,
        "--data": data is not None,
        "--from-receipts": from_receipts,
        "--recorded": recorded is not None,
        "--compare": compare is not None,
    }
    chosen = [name for name, is_chosen in modes.items() if is_chosen]
    if len(chosen) != 1:
        raise RequestError(
            f"Expected one of {', '.join(modes)}; found {' and '.join(chosen) or 'none of them'}.",
            fix="`teto calibrate --builtin` calibrates the engine of your settings on the shipped tasks.",
        )
    if recorded is not None:
        from teto.cli.recorded import judge_table

        judge_table(
            recorded,
            columns=(small, large, score),
            alpha=alpha,
            delta=delta,
            first_cut=first_cut,
            resamples=resamples,
            seed=seed,
            picture=picture,
            lang=lang,
            as_json=as_json,
        )
        return
    from teto.cli import calibrate_rows

    asked = calibrate_rows.Asked(
        rule="selective" if rule == "selective" else "marginal",
        alpha=alpha,
        delta=delta,
        dry_run=dry_run,
        usd_per_mtok=None if usd_in is None or usd_out is None else (usd_in, usd_out),
        usd_per_hour=usd_per_hour,
        n_resamples=resamples,
        seed=seed,
        picture=picture,
        lang="pt" if lang == "pt" else "en",
        as_json=as_json,
    )
    if compare is not None:
        from teto.cli.calibrate_compare import compare_recordings

        compare_recordings(*compare, asked=asked)
    elif from_receipts:
        from teto.cli.calibrate_receipts import calibrate_receipts

        calibrate_receipts(ctx, asked, since_s=since_s)
    else:
        from teto.cli.calibrate_engine import calibrate_engine

        calibrate_engine(ctx, asked, data=data, n_items=n_items, keep_untouched=keep_untouched)
