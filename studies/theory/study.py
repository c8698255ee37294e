"""Closed forms: what is measured of each claim, and the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.devices.unknowns import amplification
from ssdlab.study.claims import Measured, Tables, key, measures, predicted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Beside the service a read takes 34 ns of DRAM and link (queues.toml: 1000 GB/s each).
BESIDE_NS = 34.0
BRIEF = {
    "lone": {"requests": 50},
    "queues": {"requests": 6000, "seed": [1]},
    "waf": {"requests": 12_000, "warmup": 4000, "seed": [1]},
}
"""For the levers of what is predicted: ssdlab.study.levers."""
SERVICE_NS = {"die": 67_000.0, "bus": 16_000.0, "ecc": 16_000.0}


def _over_seeds(table: pl.DataFrame, value: pl.Expr) -> Measured:
    return Measured(*mean_and_half_width(table.select(value.alias("value"))["value"].to_list()))


def _wait(tables: Tables, server: str, load: int) -> Measured:
    point = tables["queues"].filter(point=f"{server}_{load}")
    service = SERVICE_NS[server]
    return _over_seeds(point, (pl.col("host.read.latency_ns.mean") - service - BESIDE_NS) / service)


def _waf(tables: Tables, victim: str, spare: float) -> pl.DataFrame:
    return tables["waf"].filter(pl.col("gc.victim") == victim, pl.col("ftl.over_provisioning") == spare)


def _lone(tables: Tables, rw: str, kind: str) -> Measured:
    of = tables["lone"].filter(pl.col("workload.rw") == rw)
    mean, most = (of[f"host.{kind}.latency_ns.{what}"][0] for what in ("mean", "max"))
    return Measured(most / 1e3, note="" if mean == most else f"not all alike: the mean is {mean / 1e3} us")


@measures(
    {
        "theory.lone.read": predicted(key("chip.t_read"), key("bus.bandwidth"), key("host.t_submit")),
        "theory.lone.write": predicted(key("host.link_bandwidth"), key("buffer.dram_bandwidth")),
    }
)
def _lone_claims(tables: Tables) -> dict[str, Measured]:
    return {
        "theory.lone.read": _lone(tables, "randread", "read"),
        "theory.lone.write": _lone(tables, "randwrite", "write"),
    }


@measures(
    {
        "theory.saturation": predicted(key("chip.t_read"), key("bus.t_dma")),
        "theory.md1.die.30 theory.md1.die.60 theory.md1.die.80": predicted(key("workload.arrivals", "fixed")),
        "theory.md1.bus.60 theory.md1.ecc.60": predicted(key("workload.arrivals", "fixed")),
    }
)
def _queues(tables: Tables) -> dict[str, Measured]:
    measured = {"theory.saturation": _over_seeds(tables["queues"].filter(point="die_full"), pl.col("host.read.iops"))}
    for server, load in (("die", 30), ("die", 60), ("die", 80), ("bus", 60), ("ecc", 60)):
        measured[f"theory.md1.{server}.{load}"] = _wait(tables, server, load)
    return measured


@measures(
    {
        "theory.waf.fifo.12 theory.waf.fifo.25 theory.waf.fifo.50": predicted(key("gc.victim", "greedy")),
        "theory.waf.greedy": predicted(key("gc.victim", "fifo")),
    }
)
def _amplification(tables: Tables) -> dict[str, Measured]:
    measured = {}
    for spare in (0.12, 0.25, 0.5):
        measured[f"theory.waf.fifo.{100 * spare:.0f}"] = _over_seeds(_waf(tables, "fifo", spare), pl.col("ftl.waf"))
    both = _waf(tables, "greedy", 0.25).join(_waf(tables, "fifo", 0.25), on="seed", suffix="_fifo")
    measured["theory.waf.greedy"] = _over_seeds(both, pl.col("ftl.waf") / pl.col("ftl.waf_fifo"))
    return measured


def figures(tables: Tables) -> dict[str, Figure]:
    """Waiting against load; write amplification against spare."""
    figure = blank(8.5, 3.4)
    left, right = figure.subplots(1, 2)
    loads = [load / 100 for load in range(5, 86)]
    left.plot(loads, [load / 2 / (1 - load) for load in loads], color="#333333", lw=1, label="Pollaczek-Khinchine")
    for server, colour in (("die", "#4477aa"), ("bus", "#ee6677"), ("ecc", "#228833")):
        points = [load for load in (30, 60, 80) if f"{server}_{load}" in tables["queues"]["point"]]
        waits = [_wait(tables, server, load) for load in points]
        errors = [wait.ci95 or 0.0 for wait in waits]
        places = [load / 100 for load in points]
        left.errorbar(places, [wait.value for wait in waits], errors, fmt="o", ms=4, color=colour, label=server)
    left.set_xlabel("load")
    left.set_ylabel("mean wait [service times]")
    left.legend(frameon=False)
    spares = [spare / 100 for spare in range(8, 60)]
    # Of 2000 blocks gc.start keeps two free (waf.toml).
    forms = [amplification(1998 / 2000 * (1 + spare)) for spare in spares]
    right.plot(spares, forms, color="#333333", lw=1, label="FIFO, closed form")
    for victim, colour in (("fifo", "#4477aa"), ("d-choices", "#228833"), ("greedy", "#ee6677")):
        found = {spare: _over_seeds(_waf(tables, victim, spare), pl.col("ftl.waf")) for spare in (0.12, 0.25, 0.5)}
        values, errors = [of.value for of in found.values()], [of.ci95 or 0.0 for of in found.values()]
        right.errorbar(list(found), values, errors, fmt="o", ms=4, color=colour, label=victim)
    right.set_xlabel("over-provisioning")
    right.set_ylabel("write amplification")
    right.legend(frameon=False)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.3)
    return {"theory": figure}
