"""The fits of halves: each drive to what its maker publishes and every other job that was measured, and to the other
jobs (drives/), and the sweep that plays each job on the drive that has not seen it (halves.toml). From the root of the
repository: `python studies/products/halves.py [DRIVE …]`; twenty seconds a drive. Channels, dies and buses are given
(facts/), the link where it is public, and the buffer, which no job tells; how many planes of a die read by themselves
is looked for."""

from __future__ import annotations

import csv
import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ssdlab import devices

HERE = Path("studies/products")
CAPACITY = {
    "pe8110": "960GB", "pm9a3": "960GB", "p5520": "1.92TB", "7450-pro": "960GB", "7450-max": "800GB", "wd-dc": "960GB",
    "cm7-r": "3.84TB", "pm981a": "256GB", "p3700": "2TB", "s3700": "800GB", "pm963": "1.92TB",
}  # fmt: skip
"""Logical: that of the part, or assumed where the source does not give it."""
GIVEN = ("geometry.channels", "geometry.chips", "bus.bandwidth", "host.link_bandwidth")
SPARE = {"7450-max": "ftl.over_provisioning=0.2..0.374"}
"""Of powers of two over the capacity: the most where nothing else takes room, the least where parity and spare blocks
take a fifteenth (of the MAX an eighth)."""
SLC = ("slc.t_prog=50us..1ms", "slc.t_bers=1ms..20ms")
OF_ALL = ("chip.t_read=40us..75us", "host.t_submit+host.t_complete=4us..14us")
"""What senses of 3D TLC and a host of today take (assumed): narrower than where nothing is known."""
SEEDS = (1, 2, 3)


def jobs(drive: str) -> tuple[tuple[devices.MeasuredJob, ...], tuple[devices.MeasuredJob, ...]]:
    """What was measured of a drive, and what its maker publishes."""
    sheet = HERE / "measured" / f"{drive}-sheet.csv"
    return devices.read(HERE / "measured" / f"{drive}.csv"), devices.read(sheet) if sheet.exists() else ()


def halves(measured: tuple[devices.MeasuredJob, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Every other job, in the order of the file."""
    names = [job.name for job in measured]
    return tuple(names[::2]), tuple(names[1::2])


def fit(drive: str, held: tuple[str, ...]) -> devices.Fit:
    """A drive fitted to its sheet and to the jobs that are not held out."""
    facts = HERE / "facts" / f"{drive}.toml"
    document = tomllib.loads(facts.read_text())
    pairs = [(key, document.get(key.split(".")[0], {}).get(key.split(".")[1])) for key in GIVEN]
    measured, sheet = jobs(drive)
    steady = any(job.state == "steady" for job in (*measured, *sheet))
    # Collection beside a mix begins only after a million requests: the fit plays it without, the sweep with it.
    measured = tuple(job._replace(state="written") if job.direction == "mixed" else job for job in measured)
    more = [SPARE.get(drive, "ftl.over_provisioning=0.07..0.145")] if steady else []
    if document["base"] == "datacenter.toml":
        more += OF_ALL
    return devices.fit(
        (*measured, *sheet),
        facts,
        settings=[*(f"{key}={value}" for key, value in pairs if value), "buffer.size=64MiB"],
        capacity=CAPACITY[drive],
        more=[*more, *SLC] if "slc" in document else more,
        hold_out=held,
        budget=250,
        requests=4000,
        seeds=1,
        profiles=False,
        robust=True,
        threads=int(os.environ.get("THREADS", "2")),
    )


def refit(drive: str) -> None:
    """Both fits of a drive: its device files, and what each leaves open of the jobs that it has not seen."""
    rows = []
    for half, held in zip("ab", halves(jobs(drive)[0]), strict=True):
        found = fit(drive, held)
        (HERE / "drives" / f"{drive}-without-{half}.toml").write_text(devices.device_toml(found))
        print(f"{drive} without {', '.join(held)}: chi-squared {found.chi2:.1f}, {found.runs} runs", flush=True)
        # Percentiles that no fit counts have no interval.
        rows += [
            (each.job.name, each.figure.op, each.figure.metric, f"{each.figure.value:.6g}", f"{each.spread:.4g}")
            for each in found.figures
            if not each.fitted and each.spread is not None
        ]
    with (HERE / "drives" / f"{drive}.csv").open("w", newline="") as file:
        header = ("job", "op", "metric", "measured", "left_open")
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def played(job: devices.MeasuredJob, phased: bool) -> dict[str, Any]:
    """How a job is played: its load, how long, and what the drive holds; on a drive with ``phased`` erases or not."""
    size = job.options["bs"].replace("k", "KiB")
    load: dict[str, Any] = {"workload.rw": job.options["rw"], "workload.bs": size, "workload.align": size}
    if job.direction == "mixed":
        load["workload.read_ratio"] = f"{job.options.get('rwmixread', '50')}%"
    if "rate_iops" in job.options:
        rate = sum(int(part) for part in job.options["rate_iops"].split(","))
        load |= {"workload.rate_iops": rate, "workload.arrivals": "fixed"}
        return load | {"warmup": 10_000, "requests": 60_000, "precondition": "closed-form"}
    load["workload.iodepth"] = job.depth
    if job.overwriting:
        # Blocks of a twelfth of the pages, erased in as much less time, reach the steady state twelve times as soon.
        short = {"geometry.pages": 96, "gc.start": 2, "gc.stop": 3}
        erase = {"chip.t_erase_pulse": "284us", "chip.t_erase_verify": "8us"} if phased else {"chip.t_bers": "292us"}
        return load | {"warmup": 450_000, "requests": 600_000, "precondition": "closed-form"} | short | erase
    if job.state == "steady":
        load["precondition"] = "closed-form"
    # Writes fill the buffer first.
    buffer = 0 if job.direction == "read" else (128 << 20) // job.block
    warmup = max(1000, 10 * job.depth) + buffer
    return load | {"warmup": warmup, "requests": warmup + max(5000, 40 * job.depth)}


WAITING = {"schedule.suspend_program": "none", "schedule.suspend_erase": "none"}
"""What makes reads of the drive wait for programs and erases."""


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each job on the drive that has not seen it, by its label; mixes at a rate as well where nothing makes way."""
    for drive in CAPACITY:
        measured, _ = jobs(drive)
        for half, held in zip("ab", halves(measured), strict=True):
            for job in measured:
                if job.name in held:
                    device = HERE / "drives" / f"{drive}-without-{half}.toml"
                    phased = "erase_loops" in device.read_text()
                    yield f"{drive} {job.name}", {"device": str(device), **played(job, phased)}
                    if "rate_iops" in job.options:
                        yield f"{drive} {job.name}, waiting", {"device": str(device), **played(job, phased), **WAITING}


def sweep() -> None:
    """Writes halves.toml."""

    def text(value: object) -> str:
        return f'"{value}"' if isinstance(value, str) else str(value)

    rows = [
        f'"{label}" = {{ ' + ", ".join(f'"{key}" = {text(value)}' for key, value in case.items()) + " }"
        for label, case in cases()
    ]
    lines = [
        "# Written by halves.py.",
        'about = "Eleven more drives: each job on the drive fitted to its sheet and to the other half of its jobs"',
        'statistics = ["host.*.iops", "host.*.latency_ns.*", "ftl.waf"]',
        "\n[run]",
        'workload = "random-read-closed"',
        "\n[quick]",
        'job = ["pm981a read-4k-8"]',
        "seed = [1]",
        "\n[axes]",
        f"seed = {list(SEEDS)}",
        "\n[axes.job]",
        *rows,
    ]
    (HERE / "halves.toml").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    for each in sys.argv[1:] or CAPACITY:
        refit(each)
    sweep()
