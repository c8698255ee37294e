"""Sweeps on a Dask cluster: a real scheduler and workers in processes of their own, on this machine's loopback.

What ``/proc/self/cwd`` stands for differs from process to process: each machine has files of its own there.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import HANGS_S, until
from ssdlab.common.frames import write_table
from ssdlab.sweeps import cluster, executors, task
from ssdlab.sweeps.cache import Cache

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not os.path.isdir("/proc/self/cwd"), reason="needs /proc")]

SSDLAB = Path(sys.executable).with_name("ssdlab")
MINE = "/proc/self/cwd"


class Machines:
    """A scheduler and workers, a folder each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}, "--port", "0")
        until(lambda: self.file.exists() and self.file.read_text().endswith("}"))
        self.address: str = json.loads(self.file.read_text())["address"]

    def worker(self, name: str, packages: Path | None = None, *words: str) -> subprocess.Popen[bytes]:
        """Starts a worker of one thread; ``packages`` go before those of this Python."""
        store = str(self.folder / name / "local")
        env = {} if packages is None else {"PYTHONPATH": str(packages)}
        return self._start(name, env, "--nthreads", "1", "--no-nanny", "--local-directory", store, *words)

    def _start(self, name: str, env: dict[str, str], *words: str) -> subprocess.Popen[bytes]:
        home = self.folder / name
        home.mkdir(exist_ok=True)
        kind = "scheduler" if name == "scheduler" else "worker"
        command = [sys.executable, "-m", "dask", kind, "--host", "127.0.0.1", "--no-dashboard", "--scheduler-file"]
        with open(home / "log", "wb") as log:
            process = subprocess.Popen(
                [*command, str(self.file), *words], cwd=home, stdout=log, stderr=log, env={**os.environ, **env}
            )
        self.processes.append(process)
        return process

    def shipped(self, name: str) -> set[str]:
        """The files that a worker has received."""
        return {path.name for path in (self.folder / name).glob("local/**/ssdlab/*/*")}

    def wait_for(self, count: int) -> None:
        """Waits until this many workers are there."""
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=HANGS_S)


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    """A scheduler without workers."""
    # A result that is lost with its worker is asked for so long before the case is played again; 30 s by default.
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "3s")
    found = Machines(tmp_path)
    yield found
    for process in found.processes:
        process.kill()
    for process in found.processes:
        process.wait(HANGS_S)


def bytes_of(outcome: Any, path: Path) -> bytes:
    write_table(outcome.table, str(path))
    return path.read_bytes()


def trace(path: Path, addresses: int, requests: int = 2000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{1000 * i},web,0,{'Read' if i % 3 else 'Write'},{i * 7919 % addresses * 4096},16384,1"
        for i in range(requests)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


FILES = f"""
[run]
requests = 30_000
device = "{MINE}/devices/mine.toml"
[axes]
scheme = ["fifo", "rps"]
seed = [1, 2, 3, 4]
[axes.workload]
trace = "{MINE}/traces/stg_0.csv"
jobs = "{MINE}/jobs.toml"
twin = {{ workload = "asplos21/stg_0", traces = "{MINE}/traces", requests = 1500, replay = "closed:4" }}
"""


def files(home: Path) -> None:
    """What :data:`FILES` reads: a device on top of another file, a chip file, a workload file, a trace."""
    presets = Path(__file__).parents[1] / "presets"
    (home / "devices" / "base").mkdir(parents=True)
    (home / "devices" / "mine.toml").write_text('base = "base/older.toml"\n[gc]\nvictim = "fifo"\n')
    (home / "devices" / "base" / "older.toml").write_text(
        f'base = "asplos21"\n[chip]\nmodel = "{MINE}/chip.toml"\nt_set = "2us"\n'
    )
    (home / "chip.toml").write_text((presets / "chips" / "tlc48.toml").read_text() + "\n# mine\n")
    (home / "jobs.toml").write_text('[workload]\nrequests = 30_000\nrw = "randrw"\nfootprint = "1GiB"\n')
    trace(home / "traces" / "stg_0.csv", 100_000)
    (home / "sweep.toml").write_text(FILES)


@pytest.mark.drawn
def test_a_worker_is_killed_and_the_table_is_that_of_one_machine(machines: Machines, tmp_path: Path) -> None:
    home = tmp_path / "client"
    files(home)
    # One worker has nothing; of the other a file is the same, one is older, one is missing.
    other = tmp_path / "b"
    shutil.copytree(home, other)
    trace(other / "traces" / "stg_0.csv", 99_999)
    (other / "jobs.toml").unlink()
    killed = machines.worker("a")
    machines.worker("b")
    machines.wait_for(2)
    sweep = [str(SSDLAB), "sweep", "sweep.toml"]
    away = subprocess.Popen(
        [*sweep, "--dask", machines.address, "--out", "away.csv", "--cache", "away"],
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Both have played by now: they take turns.
    until(lambda: len(Cache(home / "away")) >= 5)
    killed.send_signal(signal.SIGKILL)
    kept = len(Cache(home / "away"))
    output, errors = away.communicate(timeout=HANGS_S)
    assert away.returncode == 0, errors
    assert all(line.startswith("sweep.toml: ") for line in errors.splitlines()), "progress, where it takes long"
    assert kept < 20, "killed in the middle"
    assert "24 cases: 24 run" in output
    subprocess.run([*sweep, "--out", "here.csv", "--cache", "here"], cwd=home, check=True, capture_output=True)
    assert (home / "away.csv").read_bytes() == (home / "here.csv").read_bytes()
    assert len(Cache(home / "away")) == len(Cache(home / "here")) == 24
    # Of the one that was killed: what it had got by then, for the case that it began at least.
    got = {name for name in machines.shipped("a") if not name.endswith(".part")}
    device = {"mine.toml", "older.toml", "chip.toml"}
    assert device <= got <= device | {"jobs.toml", "stg_0.csv"}
    assert machines.shipped("b") == {"mine.toml", "older.toml", "jobs.toml", "stg_0.csv"}


def test_the_devices_of_an_array_are_shipped_with_it(machines: Machines, tmp_path: Path) -> None:
    """Two of them build on files of the same depth."""
    home = tmp_path / "client"
    files(home)
    (home / "devices" / "base" / "other.toml").write_text('base = "tlc"\n[chip]\nt_set = "3us"\n')
    (home / "devices" / "yours.toml").write_text('base = "base/other.toml"\n')
    (home / "array.toml").write_text(
        '[array]\nlayout = "mirror"\n[drive.a]\ndevice = "devices/mine.toml"\n'
        '[drive.b]\ndevice = "devices/yours.toml"\n'
    )
    machines.worker("a")
    machines.wait_for(1)
    sweep = {
        "run": {"array": f"{MINE}/array.toml", "requests": 500, "workload": f"{MINE}/jobs.toml"},
        "axes": {"seed": [1, 2]},
    }
    (home / "sweep.json").write_text(json.dumps(sweep))
    play = "import json, sys, ssdlab; sweep = json.load(open('sweep.json')); at = (sys.argv[1:] or [None])[0]"
    play += "; print(ssdlab.sweep(sweep, dask=at).table.write_csv())"
    tables = [
        subprocess.run([sys.executable, "-c", play, *at], cwd=home, check=True, capture_output=True, text=True).stdout
        for at in ([machines.address], [])
    ]
    assert tables[0] == tables[1]
    of_drives = {"mine.toml", "older.toml", "chip.toml", "yours.toml", "other.toml"}
    assert machines.shipped("a") == {"array.toml", "jobs.toml"} | of_drives


def other_ssdlab(folder: Path, name: str, old: str, new: str) -> Path:
    """This package with something changed in one of its files."""
    package = Path(ssdlab.__file__).parent
    shutil.copytree(package, folder / "ssdlab", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for core in package.glob("*.so"):
        (folder / "ssdlab" / core.name).symlink_to(core)
    path = folder / "ssdlab" / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    return folder


def cases_of(machines: Machines) -> int:
    """How many cases wait or are played: tasks of a sweep, as the scheduler knows them."""
    with distributed.Client(machines.address, set_as_default=False) as client:
        return int(client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


SMALL: dict[str, Any] = {"run": {"requests": 2000}, "axes": {"seed": [1, 2, 3, 4, 5, 6]}}


@pytest.mark.filterwarnings("ignore:.*no workers yet")
def test_another_ssdlab_is_refused_at_once_and_when_it_joins_later(machines: Machines, tmp_path: Path) -> None:
    older = other_ssdlab(tmp_path / "older", "_version.py", '__version__ = "0.1.0"', '__version__ = "0.0.9"')
    # The same version of everything, and it computes something else.
    other = other_ssdlab(tmp_path / "other", "runs/simulation.py", 'given = options.for_core()',
                         'given = options.for_core(); given["settings"].append("host.t_submit=2us")')  # fmt: skip
    failures: list[str] = []

    def sweep() -> None:
        with pytest.raises(ssdlab.SimulationError) as caught:
            ssdlab.sweep(SMALL, cache=tmp_path / "cache", dask=str(machines.file))
        failures.append(str(caught.value))

    waiting = threading.Thread(target=sweep)
    waiting.start()
    until(lambda: cases_of(machines) > 0)
    late = machines.worker("late", older)
    waiting.join(HANGS_S)
    assert not list((tmp_path / "cache").rglob("*.failed.gz")), "a refused worker is no failure of a case"
    late.kill()
    machines.worker("different", other)
    machines.worker("good")
    machines.wait_for(2)
    sweep()
    assert "ssdlab 0.0.9" in failures[0]
    first, second = (failure.split("here is ")[1].split("\n")[0] for failure in failures)
    there = failures[1].split(" has ")[1].split("\n")[0]
    assert first == second == task.build()
    assert there != second
    assert there.split("digest")[0] == second.split("digest")[0]
    for failure in failures:
        assert failure.startswith("another ssdlab on a worker of ")
        assert "tcp://127.0.0.1:" in failure
        assert "help: install the same build on all machines" in failure
    assert len(Cache(tmp_path / "cache")) == 0


FAULT = """
import os, ssdlab.sweeps.task
play = getattr(ssdlab.sweeps.task.play, "real", ssdlab.sweeps.task.play)
def killing(options, **words):
    if options.seed == 4 and options.workload == "default":
        os._exit(9)
    return play(options, **words)
killing.real = play
ssdlab.sweeps.task.play = killing
"""


def test_a_case_that_kills_its_workers_fails_and_the_others_do_not(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Cases that were one task are played alone after it has killed two workers, and the case kills two more.
    monkeypatch.setattr(executors, "MOST_TOGETHER", 1)
    (tmp_path / "fault.py").write_text(FAULT)
    words = ("--preload", str(tmp_path / "fault.py"))
    for name in "abc":
        machines.worker(name, None, *words)
    machines.wait_for(3)
    sweep = {**SMALL, "run": {"requests": 2000, "beyond": "refuse"}}
    sweep["axes"] = {"seed": [1, 2, 3, 4, 5, 6], "workload": {"near": "default", "far": str(tmp_path / "far.csv")}}
    (tmp_path / "far.csv").write_text("10,web,0,Read,9000000000000000,4096,1\n")
    away = ssdlab.sweep(sweep, cache=tmp_path / "away", dask=machines.address, worker_timeout=float(HANGS_S))
    failed = {(case.labels["seed"], case.labels["workload"]): case.error for case in away.failed}
    expected = {(seed, "far") for seed in range(1, 7)} | {(4, "near")}
    assert set(failed) >= expected
    assert "KilledWorker" in failed[4, "near"]
    # Dask cannot tell which case has killed a worker: one that waited on both of them is suspected too.
    beside = set(failed) - expected
    assert len(beside) <= 1
    assert all("KilledWorker" in failed[case] for case in beside)
    assert "does not lie within" in failed[1, "far"]
    here = ssdlab.sweep(sweep, cache=tmp_path / "here")
    ran = away.table.filter(away.table["host.read.requests"].is_not_null())
    assert ran.height == 5 - len(beside)
    assert ran.equals(here.table.filter(here.table["case"].is_in(ran["case"].implode())))


@pytest.mark.drawn
def test_ctrl_c_and_a_scheduler_that_goes_leave_what_was_done(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 2.0)
    long = '[run]\n"workload.requests" = 100_000_000\n[axes]\nseed = [1, 2]\n'
    (tmp_path / "long.toml").write_text(long)
    process = subprocess.Popen(
        [str(SSDLAB), "sweep", "long.toml", "--dask", machines.address],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert (
        "has no workers yet: the sweep waits for one, and ends after 30 min 0 s (--worker-timeout)\n"
        in process.stderr.readline()
    )
    machines.worker("a")
    with distributed.Client(machines.address, set_as_default=False) as client:
        until(lambda: any(client.processing().values()))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=HANGS_S)
        assert (process.returncode, errors.count("\n")) == (130, 1), errors
        assert "the results of 0 cases are kept; the same command goes on from there" in errors
        # The worker has let go of a case that would take minutes. A client is used as it is, and stays open.
        cache = tmp_path / "cache"
        done = ssdlab.sweep(SMALL, cache=cache, dask=client)
        assert (done.played, done.failed) == (6, ())
        assert client.status == "running"

    def kill(progress: Any) -> None:
        if progress.done == 8:
            machines.scheduler.kill()

    more = {**SMALL, "axes": {"seed": list(range(1, 300))}}
    with pytest.raises(ssdlab.SimulationError, match="has gone\n  help: start it and its workers again") as caught:
        ssdlab.sweep(more, cache=cache, dask=machines.address, progress=kill)
    assert machines.address in str(caught.value)
    kept = len(Cache(cache))
    assert 8 <= kept < 299
    assert ssdlab.sweep(more, cache=cache).played == 299 - kept


def test_files_in_pieces_and_copies_that_are_damaged(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CHUNK", 10_000)
    monkeypatch.chdir(tmp_path)
    near = trace(tmp_path / "near.csv", 1000)
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "mine.py").write_text("def all_alike(operation):\n    return 0\n")
    shipped = {"workload": f"{MINE}/near.csv", "device": f"{MINE}/empty.toml"}
    sweep = {"run": {**shipped, "policies": f"order={MINE}/mine.py:all_alike"}, "axes": {"seed": [1, 2]}}
    machines.worker("a")
    machines.wait_for(1)
    for seeds in ([1, 2], [3, 4]):
        sweep["axes"] = {"seed": seeds}
        away = ssdlab.sweep(sweep, cache=tmp_path / "away", dask=machines.address)
        here = ssdlab.sweep(sweep, cache=tmp_path / "here")
        assert bytes_of(away, tmp_path / "away.csv") == bytes_of(here, tmp_path / "here.csv")
        (copy,) = tmp_path.glob("a/local/**/near.csv")
        assert copy.read_bytes() == near.read_bytes()
        copy.write_bytes(near.read_bytes().replace(b"Read", b"Rest"))
    assert machines.shipped("a") == {"near.csv", "empty.toml", "mine.py"}


def test_a_cluster_that_loses_its_workers_ends_the_sweep_with_what_is_kept(machines: Machines, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with (
        pytest.warns(UserWarning, match="has no workers yet: the sweep waits for one, and ends after 0 s"),
        pytest.raises(ssdlab.SimulationError, match=r"has had no worker for 0 s\n  help: start workers"),
    ):
        ssdlab.sweep(SMALL, cache=cache, dask=machines.address, worker_timeout=0)
    worker = machines.worker("a")
    machines.wait_for(1)
    long = {"run": {"requests": 30_000}, "axes": {"seed": list(range(200))}}

    def progress(now: Any) -> None:
        if now.done == 2:
            worker.kill()

    with (
        pytest.warns(UserWarning, match="has lost all its workers: the sweep waits for one"),
        pytest.raises(ssdlab.SimulationError, match=r"has had no worker for 1 s\n.*what was done is kept"),
    ):
        ssdlab.sweep(long, cache=cache, dask=machines.address, worker_timeout=1, progress=progress)
    kept = len(Cache(cache))
    assert 2 <= kept < 200


def test_a_file_that_changes_while_a_sweep_runs_is_found_out(machines: Machines, tmp_path: Path) -> None:
    near = trace(tmp_path / "near.csv", 1000)
    sweep = {"run": {"workload": str(near)}, "axes": {"seed": list(range(1, 9))}}

    def change(progress: Any) -> None:
        if progress.done == 1:
            trace(near, 999)

    def check(**where: Any) -> None:
        trace(near, 1000)
        cache = tmp_path / f"cache-{len(where)}-{next(iter(where))}"
        outcome = ssdlab.sweep(sweep, cache=cache, progress=change, **where)
        assert 1 <= outcome.played - len(outcome.failed) < 8
        for failed in outcome.failed:
            assert str(near) in failed.error
            assert "while" in failed.error, failed.error
        assert not list(cache.rglob("*.failed.gz"))
        trace(near, 1000)
        again = ssdlab.sweep(sweep, cache=cache)
        assert (again.played, again.failed) == (len(outcome.failed), ())

    check(threads=1)
    machines.worker("a")
    machines.wait_for(1)
    check(dask=machines.address)


def test_who_does_not_answer_and_what_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    (tmp_path / "empty.json").write_text("{}")
    (tmp_path / "other.json").write_bytes(b"\xff[axes]")
    for address, problem in {
        "tcp://127.0.0.1:1": "no scheduler answers\n  help: give the address",
        "nowhere": "is no address and no file\n  help: give the address",
        "tpc://127.0.0.1:1": "no scheduler answers\n  help: give the address",
        str(tmp_path / "empty.json"): "is no scheduler file\n  help: give the address",
        str(tmp_path / "other.json"): "is no scheduler file\n  help: give the address",
    }.items():
        with pytest.raises(ssdlab.InputError, match=f"--dask {address}: {problem}"):
            ssdlab.sweep(SMALL, cache=tmp_path, dask=address)
    (tmp_path / "sweep.toml").write_text("[axes]\nseed = [1]\n")
    (tmp_path / "distributed.py").write_text("raise ImportError('No module named distributed')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = cli("sweep", "sweep.toml", "--dask", "tcp://127.0.0.1:1")
    assert done.returncode == 2
    assert "help: pip install 'ssdlab[dask]'" in done.stderr
    done = cli("study", "run", "theory", "--dask", "tcp://127.0.0.1:1", "--threads", "2")
    assert done.returncode == 2
    assert "leave it out with --dask" in done.stderr


def test_the_state_of_a_drive_that_was_warmed_up_here_is_shipped(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    machines.worker("a")
    machines.wait_for(1)
    sweep = {
        "run": {"device": "tlc-page", "geometry.blocks": 200, "workload.rw": "randread", "requests": 200},
        "warm": {"workload.rw": "randwrite", "requests": 500},
        "axes": {"workload.bs": ["4KiB", "16KiB"]},
    }
    away = ssdlab.sweep(sweep, cache=f"{MINE}/away", dask=machines.address)
    here = ssdlab.sweep(sweep, cache=tmp_path / "here")
    assert bytes_of(away, tmp_path / "away.csv") == bytes_of(here, tmp_path / "here.csv")
    (state,) = tmp_path.glob("away/*/*.checkpoint")
    assert machines.shipped("a") == {state.name}
