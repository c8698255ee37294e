"""`ssdlab life` and `ssdlab fleet`: drives' years, epoch by epoch, and many drives between them."""

from __future__ import annotations

import click

from ssdlab.cli.base import Whole, case_progress, commands, echo, exit_if_marked, options, suggest, takes_strict

takes_play = options(
    click.option(
        "--cache", default="results/cache", show_default=True, metavar="DIR", help="Keep results in this folder."
    ),
    click.option("--threads", type=Whole(1), metavar="N", help="Runs at once  [default: cores]"),
    click.option("--plot", metavar="FILE", help="Draw it (PNG, SVG or PDF; needs matplotlib)."),
    click.option("--out", metavar="FILE", help="Write the table (.csv, .parquet or .json)."),
    takes_strict,
)
"""The options of commands that play epochs."""


@commands.command()
@click.argument("file", metavar="FILE")
@takes_play
def life(file: str, cache: str, threads: int | None, plot: str | None, out: str | None, strict: bool) -> None:
    """Play a drive's years as short runs joined by closed forms: latency, WAF, wear, retries and energy by month.

    FILE says which drive, what its host writes in a day, how warm it is, and which schemes are compared. What was
    played before comes from the cache.

    \b
    ssdlab life examples/life.toml --plot life.svg --out life.csv
    """
    from ssdlab.common.canvas import check_figure
    from ssdlab.common.frames import write_table
    from ssdlab.common.output import TABLES, check_ending, check_outputs
    from ssdlab.common.tables import show
    from ssdlab.lives.life import life as played
    from ssdlab.show.lives import draw, of_life

    check_figure("--plot", plot)
    check_ending("--out", out, TABLES)
    check_outputs({"--plot": plot, "--out": out}, (file,))
    with case_progress("life") as progress:
        found = played(file, cache=cache, threads=threads, progress=progress)
    for line in found.warnings:
        echo(line)
    show(*of_life(found), verdict=found.verdict())
    if out is not None:
        write_table(found.table, out)
        echo(f"wrote {out}")
    if plot is not None:
        from ssdlab.show import plot as drawing

        drawing.save(draw(found), plot)
        echo(f"wrote {plot}")
    if out is None and plot is None:
        suggest("--plot life.svg draws it", "--out life.csv keeps every epoch")
    exit_if_marked(strict, bool(found.warnings))


@commands.command()
@click.argument("file", metavar="FILE")
@takes_play
@click.option("--months", metavar="FILE", help="Write drives bought together, by month (.csv, .parquet or .json).")
def fleet(
    file: str, cache: str, threads: int | None, plot: str | None, out: str | None, months: str | None, strict: bool
) -> None:
    """Sum a fleet of drives that differ in age, load, temperature and quality: its tail, failures, energy and carbon.

    FILE says what drives differ in, with sources, which schemes are compared and when drives are replaced. A grid of
    points is played; drives are between them. Needs numpy.

    \b
    ssdlab fleet examples/fleet.toml --plot fleet.svg --out fleet.csv
    """
    from ssdlab.common.canvas import check_figure
    from ssdlab.common.frames import write_table
    from ssdlab.common.output import TABLES, check_ending, check_outputs
    from ssdlab.common.tables import show
    from ssdlab.lives.fleet import fleet as summed
    from ssdlab.show.fleets import draw, of_fleet

    check_figure("--plot", plot)
    check_ending("--out", out, TABLES)
    check_ending("--months", months, TABLES)
    check_outputs({"--plot": plot, "--out": out, "--months": months}, (file,))
    with case_progress("fleet") as progress:
        found = summed(file, cache=cache, threads=threads, progress=progress)
    for line in found.warnings:
        echo(line)
    show(*of_fleet(found), verdict=found.verdict())
    for path, table in ((out, found.table), (months, found.months)):
        if path is not None:
            write_table(table, path)
            echo(f"wrote {path}")
    if plot is not None:
        from ssdlab.show import plot as drawing

        drawing.save(draw(found), plot)
        echo(f"wrote {plot}")
    exit_if_marked(strict, bool(found.warnings))
