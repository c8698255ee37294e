"""Erase schemes on cells of three, four and five bits: tables and the figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from ssdlab.chip import lifetime
from ssdlab.chip.characterize import constant, load
from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_text
from ssdlab.common.tables import markdown
from ssdlab.show import plot
from ssdlab.study.claims import Tables
from ssdlab.study.folder import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHIPS = {"TLC": ("tlc48-reo", 12_000, 50), "QLC": ("qlc", 5000, 10), "PLC": ("plc", 2000, 5)}
"""The chip of each kind of cell, the last of its cycles that are looked at, and how far apart these are."""
SCHEMES = ("ispe", "aero-cons", "aero", "reo-plus")
CELLS = ("TLC 1.8K", "TLC 3.6K", "QLC 500", "QLC 1K", "PLC 170", "PLC 340")
SUSPENSIONS = ("none", "safe points")
MEAN, TAIL = "host.read.latency_ns.mean", "host.read.latency_ns.p99_9"


def _lives(kinds: Sequence[str] = tuple(CHIPS)) -> pl.DataFrame:
    """P/E cycles at which the mean M_RBER of blocks reaches the requirement: cells, scheme, cycles."""
    rows = []
    for cells in kinds:
        chip, last, step = CHIPS[cells]
        population = load(chip, chips=160, blocks=4)
        lives = lifetime.cycle(population, SCHEMES, last=last, step=step)
        found = lifetime.lifetimes(lives, constant(population, "erasing", "requirement"))
        rows += [(cells, scheme, cycles) for scheme, cycles in found.items()]
    return pl.DataFrame(rows, schema=["cells", "scheme", "cycles"], orient="row")


TABLES: dict[str, Callable[[Any], pl.DataFrame]] = {"lives": lambda progress: _lives()}
QUICK: dict[str, Callable[[Any], pl.DataFrame]] = {"lives": lambda progress: _lives(("PLC",))}
"""In CI one kind of cells."""


def of(table: pl.DataFrame, name: str, **labels: str) -> list[float]:
    """A statistic of each seed."""
    return [float(value or 0) for value in table.filter(**labels).sort("seed")[name]]


def findings(tables: Tables) -> dict[str, str]:
    """The tables of README.md by name, as Markdown."""
    worn = tables["worn"]
    return {
        "lives": _cycles(tables["lives"]),
        "tails": _latencies(worn, TAIL, 1e6, 2),
        "means": _latencies(worn, MEAN, 1e3, 0),
        "errors": _errors(worn),
        "energy": _energy(worn),
        "margin": _margin(tables["margin"]),
        "tracked": _tracked(tables["tracked"]),
        "power": _power(tables["power"]),
    }


def _cycles(table: pl.DataFrame) -> str:
    rows = []
    for cells in CHIPS:
        cycles = {scheme: number for _, scheme, number in table.filter(cells=cells).iter_rows()}
        more = {scheme: 100 * (number / cycles["ispe"] - 1) for scheme, number in cycles.items()}
        gains = [f"{cycles[scheme]:,.0f} (+{more[scheme]:.0f} %)" for scheme in SCHEMES[1:]]
        rows.append([cells, f"{cycles['ispe']:,.0f}", *gains])
    return markdown(["cells", *SCHEMES], rows)


def _by_cells(cell: Callable[[str, str, str], str], suspensions: Sequence[str] = SUSPENSIONS) -> str:
    """A row for each scheme and suspension, a column for each kind of cell and its wear."""
    rows = [
        [scheme, suspension, *(cell(cells, scheme, suspension) for cells in CELLS)]
        for suspension in suspensions
        for scheme in SCHEMES
    ]
    return markdown(["erase", "suspended", *CELLS], rows)


def _latencies(table: pl.DataFrame, name: str, unit: float, digits: int) -> str:
    def cell(cells: str, scheme: str, suspension: str) -> str:
        found = of(table, name, cells=cells, scheme=scheme, suspension=suspension)
        return mean_text([value / unit for value in found], digits)

    return _by_cells(cell)


def _errors(table: pl.DataFrame) -> str:
    def cell(cells: str, scheme: str, suspension: str) -> str:
        labels = {"cells": cells, "scheme": scheme, "suspension": suspension}
        lost, reads = sum(of(table, "host.uncorrectable", **labels)), sum(of(table, "host.read.requests", **labels))
        return f"{mean_text(of(table, 'flash.retry.steps.mean', **labels), 3)}; {100 * lost / reads:.2f} %"

    return _by_cells(cell, ("none",))


def _energy(table: pl.DataFrame) -> str:
    def cell(cells: str, scheme: str, suspension: str) -> str:
        labels = {"cells": cells, "scheme": scheme, "suspension": suspension}
        erases, energy = of(table, "flash.erases", **labels), of(table, "energy.erase", **labels)
        share = [100 * part / whole for part, whole in zip(energy, of(table, "energy.total", **labels), strict=True)]
        each = [of_all / number for of_all, number in zip(energy, erases, strict=True)]
        return f"{sum(each) / len(each):.3f}; {sum(share) / len(share):.2f} %"

    return _by_cells(cell, ("none",))


def _margin(table: pl.DataFrame) -> str:
    rows = []
    for requirement in table["erase.requirement"].unique().sort(descending=True):
        free, safe = (table.filter(pl.col("erase.requirement") == requirement, suspension=of) for of in SUSPENSIONS)
        lost = 100 * number(free["host.uncorrectable"].sum()) / number(free["host.read.requests"].sum())
        rows.append([
            str(requirement),
            f"{lost:.2f} %",
            mean_text([value / 1e6 for value in free["flash.erase.latency_ns.mean"]], 1),
            *(mean_text([value / 1e6 for value in of[TAIL]], 1) for of in (free, safe)),
        ])  # fmt: skip
    return markdown(["requirement", "reads lost", "an erase [ms]", "p99.9 [ms]", "with safe points"], rows)


def _tracked(table: pl.DataFrame) -> str:
    """An erase, the wear and lost reads by where the margin comes from, on each kind of cells of each drive."""
    margins = [str(margin) for margin in table["margin"].unique(maintain_order=True)]
    rows = []
    for cells in table["cells"].unique(maintain_order=True):
        for drive in table["drive"].unique(maintain_order=True):
            row = [str(cells), str(drive)]
            for margin in margins:
                labels = {"cells": str(cells), "drive": str(drive), "margin": margin}
                lost, reads = (sum(of(table, f"host.{name}", **labels)) for name in ("uncorrectable", "read.requests"))
                took = mean_text([value / 1e6 for value in of(table, "flash.erase.latency_ns.mean", **labels)], 2)
                wear = mean_text(of(table, "ftl.wear.effective_pec.mean", **labels), 0)
                row.append(f"{took}; {wear}; {100 * lost / reads:.2f} %")
            rows.append(row)
    return markdown(["cells", "drive", *margins], rows)


def _power(table: pl.DataFrame) -> str:
    """The share of erases in a drive's energy [%], by load and scheme."""
    schemes = table["scheme"].unique(maintain_order=True).to_list()
    rows = []
    for load_ in table["load"].unique(maintain_order=True):
        row = [str(load_)]
        for cells in table["cells"].unique(maintain_order=True):
            for scheme in schemes:
                labels = {"load": str(load_), "cells": str(cells), "scheme": scheme}
                both = zip(of(table, "energy.erase", **labels), of(table, "energy.total", **labels), strict=True)
                row.append(mean_text([100 * part / whole for part, whole in both], 2))
        rows.append(row)
    heads = [f"{cells}, {scheme}" for cells in table["cells"].unique(maintain_order=True) for scheme in schemes]
    return markdown(["load", *heads], rows)


def figures(tables: Tables) -> dict[str, Figure]:
    """Each by name: cells (p99.9 of reads by scheme, wear and suspension)."""
    figure = blank(11, 4)
    panels = figure.subplots(1, len(CELLS) // 2)
    for place, axes in enumerate(panels):
        for column, cells in enumerate(CELLS[2 * place : 2 * place + 2]):
            for at, scheme in enumerate(SCHEMES):
                for suspension, hatch in (("none", ""), ("safe points", "//")):
                    found = of(tables["worn"], TAIL, cells=cells, scheme=scheme, suspension=suspension)
                    mean = sum(found) / len(found) / 1e6
                    offset = column * 5 + at + (0.2 if hatch else -0.2)
                    label = f"{scheme}, {'at safe points' if hatch else 'not suspended'}" if column == 0 else None
                    axes.bar(offset, mean, 0.4, color=plot.COLOURS[at], hatch=hatch, label=label)
        axes.set_xticks([1.5, 6.5], [f"{cells} P/E cycles" for cells in CELLS[2 * place : 2 * place + 2]])
        axes.grid(axis="y", alpha=0.3)
    panels[0].set_ylabel("p99.9 of reads (ms)\nlower is better")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=4, loc="outside lower center", frameon=False, fontsize=9)
    return {"cells": figure}
