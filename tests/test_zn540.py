"""The preset zn540 beside what is published of the drive that it is fitted to: docs/zones.md."""

from __future__ import annotations

from typing import Any

import ssdlab

KIB, MIB = 1 << 10, 1 << 20


def ask(drive: ssdlab.Device, op: Any, offset: int, length: int) -> float:
    """How long a request takes [ms]."""
    began = drive.now
    drive.submit(began, op, offset, length)
    done = drive.advance_to_completion()[-1]
    assert done.status == "Successful Completion"
    return (done.finish_ns - began) / 1e6


def test_it_has_the_zones_of_the_drive() -> None:
    drive = ssdlab.Device("zn540")
    zones = drive.zones()
    assert (len(zones), zones[0].capacity, zones[1].start) == (904, 1077 * MIB, 2048 * MIB)


def test_a_finish_and_a_reset_take_what_is_published() -> None:
    drive = ssdlab.Device("zn540")
    empty, full = drive.zones(count=2)
    ask(drive, "write", empty.start, 4 * KIB)
    # 65 finishes in 60.153 s; its blocks are erased while the next zone is written.
    assert abs(ask(drive, "zone-finish", empty.start, empty.capacity) / (60_153 / 65) - 1) < 0.002
    for offset in range(0, full.capacity, MIB):
        ask(drive, "write", full.start + offset, MIB)
    drive.flush()
    # The mean of 632 resets.
    assert abs(ask(drive, "zone-reset", full.start, full.capacity) / 16.925 - 1) < 0.002


def test_four_writers_are_within_a_twentieth_of_the_published_bandwidth() -> None:
    drive = ssdlab.Device("zn540")
    written, starts = [0] * 4, [zone.start for zone in drive.zones(count=4)]
    writers: dict[int, int] = {}

    def write(writer: int) -> None:
        number = drive.submit(drive.now, "write", starts[writer] + written[writer], 64 * KIB)
        writers[number] = writer
        written[writer] += 64 * KIB

    for writer in range(4):
        write(writer)
    began = None
    while sum(written) < 1000 * MIB:
        for done in drive.advance_to_completion():
            write(writers.pop(done.request))
        # The buffer is full by then, and takes as much as the flash does.
        if began is None and sum(written) >= 300 * MIB:
            began = (drive.now, sum(written))
    assert began is not None
    bandwidth = (sum(written) - began[1]) / (drive.now - began[0])
    assert 1.0 < bandwidth / 1.2287 < 1.05
