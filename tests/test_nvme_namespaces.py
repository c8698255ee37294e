"""Namespaces of a drive: made, attached, detached, given another format and deleted by hosts without a kernel."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from nvme_host import BLOCK, NVM_ALONE, Host, Queue, span
from nvme_target import (
    INVALID_FIELD,
    INVALID_NAMESPACE,
    OUT_OF_RANGE,
    READ,
    WRITE,
    Target,
    refused,
    targets,
)
from test_nvme_placement import RECEIVE
from test_nvme_zones import APPEND, EMPTY, IMPLICIT, RESET, SEND, ZONES, zones_of
from test_serve import SETS


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    with targets(tmp_path) as begin:
        yield begin


CREATE, DELETE, ATTACH, DETACH = 0, 1, 0, 1
MANAGE, ATTACHMENT, FORMAT, EVENT, KEEP_ALIVE = 0x0D, 0x15, 0x80, 0x0C, 0x18
INVALID_FORMAT, CAPACITY, UNAVAILABLE = 0x10A, 0x115, 0x116
ALREADY, PRIVATE, NOT_ATTACHED, THIN, LIST, SET = 0x118, 0x119, 0x11A, 0x11B, 0x11C, 0x129
NOT_ENABLED, INVALID_SET = 0x12A, 0x12C
ALL = 0xFFFFFFFF


def create(
    host: Host,
    blocks: int,
    *,
    capacity: int | None = None,
    format_: int = 0,
    shared: bool = True,
    set_: int = 0,
    handles: tuple[int, ...] = (),
) -> int:
    """Makes a namespace; its number."""
    data = bytearray(4096)
    struct.pack_into("<QQ", data, 0, blocks, blocks if capacity is None else capacity)
    data[26], data[30] = format_, shared
    struct.pack_into("<H", data, 392, len(handles))
    struct.pack_into(f"<{len(handles)}H", data, 512, *handles)
    number, _ = host.admin.ask(MANAGE, CREATE, set_ << 24, data=bytes(data))
    return number


def delete(host: Host, number: int) -> None:
    host.admin.ask(MANAGE, DELETE, namespace=number)


def attach(host: Host, number: int, *controllers: int, what: int = ATTACH) -> None:
    """Attaches a namespace to controllers, or to the host's own, or detaches it."""
    ids = controllers or (host.controller,)
    data = struct.pack(f"<H{len(ids)}H", len(ids), *ids).ljust(4096, b"\0")
    host.admin.ask(ATTACHMENT, what, namespace=number, data=data)


def listed(host: Host, structure: int, after: int = 0, set_: int = 0) -> list[int]:
    """Numbers that a list of Identify has."""
    return [number for number in struct.unpack("<1024I", host.identify(structure, after, set_)) if number]


def capacities(host: Host) -> tuple[int, int]:
    """Of the drive, and of what no namespace has [B]."""
    total, unallocated = (int.from_bytes(host.identify(1)[at : at + 16], "little") for at in (280, 296))
    return total, unallocated


def write(queue: Queue, number: int, block: int, data: bytes, size: int = BLOCK) -> None:
    queue.ask(WRITE, *span(block, len(data) // size), namespace=number, data=data)


def read(queue: Queue, number: int, block: int, blocks: int, size: int = BLOCK) -> bytes:
    return queue.ask(READ, *span(block, blocks), namespace=number, expects=blocks * size)[1]


def test_namespaces_come_and_go(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    assert struct.unpack_from("<H", host.identify(1), 256)[0] & 8, "it is supported"
    (most,) = struct.unpack_from("<I", host.identify(1), 516)
    total, unallocated = capacities(host)
    assert (unallocated, listed(host, 0x02), listed(host, 0x10)) == (0, [1], [1])
    refused(CAPACITY, lambda: create(host, 8))
    write(queue, 1, 0, b"gone" * 128)
    delete(host, 1)
    assert (capacities(host), listed(host, 0x02), listed(host, 0x10)) == ((total, total), [], [])
    # A number without a namespace is a wrong field; one that no namespace can have is wrong.
    for number, status in [
        (1, INVALID_FIELD),
        (most, INVALID_FIELD),
        (0, INVALID_NAMESPACE),
        (most + 1, INVALID_NAMESPACE),
    ]:
        refused(status, partial(read, queue, number, 0, 1))
        refused(status, partial(delete, host, number))
        refused(status, partial(attach, host, number))
        refused(status, partial(host.identify, 3, number))
        refused(status, partial(host.identify, 0x12, number))
    refused(INVALID_FIELD, lambda: host.identify(0x12, ALL))
    assert host.identify(0, 1) == host.identify(8, 1) == host.identify(0x11, 7) == bytes(4096)
    refused(INVALID_NAMESPACE, lambda: host.identify(0, most + 1))
    common = host.identify(0, ALL)
    assert struct.unpack_from("<Q", common) == (0,)
    assert (common[25], common[128 + 2], common[132 + 2]) == (1, 9, 12), "two formats"
    assert (host.identify(5, ALL), host.identify(8, ALL)[1]) == (bytes(4096), 1)
    # What is preferred, by format: pages of 4,096 bytes, in blocks from 0.
    for format_, blocks in ((0, 8), (1, 1)):
        of_format = host.identify(9, specific=format_)
        assert (struct.unpack_from("<HHHHH", of_format, 64), of_format[128:136]) == ((blocks - 1,) * 5, common[128:136])
        assert host.identify(0x0A, specific=format_) == bytes(4096)
    for structure in (9, 0x0A):
        refused(INVALID_FIELD, partial(host.identify, structure, specific=2))
    # Sizes are multiples of pages, whatever the format is.
    assert host.identify(1)[96] & 1 << 7
    assert struct.unpack_from("<IB27xQQ", host.identify(0x16)) == (0, 0, 4096, 4096)
    refused(INVALID_SET, lambda: host.identify(0x16, set_=2))

    # What is asked for has to make sense.
    refused(THIN, lambda: create(host, 4096, capacity=2048))
    refused(INVALID_FORMAT, lambda: create(host, 4096, format_=2))
    refused(INVALID_FIELD, lambda: create(host, 0))
    refused(SET, lambda: create(host, 4096, set_=2))
    refused(CAPACITY, lambda: create(host, total // BLOCK + 1))
    refused(CAPACITY, lambda: create(host, 2**63, format_=1))
    refused(INVALID_FIELD, lambda: host.admin.ask(MANAGE, 5, data=bytes(4096)))
    refused(INVALID_FIELD, lambda: host.admin.ask(MANAGE, CREATE, data=bytes(512)))

    # Two of them, with blocks of 512 and of 4,096 bytes.
    assert (create(host, 4095), create(host, 1024, format_=1)) == (1, 2)
    assert capacities(host) == (total, total - 4096 * BLOCK - 1024 * 4096), "whole pages are taken"
    assert (listed(host, 0x02), listed(host, 0x10), listed(host, 0x10, 1)) == ([], [1, 2], [2])
    assert struct.unpack_from("<Q", host.identify(0x11, 1)) == (4095,)
    assert host.identify(0, 1) == bytes(4096)
    refused(INVALID_FIELD, lambda: read(queue, 1, 0, 1))
    attach(host, 1)
    attach(host, 2)
    refused(ALREADY, lambda: attach(host, 1))
    refused(LIST, lambda: attach(host, 1, host.controller + 1))
    refused(LIST, lambda: attach(host, 1, host.controller, host.controller))
    assert struct.unpack_from("<HH", host.identify(0x12, 1)) == (1, host.controller)
    assert (listed(host, 0x02), listed(host, 0x02, 1), listed(host, 7)) == ([1, 2], [2], [1, 2])
    assert host.identify(3, 1)[4:20] != host.identify(3, 2)[4:20], "identifiers are their own"
    assert (host.identify(0, 1)[26], host.identify(0, 2)[26]) == (0, 1)

    # Each has data of its own, also where they meet, and where the first one of the drive was.
    assert read(queue, 1, 0, 8) == bytes(8 * BLOCK)
    first, second = os.urandom(64 * BLOCK), os.urandom(8 * 4096)
    write(queue, 1, 4095 - 64, first)
    write(queue, 2, 0, second, 4096)
    write(queue, 2, 1016, second, 4096)
    assert read(queue, 1, 4095 - 64, 64) == first
    assert read(queue, 2, 0, 8, 4096) == read(queue, 2, 1016, 8, 4096) == second
    refused(OUT_OF_RANGE, lambda: read(queue, 1, 4095, 1))
    refused(OUT_OF_RANGE, lambda: read(queue, 2, 1020, 8, 4096))
    # Another format: what it held is gone, and its size stays.
    host.admin.ask(FORMAT, 0, namespace=2)
    assert struct.unpack_from("<Q", host.identify(0, 2)) == (8192,)
    assert read(queue, 2, 0, 64) == bytes(64 * BLOCK)
    assert read(queue, 1, 4095 - 64, 64) == first
    refused(INVALID_FORMAT, lambda: host.admin.ask(FORMAT, 3, namespace=2))
    host.admin.ask(FORMAT, 1, namespace=ALL)
    assert (host.identify(0, 1)[26], host.identify(0, 2)[26]) == (1, 1)

    # The gap that a deleted one has left is what the next one takes, where it fits.
    third = create(host, 64)
    delete(host, 1)
    assert create(host, 512, format_=1) == 1
    assert capacities(host)[1] == total - (512 + 1024 + 8) * 4096
    delete(host, ALL)
    assert (listed(host, 0x10), third, capacities(host)) == ([], 3, (total, total))
    for number in range(1, most + 1):
        assert create(host, 8) == number
    refused(UNAVAILABLE, lambda: create(host, 8))
    host.close()
    target.end()


def test_hosts_share_a_namespace_or_do_not(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--grace", "0ns")
    one, other = Host(target.place), Host(target.place)
    both = (one.controller, other.controller)
    assert struct.unpack_from("<HHH", one.identify(0x12, 1)) == (2, *sorted(both))
    write(one.queues[0], 1, 0, b"seen" * 128)
    assert read(other.queues[0], 1, 0, 1) == b"seen" * 128
    # Whoever has a namespace hears that it is detached, attached or gone, if it wants to.
    other.admin.ask(9, 0x0B, 0x100)
    attach(one, 1, other.controller, what=DETACH)
    refused(NOT_ATTACHED, lambda: attach(one, 1, other.controller, what=DETACH))
    refused(INVALID_FIELD, lambda: read(other.queues[0], 1, 0, 1))
    assert (listed(one, 2), listed(other, 2)) == ([1], [])
    # A notice (2) with the log page (4): once, until the host has read it.
    waits = [other.admin.send(EVENT) for _ in range(2)]
    done = other.admin.receive()
    assert (done.command, done.result) == (waits[0], 2 | 4 << 16)
    assert struct.unpack_from("<II", other.log(4, 4096)) == (1, 0)
    assert other.log(4, 4096) == bytes(4096), "what was read is news no more"
    attach(one, 1, other.controller)
    assert read(other.queues[0], 1, 0, 1) == b"seen" * 128
    keep_alive = other.admin.send(KEEP_ALIVE)
    told = {(done := other.admin.receive()).command: done.result for _ in range(2)}
    assert told == {keep_alive: 0, waits[1]: 2 | 4 << 16}
    # A private one is one controller's at a time.
    delete(one, 1)
    assert create(one, 4096, shared=False) == 1
    refused(PRIVATE, lambda: attach(one, 1, *sorted(both)))
    attach(one, 1)
    refused(PRIVATE, lambda: attach(one, 1, other.controller))
    assert (one.identify(0, 1)[30], listed(other, 2)) == (0, [])
    # Who comes later has what was attached last, and is shared.
    assert create(one, 4096) == 2
    attach(one, 2)
    third = Host(target.place)
    assert listed(third, 2) == [2]
    attach(one, 2, one.controller, third.controller, what=DETACH)
    assert listed(Host(target.place, queues=0), 2) == []
    one.close()
    target.end()


def test_conventional_zones_are_a_namespace(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, *ZONES, "--set", "zones.conventional=2", "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    size = (128 << 20) // BLOCK
    assert (listed(host, 2), listed(host, 7, 0, 0), listed(host, 7, 0, 2)) == ([1, 2], [1], [2])
    assert (host.identify(3, 1)[24], host.identify(3, 2)[24]) == (0, 2)
    assert struct.unpack_from("<Q", host.identify(0, 1)) == (2 * size,)
    refused(INVALID_SET, lambda: host.identify(5, 1, 2))
    assert struct.unpack_from("<QQ", host.identify(0x16, set_=2), 32) == (128 << 20, 128 << 20), "whole zones"
    assert struct.unpack_from("<Q", host.identify(0x0A, set_=2, specific=1), 2816) == (size,)
    # Anywhere, again and across the boundary; then in order, by blocks that are the namespace's.
    data = os.urandom(64 * BLOCK)
    for block in (7, size - 32, 7, 2 * size - 64):
        write(queue, 1, block, data)
        assert read(queue, 1, block, 64) == data
    zones = zones_of(queue, namespace=2)
    assert [zone[2] for zone in zones[:3]] == [0, size, 2 * size]
    assert {zone[0] for zone in zones} == {EMPTY}
    write(queue, 2, 0, data)
    refused(0x1BC, lambda: write(queue, 2, 7, data))
    assert queue.ask(APPEND, size, 0, 63, namespace=2, data=data)[0] == size
    assert read(queue, 2, size, 64) == read(queue, 2, 0, 64) == data
    # Zones are shared out to several namespaces, whole ones alone.
    count = len(zones)
    delete(host, 2)
    refused(INVALID_FIELD, lambda: create(host, size + 8, set_=2))
    refused(CAPACITY, lambda: create(host, (count + 1) * size, set_=2))
    assert (create(host, 3 * size, set_=2), create(host, (count - 3) * size, set_=2)) == (2, 3)
    for number in (2, 3):
        attach(host, number)
    assert (len(zones_of(queue, namespace=2)), len(zones_of(queue, namespace=3))) == (3, count - 3)
    write(queue, 3, 0, data)
    write(queue, 2, 2 * size, data)
    refused(OUT_OF_RANGE, lambda: read(queue, 2, 3 * size, 1))
    assert [zone[0] for zone in zones_of(queue, namespace=2)] == [EMPTY, EMPTY, IMPLICIT]
    # All zones are those of the namespace.
    queue.ask(SEND, 0, 0, 0, RESET | 1 << 8, namespace=2)
    assert {zone[0] for zone in zones_of(queue, namespace=2)} == {EMPTY}
    assert (zones_of(queue, namespace=3)[0][0], read(queue, 3, 0, 64)) == (IMPLICIT, data)
    # With blocks of 4,096 bytes.
    host.admin.ask(FORMAT, 1, namespace=3)
    assert struct.unpack_from("<QxxxxxxxxQ", host.identify(5, 3, 2), 2816) == (size, size // 8)
    assert zones_of(queue, namespace=3)[1][2] == size // 8
    assert queue.ask(APPEND, size // 8, 0, 7, namespace=3, data=data[:32768])[0] == size // 8
    assert read(queue, 3, size // 8, 8, 4096) == data[:32768]
    assert read(queue, 1, 7, 64) == data
    # A sanitize operation is about all of the drive. Simulated time goes on while the host sleeps, although one that
    # has asked often does not acknowledge the last reply until it asks again.
    other = Host(target.place)
    for _ in range(100):
        host.log(0x81, 512)
    host.admin.ask(0x84, 2)
    polls = 0
    while host.log(0x81, 512)[2] & 7 == 2:
        polls += 1
        assert polls < 1_000
        time.sleep(0.002)
    host.close()
    host = other
    [queue] = host.queues
    assert read(queue, 1, 7, 64) == bytes(64 * BLOCK)
    assert listed(host, 2) == [1, 2, 3]
    host.close()
    target.end()


def test_a_host_of_the_nvm_command_set_alone_has_no_zones(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, *ZONES, "--set", "zones.conventional=2", "--grace", "0ns")
    host, other = Host(target.place), Host(target.place, command_sets=NVM_ALONE)
    [queue] = other.queues
    assert (listed(host, 2), listed(other, 2), listed(other, 7), listed(other, 0x10)) == ([1, 2], [1], [1], [1, 2])
    refused(INVALID_FIELD, lambda: other.identify(7, 0, 2))
    assert other.identify(0, 2) == bytes(4096), "it is not active"
    assert struct.unpack_from("<HH", host.identify(0x12, 2)) == (1, host.controller)
    refused(INVALID_FIELD, lambda: read(queue, 2, 0, 8))
    assert read(queue, 1, 0, 8) == bytes(8 * BLOCK)
    attach(host, 2, other.controller, what=DETACH)
    refused(NOT_ENABLED, lambda: attach(host, 2, other.controller))
    refused(NOT_ENABLED, lambda: attach(other, 2))
    # Nobody has it, where one of several may not.
    attach(host, 2, what=DETACH)
    refused(NOT_ENABLED, lambda: attach(host, 2, *sorted((host.controller, other.controller))))
    assert listed(host, 2) == [1]
    # A controller that is enabled again for all command sets may have it.
    for configuration in (0x460000, 0x460061):
        other.admin.ask(0x7F, 0, 0x14, configuration, namespace=0)
    attach(host, 2, *sorted((host.controller, other.controller)))
    assert listed(host, 2) == listed(other, 2) == [1, 2]
    host.close()
    other.close()
    target.end()


def test_a_namespace_has_placement_handles_of_its_own(serve: Callable[..., Target]) -> None:
    target = serve(*SETS, "--set", "ftl.hints=4", "--requests-out", "r.parquet", "--grace", "0ns")
    host = Host(target.place)
    [queue] = host.queues
    delete(host, 1)
    for handles in [(4,), (1, 1), tuple(range(4)) * 33]:
        refused(0x02A, partial(create, host, 4096, handles=handles))
    for handles, number in [((2, 1), 1), ((), 2)]:
        assert create(host, 4096, handles=handles) == number
        attach(host, number)

    def status(number: int) -> list[tuple[int, int]]:
        _, data = queue.ask(RECEIVE, 1, 35, namespace=number, expects=144)
        (count,) = struct.unpack_from("<H", data, 14)
        return [struct.unpack_from("<HH", data, 16 + 32 * index) for index in range(count)]

    assert (status(1), status(2)) == ([(0, 2), (1, 1)], [(0, 0)])
    # Events of a handle are asked for by the namespace's name of it.
    not_full = 0
    host.admin.ask(9, 0x1E, 0 | 1 << 16, 0, namespace=1, data=bytes([not_full]))

    def wanted(number: int, handle: int) -> int:
        return host.admin.ask(10, 0x1E, handle | 1 << 16, namespace=number, expects=2)[1][1]

    assert [wanted(1, 0), wanted(1, 1), wanted(2, 0)] == [0, 1, 1]
    refused(INVALID_FIELD, lambda: wanted(1, 2))
    refused(INVALID_NAMESPACE, lambda: wanted(0, 0))
    assert struct.unpack_from("<I", host.log(0x12, 1024), 4 * 0x1D) == (1 | 1 << 23,), "of the endurance group"
    for number, handle in [(1, 0), (1, 1), (2, 0)]:
        queue.ask(WRITE, *span(0, 8, 2 << 20), handle << 16, namespace=number, data=bytes(4096))
    host.close()
    target.end()
    hints = pl.read_parquet(target.folder / "r.parquet")["hint"]
    assert hints.to_list()[-3:] == [2, 1, 0]
