"""What `ssdlab device` says of a drive before any run, against runs."""

from __future__ import annotations

import json
import random

import pytest

import ssdlab
from conftest import Cli
from ssdlab.runs.bounds import Access, Bound, DeviceBounds

DEVICES = [preset.name for preset in ssdlab.presets() if preset.kind == "device"]
RW = {"random": "randread", "sequential": "read", "write": "write"}


def played(device: str, access: Access, depth: int, requests: int, **settings: object) -> ssdlab.Result:
    size = f"{access.bytes}B"
    workload = {"workload.rw": RW[access.what.split()[0]], "workload.bs": size, "workload.align": size}
    warmup = requests // 4 if depth > 1 else 0
    every = {**settings, **workload}
    result = ssdlab.run(device, replay=f"closed:{depth}", requests=requests, warmup=warmup, settings=every)
    assert isinstance(result, ssdlab.Result)
    return result


def iops(result: ssdlab.Result, access: Access) -> float:
    part = result.host.write if access.what.startswith("write") else result.host.read
    return part.iops


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.parametrize("name", DEVICES)
def test_no_run_exceeds_the_bounds_and_those_that_say_so_are_reached(name: str) -> None:
    found, device = ssdlab.bounds(name), ssdlab.Device(name)
    assert (found.raw_bytes, found.capacity_bytes) == (device.raw_capacity, device.capacity)
    for access in found.accesses:
        assert [bound.per_s for bound in access.bounds] == sorted(bound.per_s for bound in access.bounds)
        settings = {"ftl.slc_cache": "none"} if access.what.endswith("past the cache") else {}
        depth = 2048 if access.bytes < 100_000 else 512
        share = iops(played(name, access, depth, 40_000, **settings), access) / access.iops
        assert share <= 1.0
        assert not access.reached or share >= 0.97, (access.what, share)


def test_what_is_reached_is_in_sequence_and_of_one_resource() -> None:
    reached = {name: [of.what for of in ssdlab.bounds(name).accesses if of.reached] for name in DEVICES}
    both = ["sequential read", "write"]
    assert reached["tlc"] == reached["mqsim-ideal"] == reached["electronics25"] == both
    # Link, bus and array are about as scarce, and a tenth of the time is erases; and here the map is not in memory.
    assert (reached["hbf"], reached["asplos21"], reached["mqsim"]) == ([], [], [])


@pytest.mark.parametrize("name", ["tlc", "tlc-page", "fast12-slc", "electronics25", "mqsim-ideal"])
def test_a_lone_read_takes_what_is_said_and_a_shallower_queue_misses_the_bound(name: str) -> None:
    for access in ssdlab.bounds(name).accesses:
        if access.lone_ns is None:
            continue
        assert access.queue_depth is not None
        latency = played(name, access, 1, 300).host.read.latency_ns
        assert latency.mean == latency.max == access.lone_ns
        shallow = iops(played(name, access, access.queue_depth - 1, 4000), access)
        assert shallow <= (access.queue_depth - 1) / access.lone_ns * 1e9 < access.iops


def drawn(seed: int) -> dict[str, object]:
    """A drive of other dimensions, and times that make each resource the scarce one now and then."""
    draws = random.Random(seed)
    return {
        "geometry.channels": draws.choice((1, 2, 8)),
        "geometry.chips": draws.choice((1, 2, 4)),
        "geometry.planes": draws.choice((1, 2, 4)),
        "geometry.blocks": 64,
        "geometry.pages": 96,
        "chip.t_read": f"{draws.choice((2, 20, 90))}us",
        "chip.t_prog": f"{draws.choice((50, 600))}us",
        "chip.program_unit": draws.choice(("page", "wordline")),
        "chip.plane_reads": draws.choice(("single", "lockstep", "independent")),
        "chip.cache_read": draws.choice((True, False)),
        "chip.cache_program": draws.choice((True, False)),
        "bus.bandwidth": draws.choice(("100MB/s", "1GB/s", "4GB/s")),
        "bus.transfer": draws.choice(("page", "codeword")),
        "ecc.decoders": draws.choice((1, 4)),
        "ecc.t_decode": f"{draws.choice((1, 20))}us",
        "host.link_bandwidth": draws.choice(("500MB/s", "8GB/s")),
        "host.t_firmware": draws.choice(("0us", "3us")),
        "buffer.size": "4MiB",
        "ftl.over_provisioning": 0.5,
    }


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_no_run_of_a_random_drive_exceeds_the_bounds(seed: int) -> None:
    settings = drawn(seed)
    for access in ssdlab.bounds("tlc-page", settings=settings).accesses:
        # So few writes that nothing is collected, and so many that what the buffer holds at the ends is a small part.
        requests = 4000 if access.what == "write" else 8000
        share = iops(played("tlc-page", access, 256, requests, **settings), access) / access.iops
        assert share <= 1.0, access


def cached(seed: int) -> dict[str, object]:
    """A drive of :func:`drawn` with an SLC cache, which is full after 8 to 256 MiB of writes."""
    draws = random.Random(f"cache {seed}")
    return drawn(seed) | {
        "ftl.slc_cache": draws.choice(("static", "dynamic")),
        "slc.blocks": 8,
        "slc.fold_idle": draws.choice(("none", "1ms")),
        "slc.t_read": f"{draws.choice((2, 25, 120))}us",
        "slc.t_prog": f"{draws.choice((40, 200, 900))}us",
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_no_write_into_a_cache_or_past_it_exceeds_the_bounds(seed: int) -> None:
    settings = cached(seed)
    access = ssdlab.bounds("tlc-page", settings=settings).access("write")
    assert iops(played("tlc-page", access, 256, 4000, **settings), access) <= access.iops


CACHE = {"gc.pacing": "none", "ftl.slc_cache": "static", "slc.blocks": 8, "slc.fold_idle": "none"}
SMALL = {"geometry.channels": 2, "geometry.chips": 1, "geometry.blocks": 120, "ftl.over_provisioning": 0.5}


def test_a_cache_raises_the_bounds_and_past_it_they_are_those_of_the_drive_without_one() -> None:
    without, found = ssdlab.bounds("tlc", settings=SMALL), ssdlab.bounds("tlc", settings={**CACHE, **SMALL})
    for alone in without.accesses:
        peak, past = found.access(alone.what), found.access(f"{alone.what} past the cache")
        assert past.bounds == alone.bounds
        assert all(one.per_s >= other.per_s for one, other in zip(bounds(peak), bounds(past), strict=True))
        assert peak.bounds != past.bounds


def bounds(access: Access) -> list[Bound]:
    """By resource."""
    return sorted(access.bounds)


@pytest.mark.slow
def test_writes_come_near_the_bound_of_the_cache_and_then_reach_that_past_it() -> None:
    settings = {**CACHE, **SMALL, "slc.t_bers": "1us", "host.link_bandwidth": "16GB/s", "bus.bandwidth": "4GB/s"}
    found = ssdlab.bounds("tlc", settings=settings)
    # 16 planes x 8 blocks x 384 pages of 16 KiB are 6,144 requests; erases are left out of the bound.
    into, past = found.access("write"), found.access("write past the cache")
    assert past.iops < 0.85 * into.iops < iops(played("tlc", into, 512, 5_000, **settings), into) <= into.iops
    assert 0.95 <= iops(played("tlc", past, 512, 30_000, **settings), past) / past.iops <= 1.0


def finished(device: ssdlab.Device) -> int:
    """When all that was submitted has completed."""
    last = 0
    while device.outstanding:
        last = max(done.finish_ns for done in device.advance_to_completion())
    return last


@pytest.mark.parametrize("t_read", [2, 25, 200])
def test_reads_of_what_was_written_into_the_cache_stay_within_the_bounds(t_read: int) -> None:
    settings = {**CACHE, **SMALL, "slc.t_read": f"{t_read}us", "buffer.size": "4MiB", "age.fill": 0.5}
    found = ssdlab.bounds("tlc", settings=settings)
    device = ssdlab.Device("tlc", settings=settings)
    piece = 1 << 17
    for number in range(1024):
        device.submit(0, "write", offset=number * piece, bytes=piece)
    end = finished(device)
    for access in found.accesses[:3]:
        # From the cache, in what was written first and so is not in the buffer any more.
        first = max(1, (64 << 20) // access.bytes)
        start, size, count = end, access.bytes, 4096
        for number in range(count):
            device.submit(start, "read", offset=number % first * size, bytes=size)
        end = finished(device)
        assert count / (end - start) * 1e9 <= access.iops
    # A lone read of the cache, and of the chip's own cells.
    for offset, access in (
        (0, found.accesses[0]),
        (device.capacity // 4, found.access("random read 4 KiB past the cache")),
    ):
        device.submit(end + 10**8, "read", offset=offset, bytes=access.bytes)
        start, end = end + 10**8, finished(device)
        lone = end - start
        assert access.lone_ns is not None
        assert lone >= access.lone_ns
        assert lone == access.lone_ns or (offset == 0 and t_read > 50)


def test_the_command_prints_what_the_library_says(cli: Cli) -> None:
    found = ssdlab.bounds("asplos21", settings={"geometry.channels": 2})
    assert isinstance(found, DeviceBounds)
    data = json.loads(cli("device", "asplos21", "--set", "geometry.channels=2", "--json").stdout)
    assert data["capacity_bytes"] == found.capacity_bytes
    assert [access["iops"] for access in data["accesses"]] == [access.iops for access in found.accesses]
    text = cli("device").stdout
    sentence = " ".join(text.partition("\n\n")[0].split())
    tlc = ssdlab.bounds("tlc")
    reads, writes = tlc.access("random read 4 KiB"), tlc.access("write")
    assert sentence.startswith(f"tlc holds 1.08 TB and does at most {round(reads.iops):,} random reads/s of 4 KiB (")
    assert f"writes of {writes.bandwidth_mb_s / 1e3:.3g} GB/s ({writes.bounds[0].resource})" in sentence
    # Of a chip or of a channel, everywhere.
    assert "8 channels x 4 dies x 4 planes" in text
    assert "32 in all: 2 chips a channel x 2 in each chip" in " ".join(text.split())
    described = " ".join(cli("device", "1TB, 4 ch x 6 dies").stdout.split())
    assert "4 channels x 6 dies x 4 planes" in described
    assert "dies = 2 (in each chip: 2 on each channel)" in " ".join(cli("device", "1TB").stdout.split())
    assert "1.08 TB of 1.16 TB of flash" in text
    assert "host.link_bandwidth / size" in " ".join(text.split())
    assert cli("device", "nope").stderr.startswith("error: device `nope`")
