"""`ssdlab tier`: latency and throughput surfaces, and how they are asked."""

from __future__ import annotations

import json
import runpy
import subprocess
from pathlib import Path
from typing import Any

import polars
import pytest

import ssdlab
from conftest import SSDLAB
from ssdlab.sweeps.surface import QUANTITIES

ROOT = Path(__file__).parent.parent
AGES = ["pec=0", "pec=1000,retention=3mo"]
GRID: dict[str, Any] = {"qd": "1,2,8", "bs": "4KiB,16KiB,64KiB", "ages": AGES, "schemes": ["baseline"]}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> ssdlab.Tier:
    cases: dict[str, Any] = {"requests": 200, "warmup": 20, "seeds": 2, "precondition": "none"}
    return ssdlab.tier("tlc", **GRID, **cases, reads="1,0.5,0", cache=tmp_path_factory.mktemp("tier"))


def power_law(seeds: int = 3) -> dict[str, Any]:
    """A surface that is 1000 x size^0.5 x depth^0.25 x (number of the quantity) everywhere."""
    axes: dict[str, Any] = {
        "age": ["default"],
        "scheme": ["default"],
        "reads": [0.5],
        "bytes": [4096, 8192, 65536],
        "qd": [1, 4, 32],
    }
    places = [(size, depth) for size in axes["bytes"] for depth in axes["qd"]]
    values = {
        name: {
            "mean": [1000.0 * (number + 1) * size**0.5 * depth**0.25 for size, depth in places],
            "half_width": [
                None if seeds == 1 else 5.0 * (number + 1) * size**0.5 * depth**0.25 for size, depth in places
            ],
        }
        for number, name in enumerate(QUANTITIES)
    }
    assumed = {"device": "law", "seeds": seeds}
    whole: dict[str, Any] = {"format": "ssdlab tier", "version": 1, "assumed": assumed, "axes": axes}
    return {**whole, "values": values, "findings": [[]] * len(places)}


@pytest.mark.slow
def test_a_point_of_the_grid_is_the_mean_of_runs(measured: ssdlab.Tier) -> None:
    settings = {
        "workload.rw": "randrw",
        "workload.read_ratio": 0.5,
        "workload.bs": "16KiB",
        "workload.rate_iops": "none",
    }
    runs = [
        ssdlab.run(
            "tlc",
            "default",
            settings=settings,
            qd=8,
            requests=220,
            warmup=20,
            seed=seed,
            age=AGES[1],
            scheme="baseline",
        )
        for seed in (1, 2)
    ]
    found = measured.read(bytes=16384, qd=8, reads=0.5, age=AGES[1])
    latencies = [run.host.read.latency_ns.p99 or 0 for run in runs]
    assert found.read is not None
    assert found.read.p99.value == pytest.approx(sum(latencies) / 2, rel=1e-12)
    # Student's t of one degree of freedom at 95 % is 12.706.
    assert found.read.p99.half_width == pytest.approx(12.7062 * abs(latencies[0] - latencies[1]) / 2, rel=1e-4)
    rates = [run.host.all.iops for run in runs]
    assert found.requests_per_s.value == pytest.approx(sum(rates) / 2, rel=1e-12)
    assert found.bytes_per_s.value == pytest.approx(16384 * sum(rates) / 2, rel=1e-12)
    assert "few-requests" in found.findings


def test_age_and_depth_cost_time_and_kinds_that_are_not_there_have_none(measured: ssdlab.Tier) -> None:
    fresh, old = (measured.latency_ns("read", 16384, 2, age=age) for age in AGES)
    assert old > 1.2 * fresh
    alone = measured.read(bytes=4096, reads=1.0, age=AGES[0])
    assert alone.write is None
    assert alone.read is not None
    assert alone.requests_per_s.value * alone.read.mean.value / 1e9 == pytest.approx(1.0, rel=0.05)  # Little's law
    between = measured.read(bytes=10_000, qd=3.5, reads=0.5, age=AGES[0])
    assert between.read is not None
    ends = [
        measured.latency_ns("read", size, depth, reads=0.5, age=AGES[0]) for size in (4096, 16384) for depth in (2, 8)
    ]
    assert min(ends) <= between.read.mean.value <= max(ends)


def test_a_surface_is_the_same_in_its_file_in_rust_and_in_python(measured: ssdlab.Tier, tmp_path: Path) -> None:
    measured.save(tmp_path / "tier.json")
    again = ssdlab.Tier.load(tmp_path / "tier.json")
    assert again == measured
    whole = json.loads((tmp_path / "tier.json").read_text())
    table = again.table
    assert table.height == 2 * 3 * 3 * 3
    for name in QUANTITIES:
        assert table[name].to_list() == whole["values"][name]["mean"]
        assert table[f"{name}.half_width"].to_list() == whole["values"][name]["half_width"]
    for row in table.iter_rows(named=True):
        found = again.read(**{name: row[name] for name in ("bytes", "qd", "reads", "age", "scheme")})
        assert (found.bytes_per_s.value, found.bytes_per_s.half_width) == (
            row["bytes_per_s"],
            row["bytes_per_s.half_width"],
        )
        assert (found.write is None) == (row["write.latency_ns.mean"] is None)
    measured.save(tmp_path / "tier.parquet")
    assert polars.read_parquet(tmp_path / "tier.parquet").equals(table)
    assumed = whole["assumed"]
    assert (assumed["device"], assumed["seeds"], assumed["start"]) == ("tlc", 2, "none")
    checks = again.cross_validation()
    assert [check.value for check in checks] == [check["value"] for check in whole["cross_validation"]]
    assert all(0.0 <= check.median <= check.worst for check in checks)


def test_a_power_law_is_exact_between_points_and_its_cross_validation_finds_nothing() -> None:
    surface = ssdlab.Tier.parse(json.dumps(power_law()))
    for size, depth in [(5000, 1.0), (40_000, 2.7), (65536, 31.0)]:
        found = surface.read(bytes=size, qd=depth)
        for number, estimate in enumerate([found.bytes_per_s, found.requests_per_s, *(found.read or ())]):
            expected = 1000.0 * (number + 1) * size**0.5 * depth**0.25
            assert estimate.value == pytest.approx(expected, rel=1e-12)
            assert estimate.half_width == pytest.approx(expected / 200.0, rel=1e-12)
    assert all(check.worst < 1e-12 for check in surface.cross_validation())
    alone = ssdlab.Tier.parse(json.dumps(power_law(seeds=1))).read(bytes=5000, qd=2)
    assert alone.requests_per_s.half_width is None


def test_nothing_is_extrapolated_and_questions_are_refused_with_the_range(
    measured: ssdlab.Tier, tmp_path: Path
) -> None:
    refusals: list[tuple[dict[str, Any], str]] = [
        ({"bytes": 4095}, "bytes = 4095 lies outside the surface, which has 4096 to 65536\n  help: ask within it, or"),
        ({"bytes": 4096, "qd": 8.01}, "qd = 8.01 lies outside the surface, which has 1 to 8"),
        ({"bytes": 4096, "reads": -0.1}, "reads = -0.1 lies outside the surface, which has 0 to 1"),
        ({"bytes": 4096, "reads": None}, "the surface has several values of reads"),
        ({"bytes": 4096, "age": None}, "the surface has several values of age"),
        ({"bytes": 4096, "scheme": "pnar2"}, 'the surface has no scheme "pnar2"\n  help: it has baseline'),
    ]
    for question, expected in refusals:
        with pytest.raises(ssdlab.InputError) as refused:
            measured.read(**{"reads": 0.5, "age": AGES[0], **question})
        assert str(refused.value).startswith(expected)
    with pytest.raises(ssdlab.InputError, match=r"write\.latency_ns\.mean was not measured at age = pec=0"):
        measured.latency_ns("write", 4096, reads=0.75, age=AGES[0])
    with pytest.raises(ssdlab.InputError, match="there is no p98 of 'read'"):
        measured.latency_ns("read", 4096, of="p98")
    (tmp_path / "odd.json").write_text('{"format": "other"}')
    with pytest.raises(ssdlab.InputError, match=r'odd.json: format: expected "ssdlab tier", found "other"'):
        ssdlab.Tier.load(tmp_path / "odd.json")


def test_what_a_surface_cannot_be_measured_with_is_refused(tmp_path: Path) -> None:
    refusals: list[tuple[dict[str, Any], str]] = [
        ({"bs": "64KiB..4KiB"}, "--bs 64KiB..4KiB: expected sizes"),
        ({"bs": "big"}, "--bs big: expected sizes"),
        ({"reads": "1,1.5"}, "--reads 1,1.5: expected shares from 0 to 1"),
        ({"qd": "0..4"}, "--qd 0..4: expected depths"),
        ({"pattern": "zipf"}, "--pattern zipf: expected random or sequential"),
        ({"settings": ["workload.bs=4KiB"]}, "workload.bs is set, and is an axis"),
        ({"array": "x.toml"}, "a device and an array are both given"),
        ({"schemes": ["tlcx"]}, "there is no scheme `tlcx`"),
    ]
    for given, expected in refusals:
        with pytest.raises(ssdlab.InputError, match=expected):
            ssdlab.tier("tlc", **{"cache": tmp_path, "requests": 10, "seeds": 1, "qd": "1", "bs": "4KiB", **given})


def test_points_that_write_start_as_after_long_overwriting_and_reads_alone_without_collections(tmp_path: Path) -> None:
    drive = {
        "base": "tlc",
        "geometry.channels": 1,
        "geometry.blocks": 96,
        "ftl.over_provisioning": 0.2,
        "buffer.size": "1MiB",
    }
    cases: dict[str, Any] = {"qd": "4", "bs": "16KiB", "reads": "1,0", "requests": 300, "seeds": 1, "cache": tmp_path}
    own, written, once = (
        ssdlab.tier(drive, **cases, precondition=start).table for start in (None, "closed-form", "none")
    )
    latencies = ["read.latency_ns.mean", "write.latency_ns.mean"]
    writes, reads = (own.filter(reads=share).select(latencies).row(0) for share in (0.0, 1.0))
    assert writes == written.filter(reads=0.0).select(latencies).row(0)
    assert writes != once.filter(reads=0.0).select(latencies).row(0)
    assert reads == once.filter(reads=1.0).select(latencies).row(0)
    assert reads != written.filter(reads=1.0).select(latencies).row(0)


def test_a_serving_simulators_tier_asks_the_surface(measured: ssdlab.Tier, tmp_path: Path) -> None:
    measured.save(tmp_path / "tier.json")
    tier = runpy.run_path(str(ROOT / "examples/tier/vidur_like.py"))["FlashTier"]
    for age in AGES:
        flash = tier(str(tmp_path / "tier.json"), request=65536, depth=4, age=age)
        lone = measured.latency_ns("read", 65536, 1, age=age) / 1e9
        assert flash.transfer_time(1) == flash.transfer_time(65536) == pytest.approx(lone)
        # Twelve requests are four under way, and eight more at the rate of depth four.
        rate = measured.read(bytes=65536, qd=4, reads=1.0, age=age).requests_per_s.value
        four = measured.latency_ns("read", 65536, 4, age=age) / 1e9
        assert flash.transfer_time(12 * 65536) == pytest.approx(four + 8 / rate)
        assert flash.transfer_time(65536, "write") != flash.transfer_time(65536)


@pytest.mark.slow
def test_a_verdict_names_a_point_that_was_measured() -> None:
    found = ssdlab.tier(
        "tlc", qd="1", bs="4KiB,16KiB", reads="1", ages=["pec=2000000000", "pec=0"], requests=200, seeds=1
    )
    assert len(found.failed) == 2
    (mean,) = found.table.filter(age="pec=0", bytes=4096)["read.latency_ns.mean"]
    assert f"a read of 4 KiB at queue depth 1 takes {mean / 1e3:.1f} µs on average" in found.verdict()


def test_the_command_measures_writes_and_shows(tmp_path: Path) -> None:
    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(SSDLAB), "tier", *words], cwd=tmp_path, check=False, capture_output=True, text=True)

    small = ("channels=1", "chips=1", "blocks=96")
    drive = [word for key in small for word in ("--set", f"geometry.{key}")]
    grid = [
        "tlc",
        *drive,
        "--set",
        "ftl.over_provisioning=0.2",
        "--qd",
        "1..4",
        "--bs",
        "4KiB..16KiB",
        "--reads",
        "1,0",
        "--requests",
        "100",
        "--seeds",
        "2",
    ]
    done = command(*grid, "--out", "tier.json", "--out", "tier.parquet")
    assert done.returncode == 0, done.stderr
    assert "tlc: a read of 4 KiB at queue depth 1 takes " in done.stdout
    assert "Error of the interpolation" in done.stdout
    assert "wrote tier.json\nwrote tier.parquet\n" in done.stdout
    surface = ssdlab.Tier.load(tmp_path / "tier.json")
    assert surface.assumed["start"] == "closed-form; none where all requests read"
    assert surface.axes.qd == (1, 2, 4)
    assert surface.axes.bytes == (4096, 8192, 16384)
    assert "<table>" in surface._repr_html_()
    assert polars.read_parquet(tmp_path / "tier.parquet").height == 2 * 3 * 3
    # What was run comes from the cache, and makes the same file.
    first = (tmp_path / "tier.json").read_bytes()
    assert command(*grid, "--out", "again.json").returncode == 0
    assert (tmp_path / "again.json").read_bytes() == first
    refused = command(*grid, "--out", "tier.toml")
    assert refused.returncode == 2
    assert "the ending '.toml' is not known" in refused.stderr


def test_many_requests_in_one_call_are_what_they_are_one_by_one(tmp_path: Path) -> None:
    count = 20_000
    columns: dict[str, Any] = {
        "time_ns": [number * 700 for number in range(count)],
        "op": [("read", "write", "read", "trim")[number % 4] for number in range(count)],
        "offset": [number * 7919 % 100_000 * 4096 for number in range(count)],
        "bytes": [4096 << number % 3 for number in range(count)],
        "queue": [number % 5 for number in range(count)],
    }
    devices = [ssdlab.Device("tlc", settings=["buffer.size=2MiB"]) for _ in range(3)]
    single, batched, framed = devices
    for number in range(count):
        single.submit(*(values[number] for values in columns.values()))
    assert batched.submit_many(columns) == range(count)
    assert framed.submit_many(polars.DataFrame(columns)) == range(count)
    done = [device.advance(10**9) for device in devices]
    assert done[0] == done[1] == done[2]
    assert len(done[0]) == count
    for number, device in enumerate(devices):
        device.save(tmp_path / f"{number}.ckpt")
    states = [(tmp_path / f"{number}.ckpt").read_bytes() for number in range(3)]
    assert states[0] == states[1] == states[2]


def test_nothing_behind_a_refused_request_is_submitted() -> None:
    device = ssdlab.Device("tlc")
    given: dict[str, Any] = {"time_ns": [0, 5, 3, 7], "op": "read", "offset": 0, "bytes": 4096}
    with pytest.raises(ssdlab.InputError, match=r"^requests\[2\]: a request at 3 ns came after 5 ns"):
        device.submit_many(given)
    assert device.outstanding == 2
    with pytest.raises(ssdlab.InputError, match=r"^requests\[1\]: op is \"rread\"\n  help: write one of read, write"):
        device.submit_many({**given, "time_ns": [9, 9, 9, 9], "op": ["read", "rread", "read", "read"]})
    assert device.outstanding == 3
    refusals: list[tuple[dict[str, Any], str]] = [
        ({"offset": [0, -4096, 0, 0]}, r"^requests\[1\]: offset is -4096\n.*nothing has been submitted"),
        ({"queue": [0, 0, 0, 1 << 16]}, r"^requests\[3\]: queue is 65536"),
        ({"op": ["read", "read", None, "read"]}, r"^requests\[2\]: op is None"),
        ({"bytes": [4096]}, "bytes has 1 values, and time_ns has 4"),
        ({"size": 4096}, "requests: size is no column"),
    ]
    for changed, expected in refusals:
        with pytest.raises(ssdlab.InputError, match=expected):
            device.submit_many({**given, "time_ns": [9, 9, 9, 9], **changed})
    with pytest.raises(ssdlab.InputError, match="requests: has no column op"):
        device.submit_many({"time_ns": [9], "offset": [0], "bytes": [4096]})
    assert device.outstanding == 3
