"""`ssdlab curve`: throughput against latency."""

from __future__ import annotations

from typing import Any

import click

from ssdlab.cli.base import (
    Whole,
    case_progress,
    commands,
    echo,
    exit_if_marked,
    report_failures,
    run_option,
    suggest,
    takes_strict,
)


@commands.command()
@click.argument("devices", nargs=-1, metavar="[DEVICE]…")
@click.option(
    "--workload",
    default="default",
    show_default=True,
    metavar="NAME|FILE|TRACE",
    help="Preset, workload file, or trace.",
)
@click.option("--qd", metavar="1..256|1,4,16", help="Queue depths; of a range the powers of two  [default: 1..256]")
@click.option("--rate", metavar="10k..400k|10k,50k", help="Let the rate that is offered grow instead [requests/s].")
@click.option("--scheme", "schemes", multiple=True, metavar="NAME", help="A line under this scheme; may be repeated.")
@click.option("--age", "ages", multiple=True, metavar="KEY=VALUE,…", help="A line at this age; may be repeated.")
@run_option("precondition")
@run_option("settings")
@click.option("--of", "kind", metavar="read|write|all", help="Whose latency  [default: reads', where there are any]")
@click.option("--requests", type=Whole(1), default=20_000, show_default=True, metavar="N", help="Requests of a point.")
@click.option("--warmup", type=Whole(0), metavar="N", help="Requests before them  [default: a tenth]")
@click.option("--seeds", type=Whole(1), default=1, show_default=True, metavar="N", help="Seeds of each point.")
@click.option("--cache", default="results/cache", show_default=True, metavar="DIR", help="Keep results in this folder.")
@click.option("--threads", type=Whole(1), metavar="N", help="Cases at once  [default: cores]")
@click.option("--plot", metavar="FILE", help="Draw the lines (PNG, SVG or PDF; needs matplotlib).")
@click.option("--out", metavar="FILE", help="Write the table of cases (.csv, .parquet or .json).")
@takes_strict
def curve(devices: tuple[str, ...], plot: str | None, out: str | None, strict: bool, **given: Any) -> None:
    """Draw throughput against latency: a workload at growing queue depth or rate on each DEVICE (tlc).

    Each combination of device, scheme and age is a line. What was played before comes from the cache.

    \b
    ssdlab curve tlc qlc --set workload.rw=randread --set workload.bs=4KiB --plot curve.png
    ssdlab curve tlc --age pec=1000,retention=3mo --scheme baseline --scheme pnar2 --rate 10k..300k
    """
    from ssdlab.common.canvas import check_figure
    from ssdlab.common.frames import write_table
    from ssdlab.common.output import TABLES, check_ending, check_outputs
    from ssdlab.common.tables import show
    from ssdlab.show.curves import draw, of_curve
    from ssdlab.sweeps.curve import curve as played

    check_figure("--plot", plot)
    check_ending("--out", out, TABLES)
    check_outputs({"--plot": plot, "--out": out}, devices)
    with case_progress("curve") as progress:
        found = played(devices or ("tlc",), progress=progress, **given)
    for line in found.warnings:
        echo(line)
    show(*of_curve(found), verdict=found.verdict())
    if out is not None:
        write_table(found.table, out)
        echo(f"wrote {out}")
    if plot is not None:
        from ssdlab.show import plot as drawing

        drawing.save(draw(found), plot)
        echo(f"wrote {plot}")
    elif out is None:
        suggest(
            "--plot curve.png draws it",
            "ssdlab explain with --qd and the same options: where the time goes at one point",
        )
    report_failures(found.failed, "mend what they name, and run the same command again")
    exit_if_marked(strict, bool(found.warnings))
