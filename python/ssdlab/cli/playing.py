"""Playing a run for the command line: progress, tables, files, signals."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from ssdlab.cli.base import echo, echo_error, handling_closed_stdout, suggest
from ssdlab.common import signals

if TYPE_CHECKING:
    from ssdlab.runs.options import Options
    from ssdlab.runs.result import Result, Runs
    from ssdlab.runs.runner import ProgressListener, RoundsListener


class Outputs(NamedTuple):
    """Where a run's results go."""

    json: str | None
    requests: str | None
    series: str | None
    save: str | None
    save_at: str | None
    timeline: str | None
    windows: tuple[str, ...]
    slowest: int | None
    plot: str | None = None

    def options(self) -> dict[str, str | None]:
        """Those that are options of the run."""
        return {
            "requests_out": self.requests,
            "series_out": self.series,
            "save": self.save,
            "save_at": self.save_at,
        }

    def paths(self) -> dict[str, str | None]:
        """The files by the options that name them."""
        return {
            "--json": self.json,
            "--requests-out": self.requests,
            "--series-out": self.series,
            "--save": self.save,
            "--timeline": self.timeline,
            "--plot": self.plot,
        }

    def files(self, seed: int, repeat: int) -> list[str]:
        """The files that the runs of ``repeat`` seeds write."""
        from ssdlab.runs.runner import for_seed

        logs = [path for path in (self.requests, self.series, self.save) if path is not None]
        if repeat > 1:
            logs = [for_seed(path, number) or "" for path in logs for number in range(seed, seed + repeat)]
        results = [path for path in (self.json, self.timeline, self.plot) if path not in (None, "-")]
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
    from ssdlab.common.canvas import check_figure
    from ssdlab.runs.api import check_against_inputs

    json_out = outputs.json
    # Where there are several seeds, the logs are other files, and checked there.
    paths = outputs.paths() if repeat == 1 else {"--json": json_out, "--plot": outputs.plot}
    check_figure("--plot", outputs.plot)
    check_against_inputs(paths, options)
    result = _play(options, repeat, threads, json_out, quiet, before)
    failure = None
    missing = {outputs.timeline, outputs.plot, json_out}
    try:
        if json_out is not None and json_out != "-":
            try:
                _write_json(json_out, result)
                missing.remove(json_out)
            except SimulationError as error:
                failure = error
        _show_outputs(result, options, outputs, repeat, quiet, title, wrote_json=failure is None)
    except KeyboardInterrupt:
        lost = [
            path for path in (json_out, outputs.plot, outputs.timeline) if path in missing and path not in (None, "-")
        ]
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


def _show_outputs(
    result: Result | Runs,
    options: Options,
    outputs: Outputs,
    repeat: int,
    quiet: bool,
    title: str,
    wrote_json: bool,
) -> None:
    """Shows a run's tables and what was written, and writes its timeline."""
    from ssdlab.runs.runner import for_seed

    json_out, seeds = outputs.json, range(options.seed, options.seed + repeat)
    with handling_closed_stdout(needed=bool(outputs.files(options.seed, repeat))):
        if title and not quiet and json_out != "-":
            echo(title)
        if not quiet and json_out != "-":
            show_result(result)
        else:
            warn_of(result)
        if json_out == "-":
            _write_json(json_out, result)
        logs = [
            (outputs.requests, "a row a request"),
            (outputs.series, "time series"),
            (outputs.save, "checkpoint, for --from"),
        ]
        for path, what in [(json_out if json_out != "-" and wrote_json else None, "results"), *logs]:
            if path is not None and not quiet:
                shown = path if repeat == 1 or what == "results" else f"{for_seed(path, seeds[0])} … seed{seeds[-1]}"
                echo(f"wrote {shown} ({what})", err=json_out == "-")
    if outputs.plot is not None:
        from ssdlab.show import plot as drawing

        drawing.save(drawing.overview(result), outputs.plot)
        with handling_closed_stdout(needed=True):
            if not quiet:
                echo(f"wrote {outputs.plot} (figure)", err=json_out == "-")
    if outputs.timeline is not None:
        from ssdlab.runs import timeline as module
        from ssdlab.runs.result import Result

        assert isinstance(result, Result), "Invariant: a timeline shows one run"
        size = module.write(options, outputs.timeline, outputs.windows, outputs.slowest)
        for window in module.beyond(outputs.windows, options, result.host):
            echo_error(f"--window {window}: lies behind the end of the run: {outputs.timeline} shows nothing of it")
        with handling_closed_stdout(needed=True):
            if not quiet:
                message = f"wrote {outputs.timeline} (timeline, {size / 1e6:,.1f} MB; open it in ui.perfetto.dev)"
                echo(message, err=json_out == "-")


def interrupted(what: str, kept: Sequence[str]) -> NoReturn:
    """Ends after a signal, with a message on what is kept."""
    kept_files = f"; kept: {', '.join(kept)}" if kept else ""
    echo_error(f"{signals.newline()}{signals.signal_name()}: {what}{kept_files}")
    raise click.exceptions.Exit(signals.status()) from None


def _play(
    options: Options, repeat: int, threads: int | None, json_out: str | None, quiet: bool, before: Sequence[str]
) -> Result | Runs:
    from ssdlab.runs.api import play_checked

    try:
        with _progress(quiet) as (progress, note, rounds):
            return play_checked(options, repeat, threads, json_out, progress=progress, note=note, rounds=rounds)
    except KeyboardInterrupt as error:
        kept = getattr(error, "kept", None)
        message = "nothing was kept" if kept is None else str(kept)
        written = [] if kept is None or kept.result is None else _hand_back(kept.result, json_out, quiet)
        interrupted(f"{message} of this run" if before else message, [*before, *written])


def _hand_back(result: Result | Runs, json_out: str | None, quiet: bool) -> list[str]:
    """Shows and writes what an interrupted run has measured; returns what was written. An earlier file keeps its
    name."""
    from ssdlab.common.output import Output

    if json_out == "-":
        _write_json(json_out, result)
    elif not quiet:
        with handling_closed_stdout(needed=True):
            show_result(result)
    if json_out in (None, "-"):
        return []
    output = Output(json_out or "")
    with open(output.temporary, "wb") as file:
        file.write(result.to_json().encode())
    return [output.commit(aside=True)]


def _progress(
    quiet: bool,
) -> AbstractContextManager[tuple[ProgressListener | None, Callable[[str], None], RoundsListener | None]]:
    """What shows how far a run is, what prints a line beside it, and what shows how far from a steady state it is."""
    if quiet:
        return nullcontext((None, echo_error, None))
    if not sys.stderr.isatty():
        from ssdlab.show import lines

        progress, rounds = lines.requests(echo_error)
        return nullcontext((progress, echo_error, rounds))
    from ssdlab.show.progress import bar

    return bar()


def show_result(result: Result | Runs) -> None:
    """Shows what puts the numbers in doubt, what came out, and the tables."""
    from ssdlab.common.tables import show
    from ssdlab.runs.result import Result
    from ssdlab.show import verdicts
    from ssdlab.show.runs import of_result, of_runs, warnings_of

    for line in warnings_of(result):
        echo(line)
    if isinstance(result, Result):
        show(*of_result(result), verdict=verdicts.of_run(result))
    else:
        show(*of_runs(result), verdict=verdicts.of_runs(result))


def suggest_of(result: Result | Runs) -> None:
    """Says what to try next after a run."""
    from ssdlab.runs.result import Result

    one = result if isinstance(result, Result) else result[0]
    device = one.manifest.device.name
    steps = []
    reads = one.host.read
    if reads.requests >= 1000 and "driver" not in one.manifest.workload:
        steps.append("ssdlab explain --tail p99, same options: where slow reads' time goes")
    if one.array is None and " " not in device:
        steps.append(f"ssdlab curve {device} --plot curve.png: latency as the load grows")
    if isinstance(result, Result):
        steps.append("--repeat 5: how much of it is chance")
    suggest(*steps)


def warn_of(result: Result | Runs) -> None:
    """Tells on standard error what puts a result in doubt whose tables are not shown."""
    from ssdlab.show.runs import warnings_of

    for line in warnings_of(result):
        echo_error(line)


def _write_json(path: str, result: Result | Runs) -> None:
    from ssdlab.common.output import write

    text = result.to_json()
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write(path, text.encode())
