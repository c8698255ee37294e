"""What a device can do at most, from its configuration alone: bounds of simple formulas, before any run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ssdlab.common.numbers import size_of
from ssdlab.common.shown import html, text
from ssdlab.runs.options import Given, Options, options_of


class Bound(NamedTuple):
    """What a resource allows."""

    resource: str
    per_s: float
    """Requests a second."""
    formula: str
    """In the keys of the configuration."""


class Access(NamedTuple):
    """A pattern of access and its bounds."""

    what: str
    bytes: int
    """Of a request."""
    bounds: tuple[Bound, ...]
    """The tightest first."""
    lone_ns: int | None
    """Latency of a request on an idle drive, exactly; None where several pages overlap, and for writes. With
    ``ecc.code`` that of a single iteration of the decoder; where pages of a wordline differ in tR, with their mean."""
    reached: bool
    """Whether runs of the presets come within 3 % of the tightest bound, as they do in sequence with the map in memory
    where no other resource is about as scarce; else it is a bound and no more."""

    @property
    def iops(self) -> float:
        """The tightest bound [1/s]."""
        return self.bounds[0].per_s

    @property
    def bandwidth_mb_s(self) -> float:
        """The bound in MB/s, 1 MB = 10^6 B."""
        return self.iops * self.bytes / 1e6

    @property
    def queue_depth(self) -> int | None:
        """The least outstanding requests with which the bound can be reached: bound x lone latency (Little's law)."""
        return None if self.lone_ns is None else math.ceil(self.iops * self.lone_ns / 1e9 - 1e-9)


class DeviceBounds(NamedTuple):
    """A device before any run."""

    name: str
    raw_bytes: int
    """Flash, spare blocks included."""
    capacity_bytes: int
    """What the host sees."""
    shape: tuple[tuple[str, str], ...]
    """What it is made of, for people."""
    accesses: tuple[Access, ...]

    @property
    def over_provisioning(self) -> float:
        """Flash beyond the capacity, over the capacity."""
        return self.raw_bytes / self.capacity_bytes - 1.0

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    def access(self, what: str) -> Access:
        """The bounds of a pattern, by its name: "random read 4 KiB", "random read 16 KiB" (a page), "sequential read",
        "write"; with an SLC cache also "write past the cache" and so on."""
        return next(access for access in self.accesses if access.what == what)


def bounds(
    device: Given | None = None,
    *,
    scheme: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> DeviceBounds:
    """Capacity and bounds of a device, without a run.

    Bounds are of reads that flash answers, without retries, collections or misses of the map, and of writes that reach
    flash without any amplification: no run of such reads or sustained writes exceeds them. What the write buffer or a
    read cache answers has the bounds of DRAM, link and firmware alone, and so has the first data of any run of writes,
    which the buffer (``buffer.size``) takes: a short run exceeds the bound of writes. With an SLC cache the bounds of
    each pattern are those of the faster of the two modes of blocks, and those of the chip's own cells follow ("past the
    cache").

    Args:
        device: a preset's name, a device file, or a dict of what it would hold.
        scheme: as of :func:`ssdlab.run`.
        settings: keys of the configuration, as of :func:`ssdlab.run`.

    Raises:
        InputError: the device is refused.
    """
    return bounds_of(options_of({"device": device, "scheme": scheme, "settings": settings or {}}))


def bounds_of(options: Options) -> DeviceBounds:
    """The bounds of the device of a run."""
    from ssdlab.runs.simulation import open_simulation

    simulation = open_simulation(options.replace(requests=1).without_outputs())
    manifest = json.loads(simulation.manifest)["device"]
    geometry = manifest["config"]["geometry"]
    channels, chips, of_chip, of_die = (int(geometry[key]) for key in ("channels", "chips", "dies", "planes"))
    dies = channels * chips * of_chip
    planes = dies * of_die
    shape = (
        ("flash", f"{geometry['cell']}, {channels} channels x {chips * of_chip} dies x {of_die} planes"),
        ("dies", f"{dies:,} in all: {chips} chips a channel x {of_chip} in each chip (geometry.dies)"),
        ("planes", f"{planes:,} in all"),
        ("block", f"{geometry['blocks']:,} a plane, {geometry['pages']:,} pages of {geometry['page_size']}"),
        ("unit of the map", str(manifest["config"]["mapping"]["unit"])),
    )
    raw = planes * int(geometry["blocks"]) * int(geometry["pages"]) * size_of(geometry["page_size"])
    accesses = tuple(
        Access(of["what"], of["bytes"], tuple(Bound(**each) for each in of["bounds"]), of["lone_ns"], of["reached"])
        for of in simulation.bounds
    )
    return DeviceBounds(manifest["name"], raw, int(manifest["capacity_bytes"]), shape, accesses)
