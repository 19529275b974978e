"""The `teto` command: its subcommands, and how errors end."""

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from teto import __version__
from teto.errors import TetoError

__all__ = ["cli", "main"]

# Each command's module is imported when it runs, so that `teto --help` loads none of them.
_COMMANDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "ceiling": ("teto.cli.ceiling", "ceiling", "Predict what a token costs: bytes, FLOPs, seconds, and what binds."),
    "whatif": ("teto.cli.whatif", "whatif", "See what quantization, batch, hardware or length would change."),
    "plan": ("teto.cli.plan", "plan", "Choose devices, formats and batches, or local against cloud."),
    "devices": ("teto.cli.devices", "devices", "List devices, and where each figure comes from."),
    "calibrate": ("teto.cli.calibrate", "calibrate", "Judge a score that decides what stays local, on recorded runs."),
    "serve": ("teto.cli.serve", "serve", "Serve the gateway: local first, cloud when unsure."),
    "ask": ("teto.cli.ask", "ask", "Ask one question and see the answer's receipt."),
    "receipts": ("teto.cli.receipts", "receipts", "List receipts, or tell the story of one."),
    "mode": ("teto.cli.mode", "mode", "Show or switch the mode of a running gateway."),
    "models": ("teto.cli.models", "models", "List, pull, verify and remove weights."),
    "probe": ("teto.cli.probe", "probe", "Measure this machine, and tune the engine to it."),
    "config": ("teto.cli.config", "config", "Print every setting and where its value comes from."),
    "doctor": ("teto.cli.doctor", "doctor", "Say what is missing and the command that fixes it."),
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module, name, _ = _COMMANDS[cmd_name]
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)  # noqa: S101 - the table above names commands
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, _, short) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="teto")
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The settings file; else $TETO_CONFIG, ./teto.toml, then teto.toml in the user's configuration folder.",
)
@click.pass_context
def cli(ctx: click.Context, config_path: Path | None) -> None:
    """An LLM token has a physical price. teto serves the calls that a small local model can stand behind.

    What it cannot, goes up to a cloud, and every answer gets a receipt.
    """
    ctx.obj = config_path


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; errors that a person can act on end in one or two lines and their own exit code."""
    try:
        return cli.main(args=arguments, standalone_mode=True)
    except TetoError as error:
        click.echo(f"error: {error.message}", err=True)
        if error.fix:
            click.echo(f"  {error.fix}", err=True)
        sys.exit(error.exit_code)
