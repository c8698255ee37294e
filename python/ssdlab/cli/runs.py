"""Commands that play one workload."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ssdlab.cli.base import (
    Percentile,
    Whole,
    check_timeline,
    commands,
    echo,
    exit_if_marked,
    handling_closed_stdout,
    naming_qd,
    run_option,
    share_progress,
    suggest,
    takes_run_options,
    takes_strict,
    takes_timeline,
)
from ssdlab.cli.playing import Outputs, carry_out, interrupted, suggest_of
from ssdlab.runs.findings import lines
from ssdlab.runs.options import options_of

if TYPE_CHECKING:
    from ssdlab.runs.explain import Explanation
    from ssdlab.runs.findings import Finding
    from ssdlab.runs.tail import Tail


@commands.command()
@takes_run_options
@click.option(
    "--repeat",
    type=Whole(1),
    default=1,
    metavar="N",
    help="Run N times with seeds S, S+1, …; gives means with 95 % confidence intervals.",
)
@click.option("--threads", type=Whole(1), metavar="N", help="Threads for --repeat  [default: cores]")
@run_option("check")
@click.option("--json", "json_out", metavar="FILE", help='Write the results as JSON; "-" is standard output.')
@run_option("requests_out")
@run_option("series_out")
@run_option("save")
@run_option("save_at")
@click.option(
    "--plot",
    metavar="FILE",
    help="Draw percentiles and bandwidth over time (PNG, SVG or PDF; needs matplotlib).",
)
@takes_timeline
@takes_strict
@click.option("--quiet", "-q", is_flag=True, help="No table, no progress bar.")
@click.option(
    "--mqsim", nargs=2, metavar="CONFIG WORKLOAD", help="MQSim's ssdconfig.xml and workload.xml, as they are."
)
@click.option(
    "--scenario",
    "scenarios",
    type=Whole(1),
    multiple=True,
    metavar="N",
    help="With --mqsim: run this scenario only; may be repeated.",
)
@click.option("--fio", metavar="JOBFILE", help="fio's job file, as it is.")
@click.option(
    "--section", "sections", metavar="JOB", multiple=True, help="With --fio: run this job only; may be repeated."
)
@click.option(
    "--write-toml", metavar="DIR", help="With --mqsim or --fio: write an equivalent run as TOML files, and run nothing."
)
@click.option(
    "--output-format",
    type=click.Choice(["table", "fio", "fio-json", "fio-json+"]),
    default="table",
    help="Format of standard output: ssdlab's tables, or fio's text or JSON (json+: with bins of latencies).",
)
@click.pass_context
def run(
    context: click.Context,
    /,
    *,
    repeat: int,
    threads: int | None,
    json_out: str | None,
    requests_out: str | None,
    series_out: str | None,
    save: str | None,
    save_at: str | None,
    plot: str | None,
    timeline: str | None,
    windows: tuple[str, ...],
    slowest: int | None,
    strict: bool,
    quiet: bool,
    mqsim: tuple[str, str] | None,
    scenarios: tuple[int, ...],
    fio: str | None,
    sections: tuple[str, ...],
    write_toml: str | None,
    output_format: str,
    **given: Any,
) -> None:
    """Replay a workload on a device.

    \b
    ssdlab run --device mqsim --workload trace.csv.gz --replay closed:32 --json out.json
    ssdlab run --age pec=2000,retention=6mo --set chip.t_read=60us --repeat 5
    ssdlab run --device asplos21 --timeline slow.pftrace --slowest 3
    ssdlab run --mqsim ssdconfig.xml workload.xml
    ssdlab run --fio jobs.fio --output-format fio-json
    """
    outputs = Outputs(json_out, requests_out, series_out, save, save_at, timeline, windows, slowest, plot)
    others = {"--fio": (fio,), "--mqsim": mqsim or (), "--write-toml": (write_toml,)}
    for option, paths in ({option: (path,) for option, path in outputs.paths().items()} | others).items():
        if "" in paths:
            raise click.UsageError(f"{option} is empty: give a path")
        if paths == ("-",) and option not in ("--json", *others):
            raise click.UsageError(f"{option} -: goes to a file, as it is binary: give a path")
    check_timeline(timeline, windows, slowest)
    if timeline is not None and repeat > 1:
        raise click.UsageError("--timeline shows one run: leave out --repeat")
    if windows:
        from ssdlab.runs.timeline import check

        check(windows)
    if any((mqsim, scenarios, fio, sections, write_toml)) or output_format != "table":
        from ssdlab.cli import foreign

        asked = foreign.ForeignInputs(mqsim, scenarios, fio, sections, write_toml, output_format)
        with naming_qd(given):
            results = foreign.run(context, asked, given, outputs, repeat, threads, quiet)
    else:
        with naming_qd(given):
            results = [carry_out(options_of({**given, **outputs.options()}), outputs, repeat, threads, quiet)]
        # Whoever asked for files knows what comes next; their names then stand last.
        if not quiet and json_out != "-" and not outputs.files(0, 1):
            with handling_closed_stdout(needed=True):
                suggest_of(results[0])
    exit_if_marked(strict, any(result.warnings for result in results))


@commands.command()
@takes_run_options
@click.option(
    "--slowest", type=Whole(1), metavar="N", help="Explain the N slowest requests  [default: 3, or none with --request]"
)
@click.option(
    "--request", "numbers", type=Whole(0), multiple=True, metavar="N", help="Explain request N; may be repeated."
)
@click.option(
    "--tail",
    type=Percentile(),
    metavar="PERCENTILE",
    help="Explain all reads beyond this percentile together, such as p99.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: every stage with its times.")
def explain(*, slowest: int | None, numbers: tuple[int, ...], tail: float | None, as_json: bool, **given: Any) -> None:
    """Show where the time of the slowest requests went.

    Stages add up to a request's latency exactly; of a read they follow the part that arrived last.

    \b
    ssdlab explain --device asplos21 --workload asplos21/usr_1 --age pec=2000,retention=6mo --requests 20000
    ssdlab explain --device asplos21 --age pec=2000,retention=6mo --set workload.rate_iops=5000 --tail p99
    """
    if tail is not None:
        if slowest is not None or numbers:
            raise click.UsageError("--tail takes all reads together: leave out --slowest and --request")
        _explain_tail(tail, as_json, given)
        return
    from ssdlab.runs.explain import explain as explained
    from ssdlab.runs.kept import Interrupted

    if slowest is None:
        slowest = 0 if numbers else 3
    try:
        with naming_qd(given), share_progress() as progress:
            found, warnings = explained(options_of(given), slowest, numbers, progress)
    except Interrupted as error:
        _show_explained(error.found.requests, error.found.warnings, as_json)
        interrupted(_UNTIL_NOW, ())
    missing = set(numbers) - {of.request for of in found}
    if found or not missing:
        _show_explained(found, warnings, as_json)
    if missing:
        raise click.UsageError(f"request {min(missing)} did not complete: the run has fewer requests")


_UNTIL_NOW = "what completed until then is shown"


def _show_explained(found: Sequence[Explanation], warnings: Iterable[Finding], as_json: bool) -> None:
    for line in lines(warnings):
        echo(line, err=as_json)
    if as_json:
        import json

        stages = [of._asdict() | {"stages": [stage._asdict() for stage in of.stages]} for of in found]
        click.echo(json.dumps(stages))
        return
    from ssdlab.common.tables import show
    from ssdlab.runs.explain import of_explanation
    from ssdlab.show import verdicts

    show((of_explanation(of) for of in found), verdict=verdicts.of_explained(found))
    suggest(
        "--tail p99: all slow reads together, beside usual ones",
        "ssdlab run --timeline slow.pftrace --slowest 3, same options: what every die did",
    )


def _explain_tail(percentile: float, as_json: bool, given: dict[str, Any]) -> None:
    from ssdlab.runs.kept import Interrupted
    from ssdlab.runs.tail import tail

    try:
        with naming_qd(given), share_progress() as progress:
            found = tail(options_of(given), percentile, progress)
    except Interrupted as error:
        if error.found is None:
            raise KeyboardInterrupt from None
        _show_tail(error.found, as_json)
        interrupted(_UNTIL_NOW, ())
    _show_tail(found, as_json)


def _show_tail(found: Tail, as_json: bool) -> None:
    from ssdlab.runs.tail import of_tail

    for line in lines(found.warnings):
        echo(line, err=as_json)
    if as_json:
        import json

        stages = [stage._asdict() for stage in found.stages]
        warnings = [{**of._asdict(), "numbers": dict(of.numbers)} for of in found.warnings]
        click.echo(json.dumps(found._asdict() | {"stages": stages, "warnings": warnings}))
        return
    from ssdlab.common.tables import show
    from ssdlab.show import verdicts

    show([of_tail(found)], verdict=verdicts.of_tail(found))
    suggest("--slowest 3 in place of --tail: the slowest requests one by one")
