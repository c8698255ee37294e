"""The power of a drive is cut while it is served: what was not durable is gone from what its hosts read."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from conftest import Cli
from nvme_host import BLOCK, Host, ranges, span
from nvme_target import DEALLOCATE, FLUSH, Target, refused, targets
from ssdlab import InputError
from ssdlab.runs.control import tell
from test_serve import SETS, Client, Server


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    with targets(tmp_path) as begin:
        yield begin


ON_DEMAND = ["--set", 'power.cut_at=["on-demand"]', "--set", "buffer.size=1MiB", "--control", "c"]
JOURNAL = ["--set", "mapping.journal=true", "--set", "mapping.checkpoint=64MiB"]
PAGE = 8
"""Blocks of a logical page."""


class Pages:
    """Pages with all that they may read as: what was durable last, and what was written since."""

    def __init__(self, host: Host, count: int) -> None:
        [self.queue] = host.queues
        self.states = [[bytes(PAGE * BLOCK)] for _ in range(count)]
        self.lost = 0

    def _becomes(self, page: int, first: int, data: bytes) -> None:
        now = self.states[page][-1]
        self.states[page].append(now[: first * BLOCK] + data + now[first * BLOCK + len(data) :])

    def write(self, page: int, first: int, data: bytes, *, fua: bool) -> None:
        self.queue.write(page * PAGE + first, data, fua=fua)
        self._becomes(page, first, data)
        if fua:
            self.durable()

    def deallocate(self, page: int) -> None:
        self.queue.ask(DEALLOCATE, 0, 4, namespace=1, data=ranges([(page * PAGE, PAGE)]))
        self._becomes(page, 0, bytes(PAGE * BLOCK))

    def durable(self) -> None:
        """A flush has ended: of all that was done before it."""
        self.states = [states[-1:] for states in self.states]

    def check(self) -> None:
        """After a power cut: what a page reads as is what it is from now on."""
        for page, states in enumerate(self.states):
            found = self.queue.read(page * PAGE, PAGE)
            assert found in states, f"page {page} reads as none of its {len(states)} states"
            self.lost += found != states[-1]
            self.states[page] = [found]


@pytest.mark.parametrize("words", [(), ("--data", "d"), ("--set", "power.plp=true")])
def test_a_power_cut_takes_what_was_not_durable(serve: Callable[..., Target], words: tuple[str, ...]) -> None:
    target = serve(*SETS, *ON_DEMAND, *words, *JOURNAL, "--grace", "0ns")
    control = str(target.folder / "c")
    host = Host(target.place)
    pages = Pages(host, 96)
    draw = random.Random(7)
    for _ in range(8):
        for _ in range(draw.randrange(120)):
            page, number = draw.randrange(96), draw.randrange(1 << 32)
            first = draw.randrange(PAGE)
            blocks = draw.choice([PAGE - first, 1])
            match draw.randrange(20):
                case 0:
                    pages.queue.ask(FLUSH, namespace=1)
                    pages.durable()
                case 1 | 2:
                    pages.deallocate(page)
                case kind:
                    data = struct.pack("<I", number) * (blocks * BLOCK // 4)
                    pages.write(page, first, data, fua=kind == 3)
        assert tell(control, {"do": "cut"}) == {"cut": 1}
        pages.check()
    # Capacitors keep everything that was acknowledged.
    assert (pages.lost == 0) == ("power.plp=true" in words)
    health = host.log(2, 512)
    assert struct.unpack_from("<Q", health, 144) == (8,), "unsafe shutdowns"
    host.close()
    target.end()
    result = target.result()
    assert result["power"]["cuts"] == 8
    assert result["serve"]["errors"] == 0


@pytest.mark.parametrize("past", ["preconditioned", "checkpoint"])
def test_a_drive_with_a_past_loses_what_was_not_durable(serve: Callable[..., Target], past: str) -> None:
    words = [*SETS, *ON_DEMAND, "--precondition", "write:0.01"]
    if past == "checkpoint":
        before = serve(*words, "--save", "0.ckpt", "--grace", "0ns")
        host = Host(before.place)
        for page in range(100):
            host.queues[0].write(page * PAGE, bytes([1]) * PAGE * BLOCK)
        host.close()
        before.end()
        words = ["--from", "0.ckpt", "--control", "c"]
    target = serve(*words, "--grace", "0ns")
    host = Host(target.place)
    pages = Pages(host, 64)
    for number in range(2, 8):
        for page in range(64):
            pages.write(page, 0, bytes([number]) * PAGE * BLOCK, fua=False)
        if number % 2 == 0:
            pages.queue.ask(FLUSH, namespace=1)
            pages.durable()
        else:
            tell(str(target.folder / "c"), {"do": "cut"})
        lost = pages.lost
        pages.check()
        assert (pages.lost > lost) == (number % 2 == 1), "what was written after the flush"
    host.close()
    target.end()


def test_what_is_under_way_at_a_cut_is_aborted(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, *ON_DEMAND, "--clock", "real", "--set", "host.t_firmware=2s")
    host = Host(target.place)
    [queue] = host.queues
    commands = {queue.send(1, *span(0, 8), namespace=1, data=bytes([7]) * 4096, capsule=True)}
    commands |= {queue.send(2, *span(8 * number, 8), namespace=1, expects=4096) for number in range(4)}
    # What the admin queue answers comes after what was sent before.
    host.log(2, 512)
    tell(str(target.folder / "c"), {"do": "cut"})
    found = [queue.receive() for _ in range(5)]
    assert {done.command for done in found} == commands
    assert {(done.status, done.dnr) for done in found} == {(0x005, False)}
    host.close()
    target.end()


def test_a_drive_without_power_aborts_what_it_is_asked_for(serve: Callable[..., Target], cli: Cli) -> None:
    target = serve(*SETS, *ON_DEMAND, *JOURNAL, "--grace", "0ns")
    control = str(target.folder / "c")
    host = Host(target.place)
    [queue] = host.queues
    for page in range(2):
        queue.write(page * PAGE, bytes([7]) * (PAGE * BLOCK), fua=page == 0)
    refused_on = cli("tell", "restore", "c")
    assert (refused_on.returncode, "has power" in refused_on.stderr) == (2, True)
    assert "is off" in cli("tell", "cut", "c", "--stay-off").stdout
    changes: list[Callable[[], object]] = [
        partial(queue.read, 0, PAGE),
        partial(queue.write, 0, bytes(BLOCK)),
        partial(queue.ask, FLUSH, namespace=1),
    ]
    for change in changes:
        refused(0x005, change)
    for do in ({"do": "cut"}, {"do": "rest", "for": "6mo"}, {"do": "save", "file": str(target.folder / "k")}):
        with pytest.raises(InputError, match="has no power"):
            tell(control, do)
    with pytest.raises(InputError, match=r"cut\.until: is 'noon'"):
        tell(control, {"do": "cut", "until": "noon"})
    # What the controller does by itself waits until the power is back.
    host.admin.ask(0x84, 2)
    assert host.log(0x81, 512)[2] == 2, "it is under way"
    assert tell(control, {"do": "restore"}) == {"restored": 1}
    tell(control, {"do": "health"})
    assert host.log(0x81, 512)[2] & 7 == 1, "it has ended"
    assert queue.read(0, 2 * PAGE) == bytes(2 * PAGE * BLOCK)
    queue.write(0, bytes([8]) * BLOCK)
    assert queue.read(0, 1) == bytes([8]) * BLOCK
    # What was durable outlives the time without power.
    queue.ask(FLUSH, namespace=1)
    tell(control, {"do": "cut", "until": "restore"})
    tell(control, {"do": "restore"})
    assert queue.read(0, 1) == bytes([8]) * BLOCK
    host.close()
    target.end()
    result = target.result()
    assert (result["power"]["cuts"], result["serve"]["errors"]) == (2, len(changes))


def test_a_sanitize_operation_goes_on_after_a_cut(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, *ON_DEMAND, "--clock", "real", "--set", "host.t_firmware=2s")
    host = Host(target.place)
    host.admin.ask(0x84, 2)
    tell(str(target.folder / "c"), {"do": "cut"})
    assert host.log(0x81, 512)[2] == 2, "it is under way"
    refused(0x01D, partial(host.queues[0].read, 0, 1))
    # What the drive is told now it hears after what goes on.
    tell(str(target.folder / "c"), {"do": "health"})
    host.close()
    target.end()
    trims = target.result()["host"]["trim"]["requests"]
    assert trims == 1, "the one that was not cut"


def test_a_drive_that_was_not_made_for_cuts_refuses_them(serve: Callable[..., Target], cli: Cli) -> None:
    target = serve(*SETS, "--control", "c")
    done = cli("tell", "cut", "c")
    assert done.returncode == 2
    assert "power.cut_at: is [], so that the power cannot be cut" in " ".join(done.stderr.split()), done.stderr
    assert "on-demand" in done.stderr
    # Nothing has happened to it.
    host = Host(target.place)
    host.queues[0].write(0, b"x" * BLOCK)
    assert host.queues[0].read(0, 1) == b"x" * BLOCK
    host.close()
    target.end()


def test_clients_of_nbd_lose_the_same(tmp_path: Path) -> None:
    server = Server(tmp_path, (*SETS, *ON_DEMAND, "--grace", "0ns"))
    client = Client(tmp_path / "s")
    pages = range(64)
    for page in pages:
        client.ask(1, page << 12, 1 << 12, b"a" * 4096)
    client.ask(3, 0, 0)
    for page in pages:
        client.ask(1, page << 12, 1 << 12, b"b" * 4096)
    tell(str(tmp_path / "c"), {"do": "cut"})
    found = [client.ask(0, page << 12, 1 << 12) for page in pages]
    assert set(found) <= {b"a" * 4096, b"b" * 4096}, "each is whole, and what was flushed is there"
    assert b"a" * 4096 in found, "what was in the write buffer is gone"
    client.socket.close()
    server.end()
    assert server.result()["power"]["cuts"] == 1
