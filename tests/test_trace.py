"""Traces as tables: what is read, described, converted, cut and drawn."""

import json
from pathlib import Path

import polars
import pytest
from polars.testing import assert_frame_equal

import ssdlab
from conftest import Cli
from ssdlab import trace
from ssdlab.trace import fit

LINES = [
    # time [100 ns], disk, kind, offset, size
    (1000, 0, "Read", 0, 4096),
    (1010, 0, "Read", 4096, 8192),
    (1020, 0, "Write", 0, 4096),
    (1500, 1, "Read", 0, 4096),
    (2000, 0, "Read", 0, 4096),
]
TEXT = "".join(f"{time},h,{disk},{kind},{offset},{size},1\n" for time, disk, kind, offset, size in LINES)

FAR = """
[workload]
requests = 20
[gap]
g = { quantiles = "1us:2us" }
[kind.r]
rw = "read"
bs = "4KiB"
zones = "3072GiB:3073GiB"
[phase]
p = { mix = "r.g.new/1", stay = "1/1", next = "p/1" }
"""
"""A generator of addresses beyond the end of `tlc`."""


@pytest.fixture
def msr(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(TEXT)
    return path


def test_a_trace_is_a_table(msr: Path) -> None:
    frame = trace.read(msr)
    assert frame.columns == ["time_ns", "op", "offset", "bytes", "device", "hint"]
    assert frame.row(3) == (50_000, 0, 0, 4096, 1, 0)
    assert trace.read([msr, msr]).height == 10


def test_placement_hints_are_read_and_counted_where_a_format_drops_them(tmp_path: Path) -> None:
    path = tmp_path / "hints.csv"
    path.write_text("0,W,0,16384,1\n10,W,16384,16384,65538\n20,R,0,16384,0\n")
    declared = "csv:time=us,op=R/W,offset,size,hint"
    assert trace.read(path, format=declared)["hint"].to_list() == [1, 2, 0]
    for name, lost in (("out.csv", 2), ("out.mqsim", 2), ("out.iolog", 2)):
        assert trace.convert(path, tmp_path / name, format=declared).counts["hints_left_out"] == lost
    kept = trace.convert(path, tmp_path / "out.parquet", format=declared)
    assert "hints_left_out" not in kept.counts
    assert polars.read_parquet(tmp_path / "out.parquet")["hint"].to_list() == [1, 2, 0]
    played = ssdlab.run("tlc", path, format=declared, keep_requests=True).requests.sort("request")
    assert played["hint"].to_list() == [1, 2, 0]
    work = tmp_path / "work.toml"
    work.write_text('[workload]\nrequests = 4\nfootprint = "1MiB"\n[job.a]\nhint = 3\n[job.b]\noffset = "1MiB"\n')
    generated = trace.of_workload(work)
    assert set(generated.select("device", "hint").rows()) == {(0, 3), (1, 0)}


ZONED = [(index * 1000, op, 0, 4096, 0, 0) for index, op in enumerate([0] * 120 + [4] * 30 + [3] * 2 + [5, 12, 13])]
"""Reads, appends, flushes, and commands of zones and handles."""


def test_appends_are_writes_and_zone_commands_no_flushes() -> None:
    names = ["time_ns", "op", "offset", "bytes", "device", "hint"]
    frame = polars.DataFrame(ZONED, schema=names, orient="row")
    found = trace.info(frame)
    assert (found["reads"], found["writes"], found["flushes"], found["others"]) == (120, 30, 2, 3)
    assert (found["read_ratio"], found["bytes_written"], found["size_written"]["p50"]) == (0.8, 30 * 4096, 4096)
    assert found["footprint_written_bytes"] == 0
    left_out = "2 flushes, 30 appends and 3 zone commands and handle updates"
    with pytest.raises(ssdlab.InputError, match=f"0 reads, writes and trims beside {left_out}, which is too few"):
        fit.fit(frame.filter(polars.col("op") > 2))
    pytest.importorskip("sklearn")
    assert fit.fit(frame).notes == (f"{left_out} are left out",)


def test_info_counts_what_it_says(msr: Path) -> None:
    found = trace.info(trace.read(msr))
    assert (found["requests"], found["reads"], found["writes"], found["devices"]) == (5, 4, 1, 2)
    assert found["read_ratio"] == 0.8
    # Of four reads, two touch page 0 of disk 0, which is written.
    assert found["cold_read_ratio"] == pytest.approx(2 / 4)
    assert found["duration_s"] == pytest.approx(100e-6)
    assert found["footprint_bytes"] == 4 * 4096
    assert found["footprint_written_bytes"] == 4096
    assert found["sequential_ratio"] == pytest.approx(1 / 5)
    assert found["size_read"]["mean"] == 5120
    assert found["gap_ns"]["max"] == 50_000
    assert found["hot_20"] == pytest.approx(3 / 6)


@pytest.mark.parametrize("name", ["x.csv", "x.mqsim", "x.iolog", "x.parquet"])
def test_conversion_is_lossless_where_the_format_can_hold_it(msr: Path, tmp_path: Path, name: str) -> None:
    done = trace.convert(msr, tmp_path / name)
    assert done.counts["requests"] == 5
    assert done.counts.get("widened", 0) == done.counts.get("left_out", 0) == 0
    if name.endswith("parquet"):
        assert_frame_equal(polars.read_parquet(tmp_path / name), trace.read(msr))
    else:
        assert_frame_equal(trace.read(tmp_path / name), trace.read(msr))


def test_a_part_is_cut(msr: Path, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "part.csv"
    done = cli("trace", "cut", msr, out, "--from", "1us", "--until", "60us", "--device", "0")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"wrote {out}: 2 requests\n"
    assert trace.read(out)["time_ns"].to_list() == [0, 1000]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("info", "missing.csv"), "missing.csv"),
        (("convert", "t.csv", "t.csv"), "is an input"),
        (("convert", "t.csv", "x.foo"), "the ending tells no format"),
        (("convert", "t.csv", "x.csv", "--to", "mrs"), "expected one of"),
        (("cut", "t.csv", "x.csv"), "nothing is cut"),
        (("cut", "t.csv", "x.csv", "--range", "5B", "1B"), "is empty"),
        (("cut", "t.csv", "x.csv", "--from", "soon"), "--from soon"),
        (("cut", "t.csv", "x.csv", "--from", "2s", "--until", "1us"), "--from must be before --until"),
        (
            ("cut", "t.csv", "x.csv", "--from", "9s"),
            "no request lies in --from 9s\n  help: the 5 requests come from 0 s to 0.0001 s",
        ),
        (("cut", "t.csv", "x.csv", "--device", "7"), "no request lies in --device 7"),
        (("cut", "t.csv", "x.csv", "--range", "1TiB", "2TiB"), "no request lies in --range 1TiB 2TiB"),
    ],
)
def test_bad_words_are_answered_with_a_remedy(msr: Path, cli: Cli, words: tuple[str, ...], says: str) -> None:
    done = cli("trace", *words)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "\n  help: " in done.stderr
    assert not msr.with_name("x.csv").exists()


@pytest.mark.slow
def test_a_trace_is_drawn(msr: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = trace.plot(trace.read(msr), tmp_path / "t.png", "a trace")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_info_begins_with_what_a_trace_is_read_as_and_what_looks_wrong(tmp_path: Path, cli: Cli) -> None:
    """What looks wrong in which trace: crates/workload/tests/it/fields.rs."""
    lines = (f"{500 * n} 0 {24 * n} 8 1" for n in range(200))
    (tmp_path / "t.trace").write_text("\n".join(lines))
    first, second, *_ = cli("trace", "info", "t.trace").stdout.splitlines()
    assert first.startswith("t.trace: MQSim ASCII (time in ns, sectors of 512 B); the file does not tell its units")
    assert second.startswith("  looks wrong: 2010050 requests/s and 8.2 GB/s")
    done = cli("trace", "info", "t.trace", "--format", "mqsim:time=us", "--json")
    assert done.stderr == "t.trace: MQSim ASCII (time in us, sectors of 512 B), as --format says\n"
    assert json.loads(done.stdout)["read_as"][0]["doubts"] == []
    (found,) = trace.inspect(tmp_path / "t.trace")
    assert len(found.doubts) == 1


def test_a_generators_requests_are_a_trace_that_plays_alike(cli: Cli, tmp_path: Path) -> None:
    made = cli("trace", "generate", "asplos21/usr_1", "sample.mqsim", "--requests", "500")
    assert made.stdout == "wrote sample.mqsim: 500 requests\n"
    result, again = (
        ssdlab.run("asplos21", workload, requests=500) for workload in ("asplos21/usr_1", tmp_path / "sample.mqsim")
    )
    assert result.host == again.host
    frame = trace.of_workload("asplos21/usr_1", 500)
    assert trace.read(tmp_path / "sample.mqsim")["offset"].equals(frame["offset"])
    assert "the ending tells no format" in cli("trace", "generate", "default", "x.y").stderr


def test_trims_and_flushes_of_generators_are_kept_or_counted(cli: Cli, tmp_path: Path) -> None:
    small = tmp_path / "small.toml"
    small.write_text('[log_fs]\noperations = 2000\nrate = 5000\nfile_size = "64KiB"\nfootprint = "256MiB"\n')
    for workload, other in (("lsm", {2}), (small, {2, 3})):
        made = trace.of_workload(workload, 900)
        assert set(made.filter(polars.col("op") > 1)["op"]) == other
        kept = trace.generate(workload, tmp_path / "all.parquet", requests=900)
        assert kept.counts["requests"] == 900
        found = polars.read_parquet(tmp_path / "all.parquet")
        assert_frame_equal(found, made.with_columns(polars.col("time_ns") - made["time_ns"].min()))
        for name, most in (("x.csv", 1), ("x.mqsim", 1), ("x.iolog", 3)):
            beyond, held = made.filter(polars.col("op") > most), made.filter(polars.col("op") <= most)
            done = cli("trace", "generate", workload, name, "--requests", 900)
            assert done.returncode == 0, done.stderr
            counts = trace.generate(workload, tmp_path / name, requests=900).counts
            assert (counts["requests"], counts["left_out"]) == (900 - beyond.height, beyond.height)
            assert f"wrote {name}: {counts['requests']:,} requests" in done.stdout
            assert (f"{beyond.height:,} left out" in done.stdout) == (beyond.height > 0)
            found = trace.read(tmp_path / name)
            assert found["offset"].equals(held["offset"])
            assert found["op"].equals(held["op"])
    trims = '[workload]\nrw = "randtrim"\nrequests = 5\n'
    with pytest.raises(ssdlab.InputError, match="makes nothing that msr holds"):
        trace.generate(trims, tmp_path / "x.csv")


def test_what_is_generated_fits_the_drive_where_it_can(tmp_path: Path) -> None:
    trace.generate("default", tmp_path / "x.mqsim", requests=200)
    assert ssdlab.run("tlc", tmp_path / "x.mqsim").host.wrapped == 0
    # What lies beyond that drive stays where it is.
    far = tmp_path / "far.toml"
    far.write_text(FAR)
    assert trace.of_workload(far)["offset"].min() >= 3 << 40  # type: ignore[operator]


def test_a_part_that_holds_no_request_is_told_for_every_format(msr: Path, tmp_path: Path) -> None:
    for name in ("x.csv", "x.parquet"):
        with pytest.raises(ssdlab.InputError, match="no request lies in --device 77"):
            trace.convert(msr, tmp_path / name, device=77)
        assert not (tmp_path / name).exists()
