"""`teto calibrate`: how well a score tells right answers from wrong ones, and what it lets a rule keep."""

from pathlib import Path
from typing import Final

import click

from teto.cli.inputs import COUNT
from teto.errors import RequestError

__all__ = ["calibrate"]

_SHARE: Final = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command()
@click.option(
    "--recorded",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="A table of recorded answers, .csv or .jsonl (or with .gz): a row per question.",
)
@click.option("--small", default="small", show_default=True, help="Column: the small model's answer, 1 right, 0 wrong.")
@click.option("--large", default="large", show_default=True, help="Column: the large model's, on the same scale.")
@click.option("--score", default="score", show_default=True, help="Column: higher means keep the small model's.")
@click.option("--alpha", type=_SHARE, default=0.05, show_default=True, help="The most risk that a rule may take.")
@click.option("--delta", type=_SHARE, default=0.05, show_default=True, help="The chance that a rule's promise breaks.")
@click.option("--first-cut", type=COUNT, help="Selective rule: rows of the strictest threshold that is tested.")
@click.option("--resamples", type=click.IntRange(min=2), default=1000, show_default=True, help="Of the bootstrap.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap.")
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), help="Write the curves to this SVG.")
@click.option("--lang", type=click.Choice(["en", "pt"]), default="en", help="Language of the picture.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def calibrate(
    *,
    path: Path,
    small: str,
    large: str,
    score: str,
    alpha: float,
    delta: float,
    first_cut: int | None,
    resamples: int,
    seed: int,
    picture: Path | None,
    lang: str,
    as_json: bool,
) -> None:
    """Evaluate a score on recorded answers, and say what each rule would keep with which bound.

    For example: teto calibrate --recorded runs.csv --small ok_local --large ok_cloud --score confidence
    """
    from teto.cli.asked import json_text, refusals
    from teto.cli.calibrate_answer import answer
    from teto.cli.calibrate_text import answer_lines
    from teto.cli.recorded_table import read_recorded

    if len({small, large, score}) < 3:
        raise RequestError(
            f"--small, --large and --score must name three columns, found {small}, {large} and {score}.",
            fix="A score may not be the answer that it is to foretell.",
        )
    recorded = read_recorded(path, small=small, large=large, score=score)
    with refusals():
        found, evaluation = answer(
            path.name, recorded, alpha=alpha, delta=delta, first_cut=first_cut, n_resamples=resamples, seed=seed
        )
    if as_json:
        click.echo(json_text(found))
    else:
        for line in answer_lines(found):
            click.echo(line)
    if picture is not None:
        from teto.charts.deferral import DeferralFigure, deferral_svg

        figure = DeferralFigure(subject=path.name, evaluation=evaluation, is_share=found.is_share)
        picture.write_text(deferral_svg(figure, "pt" if lang == "pt" else "en"), encoding="utf-8")
        click.echo(f"picture: {picture}", err=True)
