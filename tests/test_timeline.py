"""Timelines: Perfetto's own schema reads them, and they show what the run's statistics say."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

import ssdlab
from conftest import HANGS_S, SSDLAB, Cli, until
from timelines import read

AGED = {"device": "asplos21", "scheme": "pnar2", "age": "pec=2000,retention=6mo", "workload": "asplos21/usr_1"}


@pytest.mark.slow
def test_a_timeline_adds_up_to_the_statistics(tmp_path: Path) -> None:
    result = ssdlab.run("asplos21", AGED["workload"], scheme="pnar2", age=AGED["age"], requests=300)
    path = tmp_path / "run.pftrace"
    assert result.timeline(path) == path.stat().st_size
    found = read(path)
    elapsed = round(result.host.elapsed_s * 1e9)
    for number, die in enumerate(result.usage.dies):
        (track,) = [slices for name, slices in found.items() if name.endswith(f"/die {number}")]
        for cause in ("read", "hold", "load", "program", "erase"):
            spent = sum(s.end - s.begin for s in track if s.name == cause)
            assert 100 * spent / elapsed == pytest.approx(die[cause], abs=1e-9), (number, cause)
    requests = [s for name, slices in found.items() if name.endswith("/requests") for s in slices if s.depth == 0]
    assert len(requests) == 300
    longest = max(result.host[kind].latency_ns.max for kind in ("read", "write"))
    assert max(s.end - s.begin for s in requests) == longest
    assert any(s.name.startswith("speculative retry") for slices in found.values() for s in slices)


def test_the_surroundings_of_the_slowest(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "slow.pftrace"
    words = [f"--{key}={value}" for key, value in AGED.items()]
    done = cli("run", *words, "--requests=2000", "--timeline", str(path), "--slowest=2", "--json", "-")
    result = json.loads(done.stdout)
    found = read(path)
    requests = [s for name, slices in found.items() if name.endswith("/requests") for s in slices if s.depth == 0]
    slowest = max(requests, key=lambda s: s.notes["latency_ns"])
    assert slowest.notes["latency_ns"] == max(result["host"][kind]["latency_ns"]["max"] for kind in ("read", "write"))
    assert len(requests) < 200
    # Arrows lead from it to each page that it reads, and the stages of its time fill it.
    planes = [s for name, slices in found.items() if "/plane" in name for s in slices]
    reached = {flow for s in planes for flow in s.flows if s.notes.get("request") == slowest.notes["request"]}
    assert slowest.flows
    assert slowest.flows == reached


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--window", "1ms:2ms"], "give --timeline"),
        (["--timeline", "x.pftrace", "--repeat", "2"], "leave out --repeat"),
        (["--timeline", "x.pftrace", "--window", "2ms:1ms"], "ends before it begins"),
        (["--timeline", "x.pftrace", "--window", "2ms"], "10ms:12ms"),
        (["--timeline", "no/x.pftrace"], "there is no folder no"),
        (["--timeline", "-"], "--timeline -: goes to a file"),
        (["--timeline", "./x.json"], "also what --json writes"),
    ],
)
def test_what_is_wrong_is_said(cli: Cli, tmp_path: Path, words: list[str], says: str) -> None:
    done = cli("run", "--requests=100", "-q", *words, "--json=x.json")
    assert done.returncode == 2
    assert says in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_window_behind_the_end_is_told(cli: Cli) -> None:
    done = cli("run", "--requests=100", "-q", "--timeline=x.p", "--window=0ns:1us", "--window=1h:2h")
    assert done.returncode == 0
    assert done.stderr.endswith("--window 1h:2h: lies behind the end of the run: x.p shows nothing of it\n")


def test_ctrl_c_leaves_no_part_of_a_timeline(tmp_path: Path) -> None:
    words = "run --workload random-read-8k --requests 300000 -q --json x.json --timeline x.p"
    running = subprocess.Popen(
        [SSDLAB, *words.split()],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    until(lambda: list(tmp_path.glob(".x.p.*.tmp")), running)
    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=HANGS_S)
    assert running.returncode == 130
    assert stderr == "interrupted: x.p was not written; kept: x.json\n"
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
