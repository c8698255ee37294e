"""Which requests of a log count: whatever reads a log has as many as the run itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from ssdlab.foreign import fio
from ssdlab.show.report.contents import collect

SMALL = {
    "geometry.channels": 1,
    "geometry.chips": 1,
    "geometry.blocks": 64,
    "geometry.pages": 96,
    "ftl.over_provisioning": 0.28,
    "workload.rw": "randrw",
}
FULL: dict[str, Any] = {"qd": 512, "precondition": "closed-form", "until_steady": "100ms", "settings": SMALL}
ARRAY = '[array]\nlayout = "mirror"\n[drive.a]\ndevice = "tlc"\ncount = 2\nsettings = ["{}"]\n'


@pytest.mark.parametrize(
    "words",
    [
        {"qd": 16, "requests": 600, "settings": SMALL},
        {"qd": 16, "requests": 600, "warmup": 200, "settings": SMALL},
        {"qd": 512, "precondition": "closed-form", "requests": 3000, "settings": SMALL},
        # Some requests end after the rounds; before them come those of a load that settles, and rounds in vain.
        FULL,
        {"qd": 512, "precondition": "write:1", "until_steady": "50ms", "warmup": 3000, "settings": SMALL},
        # The workload ends before a steady state was reached: all of it counts.
        {"qd": 64, "until_steady": "10s", "requests": 600, "warmup": 200, "settings": SMALL},
    ],
    ids=["plain", "warmup", "settled", "steady", "steady after a warmup", "not steady"],
)
def test_tails_fios_layouts_and_reports_have_the_requests_of_the_run(words: dict[str, Any], tmp_path: Path) -> None:
    result = ssdlab.run("tlc", **words, json_out=tmp_path / "r.json", requests_out=tmp_path / "r.requests.parquet")
    read = result.host.read
    tail = result.tail(99.0)
    assert tail.of_reads == read.requests
    assert tail.threshold_ns == pytest.approx(read.latency_ns.p99, rel=1e-3)
    (job,) = json.loads(fio.to_json([result]))["jobs"]
    for kind in ("read", "write"):
        assert job[kind]["total_ios"] == result.host[kind].requests
        assert job[kind]["io_bytes"] == result.host[kind].bytes
        assert job[kind]["clat_ns"]["mean"] == pytest.approx(result.host[kind].latency_ns.mean)
        assert job[kind]["iops"] == pytest.approx(result.host[kind].iops, rel=0.02)
    page, notes = collect(tmp_path)
    assert notes == []
    assert [run["cdf"]["read"]["requests"] for run in page["runs"]] == [read.requests]


def test_the_rounds_of_a_steady_state_say_when_they_were() -> None:
    result = ssdlab.run("tlc", **FULL, keep_requests=True)
    steady = result.host.steady
    assert steady.reached
    assert steady.from_ns is not None
    assert steady.to_ns is not None
    assert (steady.to_ns - steady.from_ns) / 1e9 == pytest.approx(result.host.elapsed_s) == 5 * steady.round_s
    log = result.requests
    assert (log["finish_ns"] > steady.to_ns).any(), "some requests were under way"
    log = log.filter((log["finish_ns"] > steady.from_ns) & (log["finish_ns"] <= steady.to_ns))
    assert log.height == result.host.all.requests
    slowest = log.sort("latency_ns", "request", descending=[True, False])["request"].to_list()
    assert [of.request for of in result.explain(slowest[1], slowest=3)] == [slowest[1], slowest[0], *slowest[2:4]]


def test_a_log_of_an_array_in_its_steady_state_is_cut_as_well(tmp_path: Path) -> None:
    settings = '", "'.join(f"{key}={value}" for key, value in SMALL.items() if not key.startswith("workload"))
    (tmp_path / "array.toml").write_text(ARRAY.format(settings))
    run = {**FULL, "settings": {"workload.rw": "randrw"}}
    result = ssdlab.run(array=tmp_path / "array.toml", **run, keep_requests=True)
    assert result.host.steady.reached
    assert result.tail(99.0).of_reads == result.host.read.requests < result.requests.filter(op=0).height


def test_a_kept_result_that_does_not_say_when_its_rounds_were_is_passed_over(tmp_path: Path) -> None:
    ssdlab.run("tlc", **FULL, json_out=tmp_path / "r.json", requests_out=tmp_path / "r.requests.parquet")
    kept = json.loads((tmp_path / "r.json").read_text())
    del kept["host"]["steady"]["from_ns"], kept["host"]["steady"]["to_ns"]
    (tmp_path / "r.json").write_text(json.dumps(kept))
    _, notes = collect(tmp_path)
    assert len(notes) == 1
    assert "does not say when its steady rounds began" in notes[0]


def test_requests_that_fail_count_as_others_do() -> None:
    old: dict[str, Any] = {"scheme": "baseline", "age": "pec=10000,retention=1y", "qd": 64}
    settings = {"workload.rw": "randread", "workload.bs": "64KiB"}
    result = ssdlab.run("asplos21", requests=600, warmup=300, settings=settings, **old)
    # All of them fail; up to 63 of the warm-up end behind it.
    assert result.host.uncorrectable == result.host.read.requests == 300
    assert result.host.until_uncorrectable == 0


def test_what_zones_refuse_of_the_warmup_does_not_count() -> None:
    # Some of the warm-up's requests end behind it.
    result = ssdlab.run("zns", requests=600, warmup=200, replay="closed:16", settings={"workload.rw": "randwrite"})
    assert (result.host.all.requests, result.to_dict()["zones"]["refused"]) == (0, 400)
