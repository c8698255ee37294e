"""Read-retry schemes: what is measured of each claim, and the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width, mean_text
from ssdlab.common.tables import markdown
from ssdlab.show import plot
from ssdlab.study.claims import Measured, Tables, measures, off, predicted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


REQUIREMENTS = {
    "baseline": ("", "the vendor's table", "", ""),
    "pnar2": ("144", "how errors grow with short senses", "CACHE READ, tPRE by SET FEATURE", "an RPT"),
    "pso": ("20,944", "", "", "a step for each layer, kind, age and die"),
    "pso-pnar2": ("21,088", "as pnar2", "as pnar2", "both"),
    "recorded": ("153,360", "", "", "8 B for each group of layers of a block"),
    "next=tailored": ("40", "profiled once", "", "its own table"),
    "near-zero": ("20,984", "profiled once", "", "pso's and tailored's"),
    "syndrome": ("20,944", "", "", "weights out of the decoder"),
    "senc": ("", "sentinel cells", "", "their errors to references"),
    "senc,start=tracked": ("20,944", "sentinel cells", "", "and pso's steps"),
    "swr": ("", "", "Swift-Read", ""),
    "swr-plus": ("20,944", "", "Swift-Read", "pso's steps"),
    "rif": ("", "rearranged codewords", "Swift-Read, a predictor", ""),
    "rif,start=tracked": ("20,944", "rearranged codewords", "Swift-Read, a predictor", "pso's steps"),
    "ssd-one": ("", "", "", ""),
}
"""What each scheme needs: memory [B], and of the chip, the die and the controller."""
SHOWN = {
    "ssd-one": "ssd-one (ideal)",
    "pnar2,pipeline=cache-read-likely": "pnar2, likely",
    "pnar2,pipeline=cache-read-first": "pnar2, first",
    "pnar2,sensing=adaptive-first": "pnar2, hasty",
    "pnar2-first": "pnar2-first (likely, hasty)",
    "near-zero,sensing=adaptive-first": "near-zero, hasty",
    "rif,start=tracked,sensing=adaptive-first": "rif,start=tracked, hasty",
}
MIXED = "2K, 0 to 12 mo"


def findings(tables: Tables) -> dict[str, str]:
    """The tables of README.md by name, as Markdown."""
    loaded = {name: tables[name].with_columns(pl.col("load").cast(pl.String)) for name in ("flows", "first")}
    return {"flows": _schemes(loaded["flows"].filter(chip="tlc48")), "first": _first_senses(loaded["first"])}


def _of(table: pl.DataFrame, name: str, unit: float, digits: int, **labels: str) -> str:
    return mean_text([value / unit for value in table.filter(**labels).sort("seed")[name]], digits)


def _schemes(table: pl.DataFrame) -> str:
    rows = []
    for scheme in table["scheme"].unique(maintain_order=True):
        alone = {"scheme": str(scheme), "age": MIXED, "load": "1"}
        rows.append([
            SHOWN.get(str(scheme), str(scheme)),
            _of(table, MEAN, 1e3, 0, **alone),
            _of(table, "host.read.latency_ns.p99_99", 1e6, 2, **alone),
            _of(table, STEPS, 1, 2, **alone),
            _of(table, "energy.per_read", 1, 1, **alone),
            _of(table, "host.all.bandwidth_mb_s", 1, 0, **(alone | {"load": "64"})),
            _of(table, MEAN, 1e3, 0, **(alone | {"age": "3K, 12 mo"})),
            *REQUIREMENTS[str(scheme)],
        ])  # fmt: skip
    head = ["scheme", "mean [us]", "p99.99 [ms]", "retries", "energy [uJ]", "64 [MB/s]", "3K, 12 mo [us]", "memory [B]"]
    return markdown([*head, "the chip", "the die", "the controller"], rows)


def _first_senses(table: pl.DataFrame) -> str:
    ages = table["age"].unique(maintain_order=True).to_list()
    rows = []
    for scheme in table["scheme"].unique(maintain_order=True):
        cells = []
        for age in ages:
            at = {"scheme": str(scheme), "age": str(age)}
            mean = _of(table, MEAN, 1e3, 0, **at, load="1")
            cells.append(f"{mean}, {_of(table, 'host.all.bandwidth_mb_s', 1, 0, **at, load='64').split(' ')[0]}")
        of = [_of(table, "energy.per_read", 1, 1, scheme=str(scheme), age=str(age), load="1") for age in ages]
        rows.append([SHOWN.get(str(scheme), str(scheme)), *cells, ", ".join(energy.split(" ")[0] for energy in of)])
    head = [f"{ages[0]}: mean [us], 64 under way [MB/s]", *map(str, ages[1:]), "energy a read [uJ]"]
    return markdown(["scheme", *head], rows)


def figures(tables: Tables) -> dict[str, Figure]:
    """Each by name: flows (latency by scheme, chip and load), retries, soft, first (what first senses gain)."""
    return {
        "flows": _flows(tables["flows"], MEAN, 1e3, "mean read latency (us)"),
        "retries": _flows(tables["flows"], STEPS, 1.0, "mean retry steps"),
        "soft": _soft(tables["soft"]),
        "first": _first(tables["first"]),
    }


def _flows(table: pl.DataFrame, value: str, unit: float, label: str) -> Figure:
    figure = blank(11, 8)
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
    figure = blank(11, 4.5)
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
    figure = blank(9, 3.6)
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
