"""Commands of the laboratory: sweeps, comparisons, studies."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import click

from ssdlab._core import InputError
from ssdlab.cli.base import (
    Whole,
    case_progress,
    commands,
    echo,
    echo_error,
    report_failures,
)

COMPARED = ("host.read.latency_ns.mean", "host.read.latency_ns.p99", "host.read.latency_ns.p99_9")
"""What `ssdlab compare` compares if no metric is given, as far as the table has it."""

WORKER_TIMEOUT = click.option(
    "--worker-timeout",
    type=click.FloatRange(min=0),
    default=1800.0,
    show_default=True,
    metavar="SECONDS",
    help="With --dask: end when there has been no worker for so long.",
)


@commands.command()
@click.argument("file", metavar="FILE")
@click.option("--out", metavar="FILE", help="Write the table (.csv, .parquet or .json).")
@click.option("--cache", default="results/cache", show_default=True, metavar="DIR", help="Where results are kept.")
@click.option("--retry-failed", is_flag=True, help="Run the cases again that failed before.")
@click.option("--quick", is_flag=True, help="Only the cases of the file's [quick].")
@click.option("--traces", metavar="DIR", help="Real traces, which take the place of the twins called as they are.")
@click.option("--files", metavar="DIR", help="Write each case's result (JSON) into this folder.")
@click.option("--threads", type=Whole(1), metavar="N", help="Cases at once  [default: cores]")
@click.option("--dask", metavar="ADDRESS", help="Play the cases on the Dask cluster of this scheduler.")
@WORKER_TIMEOUT
@click.option("--show", "shown", multiple=True, metavar="NAME", help="A statistic to be shown; may be repeated.")
@click.option("--quiet", "-q", is_flag=True, help="Do not show the table, only what was played and written.")
def sweep(
    file: str,
    out: str | None,
    cache: str,
    retry_failed: bool,
    quick: bool,
    traces: str | None,
    files: str | None,
    threads: int | None,
    dask: str | None,
    worker_timeout: float,
    shown: tuple[str, ...],
    quiet: bool,
) -> None:
    """Run the cases of FILE that are missing; show all of them, a row a case.

    \b
    ssdlab sweep sweep.toml --out sweep.csv --show host.read.latency_ns.p99
    """
    from ssdlab.common.tables import show
    from ssdlab.show.sweeps import of_sweep
    from ssdlab.sweeps.campaign import sweep as sweep_cases

    one_place(threads, dask)
    with case_progress(os.path.basename(file)) as progress:
        outcome = sweep_cases(
            file,
            cache=cache,
            threads=threads,
            dask=dask,
            worker_timeout=worker_timeout,
            retry_failed=retry_failed,
            quick=quick,
            traces=traces,
            out=out,
            files=files,
            progress=progress,
        )
    cells = of_sweep(outcome.table, shown)
    if not quiet:
        show([cells])
    total = outcome.table.height
    echo(f"{total} cases: {outcome.played} played, {total - outcome.played} kept in {cache}")
    if out is not None:
        echo(f"wrote {out}")
    report_failures(
        [f"{_label(failed.labels)}: {failed.error}" for failed in outcome.failed], "--retry-failed runs them again"
    )


def one_place(threads: int | None, dask: str | None) -> None:
    """Refuses threads of this machine for cases that are not played on it. Dask's log is left out: what is to be known
    of the cluster is named in errors, and in warnings of a line."""
    if dask is None:
        return
    if threads is not None:
        raise click.UsageError("--threads is about this machine: leave it out with --dask (dask worker --nthreads)")
    import logging

    logging.disable()


def _label(labels: dict[str, Any]) -> str:
    from ssdlab.study.folder import label_of

    return label_of(labels)


@commands.command()
@click.argument("table_path", metavar="TABLE")
@click.option("--by", default="scheme", show_default=True, metavar="AXIS", help="The axis whose labels are compared.")
@click.option("--baseline", metavar="LABEL", help="The label that the others are compared with  [default: the first]")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="A statistic; may be repeated  [default: mean, p99 and p99.9 of the reads' latency]",
)
@click.option("--plot", metavar="FILE", help="Draw the metrics as bars (PNG, SVG or PDF; needs matplotlib).")
@click.option("--out", metavar="FILE", help="Write the numbers of the first metric (.csv, .parquet or .json).")
def compare(
    table_path: str, by: str, baseline: str | None, metrics: tuple[str, ...], plot: str | None, out: str | None
) -> None:
    """Compare schemes with a baseline in a TABLE that `ssdlab sweep` wrote.

    Cases of the same seed are paired; ± is the half width of a 95 % confidence interval over seeds.

    \b
    ssdlab compare sweep.csv --by scheme --baseline rps --metric host.read.latency_ns.p99_99
    """
    from ssdlab.common.frames import write_table
    from ssdlab.common.output import FIGURES, TABLES, check_ending, check_outputs
    from ssdlab.common.tables import show
    from ssdlab.show.sweeps import of_comparison
    from ssdlab.sweeps.comparison import compare as compared
    from ssdlab.sweeps.table import read_table

    check_ending("--out", out, TABLES)
    check_ending("--plot", plot, FIGURES)
    check_outputs({"--out": out, "--plot": plot}, (table_path,))
    found = read_table(table_path)
    chosen = metrics or [name for name in COMPARED if name in found.columns] or COMPARED[:1]
    comparisons = [compared(found, metric, baseline=baseline, by=by) for metric in chosen]
    for comparison in comparisons:
        tables, footnotes = of_comparison(comparison)
        show(tables, footnotes)
    if out is not None:
        write_table(comparisons[0].frame(), out)
        echo(f"wrote {out}")
    if plot is not None:
        from ssdlab.show import plot as drawing

        drawing.save(drawing.bars(*comparisons), plot)
    # Last on the screen stands what was found, and where its picture is.
    for comparison in comparisons:
        echo(comparison.takeaway())
    if plot is not None:
        echo(f"wrote {plot}")


@commands.command()
@click.argument("table_path", metavar="TABLE")
@click.option("--part", "parts", multiple=True, metavar="AXIS", help="A part; may be repeated  [default: two labels]")
@click.option("--metric", default="host.read.latency_ns.mean", show_default=True, metavar="NAME", help="A statistic.")
@click.option("--out", metavar="FILE", help="Write the numbers (.csv, .parquet or .json).")
def shares(table_path: str, parts: tuple[str, ...], metric: str, out: str | None) -> None:
    """Tell what each part buys in a TABLE that `ssdlab sweep` wrote of every combination of parts.

    A part is an axis of two labels, what the drive is without it first. Shown is by how many times the statistic falls:
    by the part alone, by the part on top of all others, and on the mean over all orders in which parts may join
    (Shapley's value; these multiply to what all parts together do).

    \b
    ssdlab shares product.csv --metric energy.per_gb
    """
    from ssdlab.common.frames import write_table
    from ssdlab.common.output import TABLES, check_ending, check_outputs
    from ssdlab.common.tables import show
    from ssdlab.show.sweeps import of_shares
    from ssdlab.sweeps.shares import pairs
    from ssdlab.sweeps.shares import shares as shares_of
    from ssdlab.sweeps.table import read_table

    check_ending("--out", out, TABLES)
    check_outputs({"--out": out}, (table_path,))
    table = read_table(table_path)
    found = shares_of(table, metric, parts or None)
    show(of_shares(found, pairs(table, metric, parts or None), metric), ["± 95 % confidence interval over seeds"])
    if out is not None:
        write_table(found, out)
        echo(f"wrote {out}")


@commands.group()
def study() -> None:
    """Run the studies and see which claims of the papers hold."""


@study.command("list")
def list_studies() -> None:
    """List the studies, their claims and how many hold."""
    from ssdlab.common.tables import Table, show
    from ssdlab.study.claims import count
    from ssdlab.study.folder import studies

    rows = []
    for found in studies():
        verdicts = found.verdicts()
        rows.append((found.id, found.about, f"{len(verdicts)}", *(f"{number}" for number in count(verdicts))))
    show([Table("Studies", ("study", "about", "claims", "hold", "fail", "not measured"), rows, left=2)])


@study.command("run")
@click.argument("id", metavar="STUDY")
@click.option("--quick", is_flag=True, help="Run some of the cases and compare them exactly with the kept results.")
@click.option("--traces", metavar="DIR", help="Real traces, which take the place of the twins called as they are.")
@click.option(
    "--results", metavar="DIR", help="Where tables go  [default: the study's folder; with --traces results/STUDY]"
)
@click.option("--cache", default="results/cache", show_default=True, metavar="DIR", help="Where results are kept.")
@click.option("--threads", type=Whole(1), metavar="N", help="Cases at once  [default: cores]")
@click.option("--dask", metavar="ADDRESS", help="Play the cases on the Dask cluster of this scheduler.")
@WORKER_TIMEOUT
@click.option("--retry-failed", is_flag=True, help="Run the cases again that failed before.")
@click.option("--figures", metavar="DIR", help="Draw the study's figures into this folder (needs matplotlib).")
def run_study(
    id: str,
    quick: bool,
    traces: str | None,
    results: str | None,
    cache: str,
    threads: int | None,
    dask: str | None,
    worker_timeout: float,
    retry_failed: bool,
    figures: str | None,
) -> None:
    """Run a study: its sweeps, tables and figures. What is in the cache is not run again."""
    from pathlib import Path

    from ssdlab.common.output import check_folder
    from ssdlab.study.folder import study as find

    found = find(id)
    one_place(threads, dask)
    if quick and (traces is not None or results is not None or figures is not None):
        raise click.UsageError("--quick compares with the kept results: leave out --traces, --results and --figures")
    if not quick:
        folder = Path(results) if results else Path("results", id) if traces else found.folder / "results"
        check_folder("--results", folder)
        if figures is not None:
            check_folder("--figures", figures)
    with ExitStack() as stack:

        def progress(name: str) -> Callable[[Any], None] | None:
            stack.close()
            return stack.enter_context(case_progress(f"{id} {name}"))

        if quick:
            compared, differences = found.check(
                cache=cache, threads=threads, dask=dask, worker_timeout=worker_timeout, progress=progress
            )
        else:
            failures = found.run(
                folder,
                cache=cache,
                threads=threads,
                dask=dask,
                worker_timeout=worker_timeout,
                traces=traces,
                retry_failed=retry_failed,
                progress=progress,
            )
    if quick:
        for line in differences[:20]:
            echo_error(f"  {line.table} {line.case}: {line.statistic} is {line.now}, was {line.kept}")
        echo(f"{compared} cases compared, {len(differences)} statistics differ")
        if differences:
            echo_error("error: results are not those that are kept\n  help: if the model was meant to change, raise")
            echo_error("        RESULTS_VERSION (crates/ssd/src/lib.rs) and run the studies again")
            raise click.exceptions.Exit(1)
        return
    absent = {name: trace for name, trace in found.needs.items() if not Path(trace).exists()}
    echo(f"wrote {', '.join(str(folder / f'{name}.csv') for name in found.sweeps if name not in absent)}")
    for name, trace in absent.items():
        echo(f"kept {folder / f'{name}.csv'}: {trace} is not there")
    if figures is not None:
        from ssdlab.show import plot

        for name, figure in found.figures(folder).items():
            plot.save(figure, os.path.join(figures, f"{name}.png"))
            echo(f"wrote {os.path.join(figures, f'{name}.png')}")
    report_failures(failures, "--retry-failed runs them again")


@study.command("infer")
@click.argument("id", metavar="STUDY")
@click.option("--points", type=Whole(1), default=64, show_default=True, metavar="N", help="Settings played at most.")
@click.option("--results", metavar="DIR", help="Where tables go  [default: the study's folder]")
@click.option("--cache", default="results/cache", show_default=True, metavar="DIR", help="Where results are kept.")
@click.option("--threads", type=Whole(1), metavar="N", help="Cases at once  [default: cores]")
@click.option("--dask", metavar="ADDRESS", help="Play the cases on the Dask cluster of this scheduler.")
@WORKER_TIMEOUT
def infer_study(
    id: str,
    points: int,
    results: str | None,
    cache: str,
    threads: int | None,
    dask: str | None,
    worker_timeout: float,
) -> None:
    """Search what a paper leaves open (open.toml) for the settings that its own claims agree with.

    The settings are chosen on one half of its system claims, split by a hash of their ids; both halves are shown.
    Writes infer.csv (a row for each point of the space) and infer-claims.csv (a row for each claim: at how many points
    it holds). What is in the cache is not played again.
    """
    from pathlib import Path

    from ssdlab.common.frames import write_table
    from ssdlab.common.output import check_folder
    from ssdlab.common.tables import show
    from ssdlab.show.studies import of_inferred
    from ssdlab.study.folder import study as find
    from ssdlab.study.infer import infer

    found = find(id)
    one_place(threads, dask)
    folder = Path(results) if results else found.folder / "results"
    check_folder("--results", folder)
    with ExitStack() as stack:

        def progress(name: str) -> Callable[[Any], None] | None:
            stack.close()
            return stack.enter_context(case_progress(f"{id} {name}"))

        inferred = infer(
            found,
            points=points,
            cache=cache,
            threads=threads,
            dask=dask,
            worker_timeout=worker_timeout,
            progress=progress,
        )
    write_table(inferred.table(), str(folder / "infer.csv"))
    write_table(inferred.table_of_claims(), str(folder / "infer-claims.csv"))
    show(list(of_inferred(id, inferred)))
    echo(f"wrote {folder / 'infer.csv'}, {folder / 'infer-claims.csv'}")
    if all(point.error for point in inferred.points):
        raise InputError(inferred.points[0].error)


@study.command()
@click.argument("id", required=False, metavar="[STUDY]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@click.option("--results", metavar="DIR", help="Tables other than those in the study's folder.")
def claims(id: str | None, as_json: bool, results: str | None) -> None:
    """What the papers published, what was measured, whether it is within the accepted range, and what that proves.

    A claim is predicted (nothing was chosen with its number in view), fitted (a constant or a setting was: --json names
    it) or by construction (a literal, a preset read back, arithmetic). What fails carries its reason.
    """
    from pathlib import Path

    from ssdlab.common.tables import show
    from ssdlab.show.studies import of_claims
    from ssdlab.study.claims import HALVES, KINDS, count
    from ssdlab.study.folder import studies
    from ssdlab.study.folder import study as find

    if id is None and results is not None:
        raise click.UsageError("--results belongs to one study: name it")
    found = studies() if id is None else [find(id)]
    verdicts = {each: each.verdicts(None if results is None else Path(results)) for each in found}
    if as_json:
        import json

        print(json.dumps([verdict.to_dict() for part in verdicts.values() for verdict in part], indent=1))
        return
    show([of_claims(each.id, each.about, part) for each, part in verdicts.items()])
    every = [verdict for part in verdicts.values() for verdict in part]
    echo(f"{len(every)} claims: {count(every)}")
    for proves in KINDS:
        echo(f"  {proves}: {count(every, proves)}")
    for of in HALVES:
        part = [verdict for verdict in every if verdict.half == of]
        if part:
            echo(f"  system claims, {of} half: {count(part)}")
    without = [verdict.claim.id for verdict in every if not verdict.passed and verdict.reason is None]
    if without and any(verdict.half for verdict in every):
        echo(f"  without a reason (why.toml): {', '.join(without)}")


@commands.command()
@click.argument("folder", metavar="DIR")
@click.option("--out", metavar="FILE", help="The page  [default: DIR/report.html]")
@click.option("--study", metavar="STUDY", help="Whose tables DIR holds, where its name does not show it.")
def report(folder: str, out: str | None, study: str | None) -> None:
    """Write DIR's results as one HTML page with charts and tables; it needs no network.

    DIR is a study's folder, a folder of a study's tables, or one with results (`run --json`, `--requests-out`,
    `--series-out`) or tables (`sweep --out`).

    \b
    ssdlab run --json out/result.json --requests-out out/requests.parquet --series-out out/series.parquet
    ssdlab report out
    """
    from ssdlab.show.report import report as written

    path, notes = written(folder, out, study=study)
    for note in notes:
        echo_error(f"note: {note}")
    echo(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)")
