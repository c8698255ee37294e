"""Explanations from Python and the command line."""

import json
import subprocess
import sys
from itertools import pairwise

import pytest

import ssdlab

RUN = ["--device", "asplos21", "--workload", "asplos21/hm_0", "--scheme", "pnar2", "--age", "pec=1000,retention=3mo"]


def test_a_result_explains_its_requests() -> None:
    result = ssdlab.run(
        "asplos21",
        "asplos21/hm_0",
        scheme="pnar2",
        age="pec=1000,retention=3mo",
        requests=3000,
        keep_requests=True,
    )
    slowest = result.explain(slowest=5)
    latencies = result.requests["latency_ns"].sort(descending=True).to_list()
    assert [of.latency_ns for of in slowest] == latencies[:5]
    for of in slowest:
        assert sum(stage.took_ns for stage in of.stages) == of.latency_ns
        assert of.table()["took_ns"].sum() == of.latency_ns
        assert of.op == "read"
        assert of.retries >= 8
        assert "sense" in str(of)
        # The part that arrived last is one of the request's.
        until_decoded = tuple(stage for stage in of.stages if stage.what != "send")
        assert until_decoded in of.parts
        for part in of.parts:
            assert part[0].from_ns == of.arrival_ns
            assert all(before.to_ns == after.from_ns for before, after in pairwise(part))
            assert part[-1].what == "decode"
            assert part[-1].to_ns <= of.finish_ns
    [first, second] = result.explain(7, 3)
    assert (first.request, second.request) == (7, 3)
    row = result.requests.filter(request=7).row(0, named=True)
    assert (first.arrival_ns, first.finish_ns) == (row["arrival_ns"], row["finish_ns"])


def test_requests_are_numbered_from_the_workloads_first() -> None:
    settings = {"geometry.blocks": 40, "geometry.pages": 48, "ftl.over_provisioning": 1.0}
    result = ssdlab.run("tlc", "default", requests=200, precondition="write:1", settings=settings, keep_requests=True)
    [of] = result.explain(199)
    row = result.requests.filter(request=199).row(0, named=True)
    assert (of.arrival_ns, of.finish_ns) == (row["arrival_ns"], row["finish_ns"])


def test_a_kept_result_cannot_be_explained(tmp_path: object) -> None:
    found = ssdlab.sweep({"run": {"requests": 50}, "axes": {"seed": [1]}}, cache=str(tmp_path), keep_results=True)
    [kept] = found.results.values()
    with pytest.raises(ssdlab.InputError, match="run it again"):
        kept.explain()


@pytest.mark.slow
def test_the_command_explains_the_slowest_and_those_asked_for() -> None:
    def call(*words: str) -> subprocess.CompletedProcess[str]:
        words = ("explain", *RUN, "--requests", "500", *words)
        return subprocess.run([sys.executable, "-m", "ssdlab", *words], capture_output=True, text=True, check=False)

    shown = call("--slowest", "2").stdout
    assert shown.count("took ") == 2 * 2
    assert "retries" in shown
    found = json.loads(call("--request", "4", "--json").stdout)
    assert [of["request"] for of in found] == [4]
    assert sum(s["to_ns"] - s["from_ns"] for s in found[0]["stages"]) == found[0]["finish_ns"] - found[0]["arrival_ns"]
    missing = call("--request", "500")
    assert missing.returncode == 2
    assert "request 500" in missing.stderr
