"""Results in fio's layouts: its text, and the JSON of ``--output-format=json`` and ``json+``.

Everything that is measured comes from the request log, exactly, job by job and direction by direction: ``clat`` and
``lat`` are the time from a request's arrival to its completion, ``slat`` has no samples. What a simulated drive has not
(CPU time, context switches, page faults, merges) is 0, as fio prints it where there is none.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ssdlab._core import InputError
from ssdlab._version import __version__
from ssdlab.foreign.fio.job import DEFAULT_PERCENTILES, Job, JobFile
from ssdlab.foreign.fio.measures import (
    Report,
    batch_shares,
    depth_shares,
    direction_figures,
    group_bandwidths,
    jobs_of,
    latency_buckets,
    measured_log,
    reports,
    rounded,
    run_time_ns,
)
from ssdlab.foreign.fio.numbers import prefixed, range_unit

if TYPE_CHECKING:
    import polars

    from ssdlab.runs.result import Result

VERSION = f"fio-3.33-ssdlab-{__version__}"
"""The release of fio whose layouts these are."""
DIRECTIONS = ("read", "write", "trim")


# Numbers


# The JSON


def to_json(results: Sequence[Result], imported: JobFile | None = None, *, bins: bool = False) -> str:
    """The results as ``fio --output-format=json`` prints them; with ``bins`` as ``json+`` does: with the number of
    requests in each of fio's bins of latencies."""
    found = reports(results, _jobs(results, imported))
    bandwidths = group_bandwidths([report for rows in found for report in rows])
    now = time.time()
    document: dict[str, Any] = {
        "fio version": VERSION,
        "timestamp": int(now),
        "timestamp_ms": int(now * 1000),
        "time": time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(now)),
    }
    if imported is not None and imported.options:
        document["global options"] = imported.options
    document["jobs"] = [_job(report, bandwidths, bins) for rows in found for report in rows]
    document["disk_util"] = _disk(results)
    return json.dumps(document, indent=2) + "\n"


def _job(report: Report, bandwidths: dict[tuple[int, int], float], bins: bool = False) -> dict[str, Any]:
    job = report.job
    elapsed = run_time_ns(report)
    out: dict[str, Any] = {
        "jobname": job.name,
        "groupid": job.group,
        "error": 0,
        "eta": 0,
        "elapsed": max(1, math.ceil(elapsed / 1e9)),
        "job options": job.options,
    }
    for op, name in enumerate(DIRECTIONS):
        out[name] = direction_figures(report, op, bandwidths.get((job.group, op), 0.0), bins)
    return out | {
        "sync": {"total_ios": 0, "lat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}},
        "job_runtime": round(elapsed / 1e6) * report.members,
        "usr_cpu": 0.0,
        "sys_cpu": 0.0,
        "ctx": 0,
        "majf": 0,
        "minf": 0,
        "iodepth_level": depth_shares(report),
        "iodepth_submit": batch_shares(report),
        "iodepth_complete": batch_shares(report),
        **latency_buckets(report),
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
    logs = [measured_log(result) for result in results]
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
            "util": rounded(util / total if total else 0.0),
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
    bandwidths = group_bandwidths([report for rows in found for report in rows])
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
        f"  {name}: IOPS={prefixed(int(data['iops']), 1000)}, BW={prefixed(bandwidth, 1024, 'B/s')} "
        f"({prefixed(bandwidth, 1000, 'B/s')})({prefixed(data['io_bytes'], 1024, 'B')}/{data['runtime']}msec)"
    )
    for label, key in (("clat", "clat_ns"), (" lat", "lat_ns")):
        part = data[key]
        unit, scale = range_unit(part["min"], part["max"])
        least, most = (prefixed(int(part[end] / scale), 1000, digits=6) for end in ("min", "max"))
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
    unit, scale = range_unit(min(values.values()), max(values.values()), percentiles=True)
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
        each = [int(log["bytes"].sum()) / (run_time_ns(report) / 1e9) for report, log in mine]
        whole = bandwidths[(group, op)]
        size = sum(int(log["bytes"].sum()) for _, log in mine)
        times = [max(1, round(run_time_ns(report) / 1e6)) for report, _ in mine]
        low, high = min(each), max(each)
        yield (
            f"{label}: bw={prefixed(int(whole), 1024, 'B/s')} ({prefixed(int(whole), 1000, 'B/s')}), "
            f"{prefixed(int(low), 1024, 'B/s')}-{prefixed(int(high), 1024, 'B/s')} "
            f"({prefixed(int(low), 1000, 'B/s')}-{prefixed(int(high), 1000, 'B/s')}), "
            f"io={prefixed(size, 1024, 'B')} ({prefixed(size, 1000, 'B')}), run={min(times)}-{max(times)}msec"
        )


__all__ = ["DEFAULT_PERCENTILES", "VERSION", "jobs_of", "to_json", "to_text"]
