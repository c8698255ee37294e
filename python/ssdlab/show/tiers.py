"""Tables of latency and throughput surfaces."""

from __future__ import annotations

from typing import Any

from ssdlab.common.numbers import binary_size, percent_text, time_text
from ssdlab.common.tables import Table
from ssdlab.sweeps.surface import NAMES, Check, Tier

BY_AXIS = {"bytes": "by size", "qd": "by depth", "reads": "by read share"}


def of_tier(found: Tier) -> tuple[list[Table], list[str]]:
    """A table for each age and scheme, one of the interpolation's error, and the footnotes below them."""
    axes, rows = found.axes, found.table.to_dicts()
    tables = []
    for age in axes.age:
        for scheme in axes.scheme:
            named = [f"age {age}" * (len(axes.age) > 1), f"scheme {scheme}" * (len(axes.scheme) > 1)]
            title = ", ".join(filter(None, [found.name, *named]))
            of = [row for row in rows if row["age"] == age and row["scheme"] == scheme]
            tables.append(_points(f"{title}: {found.assumed.get('pattern', 'random')} requests", of, axes.qd))
    footnotes = []
    if any("!" in row[1] for table in tables for row in table.rows):
        footnotes.append("! a point of the row carries a warning; the file says which")
    errors = _errors(found)
    if errors.rows:
        tables.append(errors)
        footnotes.append("a point is left out and predicted by its neighbours on an axis, at twice the grid's step")
    return tables, footnotes


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
