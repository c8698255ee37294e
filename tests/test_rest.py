"""Time passes: drives that are left alone for months, in the library and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli
from ssdlab import Device

PAGE = 16384
SMALL = {
    "geometry.channels": 1,
    "geometry.chips": 1,
    "geometry.dies": 1,
    "geometry.blocks": 40,
    "geometry.pages": 24,
    "ftl.over_provisioning": 0.8,
    # Old data is slow, as long as a vendor's table is walked.
    "read.start": "default",
    "read.next": "table",
}
MONTH = 30 * 86_400.0
WORDS = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]


def load(op: str) -> list[str]:
    """A workload of requests one after the other, over 6 MiB."""
    keys = {"rw": op, "bs": "16KiB", "requests": 400, "rate_iops": 1000}
    return [word for key, value in keys.items() for word in ("--set", f"workload.{key}={value}")]


def latencies(device: Device, pages: range) -> list[int]:
    """What reading each of some pages takes, one after the other [ns]."""
    found = []
    for page in pages:
        begin = device.now
        device.submit(begin, "read", page * PAGE, PAGE)
        [done] = device.advance_to_completion()
        found.append(done.finish_ns - begin)
    return found


def written(device: Device, pages: range) -> Device:
    for page in pages:
        device.submit(device.now, "write", page * PAGE, PAGE)
        device.advance_to_completion()
    device.flush()
    return device


def test_a_drive_that_has_rested_reads_as_one_of_that_age() -> None:
    rested = Device("tlc", age="pec=1000,retention=0s", settings=SMALL)
    young = Device("tlc", age="pec=1000,retention=0s", settings=SMALL)
    old = Device("tlc", age="pec=1000,retention=6mo", settings=SMALL)
    rested.rest("2mo")
    rested.rest("4mo")
    assert rested.now == 0, "nothing was under way"
    pages = range(200)
    found = latencies(rested, pages)
    assert found == latencies(old, pages)
    assert sum(found) > 3 * sum(latencies(young, pages))


def test_data_of_the_run_grows_old_with_the_rest_and_what_comes_after_is_young() -> None:
    device = written(Device("tlc", age="pec=1000", settings=SMALL), range(200))
    before = device.conditions(0)
    fresh = latencies(device, range(200))
    device.rest("6mo")
    after = device.conditions(0)
    assert before is not None
    assert after is not None
    assert before.pec == after.pec, "wear is unchanged"
    assert 6 * MONTH <= after.retention_s < 6 * MONTH + 10
    assert sum(latencies(device, range(200))) > 3 * sum(fresh)
    written(device, range(1))
    young = device.conditions(0)
    assert young is not None
    assert young.retention_s < 10
    # Arrhenius: 13 h at 85 C are a year at 30 C.
    device.rest("13h", at="85C")
    hot = device.conditions(0)
    assert hot is not None
    assert hot.retention_s == pytest.approx(365 * 86_400, rel=0.01)


@pytest.mark.parametrize(("period", "moves"), [("7mo", False), ("2mo", True)])
def test_a_rest_refreshes_what_is_due_and_nothing_else(period: str, moves: bool) -> None:
    settings = {**SMALL, "refresh.period": period}
    device = written(Device("tlc", age="pec=1000", settings=settings), range(400))
    before = device.now
    device.rest("6mo")
    ages = [found.retention_s for page in range(400) if (found := device.conditions(page * PAGE)) is not None]
    assert (device.now > before) == moves
    # A block is looked at once in a period: what is too old then is at most two periods old. Open blocks are left.
    moved = sum(age <= 4 * MONTH for age in ages)
    assert (moved > 200) if moves else (moved == 0)


def test_the_command_makes_a_checkpoint_old(cli: Cli, tmp_path: Path) -> None:
    run = ("run", "--device", "tlc", *WORDS, "--age", "pec=1000,fill=0", *load("write"))
    assert cli(*run, "--quiet", "--save", "young.ckpt").returncode == 0
    done = cli("age", "young.ckpt", "--for", "6mo", "--save", "old.ckpt")
    assert (done.returncode, done.stdout.startswith("wrote old.ckpt")) == (0, True), done.stderr
    means = []
    for name in ("young.ckpt", "old.ckpt"):
        read = ("run", "--from", name, *load("read"), "--json", "-", "--quiet")
        found = cli(*read)
        assert found.returncode == 0, found.stderr
        means.append(json.loads(found.stdout)["host"]["read"]["latency_ns"]["mean"])
    assert means[1] > 3 * means[0]
    assert cli("age", "young.ckpt", "--for", "1mo").returncode == 0
    assert Device.load(tmp_path / "young.ckpt").now == Device.load(tmp_path / "old.ckpt").now
    (tmp_path / "no").write_text("tlc")
    for words, problem in [
        (("young.ckpt", "--for", "soon"), "--for soon: is not accepted"),
        (("young.ckpt", "--for", "1mo", "--at", "400C"), "--at 400C: is not accepted"),
        (("tlc", "--for", "1mo"), "tlc: there is no such file"),
        (("no", "--for", "1mo"), "no: is no checkpoint"),
    ]:
        refused = cli("age", *words)
        assert (refused.returncode, problem in refused.stderr, "help:" in refused.stderr) == (2, True, True), refused
    assert not (tmp_path / "tlc").exists()
