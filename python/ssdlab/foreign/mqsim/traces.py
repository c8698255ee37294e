"""Flows that replay traces, alone or beside others."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any, TypeVar

from ssdlab._core import InputError, extent
from ssdlab.common.toml import Document
from ssdlab.foreign.files import INPUTS
from ssdlab.foreign.mqsim.device import DriveConfig
from ssdlab.foreign.mqsim.flows import Flow, flow_jobs, flow_pace
from ssdlab.foreign.mqsim.keys import FORMATS, SECTOR
from ssdlab.foreign.part import Part

Found = TypeVar("Found")


def trace_flows(
    drive: DriveConfig, device: Document, flows: list[Flow], capacity: int, keys: dict[str, str]
) -> tuple[float, dict[str, Any]]:
    """What plays flows of which some are traces, and how far into the drive they reach."""
    replayed: dict[str, Any] = {"trace": None, "content": None}
    stripe = math.prod(drive.used(flows).values()) * drive.counts["page_size"]
    rooms = [int(capacity * flow.share) // stripe * stripe for flow in flows]
    if len(flows) == 1 and (alone := _alone(flows[0], rooms[0])) is not None:
        reaches, played = alone
        return reaches / capacity, replayed | played
    import polars

    base, touched, rows = 0, 0, []
    for flow, room in zip(flows, rooms, strict=True):
        if flow.synthetic:
            requests = _drawn(drive, device, flow, flows, capacity, base, keys)
        else:
            frame, path, unit = _read(flow)
            percent, replays = _played(flow)
            # Frames count from their first request, MQSim from 0.
            frame = frame.with_columns(polars.col("time_ns") + _first(path, unit))
            requests = _replayed(frame, unit, percent, replays, room, base, flow.number)
        touched = max(touched, int((requests["offset"] + requests["bytes"]).max()))
        rows.append(requests)
        base += room
    merged = polars.concat(rows).sort("time_ns", maintain_order=True)
    sectors = [(polars.col(name) // SECTOR).alias(name) for name in ("offset", "bytes")]
    read_code = (polars.col("op") == 0).cast(polars.UInt8).alias("code")
    text = merged.select("time_ns", "device", *sectors, read_code).write_csv(include_header=False, separator=" ")
    replayed |= {"content": text, "format": FORMATS["NANOSECOND"]}
    return min(1.0, touched / capacity), replayed


def _alone(flow: Flow, room: int) -> tuple[int, dict[str, Any]] | None:
    """Where the only flow's farthest request ends, and what plays its file as it is; None where it must be changed."""
    unit = flow.section.choice("Time_Unit", *FORMATS)
    percent, replays = _played(flow)
    if replays != 1 or unit == "PICOSECOND":
        return None
    (requests, reaches), path = _of_file(flow, lambda path: extent(path, format=FORMATS[unit]))
    if reaches > room:
        return None
    replayed: dict[str, Any] = {"trace": path, "format": FORMATS[unit]}
    if percent < 100:
        replayed["requests"] = max(1, requests * percent // 100)
    return reaches, replayed


def _played(flow: Flow) -> tuple[int, int]:
    """The share of a flow's trace that is played, in percent, and how often."""
    return flow.percent("Percentage_To_Be_Executed", 1), flow.section.whole("Relay_Count", 1)


def _read(flow: Flow) -> tuple[Any, str, str]:
    """A flow's trace as a frame, its path, and its unit of time; picoseconds are left as they are."""
    from ssdlab.trace.reading import read

    unit = flow.section.choice("Time_Unit", *FORMATS)
    frame, path = _of_file(flow, lambda path: read(path, format=FORMATS[unit]))
    return frame, path, unit


def _of_file(flow: Flow, read: Callable[[str], Found]) -> tuple[Found, str]:
    """What is read of a flow's file, and its path."""
    path = _path(flow)
    INPUTS.add(path)
    try:
        return read(path), path
    except InputError as error:
        error.add_note(f"it is the File_Path of {flow.section.where('File_Path')}")
        raise


def _replayed(frame: Any, unit: str, percent: int, replays: int, room: int, base: int, number: int) -> Any:
    """A flow's requests as MQSim plays them: repeated or cut, within the flow's part of the drive."""
    import polars

    if unit == "PICOSECOND":
        frame = frame.with_columns(polars.col("time_ns") // 1000)
    if replays == 1:
        frame = frame.head(max(1, frame.height * percent // 100))
    last = int(frame["time_ns"].max())
    rounds = [frame.with_columns(polars.col("time_ns") + turn * last) for turn in range(replays)]
    start = polars.col("offset") % (room - SECTOR)
    end = polars.min_horizontal(start + polars.col("bytes"), room)
    return _columns(polars.concat(rounds), "time_ns", start + base, end - start, number)


def _drawn(
    drive: DriveConfig, device: Document, flow: Flow, flows: list[Flow], capacity: int, base: int, keys: dict[str, str]
) -> Any:
    """The requests of a synthetic flow beside traces: they arrive whatever the drive does, so a run before the run
    tells them."""
    import polars

    synthetic = [other for other in flows if other.synthetic]
    stripe = drive.counts["page_size"]
    (job,) = flow_jobs([flow], capacity, stripe, keys).values()
    if "iodepth" in job:
        problem = "waits for completions, and traces do not: a scenario cannot have both"
        raise InputError(
            f"{flow.section.where('Synthetic_Generator_Type')}: {problem}\n"
            "  help: set BANDWIDTH, or give the flow a scenario of its own"
        )
    job |= flow_pace(flow, synthetic) | {"offset": f"{base}B"}
    part = Part("", device, {"job": {flow.name: job}}, {"seed": drive.seed + flow.number}, keys=keys)
    stop = flow.section.whole("Stop_Time")
    log = part.run(keep_requests=True, **({"duration": f"{stop}ns"} if stop else {})).requests.sort("request")
    return _columns(log, "arrival_ns", polars.col("offset"), polars.col("bytes"), flow.number)


def _columns(frame: Any, time: str, offset: Any, size: Any, number: int) -> Any:
    """Requests as those of one flow, to be merged with others."""
    import polars

    whole = [polars.col(time).alias("time_ns"), polars.col("op"), offset.alias("offset"), size.alias("bytes")]
    columns = [column.cast(polars.Int64) for column in whole]
    return frame.select(*columns, polars.lit(number, polars.Int64).alias("device"))


def _first(path: str, unit: str) -> int:
    """When a trace's first request arrives, as its unit counts; microseconds in ns."""
    from tempfile import NamedTemporaryFile

    from ssdlab.trace.reading import read

    # Frames count from their first request: beside one at 0, that of the trace has its own time.
    with NamedTemporaryFile("w", prefix="ssdlab-", suffix=".trace") as origin:
        origin.write("0 0 0 1 1\n")
        origin.flush()
        return int(read([origin.name, path], format=FORMATS[unit])["time_ns"][1])


def _path(flow: Flow) -> str:
    given = flow.section.text("File_Path").replace("\\", "/")
    beside = os.path.join(os.path.dirname(flow.file.name), given)
    for path in (given, beside):
        if given and os.path.isfile(path):
            return path
    raise InputError(
        f'{flow.section.where("File_Path")}: "{given}": there is no such file, in the working folder or beside the '
        "workload file\n  help: give the path of an ASCII trace"
    )
