"""Properties of a trace and of its synthetic twin."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ssdlab.trace.description import info

if TYPE_CHECKING:
    import polars


class Property(NamedTuple):
    """A property of a trace and of its twin."""

    name: str
    unit: str
    trace: float
    twin: float

    @property
    def ratio(self) -> float:
        """Twin over trace; 1 where both are 0."""
        if self.trace == self.twin:
            return 1.0
        return self.twin / self.trace if self.trace else math.inf


SCALES_NS = {"100 us": 10**5, "1 ms": 10**6, "10 ms": 10**7, "100 ms": 10**8, "1 s": 10**9}
"""Time scales at which burstiness is reported."""


def properties(trace: polars.DataFrame, twin: polars.DataFrame) -> list[Property]:
    """What a trace and its twin are like (frames as :func:`ssdlab.trace.read` gives them), property by property.

    ``bytes in T around a request`` is the mean number of bytes that come within the time T that a request comes in:
    how bursty the load is at that scale. ``reads of pages written before`` is the share of reads that begin in a page
    which the workload has written by then.
    """
    import polars as pl

    # Requests of one queue or several: the addresses lie over each other, as in a replay.
    one, two = (info(frame.with_columns(device=pl.lit(0))) for frame in (trace, twin))
    rows = [
        Property("read ratio", "", one["read_ratio"] or 0.0, two["read_ratio"] or 0.0),
        Property("requests a second", "1/s", one["iops"] or 0.0, two["iops"] or 0.0),
    ]
    for name, key in (("reads", "size_read"), ("writes", "size_written")):
        for statistic in ("mean", "p50", "p99"):
            if one[key][statistic] is not None and two[key][statistic] is not None:
                rows.append(Property(f"size of {name}, {statistic}", "B", one[key][statistic], two[key][statistic]))
    for statistic in ("p50", "p90", "p99"):
        if one["gap_ns"][statistic] is not None and two["gap_ns"][statistic] is not None:
            rows.append(
                Property(f"gap, {statistic}", "us", one["gap_ns"][statistic] / 1e3, two["gap_ns"][statistic] / 1e3)
            )
    for name, scale in SCALES_NS.items():
        rows.append(Property(f"bytes in {name} around a request", "B", _around(trace, scale), _around(twin, scale)))
    for label, key in (
        ("sequential requests", "sequential_ratio"),
        ("cold-read ratio", "cold_read_ratio"),
        ("accesses to the hottest 1 %", "hot_1"),
        ("accesses to the hottest 10 %", "hot_10"),
        ("footprint", "footprint_bytes"),
        ("footprint written", "footprint_written_bytes"),
    ):
        if one[key] is not None and two[key] is not None:
            rows.append(Property(label, "B" if key.endswith("bytes") else "", one[key], two[key]))
    if one["reads"] and two["reads"] and one["writes"] and two["writes"]:
        rows.append(Property("reads of pages written before", "", _written_before(trace), _written_before(twin)))
    return rows


def _around(trace: polars.DataFrame, scale: int) -> float:
    """The mean over requests of the bytes in the interval of ``scale`` ns that the request lies in."""
    import polars as pl

    slots = trace.group_by(pl.col("time_ns") // scale).agg(load=pl.col("bytes").sum(), count=pl.len())
    return int((slots["load"] * slots["count"]).sum()) / int(slots["count"].sum())


def _written_before(trace: polars.DataFrame, page: int = 16384) -> float:
    written: set[int] = set()
    reads = met = 0
    for op, offset, size in trace.select("op", "offset", "bytes").iter_rows():
        if op == 0:
            reads += 1
            met += offset // page in written
        elif op == 1:
            written.update(range(offset // page, (offset + size - 1) // page + 1))
    return met / reads
