"""Commands for sweeps and their tables."""

from __future__ import annotations

import os
from typing import Any

import click

from ssdlab.cli.base import (
    Whole,
    case_progress,
    commands,
    echo,
    exit_if_marked,
    options,
    report_failures,
    takes_accept,
    takes_strict,
)

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
    "--traces", metavar="DIR", help="Folder of real traces: they replace the synthetic twins of the same name."
)


@commands.command()
@click.argument("file", metavar="FILE")
@click.option("--out", metavar="FILE", help="Write the table (.csv, .parquet or .json).")
@takes_where_cases_play
@RETRY_FAILED
@click.option("--quick", is_flag=True, help="Only the cases of the file's [quick].")
@TRACES
@click.option("--files", metavar="DIR", help="Write each case's result (JSON) into this folder.")
@click.option("--show", "shown", multiple=True, metavar="NAME", help="A statistic to be shown; may be repeated.")
@takes_strict
@click.option("--quiet", "-q", is_flag=True, help="Do not show the table, only what was played and written.")
def sweep(
    file: str,
    out: str | None,
    quick: bool,
    files: str | None,
    shown: tuple[str, ...],
    strict: bool,
    quiet: bool,
    **played: Any,
) -> None:
    """Run the cases of FILE that are missing; show all of them, a row a case.

    \b
    ssdlab sweep sweep.toml --out sweep.csv --show host.read.latency_ns.p99
    """
    from ssdlab.common.tables import show
    from ssdlab.show.sweeps import of_sweep
    from ssdlab.sweeps.campaign import sweep as sweep_cases

    one_place(played)
    with case_progress(os.path.basename(file)) as progress:
        outcome = sweep_cases(file, quick=quick, out=out, files=files, progress=progress, **played)
    cells = of_sweep(outcome.table, shown)
    for line in outcome.warning_lines():
        echo(line, err=quiet)
    if not quiet:
        show([cells])
    total = outcome.table.height
    echo(f"{total} cases: {outcome.played} played, {total - outcome.played} kept in {played['cache']}")
    if out is not None:
        echo(f"wrote {out}")
    report_failures(
        [f"{_label(failed.labels)}: {failed.error}" for failed in outcome.failed], "--retry-failed runs them again"
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
def compare(
    table_path: str,
    by: str,
    baseline: str | None,
    metrics: tuple[str, ...],
    plot: str | None,
    out: str | None,
    accept_warnings: bool,
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
    comparisons = [
        compared(found, metric, baseline=baseline, by=by, accept_warnings=accept_warnings) for metric in chosen
    ]
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
