"""How well private data is told from what looks like it: recall and precision of each detector on generated text.

Both the numbers and the text around them are generated (benchmarks/look_alikes.py, seeded). The detectors were written
with such forms in mind, so on forms that nobody thought of recall is lower: the figures bound it from above. A
look-alike whose check digits are right by chance counts as a false positive.
Run: python benchmarks/privacy.py
"""

import os
import random
import time
from collections import Counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from look_alikes import LOOK_ALIKES, SENTENCES, TRUE, Dice
from report import Report
from teto.triage.privacy.find import find_private
from teto.triage.privacy.finding import KINDS, Kind

SEED = 2026
TRUE_EACH = 2_000
LOOK_ALIKES_EACH = 2_000


def _placed(dice: Dice, text: str) -> tuple[str, int, int]:
    """The text in a sentence, and where it stands."""
    head, tail = dice.choice(SENTENCES).split("{}")
    return f"{head}{text}{tail}", len(head), len(head) + len(text)


def recall(dice: Dice, kind: Kind) -> dict[str, Any]:
    """The share of true ones for which a finding of their kind lies in their place."""
    found = beside = 0
    for _ in range(TRUE_EACH):
        text, start, end = _placed(dice, TRUE[kind](dice))
        findings = find_private(text)
        found += any(item.kind == kind and item.start < end and item.end > start for item in findings)
        beside += any(item.kind != kind for item in findings)
    return {"true": TRUE_EACH, "found": found, "recall": found / TRUE_EACH, "taken_for_another_kind_too": beside}


def false_positives(dice: Dice) -> dict[str, Counter[Kind]]:
    """For each look-alike how many of its texts hold a finding of each kind."""
    counts: dict[str, Counter[Kind]] = {}
    for name, make in LOOK_ALIKES.items():
        counts[name] = Counter()
        for _ in range(LOOK_ALIKES_EACH):
            text, _, _ = _placed(dice, make(dice))
            counts[name].update({item.kind for item in find_private(text)})
    return counts


def speed(dice: Dice) -> dict[str, Any]:
    """Characters a second on the look-alikes, and on text without a digit."""
    makers = [*LOOK_ALIKES.values(), *TRUE.values()]
    dense = " ".join(_placed(dice, dice.choice(makers)(dice))[0] for _ in range(20_000))
    plain = "O cliente pediu que a entrega fosse feita na portaria, please leave it there. " * 20_000
    taken = {}
    for name, text in (("numbers in every sentence", dense), ("no numbers", plain)):
        start_s = time.process_time()
        find_private(text)
        taken[name] = {
            "characters": len(text),
            "megabytes_per_cpu_second": len(text) / 1e6 / (time.process_time() - start_s),
        }
    return taken


def main() -> None:
    """Draw, search, count."""
    dice = random.Random(SEED)  # noqa: S311 - a seed, so that anybody measures the same
    recalls = {kind: recall(dice, kind) for kind in KINDS}
    counts = false_positives(dice)
    total = len(LOOK_ALIKES) * LOOK_ALIKES_EACH
    report = Report("privacy")
    report.add(
        "recall by detector",
        recalls,
        bar=">= 0.99 on the forms that docs/privacy.md lists",
        met=min(figures["recall"] for figures in recalls.values()) >= 0.99,
    )
    per_detector = {}
    for kind in KINDS:
        wrong = sum(row[kind] for row in counts.values())
        per_detector[kind] = {
            "look_alikes": total,
            "false_positives": wrong,
            "per_1000_look_alikes": 1000 * wrong / total,
            # One true one beside ten look-alikes, drawn evenly from the kinds of look-alike above.
            "precision_at_1_in_11": recalls[kind]["recall"] / (recalls[kind]["recall"] + 10 * wrong / total),
        }
    report.add("precision by detector", per_detector)
    report.add(
        "false positives per 1,000 of each look-alike",
        {
            name: {kind: 1000 * count / LOOK_ALIKES_EACH for kind, count in sorted(row.items())}
            for name, row in counts.items()
            if row
        },
    )
    clean = [name for name, row in counts.items() if not row]
    report.add("look-alikes of which none was taken for anything", clean)
    kept = sum(any(row.values()) for row in counts.values())
    report.add("size", {"look_alike_kinds": len(LOOK_ALIKES), "with_any_false_positive": kept, "seed": SEED})
    report.add("speed on one core", speed(dice))
    report.write()


if __name__ == "__main__":
    main()
