"""Tables and pictures of throughput against latency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ssdlab.common.numbers import time_text
from ssdlab.common.tables import Table
from ssdlab.show.runs import FEW_BEYOND, PERCENTILES, says_little
from ssdlab.sweeps.curve import KINDS, LATENCIES, Curve, CurveLine, Latency, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {"mean": "mean", "p99": "p99", "p99_9": "p99.9"}
SHARES = dict(PERCENTILES)
BESIDE = ("mean", "p99")
"""The latencies of writes that a table has beside those of a mixed load's reads."""
LOADS = {"qd": "queue depth", "rate": "offered [requests/s]"}
DASHES = ("-", "--", "-.", ":")
LEGEND = 130
"""Characters of a legend's line."""
MARKERS = ("o", "s", "^", "D", "v", "P")
"""Lines differ in grey print too."""


def of_curve(found: Curve) -> tuple[list[Table], list[str]]:
    """A table for each line, and the footnotes below them."""
    marked = any(point.warnings for line in found.lines for point in line.points)
    tables = []
    for line in found.lines:
        rows = [
            (
                f"{point.load:,.0f}" + (" knee" if point is line.knee else ""),
                f"{point.iops[0]:,.0f}",
                *(_cell(point, found.kind, name) for name in LATENCIES),
                *(_cell(point, "write", name) for name in BESIDE if found.mixed),
                *((", ".join(sorted(point.warnings)),) if marked else ()),
            )
            for point in line.points
        ]
        writes = [f"write {NAMES[name]}" for name in BESIDE if found.mixed]
        columns = (LOADS[found.load], "requests/s", *NAMES.values(), *writes, *(("warnings",) if marked else ()))
        tables.append(
            Table(f"{line.name}: {found.workload}, latency of {KINDS[found.kind]}", columns, rows, right=int(marked))
        )
    footnotes = [
        "knee: where throughput over the mean latency of all requests is largest",
        "it lies between its neighbours; more loads there (--qd, --rate) tell more",
    ]
    named: dict[tuple[float, str], list[str]] = {}
    for line in found.lines:
        if line.bound is not None:
            named.setdefault((line.bound.per_s, line.bound.resource), []).append(line.name)
    bounds = [
        f"{'; '.join(names)}: no more than {per_s:,.0f} requests/s by its {resource}, without errors (ssdlab device)"
        for (per_s, resource), names in named.items()
    ]
    if any(cell.startswith("~") for table in tables for row in table.rows for cell in row):
        footnotes.append(FEW_BEYOND)
    return tables, footnotes + bounds


def _cell(point: Point, kind: str, name: str) -> str:
    latency = _latency(point, kind)
    return ("~" if _says_little(point, kind, name) else "") + time_text(latency[name][0])


def _latency(point: Point, kind: str) -> Latency:
    """The latencies of a kind of requests; of writes those beside a mixed load's reads, where these are shown."""
    return point.writes_ns if kind == "write" and point.writes_ns is not None else point.latency_ns


def _says_little(point: Point, kind: str, name: str) -> bool:
    requests = point.writes if kind == "write" else point.requests
    return name in SHARES and says_little(requests, SHARES[name])


def draw(found: Curve) -> Figure:
    """Mean latency, p99 and p99.9 over throughput, a line for each drive; bounds as vertical lines. Under a mixed load
    writes have a row of their own."""
    from ssdlab.show.plot import COLOURS, INK, _axes

    kinds = [found.kind, "write"] if found.mixed else [found.kind]
    figure, _ = _axes(None, 9.0, 1.8 + 2.6 * len(kinds))
    figure.clear()
    rows = figure.subplots(len(kinds), len(LATENCIES), sharey="row", squeeze=False)
    most = max(point.iops[0] for line in found.lines for point in line.points)
    scale, unit = (1e6, "million ") if most >= 2e6 else (1e3, "thousand ") if most >= 2e3 else (1.0, "")
    # Bounds far off would squeeze the lines.
    bounds = [
        (COLOURS[at % len(COLOURS)], line.bound.per_s / scale)
        for at, line in enumerate(found.lines)
        if line.bound is not None and line.bound.per_s < 1.3 * most
    ]
    for kind, panels in zip(kinds, rows, strict=True):
        for ax, name in zip(panels, LATENCIES, strict=True):
            _panel(ax, found, (kind, name), scale, bounds)
            if kind == kinds[-1]:
                ax.set_xlabel(f"throughput [{unit}requests/s]")
        _microseconds(panels[0])
        panels[0].set_ylabel(
            f"latency of {KINDS[kind]}" + (" (lower is better)" if len(kinds) == 1 else "\n(lower is better)")
        )
    figure.suptitle(f"{found.workload}: latency against throughput, {_range(found)}", fontsize="medium")
    handles, labels = rows[0][0].get_legend_handles_labels()
    if len(found.lines) > 1:
        # As many columns as have room, and rows of one length.
        columns = max(1, min(3, len(labels), LEGEND // (max(map(len, labels)) + 8)))
        columns = math.ceil(len(labels) / math.ceil(len(labels) / columns))
        figure.legend(handles, labels, ncols=columns, loc="outside lower center", frameon=False)
    legend = [
        *(["large mark: knee"] if any(line.knee for line in found.lines) else []),
        *(["dotted: bound of `ssdlab device`"] if bounds else []),
    ]
    figure.text(0.995, 0.005, "; ".join(legend), ha="right", va="bottom", fontsize="x-small", color=INK)
    return figure


def _panel(ax: Axes, found: Curve, what: tuple[str, str], scale: float, bounds: Sequence[tuple[str, float]]) -> None:
    """A statistic of a kind of requests, a line for each drive."""
    from ssdlab.show.plot import COLOURS, INK

    ax.spines[["top", "right"]].set_visible(False)
    for at, line in enumerate(found.lines):
        style: dict[str, Any] = {
            "color": COLOURS[at % len(COLOURS)],
            "ls": DASHES[at % len(DASHES)],
            "marker": MARKERS[at % len(MARKERS)],
        }
        _line(ax, line, what, scale, style)
    if not any(_drawn(line, *what) for line in found.lines):
        ax.text(0.5, 0.5, "too few requests", transform=ax.transAxes, ha="center", color=INK)
        ax.set_xticks([])
    for colour, bound in bounds:
        ax.axvline(bound, color=colour, lw=0.8, ls=":", label="_")
    ax.set_yscale("log")
    ax.set_xlim(left=0.0)
    ax.set_title(NAMES[what[1]], fontsize="medium")
    ax.xaxis.set_major_formatter("{x:,g}")
    ax.grid(alpha=0.3, which="both")


def _drawn(line: CurveLine, kind: str, name: str) -> list[Point]:
    """The points of a line whose latency says something."""
    return [
        point
        for point in line.points
        if _latency(point, kind)[name][0] is not None and not _says_little(point, kind, name)
    ]


def _line(ax: Axes, line: CurveLine, what: tuple[str, str], scale: float, style: dict[str, Any]) -> None:
    kind, name = what
    points = _drawn(line, kind, name)
    x = [point.iops[0] / scale for point in points]
    y, errors = ([(_latency(point, kind)[name][part] or 0.0) / 1e3 for point in points] for part in (0, 1))
    ax.errorbar(x, y, errors if any(errors) else None, label=line.name, ms=3.5, lw=1.4, capsize=2, **style)
    if line.knee is not None and line.knee in points:
        at = points.index(line.knee)
        ax.plot([x[at]], [y[at]], marker=style["marker"], ms=9, mfc="none", mec=style["color"], mew=1.4, ls="")


def _range(found: Curve) -> str:
    loads = [point.load for line in found.lines for point in line.points]
    if found.load == "qd":
        return f"queue depth {min(loads):.0f} to {max(loads):.0f}"
    return f"{min(loads):,.0f} to {max(loads):,.0f} requests/s offered"


def _microseconds(ax: Axes) -> None:
    """Ticks of a logarithmic axis in µs, ms and s."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    def text(value: float, _: object) -> str:
        for limit, part, unit in ((1e3, 1.0, "µs"), (1e6, 1e3, "ms"), (float("inf"), 1e6, "s")):
            if value < limit:
                return f"{value / part:g} {unit}"
        raise AssertionError("Invariant: the last limit is infinite")

    low, high = ax.get_ylim()
    # What spans more than a decade has room for fewer.
    parts = (1.0, 2.0, 5.0) if high > 20.0 * low else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    ax.yaxis.set_major_locator(LogLocator(10.0, parts))
    ax.yaxis.set_major_formatter(FuncFormatter(text))
    ax.yaxis.set_minor_formatter(NullFormatter())
