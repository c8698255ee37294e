"""Devices fitted to measurements: drives that were simulated are found again, from fio's results alone."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import signal
import tomllib
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import Cli
from ssdlab import InputError, devices, study
from ssdlab._core import Simulation
from ssdlab.cli.main import commands
from ssdlab.common import signals
from ssdlab.devices import fitting, folds, trust
from ssdlab.devices.bench import Bench, _played
from ssdlab.devices.intervals import blurs, left_open, profiles, seen_by
from ssdlab.devices.start import units
from ssdlab.devices.unknowns import Shape, amplification, space
from ssdlab.foreign import fio
from ssdlab.show import lines

pytest.importorskip("scipy")

ROOT = Path(__file__).resolve().parent.parent

JOBS = """
[global]
filename=/dev/nvme0n1
ioengine=io_uring
bs=4k
rw=randread
[read-1]
iodepth=1
number_ios=200
[read-8]
stonewall
iodepth=8
number_ios=1500
[read-256]
stonewall
iodepth=256
number_ios=6000
[large-1]
stonewall
bs=64k
iodepth=1
number_ios=200
[sequential]
stonewall
rw=read
bs=128k
iodepth=32
number_ios=1000
[write-1]
stonewall
rw=randwrite
iodepth=1
number_ios=300
[fill]
stonewall
rw=write
bs=128k
iodepth=32
number_ios=1200
[mixed]
stonewall
rw=randrw
rwmixread=70
bs=16k
iodepth=16
number_ios=2500
"""


def drawn(seed: int) -> tuple[Shape, dict[str, float]]:
    """A drive that nobody knows: its shape and constants [ns, B/s, B]."""
    of = random.Random(seed)
    values = {
        "chip.t_read": of.uniform(35e3, 90e3),
        "chip.t_prog": of.uniform(500e3, 2000e3),
        "bus.bandwidth": of.uniform(0.6e9, 2e9),
        "host.link_bandwidth": of.uniform(1.5e9, 7e9),
        "host.t_submit + host.t_complete": of.uniform(3e3, 12e3),
        "host.t_firmware": of.uniform(1e3, 6e3),
        "buffer.size": of.uniform(8, 64) * 2**20,
    }
    return Shape(of.choice((2, 4, 8)), of.choice((2, 4, 8)), of.choice((2, 4))), values


def measure(folder: Path, shape: Shape, values: dict[str, float]) -> Path:
    """fio's JSON of the drive."""
    base = space("tlc")
    known = [values[each.name] for each in base.unknowns]
    (folder / "jobs.fio").write_text(JOBS)
    imported = fio.load(folder / "jobs.fio", device="tlc", settings=base.settings(shape, known))
    results = [part.run(keep_requests=True, seed=77) for part in imported.parts]
    path = folder / "measured.json"
    path.write_text(fio.to_json(results, imported))
    return path


@pytest.mark.long
@pytest.mark.seldom
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_constants_of_a_drive_that_is_not_known_are_found_again(seed: int, tmp_path: Path) -> None:
    shape, values = drawn(seed)
    found = devices.fit(devices.read(measure(tmp_path, shape, values)), "tlc", budget=4000, seeds=2)
    assert found.chi2 < 2.0 * found.freedom
    # Planes that sense by themselves are as good as dies: shapes of as many planes cannot be told apart.
    assert math.prod(shape) in [math.prod(each) for each, _ in found.shapes], (shape, found.shapes)
    outside = [
        (each.name, values[each.name], each.low, each.value, each.high)
        for each in found.estimates
        if not (each.low or 0.0) <= values[each.name] <= (each.high or math.inf)
    ]
    # What lies outside is named as what cannot be told apart; host and firmware add up to what they are.
    named = {name for blur in found.blurs for name, _ in blur.powers}
    assert [row for row in outside if row[0] not in named] == []
    by = {each.name: each for each in found.estimates}
    assert by["chip.t_read"].value == pytest.approx(values["chip.t_read"], rel=0.05)
    assert by["host.link_bandwidth"].value == pytest.approx(values["host.link_bandwidth"], rel=0.05)
    host = ("host.t_submit + host.t_complete", "host.t_firmware")
    assert sum(by[name].value for name in host) == pytest.approx(sum(values[name] for name in host), rel=0.05)
    means = [each for each in found.figures if each.figure.metric == "mean"]
    # Or as near as two seeds can tell.
    assert [each for each in means if abs(each.error) > max(0.05, (each.ci95 or 0.0) / each.simulated)] == []


TABLE = """# a drive of which little is published
job,rw,bs,iodepth,metric,value,state
lone,randread,4k,1,mean,70us..80us,
deep,randread,4k,64,iops,400k,
deep,randread,4k,64,p99,400us,
stream,read,128k,32,bandwidth,3.2GB/s,
steady,randwrite,4k,32,iops,"60,000",steady
"""
QUICK = "".join(line for line in TABLE.splitlines(keepends=True) if not line.startswith("steady"))
"""Without the steady state, which has a test of its own."""


def test_a_table_of_published_figures_is_read(tmp_path: Path) -> None:
    path = tmp_path / "published.csv"
    path.write_text(TABLE)
    lone, deep, stream, steady = devices.read(path)
    (mean,) = lone.figures
    assert mean.value == pytest.approx(math.sqrt(70e3 * 80e3))
    assert mean.noise == pytest.approx(math.log(80 / 70) / 2)
    assert [(each.metric, each.value) for each in deep.figures] == [("iops", 400e3), ("p99", 400e3)]
    assert stream.figures[0].metric == "iops"
    assert stream.figures[0].value == pytest.approx(3.2e9 / 131072)
    assert (steady.state, steady.depth, steady.figures[0].value) == ("steady", 32, 60e3)
    rows = ['[[figure]]\njob = "lone"\nrw = "randread"\nbs = "4k"\niodepth = 1\nmetric = "mean"\nvalue = "75us"\n']
    (tmp_path / "same.toml").write_text("\n".join(rows))
    assert devices.read(tmp_path / "same.toml")[0].figures[0].value == 75e3
    # Of a folder all are read, and jobs of one name are told apart.
    assert [job.name for job in devices.read(tmp_path)] == ["lone", "deep", "stream", "steady", "same/lone"]


@pytest.mark.parametrize(
    ("options", "op", "size"),
    [
        ("rw=randread bssplit=4k/10:1024k/90", "read", 0.1 * 4096 + 0.9 * 1048576),
        ("rw=randread bssplit=4k/50:8k", "read", 6144),
        ("rw=randwrite bsrange=4k-16k", "write", 10240),
        ("rw=write bs=4k,64k", "write", 65536),
        ("rw=randrw bs=4k,64k", "read", 4096),
        ("rw=randrw bs=4k,64k", "write", 65536),
    ],
)
def test_a_bandwidth_is_of_requests_of_the_mean_size(options: str, op: str, size: float, tmp_path: Path) -> None:
    given = dict(each.split("=", 1) for each in options.split())
    row = {"job": "x", **given, "op": op, "metric": "bandwidth", "value": "3GB/s"}
    path = tmp_path / "figures.toml"
    path.write_text("[[figure]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in row.items()))
    (job,) = devices.read(path)
    assert job.value(op, "iops") == pytest.approx(3e9 / size)


def entry(name: str, group: int, **options: str) -> dict[str, Any]:
    """A job as fio reports it: 1,000 reads in 80 us each."""
    latency = {"mean": 78_000.0, "stddev": 1000.0, "percentile": {"50.000000": 77_000, "99.000000": 90_000}}
    read = {
        "total_ios": 1000,
        "iops": 12_500.0,
        "lat_ns": {"mean": 80_000.0, "stddev": 1000.0},
        "slat_ns": {"mean": 2000.0},
        "clat_ns": latency,
    }
    return {
        "jobname": name,
        "groupid": group,
        "job options": {"rw": "randread", "bs": "4k", **options},
        "read": read,
        "write": {"total_ios": 0},
    }


def test_bins_give_the_percentiles_of_clones_together(tmp_path: Path) -> None:
    clones = [entry("clones", 0, numjobs="2") for _ in range(2)]
    # 985 of 1,000 at 70 us and 15 at 300 us; all 1,000 at 90 us: of 2,000 the 1,000th and the 1,980th.
    for clone, bins in zip(clones, ({"70144": 985, "301056": 15}, {"90624": 1000}), strict=True):
        clone["read"]["clat_ns"]["bins"] = bins
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"jobs": clones}))
    (both,) = devices.read(path)
    # 2 us of submitting on top. The mean of the clones' own percentiles would be another: 92 us.
    assert (both.value("read", "p50"), both.value("read", "p99")) == (92_624.0, 92_624.0)
    clones[0]["read"]["clat_ns"]["bins"] = {"70144": 964, "301056": 36}
    path.write_text(json.dumps({"jobs": clones}))
    (both,) = devices.read(path)
    assert both.value("read", "p99") == 303_056.0
    for wrong in ({"many": 1}, {"70144": "x"}):
        clones[0]["read"]["clat_ns"]["bins"] = wrong
        path.write_text(json.dumps({"jobs": clones}))
        with pytest.raises(ssdlab.InputError, match="as fio 3 writes it"):
            devices.read(path)


def test_results_of_fio_are_read(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    clones = [entry("clones", 1, stonewall="", numjobs="2") for _ in range(2)]
    # fio prints its notes before the JSON.
    path.write_text("fio: a note\n" + json.dumps({"jobs": [entry("lone", 0), *clones]}))
    lone, both = devices.read(path, steady=["clone*"])
    assert {each.metric: each.value for each in lone.figures} == {
        "iops": 12_500.0,
        "mean": 80_000.0,
        "p50": 79_000.0,
        "p99": 92_000.0,
    }
    assert [each.metric for each in lone.counted()] == ["mean", "p50", "p99"], "Little's law gives the IOPS"
    assert (both.value("read", "iops"), both.value("read", "mean"), both.requests) == (25_000.0, 80_000.0, 2000)
    assert (lone.state, both.state) == ("written", "steady")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.json", "[1]", r"a\.json: is no result of fio's"),
        ("a.json", '{"jobs": [{"jobname": "x", "groupid": 0}]}', r"x: does not say what was done \(rw\)"),
        ("a.json", json.dumps({"jobs": [entry("x", 0), entry("y", 0)]}), r"x, y: ran beside other jobs"),
        ("a.json", json.dumps({"jobs": [entry("x", 0), entry("y", 1)]}), r"y: ran beside other jobs.*\n.*stonewall"),
        ("a.csv", "job,rw,metric,value\nx,read,speed,1us", r"figure 1: metric 'speed': is not known"),
        ("a.csv", "job,rw,metric,value\nx,read,mean,1MB", r"figure 1: value '1MB': is not accepted"),
        ("a.csv", "job,rw,metric,value\nx,read,mean,2us..1us", r"figure 1: value '2us..1us': is no range"),
        ("a.csv", "job,rw,metric,value,iodeth\nx,read,mean,1us,3", r"figure 1: iodeth: is no column.*\n.*iodepth"),
        ("a.csv", "job,rw,metric\nx,read,mean", r"figure 1: lacks value"),
        ("a.csv", "job,rw,metric,value,state\nx,read,mean,1us,new", r"state 'new': is not known"),
        ("a.csv", "job,rw,metric,value\nx,randrw,mean,1us", r"figure 1: op: reads or writes of a mixed job"),
        ("a.toml", "[[figure]", r"a\.toml: is no table of figures"),
        ("a.txt", "", r"a\.txt: holds no measurements"),
    ],
)
def test_what_is_wrong_with_measurements_is_told(name: str, text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=f"(?s){told}"):
        devices.read(path)


PHASES = """base = "tlc"
[chip]
t_prog = "none"
program_loops = 5
t_program_pulse = "160us"
t_program_verify = "80us"
[schedule]
suspend_program = "inter-phase"
"""
KNOWN = (
    "geometry.channels=4", "geometry.chips=2", "geometry.dies=1", "geometry.planes=2", "bus.bandwidth=1.2GB/s",
    "host.link_bandwidth=7GB/s", "buffer.size=4MiB", "host.t_submit=3us", "host.t_complete=3us",
    "host.t_firmware=1us",
)  # fmt: skip


@pytest.mark.slow
def test_phases_of_programs_are_found_and_a_figure_that_is_wrong_bends_no_other(tmp_path: Path) -> None:
    device = tmp_path / "phases.toml"
    device.write_text(PHASES)
    jobs = "\n".join(
        f"[{name}]\nstonewall\nrw={rw}\nbs={bs}\niodepth={depth}\nnumber_ios={count}"
        for name, rw, bs, depth, count in (
            ("read-1", "randread", "4k", 1, 200), ("read-64", "randread", "4k", 64, 3000),
            ("large-1", "randread", "64k", 1, 200),
            ("fill", "write", "128k", 32, 600), ("mixed", "randrw", "16k", 16, 1500),
        )
    )  # fmt: skip
    (tmp_path / "jobs.fio").write_text(f"[global]\nfilename=/dev/nvme0n1\nioengine=io_uring\n{jobs}\n")
    true = (*KNOWN, "chip.t_program_pulse=240us", "chip.t_program_verify=120us", "chip.t_read=60us")
    imported = fio.load(tmp_path / "jobs.fio", device=str(device), settings=true)
    (tmp_path / "measured.json").write_text(
        fio.to_json([part.run(keep_requests=True, seed=77) for part in imported.parts], imported)
    )

    def found(factor: float, robust: bool) -> dict[str, float]:
        measured = [
            job._replace(figures=tuple(each._replace(value=factor * each.value) for each in job.figures))
            if job.name == "read-64"
            else job
            for job in devices.read(tmp_path / "measured.json")
        ]
        fit = devices.fit(measured, str(device), settings=KNOWN, budget=60, seeds=1, profiles=False, robust=robust)
        return {each.name: each.value for each in fit.estimates}

    phase = "chip.t_program_pulse + chip.t_program_verify"
    assert found(1.0, False) == pytest.approx({"chip.t_read": 60e3, phase: 360e3}, rel=0.02)
    # Reads at depth 64 are said to take half as long again; nothing else agrees with that.
    bent, straight = (abs(found(1.5, robust)["chip.t_read"] / 60e3 - 1.0) for robust in (False, True))
    assert straight < 0.5 * bent < 0.03


def test_what_is_wrong_with_the_question_is_told(tmp_path: Path) -> None:
    path = tmp_path / "published.csv"
    path.write_text(TABLE)
    jobs = devices.read(path)
    for options, told in (
        ({"hold_out": ["nothing"]}, r"hold-out nothing: there is no such job"),
        ({"hold_out": [job.name for job in jobs]}, r"hold-out: leaves no job to fit"),
        ({"more": ["chip.t_red=1us..2us"]}, r"unknown chip.t_red: is no number of tlc"),
        ({"more": ["chip.t_bers=2us..1us"]}, r"unknown chip.t_bers=2us..1us: is not accepted"),
        ({"more": ["chip.t_bers"]}, r"unknown 'chip.t_bers': is no range"),
        ({"capacity": "much"}, r"capacity 'much': is not accepted"),
        ({"settings": ["chip.t_read=much"]}, r"t_read"),
    ):
        with pytest.raises(InputError, match=told):
            devices.fit(jobs, "tlc", **options)
    with pytest.raises(InputError, match="steady none: there is no such job"):
        devices.read(path, steady=["none"])
    with pytest.raises(InputError, match="folds is 5, of 4 jobs"):
        devices.cross_check(jobs, folds=5)


def test_a_closed_network_of_equal_queues_gives_its_units_back() -> None:
    for count, depth in ((4, 32), (16, 32), (128, 64)):
        assert units(depth * count / (depth + count - 1), depth) == pytest.approx(count)


def test_candidates_keep_the_capacity() -> None:
    of = space("tlc", ["chip.t_prog=900us"], capacity="512GB", steady=True)
    assert "chip.t_prog" not in [each.name for each in of.unknowns], "what is known is no unknown"
    spare = [each.name for each in of.unknowns].index("ftl.over_provisioning")
    for shape, share in ((Shape(2, 4, 2), 0.1), (Shape(16, 8, 4), 0.5)):
        values = list(of.base)
        values[spare] = share
        path_free = dict(each.split("=") for each in of.settings(shape, values))
        manifest = json.loads(Simulation("tlc", "default", settings=list(of.settings(shape, values))).manifest)
        assert manifest["device"]["capacity_bytes"] == pytest.approx(512e9, rel=0.02), path_free


@pytest.mark.parametrize("spare", [0.2, 0.37])
def test_the_closed_form_of_a_steady_state_is_near_collection(spare: float, tmp_path: Path) -> None:
    known = ("geometry.channels=2", "geometry.chips=2", "geometry.dies=1", f"ftl.over_provisioning={spare}")
    smaller = ("geometry.pages=384", "geometry.blocks=800", "chip.t_bers=1167us", "gc.start=2", "gc.stop=3")
    table = "job,rw,bs,iodepth,metric,value,state\nsteady,randwrite,4k,256,iops,50k,steady\n"
    (tmp_path / "steady.csv").write_text(table)
    (job,) = devices.read(tmp_path / "steady.csv")
    base = space("tlc", known, steady=True)
    bench = Bench(base, [job], requests=5000, threads=1)
    ((run,),) = bench.simulated([job], [base.settings(base.shape, base.base, steady=True)], (1,))
    words = ("workload.rw=randwrite", "workload.bs=4KiB", "workload.align=4KiB", "workload.iodepth=256")
    options: dict[str, Any] = {"requests": 150_000, "warmup": 100_000, "precondition": "closed-form"}
    played = ssdlab.run("tlc", "random-read-closed", settings=[*known, *smaller, *words], **options)
    assert run["write", "iops"] == pytest.approx(played.host["write"]["iops"], rel=0.15)


def test_random_blocks_of_a_measured_job_are_drawn_with_replacement(tmp_path: Path) -> None:
    """Their steady state has a closed form; without `norandommap` fio's jobs have none."""
    (tmp_path / "steady.csv").write_text(
        "job,rw,bs,iodepth,metric,value,state\nsteady,randwrite,4k,256,iops,50k,steady\n"
    )
    (job,) = devices.read(tmp_path / "steady.csv")
    _played(space("tlc", (), steady=True), job, 1000, str(tmp_path / "load.toml"))
    assert 'random_distribution = "random"' in (tmp_path / "load.toml").read_text()


def test_the_write_amplification_of_a_closed_form_solves_its_equation() -> None:
    for alpha in (1.07, 1.29, 2.0):
        a = amplification(alpha)
        assert 1.0 - 1.0 / a == pytest.approx(math.exp(-alpha / a), rel=1e-6)


def test_what_the_fitted_jobs_leave_open_of_another_figure() -> None:
    import numpy

    # One residual of the sum of two constants: their sum is known, their difference as before.
    matrix, prior = numpy.array([[100.0, 100.0]]), numpy.array([1.0, 1.0])
    moved = numpy.array([[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]])
    known, vague, still = left_open(matrix, moved, prior, 1.0)
    assert known == pytest.approx(0.01, rel=1e-3)
    assert vague == pytest.approx(math.sqrt(2.0))
    assert still == 0.0


def test_what_the_model_is_wrong_by_holds_what_fits_do_not() -> None:
    def missed(drive: str, error: float, left_open: float = 1.0) -> trust.Missed:
        return trust.Missed(drive, "reads", math.log(error), left_open)

    # Of twenty drives one may be further off, whatever the number of its figures.
    drives = [missed(f"drive {n}", 1.0 + 0.01 * n) for n in range(1, 20)] + [missed("far", 1 / 9.0)] * 50
    assert trust.of_model(drives) == pytest.approx(1.19)
    # What the fit leaves open counts beside it, as squares of logarithms.
    model = trust.of_model([missed("one", 2.0, 1.5)])
    assert trust.together(1.5, model) == pytest.approx(2.0)
    assert trust.of_model([missed("one", 0.8, 1.3)]) == 1.0, "the fit holds it"
    assert trust.expected(100.0, 1.0, "reads") == pytest.approx((100.0 / 1.226, 122.6))


def test_what_the_model_is_wrong_by_is_that_of_the_products() -> None:
    rows = study.study("products").findings()["wrong"].splitlines()[2:]
    of_model = trust.OF_MODEL.items()
    factors = [(state, kind, f"x {factor:.2f}") for state, kinds in of_model for kind, factor in kinds.items()]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [(state, kind, factor) for state, kind, _, factor in cells] == factors
    text = (ROOT / "docs" / "fit-device.md").read_text()
    assert [row for row in rows if row not in text] == []


def test_what_figures_cannot_tell_apart_is_named() -> None:
    import numpy

    # Only the sum of two constants counts, the third one is seen by itself, the fourth not at all.
    matrix = numpy.array([[50.0, 50.0, 0.0, 0.0], [0.0, 0.0, 30.0, 0.0]])
    seen = seen_by(matrix, 0.1)
    assert list(seen) == [True, True, True, False]
    ((factor, powers),) = blurs(matrix, seen, ["a", "b", "c", "d"], 1.0, 0.2)
    assert factor > 1e6
    assert dict(powers) == {"a": pytest.approx(1.0), "b": pytest.approx(-1.0)}


def test_a_profile_is_the_interval_of_a_parabola() -> None:
    import numpy

    matrix = numpy.array([[10.0, 0.0], [10.0, 20.0]])
    bounds = numpy.full(2, -5.0), numpy.full(2, 5.0)

    def residuals(at: Any) -> Any:
        return matrix @ at

    ends = profiles(residuals, numpy.zeros(2), matrix, seen_by(matrix, 0.1), bounds, 3.84)
    widths = numpy.sqrt(3.84 * numpy.diag(numpy.linalg.inv(matrix.T @ matrix)))
    for (low, high), width in zip(ends, widths, strict=True):
        assert low is not None
        assert high is not None
        assert math.log(high) == pytest.approx(width, rel=0.2)
        assert math.log(low) == pytest.approx(-width, rel=0.2)


def test_a_profile_follows_a_sum_that_is_known_where_its_parts_are_not() -> None:
    import numpy

    bounds = numpy.full(2, -5.0), numpy.full(2, 5.0)

    def residuals(at: Any) -> Any:
        one, other = numpy.exp(at)
        return numpy.array([(one + other - 2.0) / 0.01, (one - 1.0) / 0.3])

    matrix = numpy.array([[100.0, 100.0], [1.0 / 0.3, 0.0]])
    ends = profiles(residuals, numpy.zeros(2), matrix, seen_by(matrix, 0.1), bounds, 3.84)
    width = 0.3 * math.sqrt(3.84)
    for low, high in ends:
        assert low == pytest.approx(1.0 - width, rel=0.1)
        assert high == pytest.approx(1.0 + width, rel=0.1)


def interrupted(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_an_interrupted_fit_is_its_best_candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "published.csv").write_text(QUICK)
    jobs = devices.read(tmp_path / "published.csv")
    known = ("geometry.channels=8", "geometry.chips=4", "geometry.planes=4")
    options: dict[str, Any] = {"budget": 10, "requests": 100, "settings": known, "capacity": "1000GB"}
    simulated = Bench.simulated

    def until_now(at: int) -> Any:
        """What is left of a fit whose runs of this number, or whose intervals after them, are interrupted."""
        played = itertools.count(1)
        monkeypatch.setattr(
            Bench, "simulated", lambda *given: interrupted() if next(played) == at else simulated(*given)
        )
        with pytest.raises(KeyboardInterrupt) as caught:
            devices.fit(jobs, **options)
        return getattr(caught.value, "found", None)

    assert until_now(1) is None, "no candidate has been played before the noise is known"
    early = until_now(5)
    monkeypatch.setattr(fitting._Search, "_ends", interrupted)
    late = until_now(0)
    for found in (early, late):
        assert found.warnings[0].id == "interrupted"
        assert found.warnings[0].numbers["runs"] <= found.runs
        assert all((each.low, each.high) == (None, None) for each in found.estimates)
        assert [each.job.name for each in found.figures] == ["lone", "deep", "deep", "stream"]
        assert "The fitted drive, on tlc's model, comes within" in " ".join(str(found).split())
    assert early.runs < late.runs
    assert early.chi2 > late.chi2


@pytest.mark.slow
def test_the_command_keeps_the_best_candidate_of_an_interrupted_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "published.csv").write_text(QUICK)
    monkeypatch.setattr(signals, "_received", signal.SIGINT)  # whatever other tests of this process have received
    monkeypatch.setattr(fitting._Search, "_ends", interrupted)
    shape = ("--set", "geometry.channels=8", "--set", "geometry.chips=4", "--set", "geometry.planes=4")
    out = tmp_path / "found.toml"
    words = ["fit-device", str(tmp_path / "published.csv"), *shape, "--capacity", "1000GB", "--out", str(out)]
    assert commands.main([*words, "--budget", "10", "--requests", "100"], standalone_mode=False) == 130
    told = capsys.readouterr().err
    assert told.splitlines()[-1] == f"interrupted: this is the best candidate until then; kept: {out}"
    kept = tomllib.loads(out.read_text())
    assert re.search("; interrupted after .* runs$", kept["about"])
    assert kept["chip"]["t_read"]


@pytest.mark.drawn
@pytest.mark.slow
def test_progress_has_the_stage_and_the_time_left(tmp_path: Path) -> None:
    (tmp_path / "published.csv").write_text(QUICK)
    known = ("geometry.channels=8", "geometry.chips=4", "geometry.planes=4")
    seen: list[devices.Progress] = []
    options: dict[str, Any] = {"budget": 30, "requests": 100, "seeds": 1, "settings": known, "capacity": "1000GB"}
    devices.fit(devices.read(tmp_path / "published.csv"), progress=seen.append, **options)
    assert list(dict.fromkeys(each.stage for each in seen)) == ["constants", "shapes", "intervals"]
    assert seen[0].share is None
    assert [each.runs for each in seen] == sorted(each.runs for each in seen)
    last = seen[-1].share
    assert last is not None
    assert 0 < last < 1
    told: list[str] = []
    times = iter([0.0, 20.0, 20.0])
    listener = lines.fits(told.append, lambda: next(times))
    listener(devices.Progress("shapes", 1200, 34.56, 0.25))
    assert told == ["shapes: 1,200 runs, chi-squared 34.6 at best, about 1 min 0 s left"]


@pytest.mark.drawn
@pytest.mark.slow
def test_interrupted_folds_leave_the_fit_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "published.csv").write_text(QUICK)
    fits = itertools.count()
    monkeypatch.setattr(signals, "_received", signal.SIGINT)  # whatever other tests of this process have received

    def fitted(jobs: Any, device: str, **options: Any) -> Any:
        return interrupted() if next(fits) else devices.fit(jobs, device, **options)

    monkeypatch.setattr(folds, "fit", fitted)
    shape = ("--set", "geometry.channels=8", "--set", "geometry.chips=4", "--set", "geometry.planes=4")
    more = ("--budget", "1", "--requests", "100", "--seeds", "1", "--capacity", "1000GB", "--folds", "3")
    out = tmp_path / "found.toml"
    words = ["fit-device", str(tmp_path / "published.csv"), *shape, *more, "--accept-warnings", "--out", str(out)]
    assert commands.main(words, standalone_mode=False) == 130
    shown, told = capsys.readouterr()
    assert told.splitlines()[-1] == f"interrupted: the fit is whole, and 1 of its 3 cross-checks; kept: {out}"
    assert "Held out: each figure under the fit" in shown
    assert tomllib.loads(out.read_text())["base"] == "tlc"


@pytest.mark.drawn
def test_the_command_writes_a_drive_that_runs(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "published.csv").write_text(QUICK)
    words = ("published.csv", "--out", "found.toml", "--budget", "40", "--requests", "300", "--seeds", "2")
    shape = ("geometry.channels=8", "geometry.chips=4", "geometry.planes=4")
    known = [word for setting in shape for word in ("--set", setting)]
    done = cli("fit-device", *words, *known, "--capacity", "1000GB", "--hold-out", "deep", "--folds", "2")
    assert done.returncode == 0, done.stderr
    assert "Held out: each figure under the fit that has not seen its job" in done.stdout
    # A table of 80 columns goes on below.
    assert re.search(r"^  deep .*(held out|not determined): [\d,]+ to", done.stdout, re.MULTILINE)
    assert "where the drive's own figure is to be expected (95 %)" in done.stdout
    text = (tmp_path / "found.toml").read_text()
    document = tomllib.loads(text)
    assert document["base"] == "tlc"
    assert document["geometry"]["channels"] == 8
    assert "t_read = " in text
    assert "# fitted: " in text
    assert cli("run", "--device", "found.toml", "--requests", "100", "--quiet").returncode == 0
    wrong = cli("fit-device", "nowhere.csv")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "nowhere.csv: cannot be read" in wrong.stderr


def test_no_fit_of_the_products_has_seen_the_job_that_it_predicts() -> None:
    found = study.study("products")
    claims = {claim.id: claim.published for claim in found.claims}
    module: Any = found._module()
    for drive in module.DRIVES:
        jobs = devices.read(found.folder / "measured" / f"{drive}.csv")
        cases = tomllib.loads((found.folder / f"{drive}.toml").read_text())["axes"]["fit"]
        for job in jobs:
            for figure in job.figures:
                value = figure.value if figure.metric == "iops" else figure.value / 1e3
                assert claims[f"products.{drive}.{job.name}.{figure.metric}"] == pytest.approx(value, rel=1e-3)
            device = Path(cases[f"{job.name}, not seen"]["device"])
            told = tomllib.loads((found.folder / "drives" / device.name).read_text())["source"]
            seen = set(told.split("the jobs ")[1].split(" of ")[0].split(", "))
            assert job.name not in seen
            assert seen >= {each.name for each in jobs if each.name != job.name}
