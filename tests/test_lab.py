"""Sweeps, their cache, comparisons and figures."""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ssdlab
import ssdlab._version
from conftest import HANGS_S, of_before, until
from ssdlab import _core
from ssdlab.common.frames import write_table
from ssdlab.runs import manifest as manifests
from ssdlab.runs.manifest import key_of
from ssdlab.runs.options import OPTIONS, Options
from ssdlab.runs.simulation import open_simulation
from ssdlab.show import plot
from ssdlab.sweeps import task
from ssdlab.sweeps.cache import Cache
from ssdlab.sweeps.comparison import GEOMEAN
from ssdlab.sweeps.spec import Sweep
from ssdlab.sweeps.table import read_table

SSDLAB = Path(sys.executable).with_name("ssdlab")

SWEEP: dict[str, Any] = {
    "run": {"requests": 400, "workload": "default", "workload.requests": 400},
    "axes": {
        "device": ["tlc", "fast12-slc"],
        "scheme": ["fifo", "rps"],
        "age": {"fresh": "pec=0", "old": "pec=2000,retention=6mo"},
        "seed": [1, 2],
    },
}

FILE = """
[run]
requests = 20_000
[axes]
scheme = ["fifo", "rps"]
"workload.read_ratio" = [0.1, 0.5, 0.9]
seed = [1, 2, 3]
"""


def key(**words: Any) -> str:
    # An array stands for the device where none is given beside it.
    options = Options(**{"device": words.get("array", "tlc"), "workload": "default", **words})
    return key_of(json.loads(open_simulation(options).manifest))


NEW_KEYS = (
    {"section": "gc", "key": "patience", "default": "3"},
    {"section": "telepathy", "key": "range", "default": '"none"'},
    {"section": "workload", "key": "mood", "default": "0.5"},
)
"""Keys that a later release might have, as the schema tells them."""


def test_a_new_key_at_its_default_leaves_every_hash_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def manifest(workload: str, **words: Any) -> Any:
        return json.loads(open_simulation(Options(device="tlc", workload=workload, **words)).manifest)

    kept = [manifest("default"), manifest("two-tenants", scheme="pnar2", seed=7)]
    before = [key_of(each) for each in kept]

    def newer(each: Any, patience: Any = 3, reach: Any = "none", mood: Any = 0.5, option: Any = None) -> Any:
        found = copy.deepcopy(each)
        found["device"]["config"]["gc"]["patience"] = patience
        found["device"]["config"]["telepathy"] = {"range": reach}
        work = found["workload"]
        for job in [work["generator"]] if "generator" in work else work["jobs"].values():
            job["mood"] = mood
        return found | {"ballast": option}

    # Where the key is not in the schema it has no default, and counts.
    assert key_of(newer(kept[0])) != before[0]
    schema = [*_core.schema(), *NEW_KEYS]
    monkeypatch.setattr(_core, "schema", lambda: schema)
    manifests._defaults.cache_clear()
    try:
        assert [key_of(newer(each)) for each in kept] == before == [key_of(each) for each in kept]
        for words in ({"patience": 4}, {"patience": 3.0}, {"reach": "5m"}, {"mood": 0.6}, {"option": "5kg"}):
            assert key_of(newer(kept[0], **words)) != before[0], words
            assert key_of(newer(kept[1], **words)) != before[1], words
        older = copy.deepcopy(kept[0])
        del older["device"]["config"]["ecc"]["code_3bit"], older["workload"]["generator"]["hint"]
        assert key_of(older) == before[0]
        # What a default means is said by the version of the results.
        assert key_of(kept[0] | {"results_version": 1}) != before[0]
    finally:
        manifests._defaults.cache_clear()


@pytest.mark.slow
def test_the_hash_changes_with_every_key() -> None:
    array = str(Path(__file__).parents[1] / "examples" / "array.toml")
    base = json.loads(open_simulation(Options(device=array, array=array, workload="default")).manifest)
    generator, array_keys = base["workload"]["generator"], base["array"]["config"]
    programs = {"kv": "kv-cache", "log_fs": "f2fs"}
    opened = {
        of: json.loads(open_simulation(Options(device="tlc", workload=name)).manifest) for of, name in programs.items()
    }
    sections = base["device"]["config"] | {"workload": generator, "array": array_keys}
    sections |= {of: manifest["workload"][of] for of, manifest in opened.items()}
    # As many of today's keys as the schema has: none is at a default by another spelling of it. Those of an array's
    # drives are written down as what they make of these.
    known = {(key.section, key.key) for key in ssdlab.schema() if key.section != "drive"}
    assert {(name, key) for name, keys in sections.items() for key in keys} == known
    before, seen = {key_of(base), *map(key_of, opened.values())}, set()
    for name, keys in sections.items():
        for each in keys:
            changed = copy.deepcopy(opened.get(name, base))
            if name == "workload":
                place = changed["workload"]["generator"]
            elif name in opened:
                place = changed["workload"][name]
            else:
                place = changed["array"]["config"] if name == "array" else changed["device"]["config"][name]
            place[each] = "another"
            seen.add(key_of(changed))
    assert not before & seen
    assert len(seen) == len(known)


@pytest.mark.slow
def test_the_hash_changes_with_every_input_and_with_nothing_else(tmp_path: Path) -> None:
    trace = tmp_path / "a.csv"
    trace.write_text("10,web,0,Read,4096,4096,1\n20,web,1,Write,8192,4096,1\n")
    copy = tmp_path / "b.csv"
    copy.write_text(trace.read_text())
    other = tmp_path / "c.csv"
    other.write_text(trace.read_text().replace("8192", "12288"))
    saved = [tmp_path / name for name in ("one.ckpt", "two.ckpt", "three.ckpt")]
    for path, seed in zip(saved, (1, 1, 2), strict=True):
        ssdlab.run("tlc", requests=10, seed=seed, save=path)
    policy = tmp_path / "mine.py"
    policy.write_text("def one(view):\n    return None\n\n\ndef two(view):\n    return None\n")
    drives = [tmp_path / name for name in ("one.toml", "two.toml", "three.toml")]
    for path, pec in zip(drives, (1, 1, 2), strict=True):
        path.write_text(f'[array]\nlayout = "mirror"\n\n[drive.a]\ndevice = "tlc"\nage = "pec={pec}"\ncount = 2\n')
    base, traced, mirrored = key(), key(workload=str(trace)), key(array=str(drives[0]))
    assert base == key()
    changed = [
        key(device="asplos21"),
        key(workload="random-read-8k"),
        key(scheme="fifo"),
        key(age="pec=1"),
        key(settings=("chip.t_prog=401us",)),
        key(settings=("workload.read_ratio=0.71",)),
        key(replay="closed:3"),
        key(requests=10),
        key(duration="1s"),
        key(warmup=1),
        key(until_steady="1s"),
        key(seed=2),
        traced,
        key(workload=str(other)),
        key(workload=str(trace), merge=(str(copy),)),
        key(workload=str(trace), merge=(str(other),)),
        key(workload=str(trace), format="csv:time=s,skip,device,op=R/W,offset=B,size=B,skip"),
        key(workload=str(trace), skip_bad_lines=1),
        key(workload=str(trace), sort_window=7),
        key(workload=str(trace), volumes="namespaces"),
        key(workload=str(trace), beyond="refuse"),
        key(checkpoint=str(saved[0])),
        key(checkpoint=str(saved[2])),
        key(policies=(("victim", f"{policy}:one"),)),
        key(policies=(("victim", f"{policy}:two"),)),
        mirrored,
        key(array=str(drives[2])),
    ]
    assert len({base, *changed}) == 1 + len(changed)
    # Every option of a run is above, but for where results go, what is found by its content, what is kept, and checks.
    tested = {"device", "workload", "scheme", "age", "settings", "replay", "requests", "duration", "warmup", "seed"}
    tested |= {
        "until_steady",
        "format",
        "skip_bad_lines",
        "sort_window",
        "volumes",
        "beyond",
        "checkpoint",
        "policies",
        "array",
    }
    outputs = {"requests_out", "keep_requests", "series_out", "save", "save_at"}
    assert set(OPTIONS) - tested == {"precondition", "qd", "traces", "check", "ftl"} | outputs
    assert key(check=True) == base
    # Another name for a file of this content, other words for these choices.
    assert key(workload=str(copy)) == traced
    assert key(array=str(drives[1])) == mirrored
    assert key(checkpoint=str(saved[0])) == key(checkpoint=str(saved[1]))
    assert key(scheme="fifo") == key(settings=("schedule.order=fifo",))
    assert key(age="pec=1") == key(settings=("age.pec=1",))
    # Jobs, and what phases draw from, change places: other requests come.
    jobs = ['[job.a]\nrw = "randread"\n', '[job.b]\nrw = "randwrite"\n']
    kinds = ["[kind.r]\n", '[kind.w]\nrw = "write"\n']
    phases = '[gap.g]\nquantiles = "5ms"\n[phase.p]\nmix = "r.g.new/1:w.g.new/1"\nnext = "p/1"\n'
    for parts, rest in ((jobs, ""), (kinds, phases)):
        found = []
        for number, each in enumerate((parts, parts[::-1])):
            path = tmp_path / f"parts{number}.toml"
            path.write_text("".join(each) + rest)
            result = ssdlab.run("tlc", path, requests=200, keep_requests=True)
            assert isinstance(result, ssdlab.Result)
            found.append((key(workload=str(path)), result.requests))
        assert found[0][0] != found[1][0], parts
        assert not found[0][1].equals(found[1][1]), parts
    device = tmp_path / "mine.toml"
    device.write_text('base = "tlc"\n')
    assert key(device=str(device)) == base
    # Files that keys name count by what they hold, not by their names.
    presets = Path(__file__).parents[1] / "presets"
    code = (presets / "ecc" / "qc-ldpc.csv").read_text()
    chip = (presets / "chips" / "tlc48.toml").read_text()
    for preset, scheme, setting, ending, text, other_text in (
        ("asplos21", "ar2", "chip.model", ".toml", chip, chip.replace("capability = 72", "capability = 71")),
        ("asplos21", "ar2", "read.rpt", ".csv", "pec,months,cut\n0,12,0.4\n", "pec,months,cut\n0,12,0.3\n"),
        ("hpca24", "rif", "ecc.code", ".csv", code, code.replace("0.0005,", "0.0006,", 1)),
        ("hpca24", "rif", "ecc.code_3bit", ".csv", code, code.replace("0.0005,", "0.0006,", 1)),
    ):
        files = [tmp_path / f"{name}{ending}" for name in ("one", "two", "new")]
        for path, content in zip(files, (text, text, other_text), strict=True):
            path.write_text(content)
        keys = [key(device=preset, scheme=scheme, settings=(f"{setting}={file}",)) for file in files]
        assert keys[0] == keys[1] != keys[2], setting
    trace.write_text(other.read_text())
    os.utime(trace, ns=(1, 1))
    assert key(workload=str(trace)) == key(workload=str(other)), "a trace that has changed is read again"


@pytest.mark.slow
def test_a_sweep_plays_what_is_missing_and_gives_the_same_table(tmp_path: Path) -> None:
    steps: list[Any] = []
    first = ssdlab.sweep(SWEEP, cache=tmp_path, progress=steps.append)
    assert (first.played, first.table.height, first.failed) == (16, 16, ())
    assert steps[-1] == (16, 16, 0, 0)
    assert first.table.columns[:5] == ["device", "scheme", "age", "seed", "case"]
    assert first.table["age"].to_list()[:3] == ["fresh", "fresh", "old"]
    assert first.table["case"].n_unique() == 16
    again = ssdlab.sweep(SWEEP, cache=tmp_path, progress=steps.append)
    assert again.played == 0
    assert steps[-1] == (16, 16, 16, 0)
    assert again.table.equals(first.table)
    more = {**SWEEP, "axes": {**SWEEP["axes"], "seed": [1, 2, 3]}}
    assert ssdlab.sweep(more, cache=tmp_path).played == 8
    one = ssdlab.run("tlc", "default", scheme="rps", age="pec=2000,retention=6mo", seed=2, requests=400)
    row = first.table.filter(device="tlc", scheme="rps", age="old", seed=2)
    assert row["host.read.latency_ns.mean"][0] == one["host.read.latency_ns.mean"]
    assert ssdlab.sweep(SWEEP, cache=tmp_path / "other", threads=1).table.equals(first.table)


def test_a_damaged_result_is_found_and_computed_again(tmp_path: Path) -> None:
    first = ssdlab.sweep(SWEEP, cache=tmp_path, keep_results=True)
    entries = of_before(tmp_path, list(first.results))
    assert len(entries) == 16
    whole = entries[0].read_bytes()
    entries[0].write_bytes(whole[: len(whole) // 2])
    entries[1].write_bytes(b"")
    flipped = bytearray(entries[2].read_bytes())
    flipped[-20] ^= 1
    entries[2].write_bytes(bytes(flipped))
    # A good file of other content: its digest is not its content's.
    entries[3].write_bytes(whole[:64] + gzip.compress(b"{}"))
    (tmp_path / "aa").mkdir(exist_ok=True)
    (tmp_path / "aa" / "left-over.tmp").write_bytes(b"half")
    again = ssdlab.sweep(SWEEP, cache=tmp_path)
    assert again.played == 4
    assert again.table.equals(first.table)


def cached(folder: Path) -> set[str]:
    """The names of a cache's files, those too that are being written."""
    return {path.name for path in folder.rglob("*") if path.is_file()}


def results(folder: Path) -> int:
    """How many results a cache has."""
    return len(Cache(folder))


@pytest.mark.slow
def test_a_sweep_that_is_killed_goes_on_where_it_was_and_ends_the_same(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(FILE)

    def command(out: str, cache: str) -> list[str]:
        return [str(SSDLAB), "sweep", "sweep.toml", "--out", out, "--cache", cache]

    subprocess.run(command("whole.csv", "whole"), cwd=tmp_path, check=True, capture_output=True)
    draw = random.Random(7)
    kills = 0
    for _ in range(8):
        process = subprocess.Popen(
            command("killed.csv", "killed"), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        # At the sight of a file more or less, or of a result more.
        what: Callable[[Path], object] = draw.choice([cached, results])
        had = what(tmp_path / "killed")
        while process.poll() is None and what(tmp_path / "killed") == had:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += process.returncode != 0
        if process.returncode == 0:
            break
    subprocess.run(command("killed.csv", "killed"), cwd=tmp_path, check=True, capture_output=True)
    assert kills > 0
    assert (tmp_path / "killed.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.slow
def test_an_interrupted_sweep_says_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(FILE.replace("20_000", "200_000"))
    process = subprocess.Popen(
        [str(SSDLAB), "sweep", "sweep.toml"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until(lambda: results(tmp_path / "results" / "cache"), process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=HANGS_S)
    assert process.returncode == 130, errors
    assert "the same command goes on from there" in errors


def test_cases_that_fail_stop_nothing_else_and_are_retried_when_asked(tmp_path: Path) -> None:
    far = tmp_path / "far.csv"
    far.write_text("10,web,0,Read,4096,4096,1\n20,web,0,Read,9000000000000000,4096,1\n")
    near = tmp_path / "near.csv"
    near.write_text("10,web,0,Read,4096,4096,1\n")
    sweep = {
        "run": {"beyond": "refuse"},
        "axes": {"workload": {"near": str(near), "far": str(far), "absent": str(tmp_path / "absent.csv")}},
    }
    steps: list[Any] = []
    first = ssdlab.sweep(sweep, cache=tmp_path / "cache", progress=steps.append)
    assert [failed.labels["workload"] for failed in first.failed] == ["far", "absent"]
    assert "does not lie within" in first.failed[0].error
    assert "there is no such workload or file" in first.failed[1].error
    assert steps[-1] == (3, 3, 0, 2)
    assert first.table["host.read.requests"].to_list() == [1.0, None, None]
    assert ssdlab.sweep(sweep, cache=tmp_path / "cache").played == 0
    again = ssdlab.sweep(sweep, cache=tmp_path / "cache", retry_failed=True)
    assert again.played == 1
    assert again.table.equals(first.table)
    with pytest.raises(ssdlab.InputError, match="no such workload"):
        ssdlab.sweep({"axes": {"workload": ["absent"]}}, cache=tmp_path / "cache")


@pytest.mark.slow
def test_any_executor_runs_the_cases(tmp_path: Path) -> None:
    here = ssdlab.sweep(SWEEP, cache=tmp_path / "a")
    with ProcessPoolExecutor(2) as pool:
        there = ssdlab.sweep(SWEEP, cache=tmp_path / "b", executor=pool)
    assert there.played == 16
    assert there.table.equals(here.table)


@pytest.mark.slow
def test_an_executor_with_another_ssdlab_or_other_files_is_refused(tmp_path: Path) -> None:
    near = tmp_path / "near.csv"
    near.write_text("10,web,0,Read,4096,4096,1\n")
    sweep = {"axes": {"workload": {"near": str(near), "default": "default"}}, "run": {"requests": 100}}

    def spoil() -> None:
        other = "10,web,0,Write,4096,4096,1\n"
        if near.read_text() != other:  # once: a worker may be reading it by the second case
            near.write_text(other)

    class Late(ProcessPoolExecutor):
        """A machine on which the trace is another."""

        def submit(self, *words: Any) -> Any:  # type: ignore[override]
            spoil()
            return super().submit(*words)

    with Late(1) as late:
        outcome = ssdlab.sweep(sweep, cache=tmp_path / "cache", executor=late)
    assert [failed.labels["workload"] for failed in outcome.failed] == ["near"]
    assert "is not the input that the sweep began with" in outcome.failed[0].error
    assert not list(tmp_path.rglob("*.failed.gz")), "what is wrong with a machine is wrong with no case"

    with (
        ProcessPoolExecutor(1, initializer=pretend_to_be_older) as pool,
        pytest.raises(ssdlab.SimulationError, match=r"ssdlab 0\.0\.9 .*\n  help: install the same build"),
    ):
        ssdlab.sweep(SWEEP, cache=tmp_path / "cache", executor=pool)


def pretend_to_be_older() -> None:
    """Makes a process of a pool one with another release."""
    ssdlab._version.__version__ = "0.0.9"
    task.build.cache_clear()


@pytest.mark.slow
def test_two_sweeps_share_a_cache(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        tables = [future.result().table for future in [pool.submit(ssdlab.sweep, SWEEP, cache=tmp_path) for _ in "123"]]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert results(tmp_path) == 16
    assert not list(tmp_path.rglob("*.tmp"))


def test_each_case_can_have_a_file(tmp_path: Path) -> None:
    ssdlab.sweep(SWEEP, cache=tmp_path / "cache", files=tmp_path / "files")
    files = list((tmp_path / "files").glob("*.json"))
    assert len(files) == 16
    assert any(file.name.startswith("tlc-rps-old-2.") for file in files)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("axes = 3", ("axes", "must be a section")),
        ("[axis]\n", ("axis", "a sweep has about")),
        ("[axes]\nschem = ['fifo']", ("schem", "did you mean `scheme`?")),
        ("[axes]\n'chip.t_porg' = ['1us']", ("chip.t_porg", "did you mean `chip.t_prog`?")),
        ("[axes]\nscheme = 'fifo'", ("axes.scheme", "is one value")),
        ("[axes]\nseed = [1, 1]", ("axes.seed", "twice")),
        ("[axes]\nseed = []", ("axes.seed", "is empty")),
        ("[axes]\nqd = [1, 32]\n[axes.load]\na = {qd = 4}", ("axes.load", "sets qd, and so does axes.qd")),
        ("[axes.warnings]\na = {qd = 4}", ("axes.warnings", "is the name of a column")),
        ("[axes.'host.read.iops']\na = {qd = 4}", ("axes.host.read.iops", "is the name of a column")),
        ("[axes.'host.queue.3.iops']\na = {qd = 4}", ("axes.host.queue.3.iops", "is the name of a column")),
        ("[axes]\n'thermal.heavy' = [70, 80]", ("axes.thermal.heavy", "is the name of a column")),
        ("[axes]\nseed = ['a']", ("seed", "expected a whole number")),
        ("[axes]\ndevice = [7]", ("device", "expected text")),
        ("[axes]\nseed = [1]\n[quick]\nseed = [2]", ("quick.seed", "not on the axis")),
        ("[quick]\nseed = [2]", ("quick.seed", "is no axis")),
        ("[axes]\n'chip.t_read' = [['1us', '2us', '3us']]", ("axes.chip.t_read", "name its values")),
        ("[axes\n", ("sweep.toml", "must be TOML")),
        ("statistics = 3", ("statistics", "list of names")),
        ("[run]\n'chip.t_prog' = 400", ("chip.t_prog", "a time with its unit")),
    ],
)
def test_a_wrong_sweep_is_refused_with_place_and_remedy(tmp_path: Path, text: str, parts: tuple[str, ...]) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    with pytest.raises(ssdlab.InputError) as caught:
        ssdlab.sweep(path, cache=tmp_path)
    for part in (*parts, "\n  help: "):
        assert part in str(caught.value)


def test_the_quick_cases_are_those_of_the_file() -> None:
    sweep = Sweep.read({**SWEEP, "quick": {"device": ["tlc"], "seed": [2]}})
    quick = sweep.cases(quick=True)
    assert len(quick) == 4
    assert {case.labels["seed"] for case in quick} == {2}


def table(values: dict[tuple[str, str, int], float]) -> pl.DataFrame:
    lines = [(row, scheme, seed, "0", value, 1000.0) for (row, scheme, seed), value in values.items()]
    columns = ["workload", "scheme", "seed", "case", "host.read.latency_ns.p99", "host.read.requests"]
    return pl.DataFrame(lines, schema=columns, orient="row")


def test_a_comparison_pairs_seeds_normalises_and_takes_geometric_means() -> None:
    values = {("a", "base", seed): 100.0 + seed for seed in range(4)}
    values |= {("a", "new", seed): 50.0 + seed / 2 for seed in range(4)}
    values |= {("b", "base", seed): 200.0 for seed in range(4)}
    values |= {("b", "new", seed): 400.0 + 10 * (-1) ** seed for seed in range(4)}
    found = ssdlab.compare(table(values), "host.read.latency_ns.p99", baseline="base")
    a, b, all_rows = found.rows["a"]["new"], found.rows["b"]["new"], found.rows[GEOMEAN]["new"]
    assert a.value.mean == pytest.approx(50.75)
    assert list(a.ratio) == pytest.approx([0.5, 0.0], abs=1e-12), "pairs leave no chance in it"
    assert a.difference.mean == pytest.approx(-50.75)
    # Standard deviation 10 / 200 * sqrt(4/3), t of 3 degrees of freedom 3.1824.
    assert list(b.ratio) == pytest.approx([2.0, 3.18245 * 0.05 * (4 / 3) ** 0.5 / 2], rel=1e-4)
    assert all_rows.ratio.mean == pytest.approx(1.0, abs=0.01)
    assert all_rows.pairs == 4
    assert found.rows["a"]["base"].ratio.mean == 1.0
    assert found.fewest_beyond == pytest.approx(10.0)
    assert found.frame().height == 6
    # A seed that only one of both has makes no pair.
    del values["a", "base", 3]
    assert ssdlab.compare(table(values), "host.read.latency_ns.p99", baseline="base").rows["a"]["new"].pairs == 3
    assert ssdlab.compare(table(values), "host.read.latency_ns.p99", by="workload").baseline == "a"
    for wrong in ({"metric": "host.read.latency_ns.p98"}, {"baseline": "bse"}, {"by": "schem"}):
        with pytest.raises(ssdlab.InputError, match="did you mean"):
            ssdlab.compare(table(values), **{"metric": "host.read.latency_ns.p99", **wrong})  # type: ignore[arg-type]


def test_geometric_means_are_of_the_rows_that_all_schemes_have() -> None:
    # "lame" does well on the easy row, and fails on the hard one; "dead" fails on both, and takes no row from others.
    values = {("easy", scheme, 1): value for scheme, value in (("base", 100.0), ("lame", 90.0), ("good", 80.0))}
    values |= {("hard", "base", 1): 100.0, ("hard", "good", 1): 120.0}
    found = ssdlab.compare(table({**values, ("easy", "dead", 1): None}), "host.read.latency_ns.p99")  # type: ignore[dict-item]
    means = {scheme: cell.ratio.mean for scheme, cell in found.rows[GEOMEAN].items()}
    assert means == {"base": 1.0, "lame": pytest.approx(0.9), "good": pytest.approx(0.8), "dead": None}
    assert found.takeaway() == (
        "p99 read latency, beside base's (geometric mean of the 1 of 2 rows that all schemes have): good 20 % lower, "
        "lame 10 % lower."
    )
    # Where no row has all, nothing is said of all rows.
    del values["easy", "good", 1]
    none = ssdlab.compare(table(values), "host.read.latency_ns.p99")
    assert "(none of 2 rows has all schemes): nothing to compare" in none.takeaway()
    assert "hard" in str(none)
    plot.bars(none)


def test_a_baseline_of_zero_has_no_ratio() -> None:
    # b is 2 of a's 2 in sum: the seed that has a ratio would say "50 % lower".
    values = {("x", "a", 1): 0.0, ("x", "a", 2): 2.0, ("x", "b", 1): 3.0, ("x", "b", 2): 1.0}
    found = ssdlab.compare(table(values), "host.read.latency_ns.p99")
    cell = found.rows["all"]["b"]
    assert (cell.ratio.mean, cell.difference.mean, cell.pairs) == (None, 1.0, 2)
    assert "nothing to compare: a has 0, and nothing has a ratio to that." in found.takeaway()
    assert "no ratio where a has 0 with a seed: in 1 of 1 rows" in str(found)
    # Such a row is no row that a scheme lacks; geometric means leave it out, whatever else it has.
    values |= {("y", scheme, seed): value for scheme, value in (("a", 2.0), ("b", 1.0)) for seed in (1, 2)}
    more = ssdlab.compare(table(values), "host.read.latency_ns.p99")
    assert more.takeaway() == (
        "p99 read latency, beside a's (geometric mean of 1 rows, without 1 in which a has 0): b 50 % lower."
    )
    # A scheme with 0 has no geometric mean: that of its other seeds would be too high.
    values["y", "b", 1] = 0.0
    last = ssdlab.compare(table(values), "host.read.latency_ns.p99")
    assert last.rows["y"]["b"].ratio.mean == 0.25
    assert last.rows[GEOMEAN]["b"] == ((None, None), (None, None), (None, None), 0)
    assert "b without one (0 in a row, or no seed in all rows)" in last.takeaway()


def test_labels_that_look_like_equal_numbers_stay_apart(tmp_path: Path) -> None:
    name = "host.read.latency_ns.mean"
    text = f"fw,qd,rate,plp,seed,case,warnings,{name}\n2.1,1,1e2,True,1,a,,10.0\n2.10,8,0.5,False,1,b,,20\n"
    (tmp_path / "t.csv").write_text(text)
    found = read_table(tmp_path / "t.csv")
    assert [found[axis].to_list() for axis in ("fw", "qd", "rate")] == [["2.1", "2.10"], [1, 8], ["1e2", "0.5"]]
    assert found["plp"].to_list() == [True, False]
    compared = ssdlab.compare(found.drop("qd", "rate", "plp"), by="fw", baseline="2.1")
    assert compared.rows["all"]["2.10"].ratio.mean == 2.0
    # Cases that have all labels in common are not one case.
    with pytest.raises(ssdlab.InputError, match=r"two cases of the table are fw=2\.1, seed=1"):
        ssdlab.compare(found.select("seed", "case", name).insert_column(0, pl.Series("fw", [2.1, 2.1])), by="fw")


def test_rows_of_other_labels_are_other_rows() -> None:
    lines = [
        (scheme, a, b, 1, "0", value * (1.0 if scheme == "base" else factor))
        for a, b, value, factor in (("x", "y z", 1.0, 2.0), ("x y", "z", 100.0, 0.5), ("x", "z", 10.0, 1.0))
        for scheme in ("base", "new")
    ]
    columns = ["scheme", "a", "b", "seed", "case", "host.read.latency_ns.p99"]
    found = ssdlab.compare(pl.DataFrame(lines, schema=columns, orient="row"), "host.read.latency_ns.p99")
    ratios = {row: cells["new"].ratio.mean for row, cells in found.rows.items() if row != GEOMEAN}
    assert ratios == {"'x' 'y z'": 2.0, "'x y' 'z'": 0.5, "x z": 1.0}


@pytest.mark.slow
def test_tables_read_back_as_they_were_written(tmp_path: Path) -> None:
    found = ssdlab.sweep(SWEEP, cache=tmp_path).table
    for ending in ("csv", "parquet", "json"):
        path = str(tmp_path / f"table.{ending}")
        write_table(found, path)
        assert read_table(path).equals(found), ending
    with pytest.raises(ssdlab.InputError, match="is not known"):
        write_table(found, str(tmp_path / "table.xls"))
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ssdlab.InputError, match="no table of a sweep"):
        read_table(tmp_path / "other.csv")


@pytest.mark.slow
def test_the_commands_sweep_and_compare(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(FILE.replace("20_000", "500"))
    swept = subprocess.run(
        [str(SSDLAB), "sweep", "sweep.toml", "--out", "t.csv", "--show", "host.read.latency_ns.p99_99"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "18 cases: 18 run, 0 kept" in swept.stdout
    compared = subprocess.run(
        [
            str(SSDLAB),
            "compare",
            "t.csv",
            "--baseline=fifo",
            "--metric=host.read.latency_ns.p99_99",
            "--plot=x.png",
            "--accept-warnings",
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "over fifo" in compared.stdout
    assert GEOMEAN in compared.stdout
    assert "samples lie beyond the percentile" in compared.stdout
    assert (tmp_path / "x.png").stat().st_size > 5_000
    assert compared.stdout.startswith(f"p99.99 read latency, beside fifo's ({GEOMEAN} of ")
    assert compared.stdout.splitlines()[-1] == "wrote x.png", "the picture stands last"
    quiet = [str(SSDLAB), "sweep", "sweep.toml", "--quiet"]
    again = subprocess.run(quiet, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert again.stdout == "18 cases: 0 run, 18 kept in results/cache\n"


@pytest.mark.drawn
@pytest.mark.slow
def test_figures_say_what_they_show_and_are_the_same_bytes(tmp_path: Path) -> None:
    outcome = ssdlab.sweep(SWEEP, cache=tmp_path, keep_results=True)
    results = dict(zip(("fifo", "fifo, old"), list(outcome.results.values())[:2], strict=False))
    run = ssdlab.run("tlc", "default", requests=5000)

    def draw() -> dict[str, Any]:
        return {
            "cdf": plot.cdf(results),
            "bars": plot.bars(ssdlab.compare(outcome.table, baseline="fifo", accept_warnings=True)),
            "usage": plot.usage(results),
            "heatmap": plot.heatmap(outcome.table, "age", "device", "host.read.latency_ns.mean", unit="ns"),
            "series": plot.series(run),
        }

    figures = draw()
    labels = {
        "cdf": ("read latency [µs] (lower is better)", "share of requests [%]"),
        "bars": ("", "read latency, mean\nover fifo's\n(lower is better)"),
        "usage": ("share of a die's time [%]", ""),
        "heatmap": ("age", "device"),
        "series": ("simulated time [s]", "bandwidth [MB/s]"),
    }
    for name, figure in figures.items():
        assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == labels[name]
        for ending in ("png", "svg", "pdf"):
            plot.save(figure, tmp_path / f"{name}-1.{ending}")
    for name, figure in draw().items():
        for ending in ("png", "svg", "pdf"):
            plot.save(figure, tmp_path / f"{name}-2.{ending}")
            one, other = ((tmp_path / f"{name}-{i}.{ending}").read_bytes() for i in (1, 2))
            assert one == other
            assert len(one) > 3_000
    with pytest.raises(ssdlab.InputError, match="is not known"):
        plot.save(figures["cdf"], tmp_path / "x.gif")


def test_a_cache_forgets_failures_when_a_case_succeeds(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.fail("ab" * 32, "too bad")
    assert cache.failure("ab" * 32) == "too bad"
    assert cache.get("ab" * 32) is None
    result = ssdlab.run(requests=1)
    entry = key_of(result.manifest.to_dict())
    cache.fail(entry, "too bad")
    cache.put(entry, result.to_payload())
    assert cache.failure(entry) is None
    assert (cache.get(entry) or {})["data"] == result.to_dict()
