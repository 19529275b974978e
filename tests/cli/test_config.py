"""`teto config`: every setting, its value, and where it came from."""

import json
import re

from tests.cli.conftest import Home

# Name, value, origin in brackets, meaning.
ROW = re.compile(r"(\S+) +(\S+) +\[([^]]+)\]  (.+)$")

TOML = """\
[engine]
kind = "none"

[gateway]
mode = "observe"

[upstreams.main]
base_url = "https://api.example.com/v1"
model = "big"
api_key_env = "MAIN_KEY"
usd_per_mtok_in = 0.15
usd_per_mtok_out = 0.6

[[routes]]
match = "gpt-*"
to = "cloud"
"""


def test_as_text(home: Home) -> None:
    """A line a setting: name, value, origin in brackets, meaning; columns stand below each other."""
    (home.work / "teto.toml").write_text(TOML)
    done = home.run("config", MAIN_KEY="sk-secret")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [match.groups() for line in done.stdout.splitlines() if (match := ROW.match(line))]
    assert len(rows) == len(done.stdout.splitlines())
    assert [row[:3] for row in rows if row[0].startswith(("gateway.", "upstreams.", "routes"))] == [
        ("gateway.host", '"127.0.0.1"', "default"),
        ("gateway.port", str(home.port), "environment TETO_GATEWAY_PORT"),
        ("gateway.mode", '"observe"', "teto.toml"),
        ("gateway.degraded", '"admissible"', "default"),
        ("gateway.api_key_sha256", "[]", "default"),
        ("gateway.body_limit_bytes", "10000000", "default"),
        ("upstreams.main.base_url", '"https://api.example.com/v1"', "teto.toml"),
        ("upstreams.main.model", '"big"', "teto.toml"),
        ("upstreams.main.api_key_env", '"MAIN_KEY"', "teto.toml"),
        ("upstreams.main.usd_per_mtok_in", "0.15", "teto.toml"),
        ("upstreams.main.usd_per_mtok_out", "0.6", "teto.toml"),
        ("upstreams.main.connect_timeout_s", "5.0", "default"),
        ("upstreams.main.first_token_timeout_s", "120.0", "default"),
        ("upstreams.main.gap_timeout_s", "60.0", "default"),
        ("upstreams.main.total_timeout_s", "900.0", "default"),
        ("routes[0].match", '"gpt-*"', "teto.toml"),
        ("routes[0].to", '"cloud"', "teto.toml"),
        ("routes[0].upstream", '""', "default"),
        ("routes[0].hedge_above", "unset", "default"),
    ]
    assert ("weights.hub", "true", "default", "fetch from the model hub") in rows
    assert len({line.index(row[1]) for line, row in zip(done.stdout.splitlines(), rows, strict=True)}) == 1
    assert "sk-secret" not in done.stdout


def test_as_json(home: Home) -> None:
    """The same rows as JSON, for programs."""
    (home.work / "teto.toml").write_text(TOML)
    rows = {row["name"]: row for row in json.loads(home.run("config", "--json").stdout)}
    assert rows["gateway.mode"] == {
        "name": "gateway.mode",
        "value": "observe",
        "origin": "teto.toml",
        "help": "auto | observe | local | cloud, at start; `teto mode` switches it",
    }
    assert rows["gateway.port"]["value"] == home.port
    assert rows["upstreams.main.usd_per_mtok_in"]["value"] == "0.15"
    assert rows["routes[0].to"]["value"] == "cloud"


def test_where_the_file_is_looked_for(home: Home) -> None:
    """--config wins over TETO_CONFIG, that over ./teto.toml, that over the user's configuration folder."""

    def origin(*arguments: str, **variables: str) -> str:
        rows = json.loads(home.run(*arguments, "config", "--json", **variables).stdout)
        return next(str(row["origin"]) for row in rows if row["name"] == "gateway.mode")

    def write(path: str) -> str:
        (home.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (home.folder / path).write_text("[gateway]\nmode = 'local'\n")
        return str(home.folder / path)

    assert origin() == "default"
    users = write("config/teto/teto.toml")
    assert origin() == users
    write("work/teto.toml")
    assert origin() == "teto.toml"
    other, chosen = write("other.toml"), write("chosen.toml")
    assert origin(TETO_CONFIG=other) == other
    assert origin("--config", chosen, TETO_CONFIG=other) == chosen


def test_an_unknown_key(home: Home) -> None:
    """A misspelt key ends every command with exit code 2, the file, the key and the nearest one."""
    (home.work / "teto.toml").write_text("[gateway]\nprot = 1\n")
    done = home.run("config")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: teto.toml: unknown setting 'gateway.prot'.\n  Did you mean port or host?\n"
    assert home.run("doctor").returncode == 2


def test_a_file_that_is_not_there(home: Home) -> None:
    """A settings file that was named and does not exist is an error, and not silently left out."""
    done = home.run("--config", "nowhere.toml", "config")
    assert done.returncode == 2
    assert done.stderr == "error: The settings file nowhere.toml does not exist.\n  Check --config and TETO_CONFIG.\n"
