"""What `ssdlab device` says of a drive before any run, against runs."""

from __future__ import annotations

import json
import random

import pytest

import ssdlab
from conftest import Cli
from ssdlab.runs.bounds import Access, DeviceBounds

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
    part = result.host.write if access.what == "write" else result.host.read
    return part.iops


@pytest.mark.slow
@pytest.mark.parametrize("name", DEVICES)
def test_no_run_exceeds_the_bounds_and_those_that_say_so_are_reached(name: str) -> None:
    found, device = ssdlab.bounds(name), ssdlab.Device(name)
    assert (found.raw_bytes, found.capacity_bytes) == (device.raw_capacity, device.capacity)
    for access in found.accesses:
        assert [bound.per_s for bound in access.bounds] == sorted(bound.per_s for bound in access.bounds)
        share = iops(played(name, access, 2048 if access.bytes < 100_000 else 512, 40_000), access) / access.iops
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_no_run_of_a_random_drive_exceeds_the_bounds(seed: int) -> None:
    settings = drawn(seed)
    for access in ssdlab.bounds("tlc-page", settings=settings).accesses:
        # So few writes that nothing is collected, and so many that what the buffer holds at the ends is a small part.
        requests = 4000 if access.what == "write" else 8000
        share = iops(played("tlc-page", access, 256, requests, **settings), access) / access.iops
        assert share <= 1.0, access


def test_the_command_prints_what_the_library_says(cli: Cli) -> None:
    found = ssdlab.bounds("asplos21", settings={"geometry.channels": 2})
    assert isinstance(found, DeviceBounds)
    data = json.loads(cli("device", "asplos21", "--set", "geometry.channels=2", "--json").stdout)
    assert data["capacity_bytes"] == found.capacity_bytes
    assert [access["iops"] for access in data["accesses"]] == [access.iops for access in found.accesses]
    text = cli("device").stdout
    assert "1.08 TB of 1.16 TB of flash" in text
    assert "host.link_bandwidth / size" in text
    assert cli("device", "nope").stderr.startswith("error: device `nope`")
