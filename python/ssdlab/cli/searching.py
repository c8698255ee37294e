"""The command that searches."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from ssdlab.cli.base import (
    case_progress,
    commands,
    echo,
    exit_if_marked,
    make_folder,
    suggest,
    takes_accept,
    takes_strict,
)
from ssdlab.cli.sweeps import RETRY_FAILED, TRACES, one_place, takes_where_cases_play

if TYPE_CHECKING:
    from ssdlab.searches.campaign import SearchResult


@commands.command()
@click.argument("file", metavar="FILE")
@click.option("--out", metavar="DIR", help="Write the tables and search.json into this folder.")
@click.option("--plot", metavar="FILE", help="Draw the front (PNG, SVG or PDF; needs matplotlib).")
@takes_where_cases_play
@RETRY_FAILED
@TRACES
@takes_accept
@takes_strict
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def search(file: str, out: str | None, plot: str | None, strict: bool, as_json: bool, **played: Any) -> None:
    """Search FILE's space for the configurations that no other surely beats.

    Short runs come first; length and seeds go to candidates that may be on the front. The same command goes on where it
    was stopped.

    \b
    ssdlab search search.toml --out results/search && ssdlab report results/search
    """
    from ssdlab.common.canvas import check_figure
    from ssdlab.common.output import check_outputs
    from ssdlab.runs.kept import Interrupted
    from ssdlab.searches.campaign import search as searched

    check_figure("--plot", plot)
    if out is not None:
        make_folder(out)
    check_outputs({"--plot": plot}, (file,))
    one_place(played)
    with ExitStack() as stack:

        def progress(about: str) -> Callable[[Any], None]:
            stack.close()
            return stack.enter_context(case_progress(f"{os.path.basename(file)}, {about}"))

        try:
            found = searched(file, out=out, progress=progress, **played)
        except Interrupted as error:
            # The bar's end says what is kept, and ends the command.
            if error.found is not None:
                _show(error.found, as_json)
            raise
    if plot is not None:
        from ssdlab.show import plot as drawing

        drawing.save(drawing.front(found), plot)
    _show(found, as_json)
    marked = "marked" in found.counts() or bool(found.doubts())
    if as_json:
        exit_if_marked(strict, marked)
        return
    echo(f"{found.spent:g} full cases of the race by {found.proposer}; {found.played} cases run now")
    for path in (*((os.path.join(out, "search.json"),) if out else ()), *((plot,) if plot else ())):
        echo(f"wrote {path}")
    if out is None:
        suggest("--out DIR keeps the tables; `ssdlab report DIR` makes a page of them")
    else:
        suggest(f"ssdlab report {out}: a page with the front, the axes and the command of each point")
    exit_if_marked(strict, marked)


def _show(found: SearchResult, as_json: bool) -> None:
    """Shows what was found, what puts it in doubt first."""
    from ssdlab.common.tables import show
    from ssdlab.runs.findings import lines
    from ssdlab.show import verdicts
    from ssdlab.show.searches import of_search

    if as_json:
        import json

        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
        return
    for line in lines(found.warnings):
        echo(line)
    show(*of_search(found), verdict=verdicts.of_search(found))
