"""`teto calibrate` on receipts and on two recordings, and the labels that people give."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.cli.conftest import Home
from tests.cli.hand_made import KEPT
from tests.cli.test_receipts import keep
from tests.triage.made import judged
from teto.catalog.calibrations import find_calibration, write_calibration
from teto.cli.draws import is_drawn
from teto.closed_tasks.items import closed_task_items
from teto.closed_tasks.recorded import Recorded
from teto.receipt import Receipt, Truth
from teto.triage.calibration import VERSION, Calibration, learn

FINGERPRINT = "engine:1"


def calibration() -> Calibration:
    """A calibration of English classification that was made here."""
    rule = learn(96, judged(400, seed=1), judged(600, seed=2), alpha=0.05, delta=0.05)
    return Calibration(
        version=VERSION, fingerprint=FINGERPRINT, model="small", origin="closed tasks", source="made up",
        created="2026-12-01", n_score=400, n_calibration=600, rules=(rule,),
    )  # fmt: skip


def folder(home: Home) -> Path:
    """Where the command line keeps this home's calibrations."""
    return home.folder / "state" / "teto" / "calibrations"


def observed(n: int, *, seed: int = 3, score_id: str | None = None) -> list[Receipt]:
    """Receipts of observe mode: confidence uniform, right with that probability."""
    generator = np.random.default_rng(seed)
    known = score_id or calibration().rules[0].score_id
    assert KEPT.local is not None
    receipts = []
    for at in range(n):
        confidence = float(generator.random() ** 0.2)
        decision = replace(KEPT.decision, confidence=confidence, language="en", score_id=known)
        receipts.append(
            replace(
                KEPT,
                id=f"o-{at}",
                decision=decision,
                local=replace(KEPT.local, fingerprint=FINGERPRINT),
                truth=Truth(source="cloud", right=bool(generator.random() < confidence), inclusion_fraction=1.0),
            )
        )
    return receipts


def found(home: Home, *arguments: str) -> Any:
    """The JSON of `teto calibrate`."""
    done = home.run("calibrate", *arguments, "--json", "--resamples", "20")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_one_way_must_be_chosen(home: Home) -> None:
    """Without a source of rows, or with two, the ways are listed."""
    for arguments in ((), ("--builtin", "--from-receipts")):
        done = home.run("calibrate", *arguments)
        assert done.returncode == 2
        assert "--builtin, --data, --from-receipts, --recorded, --compare" in done.stderr


def test_observed_calls_choose_new_thresholds(home: Home) -> None:
    """Five hundred observed calls certify their slice alone, and the file that is written holds for the engine."""
    write_calibration(calibration(), folder(home))
    keep(home.ledger, *observed(500))
    answer = found(home, "--from-receipts")
    assert answer["n_admitted"] == 500
    first = answer["rules"][0]["slices"][0]
    assert (first["task"], first["language"], first["standing"], first["n"]) == ("classify", "en", "alone", 500)
    assert first["promised"] <= 0.05
    assert 0 < first["kept_fraction"] < 1
    now = find_calibration(FINGERPRINT, folder(home))
    assert now is not None
    assert (now.origin, now.n_calibration) == ("receipts", 500)
    assert now.rules[0].score == calibration().rules[0].score


def test_a_dry_run_writes_nothing(home: Home) -> None:
    """The calibration in force is judged on the calls, and stays as it was."""
    write_calibration(calibration(), folder(home))
    keep(home.ledger, *observed(400))
    answer = found(home, "--from-receipts", "--dry-run")
    assert answer["written"] is None
    assert find_calibration(FINGERPRINT, folder(home)) == calibration()


def test_escalated_calls_do_not_count(home: Home) -> None:
    """Answers that are known because the call went up, and those of another engine or score, are left out by name."""
    write_calibration(calibration(), folder(home))
    good = observed(320)
    assert KEPT.local is not None
    biased = [replace(one, id=f"b-{one.id}", truth=None) for one in good[:7]]
    others = [replace(one, id=f"s-{one.id}") for one in observed(5, score_id="another")]
    foreign = [
        replace(one, id=f"e-{one.id}", local=replace(KEPT.local, fingerprint="engine:2"), created_s=1.0)
        for one in good[:4]
    ]
    keep(home.ledger, *foreign, *good, *biased, *others)
    answer = found(home, "--from-receipts")
    assert answer["n_admitted"] == 320
    assert "7 not drawn at random" in answer["source"]
    assert "5 another score's confidence" in answer["source"]
    assert "4 another engine's" in answer["source"]


def test_unequal_odds_are_evened(home: Home) -> None:
    """Of calls drawn with certainty and calls drawn one in four, about a quarter of the former stays."""
    write_calibration(calibration(), folder(home))
    sure = observed(800)
    rare = [
        replace(one, id=f"r-{one.id}", truth=Truth(source="cloud", right=True, inclusion_fraction=0.25))
        for one in observed(200, seed=4)
    ]
    keep(home.ledger, *sure, *rare)
    assert found(home, "--from-receipts")["n_admitted"] == pytest.approx(400, abs=60)


def test_without_calls_the_way_to_them_is_told(home: Home) -> None:
    """Receipts that nobody knows the truth of lead to observe mode."""
    write_calibration(calibration(), folder(home))
    keep(home.ledger, *(replace(one, truth=None) for one in observed(3)))
    done = home.run("calibrate", "--from-receipts")
    assert done.returncode != 0
    assert "teto mode observe" in done.stderr


def test_draws_depend_on_ids_alone(home: Home) -> None:
    """Drawing twice gives the same calls, and a larger share holds the smaller one."""
    ids = [f"o-{at}" for at in range(1000)]
    tenth, half = ({one for one in ids if is_drawn(one, share)} for share in (0.1, 0.5))
    assert tenth < half
    assert len(tenth) == pytest.approx(100, abs=30)
    keep(home.ledger, *(replace(one, truth=None) for one in observed(60)))
    first = home.run("receipts", "draw", "--share", "0.5")
    again = home.run("receipts", "draw", "--share", "0.5")
    assert first.returncode == 0
    assert first.stdout == again.stdout
    assert "of 60 local answers are drawn" in first.stdout


def test_only_drawn_calls_are_labelled(home: Home) -> None:
    """A label on a call that somebody picked is refused; on a drawn one it is kept with the odds of the draw."""
    receipts = [replace(one, truth=None) for one in observed(60)]
    keep(home.ledger, *receipts)
    drawn = next(one.id for one in receipts if is_drawn(one.id, 0.5))
    refused = home.run("receipts", "label", drawn, "right")
    assert refused.returncode == 2
    assert "not drawn at random" in refused.stderr
    home.run("receipts", "draw", "--share", "0.5")
    assert home.run("receipts", "label", drawn, "wrong").returncode == 0
    shown = msgspec.json.decode(home.run("receipts", "show", drawn, "--json").stdout, type=Receipt)
    assert shown.truth == Truth(source="label", right=False, inclusion_fraction=0.5)


def recording(path: Path, answers: dict[str, str]) -> str:
    """A recording file of those answers by item."""
    lines = [
        msgspec.json.encode(
            Recorded(
                id=name, answer=text, finish_reason="stop", prompt_tokens=5, output_tokens=2, prefill_s=0.1,
                decode_s=0.1, tokens=(),
            )
        )
        for name, text in answers.items()
    ]  # fmt: skip
    path.write_bytes(b"\n".join(lines) + b"\n")
    return str(path)


def test_two_engines_on_the_same_items(home: Home) -> None:
    """Where the second gets every classification wrong that the first had right, the loss is the whole share."""
    items = [item for item in closed_task_items() if item["task"] == "classify"][:60]
    best = {item["id"]: item["answer"] for item in items}
    first = recording(home.work / "a.jsonl", best)
    second = recording(home.work / "b.jsonl", dict.fromkeys(best, "no idea"))
    answer = found(home, "--compare", first, second)
    assert answer["slices"]["all"]["difference"] == -1.0
    assert answer["slices"]["all"]["n"] == 60
    done = home.run("calibrate", "--compare", first, second)
    assert "-100.0 points" in done.stdout


def test_recordings_of_other_items_are_refused(home: Home) -> None:
    """Without an item in common nothing is compared."""
    first = recording(home.work / "a.jsonl", {"x": "y"})
    done = home.run("calibrate", "--compare", first, first)
    assert done.returncode == 2
    assert "no item of the shipped set in common" in done.stderr
