"""teto beside other planners on the same measured rows: decode of one request by llama.cpp on one GPU or Apple chip.

Run: python benchmarks/planners.py ../shared/data. How to install the peers is in peers.py; one that is absent is
skipped with a note. teto's predictions are of held-out devices: no row of the device was fitted.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from peers import PEERS, Case, PeerUnavailable
from report import Report
from teto.catalog.devices import find_device
from teto.catalog.fit.families import Family
from teto.catalog.fit.observe import Observation, stack
from teto.catalog.fit.single import SINGLE
from teto.catalog.fit.solve import solve
from teto.catalog.models import find_model
from teto.physics.estimate import Fit
from teto.physics.mixers import FullAttention

TABLES = ("GDDR, batch 1", "HBM, batch 1")
FEED_FORWARD = {"llama-3-8b": 14336, "llama-3-70b": 28672, "llama-3.1-8b": 14336, "llama-3.1-70b": 28672}


def held_out_tokens_per_s(family: Family, rows: list[Observation]) -> list[tuple[Observation, float]]:
    """Teto's speed for each row, fitted to the other devices of its family."""
    start = Fit(
        name=family.id, source=family.source, n_rows=len(rows), weights_fraction=0.8, cache_fraction=None,
        compute_fraction=None, band=(1.0, 1.0),
    )  # fmt: skip
    found = []
    for device in sorted({row.device for row in rows}):
        fit = solve(start, family.decode_terms, [row for row in rows if row.device != device])
        own = [row for row in rows if row.device == device]
        found += list(zip(own, (1 / stack(own).predicted_s(fit)).tolist(), strict=True))
    return found


def case_of(row: Observation) -> Case:
    """The row as the peers are asked about it."""
    model, quant = row.label.split(" ")
    shape = find_model(model).shape
    mixer = shape.blocks[0].mixer
    assert isinstance(mixer, FullAttention)
    entry = find_device(row.device)
    return Case(
        model="meta-llama/Meta-" + model.title(),
        engine="llama.cpp",
        quant=quant.upper(),
        weight_bytes=row.weight_bytes,
        n_params=shape.total_params,
        n_layers=shape.n_layers,
        hidden_size=shape.width,
        n_heads=mixer.n_heads,
        n_kv_heads=mixer.n_kv_heads,
        head_dim=mixer.key_dim,
        intermediate_size=FEED_FORWARD[model],
        vocab_size=shape.head_params // shape.width,
        device=entry.name,
        mem_bandwidth_bytes_per_s=row.mem_bandwidth_bytes_per_s,
        flops_per_s=row.flops_per_s,
        prompt_tokens=1,
        output_tokens=int(2 * row.context_tokens),
    )


def asked(function: Callable[[Case], float], row: Observation, refused: Counter[str]) -> float | None:
    """A peer's speed, or None, counted with the reason."""
    try:
        return function(case_of(row))
    except PeerUnavailable as reason:
        refused[str(reason)[:110]] += 1
        return None


def summary(errors: list[float], refused: Counter[str]) -> dict[str, Any]:
    """Median and 90th percentile of the absolute relative error of speed."""
    if not errors:
        return {"rows": 0, "not_asked": dict(refused)}
    absolute = np.abs(errors)
    return {
        "rows": len(errors),
        "median": round(float(np.median(absolute)), 3),
        "p90": round(float(np.quantile(absolute, 0.9)), 3),
        "bias": round(float(np.median(errors)), 3),
        "not_asked": dict(refused),
    }


def main() -> None:
    """Print and write the errors of everybody, by group of rows."""
    folder = Path(sys.argv[1])
    report = Report("planners")
    families: dict[str, list[Family]] = defaultdict(list)
    for family in SINGLE:
        if family.table in TABLES:
            families[family.table].append(family)
    for table, members in families.items():
        rows = [pair for family in members for pair in held_out_tokens_per_s(family, list(family.load(folder).decode))]
        figures = {"teto, device held out": summary([speed * row.measured_s - 1 for row, speed in rows], Counter())}
        for peer in PEERS:
            refused: Counter[str] = Counter()
            speeds = [(row, asked(peer.tokens_per_s, row, refused)) for row, _ in rows]
            errors = [speed * row.measured_s - 1 for row, speed in speeds if speed is not None]
            figures[peer.name] = summary(errors, refused)
        report.add(table, figures)
    report.write()


if __name__ == "__main__":
    main()
