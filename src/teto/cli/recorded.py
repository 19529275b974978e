"""`teto calibrate --recorded`: a score judged on a table of recorded answers."""

from pathlib import Path

import click

from teto.errors import RequestError

__all__ = ["judge_table"]


def judge_table(
    path: Path,
    *,
    columns: tuple[str, str, str],
    alpha: float,
    delta: float,
    first_cut: int | None,
    resamples: int,
    seed: int,
    picture: Path | None,
    lang: str,
    as_json: bool,
) -> None:
    """Print what the score in a table is worth, and draw it if asked; `columns` are small, large and score."""
    from teto.cli.asked import json_text, refusals
    from teto.cli.recorded_answer import answer
    from teto.cli.recorded_table import read_recorded
    from teto.cli.recorded_text import answer_lines

    small, large, score = columns
    if len(set(columns)) < 3:
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
