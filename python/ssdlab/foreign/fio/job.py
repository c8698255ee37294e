"""What is known of fio's jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ssdlab.foreign.part import Part

SYNCHRONOUS = ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice")
WITHOUT_IO = (
    "cpuio", "exec", "net", "netsplice", "rdma", "librpma_apm_client", "librpma_apm_server", "librpma_gpspm_client",
    "librpma_gpspm_server", "filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete", "ftruncate",
    "falloc",
)  # fmt: skip
"""Engines that neither read nor write a drive: they compute, use the network, or change names and sizes of files. (The
engines `null` and `cpp_null` pretend to read and write: their jobs are played.)"""
MODES = {
    "read": "read", "write": "write", "trim": "trim", "randread": "randread", "randwrite": "randwrite",
    "randtrim": "randtrim", "rw": "rw", "readwrite": "rw", "randrw": "randrw",
}  # fmt: skip
MIXED = ("rw", "randrw")
DEFAULT_PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
MOST_JOBS = 256
"""Clones included: a job is a submission queue, and this is the most that a drive has."""
MEBI = 1 << 20


@dataclass(frozen=True)
class Job:
    """What the layouts of fio report of a job, or about one of its clones."""

    name: str
    """The section's name."""
    queue: int
    """The submission queue of its requests, within its part."""
    group: int
    """fio's groupid."""
    options: dict[str, str] = field(default_factory=dict)
    """What its section says."""
    together: bool = False
    """``group_reporting``."""
    ramp_ns: int = 0
    percentiles: tuple[float, ...] = DEFAULT_PERCENTILES
    head: str = ""
    """fio's line about it: rw, block sizes, engine, depth."""
    depth: int = 1


class JobFile(NamedTuple):
    """A job file, read."""

    parts: tuple[Part, ...]
    """The runs: jobs up to a stonewall each."""
    notes: tuple[str, ...]
    """What is unsupported, approximated or has no effect: a line for each group."""
    jobs: tuple[tuple[Job, ...], ...]
    """The jobs of each part, clones included."""
    options: dict[str, str]
    """What stands in [global]."""
