"""Fleets: what is drawn, what lies between points, and sums with a closed form."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars
import pytest

import ssdlab
from conftest import Cli
from ssdlab.lives.ages import DAY_S, YEAR_MONTHS, Drive, acceleration, data_age
from ssdlab.lives.fleet import Lives, Population, _renewed, fleet, population, quantile
from ssdlab.lives.points import NINES, Surface, _load, _surfaces
from ssdlab.lives.population import FleetSpec

SOURCED = {"value": 0.1, "source": "assumed"}
FILE: dict[str, Any] = {
    "run": {
        "device": "tlc", "requests": 150, "workload.rw": "randrw", "geometry.channels": 2, "geometry.chips": 1,
        "geometry.planes": 1, "geometry.blocks": 64, "geometry.pages": 48, "ftl.over_provisioning": 0.25,
        "buffer.size": "1MiB", "energy.idle_mw": 1,
    },
    "schemes": {"table": {"scheme": "baseline"}, "rif": {"scheme": "rif"}},
    "fleet": {
        "drives": 2000, "replicates": 10, "duty": 0.001, "failures_per_year": SOURCED,
        "embodied_kg_per_gb": SOURCED, "grid_kg_per_kwh": SOURCED,
    },
    "draw": {
        "writes_per_day": {"median": 0.3, "sigma": 0.5, "least": 0.05, "most": 2.0, "source": "assumed"},
        "temperature": {"mean": 40, "deviation": 5, "source": "assumed"},
        "wear": {"median": 1.0, "sigma": 0.1, "source": "assumed"},
    },
    "workloads": {
        "mixed": {"share": 0.75, "source": "assumed"},
        "reading": {"share": 0.25, "source": "assumed", "workload.read_ratio": 0.9},
    },
    "replace": {"3 years": {"years": 3}, "worn": {"years": 6, "pec": 2000}},
    "grid": {"writes_per_day": [0.05, 2.0], "pec": [0, 1500, 4000], "age_days": [1, 100]},
}  # fmt: skip


def changed(**sections: Any) -> dict[str, Any]:
    return {
        name: {**FILE.get(name, {}), **of} if isinstance(of, Mapping) else of for name, of in (FILE | sections).items()
    }


def test_every_draw_is_stratified_in_every_replicate() -> None:
    spec = FleetSpec.read(FILE)
    drives = population(spec)
    for replicate in range(10):
        ages = np.sort(drives.age[drives.replicate == replicate])
        assert np.array_equal((ages * 200).astype(int), np.arange(200))
        assert np.count_nonzero(drives.workload[drives.replicate == replicate] == 0) == 150
    assert np.median(drives.writes) == pytest.approx(0.3, rel=0.01)
    assert drives.writes.min() >= 0.05
    assert drives.writes.max() <= 2.0
    # The draws of one thing say nothing of the others.
    assert abs(np.corrcoef(drives.age, drives.writes)[0, 1]) < 0.1


def surface(latency: Any, waf: float = 2.0) -> Surface:
    axes = (np.log([0.05, 2.0]), np.array([0.0, 1500.0, 4000.0]), np.log([1.0, 100.0]))
    w, c, a = np.meshgrid(*axes, indexing="ij")
    values = latency(w, c, a)[..., None] * np.ones(NINES)
    return Surface(axes, values, np.array([waf, waf]), np.ones((2, 3, 2)), np.full((2, 3, 2), 0.01), 1e-4)


def test_what_is_linear_between_points_is_met() -> None:
    def plane(w: Any, c: Any, a: Any) -> Any:
        return 10.0 + w + c / 1000.0 + 0.5 * a

    of = surface(plane)
    writes, pec, days = np.array([0.05, 0.1, 2.0]), np.array([0.0, 2000.0, 4000.0]), np.array([1.0, 10.0, 100.0])
    found = of.at(of.latency, writes, pec, days)
    assert found[:, 0] == pytest.approx(plane(np.log(writes), pec, np.log(days)))
    # Beyond the grid it is that of the grid's end.
    assert of.at(of.latency, np.array([9.0]), np.array([9e9]), np.array([9e9]))[0, 0] == pytest.approx(found[2, 0])


def test_workloads_whose_names_begin_alike_have_their_own_points() -> None:
    workloads = {name: {"share": 0.5, "source": "x"} for name in ("a", "a at b")}
    spec = FleetSpec.read({**changed(grid={"seeds": 1}), "workloads": workloads})
    rows: list[dict[str, Any]] = []
    results = {}
    for scheme in spec.schemes:
        for name, waf, writes in (("a at b", 9.0, 0.05), ("a at b", 9.0, 2.0), ("a", 2.0, 0.05), ("a", 2.0, 2.0)):
            load = _load(spec, scheme, name, writes)
            for _ in range(6):
                rows.append({"load": load, "case": f"{len(rows):012}", "ftl.waf": waf})
                read = polars.DataFrame({"latency_ns": [1000, 2000], "share": [0.5, 1.0]})
                results[rows[-1]["case"]] = SimpleNamespace(latency_distribution=lambda kind, of=read: of)
    numbers = ("host.all.requests", "host.all.iops", "host.read.requests", "host.write.bytes", "energy.total")
    table = polars.DataFrame(rows).with_columns(
        *(polars.lit(1.0).alias(name) for name in numbers),
        polars.lit(0.0).alias("host.uncorrectable"),
        *(polars.lit(None).alias(name) for name in ("ftl.waf_before", "ftl.wear.ended_s")),
    )
    found = _surfaces(spec, SimpleNamespace(table=table, results=results))
    for scheme in spec.schemes:
        assert found[scheme, "a"].waf.tolist() == [2.0, 2.0]
        assert found[scheme, "a at b"].waf.tolist() == [9.0, 9.0]


DRIVE = Drive(10**9, 2 * 10**9, 1.0, 0.0, 0.0, 0.0, math.inf, math.inf, math.inf, 1.0, 0.0, 75.0)


def lives(latency: Any, drive: Drive = DRIVE, **sections: Any) -> Lives:
    spec = FleetSpec.read(
        changed(
            workloads={"mixed": {"share": 1.0, "source": "x"}, "reading": {"share": 0.0, "source": "x"}}, **sections
        )
    )
    of = surface(latency)
    return Lives(spec, drive, [of, of], population(spec))


def test_a_renewed_fleet_has_the_ages_and_purchases_of_renewal_theory() -> None:
    alike = {"writes_per_day": {"median": 0.3, "sigma": 0.0, "source": "x"}}
    of = lives(lambda w, c, a: np.full(w.shape, math.log(1.23e5)), draw=alike)
    row, tail, _ = _renewed(of, of.spec.replace["3 years"])
    hazard = 0.1
    # Of drives that live three years or until they fail: (1 - e^(-3 h)) / h.
    mean = (1.0 - math.exp(-3.0 * hazard)) / hazard
    assert row["life_months"] == pytest.approx(mean * YEAR_MONTHS)
    assert row["failures"] == pytest.approx(hazard)
    assert row["uncorrectable"] == pytest.approx(0.01)
    assert row["retired"] == pytest.approx(math.exp(-3.0 * hazard) / mean)
    assert row["failures"] + row["retired"] == pytest.approx(1.0 / mean)
    assert row["embodied_kg"] == pytest.approx(100.0 / mean)
    assert row["p99_99_ns"] == pytest.approx(1.23e5, rel=0.01)
    # All drives alike: a tenth of the tail from each tenth of a life, but for those that have failed by then.
    first = -math.expm1(-0.03) / -math.expm1(-0.3)
    assert tail == pytest.approx([first * math.exp(-0.03 * part) for part in range(10)], rel=0.05)


def test_cycles_and_ages_follow_from_writes() -> None:
    of = lives(lambda w, c, a: w)
    turnover = 2.0 / (of.drives.writes * 2.0)
    assert of.turnover_days == pytest.approx(turnover)
    assert of.pec(12.0) == pytest.approx(360.0 / turnover * of.drives.wear)
    assert of.data_days(100.0) == pytest.approx(turnover / 2.0 * of.drives.faster)
    # Before all of it was written again most data is as old as the drive.
    days = 0.03
    young = days - days**2 / (2.0 * turnover)
    assert of.data_days(days / 30.0) == pytest.approx(young * of.drives.faster)


def test_refresh_wears_the_drives_of_a_fleet_as_that_of_a_life() -> None:
    """Drives that are hardly written, at 20 and at 55 °C: cold ones are visited often before data is too old."""
    refreshed = DRIVE._replace(refresh_s=30.0 * DAY_S)
    for celsius in (20.0, 55.0):
        alike = {"writes_per_day": {"median": 1e-3, "sigma": 0.5, "source": "x"}}
        alike["temperature"] = {"mean": celsius, "deviation": 0.0, "source": "x"}
        of = lives(lambda w, c, a: w, drive=refreshed, draw=alike)
        faster = acceleration(celsius)
        each = [data_age(refreshed, rate * 1e9 / DAY_S, 2.0, 0.0, math.inf, faster) for rate in of.drives.writes]
        assert of.cycles == pytest.approx([of.programmed * 30.0 * DAY_S / 2e9 for of in each])
        assert of.data_days(1200.0) == pytest.approx([of.turnover / 2.0 / DAY_S for of in each])
        assert of.cycles.min() == pytest.approx(1.0 if celsius == 55.0 else 1.0 / 9.0)
        assert of.pec(10.0) == pytest.approx(10.0 * of.cycles * of.drives.wear)
    # What collection programs over sooner is not refreshed.
    often = lives(lambda w, c, a: w, drive=refreshed)
    assert often.cycles == pytest.approx(lives(lambda w, c, a: w).cycles)


def test_a_rule_looks_at_cycles_and_at_a_drives_own_tail() -> None:
    of = lives(lambda w, c, a: math.log(1e5) + c / 4000.0, replace={"slow": {"years": 50, "p99_us": 200}})
    months, _ = of.lengths(of.spec.replace["slow"])
    # ln 2 of 4,000 effective cycles: where that is reached before 50 years, to a step in 48 of these.
    reached = 4000.0 * math.log(2.0) / (of.cycles * of.drives.wear)
    early = reached < 49.0 * YEAR_MONTHS
    assert early.any()
    assert np.all((months >= reached)[early])
    assert np.all((months <= reached + 50.0 * YEAR_MONTHS / 48.0)[early])
    months, _ = of.lengths(of.spec.replace["worn"])
    assert months == pytest.approx(np.minimum(6.0 * YEAR_MONTHS, 2000.0 / of.cycles))


def test_cycles_at_the_start_count_for_rules_and_wear(tmp_path: Path) -> None:
    begun = DRIVE._replace(pec=1500.0, endurance=4000.0)
    of = lives(lambda w, c, a: w, drive=begun)
    months, worn = of.lengths(of.spec.replace["worn"])
    # 500 cycles are left of the rule's 2,000.
    assert months == pytest.approx(np.minimum(6.0 * YEAR_MONTHS, 500.0 / of.cycles))
    assert not worn.any()
    assert _renewed(of, of.spec.replace["worn"])[0]["pec"] <= 2000.0
    for run, message in (
        ({"age.pec": 2000}, r"replace.worn.pec: table: is 2000, and drives begin with 2000 P/E cycles"),
        ({"age.pec": 1900, "wear.endurance": 1800}, r"wear.endurance: table: is 1800, and drives begin with 1900"),
    ):
        with pytest.raises(ssdlab.InputError, match=message):
            fleet(changed(run=run), cache=tmp_path)


def test_a_mixture_of_two_latencies_has_its_quantiles() -> None:
    of = lives(lambda w, c, a: np.where(c > 3000.0, math.log(1e6), math.log(1e5)))
    drives: Population = of.drives
    slow = np.arange(len(drives.age)) % 100 == 0
    of.cycles = np.where(slow, 1e9, 0.0)
    of.reads = np.ones(len(slow))
    histogram = of.served(np.ones(len(slow)), np.zeros(len(slow), dtype=int), 1)[0]
    assert quantile(histogram, 0.98) == pytest.approx(1e5, rel=0.01)
    assert quantile(histogram, 0.995) == pytest.approx(1e6, rel=0.01)


def test_a_point_of_the_grid_at_which_drives_die_is_refused(tmp_path: Path) -> None:
    """At 300 cycles the core takes the drive, whose life then ends in the run: after some requests, or after none."""
    small: dict[str, Any] = {"grid": {"pec": [0, 300], "writes_per_day": [0.5, 1.0], "age_days": [1, 10]}}
    ending = {"schemes": {"a": {}, "b": {"wear.endurance": 300}}, "workloads": {"all": {"share": 1.0, "source": "x"}}}
    with pytest.raises(ssdlab.InputError, match=r"grid.pec: b: at 300 P/E cycles its blocks are at their end"):
        fleet({**changed(**small), **ending}, cache=tmp_path)


def test_every_scheme_has_its_own_drive_in_any_order(tmp_path: Path) -> None:
    """Schemes of different capacities, endurances and idle powers: each is written and worn as its own drive."""
    schemes = {"large": {}, "small": {"ftl.over_provisioning": 0.6, "wear.endurance": 500, "energy.idle_mw": 500}}
    small: dict[str, Any] = {"fleet": {"drives": 200, "replicates": 2}, "replace": {"9 years": {"years": 9}}}
    small["grid"] = {"pec": [0, 450], "writes_per_day": [0.05, 2.0], "age_days": [1, 100]}
    small["draw"] = {"writes_per_day": {"median": 0.3, "sigma": 0.0, "source": "x"}}
    given = {**changed(**small), "workloads": {"mixed": {"share": 1.0, "source": "x"}}, "replace": small["replace"]}
    one = fleet({**given, "schemes": schemes}, cache=tmp_path)
    other = fleet({**given, "schemes": dict(reversed(schemes.items()))}, cache=tmp_path)
    assert other.table.sort("scheme").equals(one.table.sort("scheme"))
    large, little = one.table.to_dicts()
    assert (large["worn"], little["pec"] < 600) == (0.0, True)
    assert little["worn"] > 0.1
    # 0.5 W all day: 4.4 kWh a year.
    capacity = ssdlab.Device("tlc", settings=hardware(given["run"] | schemes["small"])).capacity / 1e12
    assert little["energy_kwh"] * capacity == pytest.approx(4.4, rel=0.02)


def hardware(settings: dict[str, Any]) -> dict[str, Any]:
    """The keys of a drive of [run]."""
    return {key: of for key, of in settings.items() if "." in key and not key.startswith("workload.")}


@pytest.mark.drawn
@pytest.mark.slow
def test_a_fleet_from_its_file(tmp_path: Path) -> None:
    found = fleet(FILE, cache=tmp_path)
    rows = {(row["scheme"], row["rule"]): row for row in found.table.to_dicts()}
    assert len(rows) == 4
    # Schemes differ in reading alone: the same drives wear and fail alike.
    for name in ("failures", "life_months", "embodied_kg"):
        assert rows["table", "3 years"][name] == pytest.approx(rows["rif", "3 years"][name], rel=1e-3)
    assert rows["table", "3 years"]["p99_99_ns"] > rows["rif", "3 years"]["p99_99_ns"]
    assert rows["rif", "worn"]["pec"] <= 2000.0 * 1.001
    assert found.shares.filter(scheme="table", rule="3 years", old=1.0)["p99_99_ns"][0] > 0
    months = found.months.filter(scheme="rif", rule="3 years")
    gone = sum(sum(months[name].to_list()) for name in ("failed", "retired", "worn"))
    assert gone == pytest.approx(1.0, abs=0.02)
    assert {(of.axis, of.points) for of in found.errors} == {("pec", 8)}
    assert "assumed" in str(found)
    assert fleet(FILE, cache=tmp_path).table.equals(found.table)


def toml(value: Any) -> str:
    """A value as TOML, tables in braces."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {toml(of)}" for name, of in value.items()) + " }"
    return json.dumps(value)


def written(path: Path, **sections: Any) -> Path:
    """A fleet's file."""
    parts = [f"[{name}]\n" + "".join(f"{json.dumps(key)} = {toml(of)}\n" for key, of in section.items())
             for name, section in changed(**sections).items()]  # fmt: skip
    path.write_text("\n".join(parts))
    return path


@pytest.mark.drawn
@pytest.mark.slow
def test_the_command_prints_tables_draws_and_writes(cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "fleet.toml")
    done = cli("fleet", "fleet.toml", "--plot", "fleet.svg", "--out", "fleet.json", "--months", "months.csv")
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    (head,) = (line for line in shown if line.split() == ["scheme", "replaced", "p99", "p99.9", "p99.99", "months"])
    rows = shown[shown.index(head) + 1 :][:4]
    assert [row.split()[0] for row in rows] == ["table", "table", "rif", "rif"]
    assert "worn" in rows[1]
    whole = " ".join(done.stdout.split())
    for words in (
        "P/E worn retired kWh running making all",
        "p99.99 by the share of reads from old drives",
        "Error of the interpolation",
        "2,000 drives in 10 replicates",
        "grid_kg_per_kwh = 0.1 (assumed)",
        "temperature: mean 40 (assumed)",
        "writes_per_day: median 0.3 (assumed)",
        "wrote fleet.json wrote months.csv wrote fleet.svg",
    ):
        assert words in whole, words
    tables = shown[shown.index(head) :]
    assert all(len(line) <= 80 for line in tables if line.startswith("  ")), "as wide as a terminal"
    # The file has what the tables show.
    kept = json.loads((tmp_path / "fleet.json").read_text())
    assert [(row["scheme"], row["rule"]) for row in kept] == [
        (scheme, rule) for scheme in ("table", "rif") for rule in ("3 years", "worn")
    ]
    for row, line in zip(kept, rows, strict=True):
        assert f"{row['life_months']:.1f}" in line.split()
    months = polars.read_csv(tmp_path / "months.csv")
    assert months.columns[:4] == ["scheme", "rule", "month", "alive"]
    assert months["month"].max() == 73
    text = (tmp_path / "fleet.svg").read_text()
    for words in ("old drives beside young ones", "drives bought together", "whose reads are slow", "table, 3 years"):
        assert words in text, words


@pytest.mark.drawn
def test_the_command_names_file_and_key(cli: Cli, tmp_path: Path) -> None:
    for sections, says in (
        ({"draw": {"wear": {"median": 1}}}, "fleet.toml: draw.wear: is no distribution\n  help: write wear = {"),
        ({"fleet": {"drives": 3}}, "fleet.toml: fleet.drives: is 3\n  help: write a number from 100"),
        ({"fleet": {"grid_kg_per_kwh": 3}}, "fleet.toml: fleet.grid_kg_per_kwh: has no value with its source"),
        ({"run": {"workload.rate_iops": 3}}, "fleet.toml: run.workload.rate_iops: is set by the life itself"),
        ({"schemes": {"rif": {"scheme": "riff"}}}, "riff"),
        ({"run": {"device": "none.toml"}}, "none.toml"),
        ({"lives": {"years": 3}}, "fleet.toml: lives: unknown\n  help: a fleet has about and [run]"),
        ({"workloads": {"mixed": {"share": 0.75, "source": "x", "workload.rw": "randread"}}}, "mixed: writes nothing"),
    ):
        written(tmp_path / "fleet.toml", **sections)
        done = cli("fleet", "fleet.toml")
        assert done.returncode == 2, sections
        assert says in done.stderr, done.stderr
        assert "help: " in done.stderr
    for words, says in (
        (("none.toml",), "none.toml"),
        (("fleet.toml", "--plot", "x.txt"), "--plot x.txt"),
        (("fleet.toml", "--out", "x.svg"), "--out x.svg"),
        (("fleet.toml", "--out", "no/x.csv"), "there is no folder no"),
    ):
        done = cli("fleet", *words)
        assert (done.returncode, says in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"fleet": {"failures_per_year": 0.1}}, "fleet.failures_per_year: has no value with its source"),
        ({"draw": {"wear": {"median": 1}}}, "draw.wear: is no distribution"),
        ({"workloads": {"mixed": {"share": 0.5, "source": "x"}}}, "do not add to 1"),
        ({"replace": {"never": {}}}, "replace.never: is no rule"),
        ({"grid": {"pec": [10, 5]}}, "grid.pec: does not grow"),
        ({"fleet": {"drive": 1}}, "fleet.drive: unknown"),
        ({"life": {"years": 5}}, "life: unknown"),
    ],
)
def test_what_is_wrong_is_named(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(ssdlab.InputError, match=message):
        FleetSpec.read(changed(**sections))
