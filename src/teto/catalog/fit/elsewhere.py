"""Measurements that no fit was made from, predicted as a user would be answered: by the first fit that covers them.

They are llama.cpp and ollama on machines from a Raspberry Pi to an M3 Ultra, and state no context.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from teto.catalog.devices import find_device
from teto.catalog.fit.holdout import Errors, speed_errors
from teto.catalog.fit.observe import Observation, observed
from teto.catalog.fit.report import cells
from teto.catalog.fit.rows import Row, read_rows
from teto.catalog.fit.single_rows import Identified, identified, is_possible
from teto.catalog.fits import FitEntry
from teto.physics.estimate import Fit
from teto.physics.roofline import decode_step

__all__ = ["elsewhere_tables"]

_FILES: Final = ("geerling_power.csv", "misc_pages_issues.csv")
_CONTEXT_TOKENS: Final = 500.0  # a short question and half of its answer
_CARD: Final = re.compile(r"\((?:Nvidia |AMD |Intel )?((?:RTX|RX|Pro W|Radeon|A\d|Arc|AI Pro|\d{4}).*)\)$")
_FULL_NAMES: Final = (("AI Pro", "Radeon AI Pro"), ("Pro W", "Radeon Pro W"), ("A4", "RTX A4"))
_WORDS: Final = {
    "gddr": "graphics cards", "hbm": "cards with HBM", "apple": "Apple", "cpu": "CPUs", "apu": "integrated GPUs",
}  # fmt: skip


def _on_its_card(row: Row) -> Row:
    """A computer with a card is the card."""
    found = _CARD.search(row.device)
    if found is None:
        return row
    name = found.group(1)
    for short, full in _FULL_NAMES:
        name = full + name.removeprefix(short) if name.startswith(short) else name
    return replace(row, device=f"RTX {name}" if name[0].isdigit() and "XT" not in name else name)


def _step(found: Identified) -> Observation:
    return observed(
        device=found.device,
        shape=found.shape,
        work=decode_step(found.shape, found.weights, context_tokens=_CONTEXT_TOKENS, is_expected=True),
        quant=found.quant,
        measured_s=1 / (found.row.decode_tokens_per_s or 1),
        context_tokens=_CONTEXT_TOKENS,
    )


def _first_fit(entries: Sequence[FitEntry], one: Observation) -> Fit | None:
    device = find_device(one.device)
    for entry in entries:
        quant = one.label.rpartition(" ")[2]
        if entry.covers(device, is_moe=one.is_moe, n_devices=1, engine="llama.cpp", quant=quant):
            return entry.fit
    return None


def elsewhere_tables(entries: Sequence[FitEntry], folder: Path) -> Iterator[str]:
    """A line for each family of devices, and what was left out."""
    dropped: Counter[str] = Counter()
    errors: dict[str, list[float]] = {}
    rows = [
        _on_its_card(row)
        for name in _FILES
        for row in read_rows(folder, name)
        if row.n_devices == 1 and row.batch == 1 and row.decode_tokens_per_s and "vLLM" not in row.engine
    ]
    for found in identified(rows, dropped):
        if found.device.family == "apple" and found.row.prompt_tokens:
            continue  # llama-bench on Apple is in the fits
        step = _step(found)
        fit = _first_fit(entries, step)
        if not is_possible(step):
            dropped["faster than the device's memory allows: another file than stated"] += 1
        elif fit is None:
            dropped["no fit of llama.cpp covers the device"] += 1
        else:
            errors.setdefault(found.device.family or "cpu", []).append(float(speed_errors(fit, [step])[0]))
    yield "| measurements that no fit saw | rows | median | p90 | bias |"
    yield "|---|---:|---:|---:|---:|"
    for family, words in _WORDS.items():
        if family in errors:
            yield f"| {words} | {cells(Errors(signed=tuple(errors[family]), n_groups=1))} |"
    yield ""
    yield "Left out: " + ", ".join(f"{reason} ({count})" for reason, count in dropped.most_common()) + "."
