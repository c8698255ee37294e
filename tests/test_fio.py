"""fio's job files: what their options become, that they run, and that results come out in fio's layouts."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

import ssdlab
from conftest import Cli
from ssdlab.foreign import fio
from ssdlab.foreign.fio.generator import UNTIL_STOPPED
from ssdlab.foreign.fio.numbers import LAST_BIN, bin_of
from ssdlab.foreign.options import ForeignOption, table
from ssdlab.runs.result import Result
from ssdlab.show.report.contents import collect

Load = Callable[..., fio.JobFile]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a job file of this text."""

    def call(text: str, *sections: str, **words: Any) -> fio.JobFile:
        path = tmp_path / "jobs.fio"
        path.write_text(text)
        return fio.load(path, sections, **words)

    return call


def jobs(imported: fio.JobFile, part: int = 0) -> dict[str, dict[str, Any]]:
    document = imported.parts[part].workload
    assert document is not None
    found: dict[str, dict[str, Any]] = document["job"]
    return found


def one(load: Load, *lines: str) -> dict[str, Any]:
    """The only job of a file with these options."""
    (found,) = jobs(load("[a]\n" + "\n".join(lines))).values()
    return found


def run(imported: fio.JobFile, **words: Any) -> list[Result]:
    results = [part.run(keep_requests=True, **words) for part in imported.parts]
    assert all(isinstance(result, Result) for result in results)
    return results


CAPACITY = 1_083_776_790_528
"""Of the device `tlc` [B]."""


def test_globals_sections_comments_and_includes(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "more.inc").write_text("bs=16k\n")
    monkeypatch.setenv("DEPTH", "7")
    imported = load(
        "; of fio\n[global]\nioengine=libaio\niodepth = ${DEPTH} # inline\nsize=1g\n\n[a b]\nrw=randread\n"
        "[global]\nrw=write ; for those behind\n[c]\ninclude more.inc\n[c]\nname=other\n"
        "readwrite=randrw\nrwmixread=80\n"
    )
    found = jobs(imported)
    assert list(found) == ["a_b", "c", "other"]
    assert [(job["rw"], job["bs"], job["iodepth"]) for job in found.values()] == [
        ("randread", "4096B", 7), ("write", "16384B", 7), ("randrw", "4096B", 7),
    ]  # fmt: skip
    assert found["other"]["read_ratio"] == 0.8
    # Files without a name lie one behind another.
    assert [job["offset"] for job in found.values()] == ["0B", "1073741824B", "2147483648B"]
    assert {job["footprint"] for job in found.values()} == {"1073741824B"}
    assert imported.options == {"ioengine": "libaio", "iodepth": "7", "size": "1g", "rw": "write"}
    assert [job.name for job in imported.jobs[0]] == ["a b", "c", "other"]


def test_a_variable_that_is_not_set_is_empty(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOWHERE", raising=False)
    imported = load("[global]\nbs=${NOWHERE}8k\ndirectory=${NOWHERE}\n[a]\nsize=1m\n[b]\nbs=16k\nsize=1m\n")
    assert [job["bs"] for job in jobs(imported).values()] == ["8192B", "16384B"]
    (line,) = [line for line in imported.notes if "not set in the environment" in line]
    assert line.endswith("so empty, as in fio: ${NOWHERE} (bs), ${NOWHERE} (directory)")


@pytest.mark.parametrize("engine", ["cpuio", "exec", "net", "filestat", "filecreate", "filedelete"])
def test_a_job_whose_engine_does_no_io_is_left_out(load: Load, engine: str) -> None:
    burner = f"ioengine={engine}\nnumjobs=200\nsize=2t\ncpuload=50\n"
    imported = load(
        f"[a]\nsize=1g\n[burn]\n{burner}[b]\nsize=1g\nnumjobs=200\n[wall]\nstonewall\n{burner}[c]\nsize=1g\n"
    )
    alone = load("[a]\nsize=1g\n[b]\nsize=1g\nnumjobs=200\n[c]\nstonewall\nsize=1g\n")
    assert [part.workload for part in imported.parts] == [part.workload for part in alone.parts]
    assert [next(iter(jobs(imported, part))) for part in (0, 1)] == ["a", "c"]
    (line,) = [line for line in imported.notes if "left out" in line]
    assert line.endswith(f"does no I/O on a drive: [burn] (ioengine={engine}), [wall] (ioengine={engine})")
    assert not any("cpuload" in line for line in imported.notes)
    with pytest.raises(ssdlab.InputError, match=r"jobs.fio:2: \[burn\] ioengine: no job does I/O"):
        load(f"[burn]\n{burner}")


def test_sections_are_chosen(load: Load) -> None:
    text = "[a]\nrw=read\n[b]\nstonewall\nrw=write\n[c]\nrw=trim\n"
    assert [list(jobs(load(text), part)) for part in (0, 1)] == [["a"], ["b", "c"]]
    assert list(jobs(load(text, "c", "a"))) == ["a", "c"]
    with pytest.raises(ssdlab.InputError, match="holds no job `d`"):
        load(text, "d")


# What fio 3.33 makes of them.
@pytest.mark.parametrize(
    ("base", "sizes"),
    [
        (1024, {"4k": 4096, "4kb": 4096, "4ki": 4096, "4kib": 4000, "1m": 1 << 20, "1mib": 10**6, "512": 512}),
        (1000, {"4k": 4000, "4kb": 4000, "4ki": 4000, "4kib": 4096, "1m": 10**6, "1mib": 1 << 20, "0x200": 512}),
    ],
)
def test_units_are_fios(load: Load, base: int, sizes: dict[str, int]) -> None:
    for word, size in sizes.items():
        assert one(load, f"kb_base={base}", "size=100m", f"bs={word}")["bs"] == f"{size}B"
    assert one(load, f"kb_base={base}", "size=100m")["bs"] == "4096B"


def test_times_are_fios(load: Load) -> None:
    for word, ns in {"3": 3e9, "3s": 3e9, "200ms": 2e8, "2m": 12e10, "1h": 36e11}.items():
        assert load(f"[a]\nruntime={word}").parts[0].options["duration"] == f"{int(ns)}ns"
    assert one(load, "thinktime=50")["thinktime"] == "50000ns"
    assert load("[a]\nruntime=3\nramp_time=1").parts[0].options["duration"] == "4000000000ns"


def test_sizes_of_requests(load: Load) -> None:
    assert one(load, "bssplit=4k/60:64k/40")["bs"] == "4096B/60:65536B/40"
    assert one(load, "bssplit=4k/50:8k/:16k/")["bs"] == "4096B/50:8192B/25:16384B/25"
    assert one(load, "bsrange=4k-16k")["bs"] == "4096B/1:8192B/1:12288B/1:16384B/1"
    assert one(load, "rw=randwrite", "bs=4k,8k")["bs"] == "8192B"
    assert one(load, "bs=8k", "ba=512")["align"] == "512B"
    imported = load("[a]\nrw=randrw\nbs=4k,64k")
    assert jobs(imported)["a"]["bs"] == "4096B"
    assert any("bs=4k,64k: one for both" in line for line in imported.notes)


def test_addresses_and_amounts(load: Load) -> None:
    whole = one(load, "filename=/dev/nvme0n1", "offset=25%", "size=50%")
    assert whole["offset"] == f"{CAPACITY // 4}B"
    assert whole["footprint"] == f"{CAPACITY // 2}B"
    assert one(load)["footprint"] == f"{CAPACITY}B"
    for lines, requests in (
        (("size=1m",), 256), (("size=1m", "io_size=4m"), 1024), (("size=1m", "loops=3"), 768),
        (("size=1m", "number_ios=5"), 5), (("size=1m", "bssplit=4k/50:12k/50"), 128),
        (("size=1m", "time_based", "runtime=1"), UNTIL_STOPPED), (("size=1m", "time_based"), 256),
        # What fio 3.33 issues.
        (("size=1m", "number_ios=1000"), 256), (("size=1m", "number_ios=100", "loops=3"), 300),
        (("size=1m", "number_ios=600", "loops=3"), 768), (("size=1m", "number_ios=1000", "io_size=4m"), 1000),
        (("size=1m", "io_size=2m", "loops=3"), 768), (("size=1m", "io_size=5m", "loops=3"), 1280),
        (("size=1m", "io_size=512k", "loops=3"), 384), (("size=1m", "io_size=3584k", "loops=3"), 1024),
        (("size=1m", "io_size=3584k"), 896), (("size=1m", "io_size=50%"), 128),
        (("size=9m", "number_ios=100", "ramp_time=2", "rate_iops=100"), 300),
    ):  # fmt: skip
        assert one(load, *lines)["requests"] == requests
    clones = jobs(load("[a]\nfilename=/dev/x\nnumjobs=3\nsize=1g\noffset_increment=2g\n[b]\nfilename=/dev/x"))
    assert [clones[f"a-{n}"]["offset"] for n in (1, 2, 3)] == ["0B", f"{2 << 30}B", f"{4 << 30}B"]
    shared = jobs(load("[global]\nsize=1g\nfilename=f\n[a]\nnumjobs=2\noffset_increment=1g\n[b]\nfilename=g\n[c]"))
    assert [job["offset"] for job in shared.values()] == ["0B", f"{1 << 30}B", f"{2 << 30}B", "0B"]
    part = jobs(load("[a]\nfilename=f\nsize=1g\n[b]\nfilename=f\noffset=256m"))["b"]
    assert (part["offset"], part["footprint"]) == (f"{256 << 20}B", f"{768 << 20}B")


def test_rates(load: Load) -> None:
    assert one(load, "rate_iops=500", "rw=randread")["rate_iops"] == 500
    assert one(load, "rate_iops=500,300", "rw=randwrite")["rate_iops"] == 300
    for words, rate, ratio in (
        # Each direction has its rate, and the rates decide the mix.
        (("rate_iops=500,300",), 800, 0.625), (("rate_iops=100", "rwmixread=90"), 200, 0.5),
        (("rate=4m,12m", "rwmixread=90"), 4096, 0.25), (("rate_iops=100,50", "rwmixread=100"), 100, 1),
        (("rate_iops=100,50", "rwmixread=0"), 50, 0), (("rate_iops=0", "rwmixread=90"), "none", 0.9),
    ):  # fmt: skip
        job = one(load, "rw=randrw", *words)
        assert (job["rate_iops"], job["read_ratio"]) == (rate, ratio)
    assert one(load, "rate=4m", "bs=4k")["rate_iops"] == 1024
    assert one(load, "rate_iops=500")["arrivals"] == "fixed"
    assert one(load, "rate_iops=500", "rate_process=poisson")["arrivals"] == "poisson"
    imported = load(
        "[a]\nioengine=libaio\niodepth=64\nrw=randread\nrate_iops=2000\nrate_process=poisson\nsize=1g\nruntime=1"
    )
    gaps = run(imported)[0].requests.sort("request")["arrival_ns"].diff().drop_nulls()
    assert gaps.mean() == pytest.approx(500_000, rel=0.1)
    assert gaps.std() == pytest.approx(500_000, rel=0.1)


def test_a_synchronous_engine_has_one_request_under_way(load: Load) -> None:
    imported = load("[a]\nrw=randread\niodepth=32\nsize=1g")
    assert jobs(imported)["a"]["iodepth"] == 1
    assert any("ioengine=psync is synchronous" in line for line in imported.notes)
    assert jobs(load("[a]\nioengine=io_uring\niodepth=32"))["a"]["iodepth"] == 32


def test_distributions(load: Load) -> None:
    for word, ours in {
        "random": "random-once", "zipf": "zipf:1.1", "zipf:0.9": "zipf:0.9", "pareto": "pareto:0.2",
        "normal:9": "normal:9",
        "zoned:60/10:30/20:10/70": "zoned:60/10:30/20:10/70", "zoned:50/5:30/15:20/": "zoned:50/5:30/15:20/80",
    }.items():  # fmt: skip
        assert one(load, "rw=randread", f"random_distribution={word}")["random_distribution"] == ours


def test_without_a_map_random_blocks_are_drawn_with_replacement(load: Load) -> None:
    assert one(load, "rw=randwrite", "norandommap")["random_distribution"] == "random"
    imported = load("[a]\nrw=randread\nbssplit=4k/50:8k/50")
    assert jobs(imported)["a"]["random_distribution"] == "random"
    assert any("several sizes" in line for line in imported.notes)


def test_placement_identifiers_are_hints(load: Load) -> None:
    assert one(load, "rw=write", "fdp=1", "fdp_pli=2")["hint"] == 2
    assert one(load, "rw=write", "dataplacement=streams", "plids=3")["hint"] == 3
    assert "hint" not in one(load, "rw=write", "plids=3")
    imported = load("[a]\nrw=write\ndataplacement=fdp\nplids=1,2")
    assert jobs(imported)["a"]["hint"] == 1
    assert any("the first alone" in line for line in imported.notes)
    assert any("no effect: plids=1: the drive has 0 placement handles" in line for line in imported.notes)


# For every option that means something a value other than the default, and what else it needs.
CHANGES = {
    "rw": "randwrite", "rwmixread": "20", "rwmixwrite": "20", "bs": "8k", "bsrange": "4k-8k", "bssplit": "4k/50:8k/50",
    "blockalign": "8k", "size": "2g", "filesize": "2g", "io_size": "1m", "number_ios": "5", "loops": "2",
    "offset": "1m", "offset_increment": "1m", "filename": "/dev/x", "directory": "d", "numjobs": "3", "iodepth": "3",
    "ioengine": "psync", "rate_iops": "10", "rate": "10k", "rate_process": "poisson", "rate_poisson": "1",
    "thinktime": "5", "random_distribution": "zipf:0.9", "runtime": "2", "time_based": "1", "ramp_time": "1",
    "randseed": "5", "read_iolog": "x.log", "stonewall": "1", "new_group": "1", "group_reporting": "1",
    "percentile_list": "50:90", "description": "x", "name": "other", "kb_base": "1000",
    "zonemode": "zbd", "zonesize": "128m", "zonecapacity": "32m", "max_open_zones": "2",
    "norandommap": "1", "fdp": "1", "dataplacement": "streams", "plids": "2",
}  # fmt: skip


ZONES: dict[str, str | None] = {"zonemode": "zbd", "zonesize": "64m"}


@pytest.mark.parametrize("key", fio.SUPPORTED, ids=lambda key: key.name)
def test_an_option_that_is_taken_has_an_effect(load: Load, tmp_path: Path, key: ForeignOption) -> None:
    (tmp_path / "x.log").write_text("fio version 2 iolog\nf add\nf open\nf read 0 4096\nf close\n")
    base = {"rw": "randrw", "bs": "4k", "ioengine": "libaio", "iodepth": "4", "numjobs": "2", "filename": "f"}
    beside: dict[str, dict[str, str | None]] = {
        "directory": {"filename": "f"},
        "filesize": {"size": None},
        "offset_increment": {"filename": "/dev/x"},
        "filename": {"filename": "g"},
        "rate_process": {"rate_iops": "10"},
        "rate_poisson": {"rate_iops": "10"},
        "time_based": {"runtime": "1"},
        "ramp_time": {"runtime": "1"},
        "read_iolog": {"numjobs": "1"},
        "zonemode": {"zonesize": "64m"},
        **dict.fromkeys(("zonesize", "zonecapacity", "max_open_zones"), ZONES),
        "plids": {"dataplacement": "fdp"},
    }
    texts = []
    for change in ({}, {key.name: CHANGES[key.name]}):
        options = {"size": "1g", **base, **beside.get(key.name, {}), **change}
        own = "".join(f"{name}={value}\n" for name, value in options.items() if value is not None)
        before = f"[first]\nsize=1g\nfilename=f\nruntime={options.get('runtime', 3)}\n"
        imported = load(f"{'' if key.name == 'read_iolog' else before}[a]\n{own}")
        parts = [(part.name, part.workload, part.trace, dict(part.options)) for part in imported.parts]
        # What has no key here decides how results are told.
        texts.append(repr(parts if key.ours else imported.jobs))
    assert texts[0] != texts[1]
    names = {"iodepth", "rate_iops", "requests", "footprint", "offset", "thinktime", "arrivals", "read_ratio", "bs"}
    for ours in key.ours.split(", "):
        if ours in names:
            assert ("workload", ours) in {(known.section, known.key) for known in ssdlab.schema()}


def test_options_without_effect_change_nothing(load: Load) -> None:
    base = "[a]\nrw=randread\nsize=1g\nruntime=1\nioengine=libaio\niodepth=4\n"
    plain = load(base)
    for key in fio.WITHOUT_EFFECT:
        imported = load(f"{base}{key.name}=1\n")
        assert (imported.parts[0].workload, imported.parts[0].options) == (
            plain.parts[0].workload,
            plain.parts[0].options,
        )
        assert any(f"no effect: ioengine=libaio, {key.name}" in line or key.name in line for line in imported.notes)


def test_what_has_no_counterpart_is_named(load: Load) -> None:
    text = "\n".join(load("[a]\nrw=randread:8\nverify=crc32c\niodeptth=4\ndirect=1\nsize=1g").notes)
    for words in ("ignored: verify", "iodeptth (did you mean `iodepth`?)", "rw=randread:8", "no effect: direct"):
        assert words in text
    assert "jobs.fio: " in text
    text = "\n".join(load("[a]\nexitall\ncreate_only=1\ntime_based\nnumber_ios=5\nramp_time=1\n[b]\nsize=1g").notes)
    for words in ("ignored: exitall, create_only", "time_based: has no runtime", "number_ios: counts from",
                  "[a] has no size: its file is the whole drive"):  # fmt: skip
        assert words in text


def test_a_byte_order_mark_is_no_option(load: Load) -> None:
    assert list(jobs(load("\ufeff[a]\nrw=read\n"))) == ["a"]


def test_a_longer_duration_than_the_files_is_played_whole(load: Load) -> None:
    (result,) = run(load("[a]\nrw=randread\nsize=64m\nrate_iops=1000\ntime_based\nruntime=1\n"), duration="5s")
    assert result.requests.height == pytest.approx(5000, abs=1)


def test_requests_that_let_a_load_settle_are_not_measured(tmp_path: Path) -> None:
    result = ssdlab.run(
        "tlc",
        precondition="closed-form",
        qd=32,
        settings={"workload.rw": "randrw"},
        requests=2000,
        json_out=tmp_path / "r.json",
        requests_out=tmp_path / "r.requests.parquet",
    )
    assert result.host.settled_requests > 0
    assert result.log_rows == 2000 + result.host.settled_requests
    (job,) = json.loads(fio.to_json([result]))["jobs"]
    read = result.host.read
    assert job["read"]["total_ios"] == read.requests
    assert job["read"]["iops"] == pytest.approx(read.iops)
    assert job["read"]["clat_ns"]["mean"] == pytest.approx(read.latency_ns.mean)
    assert result.tail(99.0).of_reads == read.requests
    page, notes = collect(tmp_path)
    assert notes == []
    assert [run["cdf"]["read"]["requests"] for run in page["runs"]] == [read.requests]


def test_layouts_without_a_job_file(load: Load) -> None:
    results = [ssdlab.run(requests=500, warmup=100 * n, seed=n + 1, keep_requests=True) for n in (0, 1)]
    data = json.loads(fio.to_json(results))
    assert {job["groupid"] for job in data["jobs"]} == {0, 1}
    for group, (result, total) in enumerate(zip(results, (500, 400), strict=True)):
        mine = [job for job in data["jobs"] if job["groupid"] == group]
        assert sum(job[way]["total_ios"] for job in mine for way in ("read", "write")) == total
        (read,) = [job["read"] for job in mine]
        assert read["clat_ns"]["mean"] == pytest.approx(result.host.read.latency_ns.mean)
        assert read["iops"] == pytest.approx(result.host.read.iops, rel=0.02)
    imported = load(MIXED)
    for layout in (fio.to_json, fio.to_text):
        with pytest.raises(ssdlab.InputError, match="0 of 2 runs"):
            layout([], imported)
        with pytest.raises(ssdlab.InputError, match="0 of 1 runs"):
            layout([])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a]\nbs=4q\n", ("jobs.fio:2", "[a] bs", '"4q"', "4k")),
        ("[a]\nrw=trimwrite\n", ("jobs.fio:2", "randread")),
        ("[a]\niodepth=0\n", ("iodepth", "1 or more")),
        ("[a]\nrw=randrw\nrate_iops=,50\n", ("jobs.fio:3", "two jobs")),
        ("[a]\nrate_iops=50\nrate=1m\n", ("jobs.fio:3", "beside rate_iops")),
        ("[a]\nbssplit=4k/-5:8k/105\n", ("jobs.fio:2", "bssplit")),
        ("[a]\nbssplit=4k/nan\n", ("jobs.fio:2", "bssplit")),
        ("[a]\npercentile_list=0:50\n", ("jobs.fio:2", "above 0")),
        ("[a]\npercentile_list=nan\n", ("jobs.fio:2", "above 0")),
        ("[a]\npercentile_list=50:inf\n", ("jobs.fio:2", "above 0")),
        (f"[a]\nsize={'9' * 400}\n", ("jobs.fio:2", "[a] size", "4096p")),
        (f"[a]\nsize=0x{'f' * 400}\n", ("jobs.fio:2", "[a] size", "4096p")),
        (f"[a]\nthinktime={'9' * 400}\n", ("jobs.fio:2", "thinktime", "three years")),
        ("[a]\nruntime=99999999999999\n", ("jobs.fio:2", "runtime", "three years")),
        ("[a]\nsize=-5%\n", ("jobs.fio:2", "[a] size", "20%")),
        ("[a]\nsize=1g\nbs=512\nloops=999999999999\nio_size=4000p\n", ("jobs.fio:4", "loops", "requests")),
        ("[a]\ninclude nofile\n", ("jobs.fio:2", "nofile", "no such file")),
        ("[a]\nnumjobs=100\n[b]\nnumjobs=999999999\n", ("jobs.fio:4", "numjobs", "at most 256")),
        ("[a]\nsize=2t\n", ("size", "more than the drive's")),
        ("[a]\nfilename=/dev/x\noffset=2t\n", ("offset", "no room")),
        ("[a]\nrw=randread\nrandom_distribution=best\n", ("random_distribution", "zipf")),
        ("[a]\ndataplacement=zones\n", ("dataplacement", "fdp or streams")),
        ("[a]\nfdp=1\nfdp_pli=second\n", ("jobs.fio:3", "plids", "such as 1")),
        ("[a]\nruntime=soon\n", ("runtime", "30s")),
        ("[a]\nsize=${NOWHERE}\n", ("jobs.fio:2", "${NOWHERE}", "export")),
        ("[a]\ninclude jobs.fio\n", ("jobs.fio:2", "includes itself")),
        ("bs=4k\n", ("jobs.fio:1", "before any section")),
        ("[a\n", ("jobs.fio:1", "[NAME]")),
        ("[global]\nbs=4k\n", ("jobs.fio", "holds no job")),
        ("[a]\nread_iolog=nowhere\n", ("read_iolog", "no such file")),
        ("[a]\ndirect=perhaps\ngroup_reporting=perhaps\n", ("group_reporting", "0 or 1")),
    ],
)
def test_errors_name_file_line_and_option(load: Load, text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(ssdlab.InputError) as caught:
        load(text)
    for word in (*words, "help:"):
        assert word in str(caught.value)


def test_errors_of_the_run_name_the_users_option(load: Load) -> None:
    with pytest.raises(ssdlab.InputError, match=r"jobs.fio:4: \[a\] bs: job.a.bs") as caught:
        load("[a]\nfilename=f\nsize=4k\nbs=8k").parts[0].run()
    assert "/ssdlab-" not in str(caught.value)


MIXED = """[global]
ioengine=libaio
iodepth=8
size=1g
number_ios=6000
bs=4k
[reader]
rw=randrw
rwmixread=75
numjobs=2
group_reporting
[writer]
stonewall
rw=randwrite
bs=16k
"""


def test_the_json_says_what_the_run_measured(load: Load) -> None:
    imported = load(MIXED)
    results = run(imported)
    data = json.loads(fio.to_json(results, imported))
    assert data["fio version"].startswith("fio-3.")
    assert [(job["jobname"], job["groupid"]) for job in data["jobs"]] == [("reader", 0), ("writer", 1)]
    assert data["global options"]["iodepth"] == "8"
    assert data["jobs"][0]["job options"]["rwmixread"] == "75"
    for job, result in zip(data["jobs"], results, strict=True):
        for direction, host in (("read", result.host.read), ("write", result.host.write)):
            part = job[direction]
            assert part["total_ios"] == part["clat_ns"]["N"] == part["lat_ns"]["N"] == host.requests
            assert part["io_bytes"] == host.bytes == 1024 * part["io_kbytes"]
            if host.requests:
                assert part["clat_ns"]["mean"] == pytest.approx(host.latency_ns.mean)
                assert part["clat_ns"]["max"] == host.latency_ns.max
                assert part["clat_ns"]["percentile"]["99.000000"] == pytest.approx(host.latency_ns.p99, rel=1e-3)
                assert list(part["clat_ns"]["percentile"].values()) == sorted(part["clat_ns"]["percentile"].values())
                assert part["iops"] == pytest.approx(host.iops, rel=0.02)
                assert part["bw_bytes"] == pytest.approx(host.bandwidth_mb_s * 1e6, rel=0.02)
                assert part["bw"] == part["bw_bytes"] // 1024
                assert part["slat_ns"]["N"] == 0
        assert job["iodepth_level"]["8"] > 99
        shares = [share for unit in ("ns", "us", "ms") for share in job[f"latency_{unit}"].values()]
        assert sum(shares) == pytest.approx(100, abs=0.2)
    assert data["jobs"][0]["read"]["total_ios"] == pytest.approx(9000, rel=0.03)
    assert data["disk_util"][0]["name"] == "tlc"
    assert 90 < data["disk_util"][0]["util"] <= 100


def test_jobs_have_latencies_of_their_own(load: Load) -> None:
    imported = load("[global]\nrw=randread\nsize=1g\nnumber_ios=2000\n[small]\nbs=4k\n[large]\nbs=256k\n")
    (result,) = run(imported)
    small, large = json.loads(fio.to_json([result], imported))["jobs"]
    for number, job in enumerate((small, large)):
        mine = result.requests.filter(polars.col("queue") == number)["latency_ns"]
        assert job["read"]["clat_ns"]["min"] == mine.min()
        assert job["read"]["clat_ns"]["stddev"] == pytest.approx(mine.std(), rel=1e-6)
    assert large["read"]["clat_ns"]["min"] > 1.2 * small["read"]["clat_ns"]["min"]


def test_ramp_and_percentiles(load: Load) -> None:
    text = "[a]\nrw=randread\nsize=1g\nruntime=1\npercentile_list=50:99.99\n"
    imported = load(text + "ramp_time=1\n")
    (result,) = run(imported)
    read = json.loads(fio.to_json([result], imported))["jobs"][0]["read"]
    assert list(read["clat_ns"]["percentile"]) == ["50.000000", "99.990000"]
    assert read["runtime"] == pytest.approx(1000, abs=2)
    assert read["total_ios"] == pytest.approx(result.host.read.requests / 2, rel=0.05)
    # Two samples of half a second.
    assert (read["bw_samples"], read["iops_samples"]) == (2, 2)
    assert read["iops_mean"] == pytest.approx(read["iops"], rel=0.02)


def tree(value: Any) -> Any:
    """The keys of a document, below lists those of their first."""
    if isinstance(value, dict):
        return {key: tree(inner) for key, inner in value.items() if key not in ("job options", "global options")}
    return [tree(value[0])] if isinstance(value, list) and value else None


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.slow
@pytest.mark.parametrize("bins", [False, True])
def test_the_json_has_the_keys_of_fio_itself(load: Load, tmp_path: Path, bins: bool) -> None:
    imported = load(
        "[a]\nioengine=null\nsize=4m\nrw=randrw\niodepth=4\n[b]\nstonewall\nioengine=null\nsize=1m\nrw=trim\n"
    )
    command = ["fio", "--output-format=json" + "+" * bins, str(tmp_path / "jobs.fio")]
    theirs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    ours = json.loads(fio.to_json(run(imported), imported, bins=bins))
    for document in (ours, theirs):
        counted = [job[way].get("clat_ns", {}) for job in document["jobs"] for way in ("read", "write", "trim")]
        found = [part["bins"] for part in counted if part.get("N") and "bins" in part]
        assert len(found) == (3 if bins else 0)
        for middle in [int(middle) for part in found for middle in part]:
            assert bin_of(middle) == middle
        for part in counted:
            part["bins" if "bins" in part else "N"] = sum(part.get("bins", {"": part["N"]}).values())
    # The null engine has no disk, and 4 MiB of it no time.
    del ours["disk_util"], ours["timestamp_ms"]
    theirs.pop("timestamp_ms", None)
    theirs.pop("disk_util", None)
    for document in (ours, theirs):
        document.pop("global options", None)
    assert tree(ours) == tree(theirs)
    assert [job["groupid"] for job in ours["jobs"]] == [job["groupid"] for job in theirs["jobs"]]
    assert ours["jobs"][0]["read"]["total_ios"] + ours["jobs"][0]["write"]["total_ios"] == 1024
    text = fio.to_text(run(imported), imported)
    shape = subprocess.run(command[:1] + command[2:], capture_output=True, text=True, check=True).stdout
    for line in shape.splitlines():
        head = re.match(r"(\s*[A-Za-z][\w ]*?)\s*[:(=]", line)
        if head and not re.match(r"\s+(slat|lat)|.*eta|Jobs|fio", line):
            assert head[1] in text, line


def test_bins_are_fios(load: Load) -> None:
    for latency, middle in (
        (0, 0), (127, 127), (128, 129), (129, 129), (130, 131), (255, 255), (256, 258), (259, 258), (260, 262),
        # fio 3.33 prints these, 512 ns apart from 32,768 ns on.
        (35_393, 35_584), (35_840, 36_096), (1_000_092, 1_003_520), (1_054_994, 1_056_768),
        ((1 << 34) - 1, LAST_BIN), (1 << 40, LAST_BIN),
    ):  # fmt: skip
        assert bin_of(latency) == middle, latency
    imported = load(MIXED)
    results = run(imported)
    plain, full = (json.loads(fio.to_json(results, imported, bins=bins)) for bins in (False, True))
    for job in full["jobs"]:
        for way in ("read", "write", "trim"):
            part = job[way]["clat_ns"]
            bins = part.pop("bins", {})
            assert sum(bins.values()) == part["N"]
            if bins:
                assert bin_of(part["min"]) == int(next(iter(bins)))
                assert bin_of(part["max"]) == int(list(bins)[-1])
    assert full["jobs"] == plain["jobs"]


def test_the_text_has_fios_lines(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "jobs.fio").write_text(MIXED)
    done = cli("run", "--fio", "jobs.fio", "--output-format", "fio")
    assert done.returncode == 0
    # What scripts look for.
    for pattern in (
        r"^reader: \(g=0\): rw=randrw, bs=\(R\) 4096B-4096B, .*, ioengine=libaio, iodepth=8$",
        r"^\.\.\.$",
        r"^reader: \(groupid=0, jobs=2\): err= 0: pid=\d+: ",
        r"^  read: IOPS=[\d.]+k?, BW=[\d.]+[KMG]iB/s \([\d.]+[kMG]B/s\)\([\d.]+[KMG]iB/\d+msec\)",
        r"^  write: IOPS=",
        r"^    clat \((nsec|usec|msec)\): min= *\d+, max= *[\d.]+k?, avg= *[\d.]+, stdev= *[\d.]+$",
        r"^     lat \((nsec|usec|msec)\): min=",
        r"^    clat percentiles \((nsec|usec|msec)\):\n     \|  1\.00th=\[ *\d+\],  5\.00th=\[",
        r"99\.99th=\[ *\d+\]$",
        r"^  lat \(usec\)   : .*\d+=\d+\.\d\d%",
        r"^  cpu          : usr=0\.00%, sys=0\.00%, ctx=0, majf=0, minf=0$",
        r"^  IO depths    : 1=0\.\d%, 2=0\.\d%, 4=0\.\d%, 8=\d\d+\.\d%, 16=",
        r"^     issued rwts: total=\d+,\d+,0,0 short=0,0,0,0 dropped=0,0,0,0$",
        r"^Run status group 1 \(all jobs\):\n  WRITE: bw=[\d.]+MiB/s \([\d.]+MB/s\), .*, io=93\.8MiB \(98\.3MB\), run=",
        r"^Disk stats \(read/write\):\n  tlc: ios=\d+/\d+, merge=0/0, ticks=\d+/\d+, in_queue=\d+, util=\d+\.\d\d%$",
    ):
        assert re.search(pattern, done.stdout, re.MULTILINE), pattern
    assert "no effect: ioengine=libaio" in done.stderr


def test_scripts_read_the_json_from_standard_output(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "jobs.fio").write_text(MIXED)
    done = cli("run", "--fio", "jobs.fio", "--section", "writer", "--device", "hpca24", "--output-format", "fio-json")
    data = json.loads(done.stdout)
    (job,) = data["jobs"]
    assert job["jobname"] == "writer"
    assert job["write"]["iops"] > 0
    assert job["write"]["clat_ns"]["percentile"]["99.000000"] > 0
    assert data["disk_util"][0]["name"] == "hpca24"
    # Of any other workload too: a job a queue.
    done = cli("run", "--workload", "two-tenants", "--requests", 1000, "--output-format", "fio-json")
    names = [(job["jobname"], job["read"]["total_ios"] > 0) for job in json.loads(done.stdout)["jobs"]]
    assert names == [("reader", True), ("writer", False)]
    for words in (
        ("--repeat", 2, "--fio", "jobs.fio", "--output-format", "fio"),
        ("--section", "a"),
        ("--write-toml", "x"),
    ):
        assert cli("run", *words).returncode == 2


def test_written_toml_runs_alike(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "jobs.fio").write_text(MIXED.replace("numjobs=2", "numjobs=12\nruntime=1\nrandseed=7"))
    words = ("--device", "asplos21", "--age", "pec=500,retention=1mo", "--set", "host.t_submit=2us")
    assert cli("run", "--fio", "jobs.fio", *words, "-q", "--json", "there.json").returncode == 0
    written = cli("run", "--fio", "jobs.fio", *words, "--write-toml", "out")
    commands = written.stdout.splitlines()
    assert len(commands) == 2
    for number, command in enumerate(commands, 1):
        done = cli(*shlex.split(command)[1:], "-q", "--json", "-")
        here, there = json.loads(done.stdout), json.loads((tmp_path / f"there.{number}.json").read_text())
        for result in (here, there):
            del result["process"]
        assert here == there
    assert len(there["host"]["queue"]) == 1
    first = json.loads((tmp_path / "there.1.json").read_text())
    assert len(first["host"]["queue"]) == 12
    assert first["manifest"]["seed"] == 7


def test_an_iolog_is_played(load: Load, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(
        "fio version 2 iolog\nf add\nf open\nf read 0 4096\nf wait 100 0\nf write 8192 4096\nf close\n"
    )
    imported = load("[a]\nread_iolog=x.log\n")
    data = json.loads(fio.to_json(run(imported), imported))
    assert [data["jobs"][0][kind]["total_ios"] for kind in ("read", "write")] == [1, 1]
    imported = load("[a]\nread_iolog=x.log\npercentile_list=50:90\nramp_time=10us\niodepth=4\nnumjobs=2\nrate_iops=5\n")
    assert any(line.endswith("no effect beside read_iolog: iodepth, numjobs, rate_iops") for line in imported.notes)
    (job,) = json.loads(fio.to_json(run(imported), imported))["jobs"]
    assert list(job["write"]["clat_ns"]["percentile"]) == ["50.000000", "90.000000"]
    assert (job["read"]["total_ios"], job["write"]["total_ios"]) == (0, 1)
    with pytest.raises(ssdlab.InputError, match="give it a stonewall"):
        load("[a]\nread_iolog=x.log\n[b]\nrw=read\n")


def test_the_page_has_the_importers_tables(
    in_page: Callable[[str, str, str], None], named_statistics: Callable[[str], set[str]]
) -> None:
    heads = ("fio", "ssdlab", "")
    in_page("fio.md", "taken", table(fio.SUPPORTED, heads))
    in_page("fio.md", "idle", table(fio.WITHOUT_EFFECT, heads))
    assert named_statistics("fio.md") == set()


def test_includes_that_fan_out_are_refused(tmp_path: Path) -> None:
    for level in range(12):
        (tmp_path / f"{level}.fio").write_text(f"include {level + 1}.fio\n" * 2)
    (tmp_path / "12.fio").write_text("[a]\nrw=randread\nsize=1g\n")
    with pytest.raises(ssdlab.InputError, match=r"is include number 257\n  help: include 256 files at most"):
        fio.load(tmp_path / "0.fio")


def test_zonemode_zbd_takes_the_drives_zones_and_whole_ones_alone(load: Load) -> None:
    imported = load("[a]\nzonemode=zbd\nrw=randwrite\nbs=128k\nsize=3g\noffset=1m\nnumber_ios=200\n", device="zns")
    (job,) = jobs(imported).values()
    zone = 1152 << 20
    assert (job["zone_size"], job["zone_capacity"], job["open_zones"]) == (f"{zone}B", f"{zone}B", 14)
    assert (job["offset"], job["footprint"]) == (f"{zone}B", f"{zone}B")
    (result,) = run(imported)
    assert result["zones"]["refused"] == 0
    own = load("[a]\nzonemode=zbd\nzonesize=64m\nzonecapacity=48m\nmax_open_zones=2\nsize=128m\n")
    (job,) = jobs(own).values()
    assert (job["zone_size"], job["zone_capacity"], job["open_zones"]) == ("67108864B", "50331648B", 2)
    with pytest.raises(ssdlab.InputError, match="no zone lies within"):
        load("[a]\nzonemode=zbd\n")
