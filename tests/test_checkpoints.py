"""Checkpoints: devices that are saved and loaded, runs and sweeps that go on from one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import HANGS_S, Cli, until
from ssdlab.runs.manifest import key_of
from ssdlab.runs.options import options_of
from ssdlab.runs.reproduce import Reproducer
from ssdlab.runs.runner import play as as_is
from ssdlab.sweeps.cache import Cache
from ssdlab.sweeps.campaign import _Campaign
from ssdlab.sweeps.spec import Sweep
from ssdlab.sweeps.warm import state_key

DRIVE: dict[str, Any] = {
    "geometry.channels": 2,
    "geometry.chips": 1,
    "geometry.dies": 1,
    "geometry.blocks": 64,
    "geometry.pages": 48,
    "ftl.over_provisioning": 1.0,
}
"""Of `tlc-page`: a small drive."""
SETTINGS = [f"{key}={value}" for key, value in DRIVE.items()]
SET = [word for setting in SETTINGS for word in ("--set", setting)]
WRITES = {"workload.rw": "randwrite", "workload.bs": "16KiB"}

GOES_ON = """
import sys
import ssdlab
device = ssdlab.Device.load(sys.argv[1])
print([tuple(done) for _ in range(200) for done in device.advance_to_completion()], device.now)
"""


def busy() -> ssdlab.Device:
    """A device in the middle of its work."""
    device = ssdlab.Device("tlc-page", age="pec=1500,retention=3mo", settings=DRIVE, seed=3)
    for number in range(200):
        device.submit(1000 * number, "write" if number % 3 else "read", number * 7919 % 1000 * 4096, 16384)
    device.advance(2_000_000)
    return device


def test_a_device_goes_on_in_another_process(tmp_path: Path) -> None:
    device = busy()
    assert device.outstanding > 0
    device.save(tmp_path / "busy.ckpt")
    here = [tuple(done) for _ in range(200) for done in device.advance_to_completion()]
    command = [sys.executable, "-c", GOES_ON, str(tmp_path / "busy.ckpt")]
    there = subprocess.run(command, check=True, capture_output=True, text=True, timeout=HANGS_S).stdout
    assert there == f"{here} {device.now}\n"


def test_a_device_at_work_keeps_its_policies_and_one_at_rest_need_not(tmp_path: Path) -> None:
    device = busy()
    device.save(tmp_path / "busy.ckpt")
    with pytest.raises(
        ssdlab.InputError, match=r"read\.next was \"table\" and is \"oracle\"\n  help: give it the polic"
    ):
        ssdlab.Device.load(tmp_path / "busy.ckpt", settings={"read.next": "oracle"})
    device.flush()
    device.save(tmp_path / "rests.ckpt")
    ssdlab.Device.load(tmp_path / "rests.ckpt", settings={"read.next": "oracle"})
    with pytest.raises(ssdlab.InputError, match=r"gc\.victim was \"greedy\" and is \"fifo\"\n  help: leave the device"):
        ssdlab.Device.load(tmp_path / "rests.ckpt", settings={"gc.victim": "fifo"})
    with pytest.raises(ssdlab.InputError, match="no such preset or file"):
        ssdlab.Device.load(tmp_path / "absent.ckpt")
    with pytest.raises(ssdlab.SimulationError, match=r"absent/x\.ckpt: cannot be written"):
        device.save(tmp_path / "absent" / "x.ckpt")
    (tmp_path / "rests.ckpt").write_bytes((tmp_path / "rests.ckpt").read_bytes()[:-1])
    with pytest.raises(ssdlab.InputError, match=r"rests\.ckpt: is damaged"):
        ssdlab.Device.load(tmp_path / "rests.ckpt")


def save(path: Path, **options: Any) -> ssdlab.Result:
    result = ssdlab.run("tlc-page", settings={**DRIVE, **WRITES}, requests=2000, save=path, **options)
    assert isinstance(result, ssdlab.Result)
    return result


def test_a_run_goes_on_with_the_drive_of_another(tmp_path: Path) -> None:
    path = tmp_path / "worn.ckpt"
    first = save(path, age="pec=1000")
    plain = ssdlab.run("tlc-page", settings={**DRIVE, **WRITES}, requests=2000, age="pec=1000")
    assert first.to_json(process=False) == plain.to_json(process=False), "a run that saves is the same run"
    result = ssdlab.run(checkpoint=path, requests=500, settings={"workload.rw": "randread"}, keep_requests=True)
    assert isinstance(result, ssdlab.Result)
    assert result.manifest.device.name == "worn"
    assert result.manifest.device.config.age.pec == 1000
    assert (result.host.read.requests, result.host.write.requests) == (500, 0)
    assert result.requests["request"].sort().to_list() == list(range(500))
    assert result.requests["arrival_ns"].min() == 0
    again = ssdlab.run(
        "tlc-page", checkpoint=path, requests=500, age="pec=1000", settings={**DRIVE, "workload.rw": "randread"}
    )
    assert without_name(again) == without_name(result)
    # What it starts from decides the result, and the sweeps' cache knows it.
    save(path, age="pec=1000", seed=2)
    other = ssdlab.run(checkpoint=path, requests=500, settings={"workload.rw": "randread"})
    assert other.manifest.checkpoint != result.manifest.checkpoint
    assert key_of(other.manifest.to_dict()) != key_of(result.manifest.to_dict())


@pytest.mark.slow
def test_a_command_of_a_report_asks_for_the_checkpoint(tmp_path: Path) -> None:
    save(tmp_path / "worn.ckpt")
    result = ssdlab.run(checkpoint=tmp_path / "worn.ckpt", requests=100)
    command = Reproducer().command_of(result.manifest.to_dict())
    assert command.text.endswith("--from CHECKPOINT")
    assert not command.exact
    assert command.note.startswith(f"give the file of {result.manifest.checkpoint[:19]}… in place of CHECKPOINT")


def without_name(result: Any) -> dict[str, Any]:
    data = json.loads(result.to_json(process=False))
    del data["manifest"]["device"]["name"]
    return data  # type: ignore[no-any-return]


def test_a_checkpoint_in_the_middle_of_a_run(tmp_path: Path, cli: Cli) -> None:
    workload = ["--workload", "default", "--requests", "3000", "--replay", "closed:32"]
    done = cli("run", "--device", "tlc-page", *SET, *workload, "--save", "at.ckpt", "--save-at", "5ms")
    assert done.returncode == 0, done.stderr
    assert "wrote at.ckpt (checkpoint, for --from)" in done.stdout
    device = ssdlab.Device.load(tmp_path / "at.ckpt")
    assert (device.now, device.outstanding) == (5_000_000, 32)
    done = cli("run", "--from", "at.ckpt", "--requests", "100", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["host"]["read"]["requests"] > 0
    explained = cli("explain", "--from", "at.ckpt", "--requests", "100", "--slowest", "1", "--json")
    assert explained.returncode == 0, explained.stderr
    of = json.loads(explained.stdout)[0]
    assert sum(stage["to_ns"] - stage["from_ns"] for stage in of["stages"]) == of["finish_ns"] - of["arrival_ns"]
    done = cli("run", "-q", "--from", "at.ckpt", "--requests", "100", "--timeline", "t.pftrace")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--save-at", "1ms"], "save_at is given without save\n  help: "),
        (["--save", "x.ckpt", "--save-at", "1h"], "--save-at: lies behind the end of the run, which is over after 0.0"),
        (["--save", "x.ckpt", "--save-at", "soon"], "--save-at soon: is not accepted"),
        (["--save", "absent/x.ckpt"], "--save absent/x.ckpt: cannot be written: there is no folder"),
        (["--save", "x.ckpt", "--json", "x.ckpt"], "x.ckpt: is also what"),
        (["--from", "absent.ckpt"], "absent.ckpt: cannot be read: No such file"),
        (["--from", "text"], "text: is no checkpoint of a device\n  help: make one with `ssdlab run --save FILE`"),
        (["--from", "worn.ckpt", "--save", "worn.ckpt"], "worn.ckpt: is an input of this run"),
        (["--from", "worn.ckpt", "--device", "tlc"], "worn.ckpt: is of another drive: geometry."),
    ],
)
def test_what_no_run_goes_on_from(cli: Cli, tmp_path: Path, words: list[str], problem: str) -> None:
    (tmp_path / "text").write_text("no checkpoint\n")
    if "worn.ckpt" in words:
        save(tmp_path / "worn.ckpt")
    kept = sorted(os.listdir(tmp_path))
    done = cli("run", "--requests", "100", *words)
    assert done.returncode == 2, done.stderr
    assert problem in done.stderr
    assert sorted(os.listdir(tmp_path)) == kept


def test_repeats_save_a_drive_each(tmp_path: Path) -> None:
    ssdlab.run("tlc-page", settings={**DRIVE, **WRITES}, requests=500, repeat=2, save=tmp_path / "x.ckpt")
    assert sorted(os.listdir(tmp_path)) == ["x.seed1.ckpt", "x.seed2.ckpt"]
    assert (tmp_path / "x.seed1.ckpt").read_bytes() != (tmp_path / "x.seed2.ckpt").read_bytes()


WARMED: dict[str, Any] = {
    "run": {"device": "tlc-page", **DRIVE, "workload.rw": "randread", "requests": 300},
    "warm": {**WRITES, "requests": 3000, "replay": "closed:16"},
    "axes": {"gc.victim": ["greedy", "fifo"], "workload.bs": ["4KiB", "16KiB"]},
}


@pytest.fixture
def warmed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The drives that are warmed up, by their victims."""
    found: list[str] = []

    def play(options: Any, **more: Any) -> Any:
        found.extend(setting for setting in options.settings if setting.startswith("gc.victim"))
        return as_is(options, **more)

    monkeypatch.setattr("ssdlab.sweeps.warm.play", play)
    return found


def test_a_sweep_warms_each_drive_up_once(tmp_path: Path, warmed: list[str]) -> None:
    found = ssdlab.sweep(WARMED, cache=tmp_path / "cache", threads=3)
    assert (found.failed, found.played) == ((), 4)
    assert sorted(warmed) == ["gc.victim=fifo", "gc.victim=greedy"]
    # One of the drives, warmed up by hand.
    settings = {**DRIVE, "gc.victim": "fifo"}
    ssdlab.run(
        "tlc-page", requests=3000, replay="closed:16", save=tmp_path / "fifo.ckpt", settings={**settings, **WRITES}
    )
    reads = {"workload.rw": "randread", "workload.bs": "16KiB"}
    by_hand = ssdlab.run(checkpoint=tmp_path / "fifo.ckpt", requests=300, settings=reads)
    row = found.table.row(3, named=True)
    assert row["gc.victim"] == "fifo"
    assert row["host.read.latency_ns.mean"] == by_hand.host.read.latency_ns.mean
    # Everything is kept; what is damaged is made again, and is the same.
    damaged = next((tmp_path / "cache").rglob("*.checkpoint"))
    damaged.write_bytes(damaged.read_bytes()[:-9])
    with pytest.warns(UserWarning, match=r"\.checkpoint is damaged.*played again"):
        again = ssdlab.sweep(WARMED, cache=tmp_path / "cache")
    assert again.table.equals(found.table)
    assert (again.played, len(warmed)) == (0, 3)
    with ThreadPoolExecutor(2) as pool:
        elsewhere = ssdlab.sweep(WARMED, cache=tmp_path / "other", executor=pool)
    assert elsewhere.table.equals(found.table)


def test_cases_of_one_warmed_drive_follow_one_another(tmp_path: Path) -> None:
    axes = {"workload.bs": ["4KiB", "8KiB", "16KiB"], "gc.victim": ["greedy", "fifo"]}
    cases = Sweep.read({**WARMED, "axes": axes}).cases(quick=False)
    with closing(Cache(tmp_path)) as cache:
        campaign = _Campaign(cases, cache, None)
        campaign.missing = {str(number): number for number in range(len(cases))}
        assert [*campaign.in_turn()] == ["0", "2", "4", "1", "3", "5"]


def test_a_drive_that_another_sweep_warms_up_is_waited_for(
    tmp_path: Path, warmed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {**WARMED, "axes": {"workload.bs": ["4KiB", "16KiB"]}}
    of_warm: dict[str, Any] = {"requests": 3000, "replay": "closed:16", "settings": {**DRIVE, **WRITES}}
    options = options_of({"device": "tlc-page", **of_warm})
    key = state_key(options)
    cache = Cache(tmp_path)
    claim, looked = cache.claim(key), threading.Event()
    assert claim is not None
    monkeypatch.setattr("ssdlab.sweeps.warm.time.sleep", lambda _: looked.set())
    results: list[Any] = []
    waiting = threading.Thread(target=lambda: results.append(ssdlab.sweep(about, cache=tmp_path)))
    waiting.start()
    until(looked.is_set)
    ssdlab.run("tlc-page", save=cache.checkpoint(key), **of_warm)
    claim.release()
    waiting.join(HANGS_S)
    assert results[0].played == 2
    assert warmed == []


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"warm": {"requests": 100, "gc.stop": 7}}, "gc.stop was 7 and is 5"),
        ({"warm": {"requests": 100, "geometry.blocks": 1}}, "[warm]: device: "),
        ({"warm": {"requests": 100_000, **WRITES, "wear.endurance": 1}}, "[warm]: the drive's life has ended"),
    ],
)
def test_a_drive_that_is_not_the_warm_one_is_refused(tmp_path: Path, changed: dict[str, Any], error: str) -> None:
    endurance = {name: value for name, value in changed["warm"].items() if name == "wear.endurance"}
    about = {**WARMED, **changed, "axes": {"seed": [1, 2]}, "run": {**WARMED["run"], **endurance}}
    with pytest.raises(ssdlab.InputError) as refused:
        ssdlab.sweep(about, cache=tmp_path)
    assert error in str(refused.value)


def test_a_drive_is_warmed_up_to_rest_or_as_it_stands(tmp_path: Path) -> None:
    about = {**WARMED, "axes": {"seed": [1]}}
    means = []
    for at in ("rest", "end", "5ms"):
        found = ssdlab.sweep({**about, "warm": {**WARMED["warm"], "save_at": at}}, cache=tmp_path)
        means.append(found.table["host.read.latency_ns.mean"].item())
    assert means[0] < min(means[1:]), "reads meet what the drive has still to do"
    rests = [b'"rests":true' in path.read_bytes()[:200] for path in states(tmp_path)]
    assert sorted(rests) == [False, False, True]
    with pytest.raises(ssdlab.InputError, match=r"\[warm\]: --save-at soon: is not accepted"):
        ssdlab.sweep({**about, "warm": {"save_at": "soon"}}, cache=tmp_path)


def states(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.checkpoint"))


def test_names_and_forms_of_warm_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ssdlab.InputError, match=r"sweep: gc\.victm: there is no such option or key"):
        ssdlab.sweep({**WARMED, "warm": {"gc.victm": "fifo"}}, cache=tmp_path)
    with pytest.raises(ssdlab.InputError, match=r"sweep: warm\.save_at: is no text"):
        ssdlab.sweep({**WARMED, "warm": {"save_at": 3}}, cache=tmp_path)
    with pytest.raises(ssdlab.InputError, match="sweep: warm: must be a section"):
        ssdlab.sweep({**WARMED, "warm": 3}, cache=tmp_path)


def test_policies_are_compared_on_the_same_worn_drive(tmp_path: Path) -> None:
    about = {
        "run": {"device": "tlc-page", **DRIVE, "age": "pec=1500,retention=3mo", "requests": 300},
        "warm": {**WRITES, "requests": 2000, "replay": "closed:16", "scheme": "none"},
        "axes": {"scheme": ["baseline", "pr2", "pnar2"]},
    }
    found = ssdlab.sweep(about, cache=tmp_path)
    assert found.failed == ()
    assert len(states(tmp_path)) == 1
