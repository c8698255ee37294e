"""Jobs played on candidates."""

from __future__ import annotations

import atexit
import math
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from ssdlab._core import InputError, SimulationError
from ssdlab.common.machine import cpus
from ssdlab.common.toml import Document, to_toml
from ssdlab.devices.measured import Figure, MeasuredJob
from ssdlab.devices.unknowns import Space
from ssdlab.foreign.fio.generator import TargetDrive, generator_job
from ssdlab.foreign.fio.jobfile import JobSection
from ssdlab.foreign.options import Notes
from ssdlab.runs.findings import Finding, excluding
from ssdlab.runs.options import Options
from ssdlab.runs.result import Result
from ssdlab.runs.runner import play

REQUESTS = 20_000
"""Requests of a job that are played and measured, where more were measured of the drive, or nobody says how many."""
WARM_SHARE = 0.25
"""Requests of the warm-up beside them."""
DEPTHS = 30
"""The least requests over the queue depth: at the end a run only drains."""
BUFFERS = 2.0
"""Jobs that write warm up with this many of the base device's buffers, so that these are full."""
FULL = 6.0
"""Times the buffer's content that is written before a steady state: it fills where flash is a fifth slower than the
host."""
STATES = {"written": None, "empty": {"fill": 0.0}, "steady": {"precondition": "closed-form"}}
"""What the drive holds when a job begins, as ages of runs. Jobs that only write in a steady state are played on a drive
that is written, whose programs take longer (:meth:`Space.settings`): until collection goes its steady pace a drive of a
terabyte is written to for some million requests."""


GIVEN = {"not-steady", "start-not-stationary", "buffer-only", "slc-cache-only", "cache-only"}
"""Warnings that say nothing here: the state in which a job was measured is given with it, and what a drive answers from
its buffer is measured as well."""


class Played(NamedTuple):
    """A job as it is played: the same on every candidate."""

    job: MeasuredJob
    options: Options
    notes: tuple[str, ...]


class Bench:
    """Plays jobs on candidates, and keeps what came of it."""

    def __init__(self, space: Space, jobs: Iterable[MeasuredJob], *, requests: int, threads: int | None) -> None:
        self.space = space
        self.threads = threads or cpus()
        self.runs = 0
        """Runs that were played."""
        self._kept: dict[tuple[str, tuple[str, ...], int], dict[tuple[str, str], float]] = {}
        self._refused: dict[tuple[str, tuple[str, ...], int], InputError] = {}
        self._marks: dict[tuple[str, tuple[str, ...], int], tuple[Finding, ...]] = {}
        self._folder = tempfile.mkdtemp(prefix="ssdlab-")
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        self.played = {
            job.name: _played(space, job, requests, os.path.join(self._folder, f"{number}.toml"))
            for number, job in enumerate(jobs)
        }

    def simulated(
        self, jobs: Sequence[MeasuredJob], settings: Sequence[tuple[str, ...]], seeds: Sequence[int]
    ) -> list[list[dict[tuple[str, str], float]]]:
        """The figures of jobs by (direction, metric): a list a job, of each of its settings with each of the seeds in
        turn.

        Raises:
            InputError: a candidate is refused.
        """
        wanted = {(job.name, each, seed): None for job, each in zip(jobs, settings, strict=True) for seed in seeds}
        missing = [key for key in wanted if key not in self._kept and key not in self._refused]
        self.runs += len(missing)
        if len(missing) > 1 and self.threads > 1:
            with ThreadPoolExecutor(min(self.threads, len(missing))) as pool:
                list(pool.map(self._keep, missing))
        else:
            for key in missing:
                self._keep(key)
        for key in wanted:
            if key in self._refused:
                raise self._refused[key]
        return [[self._kept[job.name, each, seed] for seed in seeds] for job, each in zip(jobs, settings, strict=True)]

    def marks(
        self, jobs: Sequence[MeasuredJob], settings: Sequence[tuple[str, ...]], seeds: Sequence[int]
    ) -> tuple[Finding, ...]:
        """What puts the simulated figures of jobs in doubt, each kind once a job; they have been simulated."""
        found = {
            (job.name, of.id): of._replace(text=f"{job.name}: {of.text}")
            for job, each in zip(jobs, settings, strict=True)
            for seed in seeds
            for of in self._marks[job.name, each, seed]
        }
        return tuple(found.values())

    def _keep(self, key: tuple[str, tuple[str, ...], int]) -> None:
        try:
            self._kept[key] = self._play(key)
        except InputError as error:
            self._refused[key] = error

    def _play(self, key: tuple[str, tuple[str, ...], int]) -> dict[tuple[str, str], float]:
        name, settings, seed = key
        played = self.played[name]
        try:
            result = play(played.options.replace(settings=(*settings, *played.options.settings), seed=seed))
        except SimulationError as error:
            raise InputError(f"{name}: {error}") from None
        self._marks[key] = tuple(of for of in result.warnings if of.id in excluding() - GIVEN)
        return {(each.op, each.metric): measured(result, each) for each in played.job.figures}


def measured(result: Result, figure: Figure) -> float:
    """The figure in a run [1/s, ns]."""
    part = result.host[figure.op]
    if figure.metric == "iops":
        return float(part["iops"])
    latency = part["latency_ns"]
    if figure.metric in latency:
        return float(latency[figure.metric] or math.nan)
    share = float(figure.metric[1:].replace("_", ".")) / 100.0
    rows = result.latency_distribution("read" if figure.op == "read" else "write")
    above = rows.filter(rows["share"] >= share - 1e-12)
    return float(above["latency_ns"][0]) if above.height else math.nan


def _played(space: Space, job: MeasuredJob, requests: int, path: str) -> Played:
    section = JobSection(job.name, job.file, 1)
    for key, value in job.options.items():
        section.values[key] = (value, job.file, 1)
        section.own[key] = value
    drive, notes = TargetDrive(int(space.capacity), 1, {}), Notes()
    # How long it ran is known from what was measured.
    section.values.pop("time_based", None)
    # A small part of a pass is played, and the state before it is that of uniform overwriting, which has a closed form.
    section.values["norandommap"] = "1", job.file, 1
    drive.lay_out([section], notes)
    clones = section.whole("numjobs", 1, 1)
    document: Document = {"about": job.name, "job": {}}
    requests = max(requests, DEPTHS * job.depth)
    measured_all = 0 < job.requests <= requests
    count = job.requests if measured_all else requests
    warmup = 0 if measured_all else _warmup(space, job, requests)
    for clone in range(clones):
        made = generator_job(section, clone, drive, notes)
        made["requests"] = max(1, math.ceil((count + warmup) / clones))
        if _bytes(made["footprint"]) >= 0.95 * space.capacity:
            made["footprint"] = "none"
        document["job"][f"{clone + 1}"] = made
    with open(path, "w", encoding="utf-8") as file:
        file.write(to_toml(document))
    age: Any = None if job.overwriting else STATES[job.state]
    given = {} if age is None else {"age": ",".join(f"{key}={value}" for key, value in age.items())}
    settings = [f"host.queues={clones}"] if clones > space.number("host.queues") else []
    options = Options(space.device, path, warmup=warmup, settings=tuple(settings), **given)
    if job.overwriting:
        notes.add("by the closed form of write amplification, not by collection", "steady state")
    return Played(job, options, notes.lines())


def _warmup(space: Space, job: MeasuredJob, requests: int) -> int:
    """Requests before those that are measured."""
    count = round(WARM_SHARE * requests)
    if job.direction == "read":
        return count
    written = BUFFERS * space.number("buffer.size")
    if job.overwriting:
        return max(count, math.ceil(FULL * space.programmed_at_once(space.shape) / job.block))
    if job.state == "steady":
        # Until the free blocks of the first state are full, nothing is collected.
        block = space.number("geometry.pages") * space.number("geometry.page_size")
        written += space.number("gc.stop") * math.prod(space.shape) * block
    return max(count, math.ceil(written / job.block))


def _bytes(text: object) -> float:
    return float(str(text).removesuffix("B"))
