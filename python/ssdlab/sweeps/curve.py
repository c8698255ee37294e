"""Throughput against latency: a workload at growing queue depth or rate, on several drives."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.common.numbers import time_text
from ssdlab.common.shown import html, text
from ssdlab.common.wording import listed
from ssdlab.runs.documents import Given, title_of, word_of
from ssdlab.sweeps.spec import is_of_workload, run_of

if TYPE_CHECKING:
    import pandas
    import polars

    from ssdlab.runs.bounds import Bound
    from ssdlab.sweeps.campaign import SweepProgress, SweepResult

DEPTHS = "1..256"
REQUESTS = 20_000
LATENCIES = ("mean", "p99", "p99_9")
"""The latencies of a curve, as statistics have them."""
RATES = 10
"""Rates between two that are given."""
KINDS = {"read": "reads", "write": "writes", "all": "all requests"}
"""Whose latency a curve may show, and what it is called."""
STATISTICS = [
    "host.all.iops",
    *(f"host.{of}.requests" for of in KINDS),
    *(f"host.{of}.latency_ns.{name}" for of in KINDS for name in LATENCIES),
]
MIXED = 0.01
"""A load with a smaller share of writes is one of reads: these do not move what it carries (assumed)."""
STALLED = 2.0
"""Writes that take longer than at the knee by this factor are worth a word (assumed)."""
Latency = dict[str, tuple[float | None, float | None]]
"""By :data:`LATENCIES` a mean over seeds with the half width of its interval; None where too few requests lie beyond a
percentile."""
Line = dict[str, str]


class Point(NamedTuple):
    """A place on a line: means over seeds, each with the half width of its 95 % confidence interval (None of one)."""

    load: float
    """The queue depth, or the rate that is offered [requests/s]."""
    requests: float
    """Whose latency it is, of the seed that has the fewest."""
    iops: tuple[float, float | None]
    latency_ns: Latency
    writes_ns: Latency | None
    """The latency of writes, where a mixed load's reads are shown."""
    writes: float
    """How many of these there are, of the seed that has the fewest."""
    whole_ns: float | None
    """The mean latency of all requests, whatever is shown: what a mixed load's writes wait for counts."""
    warnings: frozenset[str]
    """The ids of what puts its numbers in doubt."""

    @property
    def power(self) -> float:
        """Throughput over the mean latency of all requests: where it is largest is the knee (L. Kleinrock, ICC 1979:
        power)."""
        return self.iops[0] / self.whole_ns if self.whole_ns else 0.0


class CurveLine(NamedTuple):
    """One drive under one scheme and age."""

    name: str
    points: list[Point]
    bound: Bound | None
    """What its configuration allows at most for this workload, where a formula is known (`ssdlab device`)."""

    @property
    def best(self) -> Point:
        """The point of most throughput over mean latency."""
        return max(self.points, key=lambda point: point.power)

    @property
    def knee(self) -> Point | None:
        """The point beyond which latency grows faster than throughput; None where that does not show, since it is the
        last one."""
        return None if self.best is self.points[-1] else self.best

    @property
    def bracket(self) -> tuple[float | None, float | None]:
        """The loads before and after the knee's: it lies between them, as far as the loads that were played tell."""
        at = self.points.index(self.best)
        before = self.points[at - 1].load if at else None
        return before, self.points[at + 1].load if at + 1 < len(self.points) else None

    @property
    def most(self) -> Point:
        """The point of most throughput."""
        return max(self.points, key=lambda point: point.iops[0])


ALIKE = 1.01
"""Lines that differ by less are alike (assumed)."""
AGED = (
    "where that is two ages of a drive, it reads with references that it keeps up to date (read.start), so that age "
    "costs no retries; --scheme baseline walks the vendor's retry table."
)


def _are_alike(first: CurveLine, second: CurveLine) -> bool:
    def pairs() -> Iterator[tuple[float, float]]:
        for one, other in zip(first.points, second.points, strict=False):
            yield one.iops[0], other.iops[0]
            yield one.latency_ns["mean"][0] or 0.0, other.latency_ns["mean"][0] or 0.0

    same = [point.load for point in first.points] == [point.load for point in second.points]
    return same and all(max(a, b) <= ALIKE * min(a, b) for a, b in pairs())


class Curve(NamedTuple):
    """Throughput against latency."""

    lines: list[CurveLine]
    kind: str
    """Whose latency it is: ``read``, ``write`` or ``all`` requests'."""
    mixed: bool
    """Whether these are the reads of a load that also writes: writes are shown beside them."""
    load: str
    """What grows: ``qd`` or ``rate``."""
    workload: str
    """What is played, for people."""
    table: polars.DataFrame
    """The table of the sweep: a row a case."""
    warnings: list[str]
    """What puts results in doubt, a line each."""
    failed: list[str]
    """Cases that could not be played, a line each."""

    def to_pandas(self) -> pandas.DataFrame:
        """The table of the sweep, as a pandas frame (``pip install 'ssdlab[pandas]'``)."""
        from ssdlab.common.frames import to_pandas

        return to_pandas(self.table)

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    def verdict(self) -> str:
        """What came out, in sentences."""
        sentences = [_sentence(line, self) for line in self.lines]
        if len(self.lines) > 1:
            best = max(self.lines, key=lambda line: line.best.power)
            ties = [line.name for line in self.lines if line.best.power >= best.best.power / ALIKE]
            has = "has" if len(ties) == 1 else "have"
            sentences.append(f"Most throughput over mean latency {has} {listed(ties)}.")
        points = [point for line in self.lines for point in line.points]
        if doubtful := sum(1 for point in points if point.warnings):
            many = "All" if doubtful == len(points) else f"{doubtful} of {len(points)}"
            sentences.append(f"{many} points carry warnings, which say what to doubt.")
        if alike := self.alike():
            sentences.append("; ".join(f"{listed(names)} are alike at every load" for names in alike) + f": {AGED}")
        return "\n".join(sentences)

    def alike(self) -> list[list[str]]:
        """Lines that differ by less than a per cent at every load, by their names."""
        groups: list[list[CurveLine]] = []
        for line in self.lines:
            group = next((group for group in groups if _are_alike(group[0], line)), None)
            if group is None:
                groups.append([line])
            else:
                group.append(line)
        return [[line.name for line in group] for group in groups if len(group) > 1]


def _sentence(line: CurveLine, curve: Curve) -> str:
    what = KINDS[curve.kind]

    def carried(point: Point) -> str:
        at = f"at queue depth {point.load:.0f}" if curve.load == "qd" else f"of {point.load:,.0f} offered"
        mean, p99 = (time_text(point.latency_ns[name][0]) for name in ("mean", "p99"))
        tail = "" if p99 == "-" else f", p99 {p99}"
        writes = ""
        if point.writes_ns is not None and point.writes_ns["mean"][0] is not None:
            of = [time_text(point.writes_ns[name][0]) for name in ("mean", "p99")]
            writes = f"; writes of {of[0]}" + ("" if of[1] == "-" else f", p99 {of[1]}")
        return f"{point.iops[0]:,.0f} requests/s {at}, {what} of {mean} on average{tail}{writes}"

    if "refused" in line.best.warnings:
        return f"{line.name}: {carried(line.best)}; the drive refused requests, and where its knee lies does not show."
    if line.knee is None:
        option = "--qd" if curve.load == "qd" else "--rate"
        return f"{line.name}: {carried(line.best)}; it still climbs there, its knee lies further ({option})."
    last = f"; at most {line.most.iops[0]:,.0f} beyond it" if line.most.iops[0] > 1.01 * line.knee.iops[0] else ""
    longest = max((point.writes_ns or {}).get("mean", (0.0, None))[0] or 0.0 for point in line.points)
    at_knee = ((line.knee.writes_ns or {}).get("mean", (0.0, None)))[0] or 0.0
    last += f"; writes take up to {time_text(longest)} on average beyond it" if longest > STALLED * at_knee else ""
    before, after = line.bracket
    between = f"below {after:,.0f}" if before is None else f"between {before:,.0f} and {after:,.0f}"
    return f"{line.name}: at its knee ({between}) {carried(line.knee)}{last}."


def curve(
    devices: Given | Sequence[Given] = "tlc",
    workload: Given = "default",
    *,
    qd: str | int | Sequence[int] | None = None,
    rate: str | float | Sequence[float] | None = None,
    schemes: str | Sequence[str] = (),
    ages: str | Sequence[str] = (),
    settings: Mapping[str, Any] | Sequence[str] = (),
    precondition: str | None = None,
    requests: int = REQUESTS,
    warmup: int | None = None,
    seeds: int = 1,
    kind: str | None = None,
    cache: str | os.PathLike[str] = "results/cache",
    threads: int | None = None,
    progress: Callable[[SweepProgress], None] | None = None,
) -> Curve:
    """Plays a workload at growing queue depth or rate on each device, under each scheme, at each age.

    Args:
        devices: presets, device files, or dicts of what these would hold, whose ``about`` names their lines.
        workload: a generator's preset, file or dict, or a trace.
        qd: queue depths: ``"1..256"`` (powers of two; the default), ``"1,4,16"`` or a sequence.
        rate: in place of it requests a second that are offered: ``"10k..400k"`` (ten steps), ``"10k,50k"`` or a
            sequence; of a generator (``workload.rate_iops``).
        schemes: as of :func:`ssdlab.run`; none is the devices' own.
        ages: likewise, such as ``"pec=1000,retention=3mo"``.
        settings: keys of the devices and of the generator.
        precondition: as of :func:`ssdlab.run`.
        requests: requests of a case that are measured.
        warmup: those before them  [default: a tenth, and the queue depth].
        seeds: seeds of each case.
        kind: whose latency is shown: ``"read"``, ``"write"`` or ``"all"``  [default: reads', where there are any].
        cache: the folder that keeps results; the same case is played once.
        threads: cases at once; None is one a core.
        progress: called when cases are done.

    Raises:
        InputError: something is refused, or both ``qd`` and ``rate`` are given.
    """
    from ssdlab.runs.options import setting_texts
    from ssdlab.sweeps.campaign import sweep

    if qd is not None and rate is not None:
        raise InputError("qd and rate are both given\n  help: let one of them grow: --qd 1..256, or --rate 10k..400k")
    if kind is not None and kind not in KINDS:
        raise InputError(f"kind is {kind!r}\n  help: write {', '.join(KINDS)}")
    load = "qd" if rate is None else "rate"
    qd = [qd] if isinstance(qd, int) else qd
    rate = [rate] if isinstance(rate, int | float) else rate
    loads: list[float] = list(depths(DEPTHS if qd is None else qd)) if rate is None else _rates(rate)
    several = [devices] if isinstance(devices, str | os.PathLike | Mapping) else devices
    names = [word_of("device", device) for device in several]
    if not names or seeds < 1:
        raise InputError("there is nothing to play\n  help: name a device, and one seed or more")
    lines = _lines(names, *([one] if isinstance(one, str) else one for one in (schemes, ages)))
    texts = (text.partition("=") for text in setting_texts(settings))
    shared: dict[str, Any] = {key.strip(): value.strip() for key, _, value in texts}
    shared |= {"workload": word_of("workload", workload)}
    if precondition is not None:
        shared["precondition"] = precondition
    key = "qd" if load == "qd" else "workload.rate_iops"
    if load == "qd" and _paces_itself({**shared, **next(iter(lines.values()))}):
        key = "workload.iodepth"
    axes = {"drive": dict(lines), load: _paces(key, load, loads, requests, warmup), "seed": list(range(1, seeds + 1))}
    spec = {"statistics": STATISTICS, "run": shared, "axes": axes}
    found = sweep(spec, cache=cache, threads=threads, progress=progress)
    return _curve_of(found, lines, shared, load, kind)


def _curve_of(
    found: SweepResult, lines: Mapping[str, Line], shared: Mapping[str, Any], load: str, kind: str | None
) -> Curve:
    """The lines of a sweep that has been played."""
    table = found.table
    failed = [f"{case.labels['drive']} {load} {case.labels[load]:g}: {case.error}" for case in found.failed]
    if found.failed and len(found.failed) == table.height:
        raise InputError("\n".join(["no case could be played", *failed[:3]]))
    reads, writes = (table[f"host.{of}.requests"].fill_null(0) for of in ("read", "write"))
    mixed = kind is None and bool(((reads > 0) & (writes >= MIXED * (reads + writes))).any())
    if kind is None:
        kind = "read" if (table["host.read.requests"].fill_null(0) > 0).any() else "write"
    what, access = _what(dict(next(iter(lines.values())), **shared), kind)
    drawn = [
        CurveLine(name, points, _bound(given, shared, access))
        for name, given in lines.items()
        if (points := _points(table.filter(drive=name), load, kind, mixed=mixed))
    ]
    return Curve(drawn, kind, mixed, load, what, table, found.warning_lines(), failed)


def _paces_itself(values: Mapping[str, Any]) -> bool:
    """Whether the workload is a generator that keeps requests, or tasks, under way by itself (``workload.iodepth``)."""
    import json

    from ssdlab.runs.simulation import open_simulation

    options = run_of(values, "curve")
    work = json.loads(open_simulation(options.replace(requests=1, warmup=0).without_outputs()).manifest)["workload"]
    return bool(work.get("generator", {}).get("iodepth", "none") != "none")


def _paces(
    key: str, load: str, loads: Sequence[float], requests: int, warmup: int | None
) -> dict[float, dict[str, Any]]:
    """The axis of what grows: by its value the pace, and how many requests are played and measured."""
    paces = {}
    for at in loads:
        skipped = max(requests // 10, int(at) if load == "qd" else 0) if warmup is None else warmup
        pace: dict[str, Any] = {key: int(at) if load == "qd" else at}
        paces[at] = {**pace, "warmup": skipped, "requests": requests + skipped}
    return paces


def _lines(devices: Sequence[str], schemes: Sequence[str], ages: Sequence[str]) -> dict[str, Line]:
    """The lines by name: what differs between them names them."""
    parts = {"device": list(devices), "scheme": list(schemes), "age": list(ages)}
    given = {key: of or [""] for key, of in parts.items()}
    lines: dict[str, Line] = {}
    for point in itertools.product(*given.values()):
        line = dict(zip(given, point, strict=True))
        differing = [value for key, value in line.items() if value and (len(given[key]) > 1 or key == "device")]
        name = ", ".join(map(title_of, differing))
        if name in lines:
            raise InputError(
                f"{name} is named twice\n  help: name each device, scheme and age once; a dict's name is its about"
            )
        lines[name] = {key: value for key, value in line.items() if value}
    return lines


def doubled(first: int, last: int) -> list[int]:
    """The first number, the powers of two between, and the last one; ValueError where that is less."""
    if first > last:
        raise ValueError
    return sorted({first, *(1 << bit for bit in range(first.bit_length(), last.bit_length()) if 1 << bit < last), last})


def depths(given: str | Sequence[int]) -> list[int]:
    """Queue depths: of a range the powers of two, and its end."""
    if not isinstance(given, str):
        return sorted({int(depth) for depth in given})
    low, dots, high = given.partition("..")
    try:
        found = doubled(int(low), int(high)) if dots else sorted({int(part) for part in given.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < 1 or found[-1] > 1 << 20:
        raise InputError(f"--qd {given}: expected depths from 1 to {1 << 20:,}\n  help: write 1..256, or 1,4,16")
    return found


UNITS = {"": 1.0, "k": 1e3, "M": 1e6}


def _rates(given: str | Sequence[float]) -> list[float]:
    """Rates [requests/s]: of a range ten, equal steps apart."""
    if not isinstance(given, str):
        return sorted({float(rate) for rate in given})

    def rate(text: str) -> float:
        text = text.strip()
        unit = text[-1:] if text[-1:] in ("k", "M") else ""
        return float(text.removesuffix(unit)) * UNITS[unit]

    low, dots, high = given.partition("..")
    try:
        if not dots:
            rates = sorted({rate(part) for part in given.split(",")})
        else:
            first, last = rate(low), rate(high)
            rates = [first + (last - first) * step / (RATES - 1) for step in range(RATES)]
    except ValueError:
        rates = []
    if not rates or not rates[0] > 0 or rates[-1] == float("inf") or rates != sorted(rates):
        raise InputError(f"--rate {given}: expected requests a second\n  help: write 10k..400k, or 10k,50k,100k")
    return [float(f"{each:.6g}") for each in rates]


def _points(cases: polars.DataFrame, load: str, kind: str, *, mixed: bool) -> list[Point]:
    """The points of a line, in the order of its load."""
    points = []
    for at in sorted(set(cases[load].to_list())):
        of = cases.filter(**{load: at})

        def mean(name: str, of: polars.DataFrame = of) -> tuple[float | None, float | None]:
            values = of[name].to_list() if name in of.columns else []
            # A percentile that some seed cannot give has no mean.
            return (None, None) if None in values or not values else mean_and_half_width(values)

        iops = mean("host.all.iops")
        if iops[0] is None:
            continue
        latencies = {name: mean(f"host.{kind}.latency_ns.{name}") for name in LATENCIES}
        writes = {name: mean(f"host.write.latency_ns.{name}") for name in LATENCIES} if mixed else None
        marks = frozenset(mark for marks in of["warnings"].drop_nulls() for mark in marks.split(","))
        fewest, writes_of = (min(of[f"host.{op}.requests"].fill_null(0).to_list()) for op in (kind, "write"))
        whole = mean("host.all.latency_ns.mean")[0]
        points.append(Point(float(at), fewest, (iops[0], iops[1]), latencies, writes, writes_of, whole, marks))
    return points


def _what(values: Mapping[str, Any], kind: str) -> tuple[str, tuple[str, int] | None]:
    """What the workload does, for people; and the pattern and size of its accesses, where it has one."""
    import json

    from ssdlab.common.numbers import size_of
    from ssdlab.runs.simulation import open_simulation

    options = run_of(values, "curve")
    work = json.loads(open_simulation(options.replace(requests=1, warmup=0).without_outputs()).manifest)["workload"]
    job = work.get("generator")
    if job is None:
        return title_of(options.workload), None
    mix = "" if not job["rw"].endswith("rw") else f", {job['read_ratio']} reads"
    what = f"{job['rw']} {job['bs']}{mix}"
    pattern = {"randread": "random read", "read": "sequential read", "randwrite": "write", "write": "write"}
    found = pattern.get(job["rw"])
    try:
        size = size_of(job["bs"])
    except (KeyError, ValueError):
        return what, None  # sizes of several kinds
    return what, None if found is None or kind == "all" else (found, size)


def _bound(line: Line, shared: Mapping[str, Any], access: tuple[str, int] | None) -> Bound | None:
    """The tightest bound of a drive for this access."""
    from ssdlab.runs.bounds import bounds_of

    if access is None:
        return None
    pattern, size = access
    of_drive = {name: value for name, value in shared.items() if name != "workload" and not is_of_workload(name)}
    for of in bounds_of(run_of({**of_drive, **line}, "curve")).accesses:
        if of.what.startswith(pattern) and of.bytes == size:
            return of.bounds[0]
    return None
