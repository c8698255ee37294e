"""Timelines: Perfetto's own schema reads them, and they show what the run's statistics say."""

import json
import signal
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import SSDLAB, Cli, until

schema = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto is not installed")

AGED = {"device": "asplos21", "scheme": "pnar2", "age": "pec=2000,retention=6mo", "workload": "asplos21/usr_1"}


class Slice:
    """A slice of a trace, with what stands in its notes."""

    def __init__(self, name: str, begin: int, depth: int, event: Any) -> None:
        self.name, self.begin, self.end, self.depth = name, begin, begin, depth
        self.notes = {note.name: note.uint_value for note in event.debug_annotations}
        self.flows = set(event.flow_ids)


def read(path: Path) -> dict[str, list[Slice]]:
    """The slices of every track, by the names on the way to it."""
    from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-untyped]

    trace = schema.Trace()
    trace.ParseFromString(path.read_bytes())
    names: dict[int, str] = {0: ""}
    open_: dict[int, list[Slice]] = defaultdict(list)
    found: dict[str, list[Slice]] = defaultdict(list)
    for packet in trace.packet:
        for message in (packet, packet.track_event, packet.track_descriptor):
            assert len(UnknownFieldSet(message)) == 0
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            names[track.uuid] = f"{names[track.parent_uuid]}/{track.name}"
            continue
        event, stack = packet.track_event, open_[packet.track_event.track_uuid]
        if event.type == schema.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append(Slice(event.name, packet.timestamp, len(stack), event))
            found[names[event.track_uuid]].append(stack[-1])
        elif event.type == schema.TrackEvent.TYPE_SLICE_END:
            stack.pop().end = packet.timestamp
    assert not any(open_.values())
    return found


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
    assert done.stderr == "--window 1h:2h: lies behind the end of the run: x.p shows nothing of it\n"


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
    _, stderr = running.communicate(timeout=60)
    assert running.returncode == 130
    assert stderr == "interrupted: x.p was not written; kept: x.json\n"
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
