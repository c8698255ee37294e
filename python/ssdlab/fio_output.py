"""Results in fio's layouts: its text, and the JSON of ``--output-format=json``.

Everything that is measured comes from the request log, exactly, job by job and direction by direction: ``clat`` and
``lat`` are the time from a request's arrival to its completion, ``slat`` has no samples. What a simulated drive has not
(CPU time, context switches, page faults, merges) is 0, as fio prints it where there is none.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import __version__
from ._core import InputError
from .fio import DEFAULT_PERCENTILES, Job, JobFile

if TYPE_CHECKING:
    import polars

    from .result import Result

VERSION = f"fio-3.33-ssdlab-{__version__}"
"""The release of fio whose layouts these are."""
DIRECTIONS = ("read", "write", "trim")
WINDOW_NS = 500_000_000
"""fio samples bandwidth and IOPS so often."""
BOUNDS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
DEPTHS = (1, 2, 4, 8, 16, 32, 64)


class Report(NamedTuple):
    """What fio tells about a job, or about the jobs of a group together."""

    job: Job
    members: int
    """Jobs that are told of together."""
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
    """What there is to tell, a list a run, without the requests of the warm-up. Raises :class:`ssdlab.InputError` where
    a run kept no request log."""
    import polars

    found: list[list[Report]] = []
    for result, members in zip(results, jobs, strict=True):
        log = _counted(result)
        begin = int(log["arrival_ns"].min()) if result.manifest["warmup"] and log.height else 0  # type: ignore[arg-type]
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


def _counted(result: Result) -> polars.DataFrame:
    """The request log behind the warm-up."""
    import polars

    return result.requests.filter(polars.col("request") >= result.manifest["warmup"])


# Numbers


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
            "mean": _figure(ordered.mean()),
            "stddev": _figure(deviation),
        }
        if percentiles:
            ranks = {p: max(0, math.ceil(p / 100 * count - 1e-9) - 1) for p in percentiles}
            out["percentile"] = {f"{p:.6f}": int(ordered[rank]) for p, rank in ranks.items()}
    return out


def _figure(value: Any) -> float:
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
    return min(values), max(values), _figure(mean), _figure(math.sqrt(variance))


def _elapsed(report: Report) -> int:
    """From the start of the measurement to the last completion [ns]."""
    return max(0, int(report.log["finish_ns"].max()) - report.start_ns) if report.log.height else 0  # type: ignore[arg-type]


def _direction(report: Report, op: int, group_bandwidth: float) -> dict[str, Any]:
    import polars

    log = report.log.filter(polars.col("op") == op)
    elapsed = _elapsed(report) if log.height else 0
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
        "iops": _figure(log.height / seconds if seconds else 0.0),
        "runtime": max(1, round(elapsed / 1e6)) if elapsed else 0,
        "total_ios": log.height,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": _latency(latencies.head(0)),
        "clat_ns": _latency(latencies, report.job.percentiles),
        "lat_ns": _latency(latencies),
        "bw_min": int(bw_min),
        "bw_max": int(bw_max),
        "bw_agg": _figure(min(100.0, 100 * bw_mean * 1024 / group_bandwidth) if group_bandwidth else 0.0),
        "bw_mean": bw_mean,
        "bw_dev": bw_dev,
        "bw_samples": len(bandwidths),
        "iops_min": int(iops_min),
        "iops_max": int(iops_max),
        "iops_mean": iops_mean,
        "iops_stddev": iops_dev,
        "iops_samples": len(rates),
    }


def _depths(report: Report) -> dict[str, float]:
    """The share of requests that found so many of their job under way, themselves included."""
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
    return max(least, _figure(100 * count / total)) if count else 0.0


def _buckets(report: Report) -> dict[str, dict[str, float]]:
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


def _batches(report: Report) -> dict[str, float]:
    # Requests are submitted and completed one by one: fio's bucket of 1 to 4.
    names = ("0", "4", "8", "16", "32", "64", ">=64")
    return {name: 100.0 if name == "4" and report.log.height else 0.0 for name in names}


def _group_bandwidths(rows: Sequence[Report]) -> dict[tuple[int, int], float]:
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
                times[key] = max(times.get(key, 0), _elapsed(report))
    return {key: sizes[key] / (times[key] / 1e9) for key in sizes if times[key]}


# The JSON


def to_json(results: Sequence[Result], imported: JobFile | None = None) -> str:
    """The results as ``fio --output-format=json`` prints them."""
    found = reports(results, _jobs(results, imported))
    bandwidths = _group_bandwidths([report for rows in found for report in rows])
    now = time.time()
    document: dict[str, Any] = {
        "fio version": VERSION,
        "timestamp": int(now),
        "timestamp_ms": int(now * 1000),
        "time": time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(now)),
    }
    if imported is not None and imported.options:
        document["global options"] = imported.options
    document["jobs"] = [_job(report, bandwidths) for rows in found for report in rows]
    document["disk_util"] = _disk(results)
    return json.dumps(document, indent=2) + "\n"


def _job(report: Report, bandwidths: dict[tuple[int, int], float]) -> dict[str, Any]:
    job = report.job
    elapsed = _elapsed(report)
    out: dict[str, Any] = {
        "jobname": job.name,
        "groupid": job.group,
        "error": 0,
        "eta": 0,
        "elapsed": max(1, math.ceil(elapsed / 1e9)),
        "job options": job.options,
    }
    for op, name in enumerate(DIRECTIONS):
        out[name] = _direction(report, op, bandwidths.get((job.group, op), 0.0))
    return out | {
        "sync": {"total_ios": 0, "lat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}},
        "job_runtime": round(elapsed / 1e6) * report.members,
        "usr_cpu": 0.0,
        "sys_cpu": 0.0,
        "ctx": 0,
        "majf": 0,
        "minf": 0,
        "iodepth_level": _depths(report),
        "iodepth_submit": _batches(report),
        "iodepth_complete": _batches(report),
        **_buckets(report),
        "latency_depth": job.depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
    }


def _disk(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The drive: requests, their times in ms, and the share of time with a request in it; of several runs together."""
    import polars

    total = sum(result.host.elapsed_s for result in results)
    util = sum(float(result.usage["host"]) * result.host.elapsed_s for result in results)
    logs = [_counted(result) for result in results]
    ticks = [sum(_ticks(log.filter(polars.col("op") == op)) for log in logs) for op in (0, 1)]
    return [
        {
            "name": results[0].manifest.device.name,
            "read_ios": sum(result.host.read.requests for result in results),
            "write_ios": sum(result.host.write.requests for result in results),
            "read_merges": 0,
            "write_merges": 0,
            "read_ticks": ticks[0],
            "write_ticks": ticks[1],
            "in_queue": sum(ticks),
            "util": _figure(util / total if total else 0.0),
        }
    ]


def _ticks(log: polars.DataFrame) -> int:
    return round(int(log["latency_ns"].sum()) / 1e6)


def _jobs(results: Sequence[Result], imported: JobFile | None) -> Sequence[tuple[Job, ...]]:
    """The jobs of each run; those of a run that is not fio's are a group. Raises :class:`ssdlab.InputError` where the
    results are not one a part."""
    wanted = len(imported.parts) if imported is not None else max(1, len(results))
    if len(results) != wanted:
        raise InputError(f"results: {len(results)} of {wanted} runs\n  help: give the result of each part, in order")
    return imported.jobs if imported is not None else [jobs_of(result, n) for n, result in enumerate(results)]


# The text


def to_text(results: Sequence[Result], imported: JobFile | None = None) -> str:
    """The results as fio prints them."""
    found = reports(results, _jobs(results, imported))
    bandwidths = _group_bandwidths([report for rows in found for report in rows])
    lines = []
    for rows in found:
        for report in rows:
            lines.append(f"{report.job.name}: (g={report.job.group}): {report.job.head}".rstrip(": "))
            lines += ["..."] if report.members > 1 else []
    count = sum(report.members for rows in found for report in rows)
    lines += [VERSION, f"Starting {count} process{'es' if count > 1 else ''}", ""]
    for rows in found:
        for report in rows:
            lines += _text_of(report, _job(report, bandwidths))
    for group in dict.fromkeys(report.job.group for rows in found for report in rows):
        mine = [report for rows in found for report in rows if report.job.group == group]
        lines += ["", f"Run status group {group} (all jobs):", *_text_of_group(mine, bandwidths, group)]
    disk = _disk(results)[0]
    lines += [
        "",
        "Disk stats (read/write):",
        f"  {disk['name']}: ios={disk['read_ios']}/{disk['write_ios']}, merge=0/0, "
        f"ticks={disk['read_ticks']}/{disk['write_ticks']}, in_queue={disk['in_queue']}, util={disk['util']:.2f}%",
    ]
    return "\n".join(lines) + "\n"


def _text_of(report: Report, data: dict[str, Any]) -> Iterator[str]:
    job = report.job
    now = time.strftime("%a %b %e %H:%M:%S %Y")
    yield f"{job.name}: (groupid={job.group}, jobs={report.members}): err= 0: pid=0: {now}"
    for name in DIRECTIONS:
        if data[name]["total_ios"]:
            yield from _text_of_direction(name, data[name])
    for unit, label in (("ns", "nsec"), ("us", "usec"), ("ms", "msec")):
        shares = [f"{bound}={share:.2f}%" for bound, share in data[f"latency_{unit}"].items() if share > 0]
        for first in range(0, len(shares), 5):
            yield f"  lat ({label})   : " + ", ".join(shares[first : first + 5])
    yield "  cpu          : usr=0.00%, sys=0.00%, ctx=0, majf=0, minf=0"
    for label, key in (("IO depths ", "level"), ("   submit ", "submit"), ("   complete", "complete")):
        shares = [f"{bound}={share:.1f}%" for bound, share in data[f"iodepth_{key}"].items()]
        yield f"  {label:<12} : " + ", ".join(shares)
    totals = ",".join(str(data[name]["total_ios"]) for name in DIRECTIONS)
    yield f"     issued rwts: total={totals},0 short=0,0,0,0 dropped=0,0,0,0"
    yield f"     latency   : target=0, window=0, percentile=100.00%, depth={job.depth}"


def _text_of_direction(name: str, data: dict[str, Any]) -> Iterator[str]:
    bandwidth = data["bw_bytes"]
    yield (
        f"  {name}: IOPS={_short(int(data['iops']), 1000)}, BW={_short(bandwidth, 1024, 'B/s')} "
        f"({_short(bandwidth, 1000, 'B/s')})({_short(data['io_bytes'], 1024, 'B')}/{data['runtime']}msec)"
    )
    for label, key in (("clat", "clat_ns"), (" lat", "lat_ns")):
        part = data[key]
        unit, scale = _unit(part["min"], part["max"])
        least, most = (_short(int(part[end] / scale), 1000, digits=6) for end in ("min", "max"))
        yield (
            f"    {label} ({unit}): min={least}, max={most}, avg={part['mean'] / scale:5.02f}, "
            f"stdev={part['stddev'] / scale:5.02f}"
        )
    yield from _text_of_percentiles(data["clat_ns"]["percentile"])
    if data["bw_samples"]:
        yield (
            f"   bw (  KiB/s): min={data['bw_min']}, max={data['bw_max']}, per={data['bw_agg']:.2f}%, "
            f"avg={data['bw_mean']:.2f}, stdev={data['bw_dev']:.2f}, samples={data['bw_samples']}"
        )
        yield (
            f"   iops        : min={data['iops_min']}, max={data['iops_max']}, avg={data['iops_mean']:.2f}, "
            f"stdev={data['iops_stddev']:.2f}, samples={data['iops_samples']}"
        )


def _text_of_percentiles(values: dict[str, int]) -> Iterator[str]:
    if not values:
        return
    unit, scale = _unit(min(values.values()), max(values.values()), percentiles=True)
    shown = {float(share): -(-value // scale) for share, value in values.items()}
    width = max(5, len(str(max(shown.values()))))
    cells = [f"{share:5.2f}th=[{value:{width}d}]" for share, value in shown.items()]
    yield f"    clat percentiles ({unit}):"
    a_line = max(1, 73 // (12 + width))
    for first in range(0, len(cells), a_line):
        last = first + a_line >= len(cells)
        yield "     | " + ", ".join(cells[first : first + a_line]) + ("" if last else ",")


def _text_of_group(rows: list[Report], bandwidths: dict[tuple[int, int], float], group: int) -> Iterator[str]:
    import polars

    for op, label in enumerate(("   READ", "  WRITE", "   TRIM")):
        mine = [(report, report.log.filter(polars.col("op") == op)) for report in rows]
        mine = [(report, log) for report, log in mine if log.height]
        if not mine:
            continue
        each = [int(log["bytes"].sum()) / (_elapsed(report) / 1e9) for report, log in mine]
        whole = bandwidths[(group, op)]
        size = sum(int(log["bytes"].sum()) for _, log in mine)
        times = [max(1, round(_elapsed(report) / 1e6)) for report, _ in mine]
        low, high = min(each), max(each)
        yield (
            f"{label}: bw={_short(int(whole), 1024, 'B/s')} ({_short(int(whole), 1000, 'B/s')}), "
            f"{_short(int(low), 1024, 'B/s')}-{_short(int(high), 1024, 'B/s')} "
            f"({_short(int(low), 1000, 'B/s')}-{_short(int(high), 1000, 'B/s')}), "
            f"io={_short(size, 1024, 'B')} ({_short(size, 1000, 'B')}), run={min(times)}-{max(times)}msec"
        )


def _unit(least: int, most: int, percentiles: bool = False) -> tuple[str, int]:
    """The unit in which fio shows such a range of ns."""
    if least > 2_000_000 and most > 99_999_999:
        return "msec", 1_000_000
    return ("usec", 1000) if least > 2000 and most > 99_999 else ("nsec", 1)


def _short(value: int, base: int, unit: str = "", digits: int = 4) -> str:
    """A number in so many digits, with fio's prefixes: ``13.2k``, ``97.7GiB/s``."""
    prefixes = ("", "Ki", "Mi", "Gi", "Ti", "Pi") if base == 1024 else ("", "k", "M", "G", "T", "P")
    scaled, power = float(value), 0
    while len(str(int(scaled))) > digits and power < 5:
        scaled /= base
        power += 1
    if power == 0:
        return f"{value}{unit}"
    decimals = max(0, digits - len(str(int(scaled))) - 1)
    return f"{scaled:.{decimals}f}{prefixes[power]}{unit}"


def block(size: int) -> str:
    """A block's size as in fio's line about a job."""
    return _short(size, 1024, "B")


__all__ = ["DEFAULT_PERCENTILES", "VERSION", "jobs_of", "to_json", "to_text"]
