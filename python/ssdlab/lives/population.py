"""Fleet files: what drives differ in, as distributions with their sources, and when drives are replaced.

A fleet is a TOML file (or the same as a mapping); [run] and [schemes] are those of a life::

    [fleet]
    drives = 100_000
    seed = 1
    replicates = 20                   # independent parts of them: the intervals are over these
    duty = 0.25                       # the share of the day in which hosts are active
    failures_per_year = { value = 0.017, source = "..." }       # of causes other than wear
    embodied_kg_per_gb = { value = 0.16, source = "..." }       # CO2e of making a drive
    grid_kg_per_kwh = { value = 0.4, source = "assumed" }
    [draw]                            # each drive draws one of each
    writes_per_day = { median = 0.2, sigma = 1.0, most = 2.0, source = "assumed" }   # lognormal
    temperature = { mean = 38, deviation = 5, source = "assumed" }                   # normal [C]
    wear = { median = 1.0, sigma = 0.1, source = "assumed" }  # of a batch: cycles' worth of wear a cycle
    [workloads]                       # a label, its share of the drives, and what it sets
    mixed = { share = 0.7, source = "assumed", "workload.read_ratio" = 0.7 }
    # file = "twins/workloads.toml"   in place of labels: twins of clusters of volumes (`ssdlab trace fit DIR`)
    [replace]                         # rules: a drive goes at the first of these, or when it fails
    "5 years" = { years = 5 }
    worn = { years = 10, pec = 3000 }
    slow = { years = 10, p99_us = 1500 }
    [grid]                            # the points that are played
    writes_per_day = [0.05, 0.3, 2.0]
    pec = [0, 1000, 2000, 3000]
    age_days = [0.5, 5, 50, 500]      # mean age of the data, as if kept at 30 C
    seeds = 2
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.lives.spec import Fail, drives, failing, sections
from ssdlab.sweeps.spec import Value, located, read_source

SECTIONS = ("run", "schemes", "fleet", "draw", "workloads", "replace", "grid")


class Sourced(NamedTuple):
    """A constant, and where it is from."""

    value: float
    source: str


class Drawn(NamedTuple):
    """What drives differ in: lognormal (``normal`` is False) or normal, ended at bounds."""

    middle: float
    """The median of a lognormal, the mean of a normal distribution."""
    spread: float
    """The deviation of the logarithm, or of the value."""
    normal: bool
    least: float
    most: float
    source: str


class Workload(NamedTuple):
    """What a part of the drives is asked for."""

    share: float
    settings: dict[str, Value]
    source: str


class Rule(NamedTuple):
    """When a drive is replaced: at the first of these."""

    years: float
    pec: float
    p99_us: float


class Grid(NamedTuple):
    """The points that are played."""

    writes_per_day: tuple[float, ...]
    pec: tuple[float, ...]
    age_days: tuple[float, ...]
    seeds: int


class FleetSpec(NamedTuple):
    """What a fleet file says."""

    about: str
    run: dict[str, Value]
    schemes: dict[str, dict[str, Value]]
    drives: int
    seed: int
    replicates: int
    duty: float
    constants: dict[str, Sourced]
    draw: dict[str, Drawn]
    workloads: dict[str, Workload]
    replace: dict[str, Rule]
    grid: Grid
    origin: str

    @classmethod
    def read(cls, source: str | os.PathLike[str] | Mapping[str, Any]) -> FleetSpec:
        """Reads a file, or takes the same as a mapping.

        Raises:
            InputError: it is wrong.
        """
        data, origin = read_source(source, "fleet")
        fail = failing(origin)
        sections(data, SECTIONS, f"a fleet has about and {', '.join(f'[{name}]' for name in SECTIONS)}", fail)
        run, schemes = drives(data, origin, fail)
        section = dict(data.get("fleet", {}))
        constants = {name: _sourced(section.pop(name, None), f"fleet.{name}", fail) for name in CONSTANTS}
        numbers = {name: _number(section.pop(name, default), f"fleet.{name}", fail, *bounds)
                   for name, (default, *bounds) in NUMBERS.items()}  # fmt: skip
        if section:
            name = next(iter(section))
            raise fail(f"fleet.{name}", "unknown", f"[fleet] has {', '.join([*NUMBERS, *CONSTANTS])}")
        return cls(
            str(data.get("about", "")),
            run,
            schemes,
            int(numbers["drives"]),
            int(numbers["seed"]),
            int(numbers["replicates"]),
            numbers["duty"],
            constants,
            _draw(data.get("draw", {}), fail),
            _workloads(data.get("workloads", {"all": {"share": 1.0, "source": "one workload"}}), origin, fail),
            _rules(data.get("replace", {"5 years": {"years": 5}}), fail),
            _grid(data.get("grid", {}), fail),
            origin,
        )


NUMBERS: dict[str, tuple[float, float, float]] = {
    "drives": (100_000, 100, 10_000_000),
    "seed": (1, 0, 2**63),
    "replicates": (20, 2, 1000),
    "duty": (0.25, 1e-6, 1.0),
}
"""Of each its default, the least and the most."""
CONSTANTS = ("failures_per_year", "embodied_kg_per_gb", "grid_kg_per_kwh")
DRAWN = {"writes_per_day": (1e-6, 1e3), "temperature": (-40.0, 125.0), "wear": (1e-3, 1e3)}
"""What is drawn, with the least and the most that it may be."""


def _number(value: Any, key: str, fail: Fail, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise fail(key, f"is {value!r}", f"write a number from {least:g} to {most:g}")
    return float(value)


def _sourced(value: Any, key: str, fail: Fail) -> Sourced:
    if not isinstance(value, Mapping) or set(value) != {"value", "source"} or not str(value.get("source", "")).strip():
        raise fail(key, "has no value with its source", f'write {key} = {{ value = 0.1, source = "assumed" }}')
    return Sourced(_number(value["value"], f"{key}.value", fail, 0.0, 1e6), str(value["source"]))


def _draw(section: Mapping[str, Any], fail: Fail) -> dict[str, Drawn]:
    found = {}
    for name, (low, high) in DRAWN.items():
        of = section.get(name)
        normal = name == "temperature"
        middle, spread = ("mean", "deviation") if normal else ("median", "sigma")
        needed = {middle, spread, "source"}
        if not isinstance(of, Mapping) or not needed <= set(of) or set(of) - needed - {"least", "most"}:
            raise fail(
                f"draw.{name}",
                "is no distribution",
                f'write {name} = {{ {middle} = 1, {spread} = 0.1, source = "assumed" }}; least and most may end it',
            )
        key = f"draw.{name}"
        least = _number(of.get("least", low), f"{key}.least", fail, low, high)
        most = _number(of.get("most", high), f"{key}.most", fail, least, high)
        found[name] = Drawn(
            _number(of[middle], f"{key}.{middle}", fail, low, high),
            _number(of[spread], f"{key}.{spread}", fail, 0.0, 100.0),
            normal,
            least,
            most,
            str(of["source"]),
        )
    for name in section:
        if name not in DRAWN:
            raise fail(f"draw.{name}", "unknown", f"[draw] has {', '.join(DRAWN)}; workloads have a section")
    return found


def _workloads(section: Mapping[str, Any], origin: str, fail: Fail) -> dict[str, Workload]:
    folder = os.path.dirname(origin)
    if "file" in section and not isinstance(section["file"], Mapping):
        section, folder, fail = _from_file(section, folder, fail)
    found = {}
    for label, of in section.items():
        if not isinstance(of, Mapping) or not {"share", "source"} <= set(of):
            raise fail(
                f"workloads.{label}", "has no share and source", f'write {label} = {{ share = 1, source = "…" }}'
            )
        settings = {name: value for name, value in of.items() if name not in ("share", "source")}
        share = _number(of["share"], f"workloads.{label}.share", fail, 0.0, 1.0)
        found[str(label)] = Workload(share, located(settings, folder), str(of["source"]))
    if abs(sum(of.share for of in found.values()) - 1.0) > 1e-6:
        raise fail("workloads", "have shares that do not add to 1", "mend a share")
    return found


def _from_file(section: Mapping[str, Any], folder: str, fail: Fail) -> tuple[dict[str, Any], str, Fail]:
    """The workloads of a file of their own: they, its folder, and how its mistakes are named."""
    remedy = "name what `ssdlab trace fit DIR --out TWINS` has written: TWINS/workloads.toml"
    if len(section) > 1 or not isinstance(section["file"], str):
        raise fail("workloads.file", "is no path, or has labels beside it", f'write file = "…" alone: {remedy}')
    path = os.path.join(folder, section["file"])
    if not os.path.isfile(path):
        raise fail("workloads.file", f"{path} is not there", remedy)
    data, origin = read_source(path, "workloads")
    within = failing(origin)
    return {name: of for name, of in data.items() if name != "about"}, os.path.dirname(path), within


def _rules(section: Mapping[str, Any], fail: Fail) -> dict[str, Rule]:
    found = {}
    for label, of in section.items():
        if not isinstance(of, Mapping) or "years" not in of or set(of) - set(Rule._fields):
            raise fail(
                f"replace.{label}", "is no rule", f"write {label} = {{ years = 5 }}; also {', '.join(Rule._fields)}"
            )
        limits = {
            name: _number(of.get(name, 1e12), f"replace.{label}.{name}", fail, 0.01, 1e12) for name in Rule._fields
        }
        if limits["years"] > 100:
            raise fail(f"replace.{label}.years", f"is {limits['years']:g}", "write up to 100 years")
        found[str(label)] = Rule(**limits)
    if not found:
        raise fail("replace", "is empty", 'write "5 years" = { years = 5 }')
    return found


def _grid(section: Mapping[str, Any], fail: Fail) -> Grid:
    axes: dict[str, tuple[float, ...]] = {}
    for name in ("writes_per_day", "pec", "age_days"):
        values = section.get(name)
        if not isinstance(values, list) or len(values) < 2:
            raise fail(f"grid.{name}", "is no list of two values or more", f"write {name} = [1, 10, 100] in [grid]")
        numbers = tuple(_number(value, f"grid.{name}", fail, 0.0 if name == "pec" else 1e-6, 1e6) for value in values)
        if list(numbers) != sorted(set(numbers)):
            raise fail(f"grid.{name}", "does not grow", "write each value once, in growing order")
        axes[name] = numbers
    for name in section:
        if name not in Grid._fields:
            raise fail(f"grid.{name}", "unknown", f"[grid] has {', '.join(Grid._fields)}")
    seeds = _number(section.get("seeds", 1), "grid.seeds", fail, 1, 1000)
    return Grid(axes["writes_per_day"], axes["pec"], axes["age_days"], int(seeds))


def numpy() -> Any:
    """numpy, which fleets are summed with.

    Raises:
        InputError: it is not installed.
    """
    try:
        import numpy as found
    except ImportError:
        raise InputError("numpy is not installed\n  help: pip install numpy") from None
    return found
