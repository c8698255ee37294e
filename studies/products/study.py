"""Drives that were bought: what is measured of each claim, the table of the README, and the figure."""

from __future__ import annotations

import tomllib
from pathlib import Path

from matplotlib.figure import Figure

from ssdlab.common.confidence import mean_and_half_width
from ssdlab.common.numbers import number_text, with_interval
from ssdlab.study.claims import Lever, Measured, Proof, Tables, fitted, key, measures, predicted

DRIVES = {"xg6": "Kioxia XG6", "micron-9200": "Micron 9200", "micron-7500": "7500", "micron-7600": "7600 MAX"}
UNSEEN: dict[str, dict[str, tuple[str, ...]]] = {
    "xg6": {"a": ("read-128k-32", "write-128k-32"), "b": ("read-4k-32",)},
    "micron-9200": {
        "a": ("read-128k-32", "read-4k-256", "write-4k-256"),
        "b": ("read-4k-1", "write-128k-32", "write-4k-1"),
    },
    "micron-7500": {"a": ("read-128k-32", "write-128k-32"), "b": ("read-4k-256", "write-4k-256")},
    "micron-7600": {"a": ("read-128k-32", "write-128k-32"), "b": ("read-4k-512", "write-4k-256")},
}
"""The jobs that each fit (drives/) has not seen, as `ssdlab fit-device --folds 2` deals them."""
BRIEF = {drive: {"seed": [1]} for drive in DRIVES} | {"nines": {"requests": 20_000, "seed": [1]}}
"""For the levers of what is predicted: ssdlab.study.levers."""
LEVERS = {"read-4k": key("chip.t_read"), "read-128k": key("host.link_bandwidth"), "write": key("host.link_bandwidth")}
FIGURES = {"iops": "iops", "mean": "latency_ns.mean", "p50": "latency_ns.p50", "p99": "latency_ns.p99"}


def _claims() -> list[tuple[str, str, str, str, float]]:
    """The claims of single figures: id, drive, job, metric, published value."""
    document = tomllib.loads((Path(__file__).parent / "claims.toml").read_text(encoding="utf-8"))
    rows = [(claim["id"], *claim["id"].split(".")[1:], claim["published"]) for claim in document["claims"]]
    return [row for row in rows if len(row) == 5]


def _lever(drive: str, job: str) -> Lever:
    """What a job of a drive rests on."""
    own = {
        ("micron-9200", "write-4k-1"): key("host.t_complete"),
        ("xg6", "write-128k-32"): key("chip.t_prog"),
        ("micron-7600", "write-128k-32"): key("chip.t_prog"),
        ("micron-7600", "read-4k-512"): key("host.t_firmware"),
        ("micron-7500", "read-4k-256"): key("host.t_firmware"),
    }
    kind = next(kind for kind in LEVERS if job.startswith(kind))
    steady = key("ftl.over_provisioning") if job == "write-4k-256" else LEVERS[kind]
    return own.get((drive, job), steady)


def _proofs() -> dict[str, Proof]:
    return {id: _proof(drive, job, metric) for id, drive, job, metric, _ in _claims()}


def _proof(drive: str, job: str, metric: str) -> Proof:
    """Facts that were chosen with a figure in view make it a fitted one."""
    if metric != "p99" and (drive, job) == ("xg6", "write-128k-32"):
        return fitted("studies/products/facts/xg6.toml", "chip.t_prog")
    if metric != "p99" and (job == "read-128k-32" or (drive, job) == ("micron-9200", "write-128k-32")):
        return fitted(f"studies/products/facts/{drive}.toml", "host.link_bandwidth")
    return predicted(_lever(drive, job))


def measured(tables: Tables, drive: str, job: str, metric: str, fit: str) -> Measured:
    """A figure under one of the fits of a drive."""
    op = job.split("-")[0]
    column = f"host.{op}.{FIGURES[metric]}"
    scale = 1.0 if metric == "iops" else 1e3
    rows = tables[drive].filter(fit=fit, job=job).sort("seed")
    return Measured(*mean_and_half_width([float(value) / scale for value in rows[column].to_list()]))


def unseen(drive: str, job: str) -> str:
    """The fit that has not seen a job."""
    return next(fit for fit, jobs in UNSEEN[drive].items() if job in jobs)


@measures(_proofs())
def _held_out(tables: Tables) -> dict[str, Measured]:
    return {
        id: measured(tables, drive, job, metric, unseen(drive, job))._replace(note=f"fit {unseen(drive, job)}")
        for id, drive, job, metric, _ in _claims()
    }


@measures({"products.micron-7500.nines": predicted(key("chip.t_read"))})
def _nines(tables: Tables) -> dict[str, Measured]:
    values = tables["nines"].sort("seed")["host.read.latency_ns.p99_9999"].to_list()
    return {"products.micron-7500.nines": Measured(*mean_and_half_width([float(value) / 1e6 for value in values]))}


def findings(tables: Tables) -> dict[str, str]:
    """Every figure: measured, under the fit that has not seen its job, and under the fit to all."""
    lines = [
        "| drive | job | figure | measured | not seen | error | fitted | error |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for _, drive, job, metric, published in _claims():
        cells = []
        for fit in (unseen(drive, job), "all"):
            found = measured(tables, drive, job, metric, fit)
            assert found.value is not None
            cells += [with_interval(found.value, found.ci95), f"{100 * (found.value / published - 1):+.1f} %"]
        name = metric if metric == "iops" else f"{metric} [us]"
        shown = number_text(float(f"{published:.5g}"))
        lines.append(f"| {DRIVES[drive]} | {job} | {name} | {shown} | {' | '.join(cells)} |")
    return {"jobs": "\n".join(lines)}


def figures(tables: Tables) -> dict[str, Figure]:
    """jobs: errors of every figure, under the fit that has not seen it and under the fit to all."""
    rows = [
        (f"{DRIVES[drive]}: {job} {metric}", fit, found.value / published, (found.ci95 or 0.0) / published)
        for _, drive, job, metric, published in _claims()
        for fit in (unseen(drive, job), "all")
        if (found := measured(tables, drive, job, metric, fit)).value is not None
    ]
    names = list(dict.fromkeys(row[0] for row in rows))
    figure = Figure(figsize=(8, 7.5), layout="constrained")
    axes = figure.subplots()
    for label, chosen, offset in (("its job not seen", ("a", "b"), -0.15), ("fitted to all", ("all",), 0.15)):
        mine = [row for row in rows if row[1] in chosen]
        axes.errorbar(
            [row[2] for row in mine],
            [names.index(row[0]) + offset for row in mine],
            xerr=[row[3] for row in mine],
            fmt="o",
            markersize=4,
            label=label,
        )
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.axvspan(0.9, 1.1, color="grey", alpha=0.2)
    axes.set_xscale("log")
    axes.set_xticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
    axes.minorticks_off()
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("simulated over measured (grey: 10 %)")
    axes.legend(loc="lower right")
    return {"jobs": figure}
