"""What `teto` says of itself."""

import pytest

import teto
from tests.cli.conftest import Home

HELP = """\
Usage: teto [OPTIONS] COMMAND [ARGS]...

  An LLM token has a physical price. teto serves the calls that a small local
  model can stand behind.

  What it cannot, goes up to a cloud, and every answer gets a receipt.

Options:
  --version      Show the version and exit.
  --config FILE  The settings file; else $TETO_CONFIG, ./teto.toml, then
                 teto.toml in the user's configuration folder.
  -h, --help     Show this message and exit.

Commands:
  ceiling    Predict what a token costs: bytes, FLOPs, seconds, and what
             binds.
  whatif     See what quantization, batch, hardware or length would change.
  plan       Choose devices, formats and batches, or local against cloud.
  devices    List devices, and where each figure comes from.
  calibrate  Judge a score that decides what stays local, on recorded runs.
  serve      Serve the gateway: local first, cloud when unsure.
  ask        Ask one question and see the answer's receipt.
  receipts   List receipts, or tell the story of one.
  mode       Show or switch the mode of a running gateway.
  models     List, pull, verify and remove weights.
  probe      Measure this machine, and tune the engine to it.
  config     Print every setting and where its value comes from.
  doctor     Say what is missing and the command that fixes it.
"""


def test_help(home: Home) -> None:
    """`teto --help` lists every command with its sentence, and touches nothing."""
    done = home.run("--help")
    assert (done.returncode, done.stdout, done.stderr) == (0, HELP, "")
    assert list(home.folder.rglob("*")) == [home.work]


def test_version(home: Home) -> None:
    """`teto --version` is the package's version."""
    assert home.run("--version").stdout == f"teto, version {teto.__version__}\n"


COMMANDS = ["serve", "ask", "receipts", "mode", "models", "probe", "config", "doctor"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(home: Home, command: str) -> None:
    """Each command that is listed can be asked for its own help."""
    done = home.run(command, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: teto {command} ")


def test_an_unknown_command(home: Home) -> None:
    """A command that does not exist ends with exit code 2 and its name."""
    done = home.run("serv")
    assert done.returncode == 2
    assert "No such command 'serv'." in done.stderr
