"""`teto calibrate --recorded` as a person types it."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from teto.charts.svg import require_charts_extra
from teto.cli.calibrate import calibrate
from teto.errors import ConfigError, RequestError, TetoError, UnknownNameError


def invoke(*arguments: str) -> Result:
    """The command alone; what it raises comes through."""
    return CliRunner().invoke(calibrate, arguments, catch_exceptions=False)


def found(*arguments: str) -> Any:
    """Its JSON."""
    done = invoke(*arguments, "--json", "--resamples", "50")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def write(path: Path, rows: list[tuple[Any, ...]], header: str = "small,large,score") -> str:
    """A CSV file's name."""
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def runs(tmp_path: Path) -> str:
    """500 questions: 10 % wrong in the small model, 2 % in the large one, and a score that knows something."""
    generator = np.random.default_rng(2)
    small, large = generator.random(500) < 0.9, generator.random(500) < 0.98
    score = np.where(small, 1.5, 0.0) + generator.normal(size=500)
    rows = list(zip(small.astype(int), large.astype(int), score.round(6), strict=True))
    return write(tmp_path / "runs.csv", rows)


FOUR = [(1, 1, 0.9), (0, 1, 0.1), (1, 0, 0.8), (0, 1, 0.2)]


def test_figures_worked_by_hand(tmp_path: Path) -> None:
    """Four rows: gains of 1, 1, -1 and 0 in the order of the score."""
    printed = found("--recorded", write(tmp_path / "four.csv", FOUR))
    assert (printed["n"], printed["small_mean"], printed["large_mean"]) == (4, 0.5, 0.75)
    values = {name: one["value"] for name, one in printed["figures"].items()}
    assert values == pytest.approx({"apgr": 1.125, "cpt50": 0.125, "cpt80": 0.2, "audc": 0.78125, "auroc": 1.0})
    assert printed["oracle"]["apgr"] == pytest.approx(1.375)
    assert printed["curves"]["score"][::25] == [0.5, 0.75, 1.0, 0.75, 0.75]
    assert [rule["threshold"] for rule in printed["rules"]] == [None, None]


def test_both_rules_with_their_bounds(runs: str) -> None:
    """Each rule's bound is within alpha, and the marginal one keeps more than the selective one."""
    marginal, selective = found("--recorded", runs)["rules"]
    assert (marginal["rule"], selective["rule"]) == ("marginal", "selective")
    assert marginal["marginal_upper"] <= 0.05
    assert selective["selective_upper"] is None or selective["selective_upper"] <= 0.05
    assert 300 < marginal["kept"] < 500
    assert selective["kept"] < marginal["kept"]
    assert marginal["regretted"] <= marginal["kept_wrong"]
    looser = found("--recorded", runs, "--alpha", "0.07")["rules"][0]
    assert looser["kept"] > marginal["kept"]


def test_for_people(runs: str) -> None:
    """The figures with their intervals, the references, both rules, and the least that must be deferred."""
    done = invoke("--recorded", runs, "--resamples", "50")
    assert done.exit_code == 0
    assert done.stdout.startswith("runs.csv: 500 rows; right: small ")
    assert [line.split()[0] for line in done.stdout.splitlines()[3:8]] == [
        "APGR", "CPT(50)", "CPT(80)", "AUDC", "AUROC",
    ]  # fmt: skip
    assert "luck alone: 95 % of random orders have an APGR of " in done.stdout
    assert "P(kept & wrong)" in done.stdout
    assert "no method at all can keep to the selective limit" in done.stdout
    assert "At alpha 5 % and delta 5 %" in done.stdout


def test_json_lines_and_other_columns(tmp_path: Path, runs: str) -> None:
    """The same table as gzipped JSON lines with other names, true and false, and a line separator in a string."""
    rows = [line.split(",") for line in Path(runs).read_text(encoding="utf-8").splitlines()[1:]]
    lines = [
        json.dumps({"ours": small == "1", "theirs": float(large), "sure": float(score), "prompt": "a\u2028b"})
        for small, large, score in rows
    ]
    path = tmp_path / "runs.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))
    named = found("--recorded", str(path), "--small", "ours", "--large", "theirs", "--score", "sure")
    plain = found("--recorded", runs)
    assert {**named, "table": ""} == {**plain, "table": ""}


def test_the_same_seed_the_same_answer(runs: str) -> None:
    """Intervals change with the seed alone."""
    first, again, other = (found("--recorded", runs, "--seed", seed) for seed in ("1", "1", "2"))
    assert first == again
    assert first["figures"]["apgr"]["interval"] != other["figures"]["apgr"]["interval"]
    assert first["rules"] == other["rules"]


def test_marks_have_curves_but_no_rules(tmp_path: Path) -> None:
    """Marks from 1 to 10: APGR yes, thresholds no, and the reason."""
    rows = [(at % 5 + 3, 9, at % 5) for at in range(50)]
    path = write(tmp_path / "marks.csv", rows)
    printed = found("--recorded", path)
    assert printed["rules"] == []
    assert {"not_binary", "no_rules"} <= {reason["code"] for reason in printed["reasons"]}
    done = invoke("--recorded", path, "--resamples", "50")
    assert "mean quality: small 5, large 9" in done.stdout
    assert "No rule is applied" in done.stdout


def test_a_picture(tmp_path: Path, runs: str) -> None:
    """The curves as SVG, in Portuguese on demand."""
    try:
        require_charts_extra()
    except ConfigError as error:
        pytest.skip(str(error))
    picture = tmp_path / "curves.svg"
    done = invoke("--recorded", runs, "--resamples", "50", "--picture", str(picture), "--lang", "pt")
    assert done.exit_code == 0
    assert f"picture: {picture}" in done.stderr
    assert "detector de erros perfeito" in picture.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "arguments", "kind", "said"),
    [
        ("small,large,score\n1,1,maybe\n", (), RequestError, r"line 2: the column score holds 'maybe'"),
        ("small,large,score\n1,1,0.5\n1,,0.5\n", (), RequestError, r"line 3: the column large holds ''"),
        ("small,large,score\n1,1\n", (), RequestError, r"the column score holds None"),
        ("small,large,score\n1,1,nan\n", (), RequestError, r"holds 'nan'; expected a finite number"),
        ("small,large,scores\n1,1,0.5\n", (), UnknownNameError, r"called 'score'; the nearest are scores"),
        ("small,large,score\n", (), RequestError, r"holds no rows"),
        (
            "small,large,score\n1,1,0.5\n",
            ("--first-cut", "9"),
            RequestError,
            r"A first cut of 9 rows certifies nothing",
        ),
        ("small,large,score\n1,1,0.5\n", ("--score", "large"), RequestError, r"must name three columns"),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, content: str, arguments: tuple[str, ...], kind: type[TetoError], said: str
) -> None:
    """File, line and column, what was expected and what was found."""
    path = tmp_path / "bad.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(kind, match=said):
        invoke("--recorded", str(path), "--resamples", "2", *arguments)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("bad.jsonl", b'{"small": 1, "large": 1, "score": 1}\n{"small": 1,\n', r"line 2 is not JSON"),
        ("bad.jsonl", b"[1, 1, 1]\n", r"line 1 is no JSON object"),
        ("bad.parquet", b"PAR1", r"neither \.csv nor \.jsonl"),
        ("bad.csv.gz", b"no gzip at all", r"cannot be read as a table"),
        ("bad.csv", b"small,large,score\n1,1,\xff\n", r"cannot be read as a table"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    """Not JSON, not a table, not text."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RequestError, match=said):
        invoke("--recorded", str(tmp_path / name))
