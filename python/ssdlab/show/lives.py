"""Tables, sentences and figures of drives' lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ssdlab.common.numbers import percent_text, three_digits, time_text
from ssdlab.common.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ssdlab.lives.life import Life

Cell = Callable[[Any], str]


def _number(value: float | None) -> str:
    return "-" if value is None else three_digits(value)


COLUMNS: dict[str, tuple[str, Cell]] = {
    "month": ("month", lambda value: f"{value:.0f}"),
    "pec": ("P/E cycles", lambda value: f"{value:,.0f}"),
    "spare": ("spare", percent_text),
    "waf": ("WAF", _number),
    "data_days": ("data age [d]", _number),
    "retries": ("retries", lambda value: "-" if value is None else f"{value:.2f}"),
    "read_mean_ns": ("read mean", time_text),
    "read_p99_ns": ("read p99", time_text),
    "read_p99_9_ns": ("read p99.9", time_text),
    "write_mean_ns": ("write mean", time_text),
    "power_w": ("mean W", _number),
}
"""What is shown of a life, and how."""
SHOWN = 10
"""Epochs that are shown of a longer life: the file has all."""


def of_life(found: Life) -> tuple[list[Table], list[str]]:
    """A table a scheme, and the footnotes below them."""
    tables = []
    for scheme in found.spec.schemes:
        rows = found.of(scheme).to_dicts()
        every = max(1, -(-len(rows) // SHOWN))
        cells = [tuple(show(row[name]) for name, (_, show) in COLUMNS.items()) for row in rows[::-1][::every][::-1]]
        tables.append(Table(scheme, tuple(head for head, _ in COLUMNS.values()), cells, left=0))
    footnotes = [f"{scheme}: the life ends {why}" for scheme, why in found.ended.items()]
    conditions = found.spec.conditions
    footnotes.append(
        f"{conditions.epochs} epochs of {conditions.months / conditions.epochs:.1f} months; latencies are those of the "
        f"active time, {percent_text(conditions.duty)} of the day; retries a page read, of collection too"
    )
    if found.table["power_w"].null_count() == found.table.height:
        footnotes.append("mean W: not known, as energy.idle_mw is not set (the power of controller, DRAM and link)")
    return tables, footnotes


PANELS = {
    "read_mean_ns": ("mean read latency [µs]", 1e3),
    "read_p99_ns": ("p99 read latency [µs]", 1e3),
    "read_p99_9_ns": ("p99.9 read latency [µs]", 1e3),
    "retries": ("retries a page read", 1.0),
    "waf": ("write amplification (WAF)", 1.0),
    "pec": ("P/E cycles", 1.0),
    "spare": ("spare capacity left [%]", 0.01),
    "data_days": ("age of data read [d at 30 °C]", 1.0),
    "power_w": ("mean power [W]", 1.0),
}
"""What is drawn of a life by month, and in which unit."""


def draw(found: Life) -> Figure:
    """Each of :data:`PANELS` by month, a line a scheme; bands are 95 % intervals over seeds."""
    from ssdlab.show.curves import DASHES
    from ssdlab.show.plot import COLOURS, INK, _axes

    figure, _ = _axes(None, 11.0, 8.4)
    figure.clear()
    panels = figure.subplots(3, 3, sharex=True).flat
    for ax, (name, (label, unit)) in zip(panels, PANELS.items(), strict=True):
        for at, scheme in enumerate(found.spec.schemes):
            rows = [row for row in found.of(scheme).to_dicts() if row[name] is not None]
            months, values = [row["month"] for row in rows], [row[name] / unit for row in rows]
            style: dict[str, Any] = {"color": COLOURS[at % len(COLOURS)], "ls": DASHES[at % len(DASHES)]}
            ax.plot(months, values, label=scheme, lw=1.5, **style)
            halves = [(row.get(f"{name}_ci95") or 0.0) / unit for row in rows]
            if any(halves):
                bands = [(value - half, value + half) for value, half in zip(values, halves, strict=True)]
                ax.fill_between(months, *zip(*bands, strict=True), color=style["color"], alpha=0.2, lw=0)
        ax.set_title(label, fontsize="medium")
        ax.set_ylim(bottom=0.0)
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in figure.axes[-3:]:
        ax.set_xlabel("month")
    if len(found.spec.schemes) > 1:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=min(5, len(labels)), loc="outside lower center", frameon=False)
    conditions = found.spec.conditions
    figure.suptitle(
        f"A drive's {conditions.years:g} years: {conditions.writes_per_day:g} drive writes a day, "
        f"{conditions.temperature:g} °C",
        fontsize="medium",
        color=INK,
    )
    return figure
