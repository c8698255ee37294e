"""Results that were saved and are read again, the figures of runs, and where the time of the slow reads went."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import ssdlab
from conftest import Cli
from ssdlab.show import plot

RUN = ("--device", "hpca24", "--scheme", "rif", "--age", "pec=1000,retention=1mo", "--requests", "3000", "--seed", "5")


def test_a_saved_result_is_the_result(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("result.json", "series.parquet", "requests.parquet")}
    json_out, series, requests = files.values()
    age, faults = {"pec": 1000, "retention": "1mo"}, {"faults.blocks": 0.001}
    run = ssdlab.run(
        "hpca24", scheme="rif", age=age, settings=faults, requests=3000, json_out=json_out, series_out=series,
        requests_out=requests,
    )  # fmt: skip
    assert isinstance(run, ssdlab.Result)
    loaded = ssdlab.load(json_out, series=series, requests=requests)
    assert isinstance(loaded, ssdlab.Result)
    # What only drives with faults report is described too.
    assert loaded.statistics().equals(run.statistics())
    assert any(name.startswith("ftl.faults.") for name in loaded.statistics()["name"])
    assert loaded.to_json() == run.to_json() == json_out.read_text()
    assert loaded.series.equals(run.series)
    assert loaded.requests.equals(run.requests)
    assert loaded.process == run.process
    for kind in ("read", "write"):
        ours, theirs = run.latency_distribution(kind), loaded.latency_distribution(kind)
        assert theirs.height <= min(ours.height, 320)
        assert set(theirs.rows()) <= set(ours.rows())
        assert theirs.row(-1) == ours.row(-1)
    with pytest.raises(ssdlab.InputError, match="kept without its run"):
        loaded.explain()
    with pytest.raises(ssdlab.InputError, match="kept without its time series"):
        _ = ssdlab.load(json_out).series  # type: ignore[union-attr]


def test_saved_repeats_are_repeats(tmp_path: Path) -> None:
    runs = ssdlab.run(requests=1000, repeat=3, json_out=tmp_path / "runs.json")
    loaded = ssdlab.load(tmp_path / "runs.json")
    assert isinstance(loaded, ssdlab.Runs)
    assert isinstance(runs, ssdlab.Runs)
    assert loaded.summary().equals(runs.summary())
    assert loaded.to_json() == runs.to_json()
    with pytest.raises(ssdlab.InputError, match="holds repeats"):
        ssdlab.load(tmp_path / "runs.json", series="series.parquet")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not JSON"),
        ("[]", "holds no result"),
        ('{"manifest": {}, "host": {}}', "as a result it lacks 'device'"),
    ],
)
def test_what_is_no_result_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ssdlab.InputError, match=problem):
        ssdlab.load(tmp_path / "x.json")
    with pytest.raises(ssdlab.InputError, match="cannot be read: No such file"):
        ssdlab.load(tmp_path / "none.json")


def test_a_run_is_drawn(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", *RUN, "--plot", "run.png", "--json", "run.json").stdout.endswith("wrote run.png (figure)\n")
    assert cli("run", *RUN, "--plot", "again.png", "--quiet").stdout == ""
    assert (tmp_path / "run.png").read_bytes() == (tmp_path / "again.png").read_bytes()
    assert cli("run", *RUN, "--repeat", "2", "--plot", "two.svg", "--quiet").returncode == 0
    done = cli("run", *RUN, "--plot", "run.gif")
    assert (done.returncode, done.stderr.count("help: ")) == (2, 1)
    figure = plot.overview(ssdlab.load(tmp_path / "run.json"))
    assert figure.get_suptitle().startswith("hpca24, rif: ")
    # Saved without its time series: only the distributions.
    assert len(figure.axes) == 1
    curves = {line.get_label(): line for line in figure.axes[0].get_lines()}
    reads = next(line for label, line in curves.items() if str(label).startswith("reads ("))
    assert next(iter(reads.get_ydata())) == 0.0  # type: ignore[arg-type]


def test_the_stages_of_the_slow_reads_add_up_to_their_latency(cli: Cli) -> None:
    result = ssdlab.run(
        "hpca24", scheme="rif", age="pec=1000,retention=1mo", requests=3000, keep_requests=True, warmup=500
    )
    assert isinstance(result, ssdlab.Result)
    found = result.tail(99.0)
    log = result.requests
    reads = log.filter((log["op"] == 0) & (log["request"] >= 500))["latency_ns"].sort()
    slow = reads[math.ceil(0.99 * reads.len()) :]
    assert (found.reads, found.of_reads, found.threshold_ns) == (slow.len(), reads.len(), reads[-slow.len() - 1])
    assert found.mean_ns == pytest.approx(slow.mean())
    assert math.fsum(stage.share for stage in found.stages) == pytest.approx(1.0)
    assert math.fsum(stage.median_share for stage in found.stages) == pytest.approx(1.0)
    assert found.median_mean_ns == pytest.approx(reads.median(), rel=0.01)
    for stage in found.stages:
        assert not stage.die or math.fsum(stage.die.values()) == pytest.approx(stage.mean_ns)
    assert found.table().height == len(found.stages)
    text = cli("explain", *RUN, "--tail", "p99").stdout
    assert "their p99" in text
    shares = json.loads(cli("explain", *RUN, "--tail", "99", "--json").stdout)["stages"]
    assert math.fsum(stage["share"] for stage in shares) == pytest.approx(1.0)
    assert "leave out --slowest" in cli("explain", *RUN, "--tail", "p99", "--slowest", "3").stderr
    with pytest.raises(ssdlab.InputError, match="no read lies beyond"):
        ssdlab.run(requests=10).tail(99.9)
    with pytest.raises(ssdlab.InputError, match="from 50 to below 100"):
        result.tail(100.0)


def test_comparisons_show_percentiles_beside_means(cli: Cli, tmp_path: Path) -> None:
    sweep = '[run]\nrequests = 300\n[axes]\nscheme = ["user-first", "fifo"]\nseed = [1, 2]\n'
    (tmp_path / "sweep.toml").write_text(sweep)
    assert cli("sweep", "sweep.toml", "--out", "table.csv", "--quiet").returncode == 0
    # 300 requests do not fill a buffer.
    refused = cli("compare", "table.csv")
    assert refused.returncode == 2
    assert "every case carries a warning: not-steady" in refused.stderr
    done = cli("compare", "table.csv", "--plot", "bars.png", "--accept-warnings")
    latency = "host.read.latency_ns."
    told = [line.split(" over ")[0] for line in done.stdout.splitlines() if " over user-first's" in line]
    assert told == ["read latency, mean,", "read latency, p99,", "read latency, p99.9,"]
    table = ssdlab.sweep(tmp_path / "sweep.toml", cache=tmp_path / "results" / "cache").table
    figure = plot.bars(*(ssdlab.compare(table, f"{latency}{name}", accept_warnings=True) for name in ("mean", "p99")))
    assert [ax.get_ylabel().split("\n")[0] for ax in figure.axes] == ["read latency, mean", "read latency, p99"]


@pytest.mark.drawn
@pytest.mark.slow
def test_a_report_is_titled_by_its_runs(tmp_path: Path) -> None:
    pytest.importorskip("plotly", reason="needs the extra `report`")
    from ssdlab.show.report.contents import collect

    for name, options in (("a", {}), ("b", {"scheme": "fifo"})):
        ssdlab.run("tlc", requests=200, json_out=tmp_path / f"{name}.json", **options)  # type: ignore[call-overload]
        page, _ = collect(tmp_path)
        # The curve of the result itself, to where ten requests lie beyond.
        curve = page["runs"][0]["cdf"]["read"]
        assert curve["nines"] == sorted(curve["nines"])
        assert curve["requests"] * 10 ** -curve["nines"][-1] >= 9.99
        assert page["title"] == ("tlc: randrw 16KiB, timed" if name == "a" else "tlc; tlc, fifo: randrw 16KiB, timed")
