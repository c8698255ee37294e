"""The command that plays faults."""

from __future__ import annotations

import click

from ssdlab.cli.base import INTERNAL, Whole, commands, suggest


@commands.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--cases", type=Whole(1), metavar="N", help="Play the first N cases  [default: the file's]")
@click.option("--threads", type=Whole(1), metavar="N", help="Cases at once  [default: cores]")
def faults(files: tuple[str, ...], cases: int | None, threads: int | None) -> int:
    """Play campaigns of power cuts and parts that break: cases drawn by a seed, and checked.

    A table says what became of them. Each failure is made small and shown as a command that plays it; the exit status
    is then not 0.

    \b
    ssdlab faults faults.toml --cases 1000
    """
    from ssdlab.common.tables import show
    from ssdlab.faults.campaign import faults as played
    from ssdlab.show import verdicts
    from ssdlab.show.faults import of_campaign

    failed = False
    for file in files:
        found = played(file, cases=cases, threads=threads)
        show(*of_campaign(found), verdict=verdicts.of_campaign(found))
        failed |= bool(found.failures)
    suggest("the command of a failure runs it alone" if failed else "--cases N: more cases, drawn by the same seed")
    return INTERNAL if failed else 0
