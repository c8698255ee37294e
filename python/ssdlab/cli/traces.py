"""Commands for traces."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ssdlab.cli.base import (
    Whole,
    case_progress,
    commands,
    echo,
    echo_error,
    suggest,
)

if TYPE_CHECKING:
    from ssdlab.trace.fit.check import Agreement
    from ssdlab.trace.fit.properties import Property
    from ssdlab.trace.reading import Converted, Inspection


EXPLAINED = (
    "radius: mean distance from the middle, in deviations of what volumes are compared by",
    "pp: percentage points; x 3: three times as large or as small; KS: largest gap between distributions",
)
"""What the tables of volumes mean."""
MISSED = 1
"""Exit status of a check that found a difference."""


@commands.group()
def trace() -> None:
    """Describe, convert, cut and imitate block traces."""


def _reading(command: Callable[..., None]) -> Callable[..., None]:
    """The options of everything that reads traces."""
    for option in (
        click.option(
            "--sort-window", type=Whole(0), metavar="N", help="Reorder lines that stand up to N requests too late."
        ),
        click.option("--skip-bad-lines", type=Whole(0), default=0, metavar="N", help="Leave out up to N bad lines."),
        click.option("--format", metavar="FORMAT", help="Format of the traces, if it cannot be recognized."),
    ):
        command = option(command)
    return command


@trace.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE…")
@_reading
@click.option(
    "--page",
    type=Whole(1),
    default=4096,
    show_default=True,
    metavar="BYTES",
    help="Page size that footprints are counted in.",
)
@click.option("--plot", metavar="FILE", help="Draw it (PNG, PDF or SVG; needs matplotlib).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(
    traces: tuple[str, ...],
    format: str | None,
    skip_bad_lines: int,
    sort_window: int | None,
    page: int,
    plot: str | None,
    as_json: bool,
) -> None:
    """What is in a trace: mix, sizes, gaps, footprint, sequentiality, skew. Several are merged by time."""
    from ssdlab import trace as module
    from ssdlab.common import tables
    from ssdlab.common.canvas import check_figure
    from ssdlab.show import traces as shown

    check_figure("--plot", plot)
    readings = _echo_reading(traces, format, skip_bad_lines, err=as_json)
    frame = module.read(traces, format=format, skip_bad_lines=skip_bad_lines, sort_window=sort_window)
    found = module.info(frame, page)
    if as_json:
        import json

        print(json.dumps({**found, "read_as": [of._asdict() for of in readings]}, indent=2))
    else:
        from ssdlab.show.verdicts import of_trace as sentence

        name = ", ".join(os.path.basename(path) for path in traces)
        tables.show(shown.of_trace(name, found), verdict=sentence(found))
        suggest(f"ssdlab run --workload {traces[0]} --replay timed:x10: ten times as fast as it was recorded")
    if plot is not None:
        module.plot(frame, plot, ", ".join(os.path.basename(path) for path in traces), page)
        echo(f"wrote {plot}", err=as_json)


def _echo_reading(traces: tuple[str, ...], format: str | None, skip_bad_lines: int, err: bool) -> list[Inspection]:
    """Tells what traces are read as, and what looks wrong about it: the first lines of what describes a trace."""
    from ssdlab import trace as module

    found = module.inspect(traces, format=format, skip_bad_lines=skip_bad_lines)
    for of in found:
        echo(f"{of.trace}: {of.read_as}", err=err)
        for doubt in of.doubts:
            echo(f"  looks wrong: {doubt}", err=err)
    return found


def _bounds(command: Callable[..., None]) -> Callable[..., None]:
    """The bounds of a part of a trace."""
    for option in (
        click.option("--range", nargs=2, metavar="FROM TO", help="Requests that touch these bytes, such as 0B 1GiB."),
        click.option("--device", type=Whole(0), metavar="N", help="Requests to one device."),
        click.option("--requests", type=Whole(1), metavar="N", help="N requests at most."),
        click.option("--until", metavar="TIME", help="Requests before this time."),
        click.option("--from", "start", metavar="TIME", help="Requests from this time on, such as 10s."),
    ):
        command = option(command)
    return command


@trace.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE…")
@click.argument("out", metavar="OUT")
@click.option("--to", metavar="msr|mqsim|fio|parquet", help="Format of OUT  [default: by its ending]")
@_bounds
@_reading
def convert(traces: tuple[str, ...], out: str, to: str | None, **options: Any) -> None:
    """Write a trace in another format; several are merged by time.

    \b
    ssdlab trace convert trace.csv.gz trace.parquet
    """
    _convert(traces, out, to, options)


@trace.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE…")
@click.argument("out", metavar="OUT")
@click.option("--to", metavar="msr|mqsim|fio|parquet", help="Format of OUT  [default: by its ending]")
@_bounds
@_reading
def cut(traces: tuple[str, ...], out: str, to: str | None, **options: Any) -> None:
    """Write a part of a trace: by time, count, device or range; times count from its first request.

    \b
    ssdlab trace cut trace.csv.gz part.csv --from 10s --until 20s --device 0
    """
    if not any(options[name] is not None for name in ("start", "until", "requests", "device", "range")):
        raise click.UsageError("nothing is cut: give --from, --until, --requests, --device or --range")
    _convert(traces, out, to, options)


@trace.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE…")
@click.argument("out", metavar="DIR")
@click.option(
    "--requests",
    type=Whole(1),
    default=100_000,
    show_default=True,
    metavar="N",
    help="N requests of each volume at most, its first ones.",
)
@_reading
def split(
    traces: tuple[str, ...],
    out: str,
    requests: int,
    format: str | None,
    skip_bad_lines: int,
    sort_window: int | None,
) -> None:
    """Write each volume (device) of traces into a file of its own, in a new folder DIR; several are merged by time.

    The traces are read once. `ssdlab trace fit DIR` fits all volumes.

    \b
    ssdlab trace split io_traces.csv volumes
    """
    from ssdlab import trace as module

    reading: dict[str, Any] = {"format": format, "skip_bad_lines": skip_bad_lines, "sort_window": sort_window}
    done = module.split(traces, out, requests=requests, **reading)
    for note in done.notes:
        echo_error(note)
    losses = [f"{count:,} {name.replace('_', ' ')}" for name, count in done.counts.items() if count]
    total = f"{sum(done.volumes.values()):,} requests"
    echo(f"wrote {out}: " + ", ".join([f"{len(done.volumes):,} volumes", total, *losses]))
    suggest(f"ssdlab trace fit {out} --out twins: a generator for each volume, and clusters of similar ones")


@trace.command()
@click.argument("workload")
@click.argument("out", metavar="OUT")
@click.option("--to", metavar="msr|mqsim|fio|parquet", help="Format of OUT  [default: by its ending]")
@click.option("--requests", type=Whole(1), metavar="N", help="N requests  [default: those of the workload]")
@click.option("--seed", type=Whole(0), default=1, show_default=True, metavar="S", help="Seed of its random streams.")
def generate(workload: str, out: str, to: str | None, requests: int | None, seed: int) -> None:
    """Write the requests of a WORKLOAD (a preset or a file) as a trace: a sample to begin with.

    Requests of closed loops, which wait for others, are written as if none had to wait.

    \b
    ssdlab trace generate asplos21/usr_1 sample.csv --requests 10000
    """
    from ssdlab import trace as module

    _report_losses(module.generate(workload, out, to=to, requests=requests, seed=seed), out)


def _convert(traces: tuple[str, ...], out: str, to: str | None, options: dict[str, Any]) -> None:
    from ssdlab import trace as module

    _report_losses(module.convert(traces, out, to=to, **options), out)


def _report_losses(done: Converted, out: str) -> None:
    for note in done.notes:
        echo_error(note)
    losses = [
        f"{count:,} {name.replace('_', ' ')}" for name, count in done.counts.items() if count and name != "requests"
    ]
    echo(f"wrote {out}: " + ", ".join([f"{done.counts['requests']:,} requests", *losses]))


@trace.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE…|DIR")
@click.option(
    "--out",
    metavar="FILE|DIR",
    help="Write the generator, a workload file (.toml); of a folder of volumes, their generators into this folder.",
)
@click.option("--phases", type=Whole(2), metavar="N", help="Phases of the chain. [default: 64]")
@click.option("--check", is_flag=True, help="Replay both, at their speed and ten times as fast, and compare.")
@click.option(
    "--device", default="tlc", show_default=True, metavar="NAME|FILE", help="With --check: replay on this device."
)
@click.option(
    "--seeds",
    type=Whole(1),
    default=5,
    show_default=True,
    metavar="N",
    help="With --check: run the synthetic trace with so many seeds.",
)
@click.option("--requests", type=Whole(100), metavar="N", help="Fit the first N requests. [default: all; DIR: 100000]")
@click.option("--clusters", type=Whole(1), metavar="K", help="With DIR: K clusters. [default: what separates best]")
@click.option("--threads", type=Whole(1), metavar="N", help="With DIR: fit N volumes at once. [default: cores]")
@_reading
def fit(
    traces: tuple[str, ...],
    out: str | None,
    phases: int | None,
    requests: int | None,
    clusters: int | None,
    threads: int | None,
    **options: Any,
) -> None:
    """Fit a generator to a trace and show how near it comes; several are merged by time.

    With --check the exit status is 1 where a latency differs by more than 10 %.

    Of DIR, a folder with a trace a volume, every volume is fitted, similar volumes are put into clusters, and a fleet's
    workload is written: the twins of the clusters' middles with their shares. The same command goes on after an
    interruption; files that cannot be fitted are named and left out (exit status 1).

    \b
    ssdlab trace fit trace.csv.gz
    ssdlab trace fit trace.csv.gz --out like.toml --check
    ssdlab run --workload like.toml
    ssdlab trace fit volumes --out twins
    """
    from ssdlab._core import InputError
    from ssdlab.trace import fit as module

    folders = [path for path in traces if os.path.isdir(path)]
    if folders and len(traces) > 1:
        raise InputError(f"{folders[0]}: is a folder\n  help: give it alone; files beside one another are one trace")
    if folders:
        _fit_folder(folders[0], out, phases or module.PHASES, requests, clusters, threads, options)
        return
    if clusters is not None or threads is not None:
        raise click.UsageError("--clusters and --threads are for a folder of volumes")
    _fit_trace(traces, out, phases or module.PHASES, requests, options)


def _fit_trace(
    traces: tuple[str, ...], out: str | None, phases: int, requests: int | None, options: dict[str, Any]
) -> None:
    """Fits one trace, and shows how near its generator comes."""
    import tempfile

    from ssdlab import trace as traces_module
    from ssdlab._core import InputError
    from ssdlab.common.output import check_outputs
    from ssdlab.trace import fit as module

    check, device, seeds = (options.pop(name) for name in ("check", "device", "seeds"))
    if out is not None and not out.endswith(".toml"):
        raise InputError(f"--out {out}: is no workload file\n  help: end it in .toml")
    check_outputs({"--out": out}, (device, *traces))
    _echo_reading(traces, options["format"], options["skip_bad_lines"], err=False)
    frame = traces_module.read(traces, requests=requests, **options)
    about = "fitted to " + ", ".join(os.path.basename(path) for path in traces)
    found = module.fit(frame, about=about, phases=phases)
    for note in found.notes:
        echo_error(note)
    with tempfile.TemporaryDirectory() as folder:
        # What is not kept is tried all the same.
        path = os.path.join(folder, "fitted.toml") if out is None else out
        module.write(found, path)
        compared = (
            module.check(traces, path, device=device, seeds=seeds, requests=requests, **options) if check else None
        )
        missed = _show_fit(about, module.properties(frame, module.twin_of(path)), compared, (frame, device, seeds))
    if out is None:
        suggest("--out like.toml keeps the generator, for `ssdlab run --workload like.toml`")
    else:
        echo(f"wrote {out}")
    if missed:
        raise click.exceptions.Exit(MISSED)


def _fit_folder(
    folder: str,
    out: str | None,
    phases: int,
    requests: int | None,
    clusters: int | None,
    threads: int | None,
    options: dict[str, Any],
) -> None:
    """Fits every volume of a folder, puts them into clusters, and writes a fleet's workload."""
    from ssdlab._core import InputError
    from ssdlab.common import tables
    from ssdlab.common.frames import write_table
    from ssdlab.lives.clusters import LEAST_WRITTEN, WORKLOADS, cluster, frame_of, twin_errors, write_workloads
    from ssdlab.lives.volumes import REQUESTS, fit_volumes
    from ssdlab.show import traces as shown
    from ssdlab.show.verdicts import of_volumes as sentence

    if out is None:
        raise InputError(f"{folder}: is a folder of volumes\n  help: give --out DIR, where their generators are kept")
    if os.path.realpath(out) == os.path.realpath(folder):
        raise InputError(f"--out {out}: is the folder of the volumes\n  help: give another one")
    with case_progress("fit") as progress:
        found = fit_volumes(
            folder, out, phases=phases, requests=requests or REQUESTS, threads=threads, progress=progress, **options
        )
    if found.volumes:
        groups = cluster(found.volumes, clusters)
        about = f"{len(found.volumes):,} volumes of {os.path.basename(os.path.realpath(folder))}"
        idle = write_workloads(groups, out, about)
        errors = twin_errors(groups)
        notes = [f"{of.trace}: {note}" for of in found.volumes for note in of.notes][:20]
        notes += [
            f"{of.middle.name} ({len(of.volumes)} volumes) writes less than {LEAST_WRITTEN:.0%} of its bytes: "
            f"it is not in {WORKLOADS}, as a fleet's drives are told apart by what they write" for of in idle
        ]  # fmt: skip
        pages = [shown.of_clusters(about, groups), *shown.of_twin_errors("Error of twins", errors)]
        tables.show(pages, [*EXPLAINED, *notes], verdict=sentence(groups, errors))
        written, table = os.path.join(out, WORKLOADS), os.path.join(out, "errors.csv")
        write_table(frame_of(errors), table)
        echo(f"wrote {written}, {table} and a generator for each volume beside them")
        suggest(f'[workloads] file = "{written}" in a fleet file: `ssdlab fleet` draws drives from these')
    for missing in found.left_out:
        echo_error(f"left out {missing.trace}: {missing.error}")
    if found.left_out:
        raise click.exceptions.Exit(MISSED)


def _show_fit(
    about: str, rows: list[Property], agreements: list[Agreement] | None, where: tuple[Any, str, int]
) -> bool:
    """Shows what a fitted generator has in common with its trace, and the latencies of both where they were compared on
    a device over some seeds; whether some of these differ."""
    from ssdlab.common import tables
    from ssdlab.show import traces as shown
    from ssdlab.show import verdicts
    from ssdlab.trace import fit as module

    frame, device, seeds = where
    found_tables = [shown.of_properties(about, rows)]
    notes, missed = [], []
    if agreements is not None:
        found_tables.append(shown.of_agreements(f"latency on {device}, synthetic trace over {seeds} seeds", agreements))
        missed = module.missing(frame, agreements, device=device, seeds=seeds)
        if missed:
            found_tables.append(shown.of_missing(f"what is missing, over {seeds} seeds", missed))
            notes.append(f"{len(missed)} of {len(agreements)} latencies differ by more than 10 %")
        elif agreements:
            notes.append(f"all {len(agreements)} latencies agree within 10 %")
        else:
            notes.append("neither reads nor writes are enough to compare (1,000 and 1 % of all)")
    tables.show(found_tables, notes, verdict=verdicts.of_imitation(rows))
    return bool(missed)
