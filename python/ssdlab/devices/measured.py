"""What was measured of a drive: jobs with figures, from fio's JSON results or from a table of published ones."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.foreign.files import read_text
from ssdlab.foreign.fio.generator import request_sizes
from ssdlab.foreign.fio.job import SYNCHRONOUS
from ssdlab.foreign.fio.jobfile import JobSection
from ssdlab.foreign.fio.options import SPELLINGS, SUPPORTED
from ssdlab.foreign.options import Notes, near
from ssdlab.runs.options import PathLike

DIRECTIONS = ("read", "write")
STATES = ("written", "empty", "steady")
"""What the drive holds when a job begins: every address written once; nothing; what long random overwriting leaves."""
LATENCIES = ("mean", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "p99_999", "p99_9999")
METRICS = ("iops", "bandwidth", *LATENCIES)
OF_FIO = {"p50": "50.000000", "p99": "99.000000"}
"""The percentiles that are taken from fio's results."""
LEAST_NOISE = {"iops": 0.01, "mean": 0.01}
"""No figure is taken to repeat better than this, as a share of it (assumed: the spread of runs on one machine)."""
LEAST_NOISE_PERCENTILE = 0.02
"""No percentile is taken to repeat better than this: fio has buckets of 1.6 % (stat.h, FIO_IO_U_PLAT_BITS)."""


STEADY_NOISE = 0.1
"""No steady state is taken to repeat better than this: a closed form replaces it (unknowns.py)."""


class Figure(NamedTuple):
    """A measured figure of a job."""

    op: str
    """``read`` or ``write``."""
    metric: str
    """``iops``, or one of :data:`LATENCIES`."""
    value: float
    """1/s, or ns."""
    noise: float
    """Standard deviation of the measurement, as a share of the value."""
    source: str = ""
    """Where it is published."""

    @property
    def name(self) -> str:
        """Direction and metric."""
        return f"{self.op} {self.metric}"


class MeasuredJob(NamedTuple):
    """A job of fio's with what was measured of it."""

    name: str
    file: str
    options: dict[str, str]
    """Of fio: rw, bs, iodepth, numjobs, …"""
    figures: tuple[Figure, ...]
    requests: int = 0
    """Requests that were measured; 0 where nothing says how many."""
    state: str = "written"
    """One of :data:`STATES`."""

    @property
    def depth(self) -> int:
        """Requests under way, of all clones."""
        alone = self.options.get("ioengine", "psync") in SYNCHRONOUS
        return (1 if alone else int(self.options.get("iodepth", "1"))) * int(self.options.get("numjobs", "1"))

    @property
    def direction(self) -> str:
        """``read``, ``write``, or ``mixed``."""
        mode = self.options.get("rw", "read")
        return "mixed" if mode in ("rw", "randrw", "readwrite") else "write" if mode.endswith("write") else "read"

    @property
    def random(self) -> bool:
        """Whether addresses are drawn."""
        return self.options.get("rw", "read").startswith("rand")

    @property
    def overwriting(self) -> bool:
        """Whether it writes in a steady state of overwriting, which a closed form stands for: its rate and its mean
        latency have one, its percentiles have not."""
        return self.state == "steady" and self.direction == "write"

    def with_closed_forms(self) -> MeasuredJob:
        """With the figures that have one."""
        if not self.overwriting:
            return self
        kept = [each for each in self.figures if each.metric in ("iops", "mean")]
        figures = tuple(each._replace(noise=max(each.noise, STEADY_NOISE)) for each in kept)
        return self._replace(figures=figures)

    @property
    def block(self) -> float:
        """Bytes of a request, those of reads in a mixed job: the mean of several sizes."""
        return self.size("write" if self.direction == "write" else "read")

    def size(self, op: str) -> float:
        """Bytes of a request of a direction (``read`` or ``write``), the mean where it has several sizes.

        Raises:
            InputError: ``bs``, ``bsrange`` or ``bssplit`` is none of fio's.
        """
        section = JobSection(self.name, self.file, 1)
        section.values |= {key: (value, self.file, 1) for key, value in self.options.items()}
        found = request_sizes(section, op, Notes())
        return sum(size * share for size, share in found) / sum(share for _, share in found)

    def value(self, op: str, metric: str) -> float | None:
        """A figure's value; None where there is none."""
        return next((each.value for each in self.figures if (each.op, each.metric) == (op, metric)), None)

    def counted(self) -> tuple[Figure, ...]:
        """The figures that a fit counts. At a fixed queue depth IOPS and the mean latency are one
        figure (Little's law): the mean counts, which has no share of the host's in it."""
        paced = any(key in self.options for key in ("rate", "rate_iops", "thinktime"))
        means = {each.op for each in self.figures if each.metric == "mean"}
        return tuple(each for each in self.figures if each.metric != "iops" or paced or each.op not in means)


def read(measurements: PathLike | Iterable[PathLike], *, steady: Iterable[str] = ()) -> tuple[MeasuredJob, ...]:
    """Reads measurements: files, or folders of files. ``.json`` are fio's results (``--output-format=json`` or
    ``json+``), ``.csv`` and ``.toml`` tables of figures (docs/fit-device.md). ``steady`` names jobs of fio's that were
    measured in a steady state of random overwriting; ``*`` stands for any text.

    Raises:
        InputError: a file cannot be read; it says which line or key is wrong, and the remedy.
    """
    from fnmatch import fnmatchcase

    given = [measurements] if isinstance(measurements, str | os.PathLike) else list(measurements)
    found: list[MeasuredJob] = []
    for path in _files([os.fspath(each) for each in given]):
        found += _READERS[os.path.splitext(path)[1].lower()](path, read_text(path))
    if not found:
        raise InputError("measurements: hold no job\n  help: give fio's JSON results, or a table of figures")
    for pattern in steady:
        if not any(fnmatchcase(job.name, pattern) for job in found):
            names = ", ".join(dict.fromkeys(job.name for job in found))
            raise InputError(f"steady {pattern}: there is no such job\n  help: its jobs are {names}")
    found = [
        job._replace(state="steady") if any(fnmatchcase(job.name, pattern) for pattern in steady) else job
        for job in found
    ]
    return _with_own_names(found)


def _files(given: list[str]) -> list[str]:
    paths: list[str] = []
    for path in given:
        inside = sorted(os.listdir(path)) if os.path.isdir(path) else [""]
        mine = [os.path.join(path, name) if name else path for name in inside]
        wanted = [each for each in mine if os.path.splitext(each)[1].lower() in _READERS]
        if not wanted:
            raise InputError(f"{path}: holds no measurements\n  help: give .json of fio's, or tables in .csv or .toml")
        paths += wanted
    return paths


def _with_own_names(jobs: list[MeasuredJob]) -> tuple[MeasuredJob, ...]:
    taken: set[str] = set()
    out = []
    for job in jobs:
        stem = os.path.splitext(os.path.basename(job.file))[0]
        names = (job.name, f"{stem}/{job.name}", *(f"{stem}/{job.name}-{count}" for count in range(2, len(jobs) + 2)))
        name = next(name for name in names if name not in taken)
        taken.add(name)
        out.append(job._replace(name=name))
    return tuple(out)


# fio's JSON


def _of_fio(path: str, text: str) -> list[MeasuredJob]:
    # fio prints its notes before the JSON.
    start = text.find("{")
    try:
        document = json.loads(text[max(0, start) :])
        entries = document["jobs"]
        shared = dict(document.get("global options", {}))
        named = [(str(entry["jobname"]), int(entry["groupid"]), entry) for entry in entries]
    except (json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise InputError(
            f"{path}: is no result of fio's ({what})\n  help: write it with `fio --output-format=json --output=FILE`"
        ) from None
    groups: dict[int, list[tuple[str, dict[str, Any]]]] = {}
    for name, group, entry in named:
        groups.setdefault(group, []).append((name, entry))
    jobs = []
    for number, members in enumerate(groups.values()):
        names = list(dict.fromkeys(name for name, _ in members))
        options = _options(path, names[0], {**shared, **members[0][1].get("job options", {})})
        if len(names) > 1 or (number and not {"stonewall", "wait_for_previous"} & options.keys()):
            raise InputError(
                f"{path}: {', '.join(names)}: ran beside other jobs, and their figures are of all together\n"
                "  help: give each job of the job file `stonewall`, or a file of its own"
            )
        try:
            jobs.append(_fio_job(path, names[0], options, [entry for _, entry in members]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{path}: {names[0]}: lacks {error}\n  help: give fio's JSON as fio 3 writes it, whole"
            ) from None
    return jobs


def _options(path: str, job: str, given: Mapping[str, Any]) -> dict[str, str]:
    options = {SPELLINGS.get(key, key): str(value) for key, value in given.items()}
    if "rw" not in options:
        raise InputError(
            f"{path}: {job}: does not say what was done (rw)\n"
            '  help: "job options" or "global options" of fio\'s JSON have it; add them, or write a table'
        )
    return options


def _fio_job(path: str, name: str, options: dict[str, str], entries: list[dict[str, Any]]) -> MeasuredJob:
    figures: list[Figure] = []
    requests = 0
    for op in DIRECTIONS:
        parts = [entry[op] for entry in entries if int(entry[op]["total_ios"]) > 0]
        if not parts:
            continue
        requests += sum(int(part["total_ios"]) for part in parts)
        figures += _fio_figures(op, parts)
    if not figures:
        raise InputError(f"{path}: {name}: completed no request\n  help: leave it out, or let it run for longer")
    return MeasuredJob(name, path, options, tuple(figures), requests)


def _fio_figures(op: str, parts: list[dict[str, Any]]) -> list[Figure]:
    """The figures of one direction. Percentiles of clones are those of all their requests where there are bins
    (``json+``); else they are averaged, as clones of a job are alike."""
    counts = [int(part["total_ios"]) for part in parts]
    total = sum(counts)

    def mean(values: list[float]) -> float:
        return sum(value * count for value, count in zip(values, counts, strict=True)) / total

    iops = sum(float(part["iops"]) for part in parts)
    samples = sum(int(part.get("iops_samples", 0)) for part in parts)
    spread = mean(
        [float(part.get("iops_stddev", 0.0)) / max(1e-9, float(part.get("iops_mean", 0.0))) for part in parts]
    )
    figures = [Figure(op, "iops", iops, _noise("iops", spread, samples))]
    latency = mean([float(part["lat_ns"]["mean"]) for part in parts])
    if latency > 0:
        deviation = mean([float(part["lat_ns"].get("stddev", 0.0)) for part in parts]) / latency
        figures.append(Figure(op, "mean", latency, _noise("mean", deviation, total)))
    for metric, key in OF_FIO.items():
        # Completion latencies: what submitting took comes on top, as in the mean.
        values = [_percentile(part, key) for part in parts]
        if (of_bins := _of_bins(parts, float(key))) is not None:
            submitting = mean([float(part.get("slat_ns", {}).get("mean", 0.0)) for part in parts])
            figures.append(Figure(op, metric, of_bins + submitting, LEAST_NOISE_PERCENTILE))
        elif all(value is not None for value in values):
            value = mean([float(each or 0.0) for each in values])
            figures.append(Figure(op, metric, value, LEAST_NOISE_PERCENTILE))
    return figures


def _percentile(part: dict[str, Any], key: str) -> float | None:
    value = part.get("clat_ns", {}).get("percentile", {}).get(key)
    return None if value is None else float(value) + float(part.get("slat_ns", {}).get("mean", 0.0))


def _of_bins(parts: list[dict[str, Any]], percentile: float) -> float | None:
    """A percentile of clones together, from the bins of ``json+``; None where there are none."""
    counts: dict[float, int] = {}
    for part in parts:
        bins = part.get("clat_ns", {}).get("bins")
        if not isinstance(bins, dict) or not bins:
            return None
        for middle, count in bins.items():
            counts[float(middle)] = counts.get(float(middle), 0) + int(count)
    left = math.ceil(percentile / 100 * sum(counts.values()))
    for middle in sorted(counts):
        left -= counts[middle]
        if left <= 0:
            return middle
    return None


def _noise(metric: str, deviation: float, count: int) -> float:
    return max(LEAST_NOISE[metric], deviation / math.sqrt(count) if count > 0 else 0.0)


# Tables


COLUMNS = ("job", "metric", "value", "op", "noise", "state", "source")
"""The columns of a table that are no options of fio's."""


def _of_csv(path: str, text: str) -> list[MeasuredJob]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines)), skipinitialspace=True))
    if any(None in row for row in rows):
        raise InputError(f"{path}: a line has more fields than the first one names\n  help: quote fields with commas")
    return _of_rows(path, [{key: value for key, value in row.items() if value} for row in rows])


def _of_toml(path: str, text: str) -> list[MeasuredJob]:
    import tomllib

    try:
        document = tomllib.loads(text)
        rows = [{key: _text(value) for key, value in row.items()} for row in document["figure"]]
    except (tomllib.TOMLDecodeError, KeyError, AttributeError, TypeError) as error:
        raise InputError(
            f"{path}: is no table of figures ({type(error).__name__}: {error})\n"
            '  help: write a [[figure]] each, with job, rw, bs, iodepth, metric = "p99" and value = "260us"'
        ) from None
    return _of_rows(path, rows)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_rows(path: str, rows: list[dict[str, str]]) -> list[MeasuredJob]:
    jobs: dict[str, MeasuredJob] = {}
    known = [*COLUMNS, *(key.name for key in SUPPORTED)]
    for number, row in enumerate(rows, 1):
        where = f"{path}: figure {number}"
        for key in row:
            if key not in COLUMNS and SPELLINGS.get(key) not in known:
                raise InputError(
                    f"{where}: {key}: is no column\n  help: {near(key, known) or 'columns are job, metric, value, '}"
                    "op, noise, state, source, and options of fio's"
                )
        missing = [key for key in ("job", "metric", "value") if not row.get(key)]
        if missing:
            raise InputError(f"{where}: lacks {', '.join(missing)}\n  help: job, metric and value are needed")
        options = {"ioengine": "io_uring", **{SPELLINGS[key]: row[key] for key in row if key not in COLUMNS}}
        job = jobs.get(row["job"]) or MeasuredJob(row["job"], path, _options(path, row["job"], options), ())
        if any(job.options.get(key) != value for key, value in options.items()):
            raise InputError(f"{where}: {row['job']}: has other options than above\n  help: give jobs their own names")
        state = row.get("state", job.state)
        if state not in STATES:
            raise InputError(f"{where}: state {state!r}: is not known\n  help: one of {', '.join(STATES)}")
        jobs[row["job"]] = job._replace(figures=(*job.figures, _figure(where, row, job)), state=state)
    return list(jobs.values())


def _figure(where: str, row: Mapping[str, str], job: MeasuredJob) -> Figure:
    metric = row["metric"].replace(".", "_")
    if metric not in METRICS:
        raise InputError(f"{where}: metric {metric!r}: is not known\n  help: one of {', '.join(METRICS)}")
    op = row.get("op", job.direction)
    if op not in DIRECTIONS:
        raise InputError(f"{where}: op: reads or writes of a mixed job?\n  help: write op = read or op = write")
    unit = _UNITS["iops" if metric == "iops" else "bandwidth" if metric == "bandwidth" else "latency"]
    ends = [_quantity(where, end, unit) for end in row["value"].split("..")]
    if len(ends) > 2 or not 0 < ends[0] <= ends[-1]:
        raise InputError(f"{where}: value {row['value']!r}: is no range\n  help: write LOW..HIGH, such as 92us..150us")
    value = math.sqrt(ends[0] * ends[-1])
    if metric == "bandwidth":
        metric, value = "iops", value / job.size(op)
    least = LEAST_NOISE.get(metric, LEAST_NOISE_PERCENTILE)
    # A range's ends are taken as one standard deviation to either side.
    noise = max(least, math.log(ends[-1] / ends[0]) / 2.0, _share(where, row.get("noise", "0%")))
    return Figure(op, metric, value, noise, row.get("source", ""))


_TIME = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_RATE = {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "KiB/s": 2.0**10, "MiB/s": 2.0**20, "GiB/s": 2.0**30}
_UNITS: dict[str, dict[str, float]] = {"iops": {"": 1.0, "k": 1e3, "M": 1e6}, "bandwidth": _RATE, "latency": _TIME}


def _quantity(where: str, text: str, units: Mapping[str, float]) -> float:
    match = re.fullmatch(r"\s*([0-9][0-9_,]*\.?[0-9]*(?:e[0-9]+)?)\s*(\S*)\s*", text)
    if match is None or match[2] not in units:
        shown = ", ".join(unit or "none" for unit in units)
        raise InputError(f"{where}: value {text!r}: is not accepted\n  help: write a number with its unit ({shown})")
    return float(re.sub("[_,]", "", match[1])) * units[match[2]]


def _share(where: str, text: str) -> float:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text)
    if match is None:
        raise InputError(f'{where}: noise {text!r}: is not accepted\n  help: write a share such as "5%"')
    return float(match[1]) / 100.0


_READERS = {".json": _of_fio, ".csv": _of_csv, ".toml": _of_toml}
