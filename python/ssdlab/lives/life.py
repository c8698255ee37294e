"""A drive's life as short stationary runs, joined by closed forms (docs/fleet.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.common.numbers import time_text
from ssdlab.common.shown import html, text
from ssdlab.common.wording import listed
from ssdlab.lives.ages import DAY_S, MONTH_S, DataAge, Drive, acceleration, data_age
from ssdlab.lives.pace import has_own_times, paced
from ssdlab.lives.spec import Conditions, LifeSpec
from ssdlab.runs.findings import Finding, shared
from ssdlab.runs.simulation import open_simulation
from ssdlab.sweeps.spec import Value, run_of

if TYPE_CHECKING:
    import polars

    from ssdlab.sweeps.campaign import SweepProgress

REQUESTS = 5_000
"""Of an epoch, where the file says nothing: half of them reads leaves 25 beyond their 99th percentile."""
LATENCIES = ("mean", "p50", "p99", "p99_9", "p99_99")
STATISTICS = {
    **{f"{op}_{name}_ns": f"host.{op}.latency_ns.{name}" for op in ("read", "write") for name in LATENCIES},
    "retries": "flash.retry.steps.mean",
    "read_pec": "flash.read_pec",
    "data_days": "flash.read_retention_days",
    "iops": "host.all.iops",
    "die_idle": "usage.die.idle",
}
"""The columns of a life that are statistics of its epochs."""
USED: tuple[str, ...] = (
    *(f"host.{op}.requests" for op in ("all", "read", "write")),
    "host.settled_requests",
    "host.uncorrectable",
    "host.write.bytes",
    "energy.*",
    "ftl.waf",
    "ftl.waf_before",
    "ftl.waf_by.*",
    "ftl.wear.ended_s",
)
"""What else a life needs of them."""
OF_START = ("ftl.waf_by.host", "ftl.waf_by.gc")
"""The parts of the write amplification that ``ftl.waf_before`` has in the long run."""
TOO_FEW = "wear.factory_bad"
"""What a refusal names where failed blocks leave too few for the drive's data."""
MOST_WRITTEN = 0.25
"""From here on a life is marked whose runs write so much of the flash (assumed)."""
Row = dict[str, Any]


class Epoch(NamedTuple):
    """What a drive is at the middle of an epoch."""

    month: float
    pec: float
    failed: float
    data: DataAge
    temperature: float

    def settings(self, drive: Drive, pace: Mapping[str, Value]) -> dict[str, Value]:
        """What its run is given, at a pace (:func:`ssdlab.lives.pace.paced`)."""
        warm = {"thermal.resistance": "none"} if drive.resistance else {}
        return {
            "precondition": "closed-form",
            "age.pec": round(self.pec),
            "age.retention": self.data.option,
            "age.temperature": f"{self.temperature:.2f}C",
            "wear.factory_bad": round(self.failed, 6),
            **pace,
            **warm,
        }


class Life:
    """How a drive grows old under each scheme."""

    def __init__(self, spec: LifeSpec, table: polars.DataFrame, ended: Mapping[str, str], warnings: list[str]) -> None:
        self.spec = spec
        self.table = table
        """A row a scheme and epoch, at its middle: scheme, epoch, month, pec (P/E cycles), failed (share of blocks out
        of service), spare (share left of what is spare), temperature_c, the :data:`STATISTICS` with ``_ci95`` (half the
        width of the 95 % interval over seeds), uncorrectable (a host read), power_w (mean of the day) and energy_kwh
        (of the epoch), null of a drive without ``energy.idle_mw``, written_tb (by the host, until the end of
        the epoch), warnings."""
        self.ended = dict(ended)
        """By scheme, why a life ended before its years were over."""
        self.warnings = warnings

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    def of(self, scheme: str) -> polars.DataFrame:
        """The rows of a scheme."""
        return self.table.filter(scheme=scheme)

    def verdict(self) -> str:
        """How the lives end, in sentences."""
        ends = []
        for scheme in self.spec.schemes:
            rows = self.of(scheme)
            if rows.is_empty():
                continue
            first, last = rows.row(0, named=True), rows.row(-1, named=True)
            ends.append(
                f"{scheme}: after {last['month']:.0f} months and {last['pec']:,.0f} P/E cycles a read takes "
                f"{time_text(last['read_mean_ns'])} on average ({time_text(first['read_mean_ns'])} when young), p99 "
                f"{time_text(last['read_p99_ns'])}."
            )
        if self.ended:
            ends.append(f"The life of {listed(list(self.ended))} ends before its {self.spec.conditions.years:g} years.")
        return "\n".join(ends)


class _Course:
    """A drive on its way through its life."""

    def __init__(self, label: str, values: Mapping[str, Value], conditions: Conditions, origin: str) -> None:
        self.label, self.values, self.conditions = label, dict(values), conditions
        manifest = json.loads(open_simulation(run_of(self.values | {"precondition": "closed-form"}, origin)).manifest)
        self.drive = Drive.of(manifest)
        self.per_s = self.drive.capacity * conditions.writes_per_day / DAY_S
        """What the host writes, on average over the day [B/s]."""
        self.pec, self.written = self.drive.pec, 0.0
        self.own_times = has_own_times(manifest)
        self.pace: dict[str, Value] = {}
        self.waf = 1.0
        self.run_bytes = 0.0
        """What a run writes until the middle of what it measures: what it writes before it counts, and half of it."""
        self.active_w = self.drive.idle_w
        self.ended: str | None = None
        self.throttled = False
        self.share = 0.0
        """Of the flash, that a run programs until then: the largest."""

    def probed(self, row: Row) -> None:
        """Takes the pace at which the host writes as much as it has to from a first run."""
        self.pace = paced(self.label, row, self.per_s / self.conditions.duty, self.own_times)
        self.waf = row["waf"] or self.waf

    def epoch(self, month: float, step_s: float) -> Epoch | None:
        """The drive in the middle of an epoch that begins with its present wear."""
        drive, duty = self.drive, self.conditions.duty
        active = self.conditions.temperature + drive.resistance * self.active_w
        rest = self.conditions.temperature + drive.resistance * drive.idle_w
        self.throttled |= active >= drive.throttles
        faster = duty * acceleration(active) + (1.0 - duty) * acceleration(rest)
        life_s = month * MONTH_S
        pec, failed = self.pec, drive.failed(self.pec)
        for _ in range(2):
            if failed >= 1.0:
                self.ended = f"after {pec:,.0f} P/E cycles all blocks have come to wear.endurance"
                return None
            data = data_age(drive, self.per_s, self.waf, failed, life_s, faster)
            pec = self.pec + drive.cycles(data.programmed * step_s / 2.0, 1.0, failed)
            failed = drive.failed(pec)
        share = self.run_bytes * self.waf / (drive.raw * (1.0 - failed))
        self.share = max(self.share, share)
        return Epoch(month, pec, failed, data.before_run(share, duty), active)

    def learn(self, rows: Sequence[Row]) -> None:
        """Takes what a run costs, and what it writes."""
        self.waf = mean_and_half_width([row["waf"] for row in rows if row["waf"] is not None])[0] or self.waf
        self.active_w = sum(row["power_w"] for row in rows) / len(rows)
        until = ((row["host.settled_requests"] or 0) / row["host.all.requests"] + 0.5 for row in rows)
        self.run_bytes = sum(row["host.write.bytes"] * of for row, of in zip(rows, until, strict=True)) / len(rows)

    def played(self, epoch: Epoch, rows: Sequence[Row], step_s: float) -> Row:
        """An epoch's run has ended: the drive grows older by it. Gives its row."""
        means = {
            name: mean_and_half_width([row[of] for row in rows if row[of] is not None])
            for name, of in (STATISTICS | {"waf": "waf"}).items()
        }
        self.learn(rows)
        duty, drive = self.conditions.duty, self.drive
        power = duty * self.active_w + (1.0 - duty) * drive.idle_w
        self.pec += drive.cycles(epoch.data.programmed * step_s, 1.0, epoch.failed)
        self.written += self.per_s * step_s
        reads = sum(row["host.read.requests"] for row in rows)
        lost = sum(row["host.uncorrectable"] for row in rows)
        found: Row = {
            "scheme": self.label,
            "month": epoch.month,
            "pec": epoch.pec,
            "failed": epoch.failed,
            "spare": drive.spare(epoch.failed),
            "temperature_c": epoch.temperature,
        }
        for name, (mean, half) in means.items():
            found |= {name: mean, f"{name}_ci95": half}
        ids = sorted({kind.strip() for row in rows for kind in (row["warnings"] or "").split(",")} - {""})
        return found | {
            "uncorrectable": lost / reads if reads else None,
            # Of a drive whose idle power is not known that of its flash says nothing of the day.
            "power_w": power if drive.idle_w else None,
            "energy_kwh": power * step_s / 3.6e6 if drive.idle_w else None,
            "written_tb": self.written / 1e12,
            "warnings": ", ".join(ids) or None,
        }


def life(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    cache: str | os.PathLike[str] = "results/cache",
    threads: int | None = None,
    progress: Callable[[SweepProgress], None] | None = None,
) -> Life:
    """Plays a drive's life: of each epoch a short run from the state that closed forms give it (docs/fleet.md).

    Args:
        source: a life file, or the same as a mapping.
        cache: the folder that keeps results; the same epoch is run once.
        threads: runs at once; None is one a core.
        progress: called when runs are done.

    Raises:
        InputError: the file is wrong, or an epoch of a drive with enough blocks is refused.
    """
    import polars

    spec = LifeSpec.read(source)
    conditions = spec.conditions
    play = _Player(spec, cache, threads, progress)
    courses = [_Course(label, spec.run | values, conditions, spec.origin) for label, values in spec.schemes.items()]
    for course, rows in zip(courses, play({course.label: {} for course in courses}, probing=True), strict=True):
        if ended(rows[0]):
            course.ended = f"its blocks come to their end in its first run, at {course.pec:,.0f} P/E cycles"
        else:
            course.probed(rows[0])
    step_s = conditions.months * MONTH_S / conditions.epochs
    table: list[Row] = []
    for number in range(conditions.epochs):
        month = (number + 0.5) * step_s / MONTH_S
        if number == 0:  # the write amplification and the power at the rate of this life
            _learn(play, courses, month, step_s)
        for course, epoch, rows in _played(play, courses, month, step_s):
            table.append({"epoch": number + 1, **course.played(epoch, rows, step_s)})
    if not table:
        raise InputError(f"no life lasts for an epoch: {courses[0].ended}\n  help: write less a day, or more epochs")
    labels = {course.label: course.ended for course in courses if course.ended is not None}
    notes = shared(tuple(play.findings), "runs") + [_throttled(course) for course in courses if course.throttled]
    notes += [_too_long(course) for course in courses if course.share > MOST_WRITTEN]
    order = list(spec.schemes)
    table.sort(key=lambda row: (order.index(row["scheme"]), row["epoch"]))
    powers = dict.fromkeys(("power_w", "energy_kwh"), polars.Float64)
    frame = polars.DataFrame(table, schema_overrides=powers, infer_schema_length=None)
    return Life(spec, frame.select("scheme", polars.exclude("scheme")), labels, notes)


def _throttled(course: _Course) -> str:
    return (
        f"note: {course.label}: while its host is active the drive would be throttled (thermal.light); epochs are run "
        "without"
    )


def _too_long(course: _Course) -> str:
    return (
        f"note: {course.label}: a run writes {course.share:.0%} of the flash before the middle of what it measures: "
        "what it reads is young or old by when it was written in the run\n  help: fewer requests, or a larger drive"
    )


def _learn(play: _Player, courses: Sequence[_Course], month: float, step_s: float) -> None:
    """The first epoch twice: what it costs is not known before."""
    for course, _, rows in _played(play, courses, month, step_s):
        course.learn(rows)


def _played(
    play: _Player, courses: Sequence[_Course], month: float, step_s: float
) -> list[tuple[_Course, Epoch, list[Row]]]:
    """The drives whose lives go on, with their epochs and the rows of these."""
    going: list[tuple[_Course, Epoch]] = []
    for course in courses:
        epoch = None if course.ended else course.epoch(month, step_s)
        if epoch is not None:
            going.append((course, epoch))
    if not going:
        return []
    found = play({course.label: epoch.settings(course.drive, course.pace) for course, epoch in going})
    alive = []
    for (course, epoch), rows in zip(going, found, strict=True):
        if any(map(ended, rows)):
            course.ended = (
                f"in month {month:.0f}, at {epoch.pec:,.0f} P/E cycles, its blocks come to their end in a run"
            )
        elif rows:
            alive.append((course, epoch, rows))
        else:
            course.ended = f"in month {month:.0f} too few good blocks are left: {epoch.failed:.1%} have failed"
    return alive


def ended(row: Row) -> bool:
    """Whether the drive's life has ended in a run, which then says nothing of a drive that lives."""
    return row["ftl.wear.ended_s"] is not None


def complete(row: Row) -> Row:
    """A row with its write amplification, and the power of its drive while the host is active [W]: collection's part
    is that of the long run, where a short one scatters; what a run adds to it (padding, the map) is the run's. Where
    it has programmed nothing yet the write amplification is that of the long run, or null where that is not known; a
    row of a drive whose life has ended (:func:`ended`) stays as it is."""
    if ended(row):
        return row
    seconds = row["host.all.requests"] / row["host.all.iops"]
    waf, energy = row["ftl.waf"], row["energy.total"]
    if not waf:
        waf = row["ftl.waf_before"]
    elif row["ftl.waf_before"] is not None:
        waf = row["ftl.waf_before"] + max(0.0, waf - sum(row[of] or 0.0 for of in OF_START))
        energy += (row["energy.program"] + row["energy.erase"]) * (waf / row["ftl.waf"] - 1.0)
    return row | {"power_w": energy / 1e3 / seconds, "waf": waf}


class _Player:
    """Runs the epochs of several drives at once."""

    def __init__(
        self,
        spec: LifeSpec,
        cache: str | os.PathLike[str],
        threads: int | None,
        progress: Callable[[SweepProgress], None] | None,
    ) -> None:
        self.spec, self.cache, self.threads, self.progress = spec, cache, threads, progress
        self.done = 0
        self.findings: list[tuple[Finding, ...]] = []
        """What puts each run in doubt."""

    def __call__(self, settings: Mapping[str, Mapping[str, Value]], probing: bool = False) -> list[list[Row]]:
        """A row a seed of each drive; none where failed blocks leave too few."""
        from ssdlab.sweeps.campaign import sweep

        spec = self.spec
        run = {"requests": REQUESTS, **spec.run}
        seeds = 1 if probing else spec.conditions.seeds
        labels = {label: {**spec.schemes[label], **of} for label, of in settings.items()}
        axes = {"scheme": labels, "seed": list(range(1, seeds + 1))}
        statistics = [*STATISTICS.values(), *USED]
        try:
            found = sweep(
                {"statistics": statistics, "run": run, "axes": axes},
                cache=self.cache,
                threads=self.threads,
                progress=self._report(len(labels) * seeds),
            )
        except InputError as error:
            if probing or TOO_FEW not in str(error):
                raise
            return [[] for _ in labels]
        self.done += len(labels) * seeds
        for case in found.failed:
            if probing or TOO_FEW not in case.error:
                raise InputError(f"{case.labels['scheme']}: {case.error}")
        if not probing:
            self.findings += found.warnings
        out = {case.labels["scheme"] for case in found.failed}
        rows = [complete(row) for row in found.table.to_dicts() if row["scheme"] not in out]
        return [[row for row in rows if row["scheme"] == label] for label in labels]

    def _report(self, count: int) -> Callable[[SweepProgress], None] | None:
        """Counts the runs of all epochs together."""
        if self.progress is None:
            return None
        conditions = self.spec.conditions
        runs = len(self.spec.schemes) * (1 + conditions.seeds * (conditions.epochs + 1))
        before, tell = self.done, self.progress

        def report(of: SweepProgress) -> None:
            tell(of._replace(done=before + of.done, total=max(runs, before + count)))

        return report
