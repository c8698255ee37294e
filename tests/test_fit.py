"""Generators fitted to traces: known distributions are found again, and real traces' latencies."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest

from conftest import Cli
from ssdlab import InputError, trace
from ssdlab.runs.reproduce import Reproducer
from ssdlab.trace import fit
from ssdlab.trace.fit import classes
from test_shared_traces import FOLDER

pytest.importorskip("numpy")

KNOWN = """
[workload]
requests = 12000
[gap]
short = { quantiles = "2us:5us:10us" }
long = { quantiles = "1ms:20ms" }
[kind.scan]
bs = "64KiB"
zones = "0B:8GiB"
[kind.random]
bs = "4KiB/70:8KiB/30"
zones = "8GiB:9GiB:32GiB"
[kind.log]
rw = "write"
bs = "16KiB"
zones = "40GiB:41GiB"
[phase]
calm = { mix = "random.long.new/80:log.long.next/20", next = "calm/95:burst/5" }
burst = { mix = "scan.short.next/98:scan.short.new/2", next = "burst/98:calm/2" }
"""


SPAN_NS = {"5ms": 5_000_000, "2us": 2_000}


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fit") / "known.toml"
    path.write_text(KNOWN)
    return path


@pytest.mark.drawn
@pytest.mark.slow
def test_known_distributions_are_found_again(known: Path, tmp_path: Path) -> None:
    frame = trace.of_workload(known)
    found = fit.fit(frame, phases=8)
    assert found == fit.fit(frame, phases=8), "same trace and seed, same preset"
    assert found.text != fit.fit(frame, phases=8, seed=2).text
    path = tmp_path / "twin.toml"
    fit.write(found, path)
    rows = {row.name: row for row in fit.properties(frame, fit.twin_of(path, seed=3))}
    for name, within in (
        ("read ratio", 0.02),
        ("size of reads, mean", 0.06),
        ("size of writes, mean", 0.001),
        ("gap, p50", 0.10),
        ("sequential requests", 0.06),
        ("bytes in 100 us around a request", 0.15),
        ("bytes in 1 ms around a request", 0.25),
        ("bytes in 10 ms around a request", 0.25),
    ):
        assert abs(rows[name].ratio - 1) <= within, rows[name]
    # Bursts of 50 scans at a time: without phases 100 us would hold a request or two.
    assert rows["bytes in 1 ms around a request"].twin > 20 * 65536


@pytest.mark.slow
def test_a_preset_does_not_grow_with_the_trace(known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "BURSTS", 16)
    frame = trace.of_workload(known)
    whole, third = fit.fit(frame, phases=8).text, fit.fit(frame.head(4000), phases=8).text
    assert len(whole) < 1.6 * len(third)
    assert whole.count("requests = ") == 1 + 16


def test_what_has_no_bursts_or_is_all_one_is_fitted_request_by_request(tmp_path: Path) -> None:
    for gap in ("5ms", "2us"):
        path = tmp_path / f"{gap}.toml"
        path.write_text(f'[workload]\nrequests = 3000\narrivals = "fixed"\nrate_iops = {1e9 / SPAN_NS[gap]}\n')
        frame = trace.of_workload(path)
        found = fit.fit(frame, phases=4)
        assert "[burst]" not in found.text
        fit.write(found, tmp_path / "twin.toml")
        rows = {row.name: row for row in fit.properties(frame, fit.twin_of(tmp_path / "twin.toml"))}
        assert rows["requests a second"].ratio == pytest.approx(1, abs=0.01)


def test_a_latency_is_compared_where_there_are_enough_requests(known: Path) -> None:
    rows = fit.check([known], known, seeds=2, replays=["timed"])
    # Of the 12,000 requests some 700 are writes.
    assert [(row.op, row.metric) for row in rows] == [("read", "mean"), ("read", "p99")]
    # A workload is its own twin, but for the seeds.
    assert rows[0].agrees, rows
    assert rows[0].half_width_us is not None


RESIDUE = """
[workload]
requests = 4000
[gap]
one = { quantiles = "11us:13us" }
[kind.spread]
zones = "0B:30GiB"
[kind.strided]
zones = "3891200B:12GiB"
align = "4MiB"
[phase]
only = { mix = "spread.one.new/65:strided.one.new/35", next = "only/1" }
"""


@pytest.mark.slow
def test_what_is_missing_is_told(tmp_path: Path) -> None:
    # A third of the reads meet in the dies of one residue, which no preset knows.
    path = tmp_path / "residue.toml"
    path.write_text(RESIDUE)
    frame = trace.of_workload(path)
    frame = frame.with_columns(
        offset=polars.when(frame["offset"] % (4 << 20) == 0).then(frame["offset"] + 3891200).otherwise(frame["offset"])
    )
    lines = [f"{time} 0 {offset // 512} {size // 512} 1" for time, _, offset, size, *_ in frame.iter_rows()]
    (tmp_path / "t.txt").write_text("\n".join(lines) + "\n")
    fit.write(fit.fit(frame), tmp_path / "twin.toml")
    rows = fit.check(tmp_path / "t.txt", tmp_path / "twin.toml", seeds=2, replays=["timed"], format="mqsim")
    found = fit.missing(frame, rows, seeds=2)
    assert [row.what for row in found] == ["sizes and addresses"] * 2, found
    for each in found:
        assert each.gaps == pytest.approx(1, abs=0.1)
        assert each.addresses == pytest.approx(each.twin, rel=0.25)
    assert fit.missing(frame, [row._replace(twin_us=row.trace_us) for row in rows]) == []
    # Independent requests: the distributions determine all, so that a twin that differs has another order.
    path.write_text(RESIDUE.replace(":strided.one.new/35", ""))
    (row,) = (row for row in fit.check([path], path, seeds=1, replays=["timed"]) if row.metric == "mean")
    (told,) = fit.missing(trace.of_workload(path), [row._replace(twin_us=1.3 * row.trace_us)], seeds=2)
    assert told.what == "order"
    assert (told.gaps, told.addresses, told.in_order) == pytest.approx((1, 1, 1), abs=0.05)


@pytest.mark.drawn
def test_the_command_writes_a_preset_that_runs(known: Path, cli: Cli, tmp_path: Path) -> None:
    fit_lines = trace.of_workload(known).head(3000)
    lines = [
        f"{time // 100},h,0,{'Write' if op else 'Read'},{offset},{size},1"
        for time, op, offset, size, *_ in fit_lines.iter_rows()
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    done = cli("trace", "fit", "t.csv", "--out", "twin.toml", "--phases", 8, "--check", "--seeds", 2)
    # The exit status says whether the twin's latencies agree.
    assert done.returncode == ("all 4 latencies agree" not in done.stdout), done.stderr
    assert ("of 4 latencies differ" in done.stdout) == bool(done.returncode)
    assert done.stdout.startswith("t.csv: MSR CSV ("), "the first line says what the trace is read as"
    assert "bytes in 1 ms around a request" in done.stdout
    assert "timed:x10 read p99 [us]" in done.stdout
    assert "wrote twin.toml" in done.stdout
    before = {path.name for path in tmp_path.iterdir()}
    shown = cli("trace", "fit", "t.csv", "--phases", 8)
    assert shown.returncode == 0, shown.stderr
    assert " properties of the trace within 10 %" in " ".join(shown.stdout.split())
    assert "--out like.toml keeps the generator" in shown.stdout
    assert {path.name for path in tmp_path.iterdir()} == before, "nothing is written that was not asked for"
    ran = cli("run", "--workload", "twin.toml", "--json", "-", "--quiet")
    assert ran.returncode == 0, ran.stderr
    assert '"phase.p0"' in ran.stdout
    assert "read_ratio" not in ran.stdout, "keys without a meaning beside phases are not in the manifest"
    command = Reproducer((tmp_path,)).command_of(json.loads(ran.stdout)["manifest"])
    assert command.exact, command
    shown = cli("run", "--workload", "twin.toml", "--requests", 500, "--output-format", "fio")
    assert "workload: (groupid=0" in shown.stdout, shown.stderr
    shown = cli("run", "--workload", "twin.toml", "--requests", 500)
    assert "tlc: 8 phases, timed" in shown.stdout, shown.stderr
    for words, says in (
        (("t.csv", "--out", "twin.csv"), "is no workload file"),
        (("t.csv", "--out", "none/twin.toml"), "there is no folder none"),
        (("t.csv", "--device", "twin.toml", "--out", "twin.toml"), "is an input of this run"),
        (("missing.csv", "--out", "twin.toml"), "missing.csv"),
    ):
        done = cli("trace", "fit", *words)
        assert done.returncode == 2
        assert says in done.stderr
        assert "help: " in done.stderr


def test_what_cannot_be_fitted_is_refused_with_where_and_what_to_do(known: Path, tmp_path: Path) -> None:
    frame = trace.of_workload(known).head(200)
    late = polars.col("time_ns") + polars.when(polars.int_range(200) >= 150).then(10**18).otherwise(0)
    with pytest.raises(InputError, match=r"longest gap, ahead of request 151, 11,574 days(.|\n)*cut --requests 150`"):
        fit.fit(frame.with_columns(time_ns=late))
    with pytest.raises(InputError, match="--phases 5000: is more than 1024"):
        fit.fit(frame, phases=5000)
    # A name with quotes; one size, one place, one time.
    same = frame.with_columns(time_ns=polars.lit(0, polars.UInt64), offset=polars.lit(0, polars.UInt64))
    path = tmp_path / "twin.toml"
    fit.write(fit.fit(same, about='fitted to "a b".csv'), path)
    assert fit.twin_of(path).height == 200


def test_too_few_requests_are_refused(known: Path) -> None:
    with pytest.raises(InputError, match="give one of 100 or more"):
        fit.fit(trace.of_workload(known).head(99))


# Those of docs/fit.md whose latencies agree by a margin; the first two take longest.
AGREE = (
    pytest.param("msn_fs.ascii.gz", marks=pytest.mark.seldom),
    pytest.param("msr_web_0_head.csv.gz", marks=pytest.mark.seldom),
    "msr_web_3.csv.gz",
    "nexus5_movie.biotracer.gz",
    "websearch1.mqsim.gz",
)


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no traces in {FOLDER}; SSDLAB_TRACES names another folder")
@pytest.mark.parametrize("name", AGREE)
def test_latencies_of_shared_traces_agree(name: str, tmp_path: Path) -> None:
    path = tmp_path / "twin.toml"
    fit.write(fit.fit(trace.read(FOLDER / name)), path)
    # The device on which the procedure was chosen.
    rows = fit.check(FOLDER / name, path, device="tlc-page")
    assert rows
    assert all(row.agrees for row in rows), [row for row in rows if not row.agrees]
