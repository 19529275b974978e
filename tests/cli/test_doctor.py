"""`teto doctor`: what is missing, and the command that fixes it."""

import json
import socket

from tests.cli.conftest import Home
from teto.catalog.weights import known_weights

DEFAULT = next(iter(known_weights().values()))


def test_an_empty_home(home: Home) -> None:
    """Without weights it ends with exit code 1, and names the file, its size and the command that fetches it."""
    done = home.run("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    weights = home.folder / "cache" / "teto" / "weights" / "sha256" / f"{DEFAULT.sha256}.gguf"
    lines = done.stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if " weights " in line)
    assert lines[start : start + 4] == [
        f"missing  weights    The weights {DEFAULT.id} are not on this machine ({weights} does not exist).",
        f"                    → Run `teto models pull {DEFAULT.id}` (1.12 GB).",
        "note     cloud      none configured: what the local model may not answer is refused.",
        "                    → add an [upstreams.NAME] table to teto.toml",
    ]
    assert f"ok       ledger     {home.ledger}" in lines
    assert f"ok       port       127.0.0.1:{home.port} is free" in lines


def test_the_fix_is_enough(home: Home) -> None:
    """Where everything is there, it ends with exit code 0: here a cloud and no engine."""
    (home.work / "teto.toml").write_text(
        '[engine]\nkind = "none"\n[upstreams.main]\nbase_url = "https://api.example.com/v1"\nmodel = "big"\n'
        'api_key_env = "MAIN_KEY"\n'
    )
    done = home.run("doctor", MAIN_KEY="sk-secret")
    assert done.returncode == 0
    assert "ok       cloud      main: https://api.example.com/v1 big\n" in done.stdout
    assert "sk-secret" not in done.stdout


def test_a_key_that_is_not_set(home: Home) -> None:
    """An upstream whose key variable is empty is noted, with the command that sets it."""
    (home.work / "teto.toml").write_text(
        '[engine]\nkind = "none"\n[upstreams.main]\nbase_url = "https://api.example.com/v1"\nmodel = "big"\n'
        'api_key_env = "MAIN_KEY"\n'
    )
    lines = home.run("doctor").stdout.splitlines()
    start = lines.index("note     cloud      main: the environment variable MAIN_KEY is empty.")
    assert lines[start + 1] == "                    → export MAIN_KEY=..."


def test_as_json(home: Home) -> None:
    """The same findings as JSON, with the same exit code."""
    done = home.run("doctor", "--json")
    assert done.returncode == 1
    findings = {finding["name"]: finding for finding in json.loads(done.stdout)}
    assert findings["weights"]["state"] == "missing"
    assert findings["weights"]["fix"] == f"Run `teto models pull {DEFAULT.id}` (1.12 GB)."
    assert {finding["state"] for finding in findings.values()} <= {"ok", "note", "missing"}


def test_a_port_in_use(home: Home) -> None:
    """A port on which something listens is noted: it may be a running gateway."""
    with socket.create_server(("127.0.0.1", home.port)):
        done = home.run("doctor")
    assert f"note     port       something listens on 127.0.0.1:{home.port}; a running gateway perhaps" in done.stdout


def test_a_ledger_that_cannot_be_opened(home: Home) -> None:
    """A ledger in a place that cannot be one is missing, with the setting to change."""
    (home.folder / "file").write_text("")
    done = home.run("doctor", TETO_LEDGER_PATH=str(home.folder / "file" / "receipts.sqlite"))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("missing  ledger     The ledger "))
    assert lines[start + 1] == "                    → Check ledger.path."
