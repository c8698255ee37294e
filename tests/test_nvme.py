"""Drives served as NVMe drives, by a host without a kernel: what they say and do."""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from nvme_host import BLOCK, NQN, Host, Queue, TerminatedError, crc32c, ranges, span
from nvme_target import (
    COMPARE,
    COMPARE_FAILURE,
    COPY,
    DEALLOCATE,
    DEALLOCATED,
    FAILED_FUSED,
    FLUSH,
    INVALID_FIELD,
    INVALID_NAMESPACE,
    INVALID_OPCODE,
    MISSING_FUSED,
    OUT_OF_RANGE,
    READ,
    READ_ONLY,
    SEQUENCE,
    UNRECOVERED,
    VERIFY,
    WRITE,
    ZEROES,
    Target,
    refused,
    targets,
    text,
)
from test_serve import AGED, SETS, busy, warned


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    with targets(tmp_path) as begin:
        yield begin


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
    assert (4096 << mdts, queues) == (256 << 10, 32)
    (capacity,) = struct.unpack_from("<Q", controller, 280)
    namespace = host.identify(0, 1)
    blocks, capable, used = struct.unpack_from("<QQQ", namespace)
    assert blocks * BLOCK == capacity
    assert blocks == capable == used
    assert namespace[128:136] == bytes([0, 0, 9, 0, 0, 0, 12, 0])
    assert struct.unpack_from("<H", namespace, 64) == (4096 // BLOCK - 1,)
    assert struct.unpack_from("<III", host.identify(2)) == (1, 0, 0)
    assert struct.unpack_from("<I", host.identify(2, 1)) == (0,)
    descriptors = host.identify(3, 1)
    assert descriptors[:2] == bytes([3, 16])
    assert descriptors[20:25] == bytes([4, 1, 0, 0, 0])
    assert struct.unpack_from("<Q", host.identify(0x1C)) == (1,)
    assert struct.unpack_from("<HH", host.identify(0x13)) == (1, host.controller)
    for structure, number in [(0, 33), (0, 0), (3, 77)]:
        refused(INVALID_NAMESPACE, partial(host.identify, structure, number))
    refused(INVALID_FIELD, lambda: host.identify(0x77))
    for structure in (7, 0x1A):
        refused(INVALID_FIELD, partial(host.identify, structure, 0, 2))

    # Logs: what is supported, effects, firmware; parts of a page are the same as the whole.
    supported = struct.unpack("<256I", host.log(0, 1024))
    assert [page for page, found in enumerate(supported) if found] == [0, 1, 2, 3, 4, 5, 9, 0x12, 0x81]
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


def test_the_health_of_an_array_is_that_of_its_worst_drive(serve: Callable[..., Target], tmp_path: Path) -> None:
    drives = ["[drive.young]\nage = 'pec=300'", "[drive.old]\nage = 'pec=1200'"]
    (tmp_path / "pair.toml").write_text("\n".join(["[array]\nlayout = 'mirror'", *drives]), encoding="utf-8")
    target = serve(*SETS, "--array", "pair.toml", "--set", "wear.endurance=3000")
    host = Host(target.place)
    assert text(host.identify(1), 24, 40) == "ssdlab pair.toml"
    assert (host.log(2, 512)[3], host.log(2, 512)[5]) == (100, 40), "1,200 of 3,000 cycles"
    queue = host.queues[0]
    data = bytes(range(256)) * 16
    queue.write(8, data)
    assert queue.read(8, 8) == data
    health = host.log(2, 512)
    reads, writes = (struct.unpack_from("<Q", health, at)[0] for at in (64, 80))
    assert (reads, writes) == (1, 2), "one copy is read, both are written"


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
    refused(INVALID_NAMESPACE, lambda: queue.ask(READ, *span(0, 1), namespace=0, expects=512))
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


def test_compare_and_write_as_one(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--requests-out", "r.parquet", "--grace", "0ns")
    host = Host(target.place, queues=2)
    queue, other = host.queues
    assert struct.unpack_from("<H", host.identify(1), 522) == (1,)

    def send(opcode: int, fuse: int, block: int, data: bytes, **how: bool) -> int:
        return queue.send(opcode, *span(block, len(data) // BLOCK), namespace=1, data=data, fuse=fuse, **how)

    def answers(*commands: int) -> list[int]:
        done = {(found := queue.receive()).command: found.status for _ in commands}
        return [done[command] for command in commands]

    old, new, big = os.urandom(8 * BLOCK), os.urandom(8 * BLOCK), os.urandom(40 * BLOCK)
    queue.write(8, old)
    for capsule in (True, False):
        both = send(COMPARE, 1, 8, old, capsule=capsule), send(WRITE, 2, 8, new, capsule=capsule)
        assert answers(*both) == [0, 0]
        assert other.read(8, 8) == new
        both = send(COMPARE, 1, 8, old, capsule=not capsule), send(WRITE, 2, 8, big[: 8 * BLOCK], capsule=capsule)
        assert answers(*both) == [COMPARE_FAILURE, FAILED_FUSED]
        assert other.read(8, 8) == new, "nothing is written"
        old, new = new, old
    both = send(COMPARE, 1, 64, bytes(40 * BLOCK)), send(WRITE, 2, 64, big)
    assert (answers(*both), other.read(64, 40)) == ([0, 0], big), "data that the host is asked for"
    # What is wrong with one of them; a pair that is none.
    (blocks,) = struct.unpack_from("<Q", host.identify(0, 1))
    for first, second, wanted in [
        ((COMPARE, 1, 8, old), (WRITE, 2, 9, old), [INVALID_FIELD, INVALID_FIELD]),
        ((COMPARE, 1, blocks, old), (WRITE, 2, blocks, old), [OUT_OF_RANGE, FAILED_FUSED]),
        ((COMPARE, 1, 8, old), (WRITE, 2, blocks, old), [FAILED_FUSED, OUT_OF_RANGE]),
        ((COMPARE, 1, 8, old), (COMPARE, 1, 8, old), [MISSING_FUSED]),
        ((COMPARE, 0, 8, old), (WRITE, 0, 8, old), [0, MISSING_FUSED, 0]),
        ((WRITE, 2, 8, old), (WRITE, 3, 8, old), [MISSING_FUSED, INVALID_FIELD]),
        ((WRITE, 1, 8, old), (WRITE, 2, 8, old), [INVALID_FIELD, FAILED_FUSED]),
    ]:
        sent = [send(*command, capsule=True) for command in (first, second)]
        if len(wanted) == 1:
            assert answers(sent[0]) == wanted
            waits = sent[1]
        elif len(wanted) == 3:
            assert answers(sent[0], waits, sent[1]) == wanted
        else:
            assert answers(*sent) == wanted
    host.close()
    target.end()
    log = pl.read_parquet(target.folder / "r.parquet")["op", "offset"].rows()
    assert log[1:4] == [(0, 8 * BLOCK), (1, 8 * BLOCK), (0, 8 * BLOCK)], "read, and then written"


def test_hosts_that_compare_and_write_do_not_lose_a_count(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    host = Host(target.place, queues=4)
    host.queues[0].write(0, bytes(BLOCK))

    def counts(queue: Queue) -> None:
        done = 0
        while done < 25:
            old = queue.read(0, 1)
            new = struct.pack("<Q", struct.unpack_from("<Q", old)[0] + 1).ljust(BLOCK, b"\0")
            for opcode, fuse, data in ((COMPARE, 1, old), (WRITE, 2, new)):
                queue.send(opcode, *span(0, 1), namespace=1, data=data, fuse=fuse, capsule=True)
            done += max(queue.receive().status for _ in range(2)) == 0

    with ThreadPoolExecutor() as hosts:
        list(hosts.map(counts, host.queues))
    assert struct.unpack_from("<Q", host.queues[0].read(0, 1)) == (100,)
    host.close()
    target.end()


def test_features_and_properties(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    host = Host(target.place, queues=0)
    ask = host.admin.ask
    capabilities, _ = ask(0x7F, 1, 0, namespace=4)
    assert (capabilities & 0xFFFF, capabilities >> 37 & 0xFF) == (127, 0x41)
    # It is ready with its medium, within half a second (CAP.TO and CRTO).
    assert (capabilities >> 59 & 3, capabilities >> 24 & 0xFF, ask(0x7F, 0, 0x68, namespace=4)[0]) == (1, 1, 1)
    assert ask(0x7F, 0, 8, namespace=4)[0] == 0x20000
    refused(INVALID_FIELD, lambda: ask(0x7F, 0, 0x999, namespace=4))
    assert ask(10, 0x0B)[0] == 0xFF
    ask(9, 0x0B, 4)
    assert ask(10, 0x0B)[0] == 4
    assert ask(10, 4)[0] == 273 + 75
    assert ask(10, 6)[0] == 1
    assert ask(10, 0x81, 1, expects=16)[1] == bytes(range(16))
    refused(INVALID_FIELD, lambda: ask(10, 0x81, expects=16))
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


def test_a_reset_leaves_nothing_of_what_the_host_has_set(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    host = Host(target.place)
    ask = host.admin.ask
    scopes = host.log(0x12, 1024)
    assert struct.unpack_from("<II", scopes, 4) == (1 | 1 << 21,) * 2, "of the controller"
    ask(9, 5, 1 << 16, namespace=1)
    for feature in (6, 0x0B):
        ask(9, feature, 0)
    for _ in range(40):
        # Requests for events end with each: more come than the queue has room for.
        for _ in range(4):
            host.admin.send(0x0C)
        ask(0x7F, 0, 0x14, 0x460000, namespace=0)
        ask(0x7F, 0, 0x14, 0x460061, namespace=0)
        # The place of the queue is free at once.
        queue = host.queue(1)
    assert [ask(10, 5, namespace=1)[0], ask(10, 6)[0], ask(10, 0x0B)[0]] == [0, 1, 0xFF]
    assert queue.read(0, 1) == bytes(BLOCK), "the end of those before it does not end it"
    refused(SEQUENCE, lambda: host.queue(1))
    host.close()
    target.end()


def test_streams_are_placement_handles(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--set", "ftl.hints=4", "--requests-out", "r.parquet", "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    assert struct.unpack_from("<H", host.identify(1), 256) == (1 << 1 | 1 << 3 | 1 << 5,)
    _, parameters = host.admin.ask(0x1A, 1023, 1, namespace=1, expects=4096)
    assert (parameters[0], parameters[32], parameters[64]) == (7, 5, 4), "of placement identifiers too"

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


def test_a_host_with_another_way_to_the_data_lets_reads_fail_fast(serve: Callable[..., Target]) -> None:
    old = ["--set", "chip.model=tlc48", "--age", "pec=2000,retention=6mo,fill=1.0", "--set", "read.start=default"]
    target = serve(*SETS, *old, "--set", "read.fail_fast=0", "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues

    def read(page: int, limited: bool) -> int:
        queue.send(READ, *span(page * 32, 8, limited << 31), namespace=1, expects=4096)
        return queue.receive().status

    given_up = [page for page in range(20) if read(page, True) == UNRECOVERED]
    assert given_up
    assert {read(page, False) for page in given_up} == {0}, "without the limit they are read"
    host.close()
    target.end()
    result = target.result()
    assert result["host"]["given_up"] == result["serve"]["errors"] == len(given_up)
    assert result["host"]["uncorrectable"] == 0


WORN = ("geometry.pages=24", "age.precondition=closed-form", "wear.erase_fail=0.3", "wear.end_of_life=read-only")


@pytest.mark.drawn
@pytest.mark.slow
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


def test_replies_of_the_real_clock_are_late_by_what_is_reported(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--clock", "real", "--lag-bound", "1ns")
    host = Host(target.place)
    began = time.monotonic_ns()
    for page in range(200):
        host.queues[0].read(page * 8, 8)
    waited = time.monotonic_ns() - began
    host.close()
    target.end()
    result = target.result()
    lag, latency = result["serve"]["lag_ns"], result["host"]["read"]["latency_ns"]
    assert 1 < lag["p50"] <= lag["p99"] <= lag["max"]
    # Each read took what the drive takes, and no read was later than the host has waited for all.
    assert 200 * latency["mean"] + lag["max"] <= waited
    assert "late-replies" in warned(result)


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
        (b'{"do": "stop"}\n', "write one of rest, save, cut, restore, health"),
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
