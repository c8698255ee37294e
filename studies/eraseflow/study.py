"""Erase schemes and suspension: what is measured of each claim, and the figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl

from ssdlab.chip import lifetime
from ssdlab.chip.characterize import load
from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.show import plot
from ssdlab.study.claims import Measured, Tables, fitted, key, measures, off, predicted
from ssdlab.study.folder import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BRIEF: dict[str, dict[str, Any]] = {
    "flows": {
        "requests": 25_000,
        "warmup": 2000,
        # Blocks so small that they are erased in so few requests.
        "geometry.pages": 240,
        "scheme": ["ispe", "aero"],
        "suspension": ["none", "safe points"],
        "seed": [1],
    },
}
"""For the levers of what is predicted: ssdlab.study.levers."""

REO = "presets/chips/tlc48-reo.toml"
ERASES = fitted(
    REO, "erasing.fresh*", "erasing.wear_spread", "erasing.knots_*", "erasing.loop_stress", "erasing.program_stress"
)
TAIL, MEAN = "host.read.latency_ns.p99_99", "host.read.latency_ns.mean"
SCHEMES = ("ispe", "i-ispe", "dpes", "aero-cons", "aero", "reo-plus")

TABLES: dict[str, Callable[[Any], pl.DataFrame]] = {"lives": lambda progress: _lives()}


def _lives() -> pl.DataFrame:
    """P/E cycles at which a block's mean M_RBER reaches the requirement: scheme, cycles."""
    lives = lifetime.cycle(load("tlc48-reo", chips=160, blocks=4), SCHEMES)
    return pl.DataFrame(list(lifetime.lifetimes(lives, 63.0).items()), schema=["scheme", "cycles"], orient="row")


@measures({"erase.aero.life": ERASES})
def _life(tables: Tables) -> dict[str, Measured]:
    cycles = dict(tables["lives"].iter_rows())
    return {"erase.aero.life": Measured(100 * (cycles["aero"] / cycles["ispe"] - 1), note="electronics25's reo")}


def _ratios(tables: Tables, one: tuple[str, str], other: tuple[str, str]) -> list[list[float]]:
    """The tail of one scheme with its suspension over another's: by age, of each seed."""
    flows, both = tables["flows"], []
    for scheme, suspension in (one, other):
        of = flows.filter(scheme=scheme, suspension=suspension).select("age", "seed", TAIL)
        both.append(of)
    joined = both[0].join(both[1], on=["age", "seed"], maintain_order="left")
    joined = joined.with_columns(ratio=pl.col(TAIL) / pl.col(f"{TAIL}_right"))
    return [of["ratio"].to_list() for of in joined.sort("age", "seed").partition_by("age")]


@measures({"erase.aero.tail": predicted(off("aero", "ispe"))})
def _aero(tables: Tables) -> dict[str, Measured]:
    ratios = _ratios(tables, ("aero", "none"), ("ispe", "none"))
    by_seed = zip(*ratios, strict=True)
    saved = [100 * (1 - sum(of_seed) / len(of_seed)) for of_seed in by_seed]
    return {"erase.aero.tail": Measured(*mean_and_half_width(saved))}


@measures({"erase.ssr.tail": predicted(key("schedule.safe_points", 1))})
def _ssr(tables: Tables) -> dict[str, Measured]:
    by_age = _ratios(tables, ("ispe", "none"), ("ispe", "safe points"))
    return {"erase.ssr.tail": max(Measured(*mean_and_half_width(ratios)) for ratios in by_age)}


def figures(tables: Tables) -> dict[str, Figure]:
    """Each by name: tails (p99.99 of reads), means (latency of reads), lives (and what suspensions take off them)."""
    return {
        "tails": _flows(tables["flows"], TAIL, 1e6, "p99.99 of reads (ms)"),
        "means": _flows(tables["flows"], MEAN, 1e3, "mean read latency (us)"),
        "lives": _costs(tables),
    }


def _flows(table: pl.DataFrame, value: str, unit: float, label: str) -> Figure:
    figure = blank(11, 4.2)
    ages = table["age"].unique(maintain_order=True).to_list()
    panels = figure.subplots(1, len(ages), sharey=True)
    for axes, age in zip(panels, ages, strict=True):
        plot.grouped(axes, table.filter(age=age), value, rows="scheme", by="suspension", unit=unit)
        axes.set_title(f"{age} P/E cycles", fontsize=10)
        axes.set_xlabel(label)
    # All share it.
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=len(labels), loc="outside upper center", frameon=False)
    return figure


def within_pulses(cost: pl.DataFrame, scheme: str, suspension: str) -> float:
    """How often an erase is suspended within its pulses."""
    of = cost.filter(scheme=scheme, suspension=suspension).sum()
    return number(of["flash.suspend.within_pulses"][0]) / number(of["flash.erases"][0])


def _costs(tables: Tables) -> Figure:
    """What is left of a life when each suspension within a pulse wears as this many P/E cycles."""
    figure = blank(9, 4.2)
    left, right = figure.subplots(1, 2)
    cycles = dict(tables["lives"].iter_rows())
    left.barh(list(cycles), list(cycles.values()))
    left.invert_yaxis()
    left.set_xlabel("P/E cycles of a life, nothing suspended")
    costs = [step / 20 for step in range(21)]
    for scheme, style in (("ispe", "--"), ("aero", "-")):
        for place, suspension in enumerate(tables["cost"]["suspension"].unique(maintain_order=True)):
            times = within_pulses(tables["cost"], scheme, suspension)
            left_of_it = [cycles[scheme] / (1 + cost * times) for cost in costs]
            right.plot(costs, left_of_it, style, color=f"C{place}", label=f"{scheme}, {suspension}")
    right.set_xlabel("wear of a suspension within a pulse (P/E cycles)")
    right.set_ylabel("P/E cycles of a life")
    right.set_ylim(0)
    figure.legend(*right.get_legend_handles_labels(), fontsize=8, ncols=4, loc="outside upper center", frameon=False)
    for axes in (left, right):
        axes.grid(alpha=0.3)
    return figure
