"""The tables of servers in docs/accuracy.md."""

from collections.abc import Iterator

from teto.catalog.fit.report import cells, verdict
from teto.catalog.fit.server_study import ServerStudy

__all__ = ["server_tables"]

_WORDS = {"shape_key": "shape"}


def server_tables(study: ServerStudy) -> Iterator[str]:
    """A line for each quantity and split, the constants, and what was left out."""
    yield "| servers under load | split | rows | median | p90 | bias | bar | forms tried |"
    yield "|---|---|---:|---:|---:|---:|---|---:|"
    for one in study.judged:
        what, forms = one.what, "" if one.n_forms_tried is None else str(one.n_forms_tried)
        for split, errors in one.errors.items():
            judged = "" if split.startswith("spread") else verdict(errors, one.bar)
            yield f"| {what} | {_WORDS.get(split, split)} | {cells(errors)} | {judged} | {forms} |"
            what = forms = ""
    yield ""
    yield "| fit | rows | η weights | η KV | η compute | η attention | t0 a layer | a sequence | a link | imbalance |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for entry in study.entries:
        attention = "as compute" if entry.attention_fraction is None else f"{entry.attention_fraction:.2f}"
        yield (
            f"| {entry.id} | {entry.n_rows} | {entry.weights_fraction:.2f} | {entry.cache_fraction or 0:.2f} | "
            f"{entry.compute_fraction or 0:.2f} | {attention} | {1e6 * entry.layer_overhead_s:.0f} µs | "
            f"{1e6 * entry.sequence_overhead_s:.0f} µs | {1e6 * entry.link_overhead_s:.0f} µs | "
            f"{entry.expert_imbalance:.2f} |"
        )
    yield ""
    for curve in study.power:
        yield (
            f"- {curve.id}: power = rated · min(1, {curve.idle_fraction:.2f} + {curve.memory_fraction:.2f} √memory + "
            f"{curve.compute_fraction:.2f} √compute), {curve.n_rows} rows"
        )
    fronts = ", ".join(f"{engine} {1e3 * seconds:.0f} ms" for engine, seconds in study.queue.front_s.items())
    yield f"- {study.queue.id}: front {fronts}; {study.queue.burst_fraction:.2f} of the calls in the opening burst"
    yield ""
    yield "Rows left out, by source:"
    yield ""
    for source, counts in study.dropped.items():
        yield f"- {source}: " + ", ".join(f"{reason} ({count})" for reason, count in counts.most_common())
