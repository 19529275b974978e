"""`teto models`: what weights there are, which are here, and how they get here and go."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from teto.catalog.weights import WeightsEntry, find_weights, known_weights
from teto.cli.model_shapes import list_shapes, show_shape
from teto.errors import CorruptWeightsError, WeightsError
from teto.units import show_bytes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from teto.engines.weights import ListedWeights, WeightsStore
    from teto.engines.weights_part import PullProgress

__all__ = ["models"]

# Imports inside the functions: `teto --help` must not pay for rich and the store.

_LINES_A_PULL = 10  # without a terminal: one line about every tenth of the file


@click.group()
def models() -> None:
    """List, pull, verify and remove the weights of the embedded engine; show what models are made of."""


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def list_models(ctx: click.Context, *, as_json: bool) -> None:
    """List the weights that teto knows, and which are on this machine."""
    listed = _store(ctx).listing()
    if as_json:
        import orjson

        click.echo(orjson.dumps([_row(one) for one in listed], option=orjson.OPT_INDENT_2).decode())
    else:
        _print_table(listed)


models.add_command(list_shapes)
models.add_command(show_shape)


@models.command("pull")
@click.argument("weights_id", metavar="[ID]", required=False)
@click.option(
    "--from",
    "from_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Take the bytes from this file instead of the network.",
)
@click.pass_context
def pull_model(ctx: click.Context, *, weights_id: str | None, from_file: Path | None) -> None:
    """Fetch weights into the store; without an ID, the default ones."""
    from teto.engines.weights_sources import FileSource

    entry = _entry(weights_id)
    store = _store(ctx)
    with _shown(entry) as progress:
        try:
            located = store.pull(entry, progress, sources=None if from_file is None else [FileSource(from_file)])
        except KeyboardInterrupt:
            raise WeightsError(f"The pull of {entry.id} was interrupted.", fix="Run it again: it resumes.") from None
    click.echo(f"{entry.id}: {located.path}")


@models.command("verify")
@click.argument("weights_id", metavar="[ID]", required=False)
@click.pass_context
def verify_models(ctx: click.Context, *, weights_id: str | None) -> None:
    """Hash weights in the store again; without an ID, all that are here."""
    store = _store(ctx)
    here = [one.entry for one in store.listing() if one.path is not None]
    failures: list[CorruptWeightsError] = []
    for entry in here if weights_id is None else [find_weights(weights_id)]:
        try:
            located = store.verify(entry)
        except CorruptWeightsError as error:
            click.echo(f"{entry.id}: corrupt")
            failures.append(error)
        else:
            click.echo(f"{entry.id}: intact, sha256 {located.sha256}")
    if failures:
        # The first error carries its own way out; with several, each has the same one.
        raise CorruptWeightsError(" ".join(error.message for error in failures), fix=failures[0].fix)
    if weights_id is None and not here:
        click.echo("No weights are here; run `teto models pull`.")


@models.command("rm")
@click.argument("weights_id", metavar="ID")
@click.pass_context
def remove_model(ctx: click.Context, *, weights_id: str) -> None:
    """Delete weights from the store, and what an interrupted pull left of them."""
    entry = find_weights(weights_id)
    click.echo(f"{entry.id}: removed, {show_bytes(_store(ctx).remove(entry))} freed")


def _store(ctx: click.Context) -> "WeightsStore":
    from teto.cli import wiring

    return wiring.open_store(wiring.load_settings(ctx))


def _entry(weights_id: str | None) -> WeightsEntry:
    if weights_id is not None:
        return find_weights(weights_id)
    return next(entry for entry in known_weights().values() if entry.default)


def _row(listed: "ListedWeights") -> dict[str, object]:
    entry = listed.entry
    return {
        "id": entry.id,
        "title": entry.title,
        "default": entry.default,
        "size_bytes": entry.size_bytes,
        "license": entry.license,
        "purpose": entry.purpose,
        "sha256": entry.sha256,
        "present": listed.path is not None,
        "path": None if listed.path is None else str(listed.path),
        "partial_bytes": listed.partial_bytes,
    }


def _print_table(listed: Sequence["ListedWeights"]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("id", no_wrap=True)  # it is to be copied into other commands
    for heading in ("size", "licence", "here"):
        table.add_column(heading)
    for one in listed:
        here = "yes" if one.path else "no"
        if one.partial_bytes:
            here = f"{one.partial_bytes / one.entry.size_bytes:.0%}, interrupted"
        table.add_row(one.entry.id, show_bytes(one.entry.size_bytes), one.entry.license, here)
    console = Console(highlight=False)
    console.print(table)
    for one in listed:
        if one.path:  # below the table: a path of a hundred characters would crush the columns
            console.print(f"{one.entry.id}: {one.path}", soft_wrap=True, markup=False)


@contextmanager
def _shown(entry: WeightsEntry) -> Iterator["PullProgress"]:
    """The progress of a pull on the standard error: a bar on a terminal, a few plain lines elsewhere."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield _Lines(entry)
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        yield _Bar(console, bar, bar.add_task(entry.id, total=entry.size_bytes))


class _Bar:
    """A bar with its rate and the time that is left; the rate does not count what an earlier pull left."""

    def __init__(self, console: "Console", bar: "Progress", task: "TaskID") -> None:
        self._console = console
        self._bar = bar
        self._task = task
        self._done_bytes: int | None = None

    def note(self, text: str) -> None:
        """A line above the bar."""
        self._console.print(text, markup=False, soft_wrap=True)

    def at(self, done_bytes: int) -> None:
        """Move the bar; a first position, or a step back, starts its clock again."""
        if self._done_bytes is None or done_bytes < self._done_bytes:
            self._bar.reset(self._task, completed=done_bytes)
        self._bar.update(self._task, completed=done_bytes)
        self._done_bytes = done_bytes


class _Lines:
    """About ten lines a pull, for logs."""

    def __init__(self, entry: WeightsEntry) -> None:
        self._entry = entry
        self._next_bytes = 0.0

    def note(self, text: str) -> None:
        """The line as it is."""
        click.echo(text, file=sys.stderr)

    def at(self, done_bytes: int) -> None:
        """A line if another tenth is done, or if a source started again."""
        step_bytes = self._entry.size_bytes / _LINES_A_PULL
        if done_bytes < self._next_bytes - step_bytes:
            self._next_bytes = 0.0
        if done_bytes < self._next_bytes:
            return
        self._next_bytes = (done_bytes // step_bytes + 1) * step_bytes
        share = done_bytes / self._entry.size_bytes
        self.note(f"{self._entry.id}: {share:.0%} of {show_bytes(self._entry.size_bytes)}")
