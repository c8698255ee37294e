"""Explanations from Python and the command line."""

import json
import math
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest

import ssdlab
from ssdlab.runs.explain import explain
from ssdlab.runs.options import options_of
from ssdlab.runs.tail import tail

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


@pytest.mark.slow
def test_requests_are_numbered_from_the_workloads_first() -> None:
    settings = {"geometry.blocks": 40, "geometry.pages": 48, "ftl.over_provisioning": 1.0}
    result = ssdlab.run("tlc", "default", requests=200, precondition="write:1", settings=settings, keep_requests=True)
    [of] = result.explain(199)
    row = result.requests.filter(request=199).row(0, named=True)
    assert (of.arrival_ns, of.finish_ns) == (row["arrival_ns"], row["finish_ns"])


@pytest.mark.slow
def test_the_slowest_are_of_what_was_measured() -> None:
    run: dict[str, Any] = {
        "settings": {"workload.rw": "randrw"},
        "qd": 32,
        "precondition": "closed-form",
        "requests": 500,
    }
    result = ssdlab.run("tlc", keep_requests=True, **run)
    settled = result["host.settled_requests"]
    measured = result.requests.filter(result.requests["request"] >= settled)
    assert settled > 0
    assert measured.height == 500
    latencies = measured["latency_ns"].sort(descending=True).to_list()
    assert [of.latency_ns for of in result.explain(slowest=5)] == latencies[:5]


def test_a_kept_result_cannot_be_explained(tmp_path: object) -> None:
    found = ssdlab.sweep({"run": {"requests": 50}, "axes": {"seed": [1]}}, cache=str(tmp_path), keep_results=True)
    [kept] = found.results.values()
    with pytest.raises(ssdlab.InputError, match="run it again"):
        kept.explain()


class Interrupting:
    """Progress that is interrupted, as by a signal, where this share is done of what begins with ``doing``."""

    def __init__(self, doing: str, share: float) -> None:
        self.doing, self.share, self.told = doing, share, list[str]()

    def __call__(self, doing: str, share: float | None) -> None:
        self.told.append(doing)
        assert share is not None
        assert 0.0 <= share <= 1.0
        if doing.startswith(self.doing) and share >= self.share:
            raise KeyboardInterrupt


def test_an_interrupted_explanation_is_of_the_requests_until_then() -> None:
    options = options_of({"device": "asplos21", "workload": "default", "requests": 20_000})
    with pytest.raises(ssdlab.Interrupted) as caught:
        explain(options, 2, (3, 19_999), Interrupting("explaining", 0.5))
    requests, warnings = caught.value.found
    assert warnings[0].id == "interrupted"
    completed = warnings[0].numbers["requests"]
    assert 9_500 < completed < 11_000
    assert len(requests) == 3
    assert max(of.request for of in requests) < completed + 64
    assert explain(options, 0, (3,)).requests == [of for of in requests if of.request == 3]


def test_an_interrupted_tail_is_of_the_reads_until_then() -> None:
    options = options_of({"device": "asplos21", "workload": "default", "requests": 20_000})
    whole = tail(options, 99.0)
    # While they are explained: those that have completed.
    with pytest.raises(ssdlab.Interrupted) as caught:
        tail(options, 99.0, Interrupting("explaining", 0.5))
    found = caught.value.found
    assert found.warnings[0].id == "interrupted"
    assert found[:4] == whole[:4]
    assert math.fsum(stage.share for stage in found.stages) == pytest.approx(1.0)
    assert found.mean_ns != whole.mean_ns
    # While they are looked for: no stages, and the latencies of the reads until there.
    interrupting = Interrupting("finding p99", 0.5)
    with pytest.raises(ssdlab.Interrupted) as caught:
        tail(options, 99.0, interrupting)
    found = caught.value.found
    assert found.warnings[0].id == "interrupted"
    assert found.stages == ()
    assert 0 < found.reads < found.of_reads < 10_000
    assert 1.0 < found.mean_ns / found.threshold_ns < 10.0
    assert f"{found.reads:,} of {found.of_reads:,} reads took longer" in str(found)
    assert interrupting.told[0].startswith("finding p99: ")
    # Before any read: nothing.
    with pytest.raises(ssdlab.Interrupted) as caught:
        tail(options.replace(warmup=15_000), 99.0, Interrupting("finding", 0.5))
    assert caught.value.found is None


def test_a_tail_of_writes_alone_is_refused() -> None:
    writes = options_of({"requests": 100, "settings": {"workload.rw": "randwrite"}})
    with pytest.raises(ssdlab.InputError, match=r"a tail is of reads\n.*--slowest N explains .* writes as well"):
        tail(writes, 99.0)


@pytest.mark.slow
def test_the_command_explains_the_slowest_and_those_asked_for() -> None:
    def call(*words: str) -> subprocess.CompletedProcess[str]:
        words = ("explain", *RUN, "--requests", "500", *words)
        return subprocess.run([sys.executable, "-m", "ssdlab", *words], capture_output=True, text=True, check=False)

    shown = call("--slowest", "2").stdout
    assert shown.count("took ") == 1 + 2 * 2
    assert "These 2 requests took " in shown
    assert "retries" in shown
    found = json.loads(call("--request", "4", "--json").stdout)
    assert [of["request"] for of in found] == [4]
    assert sum(s["to_ns"] - s["from_ns"] for s in found[0]["stages"]) == found[0]["finish_ns"] - found[0]["arrival_ns"]
    none = call("--slowest", "0")
    assert none.returncode == 2
    assert "--slowest': 0 is not accepted: write a whole number, 1 or more" in none.stderr
    missing = call("--request", "500")
    assert missing.returncode == 2
    assert "request 500" in missing.stderr
