"""The points of a fleet that are played, and what lies between them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.lives.ages import DAY_S, LONGEST_S, Drive
from ssdlab.lives.life import REQUESTS, STATISTICS, USED, complete, ended
from ssdlab.lives.pace import has_own_times, paced
from ssdlab.lives.population import FleetSpec, numpy
from ssdlab.runs.simulation import open_simulation
from ssdlab.sweeps.spec import Value, run_of

if TYPE_CHECKING:
    from ssdlab.runs.result import Result
    from ssdlab.sweeps.campaign import SweepProgress

NINES = 41
"""Levels of a latency distribution that are interpolated: from 0 to 4 nines, tenths apart. A point of n reads says
nothing beyond log10(n) nines: its largest latency stands there."""
AXES = ("writes_per_day", "pec", "age_days")


class Surface(NamedTuple):
    """What a scheme's drives are under a workload, over writes a day, effective P/E cycles and data age."""

    axes: tuple[Any, Any, Any]
    """ln(writes a day), cycles, ln(mean age of data [d at 30 C])."""
    latency: Any
    """ln(read latency [ns]) by point and nines: (writes, pec, age, :data:`NINES`)."""
    waf: Any
    """By writes a day."""
    power_w: Any
    """While the host is active, by point."""
    lost: Any
    """The share of reads that could not be corrected, by point."""
    reads_per_write: float
    """Read requests for each byte written."""

    def at(self, values: Any, writes: Any, pec: Any, days: Any) -> Any:
        """Values of the grid (power, latency) at drives: linear between points, and level beyond the grid's ends."""
        np = numpy()
        places = (np.log(writes), pec, np.log(np.maximum(days, 1e-9)))
        low, part = [], []
        for axis, place in zip(self.axes, places, strict=True):
            at = np.clip(np.searchsorted(axis, place, side="right") - 1, 0, len(axis) - 2)
            low.append(at)
            part.append(np.clip((place - axis[at]) / (axis[at + 1] - axis[at]), 0.0, 1.0))
        total: Any = 0.0
        for corner in range(8):
            weight: Any = 1.0
            index = []
            for axis in range(3):
                up = corner >> axis & 1
                weight = weight * (part[axis] if up else 1.0 - part[axis])
                index.append(low[axis] + up)
            found = values[tuple(index)]
            total = total + (weight[:, None] if found.ndim > 1 else weight) * found
        return total


class LeftOut(NamedTuple):
    """How well neighbours on an axis predict a point between them that is left out."""

    scheme: str
    axis: str
    statistic: str
    """``p50``, ``p99`` or ``p99_9``."""
    points: int
    median: float
    """Of the relative errors."""
    worst: float


def played(
    spec: FleetSpec,
    cache: str | os.PathLike[str],
    threads: int | None,
    progress: Callable[[SweepProgress], None] | None,
) -> tuple[dict[tuple[str, str], Surface], dict[str, Drive], list[str]]:
    """The surfaces by scheme and workload, the drives by scheme, and warnings.

    Raises:
        InputError: a point is refused, or drives are dead at it.
    """
    from ssdlab.sweeps.campaign import sweep

    grid = spec.grid
    closed = {**spec.run, "precondition": "closed-form"}

    def manifest(settings: Mapping[str, Value]) -> Any:
        return json.loads(open_simulation(run_of({**closed, **settings}, spec.origin)).manifest)

    drives = {scheme: Drive.of(manifest(settings)) for scheme, settings in spec.schemes.items()}
    for scheme, drive in drives.items():
        _check_cycles(spec, scheme, drive)
    requests = {"requests": REQUESTS, **closed}
    statistics = [*STATISTICS.values(), *USED]
    # Schemes may be drives of different capacities: each is written as fast as its own asks for.
    both = {
        (scheme, workload): {**settings, **of.settings}
        for scheme, settings in spec.schemes.items()
        for workload, of in spec.workloads.items()
    }
    labels = {key: f"{number}: {', '.join(key)}" for number, key in enumerate(both, 1)}
    probe = {"scheme_": {labels[key]: settings for key, settings in both.items()}}
    played = sweep({"statistics": statistics, "run": requests, "axes": probe}, cache=cache, threads=threads)
    if played.failed:
        raise InputError(f"{played.failed[0].labels['scheme_']}: {played.failed[0].error}")
    probes = {row["scheme_"]: row for row in played.table.iter_rows(named=True)}
    loads = {}
    for key, settings in both.items():
        scheme, workload = key
        row, own = probes[labels[key]], has_own_times(manifest(settings))
        if ended(row):
            raise _worn_out(scheme, drives[scheme].pec)
        for writes in grid.writes_per_day:
            wanted = drives[scheme].capacity * writes / DAY_S / spec.duty
            pace = paced(f"{scheme}: workload {workload}", row, wanted, own)
            loads[_load(spec, scheme, workload, writes)] = {**settings, **pace}
    ages = {days: {"age.retention": _retention(days)} for days in grid.age_days}
    axes = {
        "load": loads,
        "age.pec": [round(pec) for pec in grid.pec],
        "age_days": ages,
        "seed": list(range(1, grid.seeds + 1)),
    }
    found = sweep(
        {"statistics": statistics, "run": requests, "axes": axes},
        cache=cache,
        threads=threads,
        progress=progress,
        keep_results=True,
    )
    if found.failed:
        raise InputError(f"{found.failed[0].labels}: {found.failed[0].error}")
    for row in filter(ended, found.table.iter_rows(named=True)):
        raise _worn_out(row["load"], row["age.pec"])
    return _surfaces(spec, found), drives, found.warning_lines()


def _check_cycles(spec: FleetSpec, scheme: str, drive: Drive) -> None:
    """Refuses drives that are replaced unused, by a rule or worn out, and points at which all are dead."""
    limits = {f"replace.{label}.pec": rule.pec for label, rule in spec.replace.items()}
    for name, most in (limits | {"wear.endurance": drive.endurance}).items():
        if drive.pec >= most:
            raise InputError(
                f"{name}: {scheme}: is {most:g}, and drives begin with {drive.pec:g} P/E cycles (age.pec)\n"
                "  help: write more cycles, or begin with fewer"
            )
    for pec in spec.grid.pec:
        if pec >= drive.endurance:
            raise _worn_out(scheme, pec)


def _worn_out(scheme: str, pec: float) -> InputError:
    """What a grid is refused with whose drives are dead at a point."""
    return InputError(
        f"grid.pec: {scheme}: at {pec:g} P/E cycles its blocks are at their end\n"
        "  help: end grid.pec before (wear.endurance): a drive is replaced when its blocks are worn"
    )


def _load(spec: FleetSpec, scheme: str, workload: str, writes: float) -> str:
    """What a scheme's drives are called where a workload writes so many of them a day: another name for each."""
    number = list(spec.schemes).index(scheme) * len(spec.workloads) + list(spec.workloads).index(workload)
    return f"{number + 1}: {scheme}, {workload} at {writes:g}"


def _retention(days: float) -> str:
    """A turnover whose data is so old on average."""
    return f"turnover:{min(2.0 * days * DAY_S, LONGEST_S):.0f}s..{LONGEST_S:.0f}s"


def _surfaces(spec: FleetSpec, found: Any) -> dict[tuple[str, str], Surface]:
    np = numpy()
    grid = spec.grid
    shape = (len(grid.writes_per_day), len(grid.pec), len(grid.age_days))
    by_case = {key[:12]: result for key, result in found.results.items()}
    axes = (np.log(grid.writes_per_day), np.array(grid.pec, dtype=float), np.log(grid.age_days))
    rows = [complete(row) for row in found.table.iter_rows(named=True)]
    surfaces = {}
    for scheme in spec.schemes:
        for workload in spec.workloads:
            latency, power = np.zeros((*shape, NINES)), np.zeros(shape)
            waf, lost = np.zeros(shape), np.zeros(shape)
            loads = {_load(spec, scheme, workload, writes) for writes in grid.writes_per_day}
            mine = [row for row in rows if row["load"] in loads]
            read, written = (sum(row[of] for row in mine) for of in ("host.read.requests", "host.write.bytes"))
            of_point = grid.seeds
            for number, at in enumerate(np.ndindex(*shape)):
                point = mine[number * of_point : (number + 1) * of_point]
                latency[at] = np.log(quantiles([by_case[row["case"]] for row in point]))
                power[at] = sum(row["power_w"] for row in point) / of_point
                lost[at] = sum(row["host.uncorrectable"] for row in point) / sum(
                    row["host.read.requests"] for row in point
                )
                # A run of few writes may leave them all in the buffer: its write amplification is not known.
                known = [row["waf"] for row in point if row["waf"] is not None]
                waf[at] = sum(known) / len(known) if known else math.nan
            if not written or np.isnan(waf).all(axis=(1, 2)).any():
                raise InputError(f"{scheme}: {workload}: its runs program nothing\n  help: give [run] more requests")
            amplified, reads = np.nanmean(waf, axis=(1, 2)), read / written
            surfaces[scheme, workload] = Surface(axes, latency, amplified, power, lost, reads)
    return surfaces


def quantiles(results: list[Result]) -> Any:
    """The read latencies [ns] of runs together, at :data:`NINES` levels."""
    np = numpy()
    levels = np.arange(NINES) / 10.0
    rows = [result.latency_distribution("read") for result in results]
    values = np.unique(np.concatenate([row["latency_ns"].to_numpy() for row in rows]))
    share = np.zeros(len(values))
    for row in rows:
        at = np.searchsorted(row["latency_ns"].to_numpy(), values, side="right")
        share += np.concatenate([[0.0], row["share"].to_numpy()])[at] / len(rows)
    nines = -np.log10(np.maximum(1.0 - share, 1e-12))
    return values[np.minimum(np.searchsorted(nines, levels - 1e-12), len(values) - 1)].astype(float)


def cross_validation(spec: FleetSpec, surfaces: dict[tuple[str, str], Surface]) -> list[LeftOut]:
    """Points between two others on an axis, predicted by these: at twice the grid's step."""
    np = numpy()
    found = []
    for scheme in spec.schemes:
        for number, axis in enumerate(AXES):
            for name, nines in (("p50", 0.3), ("p99", 2.0), ("p99_9", 3.0)):
                errors: list[float] = []
                for workload in spec.workloads:
                    surface = surfaces[scheme, workload]
                    places = surface.axes[number]
                    values = np.moveaxis(surface.latency[..., round(nines * 10)], number, 0)
                    for at in range(1, len(places) - 1):
                        part = (places[at] - places[at - 1]) / (places[at + 1] - places[at - 1])
                        guess = values[at - 1] + part * (values[at + 1] - values[at - 1])
                        errors += [abs(math.expm1(error)) for error in (guess - values[at]).ravel()]
                if errors:
                    ordered = sorted(errors)
                    middle, worst = ordered[len(ordered) // 2], ordered[-1]
                    found.append(LeftOut(scheme, axis, name, len(errors), middle, worst))
    return found
