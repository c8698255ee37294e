"""Reading a job file: its jobs become runs, stonewall by stonewall."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from ssdlab._core import Device, InputError, Simulation
from ssdlab.common.toml import Document
from ssdlab.foreign.fio.generator import TargetDrive, generator_job
from ssdlab.foreign.fio.job import DEFAULT_PERCENTILES, MOST_JOBS, WITHOUT_IO, Job, JobFile
from ssdlab.foreign.fio.jobfile import JobSection, parsed_time, read_sections
from ssdlab.foreign.fio.options import SPELLINGS, SUPPORTED, WITHOUT_EFFECT
from ssdlab.foreign.options import Notes, near
from ssdlab.foreign.part import Part
from ssdlab.runs.documents import Given, word_of
from ssdlab.runs.options import PathLike


def load(
    jobfile: PathLike,
    sections: Sequence[str] = (),
    *,
    device: Given = "tlc",
    scheme: str | None = None,
    age: str | None = None,
    settings: Sequence[str] = (),
) -> JobFile:
    """Reads a job file for a device.

    ``sections`` are the jobs that are wanted (fio's ``--section``); all if none is given. ``part.run()`` plays the jobs
    up to a stonewall on that device; for fio's layouts (:mod:`ssdlab.foreign.fio.output`) with ``keep_requests=True``.
    Raises :class:`ssdlab.InputError` with file, line, option and remedy.
    """
    import json

    found, shared = read_sections(os.fspath(jobfile))
    names = [section.name for section in found]
    for name in sections:
        if name not in names:
            hint = near(name, names) or f"its jobs are {', '.join(names)}"
            raise InputError(f"{os.fspath(jobfile)}: holds no job `{name}`\n  help: {hint}")
    wanted = [section for section in found if not sections or section.name in sections]
    if not wanted:
        raise InputError(f"{os.fspath(jobfile)}: holds no job\n  help: add a section such as [reader] with rw=randread")
    device = word_of("device", device)
    plain = [setting for setting in settings if not setting.startswith(("workload.", "job.", "kv.", "log_fs."))]
    manifest = json.loads(Simulation(device, "default", scheme=scheme, age=age, settings=plain).manifest)
    config = manifest["device"]
    target = {"device": device, "scheme": scheme, "age": age, "settings": list(settings)}
    drive = TargetDrive(int(config["capacity_bytes"]), int(config["config"]["host"]["queues"]), target)
    drive.handles = int(config["config"]["ftl"]["hints"])
    if any(section.text("zonemode", "none") == "zbd" for section in wanted):
        zones = Device(device, scheme=scheme, age=age, settings=plain).zones(0, 2)
        if len(zones) == 2:
            most = config["config"]["zones"]["max_open"]
            limit = most if isinstance(most, int) else len(zones)
            drive.zones = zones[1]["start"] - zones[0]["start"], zones[1]["capacity"], limit
    return _import(os.fspath(jobfile), wanted, shared, drive)


def _import(path: str, sections: list[JobSection], shared: dict[str, str], drive: TargetDrive) -> JobFile:
    notes = Notes()
    walls: list[list[JobSection]] = []
    groups: list[list[int]] = []
    group = -1
    for section in sections:
        alone = section.flag("stonewall") or not walls
        if alone:
            walls.append([])
            groups.append([])
        if alone or section.flag("new_group"):
            group += 1
        engine = section.text("ioengine").strip()
        if engine in WITHOUT_IO:
            notes.add("left out, as their engine does no I/O on a drive", f"[{section.name}] (ioengine={engine})")
            continue
        walls[-1].append(section)
        groups[-1].append(group)
        _note(section, notes)
    walls, groups = [wall for wall in walls if wall], [ids for ids in groups if ids]
    if not walls:
        raise InputError(
            f"{sections[0].where('ioengine')}: no job does I/O on a drive\n  help: choose an engine that reads or "
            "writes, such as libaio"
        )
    if len(walls) > 1:
        notes.add("approximated", "stonewall: each group is a run of its own, on a drive in its first state")
    for wall in walls:
        total = 0
        for section in wall:
            total += section.whole("numjobs", 1, 1)
            if total > MOST_JOBS:
                raise InputError(
                    f"{section.where('numjobs')}: {total} jobs run at once, and a drive has at most "
                    f"{MOST_JOBS} submission queues\n  help: choose fewer with more iodepth, or give some a stonewall"
                )
    drive.lay_out([section for wall in walls for section in wall], notes)
    parts, jobs = [], []
    for number, (wall, ids) in enumerate(zip(walls, groups, strict=True)):
        part, members = _part(wall, ids, drive, notes, f"group {number}" if len(walls) > 1 else os.path.basename(path))
        parts.append(part)
        jobs.append(members)
    lines = tuple(f"{path}: {line}" for line in notes.lines())
    return JobFile(tuple(parts), lines, tuple(jobs), shared)


def _note(section: JobSection, notes: Notes) -> None:
    idle = {key.name for key in WITHOUT_EFFECT}
    known = {key.name for key in SUPPORTED}
    for key in section.values:
        if key in idle:
            notes.add("no effect", key)
        elif key not in known:
            hint = near(key, SPELLINGS)
            notes.add("unsupported, ignored", f"{key}{f' ({hint})' if hint else ''}")
    for key, lacking in section.unset.items():
        notes.add("not set in the environment, so empty, as in fio", f"{', '.join(lacking)} ({key})")
    if section.has("ioengine"):
        notes.add("no effect", f"ioengine={section.text('ioengine')}")


def _part(
    wall: list[JobSection], groups: list[int], drive: TargetDrive, notes: Notes, name: str
) -> tuple[Part, tuple[Job, ...]]:
    keys: dict[str, str] = {}
    options = {name: value for name, value in drive.options.items() if value is not None}
    stops = [parsed_time(section, "runtime", 1e9) for section in wall]
    ramps = [parsed_time(section, "ramp_time", 1e9) for section in wall]
    duration = max((stop + ramp if stop else 0) for stop, ramp in zip(stops, ramps, strict=True))
    if len(set(stops)) > 1 and duration:
        notes.add("approximated", "runtime: the longest one holds for all jobs of a group")
    if duration:
        options["duration"] = f"{duration}ns"
    seeds = [section.whole("randseed", 0) for section in wall if section.has("randseed")]
    if seeds:
        options["seed"] = seeds[0]
    replayed = [section for section in wall if section.has("read_iolog")]
    if replayed:
        return _replay(wall, replayed[0], groups, notes, name, options)
    document: Document = {"about": f"fio: {name}", "job": {}}
    members: list[Job] = []
    for section, group in zip(wall, groups, strict=True):
        clones = section.whole("numjobs", 1, 1)
        for clone in range(clones):
            label = _label(section.title if clones == 1 else f"{section.title}-{clone + 1}", document["job"])
            job = generator_job(section, clone, drive, notes)
            document["job"][label] = job
            for key, option in DECIDED_BY.items():
                keys[f"job.{label}.{key}"] = section.where(option)
            members.append(_member(section, len(members), group, job))
    if len(members) > drive.queues:
        options["settings"] = [*options["settings"], f"host.queues={len(members)}"]
        notes.add("approximated", f"{len(members)} jobs: so many submission queues (host.queues)")
    return Part(name, None, document, options, keys=keys), tuple(members)


DECIDED_BY = {
    "footprint": "size",
    "offset": "offset",
    "bs": "bs",
    "align": "blockalign",
    "rate_iops": "rate_iops",
    "iodepth": "iodepth",
    "requests": "size",
    "random_distribution": "random_distribution",
    "thinktime": "thinktime",
}
"""Keys of our jobs and the option that decides each, for errors."""


def _label(name: str, taken: Document) -> str:
    """A job's name as a bare key of TOML, and no other job's."""
    label = base = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    count = 1
    while label in taken:
        count += 1
        label = f"{base}-{count}"
    return label


BESIDE_IOLOG = (
    "read_iolog", "runtime", "ramp_time", "randseed", "stonewall", "new_group", "group_reporting", "percentile_list",
    "description", "name", "kb_base",
)  # fmt: skip
"""What holds where a log says what is played."""


def _replay(
    wall: list[JobSection], section: JobSection, groups: list[int], notes: Notes, name: str, options: dict[str, Any]
) -> tuple[Part, tuple[Job, ...]]:
    if len(wall) > 1:
        raise InputError(f"{section.where('read_iolog')}: is played beside other jobs\n  help: give it a stonewall")
    given = section.text("read_iolog")
    beside = os.path.join(os.path.dirname(section.file), given)
    path = next((path for path in (given, beside) if os.path.isfile(path)), None)
    if path is None:
        raise InputError(
            f'{section.where("read_iolog")}: "{given}": there is no such file\n  help: give an iolog\'s path'
        )
    for key in section.values:
        if key not in BESIDE_IOLOG and any(key == known.name for known in SUPPORTED):
            notes.add("no effect beside read_iolog", key)
    job = Job(
        section.title,
        0,
        groups[0],
        dict(section.own),
        section.flag("group_reporting"),
        parsed_time(section, "ramp_time", 1e9),
        _percentiles(section),
        "read_iolog",
    )
    return Part(name, None, None, options, trace=path), (job,)


def _percentiles(section: JobSection) -> tuple[float, ...]:
    if not section.has("percentile_list"):
        return DEFAULT_PERCENTILES
    try:
        found = sorted(float(text) for text in section.text("percentile_list").split(":"))
    except ValueError:
        found = []
    if not found or not all(0 < value <= 100 for value in found):
        raise section.bad("percentile_list", "percentiles above 0 and up to 100, such as 50:99:99.9")
    return tuple(found)


def _member(section: JobSection, queue: int, group: int, job: Document) -> Job:
    from ssdlab.foreign.fio.numbers import block

    sizes = [int(part.split("B")[0]) for part in job["bs"].split(":")]
    span = f"{block(min(sizes))}-{block(max(sizes))}"
    engine = section.text("ioengine", "psync")
    head = f"rw={section.text('rw', 'read')}, bs=(R) {span}, (W) {span}, (T) {span}, ioengine={engine}"
    return Job(
        section.title,
        queue,
        group,
        dict(section.own),
        section.flag("group_reporting"),
        parsed_time(section, "ramp_time", 1e9),
        _percentiles(section),
        f"{head}, iodepth={job['iodepth']}",
        int(job["iodepth"]),
    )
