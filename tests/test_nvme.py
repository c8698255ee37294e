"""Drives served as NVMe drives: a host without a kernel, exact; and a stock kernel in a virtual machine."""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import polars as pl
import pytest

import kernel
from conftest import Cli
from nvme_host import BLOCK, DISCOVERY, HOST, NQN, Host, Queue, RefusedError, TerminatedError, crc32c, ranges, span
from test_serve import AGED, SETS, Server, busy

FLUSH, WRITE, READ, COMPARE, ZEROES, DEALLOCATE, VERIFY, COPY = 0, 1, 2, 5, 8, 9, 12, 0x19
READ_ONLY, UNRECOVERED, COMPARE_FAILURE, DEALLOCATED = 0x182, 0x281, 0x285, 0x287
INVALID_OPCODE, INVALID_FIELD, INVALID_NAMESPACE, SEQUENCE, OUT_OF_RANGE = 0x001, 0x002, 0x00B, 0x00C, 0x080


class Target(Server):
    """``ssdlab serve --nvme`` in a folder of its own."""

    def __init__(self, folder: Path, words: tuple[str, ...]) -> None:
        super().__init__(folder, ("--nvme", "127.0.0.1:0", *words), None)
        host, _, port = self.log.read_text().partition("nvme+tcp://")[2].split("/")[0].rpartition(":")
        self.place = (host, int(port))


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    targets: list[Target] = []

    def begin(*words: str) -> Target:
        targets.append(Target(tmp_path, words))
        return targets[-1]

    yield begin
    for target in targets:
        if target.process.poll() is None:
            target.process.kill()
            target.process.wait()


def refused(status: int, of: Callable[[], object]) -> RefusedError:
    with pytest.raises(RefusedError) as found:
        of()
    assert found.value.status == status, f"{found.value.status:#x}"
    return found.value


def text(data: bytes, at: int, length: int) -> str:
    return data[at : at + length].decode().strip()


def test_what_the_drive_says_of_itself(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--age", "pec=1200", "--set", "wear.endurance=3000")
    host = Host(target.place, queues=100)
    assert host.granted == 8, "the drive's submission queues"
    controller = host.identify(1)
    assert text(controller, 24, 40) == "ssdlab tlc"
    assert text(controller, 64, 8) == "0.1.0"
    assert len(text(controller, 4, 20)) == 16
    assert controller[768:1024].rstrip(b"\0").decode() == NQN
    assert struct.unpack_from("<H", controller, 78) == (host.controller,)
    mdts, queues = controller[77], struct.unpack_from("<I", controller, 516)[0]
    assert (4096 << mdts, queues) == (256 << 10, 1)
    (capacity,) = struct.unpack_from("<Q", controller, 280)
    namespace = host.identify(0, 1)
    blocks, capable, used = struct.unpack_from("<QQQ", namespace)
    assert blocks * BLOCK == capacity
    assert blocks == capable == used
    assert namespace[128:132] == bytes([0, 0, 9, 0])
    assert struct.unpack_from("<H", namespace, 64) == (4096 // BLOCK - 1,)
    assert struct.unpack_from("<III", host.identify(2)) == (1, 0, 0)
    assert struct.unpack_from("<I", host.identify(2, 1)) == (0,)
    descriptors = host.identify(3, 1)
    assert descriptors[:2] == bytes([3, 16])
    assert descriptors[20:25] == bytes([4, 1, 0, 0, 0])
    assert struct.unpack_from("<Q", host.identify(0x1C)) == (1,)
    assert struct.unpack_from("<HH", host.identify(0x13)) == (1, host.controller)
    for structure, number in [(0, 2), (0, 0), (3, 7)]:
        refused(INVALID_NAMESPACE, partial(host.identify, structure, number))
    refused(INVALID_FIELD, lambda: host.identify(0x77))

    # Logs: what is supported, effects, firmware; parts of a page are the same as the whole.
    supported = struct.unpack("<256I", host.log(0, 1024))
    assert [page for page, found in enumerate(supported) if found] == [0, 1, 2, 3, 5, 0x12]
    effects = host.log(5, 4096)
    of_io = struct.unpack_from("<256I", effects, 1024)
    assert {opcode for opcode, found in enumerate(of_io) if found} == {0, 1, 2, 5, 8, 9, 12, 0x19}
    assert text(host.log(3, 512), 8, 8) == "0.1.0"
    assert host.log(5, 64, 1024) == effects[1024:1088]
    refused(0x109, lambda: host.log(0x99, 512))

    health = host.log(2, 512)
    assert health[0] == 0
    assert struct.unpack_from("<H", health, 1) == (303,)
    assert (health[3], health[5]) == (100, 40), "spare, and 1,200 of 3,000 cycles"
    assert struct.unpack_from("<QQQQ", health, 32) == (0, 0, 0, 0)
    queue = host.queues[0]
    queue.write(0, bytes(512) * 8)
    for block in range(0, 64, 8):
        queue.read(block, 8)
    health = host.log(2, 512)
    units_read, units_written, reads, writes = (struct.unpack_from("<Q", health, at)[0] for at in (32, 48, 64, 80))
    assert (units_read, units_written, reads, writes) == (1, 1, 8, 1)
    assert struct.unpack_from("<Q", health, 112) == (1,)
    for opcode in (0x99, 0x05):
        refused(INVALID_OPCODE, partial(host.admin.ask, opcode))
    refused(INVALID_OPCODE, lambda: queue.ask(0x7D, namespace=1))
    errors = host.log(1, 64 * 4)
    count, of_queue, _, status = struct.unpack_from("<QHHH", errors)
    assert (of_queue, status >> 1 & 0x7FF) == (1, INVALID_OPCODE)
    assert struct.unpack_from("<Q", host.log(2, 512), 176) == (count,)
    host.close()


@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("data", [False, True])
def test_a_host_reads_what_it_wrote(serve: Callable[..., Target], header: bool, data: bool) -> None:
    target = serve(*SETS, "--grace", "0ns")
    host = Host(target.place, queues=2, header_digest=header, data_digest=data)
    first, second = host.queues
    assert crc32c(b"123456789") == 0xE3069283
    for blocks, capsule in [(1, True), (8, True), (16, True), (1, False), (33, False), (512, False)]:
        written = os.urandom(blocks * BLOCK)
        asked = first.ready_to_transfer
        first.write(1000 + blocks, written, capsule=capsule)
        assert first.ready_to_transfer == asked + (not capsule)
        assert second.read(1000 + blocks, blocks) == written, "each queue has the same drive"
    assert second.read(0, 4) == bytes(4 * BLOCK), "what was never written"
    # Several at once, their data in any order.
    kept = {}
    for number in range(100):
        kept[number] = os.urandom(BLOCK * (1 + number % 20))
        first.send(WRITE, *span(5000 + 32 * number, len(kept[number]) // BLOCK), namespace=1, data=kept[number])
    assert all(first.receive().status == 0 for _ in range(100))
    commands = {
        second.send(READ, *span(5000 + 32 * number, len(data) // BLOCK), namespace=1, expects=len(data)): data
        for number, data in kept.items()
    }
    for _ in range(100):
        done = second.receive()
        assert (done.status, done.data) == (0, commands.pop(done.command))
    host.close()
    target.end()
    assert target.result()["serve"]["errors"] == 0
    assert target.result()["manifest"]["workload"] == {"driver": "NVMe hosts"}


def test_commands_of_the_nvm_command_set(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    data = os.urandom(64 * BLOCK)
    queue.write(0, data, fua=True)
    queue.ask(FLUSH, namespace=1)
    queue.ask(FLUSH, namespace=0xFFFFFFFF)
    queue.ask(COMPARE, *span(0, 64), namespace=1, data=data)
    found = refused(COMPARE_FAILURE, lambda: queue.ask(COMPARE, *span(1, 64), namespace=1, data=data))
    assert found.status == COMPARE_FAILURE
    queue.ask(VERIFY, *span(0, 64), namespace=1)
    queue.ask(ZEROES, *span(8, 8), namespace=1)
    queue.ask(ZEROES, *span(16, 8, 1 << 25), namespace=1)
    assert queue.read(0, 64) == data[: 8 * BLOCK] + bytes(16 * BLOCK) + data[24 * BLOCK :]
    # Dataset Management: hints alone change nothing; ranges may have room behind them.
    queue.ask(DEALLOCATE, 1, 0, namespace=1, data=ranges([(0, 8), (32, 32)]))
    assert queue.read(0, 8) == data[: 8 * BLOCK]
    queue.ask(DEALLOCATE, 1, 4, namespace=1, data=ranges([(0, 8), (32, 32)]).ljust(4096, b"\0"), capsule=True)
    assert queue.read(0, 64) == bytes(24 * BLOCK) + data[24 * BLOCK : 32 * BLOCK] + bytes(32 * BLOCK)
    # Copy.
    queue.write(0, data)
    copied = b"".join(struct.pack("<8xQH14x", block, blocks - 1) for block, blocks in [(60, 4), (0, 10)])
    queue.ask(COPY, 200, 0, 1, namespace=1, data=copied)
    assert queue.read(200, 14) == data[60 * BLOCK :] + data[: 10 * BLOCK]
    # What lies outside, and what makes no sense.
    (blocks,) = struct.unpack_from("<Q", host.identify(0, 1))
    refused(OUT_OF_RANGE, lambda: queue.read(blocks - 3, 4))
    refused(OUT_OF_RANGE, lambda: queue.read(2**64 - 2, 4))
    refused(OUT_OF_RANGE, lambda: queue.ask(DEALLOCATE, 0, 4, namespace=1, data=ranges([(blocks, 1)])))
    refused(INVALID_NAMESPACE, lambda: queue.ask(READ, *span(0, 1), namespace=2, expects=512))
    refused(INVALID_FIELD, lambda: queue.read(0, 513))
    refused(0x00F, lambda: queue.ask(READ, *span(0, 2), namespace=1, expects=512))
    refused(0x183, lambda: queue.ask(COPY, 0, 0, 0, namespace=1, data=struct.pack("<8xQH14x", 0, 4000)))
    refused(INVALID_FIELD, lambda: queue.ask(WRITE, *span(0, 1, 1 << 20), namespace=1, data=bytes(512)))
    # Blocks that hold nothing are errors where the host wants that.
    queue.ask(DEALLOCATE, 0, 4, namespace=1, data=ranges([(0, 64)]))
    host.admin.ask(9, 5, 1 << 16, namespace=1)
    assert host.admin.ask(10, 5, namespace=1) == (1 << 16, b"")
    assert refused(DEALLOCATED, lambda: queue.read(0, 32)).status == DEALLOCATED
    host.admin.ask(9, 5, 0, namespace=1)
    assert queue.read(0, 64) == bytes(64 * BLOCK)
    host.close()
    target.end()
    assert target.result()["serve"]["errors"] == 10
    assert target.result()["host"]["write"]["requests"] == 4


def test_features_and_properties(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    host = Host(target.place, queues=0)
    ask = host.admin.ask
    capabilities, _ = ask(0x7F, 1, 0, namespace=4)
    assert (capabilities & 0xFFFF, capabilities >> 37 & 0xFF) == (127, 0x41)
    assert ask(0x7F, 0, 8, namespace=4)[0] == 0x20000
    refused(INVALID_FIELD, lambda: ask(0x7F, 0, 0x999, namespace=4))
    assert ask(10, 0x0B)[0] == 0xFF
    ask(9, 0x0B, 4)
    assert ask(10, 0x0B)[0] == 4
    assert ask(10, 4)[0] == 273 + 75
    assert ask(10, 6)[0] == 1
    assert ask(10, 0x81, 1, expects=16)[1] == bytes(range(16))
    refused(0x10E, lambda: ask(9, 0x81, 1, data=bytes(16)))
    refused(0x10D, lambda: ask(9, 6 | 1 << 31, 0))
    refused(INVALID_FIELD, lambda: ask(10, 0x55))
    assert ask(9, 7, 2 << 16 | 1)[0] == 1 << 16 | 1
    queue = host.queue(1)
    refused(SEQUENCE, lambda: ask(9, 7, 0))
    # A write cache that is off: each write is followed by a flush.
    queue.write(0, bytes(BLOCK))
    ask(9, 6, 0)
    queue.write(8, bytes(BLOCK))
    assert ask(8, 1, namespace=0)[0] == 1, "nothing was aborted"
    ask(0x18)
    # Without placement handles there are no directives.
    refused(INVALID_OPCODE, lambda: ask(0x1A, 1023, 1, namespace=1, expects=4096))
    # A reset ends the I/O queues.
    ask(0x7F, 0, 0x14, 0x460000, namespace=0)
    with pytest.raises(TerminatedError):
        queue.read(0, 1)
    refused(SEQUENCE, lambda: host.identify(1))
    ask(0x7F, 0, 0x14, 0x464001, namespace=0)
    assert ask(0x7F, 0, 0x1C, namespace=4)[0] == 1
    host.close()
    target.end()
    host_of = target.result()["host"]
    assert host_of["write"]["requests"] == 2
    assert host_of["flush"]["requests"] == 1


def test_streams_are_placement_handles(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--set", "ftl.hints=4", "--requests-out", "r.parquet", "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    assert struct.unpack_from("<H", host.identify(1), 256) == (1 << 5,)
    _, parameters = host.admin.ask(0x1A, 1023, 1, namespace=1, expects=4096)
    assert (parameters[0], parameters[32]) == (3, 1)

    def write(block: int, stream: int) -> None:
        queue.ask(WRITE, *span(block, 8, 1 << 20), stream << 16, namespace=1, data=bytes(4096))

    refused(INVALID_FIELD, lambda: write(0, 1))
    host.admin.ask(0x19, 0, 1, 1 << 8 | 1, namespace=1)
    _, parameters = host.admin.ask(0x1A, 7, 1 << 8 | 1, namespace=1, expects=32)
    assert struct.unpack_from("<HHHxxxxxxxxxxI", parameters)[:2] == (4, 4)
    for stream in range(4):
        write(stream * 64, stream)
    host.close()
    target.end()
    assert pl.read_parquet(target.folder / "r.parquet")["hint"].to_list() == [0, 1, 2, 3]


def test_what_a_drive_cannot_do_is_a_status(serve: Callable[..., Target]) -> None:
    old = ["--set", "chip.model=tlc48", "--age", "pec=3000,retention=150mo,fill=1.0", "--set", "read.rpt=none"]
    target = serve(*SETS, *old, "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    found = []
    for page in range(40):
        command = queue.send(READ, *span(page * 32, 8), namespace=1, expects=4096)
        done = queue.receive()
        assert done.command == command
        found.append(done)
    assert {done.status for done in found} <= {0, UNRECOVERED}
    lost = [done for done in found if done.status]
    assert lost
    assert all(done.dnr and done.data == b"" for done in lost)
    health = host.log(2, 512)
    assert struct.unpack_from("<Q", health, 160)[0] >= len(lost)
    errors = host.log(1, 64)
    assert struct.unpack_from("<H", errors, 12)[0] >> 1 & 0x7FF == UNRECOVERED
    host.close()
    target.end()
    assert target.result()["serve"]["errors"] == target.result()["host"]["uncorrectable"] == len(lost)


WORN = ("geometry.pages=24", "age.precondition=closed-form", "wear.erase_fail=0.3", "wear.end_of_life=read-only")


def test_a_drive_at_the_end_of_its_life_warns_and_is_read_only(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, *(word for key in WORN for word in ("--set", key)), "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    events = [host.admin.send(0x0C) for _ in range(2)]
    (blocks,) = struct.unpack_from("<Q", host.identify(0, 1))
    queue.write(0, b"kept" * 128)
    status, written = 0, 0
    while status == 0:
        for _ in range(32):
            block = 32 + written * 0x9E3779B9 % (blocks // 32 - 2) * 32
            queue.send(WRITE, *span(block, 32), namespace=1, data=bytes(32 * BLOCK))
            written += 1
        status = max(queue.receive().status for _ in range(32))
    assert status == READ_ONLY
    changes: list[Callable[[], object]] = [
        partial(queue.write, 0, bytes(BLOCK)),
        partial(queue.ask, DEALLOCATE, 0, 4, namespace=1, data=ranges([(0, 8)])),
        partial(queue.ask, COPY, 0, 0, 0, namespace=1, data=struct.pack("<8xQH14x", 8, 0)),
    ]
    for change in changes:
        refused(READ_ONLY, change)
    assert queue.read(0, 1) == b"kept" * 128
    # The host is told with the answer to what it says next, first that spare is low, or that the medium is read-only.
    keep_alive = host.admin.send(0x18)
    told = {(done := host.admin.receive()).command: done.result for _ in range(3)}
    # Little spare is left, and the reliability is degraded: each is told once.
    assert told == {keep_alive: 0, events[0]: 1 | 2 << 8 | 2 << 16, events[1]: 1 | 2 << 16}
    warning = host.log(2, 512)[0]
    assert warning & 8
    assert host.log(2, 512)[3] < 100
    host.close()
    target.end()


def test_a_power_cut_ends_what_is_under_way(serve: Callable[..., Target]) -> None:
    cut = ["--set", 'power.cut_at=["op:4"]', "--set", "buffer.size=1MiB", "--depth", "16", "--grace", "none"]
    target = serve(*SETS, *cut)
    host = Host(target.place)
    [queue] = host.queues
    for number in range(16):
        queue.send(WRITE, *span(64 * number, 64), namespace=1, data=bytes([number]) * (64 * BLOCK))
    found = []
    for number in range(16, 100):
        found.append(queue.receive())
        queue.send(WRITE, *span(64 * number, 64), namespace=1, data=bytes([number]) * (64 * BLOCK))
    found += [queue.receive() for _ in range(16)]
    ended = [done for done in found if done.status]
    assert {done.status for done in ended} == {0x005}
    assert not any(done.dnr for done in ended), "the host may try again"
    health = host.log(2, 512)
    assert struct.unpack_from("<Q", health, 112) == (2,), "power cycles"
    assert struct.unpack_from("<Q", health, 144) == (1,), "unsafe shutdowns"
    host.close()
    target.end()


def test_hosts_that_may_connect_and_how(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--allow-host", HOST, "--allow-host", "nqn.2014-08.org.nvmexpress:uuid:x")
    queue = Queue(target.place)
    refused(SEQUENCE, lambda: queue.ask(6, 1, expects=4096))
    refused(0x184, lambda: queue.connect(0, host="nqn.2014-08.org.nvmexpress:uuid:other"))
    found = refused(0x182, lambda: queue.connect(0, nqn="nqn.2026-01.internal.ssdlab:nothing"))
    assert found.result == 1 << 16 | 256, "where in the data"
    assert refused(0x182, lambda: queue.connect(0, size=0)).result == 44
    assert refused(0x182, lambda: queue.connect(0, size=500)).result == 44
    assert refused(0x182, lambda: queue.connect(3, 1)).result == 1 << 16 | 16
    controller = queue.connect(0)
    refused(SEQUENCE, lambda: queue.connect(0))
    refused(SEQUENCE, lambda: queue.ask(6, 1, expects=4096))
    io = Queue(target.place)
    refused(SEQUENCE, lambda: io.connect(1, controller))
    host = Host(target.place)
    assert host.controller != controller
    again = Queue(target.place)
    refused(SEQUENCE, lambda: again.connect(1, host.controller))
    assert refused(0x182, lambda: again.connect(2, host.controller)).result == 42, "it was given one queue"
    for other in (queue, io, again):
        other.close()
    host.close()


def test_the_discovery_controller_lists_the_drives(serve: Callable[..., Target], tmp_path: Path) -> None:
    keys = "\n".join(f'"{key}" = "{value}"' for key, value in (word.split("=") for word in SETS if word != "--set"))
    (tmp_path / "drives.toml").write_text(f"[fresh]\n{keys}\n[old]\n{keys}\n")
    target = serve("drives.toml", "--grace", "0ns")
    host = Host(target.place, queues=0, nqn=DISCOVERY)
    assert host.identify(1)[111] == 2
    log = host.log(0x70, 3072)
    assert struct.unpack_from("<QQH", log) == (1, 2, 0)
    found = []
    for at in (1024, 2048):
        assert log[at : at + 3] == bytes([3, 1, 2])
        assert (text(log, at + 512, 256), int(text(log, at + 32, 32))) == target.place
        found.append(log[at + 256 : at + 512].rstrip(b"\0").decode())
    assert found == [f"nqn.2026-01.internal.ssdlab:{name}" for name in ("fresh", "old")]
    refused(INVALID_FIELD, lambda: host.identify(0, 1))
    host.close()
    for number, nqn in enumerate(found):
        host = Host(target.place, nqn=nqn)
        host.queues[0].write(0, bytes([number]) * BLOCK)
        assert host.queues[0].read(0, 1) == bytes([number]) * BLOCK
        host.close()
    target.end()
    for name in ("fresh", "old"):
        assert target.result(f"out.{name}.json")["host"]["write"]["requests"] == 1


def terminated(status: int | None, queue: Queue, bytes_: bytes) -> TerminatedError:
    queue.socket.sendall(bytes_)
    with pytest.raises(TerminatedError) as found:
        queue.receive()
    assert found.value.status == status
    queue.close()
    return found.value


def test_who_breaks_the_protocol_is_left_and_nobody_else(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    host = Host(target.place)
    command = struct.pack("<BBHI16xQIBBBB24x", 0x7F, 0x40, 0, 1, 0, 0, 0, 0, 0, 0x5A)
    request = struct.pack("<BBBBIHBBI", 0, 0, 128, 0, 128, 0, 0, 0, 0).ljust(128, b"\0")

    def new(**framing: bool) -> Queue:
        return Queue(target.place, **framing)

    # Before anything is agreed on.
    for wrong, status, at in [
        (b"\x04" + request[1:], 2, 0),
        (request[:2] + b"\x10" + request[3:], 1, 2),
        (request[:8] + b"\x07" + request[9:], 6, 8),
        (request[:10] + b"\x40" + request[11:], 1, 10),
    ]:
        assert terminated(status, new(agrees=False), wrong).information == at
    # Headers: unknown types, lengths, digests that were not agreed on, a second ICReq.
    queue = new()
    assert terminated(1, queue, bytes([0x55, 0, 24, 0, 24, 0, 0, 0])).information == 0
    assert terminated(2, new(), request).information == 0
    queue = new()
    unit = queue.unit(4, command)
    assert terminated(1, queue, unit[:2] + b"\x40" + unit[3:]).information == 2
    assert terminated(1, new(), unit[:1] + b"\x01" + unit[2:]).information == 1
    assert terminated(1, new(), unit[:4] + struct.pack("<I", 8) + unit[8:]).information == 4
    assert terminated(5, new(), unit[:3] + b"\x48" + struct.pack("<I", 72 + 9000) + unit[8:]).information == 4
    # A digest that is wrong: of a header it ends the connection, of data the command.
    queue = new(header_digest=True)
    unit = queue.unit(4, command)
    assert terminated(3, queue, unit[:-1] + bytes([unit[-1] ^ 1])).information != 0
    hosts = [Host(target.place, data_digest=True)]
    queue = hosts[-1].queues[0]
    entry = struct.pack("<BBHI16xQIBBBBQI12x", 1, 0x40, 9, 1, 0, 512, 0, 0, 0, 1, 0, 0)
    unit = queue.unit(4, entry, bytes(512))
    queue.socket.sendall(unit[:-1] + bytes([unit[-1] ^ 1]))
    done = queue.receive()
    assert (done.command, done.status, done.dnr) == (9, 0x022, False)
    # Data that was not asked for, of another command, beyond the end, out of order, without an end.
    terminated(1, new(), queue.unit(6, struct.pack("<HHII4x", 0, 0, 0, 4), b"abcd", 4)[:28])

    def asked() -> tuple[Queue, int, int]:
        hosts.append(Host(target.place))
        of = hosts[-1].queues[0]
        sent = of.send(WRITE, *span(0, 8), namespace=1, data=bytes(4096))
        header = of._take(24)
        name, transfer = struct.unpack_from("<HH", header, 8)
        assert (header[0], name) == (9, sent)
        return of, sent, transfer

    for names, transfers, offset, length, status in [
        (1, 0, 0, 4096, 1),
        (0, 1, 0, 4096, 1),
        (0, 0, 512, 4096, 1),
        (0, 0, 0, 8192, 4),
        (0, 0, 0, 2048, 1),
    ]:
        of, name, transfer = asked()
        header = struct.pack("<HHII4x", name + names, transfer + transfers, offset, length)
        terminated(status, of, of.unit(6, header, bytes(length), 4))
    # More commands than the queue holds.
    hosts.append(Host(target.place))
    full = hosts[-1].queues[0]
    for number in range(127):
        full.send(WRITE, *span(8 * number, 8), namespace=1, data=bytes(4096))
    full.send(WRITE, *span(0, 8), namespace=1, data=bytes(4096))
    while True:
        try:
            header = full._take(24)
        except TerminatedError:
            break
        if header[0] == 3:
            assert struct.unpack_from("<H", header, 8) == (2,)
            break
    # The first host has noticed nothing.
    host.queues[0].write(0, b"x" * BLOCK)
    assert host.queues[0].read(0, 1) == b"x" * BLOCK
    host.close()
    target.end()


def test_a_host_that_falls_silent_is_left(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    queue = Queue(target.place)
    queue.connect(0, keep_alive=100)
    with pytest.raises(TerminatedError):
        queue._take(1)
    queue.close()


def test_a_host_that_does_not_listen_keeps_nobody_waiting(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "none")
    deaf = Host(target.place)
    deaf.admin.socket.settimeout(1)
    with suppress(TimeoutError):
        while True:
            deaf.admin.send(6, 1, expects=4096)
    host = Host(target.place)
    for block in range(20):
        host.queues[0].write(block, bytes([block]) * BLOCK)
        assert host.queues[0].read(block, 1) == bytes([block]) * BLOCK
    host.close()
    deaf.close()
    target.end()


def test_an_event_tells_of_a_drive_that_is_too_warm(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    host = Host(target.place)
    waits = [host.admin.send(0x0C) for _ in range(4)]
    refused(0x105, lambda: host.admin.ask(0x0C))
    # The threshold is set below its 30 degrees.
    command = host.admin.send(9, 4, 290)
    done = {(found := host.admin.receive()).command: found for _ in range(2)}
    assert set(done) == {command, waits[0]}
    assert done[waits[0]].result == 1 | 1 << 8 | 2 << 16
    assert host.log(2, 512)[0] == 2
    host.close()


SESSION = """
import os, sys, threading
sys.path.insert(0, sys.argv[1])
from nvme_host import Host, span
host = Host((sys.argv[2], int(sys.argv[3])), queues=2)
def play(queue, number):
    for turn in range(12):
        waits = {}
        for part in range(6):
            block = 4096 * number + 64 * (7 * turn + part)
            if (turn + part) % 3 == 0:
                queue.send(1, *span(block, 8 + part), namespace=1, data=bytes(512 * (8 + part)), capsule=part == 0)
            else:
                queue.send(2, *span(block, 8), namespace=1, expects=4096)
        for part in range(6):
            assert queue.receive().status == 0
threads = [threading.Thread(target=play, args=(queue, number)) for number, queue in enumerate(host.queues)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
host.log(2, 512)
host.close()
"""


@pytest.mark.slow
def test_virtual_times_are_the_same_on_a_busy_machine(serve: Callable[..., Target]) -> None:
    logs = []
    for number in range(2):
        target = serve(*SETS, *AGED, "--requests-out", f"{number}.parquet", "--grace", "none")
        with busy(3 * number):
            folder = str(Path(__file__).parent)
            target.client(sys.executable, "-c", SESSION, folder, target.place[0], str(target.place[1]))
        target.end()
        logs.append(pl.read_parquet(target.folder / f"{number}.parquet"))
        found = target.result()["serve"]
        assert (found["watched"], found["not_watched"], found["unprompted"]) == (2, [], 0)
    assert logs[0].height == 2 * 12 * 6
    assert logs[0]["queue"].unique().sort().to_list() == [0, 1]
    assert logs[0].equals(logs[1])


def test_what_is_missing_or_too_much_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    for words, problem in [
        (["--nvme", "127.0.0.1:0", "--socket", "s"], "give --socket PATH, --listen HOST:PORT or --nvme HOST:PORT"),
        (["--socket", "s", "--allow-host", "x"], "give it with --nvme HOST:PORT"),
        (["--nvme", "nowhere"], "write HOST:PORT with a port that is free, such as 127.0.0.1:4420"),
    ]:
        done = subprocess.run(
            [sys.executable, "-m", "ssdlab", "serve", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert problem in " ".join(done.stderr.split()), done.stderr


ATTACH = """
run nvme discover -t tcp -a 10.0.2.2 -s {port}
run nvme connect -t tcp -a 10.0.2.2 -s {port} -n {nqn} -i 2 --hdr-digest --data-digest
for turn in 1 2 3 4 5 6 7 8 9 10; do [ -b /dev/nvme0n1 ] || sleep 1; done
"""
DETACH = """
run nvme disconnect -n {nqn}
"""
FIO = "--ioengine=libaio --iodepth=16 --verify=crc32c --verify_fatal=1"
USES = """
run nvme id-ctrl /dev/nvme0
run nvme id-ns /dev/nvme0n1
run fio --name=job --filename=/dev/nvme0n1 --direct=1 --rw=randwrite --bsrange=512-64k --size=8m {fio}
run mke2fs -q -t ext4 -F /dev/nvme0n1 64M
run mount -t ext4 -o discard /dev/nvme0n1 /mnt
run dd if=/dev/urandom of=/mnt/a bs=64k count=64
run cp /mnt/a /mnt/b
run umount /mnt
run mount -t ext4 /dev/nvme0n1 /mnt
run cmp /mnt/a /mnt/b
run rm /mnt/b
run umount /mnt
run e2fsck -fn /dev/nvme0n1
run mkfs.f2fs -q -f /dev/nvme0n1
run mount -t f2fs /dev/nvme0n1 /mnt
run dd if=/dev/urandom of=/mnt/a bs=64k count=16
run umount /mnt
run fsck.f2fs /dev/nvme0n1
run nvme write-zeroes /dev/nvme0n1 -s 0 -c 7
run nvme dsm /dev/nvme0n1 -a 0 -s 0,100 -b 8,8 -d
run nvme verify /dev/nvme0n1 -s 0 -c 7
run nvme copy /dev/nvme0n1 --sdlba=1000 --blocks=7 --slbs=0
run nvme reset /dev/nvme0
sleep 2
run dd if=/dev/nvme0n1 of=/dev/null bs=64k count=16
run cat /sys/block/nvme0n1/queue/physical_block_size
run nvme smart-log /dev/nvme0
"""


@pytest.mark.seldom
@pytest.mark.skipif(bool(kernel.missing()), reason=f"not installed: {', '.join(kernel.missing())} (make programs)")
@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_a_kernel_sees_a_drive(serve: Callable[..., Target], clock: str, tmp_path: Path) -> None:
    target = serve(*SETS, "--age", "pec=1500", "--set", "wear.endurance=3000", "--clock", clock)
    script = (ATTACH + USES + DETACH).format(port=target.place[1], nqn=NQN, fio=FIO)
    said = kernel.play(script, tmp_path, 600)
    words = {line.split()[0] + " " + line.split()[1]: text for line, text in said.items()}
    assert NQN in words["nvme discover"]
    assert "ssdlab tlc" in words["nvme id-ctrl"]
    assert "lbads:9" in words["nvme id-ns"]
    smart = dict(line.replace("\t", "").split(":", 1) for line in words["nvme smart-log"].splitlines() if ":" in line)
    smart = {key.strip(): value.split()[0] for key, value in smart.items() if value.strip()}
    assert smart["percentage_used"] == "50%"
    assert smart["media_errors"] == "0"
    assert int(smart["host_write_commands"].replace(",", "")) > 100
    target.end()
    result = target.result()
    assert result["serve"]["errors"] == 0
    assert result["serve"]["connections"] == 6, "an admin queue and two others, and again after the reset"
    assert said["cat /sys/block/nvme0n1/queue/physical_block_size"].strip() == "4096"
    assert result["host"]["write"]["requests"] == int(smart["host_write_commands"].replace(",", ""))


def test_time_passes_for_a_drive_that_is_served(serve: Callable[..., Target], cli: Cli) -> None:
    target = serve(*SETS, "--age", "pec=2000", "--scheme", "baseline", "--control", "c", "--requests-out", "r.parquet")
    assert stat.S_IMODE((target.folder / "c").stat().st_mode) == 0o600
    host = Host(target.place)
    [queue] = host.queues
    data = os.urandom(64 * BLOCK)
    for block in range(0, 1024, 64):
        queue.write(block, data)
    queue.ask(FLUSH, namespace=1)
    before = json.loads(cli("tell", "health", "c").stdout)
    assert (before["writes"], before["power_cuts"], before["critical_warning"]) == (16, 0, 0)
    assert "what is measured begins now" in " ".join(cli("tell", "rest", "c", "--for", "6mo").stdout.split())
    for block in range(0, 1024, 64):
        assert queue.read(block, 64) == data
    assert "wrote old.ckpt" in cli("tell", "save", "c", "old.ckpt").stdout
    # What cannot be done, and what cannot be understood.
    for words, problem in [
        (("rest", "c", "--for", "soon"), "--for"),
        (("rest", "c", "--for", "6mo", "--drive", "other"), "names no drive"),
        (("health", "nowhere"), "no server answers"),
    ]:
        done = cli("tell", *words)
        assert (done.returncode, problem in done.stderr, "help:" in done.stderr) == (2, True, True), done.stderr
    for line, problem in [
        (b"what\n", "is no object"),
        (b"[" * 70_000, "is no object"),
        (b'{"do": "stop"}\n', "write one of rest, save, health"),
        (b'{"do": "rest"}\n', "rest.for: is missing"),
        (b'{"do": "save", "file": "x", "at": "y"}\n', "save.at: unknown"),
    ]:
        with socket.socket(socket.AF_UNIX) as to:
            to.connect(str(target.folder / "c"))
            to.sendall(line)
            assert problem in to.recv(65_536).decode()
    host.close()
    target.end()
    assert not (target.folder / "c").exists()
    # The load was a warm-up; its data was six months old when it was read.
    result = target.result()
    assert (result["host"]["write"]["requests"], result["host"]["read"]["requests"]) == (0, 16)
    assert result["host"]["read"]["latency_ns"]["mean"] > 300_000
    assert cli("run", "--from", "old.ckpt", "--requests", "100", "--quiet").returncode == 0


def test_the_drive_is_asked_for_what_the_host_asks_for(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--requests-out", "r.parquet", "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    queue.write(3, bytes(2 * BLOCK), fua=True)
    queue.ask(VERIFY, *span(8, 4), namespace=1)
    queue.ask(ZEROES, *span(16, 8), namespace=1)
    queue.ask(ZEROES, *span(24, 8, 1 << 25), namespace=1)
    queue.ask(DEALLOCATE, 1, 4, namespace=1, data=ranges([(0, 8), (40, 0)]))
    queue.ask(COPY, 200, 0, 1, namespace=1, data=b"".join(struct.pack("<8xQH14x", at, 7) for at in (64, 96)))
    queue.ask(FLUSH, namespace=1)
    host.close()
    target.end()
    log = pl.read_parquet(target.folder / "r.parquet")
    found = [(op, at // BLOCK, bytes_ // BLOCK) for op, at, bytes_ in log["op", "offset", "bytes"].rows()]
    reads = [(0, 64, 8), (0, 96, 8)]
    # Reads of a copy are under way at the same time; in which order they end is the drive's affair.
    assert sorted(found[6:8]) == reads
    assert found[:6] + found[8:] == [
        (1, 3, 2),
        (3, 0, 0),
        (0, 8, 4),
        (1, 16, 8),
        (2, 24, 8),
        (2, 0, 8),
        (1, 200, 16),
        (3, 0, 0),
    ]
    arrivals, finishes = log["arrival_ns"].to_list(), log["finish_ns"].to_list()
    assert arrivals[6] == arrivals[7]
    assert arrivals[8] == max(finishes[6:8]), "what is read is written then"


ZONED = (
    "ftl.mapping=zoned",
    "ftl.erase_when=reclaimed",
    "age.precondition=none",
    "age.staggered=false",
    "age.fill=0",
    "zones.size=128MiB",
    "zones.max_open=3",
    "zones.max_active=4",
    "buffer.size=16MiB",
    "power.plp=true",
)
"""A drive of zones, whose size is a power of two, as Linux wants it."""
ZONES = [word for key in ZONED for word in ("--set", key)]
SEND, RECEIVE, APPEND = 0x79, 0x7A, 0x7D
CLOSE, FINISH, OPEN, RESET, ALL = 1, 2, 3, 4, 1 << 8
EMPTY, IMPLICIT, EXPLICIT, CLOSED, FULL = 1, 2, 3, 4, 14


def zones_of(queue: Queue, first: int = 0, bytes_: int = 65_536, flags: int = 0) -> list[tuple[int, int, int, int]]:
    """The zones of a report: state, capacity, first block, write pointer."""
    _, data = queue.ask(RECEIVE, first, 0, bytes_ // 4 - 1, flags, namespace=1, expects=bytes_)
    (number,) = struct.unpack_from("<Q", data)
    found = []
    for index in range(min(number, bytes_ // 64 - 1)):
        kind, state, capacity, start, pointer = struct.unpack_from("<BB6xQQQ", data, 64 * (index + 1))
        assert kind == 2, "sequential write required"
        found.append((state >> 4, capacity, start, pointer))
    return found


def test_zones_over_nvme(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, *ZONES, "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    assert host.identify(3, 1)[20:25] == bytes([4, 1, 0, 0, 2])
    assert struct.unpack_from("<Q", host.identify(0x1C)) == (5,)
    assert struct.unpack_from("<I", host.identify(7, 0, 2)) == (1,)
    zoned = host.identify(5, 1, 2)
    size = (128 << 20) // BLOCK
    assert struct.unpack_from("<II", zoned, 4) == (3, 2), "active and open zones, from 0"
    assert struct.unpack_from("<Q", zoned, 2816) == (size,)
    assert host.identify(6, 0, 2)[0] == 0
    (blocks,) = struct.unpack_from("<Q", host.identify(0, 1))
    zones = zones_of(queue)
    assert len(zones) == blocks // size
    assert all(
        (state, start, pointer) == (EMPTY, at * size, at * size) for at, (state, _, start, pointer) in enumerate(zones)
    )
    assert zones[0][1] == (72 << 20) // BLOCK, "the capacity"

    def send(zone: int, action: int) -> None:
        queue.ask(SEND, zone * size, 0, 0, action, namespace=1)

    def state(zone: int) -> tuple[int, int]:
        [(found, _, start, pointer)] = zones_of(queue, zone * size, 128, 1 << 16)
        return found, (pointer - start if pointer < 2**63 else -1)

    # Writes at the write pointer; appends say where.
    data = os.urandom(96 * BLOCK)
    queue.write(0, data)
    assert state(0) == (IMPLICIT, 96)
    refused(0x1BC, lambda: queue.write(200, data))
    for at in (0, 96):
        where, _ = queue.ask(APPEND, size, 0, 95, namespace=1, data=data)
        assert where == size + at
    assert queue.read(size, 96) == queue.read(size + 96, 96) == queue.read(0, 96) == data
    assert queue.read(size + 192, 8) == bytes(8 * BLOCK), "behind the write pointer"
    send(2, OPEN)
    assert state(2) == (EXPLICIT, 0)
    send(1, CLOSE)
    assert state(1) == (CLOSED, 192)
    assert [zone[2] // size for zone in zones_of(queue, flags=4 << 8)] == [1], "closed ones alone"
    # Four active: another one is too many, and of open ones three.
    queue.write(3 * size, data)
    refused(0x1BD, lambda: queue.write(4 * size, data))
    send(3, FINISH)
    assert state(3) == (FULL, -1)
    refused(0x1B9, lambda: queue.write(3 * size + 96, data))
    refused(INVALID_FIELD, lambda: queue.ask(APPEND, size + 1, 0, 0, namespace=1, data=bytes(BLOCK)))
    refused(INVALID_FIELD, lambda: queue.ask(DEALLOCATE, 0, 4, namespace=1, data=ranges([(0, 8)])))
    refused(OUT_OF_RANGE, lambda: send(len(zones), OPEN))
    refused(INVALID_FIELD, lambda: send(0, 0x10))
    # A zone begins anew; all of them do.
    send(0, RESET)
    assert state(0) == (EMPTY, 0)
    assert queue.read(0, 96) == bytes(96 * BLOCK)
    assert queue.read(3 * size, 96) == data
    send(0, RESET | ALL)
    assert {zone[0] for zone in zones_of(queue)} == {EMPTY}
    assert queue.read(3 * size, 96) == bytes(96 * BLOCK)
    _, effects = host.admin.ask(2, 5 | 1023 << 16, 0, 0, 0, 2 << 24, namespace=0xFFFFFFFF, expects=4096)
    assert struct.unpack_from("<I", effects, 1024 + 4 * APPEND) == (3,)
    host.close()
    target.end()


def test_conventional_zones_are_refused(cli: Cli) -> None:
    done = cli("serve", "--nvme", "127.0.0.1:0", *SETS, *ZONES, "--set", "zones.conventional=1")
    assert done.returncode == 2
    assert "zones.conventional: is 1, and NVMe has no conventional zones" in " ".join(done.stderr.split()), done.stderr


ZONED_USES = """
run cat /sys/block/nvme0n1/queue/zoned /sys/block/nvme0n1/queue/chunk_sectors /sys/block/nvme0n1/queue/nr_zones
run nvme zns id-ns /dev/nvme0n1
run nvme zns report-zones /dev/nvme0n1 -d 3
run fio --name=job --filename=/dev/nvme0n1 --direct=1 --rw=write --bs=64k --size=192m {fio}
run nvme zns report-zones /dev/nvme0n1 -d 4
run nvme zns zone-append /dev/nvme0n1 -s 2097152 -z 4096 -d /debian/busybox
run nvme zns reset-zone /dev/nvme0n1 -s 0 -a
run nvme zns report-zones /dev/nvme0n1 -d 2
"""


@pytest.mark.seldom
@pytest.mark.skipif(bool(kernel.missing()), reason=f"not installed: {', '.join(kernel.missing())} (make programs)")
def test_a_kernel_sees_a_zoned_drive(serve: Callable[..., Target], tmp_path: Path) -> None:
    target = serve(*SETS, *ZONES)
    fio = "--zonemode=zbd --max_open_zones=2 --ioengine=psync --verify=crc32c"
    said = kernel.play((ATTACH + ZONED_USES + DETACH).format(port=target.place[1], nqn=NQN, fio=fio), tmp_path, 600)
    [queue] = [text for line, text in said.items() if line.startswith("cat ")]
    assert queue.split()[:2] == ["host-managed", str((128 << 20) // BLOCK)]
    target.end()
    assert target.result()["serve"]["errors"] == 0
