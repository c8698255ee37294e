"""Lives of drives: the closed forms, the file, and a life that is played whole."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from ssdlab.lives.ages import DAY_S, DataAge, Drive, acceleration, data_age, seconds_of
from ssdlab.lives.life import Life, life
from ssdlab.runs.simulation import open_simulation
from ssdlab.show.lives import of_life
from ssdlab.sweeps.spec import run_of

DRIVE: dict[str, Any] = {
    "geometry.channels": 2, "geometry.chips": 1, "geometry.dies": 2, "geometry.planes": 1, "geometry.blocks": 64,
    "geometry.pages": 48, "ftl.over_provisioning": 0.25, "buffer.size": "1MiB", "mapping.unit": "16KiB",
}  # fmt: skip
LOAD: dict[str, Any] = {"workload.rw": "randrw", "workload.read_ratio": 0.5, "workload.align": "bs"}
PAGE = 16384


def drive(settings: dict[str, Any], device: str = "tlc") -> Drive:
    return Drive.of(json.loads(open_simulation(run_of({"device": device, **DRIVE, **settings}, "test")).manifest))


def test_data_ages_as_in_the_core() -> None:
    device = ssdlab.Device("tlc", settings={"age.schedule": ["10d 55C"]})
    found = device.conditions(0)
    assert found is not None
    assert found.retention_s == pytest.approx(10.0 * DAY_S * acceleration(55.0), rel=1e-6)
    assert acceleration(30.0) == 1.0
    assert (seconds_of("2h"), seconds_of("1mo"), seconds_of("500ms")) == (7200.0, 30 * DAY_S, 0.5)


def test_blocks_fail_by_their_cycles() -> None:
    of = drive({"wear.program_fail": 1e-4, "wear.erase_fail": 2e-4, "faults.growth": 100, "ftl.allocation": "plane"})
    # 16 wordlines a cycle and the erase; the probability doubles in 100 cycles.
    assert of.fails == pytest.approx(16 * 1e-4 + 2e-4)
    survive = math.prod(1.0 - of.fails * (1.0 + cycle / 100.0) for cycle in range(200))
    assert of.failed(200.0) == pytest.approx(1.0 - survive, rel=0.01)
    assert drive({"wear.endurance": 300}).failed(300.0) == 1.0
    # The capacity beyond the logical one is a fifth of the flash: a tenth of all blocks is half of it.
    assert of.spare(0.1) == pytest.approx(0.5, abs=0.02)


def test_refresh_bounds_ages_and_costs_writes() -> None:
    of = drive({"refresh.period": "30d"})
    share = of.capacity / of.raw
    slow = data_age(of, of.capacity / (1e6 * DAY_S), 2.0, 0.0, 365 * DAY_S, 1.0)
    # A block that is visited four fifths of a period after its last program holds data that is not too old yet.
    assert slow.programmed == pytest.approx(of.raw / (60 * DAY_S))
    assert slow.turnover == pytest.approx(share * 60 * DAY_S, rel=1e-3)
    # Blocks are visited once in 30 days, however fast data ages.
    for faster, visits in ((0.3, 5), (2.0, 1), (25.0, 1)):
        other = data_age(of, of.capacity / (1e6 * DAY_S), 2.0, 0.0, 365 * DAY_S, faster)
        assert other.programmed == pytest.approx(of.raw / (visits * 30 * DAY_S))
        assert other.turnover == pytest.approx(faster * share * visits * 30 * DAY_S, rel=1e-3)
    fast = data_age(of, of.capacity / DAY_S, 2.0, 0.0, 365 * DAY_S, 1.0)
    assert fast.programmed == pytest.approx(of.capacity / DAY_S * 2.0)
    assert fast.turnover == pytest.approx(of.raw / of.capacity / 2.0 * DAY_S)


@pytest.mark.parametrize(
    ("celsius", "a_day", "days"), [(55, 0.0, 240), (55, 0.01, 240), (30, 0.0, 660), (20, 0.0, 900)]
)
def test_refresh_wears_and_rejuvenates_as_in_the_core(celsius: int, a_day: float, days: int) -> None:
    """A drive rests for most of its life, and its host overwrites a hundredth of it a day, or nothing."""
    settings = {"refresh.period": "30d", "age.temperature": f"{celsius}C", "geometry.blocks": 128}
    device = ssdlab.Device("tlc", settings=DRIVE | settings | {"age.precondition": "closed-form"})
    draws, pages = random.Random(1), device.capacity // PAGE

    def look() -> tuple[float, float]:
        seen = [found for page in range(0, pages, 7) if (found := device.conditions(page * PAGE)) is not None]
        return sum(of.pec for of in seen) / len(seen), sorted(of.retention_s for of in seen)[len(seen) // 2]

    looks: list[tuple[float, float]] = []
    for day in range(0, days, 2):
        writes = [draws.randrange(pages) * PAGE for _ in range(round(a_day * 2 * pages))]
        if writes:
            times = [device.now + number * 2_000_000 for number in range(len(writes))]
            device.submit_many({"time_ns": times, "op": "write", "offset": writes, "bytes": PAGE})
            device.advance(times[-1] + 100_000_000)
        device.rest("2d")
        if day >= days // 2:
            looks.append(look())
    of, faster = drive(settings), acceleration(celsius)
    expected = data_age(of, max(a_day, 1e-6) * of.capacity / DAY_S, 3.0, 0.0, math.inf, faster)
    span = (len(looks) - 1) * 2 * DAY_S
    assert looks[-1][0] - looks[0][0] == pytest.approx(expected.programmed * span / of.raw, rel=0.12)
    ages = [age for _, age in looks]
    assert sum(ages) / len(ages) == pytest.approx(expected.turnover / 2.0, rel=0.15)


def in_epochs(device: str, scheme: str, given: dict[str, Any], conditions: dict[str, Any], cache: Path) -> Life:
    spec = {"run": {"device": device, "requests": 300, **DRIVE, **LOAD, **given}, "life": conditions}
    return life(spec | {"schemes": {"all": {"scheme": scheme}}}, cache=cache)


def played_whole(
    device: str, scheme: str, given: dict[str, Any], conditions: dict[str, Any], folder: Path, bursts: int = 0
) -> list[dict[str, float]]:
    """A life by its own writes, one after another over the years, or in this many bursts for each two turnovers, with
    rests between them. Around the middle of each epoch what readers meet is measured on copies of the drive, at moments
    of two turnovers: those of a burst are spread evenly over it."""
    settings = DRIVE | given | {"age.precondition": "closed-form", "age.temperature": conditions["temperature"]}
    drive = ssdlab.Device(device, scheme=scheme, settings=settings, seed=5)
    draws, pages = random.Random(3), drive.capacity // PAGE
    a_day, days = conditions["writes_per_day"] * pages, conditions["years"] * 365.0
    gap, epochs = round(DAY_S * 1e9 / a_day), conditions["epochs"]
    apart = 2 * int(drive.raw_capacity / PAGE / 4.4 / LOOKS)
    """Writes between two looks."""
    in_burst = LOOKS // bursts * apart if bursts else 50_000
    active = round(gap * conditions["duty"]) if bursts else gap
    written = 0
    rows: list[dict[str, float]] = []
    for epoch in range(epochs):
        first = int((epoch + 0.5) * days * a_day / epochs) - LOOKS // 2 * apart
        if bursts:  # half a step into a burst
            first += apart // 2 - first % in_burst
        for number in range(LOOKS):
            count = max(1, first + number * apart - written)
            while count > 0:
                some = min(count, in_burst - written % in_burst)
                offsets = [draws.randrange(pages) * PAGE for _ in range(some)]
                times = [drive.now + number * active for number in range(some)]
                drive.submit_many({"time_ns": times, "op": "write", "offset": offsets, "bytes": PAGE})
                drive.advance(drive.now + some * active)
                count -= some
                written += some
                if written % in_burst == 0:
                    drive.advance(drive.now + in_burst * (gap - active))
            rows.append(look(drive, folder / "drive.ckpt", 2e9 / active))
    means = [rows[at : at + LOOKS] for at in range(0, LOOKS * epochs, LOOKS)]
    return [{name: sum(row[name] for row in of) / LOOKS for name in rows[0]} for of in means]


LOOKS = 40
"""Moments at which readers of an epoch are asked."""
SEEN = {"pec": "flash.read_pec", "data_days": "flash.read_retention_days", "retries": "flash.retry.steps.mean"}
SEEN |= {"read_mean_ns": "host.read.latency_ns.mean", "read_p99_ns": "host.read.latency_ns.p99"}


def look(drive: ssdlab.Device, path: Path, rate: float) -> dict[str, float]:
    """What readers and writers meet on a copy of a drive."""
    drive.save(path)
    run = ssdlab.run(checkpoint=path, requests=300, settings=LOAD | {"workload.rate_iops": rate}, seed=10)
    return {name: float(run[of]) for name, of in SEEN.items()}


@pytest.mark.seldom
@pytest.mark.parametrize("scheme", ["baseline", "rif"])
def test_epochs_agree_with_a_life_that_is_played_whole(scheme: str, tmp_path: Path) -> None:
    given = {"age.pec": 1500}
    conditions = {"years": 2, "epochs": 2, "writes_per_day": 0.1, "duty": 1.0, "temperature": "55C", "seeds": 24}
    epochs = in_epochs("tlc", scheme, given, conditions, tmp_path / "cache").table.to_dicts()
    whole = played_whole("tlc", scheme, given, conditions, tmp_path)
    for epoch, played in zip(epochs, whole, strict=True):
        # Wear since the start of the life is write amplification.
        assert played["pec"] - 1500 == pytest.approx(epoch["pec"] - 1500, rel=0.03)
        for name in ("data_days", "read_mean_ns", "read_p99_ns"):
            assert played[name] == pytest.approx(epoch[name], rel=0.05), name
        if scheme == "baseline":
            assert played["retries"] == pytest.approx(epoch["retries"], rel=0.05)


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["baseline", "rif"])
def test_epochs_agree_with_a_life_whose_host_rests(scheme: str, tmp_path: Path) -> None:
    """Four bursts a turnover, in a twentieth of the time. A run writes a part of a turnover without a rest: without
    :meth:`DataAge.before_run` the mean read would be 12 % shorter than in the life."""
    given = {"age.pec": 1500}
    conditions = {"years": 1, "epochs": 1, "writes_per_day": 0.1, "duty": 0.05, "temperature": "55C", "seeds": 24}
    (epoch,) = in_epochs("tlc", scheme, given, conditions, tmp_path / "cache").table.to_dicts()
    (played,) = played_whole("tlc", scheme, given, conditions, tmp_path, bursts=8)
    assert played["pec"] - 1500 == pytest.approx(epoch["pec"] - 1500, rel=0.03)
    for name in ("read_mean_ns", "read_p99_ns"):
        assert played[name] == pytest.approx(epoch[name], rel=0.07), name


def test_a_run_without_a_rest_begins_with_data_that_is_so_much_older() -> None:
    age = DataAge(turnover=1000.0, most=900.0)
    assert age.option == "turnover:1000s..900s"
    assert age.before_run(0.1, 1.0) == age
    begun = age.before_run(0.1, 0.25)
    assert begun.option == "turnover:1000s..825s+75s"
    # A tenth of the flash was programmed in 25 s of the run: what was programmed half a turnover ago is as old as that.
    assert 0.4 * begun.turnover + begun.rested + 25.0 == pytest.approx(500.0)
    settings = DRIVE | {"age.precondition": "closed-form", "age.load": 0.01}
    plain, rested = (
        ssdlab.Device("tlc", settings=settings | {"age.retention": f"turnover:100h..90h{rest}"}) for rest in ("", "+7h")
    )
    for page in range(0, plain.capacity // PAGE, 97):
        one, other = plain.conditions(page * PAGE), rested.conditions(page * PAGE)
        assert one is not None
        assert other is not None
        assert other.retention_s == pytest.approx(one.retention_s + 7 * 3600.0)


def test_a_life_whose_runs_write_much_of_the_drive_says_so(tmp_path: Path) -> None:
    long = {**TWO, "run": {**TWO["run"], "requests": 3000}, "schemes": {"rif": {"scheme": "rif"}}}
    long["life"] = {**TWO["life"], "epochs": 1}
    (note,) = (note for note in life(long, cache=tmp_path).warnings if "of the flash before the middle" in note)
    assert "note: rif: a run writes" in note
    assert "help: fewer requests" in note


def test_the_amplification_before_a_run_is_that_of_a_long_one() -> None:
    settings = DRIVE | {"workload.rw": "randwrite", "workload.align": "bs", "workload.rate_iops": 100.0}
    # The planes of so small a drive are played for some thousand programs: one seed scatters by 3 %.
    seeds = range(1, 17)
    runs = [ssdlab.run("tlc", settings=settings, requests=20, precondition="closed-form", seed=seed) for seed in seeds]
    long = ssdlab.run("tlc", settings=settings, requests=30_000, precondition="closed-form")
    before = sum(float(run["ftl.waf_before"]) for run in runs) / len(runs)
    assert before == pytest.approx(long["ftl.waf"] - long["ftl.waf_by.padding"], rel=0.03)
    assert ssdlab.run("tlc", settings=settings, requests=10)["ftl.waf_before"] is None


def test_ages_follow_the_order_in_which_blocks_were_written() -> None:
    settings = DRIVE | {"age.precondition": "closed-form", "age.retention": "turnover:100h..90h", "age.load": 0.01}
    device = ssdlab.Device("tlc", settings=settings)
    valid: dict[float, int] = {}
    for page in range(device.capacity // PAGE):
        found = device.conditions(page * PAGE)
        assert found is not None
        valid[found.retention_s / 3600.0] = valid.get(found.retention_s / 3600.0, 0) + 1
    pages = sum(valid.values())
    # Overwritten evenly: half of a turnover on average, less what was overwritten, and no more than is allowed.
    assert sum(age * count for age, count in valid.items()) / pages == pytest.approx(48.0, rel=0.05)
    assert max(valid) == pytest.approx(90.0)
    # All planes together: the valid pages of young blocks and of old ones.
    young = [count for age, count in valid.items() if 5.0 < age < 20.0]
    old = [count for age, count in valid.items() if 60.0 < age < 90.0]
    assert sum(young) / len(young) > 1.05 * sum(old) / len(old)


TWO: dict[str, Any] = {
    "run": {"device": "tlc", "requests": 200, **DRIVE, **LOAD, "energy.idle_mw": 1000},
    "life": {"years": 1, "epochs": 3, "writes_per_day": 1.0, "duty": 0.1, "temperature": "40C"},
    "schemes": {"table": {"scheme": "baseline"}, "rif": {"scheme": "rif"}},
}


def test_a_life_is_a_row_a_scheme_and_epoch(tmp_path: Path) -> None:
    found = life(TWO, cache=tmp_path)
    assert found.table.select("scheme", "epoch").rows() == [(s, e) for s in ("table", "rif") for e in (1, 2, 3)]
    first, second, last = found.of("rif").to_dicts()
    assert first["month"] == pytest.approx(365.0 / 30.0 / 6.0)
    # Equal steps of wear, as the write amplification stays; the first row stands in the middle of its epoch.
    assert second["pec"] - first["pec"] == pytest.approx(2.0 * first["pec"], rel=0.02)
    raw, capacity = drive({}).raw, drive({}).capacity
    assert last["pec"] == pytest.approx(365.0 * 2.5 / 3.0 * capacity * last["waf"] / raw, rel=0.02)
    assert last["written_tb"] == pytest.approx(365.0 * capacity / 1e12)
    assert 1.0 < last["power_w"] < 1.1
    assert last["energy_kwh"] == pytest.approx(last["power_w"] * 365.0 / 3.0 * 24.0 / 1e3)
    again = life(TWO, cache=tmp_path)
    assert again.table.equals(found.table)
    assert "after 10 months" in found.verdict()


def test_a_life_of_a_drive_without_idle_power_tells_no_power(tmp_path: Path) -> None:
    run = {name: value for name, value in TWO["run"].items() if name != "energy.idle_mw"}
    found = life({**TWO, "run": run, "schemes": {"table": {"scheme": "baseline"}}}, cache=tmp_path)
    assert found.table["power_w"].to_list() == found.table["energy_kwh"].to_list() == [None] * 3
    (table,), footnotes = of_life(found)
    assert [row[table.columns.index("mean W")] for row in table.rows] == ["-"] * 3
    assert any("energy.idle_mw is not set" in line for line in footnotes)


def test_a_twin_is_played_as_fast_as_the_drive_is_written(tmp_path: Path) -> None:
    """A workload with times of its own has no rate: it is replayed faster or slower."""
    phases = """
[workload]
requests = 4000
[gap]
some = { quantiles = "1ms:2ms:9ms" }
[kind.read]
bs = "16KiB"
zones = "0B:64MiB"
[kind.write]
rw = "write"
bs = "16KiB"
zones = "0B:64MiB"
[phase]
one = { mix = "read.some.new/60:write.some.new/40", next = "one/1" }
"""
    (tmp_path / "twin.toml").write_text(phases)
    (tmp_path / "life.toml").write_text("""
[run]
device = "tlc"
requests = 400
workload = "twin.toml"
"geometry.channels" = 2
"geometry.chips" = 1
"geometry.planes" = 1
"geometry.blocks" = 64
"geometry.pages" = 48
"ftl.over_provisioning" = 0.25
"buffer.size" = "1MiB"
[life]
years = 1
epochs = 1
writes_per_day = 0.5
duty = 0.5
""")
    found = life(tmp_path / "life.toml", cache=tmp_path / "cache")
    (row,) = found.table.to_dicts()
    # Four in ten requests write a page of 16 KiB, half of the day.
    assert row["iops"] * 0.4 * PAGE * 0.5 * DAY_S == pytest.approx(0.5 * drive({}).capacity, rel=0.15)
    assert row["written_tb"] == pytest.approx(365 * 0.5 * drive({}).capacity / 1e12, rel=1e-3)


def test_failed_blocks_take_spare_capacity_and_end_a_life(tmp_path: Path) -> None:
    failing = {**TWO, "run": {**TWO["run"], "wear.program_fail": 1e-6, "ftl.allocation": "plane"}}
    found = life(failing, cache=tmp_path)
    rows = found.of("rif").to_dicts()
    assert rows[1]["waf"] > 1.02 * rows[0]["waf"], "collection has less room"
    assert rows[0]["spare"] > rows[1]["spare"]
    worn = life({**TWO, "run": {**TWO["run"], "wear.endurance": 300}}, cache=tmp_path)
    assert "wear.endurance" in worn.ended["table"]
    assert worn.of("table").height < 3


def test_runs_that_program_nothing_wear_as_the_long_run_does(tmp_path: Path) -> None:
    """One request of a hundred writes: what is written waits in the buffer, and no run knows its amplification."""
    run = {**TWO["run"], "workload.read_ratio": 0.99, "requests": 100}
    found = life({**TWO, "run": run, "schemes": {"table": {"scheme": "baseline"}}}, cache=tmp_path)
    assert found.ended == {}
    written = 365.0 / 6.0 * drive({}).capacity / drive({}).raw
    for row, halves in zip(found.table.to_dicts(), (1, 3, 5), strict=True):
        assert row["waf"] > 1.5
        assert row["pec"] == pytest.approx(halves * written * row["waf"], rel=0.05)


def test_a_run_in_which_the_drive_dies_ends_its_life(tmp_path: Path) -> None:
    """Just below the endurance a run crosses it: what it has done until then is no epoch."""
    run = {**TWO["run"], "wear.endurance": 300, "age.pec": 296}
    spec = {**TWO, "run": run, "life": {**TWO["life"], "epochs": 500}, "schemes": {"table": {"scheme": "baseline"}}}
    with pytest.raises(
        ssdlab.InputError, match=r"no life lasts for an epoch.*come to their end in its first run, at 29"
    ):
        life({**spec, "run": {**run, "age.pec": 299}}, cache=tmp_path)
    found = life(spec, cache=tmp_path)
    assert "its blocks come to their end in a run" in found.ended["table"]
    assert 0 < found.table.height < 10
    assert found.table["read_mean_ns"].null_count() == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"life": {"duty": 2}}, "life.duty: is 2"),
        ({"life": {"temperature": 40}}, "life.temperature: is 40\n  help: write a temperature from -40C to 125C"),
        ({"life": {"month": 1}}, "life.month: unknown"),
        ({"schemes": {"a": "rif"}}, 'write a = { scheme = "rif" }'),
        ({"run": {"age": "pec=5"}}, "run.age: is set by the life itself"),
        ({"runs": {}}, "runs: unknown"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ssdlab.InputError, match=message.replace("{", r"\{").replace("(", r"\(")):
        life({**TWO, **change})


def test_a_life_without_writes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ssdlab.InputError, match="writes nothing"):
        life({**TWO, "run": {**TWO["run"], "workload.rw": "randread"}}, cache=tmp_path)


@pytest.mark.slow
def test_the_command_writes_a_table_and_draws(tmp_path: Path) -> None:
    import subprocess
    import sys

    keys = {**DRIVE, **LOAD, "device": "tlc", "requests": 100}
    run = "\n".join(f'"{key}" = {json.dumps(value)}' for key, value in keys.items())
    conditions = "[life]\nyears = 1\nepochs = 2\n[schemes]\ntable = { scheme = 'baseline' }\n"
    (tmp_path / "life.toml").write_text(f"[run]\n{run}\n{conditions}")
    command = [str(Path(sys.executable).with_name("ssdlab")), "life", "life.toml", "--out", "a.csv", "--plot", "a.svg"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "P/E cycles" in found.stdout
    assert (tmp_path / "a.csv").read_text().startswith("scheme,epoch,month")
    assert "<svg" in (tmp_path / "a.svg").read_text()
