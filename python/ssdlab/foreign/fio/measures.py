"""What fio reports of a job, from the request log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab.foreign.fio.job import Job
from ssdlab.foreign.fio.numbers import bin_of
from ssdlab.runs.counted import Counted

if TYPE_CHECKING:
    import polars

    from ssdlab.runs.result import Result


WINDOW_NS = 500_000_000
"""The interval at which fio samples bandwidth and IOPS."""
BOUNDS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
DEPTHS = (1, 2, 4, 8, 16, 32, 64)


class Report(NamedTuple):
    """What fio reports of a job, or of the jobs of a group together."""

    job: Job
    members: int
    """Jobs that are reported together."""
    log: polars.DataFrame
    """Their requests."""
    start_ns: int
    """When the measurement began."""


def jobs_of(result: Result, group: int = 0) -> tuple[Job, ...]:
    """The jobs of a run that no job file describes: one a queue, by the names in the workload; all of this groupid."""
    work = result.manifest.workload
    named = work.jobs if "jobs" in work else {"": work.generator} if "generator" in work else {}
    names = []
    for name, job in named.items():
        # Phases have no numjobs.
        copies = int(job["numjobs"]) if "numjobs" in job else 1
        names += [name or "workload"] * (copies * int(job["queues"]))
    numbers = sorted(int(queue) for queue in result.host.queue)
    if not names and len(numbers) == 1:
        names = [""] * numbers[0] + [str(work["trace"])] if "trace" in work else names
    return tuple(Job(names[queue] if queue < len(names) else f"queue-{queue}", queue, group) for queue in numbers)


def reports(results: Sequence[Result], jobs: Sequence[tuple[Job, ...]]) -> list[list[Report]]:
    """The values of the layouts, a list a run, of the requests that count. Raises :class:`ssdlab.InputError` where a
    run kept no request log."""
    import polars

    found: list[list[Report]] = []
    for result, members in zip(results, jobs, strict=True):
        log = measured_log(result)
        begin = _begin(log, _counted(result))
        log = log.filter(polars.col("op") < 3)
        rows: list[Report] = []
        together: dict[int, int] = {}
        for job in members:
            queue = job.queue
            mine = log if len(members) == 1 else log.filter(polars.col("queue") == queue)
            mine = mine.filter(polars.col("arrival_ns") >= job.ramp_ns)
            if job.together and job.group in together:
                index = together[job.group]
                first = rows[index]
                rows[index] = Report(first.job, first.members + 1, polars.concat([first.log, mine]), first.start_ns)
                continue
            if job.together:
                together[job.group] = len(rows)
            rows.append(Report(job, 1, mine, max(begin, job.ramp_ns)))
        found.append(rows)
    return found


def measured_log(result: Result) -> polars.DataFrame:
    """The request log, of the requests that count."""
    return _counted(result).requests(result.requests)


def _counted(result: Result) -> Counted:
    return Counted.of(result.manifest["warmup"], result.host)


def _begin(log: polars.DataFrame, counted: Counted) -> int:
    """When the measurement began [ns]."""
    if counted.from_ns is not None:
        return counted.from_ns
    return int(log["arrival_ns"].min()) if counted.first and log.height else 0  # type: ignore[arg-type]


def _latency(values: polars.Series, percentiles: Sequence[float] = ()) -> dict[str, Any]:
    """fio's statistics of latencies [ns]; percentiles are samples, not estimates."""
    count = values.len()
    out: dict[str, Any] = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": count}
    if count:
        ordered = values.sort()
        deviation = ordered.std() if count > 1 else 0.0
        out |= {
            "min": int(ordered[0]),
            "max": int(ordered[-1]),
            "mean": rounded(ordered.mean()),
            "stddev": rounded(deviation),
        }
        if percentiles:
            ranks = {p: max(0, math.ceil(p / 100 * count - 1e-9) - 1) for p in percentiles}
            out["percentile"] = {f"{p:.6f}": int(ordered[rank]) for p, rank in ranks.items()}
    return out


def rounded(value: Any) -> float:
    return round(float(value or 0.0), 6)


def _rates(report: Report, log: polars.DataFrame, elapsed_ns: int) -> tuple[list[float], list[float]]:
    """KiB/s and IOPS in each whole window of the run."""
    import polars

    windows = elapsed_ns // WINDOW_NS
    if windows == 0:
        return [], []
    at = ((polars.col("finish_ns") - report.start_ns) // WINDOW_NS).alias("at")
    sums = log.select(at, "bytes").group_by("at").agg(polars.col("bytes").sum(), polars.len())
    by = {row[0]: row[1:] for row in sums.iter_rows()}
    found = [by.get(window, (0, 0)) for window in range(windows)]
    seconds = WINDOW_NS / 1e9
    return [size / 1024 / seconds for size, _ in found], [count / seconds for _, count in found]


def _spread(values: list[float]) -> tuple[float, float, float, float]:
    """Least, largest, mean, standard deviation."""
    if not values:
        return 0, 0, 0.0, 0.0
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1) if len(values) > 1 else 0.0
    return min(values), max(values), rounded(mean), rounded(math.sqrt(variance))


def run_time_ns(report: Report) -> int:
    """From the start of the measurement to the last completion [ns]."""
    return max(0, int(report.log["finish_ns"].max()) - report.start_ns) if report.log.height else 0  # type: ignore[arg-type]


def _bins(latencies: polars.Series) -> dict[str, int]:
    """Requests in each of fio's bins that has any."""
    counts: dict[int, int] = {}
    for latency, count in latencies.value_counts().iter_rows():
        counts[bin_of(latency)] = counts.get(bin_of(latency), 0) + count
    return {str(middle): counts[middle] for middle in sorted(counts)}


def direction_figures(report: Report, op: int, group_bandwidth: float, bins: bool = False) -> dict[str, Any]:
    """What fio says of a direction; with ``bins`` as ``json+`` does."""
    import polars

    log = report.log.filter(polars.col("op") == op)
    elapsed = run_time_ns(report) if log.height else 0
    seconds = elapsed / 1e9
    size = int(log["bytes"].sum())
    latencies = log["latency_ns"]
    bandwidths, rates = _rates(report, log, elapsed)
    bw_min, bw_max, bw_mean, bw_dev = _spread(bandwidths)
    iops_min, iops_max, iops_mean, iops_dev = _spread(rates)
    bandwidth = size / seconds if seconds else 0.0
    return {
        "io_bytes": size,
        "io_kbytes": size // 1024,
        "bw_bytes": int(bandwidth),
        "bw": int(bandwidth / 1024),
        "iops": rounded(log.height / seconds if seconds else 0.0),
        "runtime": max(1, round(elapsed / 1e6)) if elapsed else 0,
        "total_ios": log.height,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": _latency(latencies.head(0)),
        "clat_ns": _latency(latencies, report.job.percentiles)
        | ({"bins": _bins(latencies)} if bins and log.height else {}),
        "lat_ns": _latency(latencies),
        "bw_min": int(bw_min),
        "bw_max": int(bw_max),
        "bw_agg": rounded(min(100.0, 100 * bw_mean * 1024 / group_bandwidth) if group_bandwidth else 0.0),
        "bw_mean": bw_mean,
        "bw_dev": bw_dev,
        "bw_samples": len(bandwidths),
        "iops_min": int(iops_min),
        "iops_max": int(iops_max),
        "iops_mean": iops_mean,
        "iops_stddev": iops_dev,
        "iops_samples": len(rates),
    }


def depth_shares(report: Report) -> dict[str, float]:
    """The share of requests that found each number of their job's requests under way, themselves included."""
    import polars

    names = [*(str(depth) for depth in DEPTHS[:-1]), ">=64"]
    counts = dict.fromkeys(names, 0)
    for (_,), log in report.log.group_by("queue"):
        arrivals = log["arrival_ns"].sort()
        done = log["finish_ns"].sort().search_sorted(arrivals, side="right")
        under_way = polars.int_range(1, arrivals.len() + 1, eager=True) - done.cast(polars.Int64)
        for name, low, high in zip(names, DEPTHS, [*DEPTHS[1:], 1 << 62], strict=True):
            counts[name] += int(((under_way >= low) & (under_way < high)).sum())
    total = max(1, report.log.height)
    return {name: _share(count, total, 0.1) for name, count in counts.items()}


def _share(count: int, total: int, least: float) -> float:
    """A share in %; fio shows what is there, however rare, as ``least``."""
    return max(least, rounded(100 * count / total)) if count else 0.0


def latency_buckets(report: Report) -> dict[str, dict[str, float]]:
    """Shares of latencies up to each of fio's bounds [%]."""
    latencies = report.log["latency_ns"].sort()
    total = max(1, latencies.len())
    below, out = 0, {}
    for unit, scale, bounds in (("ns", 1, BOUNDS), ("us", 1000, BOUNDS), ("ms", 1_000_000, (*BOUNDS, 2000))):
        shares = {}
        for bound in bounds:
            upto = int(latencies.search_sorted(bound * scale, side="left"))
            shares[str(bound)] = _share(upto - below, total, 0.01)
            below = upto
        out[f"latency_{unit}"] = shares
    out["latency_ms"][">=2000"] = _share(latencies.len() - below, total, 0.01)
    return out


def batch_shares(report: Report) -> dict[str, float]:
    # Requests are submitted and completed one by one: fio's bucket of 1 to 4.
    names = ("0", "4", "8", "16", "32", "64", ">=64")
    return {name: 100.0 if name == "4" and report.log.height else 0.0 for name in names}


def group_bandwidths(rows: Sequence[Report]) -> dict[tuple[int, int], float]:
    """Bytes a second of each group and direction."""
    import polars

    sizes: dict[tuple[int, int], int] = {}
    times: dict[tuple[int, int], int] = {}
    for report in rows:
        for op in range(3):
            log = report.log.filter(polars.col("op") == op)
            key = report.job.group, op
            if log.height:
                sizes[key] = sizes.get(key, 0) + int(log["bytes"].sum())
                times[key] = max(times.get(key, 0), run_time_ns(report))
    return {key: sizes[key] / (times[key] / 1e9) for key in sizes if times[key]}
