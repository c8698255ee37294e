"""What a sweep refuses, what it does with a cache that others use, and what it says while it waits."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, cast

import click
import numpy as np
import polars
import pytest

import ssdlab
from conftest import Cli, of_before
from ssdlab.cli.base import report_failures
from ssdlab.faults.spec import Campaign
from ssdlab.runs.manifest import key_of
from ssdlab.runs.options import Options
from ssdlab.searches.spec import Search
from ssdlab.show import verdicts
from ssdlab.sweeps import campaign
from ssdlab.sweeps.cache import Cache
from ssdlab.sweeps.comparison import moved_by
from ssdlab.sweeps.executors import ExternalExecutor, Together
from ssdlab.sweeps.spec import MOST_CASES, Sweep
from ssdlab.sweeps.task import Answer, Task

SMALL: dict[str, Any] = {"run": {"requests": 201}, "axes": {"seed": [1, 2, 3, 4]}}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[run]\nseed = -1", ("sweep.toml: seed: -1", "a whole number, 0 or more")),
        ("[run]\nrequests = -5", ("sweep.toml: requests: -5", "1 or more")),
        ("[run]\nrequests = 0", ("sweep.toml: requests: 0", "1 or more")),
        ("[axes]\nrequests = [10, 0]", ("sweep.toml: requests: 0", "1 or more")),
        (f"[axes]\nseed = [{10**40}]", ("sweep.toml: seed: 1000", "a whole number")),
        (f"[run]\nwarmup = {1 << 63}", ("sweep.toml: warmup: 9223372036854775808",)),
        (f"[run]\nrequests = {'1' * 5000}", ("sweep.toml: ", "must be TOML")),
        (f"[run]\nx = {'[' * 5000}{']' * 5000}", ("sweep.toml: ", "must be TOML")),
        ("[run]\nrequests = true", ("sweep.toml: requests: True",)),
        ("[run]\nrequests = nan", ("sweep.toml: requests: nan",)),
        ('[run]\nage = "a\\u0000b"', ("sweep.toml: age: 'a\\x00b'",)),
        ('[run]\n"workload.requests" = 1e400', ("workload.requests",)),
        ("[axes]\nseed = [1]\n[quick]\nseed = 3", ("sweep.toml: quick.seed: is no list",)),
        ("[axes]\nseed = [1]\n[quick]\nseed = [[1]]", ("sweep.toml: quick.seed: is no list",)),
        ("[axes.case]\na = { seed = 1 }", ("sweep.toml: axes.case: is the name of a column",)),
    ],
)
def test_no_number_or_text_of_a_sweep_is_a_fault_of_ours(cli: Cli, tmp_path: Path, text: str, parts: Any) -> None:
    (tmp_path / "sweep.toml").write_text(text)
    done = cli("sweep", "sweep.toml")
    assert done.returncode == 2, done.stderr
    for part in ("error: ", *parts, "\n  help: "):
        assert part in done.stderr
    assert len(Cache(tmp_path / "results" / "cache")) == 0


def test_what_is_no_number_of_threads_and_what_stands_alone(tmp_path: Path) -> None:
    with pytest.raises(ssdlab.InputError, match="threads is -1"):
        ssdlab.sweep({"run": {"requests": 20}}, cache=tmp_path, threads=-1)
    name = "host.read.latency_ns.mean"
    rows = {"qd": [1, 4], "case": ["a", "b"], name: [1.0, 3.0]}
    assert ssdlab.compare(polars.DataFrame(rows), by="qd", baseline=cast(str, 1)).rows["all"]["4"].ratio.mean == 3.0
    found = ssdlab.curve(qd=4, schemes="baseline", requests=40, cache=tmp_path)
    assert [point.load for line in found.lines for point in line.points] == [4]


def test_a_mark_of_the_order_of_bytes_is_no_part_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbf[axes]\r\nqd = [1, 2]\r\n")
    assert list(Sweep.read(tmp_path / "a.toml").axes["qd"]) == [1, 2]
    (tmp_path / "b.toml").write_bytes(b"[axes]\nx = '\xff'")
    with pytest.raises(ssdlab.InputError, match="the file must be TOML"):
        Sweep.read(tmp_path / "b.toml")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("ftl.wav", "did you mean `ftl.waf`?"),
        ("host.raed.*", "did you mean `host.read.*`?"),
        ("host.read.latency_ns.p98", "did you mean `host.read.latency_ns.p99`?"),
        ("usage.dies.*", "did you mean `usage.die.*`?"),
        ("xyz", "docs/statistics.md lists them"),
    ],
)
def test_a_statistic_that_no_run_reports_is_refused_before_any_case(tmp_path: Path, name: str, remedy: str) -> None:
    spec = {"statistics": ["host.*", name], "run": {"requests": 10}}
    with pytest.raises(ssdlab.InputError) as caught:
        ssdlab.sweep(spec, cache=tmp_path)
    assert f"statistics: {name}: no run reports this statistic" in str(caught.value)
    assert remedy in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_every_statistic_of_results_is_known_by_its_name() -> None:
    from ssdlab.runs.names import why_unknown

    settings = {"ftl.hints": 2, "host.queues": 4, "thermal.resistance": 5.0, "chip.model": "auto"}
    found = ssdlab.run(requests=100, settings=settings)
    names = [name for name, *_ in found.scalars() if not name.startswith("run.")]
    assert "host.queue.0.iops" in names
    assert any(name.startswith("fdp.") for name in names)
    assert [name for name in names if why_unknown(name)] == []
    for name in ("zones.*", "power.cuts", "smart.*", "array.hedges_won", "host.*.iops", "host.queue.7.latency_ns.p99"):
        assert why_unknown(name) is None, name


def test_axes_of_numpy_are_numbers(tmp_path: Path) -> None:
    spec = {"run": {"requests": np.int64(20)}, "axes": {"qd": list(np.array([1, 2])), "seed": list(np.arange(1, 3))}}
    table = ssdlab.sweep(spec, cache=tmp_path).table
    assert table.schema["qd"] == polars.Int64
    assert table["qd"].to_list() == [1, 1, 2, 2]
    assert table["host.all.requests"].to_list() == [20.0] * 4


def test_a_billion_cases_are_counted_not_made(cli: Cli, tmp_path: Path) -> None:
    axes = {f"ftl.{n}": list(range(1000)) for n in ("streams",)} | {
        "seed": list(range(1000)),
        "gc.start": [*range(1000)],
    }
    text = "[axes]\n" + "".join(f'"{axis}" = {values}\n' for axis, values in axes.items())
    (tmp_path / "sweep.toml").write_text(text)
    done = cli("sweep", "sweep.toml")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: sweep.toml: has 1,000,000,000 cases (1000 ftl.streams x 1000 seed x 1000 gc.start), more than 10,000,0"
    )
    largest = {"axes": {"seed": [*range(4000)], "gc.start": [*range(2500)]}}
    assert len(Sweep.read(largest).cases()) == MOST_CASES
    largest["axes"]["requests"] = [1, 2]
    with pytest.raises(ssdlab.InputError, match="has 20,000,000 cases"):
        Sweep.read(largest).cases()
    done = cli("run", "--repeat", 999999999999, "--requests", 1)
    assert done.returncode == 2
    assert "repeat is 999999999999\n  help: write 10,000 at most" in done.stderr


def test_settings_without_effect_are_told(tmp_path: Path) -> None:
    about: dict[str, Any] = {"run": {"requests": 100, "chip.model": "none"}, "axes": {"age": ["pec=1000", "pec=2000"]}}
    told = " ".join(ssdlab.sweep(about, cache=tmp_path).warning_lines())
    assert re.search(r"no effect: age\.pec without a chip model.*\(in 2 of 2 cases\)", told)
    undone = {"run": {"requests": 100, "chip.model": "tlc48"}, "axes": {"scheme": ["ssd-zero", "baseline"]}}
    told = " ".join(ssdlab.sweep(undone, cache=tmp_path).warning_lines())
    assert re.search(r"chip\.model=tlc48 undoes chip\.model=none of --scheme ssd-zero", told)


def test_an_ideal_case_beside_others_is_not_told_of(tmp_path: Path) -> None:
    run = {"requests": 100, "age": "pec=1000", "device": "hpca24"}
    found = ssdlab.sweep({"run": run, "axes": {"scheme": ["ssd-zero", "swr"]}}, cache=tmp_path)
    assert "settings-without-effect" not in {of.id for each in found.warnings for of in each}


def test_numbers_too_large_for_a_column_are_text(tmp_path: Path) -> None:
    axis = {"big": {10**30: {"seed": 1}, 3: {"seed": 2}}}
    found = ssdlab.sweep({"run": {"requests": 10}, "axes": axis}, cache=tmp_path).table
    assert found["big"].to_list() == [str(10**30), "3"]


def test_what_cannot_be_written_is_refused_before_anything_is_played(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text("[run]\nrequests = 10\n[axes]\nseed = [1, 2]\n")
    (tmp_path / "file").write_text("mine")
    for words, problem in (
        (("--out", "x.txt"), "--out x.txt: the ending '.txt' is not known"),
        (("--out", "absent/x.csv"), "--out absent/x.csv: cannot be written: there is no folder"),
        (("--cache", "file"), "--cache file: cannot be made: File exists"),
        (("--cache", "file/cache"), "--cache file/cache: cannot be made: Not a directory"),
        (("--files", "file"), "--files file: cannot be made: File exists"),
        (("--worker-timeout", "-1"), "--worker-timeout"),
    ):
        done = cli("sweep", "sweep.toml", *words)
        assert done.returncode == 2, done.stderr
        assert problem in done.stderr
        assert len(Cache(tmp_path / "results" / "cache")) == 0, "nothing has been played"
    assert cli("sweep", "sweep.toml", "--out", "x.csv").returncode == 0
    for option, path in (("--out", "y.txt"), ("--plot", "y.txt"), ("--out", "x.csv")):
        assert cli("compare", "x.csv", "--by", "seed", option, path).returncode == 2
    for option in ("--out", "--plot"):
        assert "is not known" in cli("lifetime", option, "x.txt").stderr
    assert (tmp_path / "file").read_text() == "mine"


def sealed(content: Any) -> bytes:
    body = gzip.compress(json.dumps(content).encode())
    return hashlib.sha256(body).hexdigest().encode() + body


def spoilers(entries: list[Path]) -> dict[str, Callable[[], object]]:
    """Ways to spoil the first of three entries, and what is said of each."""
    first, second, third = entries

    def folder() -> None:
        first.unlink()
        (first / "inside").mkdir(parents=True)

    def loop() -> None:
        first.unlink()
        first.symlink_to(first.name)

    def without(part: str) -> None:
        content = json.loads(gzip.decompress(first.read_bytes()[64:]))
        del content["data"][part]
        first.write_bytes(sealed(content))

    return {
        "holds the result of another case": lambda: shutil.copy(second, first),
        "is no result of this ssdlab (1 more likewise)": lambda: (
            first.write_bytes(sealed({})),
            third.write_bytes(sealed({"data": {"manifest": {}}})),
        ),
        "is no result of this ssdlab": lambda: without("host"),
        "cannot be read (Is a directory)": folder,
        "cannot be read (Too many levels of symbolic links)": loop,
        "is damaged": lambda: first.write_bytes(sealed([1])),
    }


@pytest.mark.slow
@pytest.mark.parametrize("way", range(6))
@pytest.mark.filterwarnings("ignore")
def test_an_entry_counts_for_its_own_case_only_and_stops_nothing(tmp_path: Path, way: int) -> None:
    first = ssdlab.sweep(SMALL, cache=tmp_path, keep_results=True)
    entries = of_before(tmp_path, list(first.results))
    assert len({entry.parent for entry in entries}) == 4, "each in a folder of its own"
    says, spoil = list(spoilers(entries[:3]).items())[way]
    spoil()
    with pytest.warns(UserWarning, match="played again") as told:
        again = ssdlab.sweep(SMALL, cache=tmp_path)
    spoiled = entries[:3:2] if "likewise" in says else entries[:1]
    assert str(told[0].message) in [f"{entry} {says}: played again" for entry in spoiled]
    assert again.played == len(spoiled)
    assert again.table.equals(first.table)
    assert ssdlab.sweep(SMALL, cache=tmp_path).played == 0, "what was in its place is gone from there"


def test_a_file_in_place_of_a_folder_of_entries_stops_nothing(tmp_path: Path) -> None:
    first = ssdlab.sweep(SMALL, cache=tmp_path, keep_results=True)
    folder = of_before(tmp_path, list(first.results))[0].parent
    shutil.rmtree(folder)
    folder.write_text("mine")
    again = ssdlab.sweep(SMALL, cache=tmp_path)
    assert (again.played, again.table.equals(first.table)) == (1, True)
    assert folder.read_text() == "mine"


def test_a_failure_of_another_case_is_none_of_this_one(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    one, two = "ab" * 32, "ab" + "cd" * 31
    cache.fail(one, "too bad")
    shutil.copy(cache._path(one, ".failed.gz"), cache._path(two, ".failed.gz"))
    assert (cache.failure(one), cache.failure(two)) == ("too bad", None)
    for content in ({}, {"key": two}, {"key": two, "error": 3}):
        Path(cache._path(two, ".failed.gz")).write_bytes(sealed(content))
        assert cache.failure(two) is None


def test_entries_have_the_rights_of_other_files(tmp_path: Path) -> None:
    ssdlab.sweep(SMALL, cache=tmp_path)
    plain = tmp_path / "plain"
    plain.touch()
    assert {entry.stat().st_mode for entry in (tmp_path / "batches").iterdir()} == {plain.stat().st_mode}


CLAIMANT = """
import sys, time
from ssdlab.sweeps.cache import Cache
claim = Cache(sys.argv[1]).claim(sys.argv[2])
print("claimed" if claim else "refused", flush=True)
time.sleep(60)
"""


def claimant(folder: Path, key: str) -> subprocess.Popen[str]:
    """Another process that has asked for a case, and says what it was told."""
    return subprocess.Popen([sys.executable, "-c", CLAIMANT, folder, key], stdout=subprocess.PIPE, text=True)


def says(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_case_is_claimed_by_one_and_free_when_that_is_killed(tmp_path: Path) -> None:
    cache, key = Cache(tmp_path), "ab" * 32
    mine = cache.claim(key)
    assert mine is not None
    assert Cache(tmp_path).claim(key) is None, "nor by another sweep of this process"
    other = claimant(tmp_path, key)
    assert says(other) == "refused"
    other.kill()
    mine.release()
    other = claimant(tmp_path, key)
    assert says(other) == "claimed"
    assert cache.claim(key) is None
    other.kill()
    other.wait()
    again = cache.claim(key)
    assert again is not None, "a claim ends with its process"
    again.release()
    assert (tmp_path / "claims").stat().st_size == 0


def test_three_sweeps_play_each_case_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[str] = []
    keep = Cache.put

    def put(self: Cache, key: str, payload: Any) -> None:
        played.append(key)
        keep(self, key, payload)

    monkeypatch.setattr(Cache, "put", put)
    monkeypatch.setattr(campaign, "POLL_S", 0.01)
    begin = threading.Barrier(3)
    outcomes: list[Any] = []

    def one() -> None:
        begin.wait()
        outcomes.append(ssdlab.sweep({**SMALL, "axes": {"seed": [*range(24)]}}, cache=tmp_path, threads=1))

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(played) == sorted(set(played))
    assert len(played) == sum(outcome.played for outcome in outcomes) == 24
    assert all(outcome.table.equals(outcomes[0].table) for outcome in outcomes)
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".journal" and path.name != "claims"
    ]


def test_of_threads_that_claim_a_case_one_has_it(tmp_path: Path) -> None:
    cache, begin = Cache(tmp_path), threading.Barrier(3)
    failed: list[BaseException] = []
    having: list[int] = []

    def one() -> None:
        begin.wait()
        try:
            for _ in range(1500):
                claim = cache.claim("ab" * 32)
                if claim is not None:
                    having.append(1)
                    assert len(having) == 1
                    having.pop()
                    claim.release()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert not list(tmp_path.rglob("*.aside"))


def test_a_sweep_takes_other_cases_first_and_over_from_one_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "POLL_S", 0.01)
    first = ssdlab.run(requests=SMALL["run"]["requests"], seed=1)
    key = key_of(first.manifest.to_dict())
    other = claimant(tmp_path, key)
    assert says(other) == "claimed"
    done: list[int] = []

    def progress(now: campaign.SweepProgress) -> None:
        done.append(now.done)
        if done.count(3) == 2:  # it has waited for the other
            os.kill(other.pid, signal.SIGKILL)

    with pytest.warns(UserWarning, match="played by another sweep: waiting for it"):
        outcome = ssdlab.sweep(SMALL, cache=tmp_path, threads=1, progress=progress)
    other.wait()
    assert outcome.played == 4
    assert outcome.table["host.read.latency_ns.mean"][0] == first.host.read.latency_ns.mean
    assert {3, 4} <= set(done)


def test_what_killed_sweeps_leave_is_removed_and_what_is_used_is_not(tmp_path: Path) -> None:
    ssdlab.sweep(SMALL, cache=tmp_path)
    shard = tmp_path / "ab"
    shard.mkdir()
    stale = [shard / "tmpabc.tmp", shard / ".x.json.gz.0000aaaa.tmp", shard / f"{'1' * 64}.claim"]
    young = shard / "young.tmp"
    for path in (*stale, young):
        path.write_text("half")
    for path in stale:
        os.utime(path, (1, 1))
    ssdlab.sweep(SMALL, cache=tmp_path)
    assert not any(path.exists() for path in stale)
    assert young.exists()


class Deserted(ExternalExecutor):
    """A cluster that has lost all its workers: no case comes to an end."""

    def __init__(self, limit: int) -> None:
        super().__init__(Executor())
        self.checks, self.limit = 0, limit

    def submit(self, options: Any, key: str, manifest: Any) -> Future[Answer]:
        return Future()

    def check(self) -> None:
        self.checks += 1
        if self.checks > self.limit:
            raise ssdlab.SimulationError("no worker for long")

    def close(self) -> None:
        pass


class Dying(Executor):
    """Plays a case, and is broken at the next ones, as a pool of processes is whose worker was killed."""

    def __init__(self, error: Exception, broken: bool) -> None:
        self.error, self.broken, self.tasks = error, broken, 0

    def submit(self, fn: Any, /, *words: Any, **_: Any) -> Future[Any]:
        self.tasks += 1
        future: Future[Any] = Future()
        if self.tasks == 1:
            future.set_result(fn(*words))
        elif self.tasks > 2 and self.broken:
            raise self.error
        else:
            future.set_exception(self.error)
        return future


@pytest.mark.parametrize(
    ("error", "broken"),
    [
        (BrokenProcessPool("a process was terminated"), True),
        (OSError("no space"), False),
        (MemoryError("no memory"), False),
    ],
)
def test_what_befalls_an_executor_is_no_failure_of_a_case(tmp_path: Path, error: Exception, broken: bool) -> None:
    first = ssdlab.sweep(SMALL, cache=tmp_path, executor=Dying(error, broken))
    assert len(first.failed) == 3
    assert all(str(error) in case.error and "run the sweep again" in case.error for case in first.failed)
    again = ssdlab.sweep(SMALL, cache=tmp_path)
    assert (again.played, again.failed) == (3, ())
    # What a case itself raises is kept.
    failed = ssdlab.sweep(SMALL, cache=tmp_path / "b", executor=Dying(ValueError("odd"), False))
    assert len(failed.failed) == len(ssdlab.sweep(SMALL, cache=tmp_path / "b").failed) == 3


def test_a_sweep_that_nobody_plays_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "WAIT_S", 0.001)
    executor = Deserted(5)
    monkeypatch.setattr(campaign, "LocalExecutor", lambda threads: executor)
    with pytest.raises(ssdlab.SimulationError, match="no worker for long"):
        ssdlab.sweep(SMALL, cache=tmp_path)
    assert executor.checks == 6
    for seed in SMALL["axes"]["seed"]:
        claim = Cache(tmp_path).claim(key_of(ssdlab.run(**SMALL["run"], seed=seed).manifest.to_dict()))
        assert claim is not None, "given back"


def done(wall_s: float) -> Answer:
    return Answer("done", {"data": {"process": {"wall_s": wall_s}}})


def test_short_cases_are_given_to_workers_together_and_long_ones_alone() -> None:
    tasks: list[list[Task]] = []
    sent: list[Future[list[Answer]]] = []

    def send(given: list[Task]) -> Future[list[Answer]]:
        tasks.append(given)
        sent.append(Future())
        return sent[-1]

    together = Together(send)
    sizes = []
    for wall_s in (0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.02, 5.0, 5.0):
        futures = [together.add(Task(Options("tlc", "default"), "0")) for _ in range(together.size)]
        together.flush()
        sizes.append(len(tasks[-1]))
        sent[-1].set_result([done(wall_s)] * sizes[-1])
        assert [future.result() for future in futures] == [done(wall_s)] * sizes[-1]
    assert sizes == [1, 2, 4, 8, 16, 32, 64, 64, 64, 5, 1]


def test_cases_that_lost_their_worker_together_are_played_again_by_themselves() -> None:
    sent: list[tuple[list[Task], Future[list[Answer]]]] = []

    def send(given: list[Task]) -> Future[list[Answer]]:
        sent.append((given, Future()))
        return sent[-1][1]

    together = Together(send)
    together.size = 3
    futures = [together.add(Task(Options("tlc", "default"), key)) for key in "abc"]
    sent[0][1].set_exception(RuntimeError("the worker has died"))
    assert ["".join(task.key for task in given) for given, _ in sent] == ["abc", "a", "b", "c"]
    for (given, future), killer in zip(sent[1:], (False, True, False), strict=True):
        assert len(given) == 1
        if killer:
            future.set_exception(RuntimeError("the worker has died"))
        else:
            future.set_result([done(1.0)])
    assert [future.exception() is None for future in futures] == [True, False, True]
    # What is cancelled here is cancelled there, and the other way round.
    together.size = 2
    first, second = (together.add(Task(Options("tlc", "default"), key)) for key in "de")
    first.cancel()
    assert sent[-1][1].cancelled()
    assert second.cancelled()


def test_files_are_looked_for_beside_the_file_that_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study").mkdir()
    for name, channels in (("study/mine", 2), ("mine", 4), ("here", 1)):
        (tmp_path / f"{name}.toml").write_text(f"[geometry]\nchannels = {channels}\n")
    (tmp_path / "study" / "tlc").write_text("a file that is called as a preset is")
    (tmp_path / "study" / "sweep.toml").write_text(
        'statistics = ["ftl.waf"]\n[run]\nrequests = 10\n[axes]\ndevice = ["mine.toml", "here.toml", "tlc"]\n'
    )
    monkeypatch.chdir(tmp_path)
    found = ssdlab.sweep("study/sweep.toml", cache="cache", keep_results=True)
    assert found.table["device"].to_list() == ["mine.toml", "here.toml", "tlc"]
    configs = [result.manifest["device"]["config"] for result in found.results.values()]
    assert [config["geometry"]["channels"] for config in configs] == [2, 1, 8]
    search = Search.read({**OBJECTIVE, "run": {"device": "mine.toml"}})
    assert search.run["device"] == "mine.toml", "a mapping has no folder"
    (tmp_path / "study" / "faults.toml").write_text('[run]\ndevice = "mine.toml"\n[draw]\nworkload = ["mine.toml"]\n')
    campaign = Campaign.read("study/faults.toml")
    assert (campaign.run["device"], campaign.draw["workload"]) == ("study/mine.toml", ["study/mine.toml"])


OBJECTIVE = {"budget": 100, "axes": {"seedless": {"a": {}}}, "objectives": {"host.read.latency_ns.mean": "min"}}


def test_a_comparison_says_what_is_the_same_what_changes_nothing_and_what_warnings_left_out() -> None:
    rows = [
        {
            "scheme": scheme,
            "bs": bs,
            "qd": qd,
            "seed": seed,
            "case": "0",
            "warnings": "overload" if scheme == "slow" and qd == 8 else None,
            "host.read.latency_ns.mean": {"fast": 100.0, "same": 100.0, "slow": 300.0}[scheme] * qd + seed,
        }
        for scheme in ("fast", "same", "slow")
        for bs in ("4KiB", "8KiB")
        for qd in (1, 8)
        for seed in (1, 2)
    ]
    found = ssdlab.compare(polars.DataFrame(rows, infer_schema_length=None))
    assert found.ties() == [["fast", "same"]]
    assert found.lost == (("slow", 4, 8),)
    assert dict(found.axes)["bs"] == 0.0
    assert dict(found.axes)["qd"] > 50.0
    text = str(found)
    assert "the same in every row: fast and same" in text
    assert "changes nothing here, by its share of all differences between cases: bs (nothing at all)" in " ".join(
        text.split()
    )
    assert "qd (" not in text
    assert "left out of slow 4 of 8" in text


def test_a_comparison_says_which_cases_have_no_result() -> None:
    def row(scheme: str, mean: float | None, seed: int, marks: str | None = None) -> dict[str, Any]:
        measured = {"host.read.latency_ns.mean": mean, "ftl.waf": None if mean is None else 1.0}
        return {"scheme": scheme, "seed": seed, "case": "0", "warnings": marks, **measured}

    schema = {"warnings": polars.String, "host.read.latency_ns.mean": polars.Float64, "ftl.waf": polars.Float64}
    rows = [row("a", 100.0, 1), row("a", 110.0, 2), row("b", None, 1), row("b", None, 2)]
    found = ssdlab.compare(polars.DataFrame(rows, schema_overrides=schema))
    assert found.failed == (("b", 2, 2),)
    why = "2 cases have no result (b 2 of 2); `ssdlab sweep` of the same file says why a case failed"
    assert f"nothing to compare: {why}." in found.takeaway()
    assert why in " ".join(str(found).split("\n\n")[-1].split())
    # Those that warnings leave out are told as well; where some are compared, the sentence is of these.
    marked = ssdlab.compare(polars.DataFrame([row("a", 9.0, 1, "overload"), *rows[1:]], schema_overrides=schema))
    assert "1 of 4 cases are left out for their warnings" in marked.takeaway()
    some = ssdlab.compare(polars.DataFrame([*rows, row("b", 55.0, 3), row("a", 110.0, 3)], schema_overrides=schema))
    assert some.failed == (("b", 2, 3),)
    assert "no result" not in some.takeaway()
    assert "2 cases have no result (b 2 of 3)" in str(some)


def test_an_axis_that_turns_another_one_round_changes_something() -> None:
    rows = [
        {"scheme": scheme, "x": x, "y": y, "seed": seed, "case": "0", "host.read.latency_ns.mean": value + seed * 1e-9}
        for seed in (1, 2)
        for y in ("a", "b")
        for scheme, x, value in (("one", 1, 100.0), ("one", 2, 200.0), ("two", 1, 200.0), ("two", 2, 100.0))
    ]
    found = dict(ssdlab.compare(polars.DataFrame(rows)).axes)
    # Neither scheme nor x moves the mean: all of the differences are theirs together.
    assert found["x"] == pytest.approx(100.0)
    assert found["y"] < 1e-6


def test_an_axis_moves_a_statistic_by_a_factor_that_zeros_do_not_have() -> None:
    table = polars.DataFrame(
        {"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "zero": [0.0, 3.0, 0.0, 3.0], "x": [1.0, 1.0, 2.0, 2.0]}
    )
    assert [moved_by(table, axis, "zero") for axis in "ab"] == [1.0, math.inf]
    assert [moved_by(table, axis, "x") for axis in "ab"] == [2.0, 1.0]
    table = table.with_columns(case=polars.lit("0")).select("a", "b", "case", "zero")
    assert "moves it most" not in verdicts.of_sweep(table, "zero")
    assert "a changes nothing" in verdicts.of_sweep(table, "zero")


def test_failures_of_one_reason_stand_together(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"case {number}: it ended at {number}.5 s\n  help: give it more" for number in range(30)]
    with pytest.raises(click.exceptions.Exit):
        report_failures([*lines, "case 31: another"], "run them again")
    shown = capsys.readouterr().err.splitlines()
    assert shown == [
        "error: 31 cases failed",
        "  help: run them again",
        "  case 0 and 29 more: it ended at 0.5 s",
        "    help: give it more",
        "  case 31: another",
    ]
