"""Fleets: many drives between the points that are played (docs/fleet.md)."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab.common.confidence import mean_and_half_width
from ssdlab.common.numbers import time_text
from ssdlab.common.shown import html, text
from ssdlab.lives.ages import ACTIVATION_EV, BOLTZMANN_EV_PER_K, DAY_S, YEAR_MONTHS, Drive
from ssdlab.lives.points import NINES, LeftOut, Surface, cross_validation, played
from ssdlab.lives.population import Drawn, FleetSpec, Rule, numpy

if TYPE_CHECKING:
    import polars

    from ssdlab.sweeps.campaign import SweepProgress

MONTH_DAYS = 30.0
CHUNK = 20_000
"""Drives that are looked up at a time: memory."""
BINS = 4_000
LEAST_NS, MOST_NS = 1e3, 1e11
"""The histogram of latencies: bins of half a percent."""
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}
OLD = 0.2
"""Old drives are in the last fifth of their lives, young ones in the first."""
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
"""Shares of old drives that are looked at."""
AGES = 10
"""Parts of a drive's life by which a tail is taken apart."""
STEPS = 48
"""Ages at which a rule looks at a drive's p99."""
LOST = 1e-6
"""From here on a fleet whose reads cannot be corrected is marked (assumed)."""
MONTHLY = 5_000
"""Drives of a cohort whose tail is followed by month."""


class Population(NamedTuple):
    """What each drive has drawn: the same for every scheme and rule (common random numbers). In each replicate every
    draw is stratified, as many strata as drives, by itself (a Latin hypercube)."""

    replicate: Any
    age: Any
    """The quantile of its age in the fleet."""
    writes: Any
    """A day, of the logical capacity."""
    faster: Any
    """How much faster its data ages than at 30 °C."""
    wear: Any
    """Effective P/E cycles a cycle."""
    workload: Any
    """The number of its workload."""

    def first(self, count: int) -> Population:
        """Some of the drives: those of the first replicates."""
        return Population(*(of[:count] for of in self))


def population(spec: FleetSpec) -> Population:
    """Draws the drives of a fleet."""
    np = numpy()
    draws = np.random.default_rng(spec.seed)
    of_replicate = spec.drives // spec.replicates
    columns: list[list[Any]] = [[] for _ in range(5)]
    for _ in range(spec.replicates):
        for column in columns:
            column.append((draws.permutation(of_replicate) + draws.random(of_replicate)) / of_replicate)
    age, writes, temperature, wear, workload = (np.concatenate(column) for column in columns)
    kelvin = _drawn(spec.draw["temperature"], temperature) + 273.15
    faster = np.exp(ACTIVATION_EV / BOLTZMANN_EV_PER_K * (1.0 / 303.15 - 1.0 / kelvin))
    ends = np.cumsum([of.share for of in spec.workloads.values()])[:-1]
    return Population(
        np.repeat(np.arange(spec.replicates), of_replicate),
        age,
        _drawn(spec.draw["writes_per_day"], writes),
        faster,
        _drawn(spec.draw["wear"], wear),
        np.searchsorted(ends, workload, side="right"),
    )


def _drawn(of: Drawn, shares: Any) -> Any:
    """The quantiles of a distribution that ends at its bounds."""
    np = numpy()
    from statistics import NormalDist

    if of.spread == 0.0:
        return np.full(len(shares), min(max(of.middle, of.least), of.most))
    one = NormalDist()

    def place(value: float) -> float:
        return (
            (value if of.normal else math.log(value)) - (of.middle if of.normal else math.log(of.middle))
        ) / of.spread

    low, high = one.cdf(place(of.least)), one.cdf(place(of.most))
    inside = np.clip(low + shares * (high - low), 1e-15, 1.0 - 1e-15)
    normal = np.fromiter(map(one.inv_cdf, inside), float, len(inside))
    return of.middle + of.spread * normal if of.normal else of.middle * np.exp(of.spread * normal)


class Lives:
    """How the drives of a fleet grow old under a scheme."""

    def __init__(self, spec: FleetSpec, drive: Drive, surfaces: list[Surface], drives: Population) -> None:
        np = numpy()
        self.spec, self.drive, self.surfaces, self.drives = spec, drive, surfaces, drives
        waf = np.zeros(len(drives.age))
        for number, surface in enumerate(surfaces):
            mine = drives.workload == number
            waf[mine] = np.interp(np.log(drives.writes[mine]), surface.axes[0], surface.waf)
        reads = np.array([surface.reads_per_write for surface in surfaces])
        self.reads = drives.writes * reads[drives.workload]
        """Reads a day, up to a factor: a drive's weight in the service."""
        written = drive.capacity * drives.writes / DAY_S
        turnover = drive.raw / (written * waf)
        every = drive.refreshing(written, 0.0, drives.faster, np)
        refreshed = (every < turnover) & (written * every < drive.raw)
        every = np.where(refreshed, every, turnover)
        self.turnover_days = every / DAY_S
        self.cycles = MONTH_DAYS / self.turnover_days
        """P/E cycles a month, by collection or by refresh where that comes sooner."""
        held = drive.refreshed(written, 0.0, np.where(refreshed, every, 0.0), np)
        self.held_days = np.where(refreshed, np.minimum(every, held), turnover) / DAY_S
        """For how long blocks hold data: it is as old as the oldest is in the long run."""

    def pec(self, months: Any) -> Any:
        """Effective P/E cycles."""
        return self.drive.pec + self.cycles * self.drives.wear * months

    def data_days(self, months: Any) -> Any:
        """The mean age of data [d at 30 °C]: spread evenly over what blocks hold it for, and no older than the
        drive."""
        np = numpy()
        days = months * MONTH_DAYS
        young = days - days * days / (2.0 * self.held_days)
        return np.where(days < self.held_days, young, self.held_days / 2.0) * self.drives.faster

    def power_w(self, months: Any) -> Any:
        """The mean power of the day."""
        active = self._at("power_w", months)
        return self.spec.duty * active + (1.0 - self.spec.duty) * self.drive.idle_w

    def lost(self, months: Any) -> Any:
        """The share of each drive's reads that cannot be corrected."""
        return self._at("lost", months)

    def p99_ns(self, months: Any) -> Any:
        """Each drive's own p99."""
        np = numpy()
        return np.exp(self._at("p99", months))

    def _at(self, what: str, months: Any, some: slice = slice(None)) -> Any:
        """A quantity of drives at these ages: those of a slice."""
        np = numpy()
        months = np.broadcast_to(months, self.drives.age.shape)
        pec, days = self.pec(months)[some], self.data_days(months)[some]
        writes, workload = self.drives.writes[some], self.drives.workload[some]
        found: Any = None
        for number, surface in enumerate(self.surfaces):
            values = {"power_w": surface.power_w, "lost": surface.lost}.get(what, surface.latency)
            values = values[..., 20] if what == "p99" else values
            mine = workload == number
            part = surface.at(values, writes[mine], pec[mine], days[mine])
            if found is None:
                found = np.zeros((len(pec), *part.shape[1:]))
            found[mine] = part
        return found

    def lengths(self, rule: Rule) -> tuple[Any, Any]:
        """When a drive is replaced [months], and whether its blocks have worn out then."""
        np = numpy()
        limit = np.minimum(rule.years * YEAR_MONTHS, (rule.pec - self.drive.pec) / self.cycles)
        worn = (self.drive.endurance - self.drive.pec) / (self.cycles * self.drives.wear)
        if rule.p99_us < 1e12:
            ends = limit.copy()
            for step in range(STEPS, 0, -1):
                at = limit * step / STEPS
                ends = np.where(self.p99_ns(at) > rule.p99_us * 1e3, at, ends)
            limit = ends
        return np.minimum(limit, worn), worn < limit

    def served(self, months: Any, parts: Any, count: int) -> Any:
        """Histograms of the service's reads at an age of the drives, one for each part of the drives."""
        np = numpy()
        levels = np.arange(NINES) / 10.0
        mass = 10.0**-levels - np.append(10.0 ** -levels[1:], 0.0)
        scale = BINS / math.log(MOST_NS / LEAST_NS)
        found = np.zeros(count * BINS)
        for start in range(0, len(parts), CHUNK):
            some = slice(start, start + CHUNK)
            latency = self._at("latency", months, some)
            middle = np.hstack([(latency[:, 1:] + latency[:, :-1]) / 2.0, latency[:, -1:]])
            bins = np.clip(((middle - math.log(LEAST_NS)) * scale).astype(int), 0, BINS - 1)
            weights = self.reads[some][:, None] * mass
            places = parts[some][:, None] * BINS + bins
            found += np.bincount(places.ravel(), weights.ravel(), count * BINS)
        return found.reshape(count, BINS)


def quantile(histogram: Any, share: float) -> float:
    """A quantile of a histogram [ns], on a line within its bin."""
    np = numpy()
    sums = np.concatenate([[0.0], np.cumsum(histogram)])
    at = float(np.interp(share * sums[-1], sums, np.arange(BINS + 1)))
    return LEAST_NS * math.exp(at / BINS * math.log(MOST_NS / LEAST_NS))


class Fleet:
    """A fleet under each scheme and rule."""

    def __init__(self, spec: FleetSpec, tables: Mapping[str, polars.DataFrame], errors: list[LeftOut],
                 warnings: list[str]) -> None:  # fmt: skip
        self.spec = spec
        self.table = tables["table"]
        """The fleet as it is when it has been renewed for long, a row a scheme and rule: scheme, rule, p50_ns to
        p99_99_ns of the service's reads, life_months (mean of what drives serve), pec (mean when they go), failures,
        worn and retired (a year, for each drive in service), uncorrectable (a read),
        energy_kwh (a year), operation_kg, embodied_kg and
        carbon_kg (CO2e a year), these for each TB in service; ``_ci95`` is half the width of the 95 % interval over
        replicates.
        """
        self.months = tables["months"]
        """Drives bought together, by month: alive, and what went in the month (failed, worn, retired), as shares;
        energy_kwh for each TB bought, and p99_99_ns of those that are left."""
        self.shares = tables["shares"]
        """p99_99_ns by the share of old drives (last fifth of their lives) beside young ones (first fifth)."""
        self.tail = tables["tail"]
        """Of the reads beyond the service's p99.99 the share that drives of each tenth of a life serve; of all reads a
        tenth comes from each, about."""
        self.errors = errors
        self.warnings = warnings

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    def verdict(self) -> str:
        """What each scheme's fleet is like, in sentences."""
        sentences = []
        for rule in self.spec.replace:
            rows = self.table.filter(rule=rule).to_dicts()
            least = min(rows, key=lambda row: row["p99_99_ns"])
            parts = ", ".join(f"{row['scheme']} {time_text(row['p99_99_ns'])}" for row in rows)
            sentences.append(
                f"{rule}: p99.99 of the service is {parts}; {least['scheme']} costs {least['carbon_kg']:.1f} kg CO2e "
                "a TB and year."
            )
        return "\n".join(sentences)


def fleet(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    cache: str | os.PathLike[str] = "results/cache",
    threads: int | None = None,
    progress: Callable[[SweepProgress], None] | None = None,
) -> Fleet:
    """Draws a fleet, plays the points of its grid, and sums its drives (docs/fleet.md). Needs numpy.

    Args:
        source: a fleet file, or the same as a mapping.
        cache: the folder that keeps results; the same point is run once.
        threads: runs at once; None is one a core.
        progress: called when runs are done.

    Raises:
        InputError: the file is wrong, or a point is refused.
    """
    import polars

    spec = FleetSpec.read(source)
    numpy()
    surfaces, of_schemes, warnings = played(spec, cache, threads, progress)
    drives = population(spec)
    parts: dict[str, list[dict[str, Any]]] = {"table": [], "months": [], "shares": [], "tail": []}
    beyond = 0.0
    for scheme in spec.schemes:
        of_scheme = [surfaces[scheme, workload] for workload in spec.workloads]
        lives = Lives(spec, of_schemes[scheme], of_scheme, drives)
        for label, rule in spec.replace.items():
            names = {"scheme": scheme, "rule": label}
            row, tail, outside = _renewed(lives, rule)
            beyond = max(beyond, outside)
            parts["table"].append(names | row)
            parts["tail"] += [names | {"part": part, "beyond": share} for part, share in enumerate(tail)]
            parts["shares"] += [names | of for of in _mixed(lives, rule)]
            parts["months"] += [names | of for of in _cohort(lives, rule)]
    for row in parts["table"]:
        if row["uncorrectable"] > LOST:
            warnings.append(
                f"note: {row['scheme']}, {row['rule']}: {row['uncorrectable']:.1e} of the reads cannot be corrected: "
                "such drives would be retired before"
            )
    if beyond > 0.01:
        warnings.append(
            f"note: {beyond:.0%} of the drives are beyond [grid] at some time: they are taken as its last points are"
        )
    frames = {name: polars.DataFrame(rows, infer_schema_length=None) for name, rows in parts.items()}
    return Fleet(spec, frames, cross_validation(spec, surfaces), warnings)


def _renewed(lives: Lives, rule: Rule) -> tuple[dict[str, Any], list[float], float]:
    """A fleet that has been renewed for long: its row, the parts of its tail, and the share of drives beyond the grid.

    A drive fails at a constant rate h and is replaced at L at the latest: ages have the density h e^(-h a) / (1 -
    e^(-h L)), and a place in the fleet takes h / (1 - e^(-h L)) drives a year.
    """
    np = numpy()
    spec, drives = lives.spec, lives.drives
    lengths, worn = lives.lengths(rule)
    hazard = max(spec.constants["failures_per_year"].value, 1e-12) / YEAR_MONTHS
    renewed = -np.expm1(-hazard * lengths)
    months = -np.log1p(-drives.age * renewed) / hazard
    bought = hazard / renewed * YEAR_MONTHS
    ends = bought * np.exp(-hazard * lengths)
    power = lives.power_w(months)
    terabytes = lives.drive.capacity / 1e12
    energy = power * 8.76 / terabytes
    operation = energy * spec.constants["grid_kg_per_kwh"].value
    embodied = bought * 1e3 * spec.constants["embodied_kg_per_gb"].value
    columns = {
        "life_months": YEAR_MONTHS / bought,
        "pec": lives.drive.pec + lives.cycles * lengths,
        "failures": np.full(len(lengths), hazard * YEAR_MONTHS),
        "worn": np.where(worn, ends, 0.0),
        "retired": np.where(worn, 0.0, ends),
        "uncorrectable": lives.lost(months) * lives.reads / lives.reads.mean(),
        "energy_kwh": energy,
        "operation_kg": operation,
        "embodied_kg": embodied,
        "carbon_kg": operation + embodied,
    }
    histograms = lives.served(months, drives.replicate, spec.replicates)
    row: dict[str, Any] = {}
    for name, share in QUANTILES.items():
        each = [quantile(of, share) for of in histograms]
        row |= {f"{name}_ns": quantile(histograms.sum(axis=0), share), f"{name}_ns_ci95": mean_and_half_width(each)[1]}
    for name, values in columns.items():
        means = values.reshape(spec.replicates, -1).mean(axis=1).tolist()
        row[name], row[f"{name}_ci95"] = mean_and_half_width(means)
    by_age = lives.served(months, np.minimum((months / lengths * AGES).astype(int), AGES - 1), AGES)
    first = int(np.searchsorted(np.cumsum(by_age.sum(axis=0)), QUANTILES["p99_99"] * by_age.sum()))
    beyond = by_age[:, first:].sum(axis=1)
    grid = spec.grid
    outside = (lives.pec(lengths) > grid.pec[-1]) | (lives.data_days(lengths) > grid.age_days[-1])
    outside |= (drives.writes < grid.writes_per_day[0]) | (drives.writes > grid.writes_per_day[-1])
    return row, (beyond / beyond.sum()).tolist(), float(outside.mean())


def _mixed(lives: Lives, rule: Rule) -> list[dict[str, Any]]:
    """The service's p99.99 by the share of its reads that old drives serve."""
    np = numpy()
    lengths, _ = lives.lengths(rule)
    drives, replicates = lives.drives, lives.spec.replicates
    young = lives.served(drives.age * OLD * lengths, drives.replicate, replicates)
    old = lives.served((1.0 - OLD + OLD * drives.age) * lengths, drives.replicate, replicates)
    young, old = (of / of.sum(axis=1, keepdims=True) for of in (young, old))
    rows = []
    for share in SHARES:
        mixed = (1.0 - share) * young + share * old
        each = [quantile(of, QUANTILES["p99_99"]) for of in mixed]
        whole = quantile(np.sum(mixed, axis=0), QUANTILES["p99_99"])
        rows.append({"old": share, "p99_99_ns": whole, "p99_99_ns_ci95": mean_and_half_width(each)[1]})
    return rows


def _cohort(lives: Lives, rule: Rule) -> list[dict[str, Any]]:
    """Drives that were bought together, by month, until 1 % is left of those that do not fail."""
    np = numpy()
    some = lives.drives.first(MONTHLY)
    few = Lives(lives.spec, lives.drive, lives.surfaces, some)
    lengths, worn = lives.lengths(rule)
    hazard = lives.spec.constants["failures_per_year"].value / YEAR_MONTHS
    terabytes = lives.drive.capacity / 1e12
    rows = []
    for month in range(math.ceil(float(np.quantile(lengths, 0.99)))):
        begin, end = (np.minimum(lengths, at) for at in (month, month + 1))
        alive = np.where(lengths > month, math.exp(-hazard * month), 0.0)
        failed = np.exp(-hazard * begin) - np.exp(-hazard * end)
        ending = np.where((lengths > month) & (lengths <= month + 1), np.exp(-hazard * lengths), 0.0)
        left = few.reads * (lengths[: len(few.reads)] > month)
        few.reads, whole = left, few.reads
        tail = few.served(np.full(len(left), month + 0.5), np.zeros(len(left), dtype=int), 1)[0]
        few.reads = whole
        power = few.power_w(np.full(len(left), month + 0.5))
        rows.append(
            {
                "month": month + 1,
                "alive": float(alive.mean()),
                "failed": float(failed.mean()),
                "worn": float(ending[worn].sum() / len(ending)),
                "retired": float(ending[~worn].sum() / len(ending)),
                "energy_kwh": float(np.mean(power * alive[: len(left)])) * MONTH_DAYS * 0.024 / terabytes,
                "p99_99_ns": quantile(tail, QUANTILES["p99_99"]) if tail.sum() > 0.0 else None,
            }
        )
    return rows
