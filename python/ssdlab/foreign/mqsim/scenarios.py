"""MQSim's I/O scenarios become runs."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from ssdlab._core import InputError, Simulation
from ssdlab.common.toml import Document
from ssdlab.foreign.mqsim.device import FASTEST_DRAM, DriveConfig
from ssdlab.foreign.mqsim.flows import RESOURCES, Flow, flow_jobs, flows_of
from ssdlab.foreign.mqsim.traces import trace_flows
from ssdlab.foreign.mqsim.xml import XmlFile
from ssdlab.foreign.part import Part
from ssdlab.runs.options import PathLike


class Scenarios(NamedTuple):
    """MQSim's files, read."""

    parts: tuple[Part, ...]
    """The I/O scenarios, in their order."""
    notes: tuple[str, ...]
    """What is unsupported, has no effect or is approximated: a line for each file and group."""


def load(ssdconfig: PathLike, workload: PathLike, scenarios: Sequence[int] = ()) -> Scenarios:
    """Reads ``ssdconfig.xml`` and ``workload.xml``.

    Each I/O scenario is a :class:`ssdlab.foreign.part.Part`: ``part.run()`` plays it, ``part.write(folder)`` writes
    device.toml and workload.toml. ``scenarios`` are the numbers of those that are wanted, from 1; all if none is given.
    Raises :class:`ssdlab.InputError` with file, line, key and remedy.
    """
    config = XmlFile(ssdconfig, "Execution_Parameter_Set", "ssdconfig.xml")
    flows = XmlFile(workload, "MQSim_IO_Scenarios", "workload.xml")
    nodes = [node for node in flows.root.inner if flows.known(node, ("IO_Scenario",))]
    if not nodes:
        raise flows.fail(flows.root, "holds no IO_Scenario", "add one with its flows")
    for number in scenarios:
        if not 1 <= number <= len(nodes):
            raise flows.fail(flows.root, f"holds no scenario {number}", f"choose from 1 to {len(nodes)}")
    drive = DriveConfig(config)
    wanted = [(number, node) for number, node in enumerate(nodes, 1) if not scenarios or number in scenarios]
    parts = tuple(_part(drive, flows, flows_of(flows, node), number) for number, node in wanted)
    lines = [f"{file.name}: {line}" for file in (config, flows) for line in file.notes.lines()]
    return Scenarios(parts, tuple(lines))


def _part(drive: DriveConfig, file: XmlFile, flows: list[Flow], number: int) -> Part:
    _share_out(drive, flows)
    traces = [flow for flow in flows if not flow.synthetic]
    device = {key: dict(value) if isinstance(value, dict) else value for key, value in drive.base.items()}
    device["geometry"] |= drive.used(flows)
    device["host"] |= {
        "queues": 1 if drive.sata else len(flows),
        "commands": drive.device.whole("IO_Queue_Depth" if drive.sata else "Queue_Fetch_Size", 1)
        * (1 if drive.sata else len(flows)),
    }
    device["buffer"] |= _buffer(drive, file, flows)
    capacity = _capacity(device, drive)
    keys = dict(drive.keys)
    options: dict[str, Any] = {"seed": drive.seed}
    if len({flow.section.text("Priority_Class").upper() for flow in flows}) > 1:
        file.notes.add("unsupported", "Priority_Class (all flows are alike)")
    if any(flow.section.given("Seed") for flow in flows if flow.synthetic):
        file.notes.add("approximated", "Seed: one seed for all streams, the device's")
    if traces:
        touched, replayed = trace_flows(drive, device, flows, capacity, keys)
        _fill(device, drive, flows, touched, writes=True)
        trace, content = replayed.pop("trace"), replayed.pop("content")
        return Part(f"scenario {number}", device, None, {**options, **replayed}, trace, content, keys, number)
    jobs = flow_jobs(flows, capacity, math.prod(drive.used(flows).values()) * drive.counts["page_size"], keys)
    end = max(_bytes(job["offset"]) + _bytes(job["footprint"]) for job in jobs.values()) / capacity
    _fill(device, drive, flows, end, writes=any(job["rw"] in ("randwrite", "randrw") for job in jobs.values()))
    stops = [flow.section.whole("Stop_Time") for flow in flows]
    if max(stops) > 0:
        options["duration"] = f"{max(stops)}ns"
        if len(set(stops)) > 1 and any("iodepth" in job for job in jobs.values()):
            file.notes.add(
                "approximated", "Stop_Time: flows of QUEUE_DEPTH without Total_Requests end at the latest one"
            )
    workload: Document = {"about": f"MQSim's {os.path.basename(file.name)}, scenario {number}", "job": jobs}
    return Part(f"scenario {number}", device, workload, options, keys=keys, number=number)


def _share_out(drive: DriveConfig, flows: list[Flow]) -> None:
    """Which part of the drive is whose: planes are shared equally by the flows that use them."""
    users: dict[tuple[int, ...], int] = {}
    mine = []
    for flow in flows:
        for name, key in RESOURCES.items():
            found = flow.section.numbers(key, drive.counts[name])
            flow.resources[name] = list(range(drive.counts[name])) if found is None or drive.sata else found
        planes: list[tuple[int, ...]] = [()]
        for ids in flow.resources.values():
            planes = [(*plane, id) for plane in planes for id in ids]
        mine.append(planes)
        for plane in planes:
            users[plane] = users.get(plane, 0) + 1
    whole = math.prod(drive.used(flows).values())
    for flow, planes in zip(flows, mine, strict=True):
        flow.share = sum(1 / users[plane] for plane in planes) / whole


def _buffer(drive: DriveConfig, file: XmlFile, flows: list[Flow]) -> Document:
    modes = [
        flow.section.choice(
            "Device_Level_Data_Caching_Mode", "TURNED_OFF", "WRITE_CACHE", "READ_CACHE", "WRITE_READ_CACHE"
        )
        for flow in flows
    ]
    cached = [mode in ("WRITE_CACHE", "WRITE_READ_CACHE") for mode in modes]
    if any("READ" in mode for mode in modes):
        file.notes.add("unsupported", "Device_Level_Data_Caching_Mode READ_CACHE (reads are not cached)")
    if len(set(cached)) > 1:
        file.notes.add("approximated", "Device_Level_Data_Caching_Mode: all flows have the write cache that some have")
    rate = (
        2
        * drive.device.whole("Data_Cache_DRAM_Data_Rate", 1)
        * drive.device.whole("Data_Cache_DRAM_Data_Busrt_Size", 1)
    )
    drive.keys["buffer.dram_bandwidth"] = drive.device.where("Data_Cache_DRAM_Data_Rate")
    dram = FASTEST_DRAM
    if any(cached) and not any(flow.reads for flow in flows):
        dram = f"{rate}MB/s"
    elif any(cached):
        drive.file.notes.add(
            "approximated",
            f"Data_Cache_DRAM_*: no time where flows read (--set buffer.dram_bandwidth={rate}MB/s: for all data)",
        )
    return {"mode": "write-back" if any(cached) else "write-through", "dram_bandwidth": dram}


def _capacity(device: Document, drive: DriveConfig) -> int:
    """The logical capacity [B], as the core lays it out; also the check of the device. Where the over-provisioning does
    not leave the free blocks that collection is to keep, it keeps as many as there are."""
    asked = device["gc"]["start"]
    try:
        return _laid_out(device, drive)
    except InputError as error:
        if "gc.stop" not in str(error):
            raise
        refused = error
    kept, beyond = 0, asked
    while beyond - kept > 1:
        middle = (kept + beyond) // 2
        device["gc"] |= {"start": middle, "stop": middle}
        try:
            _laid_out(device, drive)
            kept = middle
        except InputError:
            beyond = middle
    if kept == 0:
        raise refused
    device["gc"] |= {"start": kept, "stop": kept}
    drive.file.notes.add(
        "approximated", f"GC_Exec_Threshold: a plane keeps {kept} blocks free, not {asked}: Overprovisioning_Ratio"
    )
    return _laid_out(device, drive)


def _laid_out(device: Document, drive: DriveConfig) -> int:
    import json
    from tempfile import TemporaryDirectory

    part = Part("", device, None, keys=drive.keys)
    with TemporaryDirectory(prefix="ssdlab-") as folder:
        try:
            manifest = json.loads(Simulation(part.write(folder)["device"], "default").manifest)
        except InputError as error:
            raise part.translated(error) from None
    return int(manifest["device"]["capacity_bytes"])


def _fill(device: Document, drive: DriveConfig, flows: list[Flow], end: float, *, writes: bool) -> None:
    """The state at the start. ``end``: the highest address that is accessed, as a share of the capacity."""
    reads = any(flow.reads for flow in flows)
    fill = 0.0
    if drive.preconditioned:
        total = sum(flow.share for flow in flows)
        fill = sum(flow.percent("Initial_Occupancy_Percentage", 0) * flow.share for flow in flows) / total / 100
    # What was never written is read from flash in MQSim, and here from nowhere.
    if reads and end > fill:
        if drive.preconditioned:
            what = "the drive is filled as far as flows read"
            flows[0].file.notes.add("approximated", f"Initial_Occupancy_Percentage: {what}")
        fill = end
    device["age"] = {"fill": min(1.0, round(fill + 0.5e-6, 6)) if fill else 0.0}
    if drive.preconditioned and fill and writes:
        device["age"]["precondition"] = "closed-form"


def _bytes(size: str) -> int:
    return int(size.removesuffix("B"))
