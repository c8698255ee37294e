"""HBF: how long a layer of a model takes to be read, by age and read scheme."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width, mean_text
from ssdlab.common.tables import markdown
from ssdlab.show import plot
from ssdlab.study.claims import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGES = ("1 month", "3 months", "4 months", "6 months")
SCHEMES = ("no retries", "baseline", "pr2", "ar2", "swr", "rpssd", "rif, 2.5 us", "rif, 0.5 us", "near-zero")
LAYER = "host.task.latency_ns.mean"
LAYERS = 80
"""Of a model of 70 billion parameters."""


def of(table: pl.DataFrame, name: str, **labels: str) -> list[float]:
    """A statistic of each seed."""
    return [float(value or 0) for value in table.filter(**labels).sort("seed")[name]]


def findings(tables: Tables) -> dict[str, str]:
    """The tables of README.md by name, as Markdown."""
    if "layers" not in tables:
        return {}
    table = tables["layers"]
    return {"layers": _layers(table), "tokens": _tokens(table), "energy": _energy(table)}


def _layers(table: pl.DataFrame) -> str:
    rows = [
        [scheme, *(mean_text([value / 1e3 for value in of(table, LAYER, scheme=scheme, age=age)]) for age in AGES)]
        for scheme in SCHEMES
    ]
    return markdown(["reads", *AGES], rows)


def _tokens(table: pl.DataFrame) -> str:
    def rates(scheme: str, age: str) -> list[float]:
        return [1e9 / (LAYERS * value) for value in of(table, LAYER, scheme=scheme, age=age)]

    rows = [[scheme, *(mean_text(rates(scheme, age), 1) for age in AGES)] for scheme in SCHEMES]
    return markdown(["reads", *AGES], rows)


def _energy(table: pl.DataFrame) -> str:
    rows = [
        [
            scheme,
            *(mean_text(of(table, "energy.per_gb", scheme=scheme, age=age), 2) for age in AGES),
            mean_text(of(table, "flash.retry.steps.mean", scheme=scheme, age="6 months"), 2),
        ]
        for scheme in SCHEMES
    ]
    return markdown(["reads", *AGES, "retries a page, 6 months"], rows)


def figures(tables: Tables) -> dict[str, Figure]:
    """Each by name: hbf (time of a layer by age and scheme)."""
    figure = blank(9, 4)
    axes = figure.subplots()
    width = 0.8 / len(SCHEMES)
    for place, scheme in enumerate(SCHEMES):
        found = [
            mean_and_half_width([v / 1e3 for v in of(tables["layers"], LAYER, scheme=scheme, age=age)]) for age in AGES
        ]
        at = [number + (place - len(SCHEMES) / 2 + 0.5) * width for number in range(len(AGES))]
        means, halves = [mean or 0.0 for mean, _ in found], [half or 0.0 for _, half in found]
        axes.bar(
            at,
            means,
            width,
            yerr=halves,
            label=scheme,
            color=plot.COLOURS[place % len(plot.COLOURS)],
            hatch=["", "//"][place // len(plot.COLOURS)],
        )
    axes.set_xticks(range(len(AGES)), [f"{age} old" for age in AGES])
    axes.set_ylabel("time of a layer, mean (us)\nlower is better")
    axes.set_title("A layer of 109 MB from a stack of High Bandwidth Flash, 5K P/E cycles")
    axes.legend(ncols=2, frameon=False, fontsize=9)
    axes.grid(axis="y", alpha=0.3)
    return {"hbf": figure}
