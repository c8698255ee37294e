"""Redundancy: what brings down the tail of an array of aged drives, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width, mean_text
from ssdlab.common.tables import markdown
from ssdlab.show import plot
from ssdlab.study.claims import Tables
from ssdlab.sweeps.shares import shares

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMES = {"baseline": "baseline", "pnar2": "pnar2", "pso": "tracked", "near-zero": "near-zero", "rif": "rif"}
"""The read schemes, and what the study calls them."""
ARRAYS = (
    "8 of 8",
    "8 of 9",
    "8 of 9, hedged at p95",
    "8 of 9, hedged at p99",
    "8 of 10",
    "8 of 10, hedged at p99",
    "mirror",
    "mirror, hedged at p95",
    "mirror, hedged at p99",
)
PLAIN = ARRAYS[0]
AGES = ("young", "one worn", "worn")
LOADS = ("light", "heavy")
PERCENTILES = {"p50": "p50", "p99": "p99", "p99_9": "p99.9", "p99_99": "p99.99"}
P99_9 = "host.read.latency_ns.p99_9"
READS, ENERGY = "host.read.requests", "energy.total"


def of(table: pl.DataFrame, name: str, **labels: str) -> list[float]:
    """A statistic of each seed."""
    return [float(value) for value in table.filter(**labels).sort("seed")[name]]


def a_read(table: pl.DataFrame, name: str, **labels: str) -> list[float]:
    """A statistic over the host's reads, of each seed."""
    return [value / reads for value, reads in zip(of(table, name, **labels), of(table, READS, **labels), strict=True)]


def against(table: pl.DataFrame, name: str, redundancy: str, other: str, **labels: str) -> list[float]:
    """A statistic of an array over that of another one, of each seed."""
    pairs = zip(
        of(table, name, redundancy=redundancy, **labels), of(table, name, redundancy=other, **labels), strict=True
    )
    return [above / below for above, below in pairs]


# The tables of README.md. A test compares them; `pytest --update-golden` writes them.


def findings(tables: Tables) -> dict[str, str]:
    """The tables of README.md by name, as Markdown."""
    table = tables["arrays"]
    return {
        **{f"tails-{age.replace(' ', '-')}": _tails(table, age, "heavy") for age in AGES},
        "tails-light": _tails(table, "worn", "light"),
        "percentiles": _percentiles(tables),
        **{f"costs-{age.replace(' ', '-')}": _costs(table, age) for age in AGES[1:]},
        "shares": _shares(table),
    }


def shown(values: Sequence[float], digits: int = 2) -> str:
    """The mean over seeds, with its interval where that shows."""
    return mean_text(values, digits)


def ms(values: Sequence[float]) -> str:
    """Latencies in ms."""
    return shown([value / 1e6 for value in values])


def _tails(table: pl.DataFrame, age: str, load: str) -> str:
    """p99.9 by redundancy and scheme."""
    rows = [
        [name, *(ms(of(table, P99_9, redundancy=name, age=age, load=load, scheme=scheme)) for scheme in SCHEMES)]
        for name in ARRAYS
    ]
    return markdown(["drives", *SCHEMES.values()], rows)


def _percentiles(tables: Tables) -> str:
    rows = []
    for scheme, words in SCHEMES.items():
        labels = {"age": "worn", "load": "heavy", "scheme": scheme}
        one = (ms(of(tables["one"], f"host.read.latency_ns.{name}", **labels)) for name in PERCENTILES)
        rows.append([words, "one drive", *one])
        for array in ("8 of 8", "8 of 9, hedged at p99", "mirror, hedged at p99"):
            found = (
                ms(of(tables["arrays"], f"host.read.latency_ns.{name}", redundancy=array, **labels))
                for name in PERCENTILES
            )
            rows.append([words, array, *found])
    return markdown(["scheme", "drives", *PERCENTILES.values()], rows)


def _costs(table: pl.DataFrame, age: str) -> str:
    """What each choice costs under the heavy load of a fleet, against eight drives without redundancy."""
    rows = []
    for name in ARRAYS:
        for scheme in ("baseline", "pnar2", "rif"):
            labels = {"age": age, "load": "heavy", "scheme": scheme}
            rows.append(
                [
                    name,
                    scheme,
                    ms(of(table, P99_9, redundancy=name, **labels)),
                    shown(a_read(table, "flash.reads", redundancy=name, **labels)),
                    shown([value * 1e3 for value in a_read(table, ENERGY, redundancy=name, **labels)], 1),
                    shown(against(table, "flash.programs", name, PLAIN, **labels)),
                ]
            )
    head = ["drives", "scheme", "p99.9", "pages read a host read", "energy of drives a host read", "pages programmed"]
    return markdown(head, rows)


def parts(table: pl.DataFrame) -> pl.DataFrame:
    """The cases in which the die's retries, a second parity drive and a hedge are each there or not."""
    names = ("8 of 9", "8 of 9, hedged at p99", "8 of 10", "8 of 10, hedged at p99")
    found = table.filter(
        pl.col("redundancy").is_in(names) & pl.col("scheme").is_in(["baseline", "rif"]) & (pl.col("load") == "heavy")
    )
    name = pl.col("redundancy")
    return found.select(
        pl.when(name.str.contains("10")).then(pl.lit("8 of 10")).otherwise(pl.lit("8 of 9")).alias("parity"),
        pl.when(name.str.contains("hedged")).then(pl.lit("p99")).otherwise(pl.lit("none")).alias("hedge"),
        pl.exclude("redundancy", "load"),
    )


def _shares(table: pl.DataFrame) -> str:
    words = {"scheme": "retries inside the die", "parity": "a second parity drive", "hedge": "hedged reads, at p99"}
    found = shares(parts(table), P99_9, ["scheme", "parity", "hedge"], accept_warnings=True)
    rows = []
    for row in found.iter_rows(named=True):
        cells = (f"{row[name]:.2f} ± {row[f'{name}_ci95']:.2f}" for name in ("alone", "on_top", "share"))
        rows.append([row["age"], words[row["part"]], *cells])
    return markdown(["fleet", "part", "alone", "on top of the others", "share"], rows)


def figures(tables: Tables) -> dict[str, Figure]:
    """Each by name: redundancy (p99.9 of reads over the energy of a read, for each age of the fleet)."""
    table = tables["arrays"]
    figure = blank(12.5, 5.4)
    grid = figure.subplots(1, len(AGES), sharey=True)
    drawn = {"8 of 8": "o", "8 of 9, hedged at p95": "v", "8 of 9, hedged at p99": "^", "8 of 10": "P"}
    drawn |= {"mirror": "s", "mirror, hedged at p99": "D"}
    for axes, age in zip(grid, AGES, strict=True):
        for place, scheme in enumerate(SCHEMES):
            for name, marker in drawn.items():
                labels = {"redundancy": name, "age": age, "load": "heavy", "scheme": scheme}
                tail, half = mean_and_half_width([value / 1e6 for value in of(table, P99_9, **labels)])
                energy, _ = mean_and_half_width([value * 1e3 for value in a_read(table, ENERGY, **labels)])
                colour = plot.COLOURS[place]
                axes.errorbar(energy, tail, yerr=half, marker=marker, color=colour, ls="", ms=7, capsize=2)
        _scale(axes, age)
    grid[0].set_ylabel("p99.9 of reads (ms)")
    _legend(figure, grid[0], drawn)
    return {"redundancy": figure}


def _scale(axes: Any, age: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(8, 260)
    axes.set_ylim(0.15, 500)
    axes.set_yticks([0.2, 0.5, 1, 2, 5, 10, 100], ["0.2", "0.5", "1", "2", "5", "10", "100"])
    axes.set_xticks([10, 20, 50, 100, 200], ["10", "20", "50", "100", "200"])
    axes.minorticks_off()
    axes.set_title({"young": "young drives", "one worn": "one of them worn", "worn": "all worn"}[age], fontsize=10)
    axes.set_xlabel("energy of the drives a host read (µJ)")
    axes.grid(alpha=0.3)


def _legend(figure: Figure, axes: Any, drawn: dict[str, str]) -> None:
    """Colours are schemes, marks are arrays."""
    colours = [axes.plot([], [], "-", lw=4, color=plot.COLOURS[place])[0] for place in range(len(SCHEMES))]
    marks = [axes.plot([], [], marker, color="0.3")[0] for marker in drawn.values()]
    figure.legend(
        [*colours, *marks],
        [*SCHEMES.values(), *drawn],
        ncols=len(drawn),
        loc="outside upper center",
        frameon=False,
        title="Better is below and left. Colours: read schemes. Marks: drives and hedges.",
    )
