"""RiF: what is measured of each claim, and the figures."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from ssdlab import characterize, chip_figures, trace
from ssdlab.study import Measured, Tables

CHIP = "tlc48"
TWINS = {
    "Ali_2": (0.27, 0.50),
    "Ali_46": (0.34, 0.75),
    "Ali_81": (0.43, 0.74),
    "Ali_121": (0.92, 0.70),
    "Ali_124": (0.96, 0.79),
    "Ali_295": (0.42, 0.73),
    "Sys_0": (0.70, 0.82),
    "Sys_1": (0.72, 0.83),
}
"""Table II: read ratio, cold-read ratio."""

TABLES = {
    "days": lambda progress: characterize.first_days(characterize.load(CHIP)),
    "twins": lambda progress: trace.twins([f"hpca24/{name}" for name in TWINS]),
}


def measure(tables: Tables) -> dict[str, Measured]:
    """What can be measured so far: the chip, and the twins."""
    days = dict(tables["days"].rows())
    twins = {row["workload"]: row for row in tables["twins"].iter_rows(named=True)}
    errors = [
        abs(twins[name][column] - published)
        for name, row in TWINS.items()
        for column, published in zip(("read_ratio", "cold_read_ratio"), row, strict=True)
    ]
    names = {0: "0", 200: "200", 500: "500", 1000: "1k"}
    found = {
        f"rif.retention.{name}": Measured(math.ceil(days[pec]), note=f"in the course of day {days[pec]:.1f}")
        for pec, name in names.items()
    }
    return {**found, "rif.traces.table2": Measured(max(errors))}


def figures(tables: Tables) -> dict[str, Figure]:
    """Fig. 4 as the first day of each wear."""
    return {"fig4": chip_figures.first_days(tables["days"], {0: 17, 200: 14, 500: 10, 1000: 8})}
