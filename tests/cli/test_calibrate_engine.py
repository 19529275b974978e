"""`teto calibrate` on an engine of the user's own: an OpenAI-compatible server that answers by a fixed rule."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Home
from tests.cli.labelling_server import labelling_server
from teto.catalog.calibrations import find_calibration
from teto.engines.external import external_fingerprint

KIND = ("the staff was kind", "kind people here", "such a kind cook", "kind waiters and hot soup")
COLD = ("the soup was cold", "a cold room again", "cold coffee, cold cake", "they left us out in the cold")
OTHER = ("we went on a Tuesday", "the tram stops outside", "my aunt had the fish", "it has nine tables")


@pytest.fixture
def served(home: Home) -> Iterator[str]:
    """The server, and settings that name it as the engine."""
    with labelling_server() as url:
        (home.work / "teto.toml").write_text(f'[engine]\nkind = "external"\nbase_url = "{url}"\nmodel = "m"\n')
        yield url


def rows(n: int) -> list[dict[str, Any]]:
    """Labelled reviews: the server is right about kind and cold ones, and half right about the others."""
    found = []
    for at in range(n):
        texts, expected = [(KIND, "positive"), (COLD, "negative"), (OTHER, "negative" if at % 2 else "positive")][
            at % 3
        ]
        text = f"{texts[at % len(texts)]}, visit {at}"
        prompt = f"Classify the sentiment of the review as positive or negative.\n\nReview: {text}"
        found.append({"id": f"row-{at}", "messages": [{"role": "user", "content": prompt}], "expected": expected})
    return found


def write(path: Path, found: list[dict[str, Any]]) -> str:
    """The rows as a file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in found))
    return str(path)


def calibrated(home: Home, *arguments: str) -> Any:
    """The JSON of the command."""
    done = home.run("calibrate", *arguments, "--json", "--resamples", "20")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def folder(home: Home) -> Path:
    """Where calibrations are kept."""
    return home.folder / "state" / "teto" / "calibrations"


def test_labelled_rows_calibrate_the_engine(home: Home, served: str) -> None:
    """Six hundred rows certify English classification, and what the server is unsure of is not kept."""
    answer = calibrated(home, "--data", write(home.work / "rows.jsonl", rows(600)))
    assert answer["n_items"] == 600
    assert answer["n_admitted"] > 500
    longest = answer["rules"][-1]
    (first,) = [one for one in longest["slices"] if (one["task"], one["language"]) == ("classify", "en")]
    assert first["standing"] == "alone"
    assert first["promised"] <= 0.05
    assert 0.5 < first["kept_fraction"] < 0.85
    assert first["selective_fraction"] < 0.1
    assert len(longest["curves"]["score"]) == 101
    found = find_calibration(external_fingerprint(served, "m"), folder(home))
    assert found is not None
    assert (found.origin, found.n_score + found.n_calibration) == ("labelled", answer["n_admitted"])
    # From now on the doctor says so, and a dry run judges it.
    policy = next(line for line in home.run("doctor").stdout.splitlines() if " policy " in line)
    assert "calibrated on rows.jsonl" in policy
    again = calibrated(home, "--data", str(home.work / "rows.jsonl"), "--dry-run")
    assert again["written"] is None


def test_a_run_that_was_broken_off_goes_on(home: Home, served: str) -> None:
    """What is kept of an earlier run is not asked again."""
    del served
    path = write(home.work / "rows.jsonl", rows(600))
    home.run("calibrate", "--data", path, "--items", "90")
    done = home.run("calibrate", "--data", path)
    assert "510 items to run, 90 kept" in done.stderr


def test_an_uncalibrated_engine_is_told(home: Home, served: str) -> None:
    """Until it is calibrated the doctor names the command, and a dry run has nothing to judge."""
    del served
    done = home.run("doctor")
    assert "conservative: this engine is not calibrated" in done.stdout
    assert "teto calibrate --builtin" in done.stdout
    refused = home.run("calibrate", "--data", write(home.work / "rows.jsonl", rows(30)), "--dry-run")
    assert refused.returncode != 0
    assert "has no calibration to judge" in refused.stderr


def test_too_few_rows_are_told(home: Home, served: str) -> None:
    """Rows that cannot teach a score end in words, not in a traceback."""
    del served
    done = home.run("calibrate", "--data", write(home.work / "rows.jsonl", rows(3)))
    assert done.returncode == 2
    assert "Calibrate on more items" in done.stderr


def test_the_shipped_tasks_run_on_it(home: Home, served: str) -> None:
    """`--builtin` runs the shipped items on any engine; this one is wrong about nearly all of them."""
    del served
    answer = calibrated(home, "--builtin", "--items", "200")
    assert answer["n_items"] == 200
    assert "the shipped closed tasks, 200 of 3,696" in answer["source"]
    assert all(one["standing"] in {"none", "-"} for one in answer["rules"][-1]["slices"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"messages": []}\n', "missing required field `expected`"),
        ("nonsense\n", "line 1"),
        ('{"messages": [], "expected": "a", "colour": 1}\n', "unknown field `colour`"),
        ('{"id": "a", "messages": [], "expected": "a"}\n' * 2, "occurs twice"),
        ("\n", "holds no rows"),
    ],
)
def test_bad_rows_name_their_line(home: Home, served: str, text: str, told: str) -> None:
    """A file that is not what it should be is refused with the line and the reason."""
    del served
    (home.work / "rows.jsonl").write_text(text)
    done = home.run("calibrate", "--data", str(home.work / "rows.jsonl"))
    assert done.returncode == 2
    assert told in done.stderr
