"""`teto serve` and `teto mode` where they cannot work."""

import socket

import pytest

from tests.cli.conftest import Home
from teto.catalog.weights import known_weights

DEFAULT = next(iter(known_weights().values()))


@pytest.mark.parametrize("arguments", [["mode"], ["mode", "cloud"]])
def test_mode_without_a_gateway(home: Home, arguments: list[str]) -> None:
    """Without a gateway the mode can be neither shown nor switched: exit code 5, and what starts one."""
    done = home.run(*arguments)
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.startswith(f"error: No gateway answers at http://127.0.0.1:{home.port}/")
    assert done.stderr.endswith("\n  Start one with `teto serve`.\n")


def test_serve_without_weights(home: Home) -> None:
    """Without weights nothing is served: exit code 3, and the command that fetches them."""
    done = home.run("serve")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"error: The weights {DEFAULT.id} are not on this machine (")
    assert done.stderr.endswith(f"\n  Run `teto models pull {DEFAULT.id}` (1.12 GB).\n")


def test_serve_on_a_taken_port(home: Home) -> None:
    """A port that another process has is found before anything slow is done: exit code 6, and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        done = home.run("serve", "--port", str(port))
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr.splitlines() == [
        f"error: 127.0.0.1:{port} cannot be listened on: Address already in use.",
        "  Stop the process that has it (perhaps another `teto serve`), or choose one with --port.",
    ]


def test_serve_to_other_machines_needs_a_key(home: Home) -> None:
    """An address that others can reach is refused without keys: exit code 2, and the setting."""
    done = home.run("serve", "--host", "0.0.0.0")  # noqa: S104 - it is refused
    assert (done.returncode, done.stdout) == (2, "")
    assert "0.0.0.0 can be reached from other machines, and gateway.api_key_sha256 is empty." in done.stderr


def test_serve_with_weights_that_are_unknown(home: Home) -> None:
    """Weights that are in no catalog are refused with the nearest ones."""
    done = home.run("serve", "--weights", "qwen")
    assert done.returncode == 2
    assert "No weights are called 'qwen'; the nearest are qwen2.5-coder-" in done.stderr
