"""Commands for sweeps and their tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from ssdlab.cli.base import (
    Whole,
    case_progress,
    commands,
    echo,
    exit_if_marked,
    options,
    report_failures,
    suggest,
    takes_accept,
    takes_strict,
)

if TYPE_CHECKING:
    import polars

COMPARED = ("host.read.latency_ns.mean", "host.read.latency_ns.p99", "host.read.latency_ns.p99_9")
"""What `ssdlab compare` compares if no metric is given, as far as the table has it."""

takes_where_cases_play = options(
    click.option(
        "--cache", default="results/cache", show_default=True, metavar="DIR", help="Keep results in this folder."
    ),
    click.option("--threads", type=Whole(1), metavar="N", help="Cases at once  [default: cores]"),
    click.option("--dask", metavar="ADDRESS", help="Play the cases on the Dask cluster of this scheduler."),
    click.option(
        "--worker-timeout",
        type=click.FloatRange(min=0),
        default=1800.0,
        show_default=True,
        metavar="SECONDS",
        help="With --dask: end after this time without a worker.",
    ),
)
"""Where cases are played, and where their results are kept."""

RETRY_FAILED = click.option("--retry-failed", is_flag=True, help="Run the cases again that failed before.")
TRACES = click.option(
    "--traces", metavar="DIR", help="Folder of real traces: they replace the synthetic traces of the same name."
)


@commands.command()
@click.argument("file", metavar="FILE")
@click.option("--out", metavar="FILE", help="Write the table (.csv, .parquet or .json).")
@takes_where_cases_play
@RETRY_FAILED
@click.option("--quick", is_flag=True, help="Only the cases of the file's [quick].")
@click.option(
    "--shard",
    metavar="I/N",
    help="Only the I-th of N parts of the cases; --out is then a part of the table (.parquet) for `ssdlab merge`.",
)
@TRACES
@click.option("--files", metavar="DIR", help="Write each case's result (JSON) into this folder.")
@click.option("--show", "shown", multiple=True, metavar="NAME", help="A statistic to be shown; may be repeated.")
@click.option(
    "--plot",
    metavar="X,Y[,SERIES]",
    help="Draw statistic Y over axis X, a line or bar for each label of the axis SERIES; axis,axis,statistic draws a "
    "heat map (needs matplotlib).",
)
@click.option("--figure", metavar="FILE", help="Where --plot draws (PNG, SVG or PDF)  [default: FILE's name, .png]")
@takes_strict
@click.option("--quiet", "-q", is_flag=True, help="Do not show the table, only what was run and written.")
def sweep(
    file: str,
    out: str | None,
    quick: bool,
    shard: str | None,
    files: str | None,
    shown: tuple[str, ...],
    plot: str | None,
    figure: str | None,
    strict: bool,
    quiet: bool,
    **played: Any,
) -> None:
    """Run the cases of FILE that are missing; show all of them, a row a case.

    \b
    ssdlab sweep sweep.toml --out sweep.csv --show host.read.latency_ns.p99
    ssdlab sweep sweep.toml --plot qd,host.read.latency_ns.p99,scheme --figure p99.png
    """
    from ssdlab.common.canvas import check_figure
    from ssdlab.common.output import check_outputs
    from ssdlab.common.tables import show
    from ssdlab.show import verdicts
    from ssdlab.show.sweeps import notes_of, of_sweep, shown_of
    from ssdlab.sweeps.campaign import sweep as sweep_cases

    if figure is not None and plot is None:
        raise click.UsageError("--figure is where --plot draws: give --plot X,Y")
    picture = None
    if plot is not None:
        picture = figure or f"{os.path.splitext(os.path.basename(file))[0]}.png"
        check_figure("--figure", picture)
        check_outputs({"--out": out, "--figure": picture}, (file,))
        if not 2 <= len(plot.split(",")) <= 3:
            raise click.UsageError(
                f"--plot {plot}: write X,Y or X,Y,SERIES, such as qd,host.read.latency_ns.p99,scheme"
            )
    one_place(played)
    _check_names(file, shown, () if plot is None else plot.split(","))
    with case_progress(os.path.basename(file)) as progress:
        outcome = sweep_cases(file, quick=quick, shard=shard, out=out, files=files, progress=progress, **played)
    cells = of_sweep(outcome.table, shown)
    for line in outcome.warning_lines():
        echo(line, err=quiet)
    if not quiet:
        metrics = shown or shown_of(outcome.table)
        show([cells], notes_of(cells), verdicts.of_sweep(outcome.table, metrics[0]) if metrics else "")
    total = outcome.table.height
    echo(f"{total} cases: {outcome.played} run, {total - outcome.played} kept in {played['cache']}")
    if out is not None:
        echo(f"wrote {out}")
    if plot is not None and picture is not None:
        from ssdlab.show import pictures
        from ssdlab.show import plot as drawing

        drawing.save(pictures.sweep(outcome.table, *plot.split(",")), picture)
        echo(f"wrote {picture}")
    if not quiet and shard is None:
        suggest(*_next_of_sweep(outcome.table, out))
    report_failures(
        [f"{_label(failed.labels)}: {failed.error}" for failed in outcome.failed], "--retry-failed runs them again"
    )
    exit_if_marked(strict, any(outcome.warnings))


def _check_names(file: str, shown: Sequence[str], plotted: Sequence[str]) -> None:
    """Refuses what the table of a sweep cannot have, before any of its cases is played."""
    from ssdlab.show import pictures
    from ssdlab.show.sweeps import check_shown
    from ssdlab.sweeps.spec import Sweep

    if not shown and not plotted:
        return
    sweep = Sweep.read(file)
    statistics = sweep.may_report([*shown, *plotted])
    check_shown(shown, statistics)
    if plotted:
        pictures.check(list(sweep.axes), statistics, *plotted)


def _next_of_sweep(table: polars.DataFrame, out: str | None) -> Iterator[str]:
    """What to try after a sweep."""
    from ssdlab.sweeps.table import axes_of

    axes = [axis for axis in axes_of(table) if axis != "seed" and table[axis].n_unique() > 1]
    by = "scheme" if "scheme" in axes else axes[0] if axes else None
    if out is None:
        yield "--out table.csv keeps the table, for compare and for other programs"
    elif by is not None:
        yield f"ssdlab compare {out} --by {by}: what it changes, with confidence intervals"


@commands.command()
@click.argument("parts", metavar="PART…", nargs=-1, required=True)
@click.option("--out", metavar="FILE", required=True, help="Write the table (.csv, .parquet or .json).")
@takes_strict
@click.option("--quiet", "-q", is_flag=True, help="Do not show the table, only what was written.")
def merge(parts: tuple[str, ...], out: str, strict: bool, quiet: bool) -> None:
    """Put the PARTs of a table together that shards of a sweep have written: it is the table of one machine.

    \b
    ssdlab sweep sweep.toml --shard 1/2 --out part.1.parquet
    ssdlab sweep sweep.toml --shard 2/2 --out part.2.parquet
    ssdlab merge part.*.parquet --out sweep.csv
    """
    from ssdlab.common.tables import show
    from ssdlab.show.sweeps import notes_of, of_sweep
    from ssdlab.sweeps.merging import merge as merge_parts

    outcome = merge_parts(parts, out=out)
    cells = of_sweep(outcome.table)
    for line in outcome.warning_lines():
        echo(line, err=quiet)
    if not quiet:
        show([cells], notes_of(cells))
    echo(f"wrote {out}: {outcome.table.height:,} cases of {len(parts)} parts")
    if not quiet:
        suggest(*_next_of_sweep(outcome.table, out))
    report_failures(
        [f"{_label(failed.labels)}: {failed.error}" for failed in outcome.failed],
        "--retry-failed runs them again in their shards",
    )
    exit_if_marked(strict, any(outcome.warnings))


def one_place(played: dict[str, Any]) -> None:
    """Refuses threads of this machine for cases that are not played on it. Dask's log is left out: what is to be known
    of the cluster is named in errors, and in warnings of a line."""
    if played["dask"] is None:
        return
    if played["threads"] is not None:
        raise click.UsageError("--threads is about this machine: leave it out with --dask (dask worker --nthreads)")
    import logging

    logging.disable()


def _label(labels: dict[str, Any]) -> str:
    from ssdlab.study.folder import label_of

    return label_of(labels)


@commands.command()
@click.argument("table_path", metavar="TABLE")
@click.option("--by", default="scheme", show_default=True, metavar="AXIS", help="Axis whose labels are compared.")
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
@takes_accept
@click.option("--quiet", "-q", is_flag=True, help="Do not show the tables, only what came out and what was written.")
def compare(
    table_path: str,
    by: str,
    baseline: str | None,
    metrics: tuple[str, ...],
    plot: str | None,
    out: str | None,
    accept_warnings: bool,
    quiet: bool,
) -> None:
    """Compare schemes with a baseline in a TABLE that `ssdlab sweep` wrote.

    Cases of the same seed are paired; ± is the half width of a 95 % confidence interval over seeds.

    \b
    ssdlab compare sweep.csv --by scheme --baseline rps --metric host.read.latency_ns.p99_99
    """
    from ssdlab.common.canvas import check_figure
    from ssdlab.common.frames import write_table
    from ssdlab.common.output import TABLES, check_ending, check_outputs
    from ssdlab.common.tables import show
    from ssdlab.show.sweeps import of_comparison
    from ssdlab.sweeps.comparison import compare as compared
    from ssdlab.sweeps.table import read_table

    check_ending("--out", out, TABLES)
    check_figure("--plot", plot)
    check_outputs({"--out": out, "--plot": plot}, (table_path,))
    found = read_table(table_path)
    chosen = metrics or [name for name in COMPARED if name in found.columns] or COMPARED[:1]
    comparisons = [
        compared(found, metric, baseline=baseline, by=by, accept_warnings=accept_warnings) for metric in chosen
    ]
    for comparison in comparisons:
        if quiet:
            show([], verdict=comparison.takeaway())
        else:
            show(*of_comparison(comparison), verdict=comparison.takeaway())
    if out is not None:
        write_table(comparisons[0].frame(), out)
        echo(f"wrote {out}")
    if plot is not None:
        from ssdlab.show import plot as drawing

        drawing.save(drawing.bars(*comparisons), plot)
        echo(f"wrote {plot}")
    elif not quiet:
        suggest("--plot bars.png draws it", "--metric NAME: another statistic (docs/statistics.md)")


@commands.command()
@click.argument("table_path", metavar="TABLE")
@click.option("--part", "parts", multiple=True, metavar="AXIS", help="A part; may be repeated  [default: two labels]")
@click.option("--metric", default="host.read.latency_ns.mean", show_default=True, metavar="NAME", help="A statistic.")
@click.option("--out", metavar="FILE", help="Write the numbers (.csv, .parquet or .json).")
@takes_accept
def shares(table_path: str, parts: tuple[str, ...], metric: str, out: str | None, accept_warnings: bool) -> None:
    """Show the contribution of each part in a TABLE that `ssdlab sweep` wrote of every combination of parts.

    A part is an axis of two labels: without the part first, then with it. The table shows by which factor the statistic
    falls: with the part alone, with the part on top of all others, and as the mean over all orders of adding parts
    (Shapley value; these factors multiply to that of all parts together).

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
    found = shares_of(table, metric, parts or None, accept_warnings=accept_warnings)
    show(of_shares(found, pairs(table, metric, parts or None), metric), ["± 95 % confidence interval over seeds"])
    if out is not None:
        write_table(found, out)
        echo(f"wrote {out}")
