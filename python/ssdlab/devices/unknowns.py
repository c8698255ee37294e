"""What is looked for: constants of a drive, and how a candidate becomes settings of the drive that is simulated."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab._core import InputError, Simulation

BITS = {"SLC": 1, "MLC": 2, "TLC": 3, "QLC": 4, "PLC": 5}
"""Bits of a cell."""

UNITS = {
    "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9,
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40,
    "B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "KiB/s": 2.0**10, "MiB/s": 2.0**20, "GiB/s": 2.0**30,
    "": 1.0,
}  # fmt: skip
KINDS = {unit: "B/s" if unit.endswith("B/s") else "B" if unit.endswith("B") else "ns" if unit else "" for unit in UNITS}


class Unknown(NamedTuple):
    """A constant that is looked for, on a logarithmic scale."""

    name: str
    """Its key, or the sum of keys that only jobs of their own could tell apart."""
    unit: str
    """``ns``, ``B``, ``B/s`` or none."""
    low: float
    high: float
    parts: tuple[tuple[str, tuple[float, ...]], ...]
    """The keys that get it, each with its share; a list of shares for keys with a value for each page of a wordline."""
    written: bool = False
    """Whether jobs that write nothing cannot see it."""

    def settings(self, value: float) -> list[str]:
        """The keys with this value shared out among them."""
        return [f"{key}={_texts(value, shares, self.unit)}" for key, shares in self.parts]

    @property
    def prior(self) -> float:
        """One standard deviation of what is known of it before any figure, on the logarithmic scale: that of its range
        where somebody has narrowed it, and a factor of 4 at most."""
        return min(PRIOR, math.log(self.high / self.low) / math.sqrt(12.0))


PRIOR = math.log(4.0)
"""A constant that no figure speaks of stays where it began: a factor of 4 costs as much as one standard deviation."""


class Shape(NamedTuple):
    """What is in parallel."""

    channels: int
    dies: int
    """Dies on each channel."""
    planes: int

    def __str__(self) -> str:
        return f"{self.channels} channels x {self.dies} dies x {self.planes} planes"


WRITTEN = ("ftl.", "slc.t_prog", "slc.t_bers")
"""Keys that jobs which write nothing cannot see."""
SHAPE_KEYS = (("geometry.channels",), ("geometry.chips", "geometry.dies"), ("geometry.planes",))
"""The keys of each part of a :class:`Shape`."""
MOST = Shape(64, 64, 8)

PHASE = ("chip.t_program_pulse", "chip.t_program_verify")
"""The times of a phase of a program, for devices that have ``chip.program_loops``."""

RANGES: tuple[tuple[tuple[str, ...], str, str, bool], ...] = (
    (("chip.t_read",), "2us", "400us", False),
    (("chip.t_prog",), "40us", "20ms", True),
    (PHASE, "2us", "20ms", True),
    (("bus.bandwidth",), "40MB/s", "12GB/s", False),
    (("host.link_bandwidth",), "200MB/s", "64GB/s", False),
    (("host.t_submit", "host.t_complete"), "200ns", "400us", False),
    (("host.t_firmware",), "20ns", "100us", False),
    (("buffer.size",), "512KiB", "16GiB", True),
    (("ftl.over_provisioning",), "0.02", "1.5", True),
)
"""What is looked for if nothing else is asked for: keys that share a value, its smallest and its largest one, and
whether only jobs that write can see it. Wide enough for any drive of NAND flash (assumed). A device
has one of the two times of programs."""


class Space(NamedTuple):
    """All candidates: a base device, what of it is unknown, and its capacity, which they keep."""

    device: str
    fixed: tuple[str, ...]
    """Settings that hold for every candidate."""
    unknowns: tuple[Unknown, ...]
    base: tuple[float, ...]
    """The base device's values of the unknowns."""
    shape: Shape
    """The base device's."""
    free: tuple[bool, bool, bool]
    """Which parts of the shape are looked for."""
    capacity: float
    """Logical [B]."""
    config: Mapping[str, Mapping[str, Any]]
    """The base device's configuration, by section and key."""

    def number(self, key: str) -> float:
        """A number of the base device [ns, B, B/s]; 0 where it has none."""
        section, _, name = key.partition(".")
        found = _parsed(self.config[section][name])
        return 0.0 if found is None else sum(found[0]) / len(found[0])

    def value(self, key: str, values: Sequence[float]) -> float:
        """What a candidate has for a key, or for keys that share a value: the unknown, or the base device's number."""
        for unknown, value in zip(self.unknowns, values, strict=True):
            if key in [part for part, _ in unknown.parts]:
                return value
        return self.number(key)

    def settings(self, shape: Shape, values: Sequence[float], *, steady: bool = False) -> tuple[str, ...]:
        """A candidate as settings of the base device. Blocks are as many as give the capacity. ``steady``: writes to
        its free blocks are as fast as those of its steady state."""
        found = list(self.fixed)
        for name, count in zip(("channels", "chips", "planes"), shape, strict=True):
            found.append(f"geometry.{name}={count}")
        found.append("geometry.dies=1")
        for unknown, value in zip(self.unknowns, values, strict=True):
            found += unknown.settings(value)
        raw = self.capacity * (1.0 + self.value("ftl.over_provisioning", values))
        block = self.number("geometry.pages") * self.number("geometry.page_size")
        blocks = round(raw / (shape.channels * shape.dies * shape.planes * block))
        found.append(f"geometry.blocks={max(1, blocks)}")
        if steady:
            # Writes wait for flash when the buffer is full, which a small one is soon.
            buffer = min(self.value("buffer.size", values), self.programmed_at_once(shape))
            found.append(f"buffer.size={value_text(buffer, 'B')}")
            found += self._programs(self.program_in_steady_state(values))
        return tuple(found)

    def programmed_at_once(self, shape: Shape) -> float:
        """Twice what all dies program at once [B]: with it in the buffer none of them waits for data."""
        return 2.0 * math.prod(shape) * self.pages_of_program * self.number("geometry.page_size")

    @property
    def pages_of_program(self) -> int:
        """Flash pages of a plane that are programmed together."""
        geometry, chip = self.config["geometry"], self.config["chip"]
        return 1 if chip["program_unit"] == "page" else BITS[str(geometry["cell"])]

    def program(self, values: Sequence[float]) -> float:
        """tPROG [ns]: one time, or that of all phases; 0 where the device has a time for each page or pass."""
        loops = self.number("chip.program_loops")
        if not loops:
            return self.value("chip.t_prog", values)
        found = [value for of, value in zip(self.unknowns, values, strict=True) if of.parts[0][0] == PHASE[0]]
        return loops * sum(found or [self.number(key) for key in PHASE])

    def _programs(self, time: float) -> list[str]:
        """The settings of programs that take this long."""
        loops = self.number("chip.program_loops")
        if not loops:
            return [f"chip.t_prog={value_text(time, 'ns')}"]
        times = [self.number(key) for key in PHASE]
        return [
            f"{key}={value_text(time * each / sum(times) / loops, 'ns')}"
            for key, each in zip(PHASE, times, strict=True)
        ]

    @property
    def erase(self) -> float:
        """tBERS of the base device [ns]: one time, or that of all pulses."""
        loop = self.number("chip.t_erase_pulse") + self.number("chip.t_erase_verify")
        return self.number("chip.t_bers") or self.number("chip.erase_loops") * loop

    def program_in_steady_state(self, values: Sequence[float]) -> float:
        """What a program of host data costs a die when random overwriting has gone on for long [ns]: A programs, if
        A is the write amplification, and for each of them as many pages were sensed and erased before."""
        pages = self.pages_of_program
        time = self.program(values) + pages * self.value("chip.t_read", values)
        erase = self.erase * pages / self.number("geometry.pages")
        return amplification(1.0 + self.value("ftl.over_provisioning", values)) * (time + erase)


def amplification(alpha: float) -> float:
    """The write amplification of uniform overwriting, by the pages over those that hold data: alpha / (alpha +
    W(-alpha exp(-alpha))), with Lambert's W (Desnoyers, SYSTOR 2012, section 3: FIFO; greedy collection is near it)."""
    share = 0.5
    # A block survives until it is collected with a share of its pages: share = exp((share - 1) alpha).
    for _ in range(1000):
        share = math.exp((share - 1.0) * alpha)
    return 1.0 / (1.0 - share)


def space(
    device: str,
    settings: Iterable[str] = (),
    *,
    capacity: str | None = None,
    more: Iterable[str] = (),
    steady: bool = False,
) -> Space:
    """The candidates around a device: ``settings`` are known, ``more`` are further unknowns as ``KEY=LOW..HIGH``.
    ``steady``: a job was measured in a steady state, which the spare capacity decides.

    Raises:
        InputError: a device, key or range is not accepted.
    """
    fixed = tuple(settings)
    manifest = json.loads(Simulation(device, "random-read-closed", settings=list(fixed)).manifest)
    config = manifest["device"]["config"]
    known = {setting.partition("=")[0].strip() for setting in fixed}
    asked = [_asked(text) for text in more]
    taken = {keys for keys, _, _, _ in asked}
    rows = [row for row in RANGES if row[0] not in taken and not known & set(row[0])]
    absent: list[tuple[str, ...]] = [] if steady else [("ftl.over_provisioning",)]
    if config["chip"]["program_loops"] == "none":
        absent.append(PHASE)
    rows = [*(row for row in rows if row[0] not in absent), *asked]
    unknowns, base = [], []
    for keys, low, high, written in rows:
        found = _unknown(config, keys, low, high, written)
        if found is not None:
            unknowns.append(found[0])
            base.append(min(max(found[1], found[0].low), found[0].high))
        elif keys in taken:
            raise InputError(f"unknown {keys[0]}: is no number of {device}\n  help: `ssdlab schema` lists the keys")
    geometry = config["geometry"]
    size = float(manifest["device"]["capacity_bytes"]) if capacity is None else _capacity(capacity)
    shape = Shape(geometry["channels"], geometry["chips"] * geometry["dies"], geometry["planes"])
    free = tuple(not known & set(keys) for keys in SHAPE_KEYS)
    assert len(free) == 3
    return Space(device, fixed, tuple(unknowns), tuple(base), shape, free, size, config)


def _asked(text: str) -> tuple[tuple[str, ...], str, str, bool]:
    match = re.fullmatch(r"\s*(\w+\.\w+(?:\s*\+\s*\w+\.\w+)*)\s*=\s*(.+?)\s*\.\.\s*(.+?)\s*", text)
    if match is None:
        raise InputError(
            f"unknown {text!r}: is no range\n"
            "  help: write KEY=LOW..HIGH, such as ecc.t_decode=1us..40us, or KEY+KEY=LOW..HIGH"
        )
    keys = tuple(key.strip() for key in match[1].split("+"))
    return keys, match[2], match[3], all(key.startswith(WRITTEN) for key in keys)


def _unknown(
    config: Mapping[str, Any], keys: tuple[str, ...], low: str, high: str, written: bool
) -> tuple[Unknown, float] | None:
    """An unknown and the base device's value of it; None where the device has no such number."""
    ends = [_parsed(low), _parsed(high)]
    values = [_parsed(config.get(section, {}).get(name)) for section, _, name in (key.partition(".") for key in keys)]
    if any(value is None for value in values):
        return None
    means = [sum(value[0]) / len(value[0]) for value in values if value is not None]
    total = sum(means)
    kind = next(value[1] for value in values if value is not None)
    bounds = [end[0][0] for end in ends if end is not None and end[1] == kind]
    if len(bounds) < 2 or not 0 < bounds[0] < bounds[1]:
        shown = {"ns": "10us..80us", "B": "1MiB..1GiB", "B/s": "1GB/s..8GB/s", "": "0.1..0.5"}[kind]
        raise InputError(f"unknown {keys[0]}={low}..{high}: is not accepted\n  help: write a range such as {shown}")
    parts = []
    for key, value in zip(keys, values, strict=True):
        assert value is not None
        shares = tuple(each / total if total > 0 else 1.0 / len(keys) for each in value[0])
        parts.append((key, shares))
    return Unknown(" + ".join(keys), kind, bounds[0], bounds[1], tuple(parts), written), total


def _parsed(value: object) -> tuple[tuple[float, ...], str] | None:
    """Numbers in ns, B or B/s, and which of these it is; None where a value is no number."""
    if isinstance(value, list):
        parts = [_parsed(each) for each in value]
        known = [part for part in parts if part is not None]
        return (tuple(part[0][0] for part in known), known[0][1]) if len(known) == len(parts) and known else None
    match = re.fullmatch(r"([0-9.eE+]+)\s*([A-Za-z/]*)", str(value).strip())
    if isinstance(value, bool) or match is None or match[2] not in UNITS:
        return None
    return (float(match[1]) * UNITS[match[2]],), KINDS[match[2]]


def _capacity(text: str) -> float:
    found = _parsed(text)
    if found is None or found[1] != "B" or found[0][0] <= 0:
        raise InputError(f'capacity {text!r}: is not accepted\n  help: write a size such as "1024GB"')
    return found[0][0]


def _texts(value: float, shares: tuple[float, ...], unit: str) -> str:
    texts = [value_text(value * share, unit) for share in shares]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


GRAIN = 16 << 10
"""Sizes are whole multiples of this: pages of a buffer."""


def value_text(value: float, unit: str) -> str:
    """A number as the configuration takes it."""
    if unit == "ns":
        return f"{max(0, round(value))}ns"
    if unit == "B/s":
        return f"{max(1, round(value / 1e3))}kB/s"
    if unit == "B":
        return f"{max(1, round(value / GRAIN)) * GRAIN // 1024}KiB"
    return f"{value:.6g}"


def shown(value: float, unit: str) -> str:
    """A number as people read it, to three digits."""
    if not math.isfinite(value):
        return "-"
    steps = {
        "ns": (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)),
        "B/s": (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)),
        "B": (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10)),
        "": (("", 1.0),),
    }[unit]
    name, scale = next((step for step in steps if abs(value) >= step[1]), steps[-1])
    return f"{value / scale:.3g} {name}".rstrip()
