"""Commands for studies, and the report of what a folder holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from ssdlab._core import InputError
from ssdlab.cli.base import (
    Whole,
    case_progress,
    commands,
    echo,
    echo_error,
    exit_if_marked,
    report_failures,
    suggest,
    takes_strict,
)
from ssdlab.cli.sweeps import RETRY_FAILED, TRACES, one_place, takes_where_cases_play

if TYPE_CHECKING:
    from pathlib import Path

    from ssdlab.study.folder import Difference, Study


def outdated_lines(study: Study, results: Path | None = None) -> Iterator[str]:
    """A warning where kept tables are of another results version than this program's."""
    if outdated := study.outdated(results):
        names = ", ".join(outdated)
        versions = ", ".join(sorted({"unknown" if of is None else str(of) for of in outdated.values()}))
        yield f"warning: {study.id}: tables of results version {versions}, of which this program is not: {names}"
        yield f"  help: `ssdlab study run {study.id}` runs them again; what changed: docs/results-versions.md"


@commands.group()
def study() -> None:
    """Repeat papers: which of their numbers come out within range."""


@study.command("list")
def list_studies() -> None:
    """List the studies, their claims and how many are within range."""
    from ssdlab.common.tables import Table, show
    from ssdlab.study.claims import count
    from ssdlab.study.folder import studies

    rows = []
    for found in studies():
        verdicts = found.verdicts()
        rows.append((found.id, f"{len(verdicts)}", *(f"{number}" for number in count(verdicts)), found.about))
    show([Table("Studies", ("study", "claims", "within", "outside", "not measured", "about"), rows, right=1)])
    suggest(
        "ssdlab study claims STUDY: each number of a paper, the measured one, and the range that is accepted",
        "ssdlab study run STUDY --quick: runs some cases again and compares",
    )


@study.command("run")
@click.argument("id", metavar="STUDY")
@click.option("--quick", is_flag=True, help="Run some of the cases and compare them exactly with the kept results.")
@TRACES
@click.option(
    "--results",
    metavar="DIR",
    help="Write tables into this folder  [default: the study's; with --traces results/STUDY]",
)
@takes_where_cases_play
@RETRY_FAILED
@click.option("--figures", metavar="DIR", help="Draw the study's figures into this folder (needs matplotlib).")
@click.option(
    "--shard",
    metavar="i/N",
    help="Run the i-th of N parts of each sweep's cases and write parts for `ssdlab study merge`  [default folder: "
    "results/STUDY.parts]",
)
@takes_strict
def run_study(
    id: str,
    quick: bool,
    traces: str | None,
    results: str | None,
    retry_failed: bool,
    figures: str | None,
    shard: str | None,
    strict: bool,
    **played: Any,
) -> None:
    """Run a study: its sweeps, tables and figures. What is in the cache is not run again.

    \b
    ssdlab study run fast12 --shard 1/2      # on two machines, or one after the other
    ssdlab study run fast12 --shard 2/2
    ssdlab study merge fast12 results/fast12.parts
    """
    from pathlib import Path

    from ssdlab.common.canvas import check_drawing
    from ssdlab.common.output import check_folder
    from ssdlab.study.folder import study as find

    found = find(id)
    one_place(played)
    if quick and (traces is not None or results is not None or figures is not None):
        raise click.UsageError("--quick compares with the kept results: leave out --traces, --results and --figures")
    if shard is not None and (quick or figures is not None):
        raise click.UsageError("--shard writes parts of tables: leave out --quick and --figures")
    if not quick:
        own = Path("results", f"{id}.parts") if shard else Path("results", id) if traces else found.folder / "results"
        folder = Path(results) if results else own
        if figures is not None:
            check_drawing("--figures")
            check_folder("--figures", figures)
        check_folder("--results", folder)
    warned: list[tuple[str, list[str]]] = []
    with ExitStack() as stack:

        def progress(name: str) -> Callable[[Any], None] | None:
            stack.close()
            return stack.enter_context(case_progress(f"{id} {name}"))

        if quick:
            compared, differences = found.check(progress=progress, **played)
        else:
            failures = found.run(
                folder,
                traces=traces,
                retry_failed=retry_failed,
                shard=shard,
                progress=progress,
                warned=lambda name, lines: warned.append((name, lines)),
                **played,
            )
    if quick:
        _compared(found, compared, differences)
        return
    _tell_written(found, folder, shard)
    if figures is not None:
        _draw(found, folder, figures)
    for name, lines in warned:
        echo(f"{name}:")
        for text in lines:
            echo(f"  {text}")
    report_failures(failures, "--retry-failed runs them again")
    exit_if_marked(strict, bool(warned))


def _draw(found: Study, folder: Path, figures: str) -> None:
    """Draws what a study's ``study.py`` draws of the tables of a folder."""
    from ssdlab.show import plot

    for name, figure in found.figures(folder).items():
        path = os.path.join(figures, f"{name}.png")
        plot.save(figure, path)
        echo(f"wrote {path}")


def _tell_written(found: Study, folder: Path, shard: str | None) -> None:
    """Tells which tables, or which parts of them, a run has written."""
    absent = {name: found.needs[name] for name in found.absent}
    written = [str(folder / f"{name}.csv") for name in (*found.sweeps, *found.computed) if name not in absent]
    if shard is not None:
        echo(f"wrote shard {shard} of {len(found.sweeps)} sweeps into {folder}")
        suggest(f"ssdlab study merge {found.id} {folder}: the tables, when all shards are there")
    else:
        echo(f"wrote {', '.join(written)}")
    for name, trace in absent.items():
        echo(f"kept {folder / f'{name}.csv'}: {trace} is not there")


@study.command("merge")
@click.argument("id", metavar="STUDY")
@click.argument("parts", metavar="DIR")
@click.option("--results", metavar="DIR", help="Write tables into this folder  [default: the study's]")
def merge_study(id: str, parts: str, results: str | None) -> None:
    """Put the parts together that shards of a study (`ssdlab study run --shard i/N`) have written into DIR.

    The tables are those of one machine, to the byte. Parts that are missing or do not belong together are named, and no
    table is written.
    """
    from pathlib import Path

    from ssdlab.common.output import check_folder
    from ssdlab.study.folder import study as find

    found = find(id)
    folder = Path(results) if results else found.folder / "results"
    check_folder("--results", folder)
    written, failures = found.merge(Path(parts), folder)
    echo(f"wrote {', '.join(str(folder / f'{name}.csv') for name in written)}")
    report_failures(failures, "--retry-failed runs them again in their shards")


def _compared(found: Study, compared: int, differences: list[Difference]) -> None:
    """Tells how the kept results differ from what runs give now; exits with 1 if they do."""
    for line in differences[:20]:
        echo_error(f"  {line.table} {line.case}: {line.statistic} is {line.now}, was {line.kept}")
    echo(f"{compared} cases compared, {len(differences)} statistics differ")
    for said in outdated_lines(found):
        echo_error(said)
    if differences:
        echo_error("error: results are not those that are kept\n  help: if the model was meant to change, raise")
        echo_error("        RESULTS_VERSION (crates/ssd/src/lib.rs) and run the studies again")
        raise click.exceptions.Exit(1)


@study.command("figures")
@click.argument("ids", metavar="[STUDY]...", nargs=-1)
def draw_figures(ids: tuple[str, ...]) -> None:
    """Draw the papers' figures from the kept tables, into each study's folder and README. Nothing is run."""
    from ssdlab.common.output import replacing
    from ssdlab.show import papers
    from ssdlab.study.folder import studies
    from ssdlab.study.folder import study as find

    for found in [find(id) for id in ids] if ids else studies():
        if not found.paper:
            if ids:
                raise InputError(f"{found.id}: no figures of a paper\n  help: they are listed in figures.toml")
            continue
        for path, text in papers.files(found).items():
            path.parent.mkdir(exist_ok=True)
            with replacing(os.fspath(path)) as temporary, open(temporary, "w", encoding="utf-8") as file:
                file.write(text)
            echo(f"wrote {path}")


@study.command("infer")
@click.argument("id", metavar="STUDY")
@click.option("--points", type=Whole(1), metavar="N", help="Play at most N settings  [default: 64]")
@click.option("--results", metavar="DIR", help="Write tables into this folder  [default: the study's]")
@takes_where_cases_play
def infer_study(id: str, points: int | None, results: str | None, **played: Any) -> None:
    """Search what a paper leaves open (open.toml) for the settings that its own claims agree with.

    The settings are chosen by one half of its system claims (the tuning half), split by a hash of their ids; the other
    half (the test half) is shown beside it.
    Writes infer.csv (a row for each point of the space) and infer-claims.csv (a row for each claim: at how many points
    it is within range). What is in the cache is not played again.
    """
    from pathlib import Path

    from ssdlab.common.frames import write_table
    from ssdlab.common.output import check_folder
    from ssdlab.common.tables import show
    from ssdlab.show.studies import of_inferred
    from ssdlab.study.folder import study as find
    from ssdlab.study.infer import infer

    found = find(id)
    one_place(played)
    if points is not None:
        played["points"] = points
    folder = Path(results) if results else found.folder / "results"
    check_folder("--results", folder)
    with ExitStack() as stack:

        def progress(name: str) -> Callable[[Any], None] | None:
            stack.close()
            return stack.enter_context(case_progress(f"{id} {name}"))

        inferred = infer(found, progress=progress, **played)
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
    """What the papers published, what was measured, whether that is within the accepted range, and what it is evidence
    of.

    A claim is predicted (nothing was chosen with its number in view), fitted (a constant or a setting was: --json names
    it) or by construction (a literal, a preset read back, arithmetic). What is outside its range carries its reason.
    """
    from pathlib import Path

    from ssdlab.common.tables import show
    from ssdlab.show.studies import of_claims, of_shapes
    from ssdlab.show.verdicts import of_claims as sentence
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
    for each, part in verdicts.items():
        shapes = each.shapes(None if results is None else Path(results))
        tables = [of_claims(each.id, each.about, part), *([of_shapes(each.id, shapes)] if shapes else [])]
        show(tables, verdict=sentence(each.id, part))
    for each in found:
        for line in outdated_lines(each, None if results is None else Path(results)):
            echo_error(line)
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
    name = "STUDY" if id is None else id
    suggest(
        f"ssdlab study run {name} --quick: runs some cases again and compares",
        f"ssdlab report studies/{name}: a page with every claim, its range and its evidence",
    )


@commands.command()
@click.argument("folder", metavar="DIR")
@click.option("--out", metavar="FILE", help="Write the page to this file  [default: DIR/report.html]")
@click.option("--study", metavar="STUDY", help="Study whose tables DIR holds, if the name of DIR does not show it.")
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
