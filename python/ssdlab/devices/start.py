"""Where a fit begins: closed forms of single jobs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ssdlab.devices.measured import MeasuredJob
from ssdlab.devices.unknowns import MOST, Shape, Space, amplification

LATENCY = "host.t_submit"


class Start(NamedTuple):
    """A first candidate, and what its values follow from."""

    shape: Shape
    values: tuple[float, ...]


def start(space: Space, jobs: Sequence[MeasuredJob]) -> Start:
    """The first candidate. What no job gives is the base device's.

    - A write with one under way takes t_submit + t_firmware + link + t_complete: the buffer takes it.
    - A read with one under way takes tR more, with its command, transfer and decoding.
    - Random reads with D under way on K units that take t each complete D K / (D + K - 1) in a time of t (a closed
      network of K equal queues: Lavenberg and Reiser 1980), which gives K.
    - Of the bandwidths that were measured the largest is the link's at least; that of writes, times the write
      amplification of a steady state, is what K units program.
    """
    values = list(space.base)

    def put(key: str, value: float) -> None:
        for index, unknown in enumerate(space.unknowns):
            if key in [part for part, _ in unknown.parts] and math.isfinite(value):
                values[index] = min(max(value, unknown.low * 1.01), unknown.high / 1.01)

    number = space.number
    host = number("host.t_submit") + number("host.t_complete")
    write = min((latency(job, "write") for job in lone(jobs, "write")), default=math.inf)
    if write < math.inf:
        host = max(500.0, write - number("host.t_firmware"))
        put(LATENCY, host)
    beside = host + number("host.t_firmware") + number("bus.t_command") + number("ecc.t_decode")
    read = min((latency(job, "read") for job in lone(jobs, "read")), default=math.inf)
    if read < math.inf:
        transfer = 4096 / max(1.0, number("bus.bandwidth")) * 1e9
        put("chip.t_read", max(0.3 * read, read - beside - transfer))
    largest = max((rate * job.block for job in jobs if not job.random for rate in rates(job)), default=0.0)
    if largest:
        put("host.link_bandwidth", 1.02 * largest)
    shape = _shape(space, jobs, space.value("chip.t_read", values))
    amplified = amplification(1.0 + number("ftl.over_provisioning"))
    writes = [(job, value) for job in jobs if job.direction == "write" and (value := rate(job, "write"))]
    written = [value * job.block * (amplified if job.overwriting else 1.0) for job, value in writes]
    if written:
        wordline = number("geometry.page_size") * space.pages_of_program
        program = shape.channels * shape.dies * shape.planes * wordline / max(written) * 1e9
        put("chip.t_prog", program)
        put("chip.t_program_pulse", program / max(1.0, number("chip.program_loops")))
    return Start(shape, tuple(values))


def busy_firmware(space: Space, jobs: Iterable[MeasuredJob]) -> float:
    """The firmware's time of a command if it sets the largest rate of commands that was measured [ns]."""
    most = max((sum(rates(job)) for job in jobs), default=0.0)
    return space.number("host.cores") / most * 1e9 if most else math.inf


def lone(jobs: Iterable[MeasuredJob], direction: str) -> list[MeasuredJob]:
    """The jobs of a direction with one request under way."""
    return [job for job in jobs if job.depth == 1 and job.direction == direction]


def latency(job: MeasuredJob, op: str) -> float:
    """The mean latency of a job, or what its IOPS say of it [ns]."""
    iops = job.value(op, "iops")
    return job.value(op, "mean") or job.value(op, "p50") or (1e9 * job.depth / iops if iops else math.inf)


def rate(job: MeasuredJob, op: str) -> float:
    """The IOPS of a job, or what its mean latency says of them."""
    mean = job.value(op, "mean") or job.value(op, "p50")
    return job.value(op, "iops") or (1e9 * job.depth / mean if mean else 0.0)


def rates(job: MeasuredJob) -> list[float]:
    """The IOPS of each direction of a job."""
    return [rate(job, op) for op in dict.fromkeys(each.op for each in job.figures)]


def _shape(space: Space, jobs: Sequence[MeasuredJob], t_read: float) -> Shape:
    """The base device's shape, with as many dies as the deepest random reads keep busy."""
    deep = [job for job in jobs if job.direction == "read" and job.random and job.depth > 1]
    base = space.shape
    found = [units(rate(job, "read") * t_read / 1e9, job.depth) for job in deep]
    if not found or not space.free[1]:
        return base
    wanted = max(found)
    if space.config["chip"]["plane_reads"] == "independent":
        wanted /= base.planes
    dies = 2 ** round(math.log2(max(1.0, wanted)))
    channels = min(base.channels, dies) if space.free[0] else base.channels
    return base._replace(channels=channels, dies=min(MOST.dies, max(1, dies // channels)))


def units(busy: float, depth: int) -> float:
    """The number of equal units of which ``depth`` customers keep ``busy`` busy on average."""
    busy = min(busy, 0.9 * depth)
    return busy * (depth - 1) / (depth - busy)
