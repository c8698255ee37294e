"""Tables of traces and of generators fitted to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ssdlab.common.numbers import decimal_size, number_text, percent_text, three_digits
from ssdlab.common.tables import Table

if TYPE_CHECKING:
    from ssdlab.lives.clusters import Clusters, TwinError
    from ssdlab.trace.fit.check import Agreement, Missing
    from ssdlab.trace.fit.properties import Property


def of_trace(name: str, info: dict[str, Any]) -> list[Table]:
    """The tables of a trace's description (see :func:`ssdlab.trace.info`)."""

    def percent(share: float | None) -> str:
        return "-" if share is None else f"{100 * share:.1f} %"

    plain: list[tuple[str, ...]] = [
        ("requests", f"{info['requests']:,}"),
        ("reads", f"{info['reads']:,}"),
        ("writes", f"{info['writes']:,}"),
        *((kind, f"{info[kind]:,}") for kind in ("trims", "flushes", "others") if info[kind]),
        ("devices", f"{info['devices']:,}"),
        ("read ratio", percent(info["read_ratio"])),
        ("cold-read ratio (of reads, no page ever written)", percent(info["cold_read_ratio"])),
        ("duration", f"{info['duration_s']:,.3f} s"),
        ("requests a second", "-" if info["iops"] is None else f"{info['iops']:,.1f}"),
        ("bytes read", decimal_size(info["bytes_read"])),
        ("bytes written", decimal_size(info["bytes_written"])),
        ("footprint", decimal_size(info["footprint_bytes"])),
        ("footprint read", decimal_size(info["footprint_read_bytes"])),
        ("footprint written", decimal_size(info["footprint_written_bytes"])),
        ("highest byte", decimal_size(info["highest_byte"])),
        ("sequential requests", percent(info["sequential_ratio"])),
        *((f"accesses to the hottest {share} %", percent(info[f"hot_{share}"])) for share in (1, 10, 20)),
    ]
    columns = ("", "mean", "min", "p50", "p90", "p99", "max")
    rows = []
    for label, key, scale in (
        ("read [KiB]", "size_read", 1024),
        ("write [KiB]", "size_written", 1024),
        ("gap [µs]", "gap_ns", 1000),
    ):
        values = [info[key][column] for column in columns[1:]]
        rows.append((label, *("-" if value is None else f"{value / scale:,.1f}" for value in values)))
    return [Table(name, ("", ""), plain), Table("sizes and gaps", columns, rows)]


def of_properties(name: str, rows: Sequence[Property]) -> Table:
    """The properties of a trace and of its twin (see :func:`ssdlab.trace.fit.properties.properties`)."""
    cells: list[tuple[str, ...]] = [
        (
            f"{row.name} [{row.unit}]" if row.unit else row.name,
            number_text(row.trace),
            number_text(row.twin),
            f"{row.ratio:.2f}",
        )
        for row in rows
    ]
    return Table(name, ("", "trace", "synthetic", "ratio"), cells)


def of_agreements(name: str, rows: Sequence[Agreement]) -> Table:
    """The latencies of a trace's replay and of its twin's (see :func:`ssdlab.trace.fit.check.check`)."""
    cells: list[tuple[str, ...]] = []
    for row in rows:
        spread = "" if row.half_width_us is None else f" ± {row.half_width_us:.3g}"
        label = f"{row.replay} {row.op} {row.metric} [us]"
        verdict = "yes" if row.agrees else "no"
        cells.append((label, f"{row.trace_us:.4g}", f"{row.twin_us:.4g}{spread}", f"{row.ratio:.2f}", verdict))
    return Table(name, ("", "trace", "synthetic", "ratio", "within 10 %"), cells)


def of_missing(name: str, rows: Sequence[Missing]) -> Table:
    """What twins miss (see :func:`ssdlab.trace.fit.check.missing`)."""
    cells = [
        (
            f"{row.replay} {row.op} {row.metric}",
            *(f"{ratio:.2f}" for ratio in (row.gaps, row.addresses, row.in_order, row.twin)),
            row.what,
        )
        for row in rows
    ]
    return Table(
        name, ("synthetic/trace", "gaps drawn", "sizes, addresses drawn", "both", "order too", "missing"), cells
    )


def of_clusters(name: str, found: Clusters) -> Table:
    """The clusters of volumes: what their middles are like (see :func:`ssdlab.lives.clusters.cluster`)."""
    cells: list[tuple[str, ...]] = []
    for of in found.clusters:
        like = of.middle.features
        cells.append(
            (
                of.middle.name,
                f"{len(of.volumes):,}",
                percent_text(of.share),
                percent_text(like["read_share"]),
                three_digits(10.0 ** like["rate"]),
                three_digits(2.0 ** like["size"] / 1024),
                percent_text(like["sequential"]),
                percent_text(like["hot"]),
                decimal_size(round(10.0 ** like["footprint"])),
                f"{of.radius:.2f}",
            )
        )
    head = ("middle", "volumes", "share", "reads", "1/s", "KiB", "sequential", "hot 10 %", "footprint", "radius")
    return Table(name, head, cells)


SHOWN = {
    "read ratio": "read ratio",
    "requests a second [1/s]": "requests a second",
    "size of reads, mean [B]": "size of reads [B]",
    "size of writes, mean [B]": "size of writes [B]",
    "gap, p50 [us]": "gap, p50 [us]",
    "gap, p99 [us]": "gap, p99 [us]",
    "bytes in 1 ms around a request [B]": "bytes in 1 ms [B]",
    "sequential requests": "sequential",
    "accesses to the hottest 10 %": "hottest 10 %",
    "footprint [B]": "footprint [B]",
    "reads of pages written before": "reads of written",
}
"""The properties that a table of twins' errors shows, and what they are called there; all are in its file."""


def of_twin_errors(name: str, rows: Sequence[TwinError]) -> list[Table]:
    """How far twins are from volumes (see :func:`ssdlab.lives.clusters.twin_errors`): each volume's own twin and its
    cluster's, and all volumes beside the twins by their shares."""

    def error(value: float, points: bool) -> str:
        if points:
            return f"{100.0 * value:.1f} pp"
        if math.isinf(value):
            return "-"
        return f"x {three_digits(1.0 + value)}" if value >= 1.0 else percent_text(value)

    shown = [
        (SHOWN.get(row.name, row.name.replace("timed:", "").replace("timed", "x1")), row)
        for row in rows
        if row.name in SHOWN or row.name.endswith("p99 [us]")
    ]
    own: list[tuple[str, ...]] = [
        (
            label,
            error(row.own_median, row.points),
            error(row.own_worst, row.points),
            row.worst,
            error(row.cluster_median, row.points),
            error(row.cluster_worst, row.points),
        )
        for label, row in shown
    ]
    fleet: list[tuple[str, ...]] = [
        (
            label,
            f"{row.volumes:,}",
            three_digits(row.mean),
            three_digits(row.fleet_mean),
            error(abs(row.fleet_mean - row.mean) if row.points else _factor(row.mean, row.fleet_mean), row.points),
            f"{row.distance:.2f}",
        )
        for label, row in shown
    ]
    return [
        Table(f"{name}: median and worst, own and cluster's", ("", "own", "worst", "of", "cluster's", "worst"), own),
        Table("The fleet", ("mean", "volumes", "of volumes", "of twins", "error", "KS"), fleet),
    ]


def _factor(one: float, two: float) -> float:
    return max(one, two) / min(one, two) - 1.0 if min(one, two) > 0.0 else math.inf if one != two else 0.0
