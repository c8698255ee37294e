"""What a device can do at most, from its configuration alone: bounds of simple formulas, before any run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ssdlab.common.numbers import size_of, time_of
from ssdlab.common.shown import html, text
from ssdlab.runs.options import Given, Options, options_of

Config = Mapping[str, Mapping[str, Any]]
BITS = {"SLC": 1, "MLC": 2, "TLC": 3, "QLC": 4, "PLC": 5}
"""Bits of a cell."""


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
        """The same in MB/s, 1 MB = 10^6 B."""
        return self.iops * self.bytes / 1e6

    @property
    def queue_depth(self) -> int | None:
        """Below so many outstanding requests the bound cannot be reached: bound x lone latency (Little's law)."""
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
    read cache answers has the bounds of DRAM, link and firmware alone. With an SLC cache the bounds of each pattern are
    those of the faster of the two modes of blocks, and those of the chip's own cells follow ("past the cache").

    Args:
        device: a preset's name, a device file, or a dict of what it would hold.
        scheme: as of :func:`ssdlab.run`.
        settings: keys of the configuration, as of :func:`ssdlab.run`.

    Raises:
        InputError: the device is refused.
    """
    return bounds_of(options_of({"device": device, "scheme": scheme, "settings": settings or {}}))


def bounds_of(options: Options) -> DeviceBounds:
    """The same of the device of a run."""
    from ssdlab.runs.simulation import open_simulation

    manifest = json.loads(open_simulation(options.replace(requests=1).without_outputs()).manifest)["device"]
    plan = _Plan(manifest["config"])
    geometry = manifest["config"]["geometry"]
    shape = (
        ("flash", f"{geometry['cell']}, {plan.channels} channels, {plan.dies} dies, {plan.planes} planes"),
        ("block", f"{geometry['blocks']:,} a plane, {geometry['pages']:,} pages of {geometry['page_size']}"),
        ("unit of the map", str(manifest["config"]["mapping"]["unit"])),
    )
    block = int(geometry["pages"]) * plan.page
    raw = plan.planes * int(geometry["blocks"]) * block
    accesses = tuple(access for modes, suffix in plan.cases() for access in plan.accesses(modes, suffix))
    return DeviceBounds(manifest["name"], raw, int(manifest["capacity_bytes"]), shape, accesses)


class _Mode(NamedTuple):
    """Blocks of one mode: the chip's own cells, or one bit a cell in the SLC cache. Times in [ns], with their names."""

    t_read: float
    read: str
    t_program: float
    """Of a program unit, all of its passes."""
    program: str
    pages: int
    """Of a program unit on a plane."""
    passes: int

    @property
    def unit(self) -> str:
        return "pages" if self.pages == 1 else "wordlines"


class _Plan:
    """What the bounds are worked out of."""

    def __init__(self, config: Config) -> None:
        geometry, chip, bus = config["geometry"], config["chip"], config["bus"]
        self.config = config
        self.channels = int(geometry["channels"])
        self.dies = self.channels * int(geometry["chips"]) * int(geometry["dies"])
        # A chip without die interleaving has one busy die at most.
        self.working = self.dies if bus["die_interleaving"] else self.channels * int(geometry["chips"])
        self.planes_of_die = int(geometry["planes"])
        self.planes = self.dies * self.planes_of_die
        self.page = size_of(geometry["page_size"])
        bits = BITS[geometry["cell"]]
        self.in_memory = config["mapping"]["table"] == "ideal"
        whole = chip["program_unit"] == "wordline"
        t_program = _t_program(chip, bits, whole)
        self.own = _Mode(
            _mean_t_read(chip), "tR", t_program, "tPROG", bits if whole else 1, int(chip["program_passes"])
        )
        self.t_command = time_of(bus["t_command"])
        self.link, self.dram = size_of(config["host"]["link_bandwidth"]), size_of(config["buffer"]["dram_bandwidth"])

    def cases(self) -> list[tuple[tuple[_Mode, ...], str]]:
        """The modes that blocks may be in, and how the patterns of this case are marked."""
        if self.config["ftl"]["slc_cache"] == "none":
            return [((self.own,), "")]
        slc = self.config["slc"]
        times = _times(slc["t_read"])
        whole = self.config["chip"]["program_unit"] == "wordline"
        pages = BITS[slc["cell"]] if whole else 1
        cache = _Mode(sum(times) / len(times), "slc.t_read", float(time_of(slc["t_prog"])), "slc.t_prog", pages, 1)
        return [((self.own, cache), ""), ((self.own,), " past the cache")]

    def accesses(self, modes: tuple[_Mode, ...], suffix: str) -> list[Access]:
        """The patterns, on blocks that may be in any of these modes."""
        sizes = [size for size in sorted({4 << 10, self.page}) if size <= self.page]
        cells = min(modes, key=lambda mode: mode.t_read)
        reads = [self.reads(f"random read {size >> 10} KiB{suffix}", size, cells) for size in sizes]
        sequential = self.reads(f"sequential read{suffix}", 128 << 10, cells)
        return [*reads, sequential, self.writes(f"write{suffix}", 128 << 10, modes)]

    def t_dma(self, size: int) -> int:
        """Time of bytes on the bus [ns]."""
        bus = self.config["bus"]
        if bus["t_dma"] != "none":
            return -(-time_of(bus["t_dma"]) * size // self.page)
        return -(-size * 10**9 // size_of(bus["bandwidth"]))

    def moved(self, size: int) -> int:
        """Bytes of a page that a read of ``size`` moves over the bus."""
        if self.config["bus"]["transfer"] == "page":
            return self.page
        codeword = min(self.page, size_of(self.config["ecc"]["codeword"]))
        return min(self.page, -(-size // codeword) * codeword)

    def reads(self, what: str, size: int, cells: _Mode) -> Access:
        """Reads of ``size`` that flash answers, from blocks of a mode."""
        config, ecc = self.config, self.config["ecc"]
        part = min(size, self.page)
        parts = size / part
        held = 0 if config["chip"]["cache_read"] else self.t_dma(self.moved(part))
        per_s = self.working * self.planes_of_die / (cells.t_read + held) / parts * 1e9
        found = [
            Bound("flash array", per_s, f"planes / ({cells.read} + tDMA)" if held else f"planes / {cells.read}"),
            Bound(
                "bus",
                self.channels / (self.t_command + self.t_dma(self.moved(part))) / parts * 1e9,
                "channels / (bus.t_command + tDMA)",
            ),
        ]
        if config["chip"]["plane_reads"] == "single":
            found.append(Bound("sensing dies", self.working / cells.t_read / parts * 1e9, f"dies / {cells.read}"))
        t_decode = time_of(ecc["t_decode"])
        if t_decode:
            per_s = self.channels * int(ecc["decoders"]) / t_decode / parts * 1e9
            found.append(Bound("ECC", per_s, "channels x ecc.decoders / ecc.t_decode"))
        if config["buffer"]["read_through"]:
            found.append(Bound("DRAM", self.dram / size, "buffer.dram_bandwidth / size"))
        found += self._host(size, "host.link_bandwidth / size")
        lone = None
        if size <= self.page:
            lone = self._lone(size, cells)
            host = config["host"]
            most = min(int(host["commands"]), int(host["queues"]) * int(host["queue_depth"]))
            found.append(Bound("commands", most / lone * 1e9, "host.commands / lone latency"))
        return self._access(what, size, found, lone, size > self.page and cells is self.own)

    def _access(self, what: str, size: int, found: list[Bound], lone: int | None, steady: bool) -> Access:
        ordered = tuple(sorted(found, key=lambda bound: bound.per_s))
        # Two resources that are about as scarce are not both busy all the time.
        alone = ordered[1].per_s > 1.1 * ordered[0].per_s
        return Access(what, size, ordered, lone, steady and alone and self.in_memory)

    def _lone(self, size: int, cells: _Mode) -> int:
        """The latency of a read of a page or less on an idle drive [ns] (docs/model.md, "A read")."""
        host, ecc = self.config["host"], self.config["ecc"]
        lone = sum(time_of(host[part]) for part in ("t_submit", "t_firmware", "t_complete"))
        lone += self.t_command + round(cells.t_read) + self.t_dma(self.moved(size)) + time_of(ecc["t_decode"])
        lone += -(-size * 10**9 // self.link)
        return lone + (-(-size * 10**9 // self.dram) if self.config["buffer"]["read_through"] else 0)

    def writes(self, what: str, size: int, modes: tuple[_Mode, ...]) -> Access:
        """Sustained writes: every byte is programmed once, in a block of any of these modes."""
        found = [
            max((self._array(mode, size) for mode in modes), key=lambda bound: bound.per_s),
            max((self._loading(mode, size) for mode in modes), key=lambda bound: bound.per_s),
            Bound("DRAM", self.dram / size, "buffer.dram_bandwidth / size"),
            *self._host(size, "host.link_bandwidth / size"),
        ]
        # The bound leaves out that blocks are erased (now and then none is) and that data of a cache is folded.
        own = self.own
        seldom = self.t_erase() * own.pages / int(self.config["geometry"]["pages"]) < 0.01 * own.t_program
        # Zones are written one after another, each by the dies of its group.
        everywhere = self.config["ftl"]["slc_cache"] == "none" and self.config["ftl"]["mapping"] != "zoned"
        return self._access(what, size, found, None, seldom and everywhere)

    def _load(self, mode: _Mode) -> int:
        """Time on the bus of a pass over a program unit of a plane [ns]."""
        return self.t_command + mode.pages * self.t_dma(self.page)

    def _array(self, mode: _Mode, size: int) -> Bound:
        """What planes allow that are loaded and then program, all the time."""
        chip = self.config["chip"]
        # A die is loaded for all of its planes, and then programs them.
        joined = self.planes_of_die if chip["plane_programs"] == "lockstep" else 1
        loads = 0 if chip["cache_program"] else mode.passes * joined * self._load(mode)
        planes = self.planes_of_die if chip["plane_programs"] != "single" else 1
        per_s = self.working * planes * mode.pages * self.page / (mode.t_program + loads) / size * 1e9
        t_busy = f"({mode.program} + loading)" if loads else mode.program
        return Bound("flash array", per_s, f"planes x bytes of their {mode.unit} / {t_busy}")

    def _loading(self, mode: _Mode, size: int) -> Bound:
        """What buses allow, over which every pass takes its data."""
        per_s = self.channels * mode.pages * self.page / (mode.passes * self._load(mode)) / size * 1e9
        return Bound("bus", per_s, f"channels x bytes of {mode.unit} / (bus.t_command + tDMA)")

    def t_erase(self) -> int:
        """tBERS of blocks that are erased just before their first program [ns]; 0 where a fresh drive needs none, and
        with schemes that shorten it."""
        chip = self.config["chip"]
        if self.config["ftl"]["erase_when"] != "opened" or self.config["erase"]["pulse"] != "none":
            return 0
        if chip["t_bers"] != "none":
            return time_of(chip["t_bers"])
        return int(chip["erase_loops"]) * (time_of(chip["t_erase_pulse"]) + time_of(chip["t_erase_verify"]))

    def _host(self, size: int, formula: str) -> list[Bound]:
        host = self.config["host"]
        found = [Bound("link", self.link / size, formula)]
        t_firmware = time_of(host["t_firmware"])
        if t_firmware:
            found.append(Bound("firmware", int(host["cores"]) / t_firmware * 1e9, "host.cores / host.t_firmware"))
        return found


def _times(value: Any) -> list[int]:
    return [time_of(each) for each in (value if isinstance(value, list) else [value])]


def _mean_t_read(chip: Mapping[str, Any]) -> float:
    """tR [ns], the mean over the pages of a wordline."""
    if chip["t_read"] != "none":
        times = _times(chip["t_read"])
        return sum(times) / len(times)
    senses = chip["senses"] if isinstance(chip["senses"], list) else [chip["senses"]]
    one = sum(time_of(chip[part]) for part in ("t_pre", "t_eval", "t_disch"))
    return one * sum(int(count) for count in senses) / len(senses)


def _t_program(chip: Mapping[str, Any], bits: int, whole: bool) -> float:
    """tPROG of a program unit [ns]: the mean over the pages of a wordline, or the sum of its passes."""
    if chip["t_prog"] == "none":
        loop = time_of(chip["t_program_pulse"]) + time_of(chip["t_program_verify"])
        return float(int(chip["program_loops"]) * loop * (int(chip["program_passes"]) if whole else 1))
    times = _times(chip["t_prog"])
    if not whole:
        return sum(times) / len(times)
    passes = int(chip["program_passes"])
    return float(sum(times) if len(times) == passes else times[0] * passes)
