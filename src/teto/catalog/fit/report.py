"""Writes docs/accuracy.md: errors on held-out devices and shapes beside the bars that were to be reached."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from teto.catalog.fit.families import Bar
from teto.catalog.fit.holdout import Errors
from teto.catalog.fit.study import Study

__all__ = ["cells", "joined", "single_tables", "verdict"]


def joined(errors: Sequence[Errors | None]) -> Errors | None:
    """The errors of several fits as one."""
    found = [one for one in errors if one is not None]
    if not found:
        return None
    return Errors(
        signed=tuple(error for one in found for error in one.signed), n_groups=sum(one.n_groups for one in found)
    )


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def cells(errors: Errors | None) -> str:
    """Rows, median, 90th percentile and bias, as cells of a table."""
    if errors is None:
        return "- | - | - | -"
    return f"{errors.n_rows} | {_percent(errors.median)} | {_percent(errors.p90)} | {100 * errors.bias:+.1f} %"


def verdict(errors: Errors | None, bar: Bar | None) -> str:
    """Whether the bar was reached, in words."""
    if bar is None:
        return "no bar"
    if errors is None:
        return "one device only"
    words = f"<= {100 * bar.median:.0f} %" + ("" if bar.p90 is None else f", p90 <= {100 * bar.p90:.0f} %")
    is_met = errors.median <= bar.median and (bar.p90 is None or errors.p90 <= bar.p90)
    return f"{words}: {'met' if is_met else '**missed**'}"


def single_tables(studies: Sequence[Study], bars: Mapping[str, Bar]) -> Iterator[str]:
    """Decode and prefill of one request on one device, a line a table's group and a line a fit."""
    groups: dict[str, list[Study]] = {}
    for one in studies:
        groups.setdefault(one.family.table, []).append(one)
    yield "| decode, one request | split | rows | median | p90 | bias | bar |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for table, members in groups.items():
        device = joined([one.by_device for one in members])
        shape = joined([one.by_shape for one in members])
        bar = bars.get(table)
        yield f"| {table} | device | {cells(device)} | {verdict(device, bar)} |"
        yield f"| | shape | {cells(shape)} | {verdict(shape, bar)} |"
        floor = joined([one.floor for one in members])
        if floor is not None:
            yield f"| | spread of repeats | {cells(floor)} | |"
    yield ""
    yield "| fit | rows | devices | η weights | η KV | t0 a layer | η compute | forms | prefill: median, p90 |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---|"
    for one in studies:
        yield from _constants(one)
    yield ""
    yield from _dropped(studies)


def _constants(one: Study) -> Iterator[str]:
    prefill = "-" if one.prefill is None else f"{_percent(one.prefill.median)}, {_percent(one.prefill.p90)}"
    devices = 1 if one.by_device is None else one.by_device.n_groups
    for entry in one.entries:
        cache = "-" if entry.cache_fraction is None else f"{entry.cache_fraction:.2f}"
        compute = "-" if entry.compute_fraction is None else f"{entry.compute_fraction:.2f}"
        yield (
            f"| {entry.id} | {entry.n_rows} | {devices} | {entry.weights_fraction:.2f} | {cache} | "
            f"{1e6 * entry.layer_overhead_s:.0f} µs | {compute} | {one.family.n_forms_tried} | {prefill} |"
        )


def _dropped(studies: Sequence[Study]) -> Iterator[str]:
    by_source: dict[str, Counter[str]] = {}
    for one in studies:
        by_source.setdefault(one.family.source, Counter()).update({})
        by_source[one.family.source] |= one.dropped
    yield "Rows left out, by source:"
    yield ""
    for source, counts in by_source.items():
        words = ", ".join(f"{reason} ({count})" for reason, count in counts.most_common()) or "none"
        yield f"- {source}: {words}"
