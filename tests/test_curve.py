"""`ssdlab curve`: throughput against latency."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import polars
import pytest

import ssdlab
from conftest import SSDLAB

READS = {"workload.rw": "randread", "workload.bs": "4KiB"}


def test_a_curve_is_littles_law_and_ends_at_the_bound(tmp_path: Path) -> None:
    found = ssdlab.curve("tlc", settings=READS, qd="1..256", requests=4000, cache=tmp_path)
    (line,) = found.lines
    assert [point.load for point in line.points] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    for point in line.points:
        # A closed loop keeps its depth, throughput x mean latency (J. D. C. Little, 1961), until it drains at its end.
        latency = point.latency_ns["mean"][0]
        assert latency is not None
        assert point.iops[0] * latency / 1e9 == pytest.approx(point.load, rel=0.2)
    assert line.bound is not None
    assert line.most.iops[0] <= 1.001 * line.bound.per_s
    assert line.knee is not None
    assert 16 < line.knee.load < 256
    assert "tlc: at its knee" in found.verdict()
    alone = ssdlab.run("tlc", settings=READS, qd=1, requests=4400, warmup=400)
    assert line.points[0].latency_ns["mean"][0] == alone.host.read.latency_ns.mean


def test_a_line_whose_knee_does_not_show_says_so(tmp_path: Path) -> None:
    found = ssdlab.curve("tlc", settings=READS, qd="1,2", requests=500, cache=tmp_path)
    assert found.lines[0].knee is None
    assert "it still climbs there, its knee lies further (--qd)" in found.verdict()
    doubtful = any(point.warnings for line in found.lines for point in line.points)
    assert ("carry warnings" in found.verdict()) == doubtful


def test_a_mixed_load_shows_its_writes_and_between_which_loads_its_knee_lies(tmp_path: Path) -> None:
    of = {"geometry.blocks": 60, "geometry.pages": 384, "ftl.over_provisioning": 0.3, "workload.bs": "64KiB"}
    settings = {**of, "workload.rw": "randrw", "workload.read_ratio": "30%"}
    given: dict[str, Any] = {"settings": settings, "requests": 6000, "precondition": "closed-form", "cache": tmp_path}
    found = ssdlab.curve("tlc", qd="4,32,256", **given)
    (line,) = found.lines
    assert found.mixed
    assert line.knee is line.points[1]
    assert line.bracket == (4, 256)
    alone = ssdlab.run("tlc", settings=settings, qd=256, requests=6600, warmup=600, precondition="closed-form")
    last = line.points[2]
    assert last.writes_ns is not None
    assert last.writes_ns["mean"][0] == alone.host.write.latency_ns.mean
    assert last.writes == alone.host.write.requests
    # The buffer is full: reads take hardly longer, and writes wait.
    assert found.verdict().startswith("tlc: at its knee (between 4 and 256) ")
    assert "; writes take up to" in found.verdict()
    assert "write p99" in str(found)
    assert not ssdlab.curve("tlc", qd="4,32,256", kind="read", **given).mixed
    assert not ssdlab.curve("tlc", settings=READS, qd="1", requests=200, cache=tmp_path).mixed


def test_lines_are_named_by_what_differs_and_rates_show_overload(tmp_path: Path) -> None:
    found = ssdlab.curve(
        "tlc",
        settings={**READS, "workload.bs": "16KiB"},
        rate="10k,100k",
        schemes=["baseline", "pnar2"],
        ages=["pec=1000,retention=12mo"],
        precondition="closed-form",
        requests=1000,
        cache=tmp_path,
    )
    assert [line.name for line in found.lines] == ["tlc, baseline", "tlc, pnar2"]
    baseline, pnar2 = ([point.latency_ns["mean"][0] or 0.0 for point in line.points] for line in found.lines)
    assert all(faster < slower for faster, slower in zip(pnar2, baseline, strict=True))
    assert [("overload" in point.warnings) for point in found.lines[0].points] == [False, True]


def test_ages_that_make_no_difference_are_told_and_why(tmp_path: Path) -> None:
    ages = ["pec=0", "pec=1000,retention=3mo"]
    told = {}
    for scheme in ("start=patrolled", "baseline"):
        found = ssdlab.curve("tlc", settings=READS, qd="1,8", requests=400, ages=ages, schemes=[scheme], cache=tmp_path)
        told[scheme] = found.verdict()
    assert "are alike at every load" in told["start=patrolled"]
    assert "--scheme baseline walks the vendor's retry table" in told["start=patrolled"]
    assert "alike" not in told["baseline"]
    assert "Most throughput over mean latency has tlc, pec=0." in told["baseline"]


def test_a_run_of_aged_data_counts_its_retries_and_says_why_they_are_few() -> None:
    options: dict[str, Any] = {"settings": READS, "requests": 400, "age": "pec=1000,retention=3mo"}
    patrolled, walked = str(ssdlab.run("tlc", **options)), str(ssdlab.run("tlc", scheme="baseline", **options))
    assert "data of before the run is 90d old, after 1000 P/E cycles" in " ".join(walked.split())
    assert "reads begin where its patrols have found (read.start)" in " ".join(patrolled.split())
    assert "(read.start)" not in walked
    new = {
        scheme: str(ssdlab.run("tlc", settings=READS, requests=400, scheme=scheme)) for scheme in (None, "pnar2", "rps")
    }
    assert "retries: none that pnar2 could avoid or shorten" in " ".join(new["pnar2"].split())
    assert "retries:" not in new[None] + new["rps"]


def test_cases_that_fail_stand_above_the_table_of_a_sweep(tmp_path: Path) -> None:
    run = {"device": "tlc", "requests": 100}
    found = ssdlab.sweep({"run": run, "axes": {"scheme": ["baseline", "tlcx"], "seed": [1, 2]}}, cache=tmp_path)
    shown = " ".join(str(found).split())
    assert shown.startswith("failed: 2 of 4 cases (the first: scheme tlcx, seed 1): ")
    assert "there is no scheme `tlcx`" in shown


def test_queue_depth_is_a_pace(tmp_path: Path) -> None:
    by_depth = ssdlab.run("tlc", settings=READS, qd=4, requests=200)
    assert by_depth.manifest.replay == "closed:4"
    with pytest.raises(ssdlab.InputError, match="qd is 4, and replay is 'timed'"):
        ssdlab.run("tlc", qd=4, replay="timed", requests=10)
    sweep = {"run": {**READS, "requests": 200}, "axes": {"qd": [1, 4]}, "statistics": ["host.all.iops"]}
    table = ssdlab.sweep(sweep, cache=tmp_path).table
    assert table["qd"].to_list() == [1, 4]
    assert table["qd"].dtype == polars.Int64
    assert table["host.all.iops"][1] == by_depth["host.all.iops"]


@pytest.mark.drawn
@pytest.mark.slow
def test_the_command_draws_and_refuses(tmp_path: Path) -> None:
    def ssdlab_curve(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(SSDLAB), "curve", *words]
        return subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)

    reads = ["--set", "workload.rw=randread", "--qd", "1..8", "--requests", "300"]
    done = ssdlab_curve("tlc", "qlc", *reads, "--plot", "curve.png", "--out", "curve.csv")
    assert done.returncode == 0, done.stderr
    # Of 300 requests three lie beyond p99.
    assert "~" in done.stdout
    assert "~ fewer than 10 requests lie beyond this percentile" in done.stdout
    assert done.stdout.startswith("tlc: ") or done.stdout.startswith("warning")
    first = (tmp_path / "curve.png").read_bytes()
    assert ssdlab_curve("tlc", "qlc", *reads, "--plot", "again.png").returncode == 0
    assert (tmp_path / "again.png").read_bytes() == first
    assert polars.read_csv(tmp_path / "curve.csv").height == 8
    for words, expected in [
        (["--qd", "1", "--rate", "10k"], "qd and rate are both given"),
        (["--qd", "0..4"], "expected depths from 1"),
        (["--rate", "fast"], "expected requests a second"),
        (["tlc", "tlc"], "tlc is named twice"),
        (["tlcc"], "did you mean `tlc`?"),
        (["--of", "reads", "--qd", "1"], "write read, write, all"),
    ]:
        refused = ssdlab_curve(*words)
        assert refused.returncode == 2, words
        assert expected in refused.stderr


def test_a_workload_that_paces_itself_grows_by_its_own_depth(tmp_path: Path) -> None:
    found = ssdlab.curve("tlc", "vector-search", qd="1,4", requests=2000, cache=tmp_path)
    assert not found.failed
    one, four = (point.iops[0] for point in found.lines[0].points)
    assert 3.5 * one < four < 4.1 * one


def test_where_no_case_can_be_played_the_reason_is_told(tmp_path: Path) -> None:
    with pytest.raises(ssdlab.InputError, match=r"no case could be played\n.*tlc qd 1: --replay"):
        ssdlab.curve("tlc", "kv-cache", qd="1", requests=100, cache=tmp_path)
