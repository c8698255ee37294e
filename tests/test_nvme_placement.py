"""Flexible Data Placement (TP 4146), Format NVM and Sanitize, by a host without a kernel."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from nvme_host import BLOCK, Host, span
from nvme_target import COPY, FLUSH, INVALID_FIELD, INVALID_OPCODE, WRITE, Target, refused, targets
from test_nvme_zones import ZONES, zones_of
from test_serve import SETS


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    with targets(tmp_path) as begin:
        yield begin


RECEIVE, SEND, FORMAT, SANITIZE = 0x12, 0x1D, 0x80, 0x84
SEQUENCE, INVALID_LOG, INVALID_FORMAT, SANITIZING = 0x00C, 0x109, 0x10A, 0x01D
NOT_FULL, INVALID, REALLOCATED, FILLED = 0x00, 0x03, 0x80, 0x81
# Of the attributes of an FDP configuration (FDPA: bits 7 and 4).
VALID, VOLATILE_CACHE = 0x80, 0x10


def log(host: Host, page: int, length: int, group: int = 1, parameter: int = 0) -> bytes:
    """A log page of an endurance group."""
    dwords = length // 4 - 1
    _, data = host.admin.ask(2, page | parameter << 8 | dwords << 16, group << 16, expects=length)
    return data


def events(host: Host, of_host: bool) -> list[tuple[int, int, int, int]]:
    """Events: type, flags, placement identifier, blocks that were moved."""
    data = log(host, 0x23, 4096, parameter=int(of_host))
    (number,) = struct.unpack_from("<I", data)
    found = []
    for at in range(64, 64 * (number + 1), 64):
        kind, flags, handle, _, namespace = struct.unpack_from("<BBHQI", data, at)
        (moved,) = struct.unpack_from("<H", data, at + 18)
        assert namespace == 1
        assert data[at + 34] == handle & 0xFF
        found.append((kind, flags, handle, moved))
    return found


def left(host: Host) -> list[int]:
    """Blocks that each handle can still write."""
    length = 16 + 32 * 4
    _, data = host.queues[0].ask(RECEIVE, 1, length // 4 - 1, namespace=1, expects=length)
    (number,) = struct.unpack_from("<H", data, 14)
    found = [struct.unpack_from("<HHIQ", data, 16 + 32 * index) for index in range(number)]
    assert [(handle, same, time) for handle, same, time, _ in found] == [(index, index, 0) for index in range(number)]
    return [blocks for *_, blocks in found]


@pytest.mark.parametrize("isolation", ["initial", "persistent"])
def test_placement_as_hosts_see_it(serve: Callable[..., Target], isolation: str) -> None:
    words = ["ftl.hints=4", f"ftl.isolation={isolation}", "geometry.pages=24", "ftl.over_provisioning=1.5"]
    words += ["buffer.size=1MiB", "age.precondition=none", "age.fill=0"]
    target = serve(*SETS, *(word for key in words for word in ("--set", key)), "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    assert struct.unpack_from("<I", host.identify(1), 96)[0] >> 19 & 1
    assert struct.unpack_from("<H", host.identify(0, 1), 102) == (1,)
    assert struct.unpack_from("<HH", host.identify(0x19)) == (1, 1)
    # One configuration, valid, with four handles in one reclaim group.
    data = log(host, 0x20, 96)
    assert struct.unpack_from("<HBBI", data) == (0, 0, 0, 96)
    size, attributes, _, groups, handles, identifiers, namespaces, unit = struct.unpack_from("<HBBIHHIQ", data, 16)
    assert (size, attributes, groups, handles, identifiers, namespaces) == (80, VALID | VOLATILE_CACHE, 1, 4, 3, 32)
    assert [data[80 + 4 * handle] for handle in range(4)] == [1 if isolation == "initial" else 2] * 4
    usage = log(host, 0x21, 40)
    assert struct.unpack_from("<H", usage) == (4,)
    assert [usage[8 + 8 * handle] for handle in range(4)] == [1] * 4
    assert log(host, 0x22, 64) == bytes(64)
    assert events(host, True) == events(host, False) == []
    assert host.admin.ask(10, 0x1D, 1)[0] == 1
    refused(SEQUENCE, lambda: host.admin.ask(9, 0x1D, 1, 0))

    def write(block: int, blocks: int, handle: int) -> None:
        queue.ask(WRITE, *span(block, blocks, 2 << 20), handle << 16, namespace=1, data=bytes(blocks * BLOCK))

    assert left(host) == [unit // BLOCK] * 4
    for block, handle in ((0, 0), (384, 0), (4096, 1)):
        write(block, 384, handle)
    queue.ask(FLUSH, namespace=1)
    now = left(host)
    assert [unit // BLOCK - blocks for blocks in now] == [768, 384, 0, 0], "program units of 384 blocks"
    assert struct.unpack_from("<QQQ", log(host, 0x22, 64))[0] == 3 * 384 * BLOCK
    # A handle is given another unit; one that has written nothing is not told of, nor are handles that there are not.
    queue.ask(SEND, 1 | 1 << 16, namespace=1, data=struct.pack("<HH", 1, 2))
    assert left(host)[1] == unit // BLOCK
    assert events(host, True) == [(NOT_FULL, 7, 1, 0)]
    refused(INVALID_FIELD, lambda: queue.ask(SEND, 1, namespace=1, data=struct.pack("<H", 4)))
    refused(INVALID_FIELD, lambda: queue.ask(SEND, 2, namespace=1, data=struct.pack("<H", 0)))
    refused(0x00F, lambda: queue.ask(SEND, 1, namespace=1, data=struct.pack("<HH", 0, 1)))
    # A write by no handle is done, and told of.
    write(0, 8, 77)
    assert events(host, True)[-1] == (INVALID, 3, 77, 0)
    # Writing on fills units, and then has the drive move data.
    span_blocks = struct.unpack_from("<Q", host.identify(0, 1))[0] // 8 * 7
    for round_ in range(4):
        for number in range(span_blocks // 512):
            write((number * 97 + round_) % (span_blocks // 512) * 512, 512, number % 4)
    queue.ask(FLUSH, namespace=1)
    found = events(host, False)
    assert {kind for kind, *_ in found} >= {FILLED}
    assert all(flags == 7 for kind, flags, *_ in found if kind == FILLED)
    for kind, flags, _, moved in found:
        if kind == REALLOCATED:
            assert moved > 0
            assert flags == (7 if isolation == "persistent" else 6), "whose data it was is known where it stays apart"
    host_bytes, media, erased = (struct.unpack_from("<Q", log(host, 0x22, 64), at)[0] for at in (0, 16, 32))
    health = host.log(2, 512)
    assert host_bytes <= media
    assert host_bytes // 512_000 <= struct.unpack_from("<Q", health, 48)[0] <= host_bytes // 512_000 + 1
    assert erased > 0
    group = log(host, 0x09, 512)
    assert struct.unpack_from("<Q", group, 64)[0] == -(-host_bytes // 10**9)
    assert struct.unpack_from("<Q", group, 80)[0] == -(-media // 10**9)
    # Events that the host does not want.
    _, kinds = host.admin.ask(10, 0x1E, 1 | 255 << 16, namespace=1, expects=16)
    assert kinds[:8] == bytes([NOT_FULL, 1, INVALID, 1, REALLOCATED, 1, FILLED, 1])
    host.admin.ask(9, 0x1E, 1 | 1 << 16, 0, namespace=1, data=bytes([NOT_FULL]))
    assert host.admin.ask(10, 0x1E, 1 | 255 << 16, namespace=1, expects=16)[1][:2] == bytes([NOT_FULL, 0])
    assert host.admin.ask(10, 0x1E, 2 | 255 << 16, namespace=1, expects=16)[1][:2] == bytes([NOT_FULL, 1])
    assert (NOT_FULL, 7, 1, 0) not in events(host, True)
    refused(INVALID_FIELD, lambda: host.admin.ask(9, 0x1E, 4 | 1 << 16, 0, namespace=1, data=bytes([NOT_FULL])))
    refused(INVALID_FIELD, lambda: log(host, 0x20, 96, group=2))
    host.close()
    target.end()


def test_a_drive_without_handles_has_no_placement(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    assert not struct.unpack_from("<I", host.identify(1), 96)[0] >> 19 & 1
    for page in range(0x20, 0x24):
        refused(INVALID_LOG, partial(log, host, page, 64))
    refused(INVALID_FIELD, lambda: host.admin.ask(10, 0x1D, 1))
    refused(INVALID_FIELD, lambda: host.admin.ask(10, 0x1E, 1 << 16, expects=4))
    refused(INVALID_OPCODE, lambda: queue.ask(RECEIVE, 1, 3, namespace=1, expects=16))
    refused(INVALID_OPCODE, lambda: queue.ask(SEND, 1, namespace=1, data=bytes(2)))
    refused(INVALID_FIELD, lambda: queue.ask(WRITE, *span(0, 1, 2 << 20), namespace=1, data=bytes(BLOCK)))
    host.close()
    target.end()


def test_a_format_deallocates_everything(serve: Callable[..., Target], tmp_path: Path) -> None:
    target = serve(*SETS, "--requests-out", "r.parquet", "--grace", "0ns", "--data", "d")
    host = Host(target.place)
    [queue] = host.queues
    (blocks,) = struct.unpack_from("<Q", host.identify(0, 1))
    queue.write(blocks - 8, os.urandom(8 * BLOCK))
    queue.write(0, os.urandom(8 * BLOCK))
    refused(INVALID_FIELD, lambda: host.admin.ask(FORMAT, 0, namespace=2))
    for ten in (2, 1 << 4, 1 << 5, 1 << 12):
        refused(INVALID_FORMAT, partial(host.admin.ask, FORMAT, ten, namespace=1))
    refused(INVALID_FIELD, lambda: host.admin.ask(FORMAT, 2 << 9, namespace=1))
    assert queue.read(0, 8) != bytes(8 * BLOCK)
    host.admin.ask(FORMAT, 1 << 9, namespace=1)
    assert queue.read(0, 8) == queue.read(blocks - 8, 8) == bytes(8 * BLOCK)
    queue.write(0, b"x" * BLOCK)
    host.admin.ask(FORMAT, 0, namespace=0xFFFFFFFF)
    assert queue.read(0, 1) == bytes(BLOCK)
    assert (tmp_path / "d").stat().st_blocks == 0
    host.close()
    target.end()
    assert target.result()["host"]["trim"]["requests"] == 2


@pytest.mark.parametrize("zoned", [False, True])
def test_a_sanitize_operation_goes_on_behind_its_answer(serve: Callable[..., Target], zoned: bool) -> None:
    target = serve(*SETS, *(ZONES if zoned else ()), "--clock", "real")
    host = Host(target.place)
    [queue] = host.queues
    other = Host(target.place, queues=0)
    assert struct.unpack_from("<I", host.identify(1), 328)[0] == 2 | 1 << 29 | 1 << 30
    assert struct.unpack_from("<HHI", host.log(0x81, 512)) == (0xFFFF, 0, 0)
    queue.write(0, os.urandom(8 * BLOCK))
    for ten in (0, 3, 4, 2 | 1 << 9):
        refused(INVALID_FIELD, partial(host.admin.ask, SANITIZE, ten))
    waits = [of.admin.send(0x0C) for of in (host, other)]
    host.admin.ask(SANITIZE, 2)
    state = 2
    told = []
    while state == 2:
        command = host.admin.send(2, 0x81 | 127 << 16, namespace=0xFFFFFFFF, expects=512)
        while (done := host.admin.receive()).command != command:
            told.append(done)
        progress, state = struct.unpack_from("<HH", done.data)
        assert (progress == 0xFFFF) == (state != 2)
    assert state == 1 | 1 << 8, "it has succeeded, and nothing was written since"
    assert struct.unpack_from("<I", host.log(0x81, 512) if told else done.data, 4) == (2,)
    # Each controller's host is told once.
    for of, event in zip((host, other), waits, strict=True):
        command = of.admin.send(0x18)
        found = [*told, of.admin.receive()] if of is host and told else [of.admin.receive(), of.admin.receive()]
        assert {done.command: done.result for done in found} == {command: 0, event: 6 | 1 << 8 | 0x81 << 16}
    assert queue.read(0, 8) == bytes(8 * BLOCK)
    if zoned:
        assert {zone[0] for zone in zones_of(queue)} == {1}
    queue.write(0, bytes(BLOCK))
    assert struct.unpack_from("<H", host.log(0x81, 512), 2) == (1,)
    host.admin.ask(SANITIZE, 1)
    assert struct.unpack_from("<H", host.log(0x81, 512), 2) == (1,), "there is no failure to leave"
    host.close()
    other.close()
    target.end()


def test_nothing_is_read_or_written_while_a_drive_is_sanitized(serve: Callable[..., Target]) -> None:
    # Commands take long.
    target = serve(*SETS, "--clock", "real", "--set", "host.t_firmware=2s")
    host = Host(target.place)
    [queue] = host.queues
    # A write that the drive has begun with, and one whose data the host was asked for.
    begun = [queue.send(WRITE, *span(8 * at, 8), namespace=1, data=bytes(4096), capsule=at == 0) for at in range(2)]
    time.sleep(0.2)
    host.admin.ask(SANITIZE, 2)
    found = {done.command: done.status for done in (queue.receive(), queue.receive())}
    assert found == dict.fromkeys(begun, SANITIZING)
    refused(SANITIZING, lambda: queue.read(0, 1))
    refused(SANITIZING, lambda: queue.write(0, bytes(BLOCK)))
    refused(SANITIZING, lambda: queue.ask(COPY, 0, 0, 0, namespace=1, data=struct.pack("<8xQH14x", 8, 0)))
    done = refused(SANITIZING, lambda: host.admin.ask(SANITIZE, 2))
    assert done.result == 0
    refused(SANITIZING, lambda: host.admin.ask(FORMAT, 0, namespace=1))
    assert struct.unpack_from("<HH", host.log(0x81, 512)) == (0, 2)
    host.close()
    target.end()
