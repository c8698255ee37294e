"""A device before any run."""

from __future__ import annotations

from ssdlab.common.numbers import binary_size, decimal_size, time_text
from ssdlab.common.tables import Table
from ssdlab.runs.bounds import DeviceBounds

FOOTNOTES = [
    "queue depth: with fewer outstanding requests the bound cannot be reached (bound x lone latency, Little's law)",
    "within 3 %: as near come runs of all presets of which this is said",
]


def of_bounds(found: DeviceBounds) -> tuple[list[Table], list[str]]:
    """The tables of a device, and the footnotes below them."""
    made_of: list[tuple[str, ...]] = [
        ("capacity", f"{decimal_size(found.capacity_bytes)} of {decimal_size(found.raw_bytes)} of flash"),
        ("over-provisioning", f"{100 * found.over_provisioning:.1f} % of the capacity"),
        *found.shape,
    ]
    most: list[tuple[str, ...]] = [
        (
            access.what,
            binary_size(access.bytes),
            f"{access.iops:,.0f}",
            f"{access.bandwidth_mb_s:,.0f}",
            "-" if access.lone_ns is None else time_text(access.lone_ns),
            "-" if access.queue_depth is None else f"{access.queue_depth:,}",
            "within 3 %" if access.reached else "or less",
            access.bounds[0].resource,
        )
        for access in found.accesses
    ]
    columns = ("", "size", "IOPS", "MB/s", "lone latency", "queue depth", "runs reach", "limited by")
    every: list[tuple[str, ...]] = [
        (access.what, bound.resource, f"{bound.per_s:,.0f}", f"{bound.per_s * access.bytes / 1e6:,.0f}", bound.formula)
        for access in found.accesses
        for bound in access.bounds
    ]
    return [
        Table("Device", ("name", found.name), made_of, left=2),
        Table("At most, without errors, collections and misses of the map", columns, most, right=2),
        Table("Every bound", ("", "resource", "IOPS", "MB/s", "formula"), every, left=2, right=1),
    ], FOOTNOTES
