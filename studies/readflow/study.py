"""Read-retry schemes: what is measured of each claim, and the figures."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from ssdlab.common.confidence import mean_and_half_width
from ssdlab.show import plot
from ssdlab.study.claims import Measured, Tables, measures, off, predicted

BRIEF = {
    "flows": {
        "requests": 3000,
        "warmup": 1500,
        "chip": ["tlc48", "tlc48-rif"],
        "age": ["3K, 12 mo", "8K, 12 mo"],
        "load": ["1"],
        "scheme": ["pso", "near-zero"],
        "seed": [1],
    },
}
"""For the levers of what is predicted: ssdlab.study.levers."""

MEAN, STEPS = "host.read.latency_ns.mean", "flash.retry.steps.mean"


def _steps(tables: Tables, scheme: str, chip: str, age: str) -> Measured:
    rows = tables["flows"].filter(scheme=scheme, chip=chip, age=age).filter(pl.col("load").cast(pl.String) == "1")
    return Measured(*mean_and_half_width(rows.sort("seed")[STEPS].to_list()), note=f"on {chip}")


@measures(
    {
        "flow.near_zero.8k": predicted(off("near-zero", "pso")),
        "flow.tracked.3k": predicted(off("pso", "near-zero")),
        "flow.progressive": predicted(),
    }
)
def _abstracts(tables: Tables) -> dict[str, Measured]:
    return {
        # At 8K cycles half of tlc48's pages are beyond the end of its retry table.
        "flow.near_zero.8k": _steps(tables, "near-zero", "tlc48-rif", "8K, 12 mo"),
        "flow.tracked.3k": _steps(tables, "pso", "tlc48", "3K, 12 mo"),
        "flow.progressive": Measured(None, note="the code is not theirs"),
    }


def figures(tables: Tables) -> dict[str, Figure]:
    """Each by name: flows (latency by scheme, chip and load), retries, soft, first (what first senses gain)."""
    return {
        "flows": _flows(tables["flows"], MEAN, 1e3, "mean read latency (us)"),
        "retries": _flows(tables["flows"], STEPS, 1.0, "mean retry steps"),
        "soft": _soft(tables["soft"]),
        "first": _first(tables["first"]),
    }


def _flows(table: pl.DataFrame, value: str, unit: float, label: str) -> Figure:
    figure = Figure(figsize=(11, 8), layout="constrained")
    chips, loads = (table[axis].unique(maintain_order=True).to_list() for axis in ("chip", "load"))
    grid = figure.subplots(len(loads), len(chips), sharey=True, sharex="row", squeeze=False)
    for row, load in zip(grid, loads, strict=True):
        for axes, chip in zip(row, chips, strict=True):
            plot.grouped(axes, table.filter(chip=chip, load=load), value, rows="scheme", by="age", unit=unit)
            axes.set_xscale("symlog", linthresh=0.01 if unit == 1.0 else 100.0)
            axes.set_title(f"{chip}, {load} under way", fontsize=10)
        row[0].set_xlim(left=0)
    # All share it.
    grid[0][0].invert_yaxis()
    for axes in grid[-1]:
        axes.set_xlabel(label)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=len(labels), loc="outside upper center", frameon=False)
    return figure


def _first(table: pl.DataFrame) -> Figure:
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    loads = table["load"].unique(maintain_order=True).to_list()
    for axes, load in zip(figure.subplots(1, len(loads), sharey=True), loads, strict=True):
        plot.grouped(axes, table.filter(load=load), MEAN, rows="scheme", by="age", unit=1e3)
        axes.set_xscale("symlog", linthresh=1000.0)
        axes.set_title(f"{load} under way", fontsize=10)
        axes.set_xlabel("mean read latency (us)")
    left = figure.axes[0]
    left.invert_yaxis()
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, ncols=len(labels), loc="outside upper center", frameon=False)
    return figure


def _soft(table: pl.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for soft in table["ecc.soft"].unique(maintain_order=True):
        of = table.filter(pl.col("ecc.soft") == soft).group_by("ecc.strength").agg(
            pl.col(MEAN).mean() / 1e3,
            lost=(100 * pl.col("host.uncorrectable") / pl.col("host.read.requests")).mean(),
        ).sort("ecc.strength")  # fmt: skip
        left.plot(of["ecc.strength"], of[MEAN], marker="o", label=soft)
        right.plot(of["ecc.strength"], of["lost"], marker="o", label=soft)
    left.set_ylabel("mean read latency (us)")
    right.set_ylabel("reads that are lost (%)")
    for axes in (left, right):
        axes.set_xlabel("ecc.strength")
        axes.set_ylim(0)
        axes.grid(alpha=0.3)
    left.legend(title="ecc.soft")
    return figure
