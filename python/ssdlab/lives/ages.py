"""What joins the epochs of a life: closed forms of wear, failed blocks, the age of data, and temperature."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ssdlab.common.numbers import size_of

DAY_S = 86_400.0
MONTH_S = 30.0 * DAY_S
"""A month of ``age.retention`` is 30 days."""
YEAR_MONTHS = 365.0 / 30.0
ACTIVATION_EV = 1.108
BOLTZMANN_EV_PER_K = 8.617333262e-5
SPANS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": DAY_S, "mo": MONTH_S}
SPANS |= {"y": 365.0 * DAY_S}
LONGEST_S = 100.0 * 365.0 * DAY_S
"""Spans of the core are 64 bits of nanoseconds: a drive that is hardly written has a turnover of more."""


def acceleration(celsius: float) -> float:
    """How much faster data ages than at 30 °C (Arrhenius; 1.108 eV: docs/model-state.md). A test compares it with the
    core's."""
    return math.exp(ACTIVATION_EV / BOLTZMANN_EV_PER_K * (1.0 / 303.15 - 1.0 / (celsius + 273.15)))


def seconds_of(span: str) -> float:
    """A span of a manifest, such as ``"30d"`` [s]."""
    unit = span.lstrip("0123456789.")
    return float(span.removesuffix(unit)) * SPANS[unit]


class Drive(NamedTuple):
    """What the closed forms need of a configured drive."""

    capacity: int
    """Logical [B]."""
    raw: int
    """Of all flash, spare blocks included [B]."""
    filled: float
    """Share of the logical capacity that holds data."""
    pec: float
    """P/E cycles at the start of the life."""
    bad: float
    """Share of blocks that are bad at the start."""
    fails: float
    """Probability that a block fails in a cycle, without wear."""
    growth: float
    """P/E cycles after which that is twice as high; infinity where wear does not change it."""
    endurance: float
    """P/E cycles after which blocks fail for good; infinity where they never do."""
    refresh_s: float
    """The period of refresh [s]; infinity without. A block is visited once in so long, whatever the temperature, and
    its data is written again where it has grown older than that at 30 °C."""
    idle_w: float
    """Power of the drive whatever it does [W]."""
    resistance: float
    """Kelvins above the air for each watt; 0 where its heat is not followed."""
    throttles: float
    """From here on it throttles [C]."""

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> Drive:
        """That of a run's manifest."""
        device = manifest["device"]
        config = device["config"]
        geometry, wear, faults = config["geometry"], config["wear"], config["faults"]
        planes = geometry["channels"] * geometry["chips"] * geometry["dies"] * geometry["planes"]
        raw = planes * geometry["blocks"] * geometry["pages"] * size_of(geometry["page_size"])
        whole = config["chip"]["program_unit"] == "wordline"
        bits = {"SLC": 1, "MLC": 2, "TLC": 3, "QLC": 4, "PLC": 5}[geometry["cell"]] if whole else 1
        programs = geometry["pages"] / bits
        # A superblock goes out of service with any block of it.
        together = geometry["planes"] if config["ftl"]["allocation"] == "superblock" else 1
        fails = programs * wear["program_fail"] + wear["erase_fail"] + faults["blocks"] * faults["burst"]

        def or_never(value: Any) -> float:
            return math.inf if value == "none" else float(value)

        period = config["refresh"]["period"]
        thermal = config["thermal"]
        return cls(
            int(device["capacity_bytes"]),
            raw,
            float(config["age"]["fill"]),
            float(config["age"]["pec"]),
            float(wear["factory_bad"]),
            fails * together,
            or_never(faults["growth"]),
            or_never(wear["endurance"]),
            math.inf if period == "none" else seconds_of(period),
            float(config["energy"]["idle_mw"]) / 1e3,
            0.0 if thermal["resistance"] == "none" else float(thermal["resistance"]),
            float(thermal["light"].removesuffix("C")),
        )

    def failed(self, pec: float) -> float:
        """The share of blocks out of service after ``pec`` cycles, those of the factory included: each cycle a share p
        (1 + c / growth) of those left fails, c cycles old."""
        if pec >= self.endurance:
            return 1.0

        def sum_to(cycles: float) -> float:
            return cycles + cycles * cycles / (2.0 * self.growth)

        return 1.0 - (1.0 - self.bad) * math.exp(-self.fails * (sum_to(pec) - sum_to(self.pec)))

    def spare(self, failed: float) -> float:
        """The share that is left of the new drive's capacity beyond its logical one."""
        new = self.raw * (1.0 - self.bad) - self.capacity
        return max(0.0, (self.raw * (1.0 - failed) - self.capacity) / new)

    def cycles(self, written: float, waf: float, failed: float) -> float:
        """P/E cycles that a number of bytes of the host costs each block in service."""
        return written * waf / (self.raw * (1.0 - failed))

    def refreshing(self, written: Any, failed: Any, faster: Any, maths: Any = math) -> Any:
        """In which time refresh empties each block once [s], where it does so before collection; infinity without.

        Between two writes of its own a block waits as a free one, and then holds data for R. It is emptied at a visit,
        so that both together are a number k of periods P. What the host has written meanwhile is stale, and of N bytes
        of flash in service D are data: D = N / (k P) x (D / w) (1 - e^(-R w / D)). k is the least at which data has
        grown older than P when it is visited, R x faster > P.

        Args:
            written: what the host writes, w [B/s].
            failed: the share of blocks out of service.
            faster: than at 30 °C data ages.
            maths: ``math``, or numpy for arrays of these.
        """
        in_period = written * self.refresh_s
        needed = -maths.expm1(-in_period / (faster * self._data))
        return (maths.floor(self.raw * (1.0 - failed) / in_period * needed) + 1.0) * self.refresh_s

    def refreshed(self, written: Any, failed: Any, every: Any, maths: Any = math) -> Any:
        """How long a block then holds data [s]: R, of what empties it ``every`` so many seconds."""
        share = written * every / (self.raw * (1.0 - failed))
        return -self._data / written * maths.log1p(-share)

    @property
    def _data(self) -> float:
        return max(1.0, self.capacity * self.filled)


class DataAge(NamedTuple):
    """How old the data of a drive is that is overwritten uniformly, in seconds at 30 °C."""

    turnover: float
    """As old as the oldest block is, of those that are written one after another without an end: a block is as old as
    the part of it that has been programmed since."""
    most: float
    """No data is older than the drive."""
    programmed: float = 0.0
    """Bytes that the flash takes a second of the calendar, refresh included."""
    rested: float = 0.0
    """For how long the host has rested when the run begins."""

    @property
    def option(self) -> str:
        """As ``age.retention`` takes it."""
        rest = f"+{min(self.rested, LONGEST_S):.0f}s" if self.rested >= 0.5 else ""
        return f"turnover:{min(self.turnover, LONGEST_S):.0f}s..{min(self.most, LONGEST_S):.0f}s{rest}"

    def before_run(self, written: float, duty: float) -> DataAge:
        """The ages at the begin of a run that programs a share of the flash (``written``) until the middle of what it
        measures.

        A host that rests writes its part of a turnover in a share of the time (``duty``): a run, in which it does not
        rest, makes data younger than it is on average. So much older it is at the begin: in the middle it is right.
        """
        rested = min((1.0 - duty) * written * self.turnover, self.most)
        return self._replace(most=self.most - rested, rested=rested)


def data_age(drive: Drive, written_per_s: float, waf: float, failed: float, life_s: float, faster: float) -> DataAge:
    """The ages of data on a drive whose host writes at a rate [B/s], since ``life_s``; its data ages ``faster``
    than at 30 °C.

    The flash is programmed over in raw / (writes x WAF), and a block is as old as what its plane has programmed since:
    the start of a run knows the order of its blocks (``age.retention = "turnover:…"``). Where refresh empties blocks
    sooner than that, collection finds room without moving data, and the flash is programmed over as often as refresh
    comes round (:meth:`Drive.refreshing`).
    """
    raw = drive.raw * (1.0 - failed)
    turnover, programmed = raw / (written_per_s * waf), written_per_s * waf
    every = drive.refreshing(written_per_s, failed, faster)
    if every < turnover and written_per_s * every < raw:
        turnover, programmed = min(every, drive.refreshed(written_per_s, failed, every)), raw / every
    return DataAge(turnover * faster, life_s * faster, programmed)
