"""Commands that play one workload, and those that list what can be chosen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from ssdlab import signals
from ssdlab.cli.base import (
    BAD_INPUT,
    Whole,
    commands,
    heard,
    of_a_run,
    options_of,
    say,
    tell,
)

if TYPE_CHECKING:
    from ssdlab._runner import Options, Progress
    from ssdlab.api import Key
    from ssdlab.result import Result, Runs


@commands.command()
@of_a_run
@click.option(
    "--repeat",
    type=Whole(1),
    default=1,
    metavar="N",
    help="Run N times with seeds S, S+1, …; gives means with 95 % confidence intervals.",
)
@click.option("--threads", type=Whole(1), metavar="N", help="Threads for --repeat  [default: cores]")
@click.option("--json", "json_out", metavar="FILE", help='Write the results as JSON; "-" is standard output.')
@click.option("--requests-out", metavar="FILE", help="Write a row a request (Parquet).")
@click.option("--series-out", metavar="FILE", help="Write the time series (Parquet).")
@click.option(
    "--timeline", metavar="FILE", help="Write what every resource did, for the Perfetto UI (ui.perfetto.dev)."
)
@click.option(
    "--window", "windows", multiple=True, metavar="FROM:TO", help="Of the timeline, such as 10ms:12ms; may be repeated."
)
@click.option(
    "--slowest", type=Whole(1), metavar="N", help="The surroundings of the N slowest requests in the timeline."
)
@click.option("--quiet", "-q", is_flag=True, help="No table, no progress bar.")
@click.option(
    "--mqsim", nargs=2, metavar="CONFIG WORKLOAD", help="MQSim's ssdconfig.xml and workload.xml, as they are."
)
@click.option("--scenario", "scenarios", type=Whole(1), multiple=True, metavar="N", help="Of --mqsim; may be repeated.")
@click.option("--fio", metavar="JOBFILE", help="fio's job file, as it is.")
@click.option("--section", "sections", metavar="JOB", multiple=True, help="Of --fio; may be repeated.")
@click.option("--write-toml", metavar="DIR", help="Of --mqsim, --fio: write TOML that runs alike, and run nothing.")
@click.option(
    "--output-format",
    type=click.Choice(["table", "fio", "fio-json"]),
    default="table",
    help="What standard output gets: our tables, or fio's text or JSON.",
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
    timeline: str | None,
    windows: tuple[str, ...],
    slowest: int | None,
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
    outputs = Outputs(json_out, requests_out, series_out, timeline, windows, slowest)
    others = {"--fio": (fio,), "--mqsim": mqsim or (), "--write-toml": (write_toml,)}
    for option, paths in ({option: (path,) for option, path in outputs.paths().items()} | others).items():
        if "" in paths:
            raise click.UsageError(f"{option} is empty: give a path")
        if paths == ("-",) and option not in ("--json", *others):
            raise click.UsageError(f"{option} -: goes to a file, as it is binary: give a path")
    if timeline is None and (windows or slowest is not None):
        raise click.UsageError("--window and --slowest choose what a timeline shows: give --timeline FILE")
    if timeline is not None and repeat > 1:
        raise click.UsageError("--timeline shows one run: leave out --repeat")
    if windows:
        from ssdlab.timeline import check

        check(windows)
    if any((mqsim, scenarios, fio, sections, write_toml)) or output_format != "table":
        from ssdlab.cli import switching

        words = switching.Words(mqsim, scenarios, fio, sections, write_toml, output_format)
        switching.run(context, words, given, outputs, repeat, threads, quiet)
        return
    carry_out(options_of(requests_out=requests_out, series_out=series_out, **given), outputs, repeat, threads, quiet)


class Outputs(NamedTuple):
    """Where a run's results go."""

    json: str | None
    requests: str | None
    series: str | None
    timeline: str | None
    windows: tuple[str, ...]
    slowest: int | None

    def paths(self) -> dict[str, str | None]:
        """The files by the options that name them."""
        return {
            "--json": self.json,
            "--requests-out": self.requests,
            "--series-out": self.series,
            "--timeline": self.timeline,
        }

    def files(self, seed: int, repeat: int) -> list[str]:
        """The files that the runs of ``repeat`` seeds write."""
        from ssdlab._runner import for_seed

        logs = [path for path in (self.requests, self.series) if path is not None]
        if repeat > 1:
            logs = [for_seed(path, number) or "" for path in logs for number in range(seed, seed + repeat)]
        results = [path for path in (self.json, self.timeline) if path not in (None, "-")]
        return [path for path in (*results, *logs) if path is not None]


def carry_out(
    options: Options,
    outputs: Outputs,
    repeat: int,
    threads: int | None,
    quiet: bool,
    title: str = "",
    before: Sequence[str] = (),
) -> Result | Runs:
    """Plays a run, writes what is asked for, and shows its tables under a title. ``before`` are the files that runs
    before it have written."""
    from ssdlab._core import SimulationError
    from ssdlab.api import check_against_inputs

    json_out = outputs.json
    # Where there are several seeds, the logs are other files, and checked there.
    paths = outputs.paths() if repeat == 1 else {"--json": json_out}
    check_against_inputs(paths, options)
    result = _play(options, repeat, threads, json_out, quiet, before)
    failure = None
    missing = {outputs.timeline, json_out}
    try:
        if json_out is not None and json_out != "-":
            try:
                _write_json(json_out, result)
                missing.remove(json_out)
            except SimulationError as error:
                failure = error
        _tell(result, options, outputs, repeat, quiet, title, wrote_json=failure is None)
    except KeyboardInterrupt:
        lost = [path for path in (json_out, outputs.timeline) if path in missing and path not in (None, "-")]
        what = (
            f"{' and '.join(map(str, lost))} {'was' if len(lost) == 1 else 'were'} not written"
            if lost
            else "not all was shown"
        )
        interrupted(what, [*before, *(path for path in outputs.files(options.seed, repeat) if path not in missing)])
    if failure is not None:
        # The run has been shown all the same.
        raise failure
    return result


def _tell(
    result: Result | Runs,
    options: Options,
    outputs: Outputs,
    repeat: int,
    quiet: bool,
    title: str,
    wrote_json: bool,
) -> None:
    """Shows a run's tables and what was written, and writes its timeline."""
    from ssdlab._runner import for_seed

    json_out, seeds = outputs.json, range(options.seed, options.seed + repeat)
    with heard(needed=bool(outputs.files(options.seed, repeat))):
        if title and not quiet and json_out != "-":
            tell(title)
        if not quiet and json_out != "-":
            _show(result)
        if json_out == "-":
            _write_json(json_out, result)
        logs = [(outputs.requests, "a row a request"), (outputs.series, "time series")]
        for path, what in [(json_out if json_out != "-" and wrote_json else None, "results"), *logs]:
            if path is not None and not quiet:
                shown = path if repeat == 1 or what == "results" else f"{for_seed(path, seeds[0])} … seed{seeds[-1]}"
                tell(f"wrote {shown} ({what})", err=json_out == "-")
    if outputs.timeline is not None:
        from ssdlab import timeline as module
        from ssdlab.result import Result

        assert isinstance(result, Result), "Invariant: a timeline shows one run"
        size = module.write(options, outputs.timeline, outputs.windows, outputs.slowest)
        for window in module.beyond(outputs.windows, options, result):
            say(f"--window {window}: lies behind the end of the run: {outputs.timeline} shows nothing of it")
        with heard(needed=True):
            if not quiet:
                told = f"wrote {outputs.timeline} (timeline, {size / 1e6:,.1f} MB; open it in ui.perfetto.dev)"
                tell(told, err=json_out == "-")


def interrupted(what: str, kept: Sequence[str]) -> NoReturn:
    """Ends after a signal, with a word on what there is."""
    kept_files = f"; kept: {', '.join(kept)}" if kept else ""
    say(f"{signals.newline()}{signals.word()}: {what}{kept_files}")
    raise click.exceptions.Exit(signals.status()) from None


@commands.command()
@of_a_run
@click.option("--slowest", type=Whole(0), metavar="N", help="The slowest N  [default: 3, or 0 with --request]")
@click.option("--request", "numbers", type=Whole(0), multiple=True, metavar="N", help="Number N; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: every stage with its times.")
def explain(*, slowest: int | None, numbers: tuple[int, ...], as_json: bool, **given: Any) -> None:
    """Tell where the time of the slowest requests went.

    Stages add up to a request's latency exactly; of a read they follow the part that arrived last.

    \b
    ssdlab explain --device asplos21 --workload asplos21/usr_1 --age pec=2000,retention=6mo --requests 20000
    """
    from ssdlab.explain import explain as explained
    from ssdlab.explain import of_explanation

    if slowest is None:
        slowest = 0 if numbers else 3
    found = explained(options_of(**given), slowest, numbers)
    missing = set(numbers) - {of.request for of in found}
    if missing:
        raise click.UsageError(f"request {min(missing)} did not complete: the run has fewer requests")
    if as_json:
        import json

        stages = [of._asdict() | {"stages": [stage._asdict() for stage in of.stages]} for of in found]
        click.echo(json.dumps(stages))
        return
    from ssdlab.table import show

    show(of_explanation(of) for of in found)


def _play(
    options: Options, repeat: int, threads: int | None, json_out: str | None, quiet: bool, before: Sequence[str]
) -> Result | Runs:
    from ssdlab.api import play_checked

    try:
        with _progress(quiet) as (progress, note):
            return play_checked(options, repeat, threads, json_out, progress=progress, note=note)
    except KeyboardInterrupt as error:
        told = str(getattr(error, "kept", "nothing was kept"))
        interrupted(f"{told} of this run" if before else told, before)


def _progress(quiet: bool) -> AbstractContextManager[tuple[Progress | None, Callable[[str], None]]]:
    """What shows how far a run is, and what prints a line beside it."""
    if quiet:
        return nullcontext((None, say))
    if not sys.stderr.isatty():
        from ssdlab import lines

        return nullcontext((lines.requests(say), say))
    from ssdlab.progress import bar

    return bar()


def _show(result: Result | Runs) -> None:
    from ssdlab import table
    from ssdlab.result import Result

    tables, footnotes = table.of_result(result) if isinstance(result, Result) else table.of_runs(result)
    table.show(tables, footnotes)


def _write_json(path: str, result: Result | Runs) -> None:
    from ssdlab.output import write

    text = result.to_json()
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write(path, text.encode())


@commands.command()
@click.argument("name", required=False)
def presets(name: str | None) -> None:
    """List devices, workloads, schemes and trace formats; with NAME, print what it stands for.

    \b
    ssdlab presets tlc > my.toml        # a device file to be edited
    """
    from ssdlab import table
    from ssdlab.api import presets as all_presets

    found = all_presets()
    if name is not None:
        _print_preset(name, [(preset.name, preset.text) for preset in found])
        return
    kinds = [
        ("Devices (--device)", "device", ("name", "capacity", "what it is")),
        ("Workloads (--workload)", "workload", ("name", "what it is")),
        ("Schemes (--scheme)", "scheme", ("name", "choices", "what it is")),
        ("Trace formats (--format)", "format", ("name", "title", "a line")),
    ]
    cells: dict[str, Callable[..., tuple[str, ...]]] = {
        "device": lambda p: (p.name, table.size(p.capacity), p.about),
        "workload": lambda p: (p.name, p.about),
        "scheme": lambda p: (p.name, p.text, p.about),
        "format": lambda p: (p.name, p.about, p.text),
    }
    table.show(
        table.Table(title, columns, [cells[kind](preset) for preset in found if preset.kind == kind], left=3)
        for title, kind, columns in kinds
    )


def _print_preset(name: str, known: list[tuple[str, str]]) -> None:
    texts = [text for other, text in known if other == name]
    if not texts:
        from difflib import get_close_matches

        near = get_close_matches(name, [other for other, _ in known], 1)
        hint = f"did you mean `{near[0]}`?" if near else "`ssdlab presets` lists them"
        say(f"error: preset `{name}`: there is no such preset\n  help: {hint}")
        raise click.exceptions.Exit(BAD_INPUT)
    print(texts[0].rstrip())


@commands.command()
@click.argument("section", required=False)
def schema(section: str | None) -> None:
    """List every configuration key (of SECTION): meaning, accepted values, default of a bare device."""
    keys = _keys(section)
    shown = None
    for key in keys:
        if key.section != shown:
            print(f"{'' if shown is None else chr(10)}[{key.section}]  {key.section_about}")
            shown = key.section
        print(f"  {key.key} = {key.default}")
        print(f"      {key.about}")
        print(f"      {key.accepts}")


def _keys(section: str | None) -> list[Key]:
    from ssdlab.api import schema as all_keys

    keys = all_keys()
    known = list(dict.fromkeys(key.section for key in keys))
    if section is not None and section not in known:
        say(f"error: section `{section}`: there is no such section\n  help: the sections are {', '.join(known)}")
        raise click.exceptions.Exit(BAD_INPUT)
    return [key for key in keys if section in (None, key.section)]
