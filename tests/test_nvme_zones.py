"""Drives of zones served as zoned namespaces."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from nvme_host import BLOCK, Host, Queue, ranges
from nvme_target import DEALLOCATE, INVALID_FIELD, OUT_OF_RANGE, Target, refused, targets
from test_serve import SETS


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    with targets(tmp_path) as begin:
        yield begin


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
CLOSE, FINISH, OPEN, RESET, OFFLINES, COMMIT, ALL, RANDOM = 1, 2, 3, 4, 5, 0x11, 1 << 8, 1 << 9
EMPTY, IMPLICIT, EXPLICIT, CLOSED, READ_ONLY, FULL, OFFLINE = 1, 2, 3, 4, 13, 14, 15


def zones_of(
    queue: Queue, first: int = 0, bytes_: int = 65_536, flags: int = 0, *, namespace: int = 1
) -> list[tuple[int, int, int, int]]:
    """The zones of a report: state, capacity, first block, write pointer."""
    _, data = queue.ask(RECEIVE, first, 0, bytes_ // 4 - 1, flags, namespace=namespace, expects=bytes_)
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
    for at, fua in ((0, 0), (96, 1 << 30)):
        where, _ = queue.ask(APPEND, size, 0, 95 | fua, namespace=1, data=data)
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
    # Zones that are not read-only are not given up, and keep what they hold.
    send(0, OFFLINES | ALL)
    assert queue.read(0, 96) == queue.read(3 * size, 96) == data
    # A zone begins again; all of them do.
    send(0, RESET)
    assert state(0) == (EMPTY, 0)
    assert queue.read(0, 96) == bytes(96 * BLOCK)
    assert queue.read(3 * size, 96) == data
    send(0, RESET | ALL)
    assert {zone[0] for zone in zones_of(queue)} == {EMPTY}
    assert queue.read(3 * size, 96) == bytes(96 * BLOCK)
    assert host.log(0x12, 1024)[4 * 6] == 0, "no volatile write cache"
    _, effects = host.admin.ask(2, 5 | 1023 << 16, 0, 0, 0, 2 << 24, namespace=0xFFFFFFFF, expects=4096)
    assert struct.unpack_from("<I", effects, 1024 + 4 * APPEND) == (3,)
    host.close()
    target.end()


def test_a_zone_random_write_area(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, *ZONES, "--set", "zones.random_area=256KiB", "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    size, area, page = (128 << 20) // BLOCK, (256 << 10) // BLOCK, 8
    zoned = host.identify(5, 1, 2)
    assert struct.unpack_from("<H", zoned, 2)[0] & 2
    assert struct.unpack_from("<IHHB", zoned, 44) == (4, page, area, 1), "as many as active zones; by pages; ranges"

    def send(action: int, block: int) -> None:
        queue.ask(SEND, block, 0, 0, action, namespace=1)

    def pointer(zone: int) -> tuple[int, int, bool]:
        _, data = queue.ask(RECEIVE, zone * size, 0, 31, 1 << 16, namespace=1, expects=128)
        state, attributes = data[65] >> 4, data[66]
        return state, struct.unpack_from("<Q", data, 64 + 24)[0] - zone * size, attributes == 1 << 3

    refused(INVALID_FIELD, lambda: send(OPEN | RANDOM | ALL, 0))
    send(OPEN | RANDOM, size)
    assert pointer(1) == (EXPLICIT, 0, True)
    # In any order, and again; the pointer stays.
    first, again = os.urandom(16 * BLOCK), os.urandom(16 * BLOCK)
    for block, data in ((32, first), (0, first), (32, again)):
        queue.write(size + block, data)
    assert (queue.read(size, 16), queue.read(size + 32, 16), pointer(1)) == (first, again, (EXPLICIT, 0, True))
    # What is final up to a block is that up to the end of a page.
    send(COMMIT, size + 47)
    assert pointer(1) == (EXPLICIT, 48, True)
    refused(INVALID_FIELD, lambda: send(COMMIT, size + 50))
    refused(0x1B6, lambda: send(COMMIT, size + 48 + area + page - 1))
    refused(0x1BC, lambda: queue.write(size + 32, again))
    refused(0x1B6, lambda: queue.ask(APPEND, size, 0, 15, namespace=1, data=first))
    # A write behind the area has as much of it made final as it needs; one behind twice the area is none.
    queue.write(size + 48 + area, first)
    assert pointer(1) == (EXPLICIT, 64, True)
    refused(0x1BC, lambda: queue.write(size + 64 + 2 * area, first))
    # Zones that have something in them get none, nor do those of a drive without.
    queue.write(2 * size, first)
    refused(0x1BF, lambda: send(OPEN | RANDOM, 2 * size))
    refused(0x1B6, lambda: send(COMMIT, 2 * size + 7))
    send(RESET, size)
    assert pointer(1) == (EMPTY, 0, False)
    host.close()
    target.end()
    target = serve(*SETS, *ZONES, "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    assert host.identify(5, 1, 2)[44:53] == bytes(9)
    for action in (OPEN | RANDOM, COMMIT):
        refused(INVALID_FIELD, partial(send, action, 0))
    host.close()
    target.end()


BREAKS = ("zones.dies=1", "geometry.dies=2", 'faults.at=["5ms die 1"]')


def test_a_host_is_told_of_zones_that_break(serve: Callable[..., Target]) -> None:
    target = serve(
        *SETS, *ZONES, *(word for key in BREAKS for word in ("--set", key)), "--control", "c", "--grace", "0ns"
    )
    host = Host(target.place)
    [queue] = host.queues
    (oaes,) = struct.unpack_from("<I", host.identify(1), 92)
    assert oaes == 1 << 8 | 1 << 27
    host.admin.ask(9, 0x0B, 1 << 27)
    waits = [host.admin.send(0x0C) for _ in range(2)]
    size = (128 << 20) // BLOCK
    zones = len(zones_of(queue))
    data = os.urandom(96 * BLOCK)
    for zone in range(2):
        queue.write(zone * size, data)
    # Each read takes some ten microseconds.
    for _ in range(600):
        queue.read(0, 8)
    found = [zone[0] for zone in zones_of(queue)]
    gone = [zone for zone in range(zones) if found[zone] in (READ_ONLY, OFFLINE)]
    assert gone
    assert len(gone) < zones, "those of the other die are as they were"
    # A notice (2) that descriptors of zones have changed (EFh), with its log page (BFh), of namespace 1.
    keep_alive = host.admin.send(0x18)
    told = {(done := host.admin.receive()).command: done.result for _ in range(2)}
    assert told == {keep_alive: 0, waits[0]: 2 | 0xEF << 8 | 0xBF << 16 | 1 << 32}

    def changed(retains: bool) -> list[int]:
        _, data = host.admin.ask(2, 0xBF | retains << 15 | 1023 << 16, namespace=1, expects=4096)
        (number,) = struct.unpack_from("<H", data)
        return [block // size for block in struct.unpack_from(f"<{number}Q", data, 8)]

    assert changed(retains=True) == changed(retains=False) == gone
    assert changed(retains=False) == [], "what was read is no news"
    # A reset of all leaves read-only zones what they hold.
    queue.ask(SEND, 0, 0, 0, RESET | ALL, namespace=1)
    held = {zones_of(queue)[zone][0]: queue.read(zone * size, 96) for zone in range(2)}
    assert held == {EMPTY: bytes(96 * BLOCK), READ_ONLY: data}
    host.close()
    target.end()
