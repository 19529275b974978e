"""How often the drift alarm rings falsely, and how many labels a change takes it, by simulation.

Streams of labels with known rates go through the alarm's own code. A delay counts compared answers from the change
to the alarm, over the streams in which nothing rang before. Run: python benchmarks/drift.py; with `table` it prints
what was found last, for the documents.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln

from report import Report
from teto.triage.drift import DriftTest, first_alarms, observe, start
from teto.units import show_fraction

P0 = 0.05
DELTAS = (0.05, 0.01, 0.05 / 16)  # the last: 0.05 over eight slices in their first period
CHANGES = (0, 500, 5000)
RATES = (0.1, 0.15, 0.2)
STREAMS, HORIZON = 1000, 20_000
STILL_STREAMS, STILL_LABELS = 5000, 50_000

Rows = Iterator[NDArray[np.bool_]]
Alarm = Callable[[Rows], NDArray[np.int64]]


def rows(before: float, after: float, n_before: int, n_after: int, *, streams: int, seed: int = 1) -> Rows:
    """Label after label: disagreement with the rate `before`, and from the change on with `after`."""
    generator = np.random.default_rng(seed)
    for at in range(n_before + n_after):
        yield generator.random(streams) < (before if at < n_before else after)


def delay(alarm: Alarm, *, before: float, after: float, n_before: int) -> dict[str, Any]:
    """The delay's median and 90th percentile; None where fewer streams than that rang within the horizon."""
    rang = alarm(rows(before, after, n_before, HORIZON, streams=STREAMS))
    early = (rang > 0) & (rang <= n_before)
    delays = np.where(rang == 0, np.inf, rang - n_before)[~early]
    median, p90 = (float(np.quantile(delays, q, method="higher")) for q in (0.5, 0.9))
    return {
        "change_after": n_before,
        "rate_before": before,
        "rate_after": after,
        "median": None if math.isinf(median) else int(median),
        "p90": None if math.isinf(p90) else int(p90),
        "rang_before_the_change": round(float(early.mean()), 4),
    }


def ours(p0: float, delta: float) -> Alarm:
    """The alarm as it is."""
    test = DriftTest(p0=p0, delta=delta, kept_fraction=1.0)
    return lambda stream: first_alarms(stream, test)


def false_alarms() -> list[dict[str, Any]]:
    """The share of streams that ring although the rate never leaves p0, where the null is hardest to keep."""
    found = []
    for at, delta in enumerate(DELTAS):
        rang = ours(P0, delta)(rows(P0, P0, STILL_LABELS, 0, streams=STILL_STREAMS, seed=2 + at))
        share = float((rang > 0).mean())
        error = math.sqrt(delta * (1 - delta) / STILL_STREAMS)
        found.append(
            {"delta": delta, "streams": STILL_STREAMS, "labels": STILL_LABELS, "rang": share,
             "met": share <= delta + 3 * error}
        )  # fmt: skip
    return found


def restarted(unspent: NDArray[np.float64], rates: tuple[float, ...], delta: float) -> Alarm:
    """Bets on those rates that start at k with weight unspent[k] - unspent[k + 1]."""
    up = np.array(rates)[:, None] / P0
    down = (1 - np.array(rates)[:, None]) / (1 - P0)

    def alarm(stream: Rows) -> NDArray[np.int64]:
        bets, rang = np.zeros((len(rates), STREAMS)), np.zeros(STREAMS, dtype=np.int64)
        for at, row in enumerate(stream):
            bets = (bets + (unspent[at] - unspent[at + 1]) / len(rates)) * np.where(row, up, down)
            rang[(rang == 0) & (bets.sum(axis=0) + unspent[at + 1] >= 1 / delta)] = at + 1
            if rang.all():
                break
        return rang

    return alarm


def beta_mixture(delta: float) -> Alarm:
    """All rates above p0, by the Jeffreys density cut off there, from the first label on."""

    def alarm(stream: Rows) -> NDArray[np.int64]:
        wrong, rang = np.zeros(STREAMS), np.zeros(STREAMS, dtype=np.int64)
        prior = math.log(1 - betainc(0.5, 0.5, P0)) + betaln(0.5, 0.5)
        for at, row in enumerate(stream):
            wrong += row
            right = at + 1 - wrong
            above = np.maximum(1 - betainc(wrong + 0.5, right + 0.5, P0), 1e-300)
            evidence = np.log(above) + betaln(wrong + 0.5, right + 0.5) - prior
            evidence -= wrong * math.log(P0) + right * math.log1p(-P0)
            rang[(rang == 0) & (evidence >= -math.log(delta))] = at + 1
            if rang.all():
                break
        return rang

    return alarm


def told(n_before: int, delta: float) -> Alarm:
    """Knows when the change comes and to which rate: what no alarm of this level can beat by much."""
    unspent = np.where(np.arange(n_before + HORIZON + 1) <= n_before, 1.0, 0.0)
    return restarted(unspent, (0.1,), delta)


def rivals(delta: float) -> dict[str, list[dict[str, Any]]]:
    """Other ways to the same level, on the same streams: 5 % to 10 %."""
    k = np.arange(max(CHANGES) + HORIZON + 1, dtype=np.float64)
    at_once = np.where(k == 0, 1.0, 0.0)
    hazard = np.where(k == 0, 1.0, 0.5 * (1 - 1 / 3000) ** k)
    four = tuple(odds * P0 / (1 + (odds - 1) * P0) for odds in (1.5, 2.0, 3.0, 5.0))
    ways: dict[str, Callable[[int], Alarm]] = {
        "this one": lambda _: ours(P0, delta),
        "starts by 1 / ((k + 1) (k + 2))": lambda _: restarted(1 / (k + 1), four, delta),
        "a constant hazard, 1 in 3,000 labels": lambda _: restarted(hazard, four, delta),
        "never restarted, four rates": lambda _: restarted(at_once, four, delta),
        "never restarted, beta mixture above p0": lambda _: beta_mixture(delta),
        "told the change and the new rate": lambda n_before: told(n_before, delta),
    }
    return {
        name: [delay(way(n_before), before=P0, after=0.1, n_before=n_before) for n_before in CHANGES]
        for name, way in ways.items()
    }


def delays(delta: float) -> list[dict[str, Any]]:
    """Every change of the grid."""
    return [
        delay(ours(P0, delta), before=P0, after=after, n_before=n_before) for after in RATES for n_before in CHANGES
    ]


def others(delta: float) -> dict[str, Any]:
    """What the grid leaves out, all after 500 labels: a small rise, a rate that was low before, other limits."""
    return {
        "p0 5 %, 5 % to 7 %": delay(ours(P0, delta), before=P0, after=0.07, n_before=500),
        "p0 5 %, 2 % to 10 %": delay(ours(P0, delta), before=0.02, after=0.1, n_before=500),
        "p0 1 %, 1 % to 2 %": delay(ours(0.01, delta), before=0.01, after=0.02, n_before=500),
        "p0 2 %, 2 % to 4 %": delay(ours(0.02, delta), before=0.02, after=0.04, n_before=500),
        "p0 10 %, 5 % to 10 %": delay(ours(0.1, delta), before=0.05, after=0.1, n_before=500),
        "p0 10 %, 10 % to 20 %": delay(ours(0.1, delta), before=0.1, after=0.2, n_before=500),
    }


def costs() -> dict[str, Any]:
    """What one label costs, and what is saved."""
    state = start(DriftTest(p0=P0, delta=0.05, kept_fraction=0.5))
    start_s = time.perf_counter()
    for at in range(20_000):
        state = observe(state, disagreed=at % 20 == 0)
    taken_s = time.perf_counter() - start_s
    return {"observe_us": round(taken_s / 20_000 * 1e6, 1), "saved_bytes": len(msgspec.json.encode(state))}


def main() -> None:
    """Simulate, print, and write the results."""
    report = Report("drift")
    still = false_alarms()
    report.add(
        "false alarms at p0",
        still,
        bar="<= delta, plus three standard errors of the simulation",
        met=all(one["met"] for one in still),
    )
    for delta in DELTAS:
        report.add(f"delays at delta {delta:g}", delays(delta))
    report.add("other changes at delta 0.05", others(0.05))
    report.add("other ways at delta 0.05", rivals(0.05))
    report.add("cost", costs())
    report.write()


def table(result: dict[str, Any]) -> Iterator[str]:
    """The delays as the documents show them."""
    machine = result["machine"]
    yield f"Commit `{result['commit']}`, {result['at'][:10]}, Python {machine['python']}."
    yield f"p0 = {show_fraction(P0)}; labels from the change to the alarm, median (90th percentile)."
    yield ""
    yield "| delta | streams at p0 that rang within 50,000 labels | change | after 0 labels | after 500 | after 5,000 |"
    yield "|---|---|---|---|---|---|"
    for still in result["false alarms at p0"]["figures"]:
        found = result[f"delays at delta {still['delta']:g}"]["figures"]
        for after in RATES:
            cells = " | ".join(_cell(one) for one in found if one["rate_after"] == after)
            yield f"| {still['delta']:.3g} | {show_fraction(still['rang'])} | 5 % to {show_fraction(after)} | {cells} |"
    yield ""
    yield "| other changes, after 500 labels, delta 0.05 | labels |"
    yield "|---|---|"
    for name, one in result["other changes at delta 0.05"]["figures"].items():
        yield f"| {name} | {_cell(one)} |"
    yield ""
    yield "| ways to the same level, 5 % to 10 %, delta 0.05 | after 0 labels | after 500 | after 5,000 |"
    yield "|---|---|---|---|"
    for name, found in result["other ways at delta 0.05"]["figures"].items():
        yield f"| {name} | {' | '.join(_cell(one) for one in found)} |"


def _cell(one: dict[str, Any]) -> str:
    median, p90 = ("> 20,000" if one[name] is None else f"{one[name]:,}" for name in ("median", "p90"))
    return f"{median} ({p90})"


if __name__ == "__main__":
    if sys.argv[1:] == ["table"]:
        kept = Path(__file__).parent / "results" / "drift.json"
        print("\n".join(table(json.loads(kept.read_text(encoding="utf-8")))))
    else:
        main()
