"""Commands that measure virtual chips and their error correction."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ssdlab.cli.base import (
    Whole,
    commands,
    echo,
    echo_error,
    make_folder,
    share_progress,
    suggest,
)
from ssdlab.common import signals

if TYPE_CHECKING:
    pass


def _failures(value: str) -> int:
    """A number of failures; none is 0."""
    if value != "none" and not (value.isdecimal() and len(value) < 19):
        raise click.BadParameter(f"{value} is not accepted: write a whole number, or none")
    return 0 if value == "none" else int(value)


def _rates(value: str) -> tuple[float, ...]:
    """Raw bit error rates."""
    from ssdlab._core import InputError
    from ssdlab.chip.ecc import rates

    try:
        return rates(value)
    except InputError as error:
        raise click.BadParameter(str(error)) from None


def _ending(*endings: str) -> Callable[[str], str]:
    """A path that ends as its content asks."""

    def check(value: str) -> str:
        if not value.lower().endswith(endings):
            raise click.BadParameter(f"{value} is not accepted: write a path that ends in {' or '.join(endings)}")
        return value

    return check


@commands.command()
@click.argument("chip", metavar="CHIP")
@click.option("--out", default=None, metavar="DIR", help="Write tables into this folder  [default: results/CHIP]")
@click.option("--figures", is_flag=True, help="Draw the papers' figures too (PNG; needs matplotlib).")
@click.option("--chips", type=Whole(1), default=160, show_default=True, metavar="N", help="Chips of the population.")
@click.option("--blocks", type=Whole(1), default=120, show_default=True, metavar="N", help="Blocks of each chip.")
@click.option(
    "--seed", type=Whole(0), default=1, show_default=True, metavar="S", help="Seed of the chips that are drawn."
)
@click.option("--only", "only", multiple=True, metavar="TABLE", help="One table; may be repeated.")
@click.option("--constants", is_flag=True, help="Print the chip's constants with their sources, and measure nothing.")
def characterize(
    chip: str,
    out: str | None,
    figures: bool,
    chips: int,
    blocks: int,
    seed: int,
    only: tuple[str, ...],
    constants: bool,
) -> None:
    """Measure a virtual CHIP (a preset or a TOML file) as the papers measured theirs, and profile its tables.

    \b
    ssdlab characterize tlc48 --figures
    ssdlab characterize my-chip.toml --only rpt --only ept --out tables
    """
    from ssdlab.chip import characterize as module
    from ssdlab.common.canvas import check_drawing
    from ssdlab.common.frames import write_table
    from ssdlab.common.tables import show
    from ssdlab.show.lists import of_chip

    unknown = [name for name in only if name not in module.TABLES]
    if unknown:
        raise click.UsageError(f"no table is called {unknown[0]}: there are {', '.join(module.TABLES)}")
    found = module.load(chip, chips=chips, blocks=blocks, seed=seed)
    if constants:
        show([of_chip(found)])
        return
    if figures:
        check_drawing("--figures")
    folder = out or os.path.join("results", os.path.splitext(os.path.basename(chip))[0])
    make_folder(folder)
    tables = {}
    names = list(only) or list(module.TABLES)
    with share_progress() as progress:
        for index, name in enumerate(names):

            def listen(share: float, index: int = index, name: str = name) -> None:
                progress(name, (index + share) / len(names))

            listen(0.0)
            tables[name] = module.TABLES[name](found, listen)
            write_table(tables[name], os.path.join(folder, f"{name}.csv"))
    echo(f"wrote {', '.join(f'{name}.csv' for name in tables)} in {folder}")
    if figures:
        from ssdlab.chip import figures as chip_figures
        from ssdlab.show import plot

        drawn: dict[str, Any] = {}
        if {"steps", "m_err", "cuts", "both", "rpt"} <= tables.keys():
            drawn |= chip_figures.reading(tables)
        if {"erase_times", "fail_ranges", "fail_bits", "life", "wordlines", "gate", "ept"} <= tables.keys():
            drawn |= chip_figures.erasing(tables, found)
        if "days" in tables:
            drawn["fig4"] = chip_figures.first_days(tables["days"])
        for name, figure in drawn.items():
            plot.save(figure, os.path.join(folder, f"{name}.png"))
        echo(f"wrote {', '.join(f'{name}.png' for name in drawn)} in {folder}")


@commands.command()
@click.argument("chip", metavar="[CHIP]", required=False)
@click.option(
    "--scheme", "schemes", multiple=True, metavar="NAME", help="An erase scheme; may be repeated  [default: all]"
)
@click.option(
    "--requirement", type=float, metavar="ERRORS", help="Errors per KiB of a usable block  [default: the chip's]"
)
@click.option(
    "--mispredictions",
    type=float,
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Share of REO's pulses that are mispredicted.",
)
@click.option("--chips", type=Whole(1), default=120, show_default=True, metavar="N", help="Chips of the population.")
@click.option("--blocks", type=Whole(1), default=1, show_default=True, metavar="N", help="Blocks of each chip.")
@click.option("--step", type=Whole(1), default=50, show_default=True, metavar="N", help="Cycles between two looks.")
@click.option("--last", type=Whole(1), default=10_000, show_default=True, metavar="N", help="P/E cycles at the end.")
@click.option(
    "--seed", type=Whole(0), default=1, show_default=True, metavar="S", help="Seed of the chips that are drawn."
)
@click.option("--device", metavar="NAME|FILE", help="Also report what a host may write to a device, and for how long.")
@click.option(
    "--waf", type=float, metavar="X", default=1.0, show_default=True, help="The device's write amplification (ftl.waf)."
)
@click.option("--dwpd", type=float, metavar="X", default=1.0, show_default=True, help="Load: drive writes per day.")
@click.option("--out", metavar="FILE", help="Write what was seen at every look (.csv, .parquet or .json).")
@click.option("--plot", metavar="FILE", help="Draw M_RBER over P/E cycles (PNG, SVG or PDF; needs matplotlib).")
def lifetime(
    *,
    chip: str | None,
    schemes: tuple[str, ...],
    requirement: float | None,
    mispredictions: float,
    chips: int,
    blocks: int,
    step: int,
    last: int,
    seed: int,
    device: str | None,
    waf: float,
    dwpd: float,
    out: str | None,
    plot: str | None,
) -> None:
    """Cycle the blocks of a virtual CHIP to the end of their lives under erase schemes.

    A block's wear is the stress that its erases have really left. Its life ends when its worst page, after a year at
    30 C, has more errors per KiB than the requirement; what is given is where the mean over blocks does. CHIP is by
    default the chip of --device, and tlc48-reo where there is none.

    \b
    ssdlab lifetime
    ssdlab lifetime tlc48-reo --scheme ispe --scheme reo --requirement 40 --out lives.csv --plot lives.png
    ssdlab lifetime --device electronics25 --waf 2.6 --dwpd 3
    """
    from ssdlab.chip import characterize
    from ssdlab.chip import lifetime as module
    from ssdlab.common.canvas import check_figure
    from ssdlab.common.frames import write_table
    from ssdlab.common.output import TABLES, check_ending, check_outputs
    from ssdlab.common.tables import show
    from ssdlab.show import verdicts
    from ssdlab.show.chips import of_lives

    check_ending("--out", out, TABLES)
    check_figure("--plot", plot)
    check_outputs({"--out": out, "--plot": plot}, [path for path in (chip, device) if path is not None])
    name = module.chip_for(chip, device)
    found = characterize.load(name, chips=chips, blocks=blocks, seed=seed)
    names = schemes or module.NAMES
    if requirement is None:
        requirement = characterize.constant(found, "erasing", "requirement")
    lives = module.cycle(found, names, requirement=requirement, mispredictions=mispredictions, step=step, last=last)
    cycles = module.lifetimes(lives, requirement)
    drives = None
    if device is not None:
        drives = {
            scheme: None if life is None else module.endurance(life, device, waf, dwpd)
            for scheme, life in cycles.items()
        }
    show([of_lives(lives, requirement, drives, chip=name)], verdict=verdicts.of_lives(cycles, requirement, drives))
    if (doubt := module.doubt(found)) is not None:
        what = f"the lives of {name} rest on an erase model that nobody measured: {doubt}"
        echo(f"note: {what}; take differences, not numbers")
    if out is not None:
        write_table(lives, out)
        echo(f"wrote {out}")
    if plot is not None:
        from ssdlab.show import plot as drawing

        drawing.save(drawing.lives(lives, requirement), plot)
        echo(f"wrote {plot}")
    if device is None:
        suggest("--device NAME --waf X --dwpd X: terabytes written and years of a drive with such blocks")
    elif plot is None:
        suggest("--plot lives.png draws errors over P/E cycles")


@commands.group()
def ecc() -> None:
    """The QC-LDPC code of hpca24."""


@ecc.command("simulate")
@click.option(
    "--rber", type=_rates, required=True, metavar="R|R,R,…|FROM:TO:STEP", help="Raw bit error rates, TO included."
)
@click.option("--words", type=Whole(1), default=10_000, show_default=True, metavar="N", help="Most words per RBER.")
@click.option(
    "--failures",
    type=_failures,
    default="none",
    show_default=True,
    metavar="N|none",
    help="Leave an RBER once N words have failed (batches of 2,000 are finished).",
)
@click.option(
    "--errors",
    type=click.Choice(["exact", "independent"]),
    default="exact",
    show_default=True,
    help="Exactly RBER x bits of a word, as hpca24's test pages, or every bit by itself.",
)
@click.option(
    "--soft",
    type=click.Choice(["none", "2-bit", "3-bit"]),
    default="none",
    show_default=True,
    help="Pages sensed three or seven times, decoded softly; with --errors independent.",
)
@click.option(
    "--schedule",
    type=click.Choice(["flooding", "layered"]),
    default="flooding",
    show_default=True,
    help="Schedule of the decoder; the figures of hpca24 use flooding.",
)
@click.option(
    "--threshold",
    type=Whole(0),
    metavar="N",
    help="A pruned syndrome weight above it predicts failure  [default: that expected at RBER 0.0085]",
)
@click.option("--seed", type=Whole(0), default=1, show_default=True, metavar="S", help="Seed of all random streams.")
@click.option("--threads", type=Whole(1), metavar="N", help="Threads  [default: cores]")
@click.option(
    "--out",
    type=_ending(".csv"),
    default="results/ecc.csv",
    show_default=True,
    metavar="FILE",
    help="Write the table to this file.",
)
@click.option(
    "--plot",
    type=_ending(".png", ".svg", ".pdf"),
    metavar="FILE",
    help="Draw frame-error rate and iterations (needs matplotlib).",
)
def simulate_ecc(
    rber: tuple[float, ...], words: int, failures: int, threads: int | None, out: str, plot: str | None, **given: Any
) -> None:
    """Decode random words: frame-error rate, iterations, read-retry prediction by the pruned syndrome weight.

    The table is kept after every 2,000 words: the same command goes on where it ends, and with more RBERs or words adds
    them.

    \b
    ssdlab ecc simulate --rber 0.004:0.012:0.0005 --words 10000 --plot results/ecc.png
    """
    from ssdlab.chip import ecc
    from ssdlab.common.canvas import check_figure
    from ssdlab.common.output import check_outputs
    from ssdlab.common.tables import show
    from ssdlab.show.chips import of_ecc

    check_figure("--plot", plot)
    make_folder(os.path.dirname(out) or ".")
    check_outputs({"--out": out, "--plot": plot}, ())

    def kept() -> str | None:
        return f"{out} is kept; the same command goes on from there" if os.path.exists(out) else None

    try:
        with signals.keeping(kept), share_progress() as progress:
            found = ecc.simulate(
                rber, words=words, failures=failures, threads=threads, progress=progress, out=out, **given
            )
    except KeyboardInterrupt:
        echo_error(signals.message())
        raise click.exceptions.Exit(signals.status()) from None
    show([of_ecc(found)])
    echo(f"wrote {out}")
    if plot is not None:
        from ssdlab.show import plot as drawing

        drawing.save(drawing.frame_errors(found), plot)
        echo(f"wrote {plot}")
