"""Tables of latency and throughput surfaces."""

from __future__ import annotations

from typing import Any

from ssdlab.common.numbers import binary_size, percent_text, time_text
from ssdlab.common.tables import Table
from ssdlab.sweeps.surface import Check, Tier

NAMES = {
    "bytes_per_s": "throughput",
    "read.latency_ns.mean": "reads: mean",
    "read.latency_ns.p50": "reads: p50",
    "read.latency_ns.p99": "reads: p99",
    "read.latency_ns.p99_9": "reads: p99.9",
    "write.latency_ns.mean": "writes: mean",
    "write.latency_ns.p50": "writes: p50",
    "write.latency_ns.p99": "writes: p99",
    "write.latency_ns.p99_9": "writes: p99.9",
}
"""Quantities, for people: requests a second are throughput over size."""
BY_AXIS = {"bytes": "by size", "qd": "by depth", "reads": "by read share"}


def of_tier(found: Tier) -> tuple[list[Table], list[str]]:
    """A table for each age and scheme, one of the interpolation's error, and the footnotes below them."""
    axes, rows = found.axes, found.table.to_dicts()
    tables = []
    for age in axes.age:
        for scheme in axes.scheme:
            named = [f"age {age}" * (len(axes.age) > 1), f"scheme {scheme}" * (len(axes.scheme) > 1)]
            title = ", ".join(filter(None, [_drive(found), *named]))
            of = [row for row in rows if row["age"] == age and row["scheme"] == scheme]
            tables.append(_points(f"{title}: {found.assumed.get('pattern', 'random')} requests", of, axes.qd))
    tables.append(_errors(found))
    footnotes = [
        "interpolation: error where a point is left out and predicted by its neighbours on an axis, at twice the step"
    ]
    if any("!" in row[1] for table in tables[:-1] for row in table.rows):
        footnotes.append("! a point of the row carries a warning; the file says which")
    return tables, footnotes


def _drive(found: Tier) -> str:
    return str(found.assumed.get("device") or found.assumed.get("array"))


def _points(title: str, rows: list[dict[str, Any]], depths: tuple[int, ...]) -> Table:
    """Latencies at the least and the largest depth, and the most throughput."""
    ends = dict.fromkeys((depths[0], depths[-1]))
    places = dict.fromkeys((row["reads"], row["bytes"]) for row in rows)
    lines = []
    for reads, size in sorted(places, key=lambda place: (-place[0], place[1])):
        of = {row["qd"]: row for row in rows if (row["reads"], row["bytes"]) == (reads, size)}
        most = max((row["bytes_per_s"] or 0.0 for row in of.values()), default=0.0)
        marked = "!" if any(row["warnings"] for row in of.values()) else ""
        for op in ("read", "write"):
            if (reads if op == "read" else 1.0 - reads) == 0.0:
                continue
            cells = [time_text(of[depth][f"{op}.latency_ns.{name}"]) for depth in ends for name in ("mean", "p99")]
            mix = f"{percent_text(reads)} reads" if reads else "writes"
            what = mix if reads in (0.0, 1.0) else f"{mix}: {op}s"
            lines.append((what, binary_size(size) + marked, *cells, f"{most / 1e6:,.0f}"))
    columns = [f"qd {depth} {name}" for depth in ends for name in ("mean", "p99")]
    return Table(title, ("requests", "size", *columns, "most MB/s"), lines)


def _errors(found: Tier) -> Table:
    checks = {(check.value, check.axis): check for check in found.cross_validation()}

    def cell(check: Check | None, part: str) -> str:
        return "-" if check is None else percent_text(getattr(check, part))

    rows = [
        (
            name,
            cell(checks.get((quantity, None)), "median"),
            cell(checks.get((quantity, None)), "worst"),
            *(cell(checks.get((quantity, axis)), "median") for axis in BY_AXIS),
        )
        for quantity, name in NAMES.items()
        if any(checks.get((quantity, axis)) for axis in (None, *BY_AXIS))
    ]
    return Table("Error of the interpolation", ("value", "median", "worst", *BY_AXIS.values()), rows)


def sentence(found: Tier) -> str:
    """What came out, in sentences."""
    rows = found.table.to_dicts()
    best = max(rows, key=lambda row: row["bytes_per_s"] or 0.0)
    at = f"{percent_text(best['reads'])} reads of {binary_size(best['bytes'])} at queue depth {best['qd']}"
    at = at if best["reads"] else at.replace("0 % reads", "writes")
    least = min(rows, key=lambda row: (-row["reads"], row["bytes"], row["qd"]))
    op = "read" if least["reads"] else "write"
    most = (best["bytes_per_s"] or 0.0) / 1e6
    first = (
        f"{_drive(found)}: a {op} of {binary_size(least['bytes'])} at queue depth {least['qd']} takes "
        f"{time_text(least[f'{op}.latency_ns.mean'])} on average; at most {most:,.0f} MB/s ({at})."
    )
    checks = [check for check in found.cross_validation() if check.axis is None]
    if not checks:
        return f"{first} No axis of numbers has three values, so the error of the interpolation is not known."
    of = next((check for check in checks if check.value == f"{op}.latency_ns.mean"), checks[0])
    worst = max((check for check in checks if check.value in NAMES), key=lambda check: check.worst)
    median, largest = percent_text(of.median), percent_text(of.worst)
    return (
        f"{first} Between its {len(rows):,} points values are interpolated. A point left out is predicted with an "
        f"error of {median} in the median and {largest} at worst ({NAMES[of.value]}); the largest error of all is "
        f"{percent_text(worst.worst)} ({NAMES[worst.value]})."
    )
