"""The command line. What is heavy (rich, polars) is imported where it is used: start-up stays below 0.1 s of CPU."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, NoReturn

import click

from . import __version__

if TYPE_CHECKING:
    from ._runner import Options, Progress
    from .api import Key
    from .result import Result, Runs

INTERNAL, BAD_INPUT, INTERRUPTED = 1, 2, 130
"""Exit statuses: a run that could not go on, a user's mistake, Ctrl-C."""


if TYPE_CHECKING:
    _IntParam = click.ParamType[int]
else:
    _IntParam = click.ParamType


class Whole(_IntParam):
    """A whole number from ``least`` up, that the core can hold."""

    name = "number"

    def __init__(self, least: int) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            number = -1
        if not self.least <= number < 1 << 63:
            self.fail(f"{value} is not accepted: write a whole number, {self.least} or more", param, ctx)
        return number


def _failures(value: str) -> int:
    """A number of failures; none is 0."""
    if value != "none" and not (value.isdecimal() and len(value) < 19):
        raise click.BadParameter(f"{value} is not accepted: write a whole number, or none")
    return 0 if value == "none" else int(value)


def _rates(value: str) -> tuple[float, ...]:
    """Raw bit error rates."""
    from ._core import InputError
    from .ecc import rates

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


def main() -> NoReturn:
    """The entry point of ``ssdlab``. Every failure is a line on standard error and an exit status, no traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        status = commands.main(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        _say(error.format_message())
        sys.exit(BAD_INPUT)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        name = context.command_path if context else "ssdlab"
        _say(f"error: {error.format_message()}\n  help: see `{name} --help`")
        sys.exit(BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted; nothing was kept")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _abandon_stdout()
        sys.exit(INTERNAL)
    except SystemExit:
        raise
    except BaseException as error:
        sys.exit(_fail(error))


def _fail(error: BaseException) -> int:
    from ._core import InputError, SimulationError

    if isinstance(error, InputError | SimulationError):
        _say("\n  ".join([f"error: {error}", *(f"note: {note}" for note in getattr(error, "__notes__", []))]))
        return BAD_INPUT if isinstance(error, InputError) else INTERNAL
    if isinstance(error, OSError):
        _say(f"error: {error.filename or 'output'}: {error.strerror or error}")
        return INTERNAL
    # The core's own assertions arrive here too, as pyo3's PanicException.
    import os

    if os.environ.get("SSDLAB_DEBUG"):
        raise error
    _say(
        f"error: internal fault: {type(error).__name__}: {error}\n"
        "  help: please report this with the command; SSDLAB_DEBUG=1 shows where it happened"
    )
    return INTERNAL


def _say(text: str) -> None:
    # Where nobody reads it, the exit status still tells.
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _abandon_stdout() -> None:
    """Whoever read standard output has gone: keeps Python from complaining when it flushes at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="ssdlab")
def commands() -> None:
    """A laboratory for NAND-flash SSDs: replays a workload on a simulated drive and tells what happened."""


INPUT = (
    click.option(
        "--device", metavar="NAME|FILE", default="tlc", show_default=True, help="Preset, or device file (TOML)."
    ),
    click.option(
        "--workload",
        "workloads",
        metavar="NAME|FILE|TRACE",
        multiple=True,
        default=("default",),
        show_default=True,
        help="Preset, workload file (.toml), or trace (plain, gzip or zstd); several traces are merged by time.",
    ),
    click.option("--scheme", metavar="NAME|AXIS=CHOICE,…", help="Scheme, or choices on its axes."),
    click.option("--age", metavar="KEY=VALUE,…", help="State at the start, such as pec=2000,retention=6mo."),
    click.option(
        "--replay", metavar="timed|timed:xN|closed:QD", help="Pace: trace times, N times faster, or QD at once."
    ),
    click.option("--requests", type=Whole(1), metavar="N", help="Stop after N requests."),
    click.option("--duration", metavar="TIME", help="Submit nothing after this simulated time, such as 10s."),
    click.option("--warmup", type=Whole(0), default=0, metavar="N", help="Leave the first N out of the statistics."),
    click.option(
        "--precondition",
        metavar="closed-form|write:N",
        help="Start as after long overwriting: by formula, or by really writing N times the capacity.",
    ),
    click.option(
        "--until-steady",
        metavar="TIME",
        help="Play until the state is steady by rounds of TIME (SNIA); the last five rounds are the result.",
    ),
    click.option("--seed", type=Whole(0), default=1, show_default=True, metavar="S", help="Of all random streams."),
    click.option(
        "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any key of `ssdlab schema`; may be repeated."
    ),
    click.option("--format", metavar="FORMAT", help="Of the trace, such as disksim:time=ms,offset=B,size=B."),
    click.option("--skip-bad-lines", type=Whole(0), default=0, metavar="N", help="Leave out up to N malformed lines."),
    click.option(
        "--sort-window", type=Whole(0), metavar="N", help="A line may stand N requests too late  [default: 1024]"
    ),
    click.option(
        "--volumes", metavar="overlay|namespaces|concatenate", help="Where a trace's volumes lie  [default: overlay]"
    ),
    click.option("--traces", metavar="DIR", help="Real traces, which take the place of the twins called as they are."),
    click.option("--beyond", metavar="wrap|refuse", help="Requests beyond the drive  [default: wrap]"),
)
"""What is run: the options that commands which run something share."""


def _of_a_run(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of :data:`INPUT`."""
    for option in reversed(INPUT):
        command = option(command)
    return command


def _options(
    *,
    workloads: tuple[str, ...],
    precondition: str | None,
    settings: tuple[str, ...],
    **given: Any,
) -> Options:
    """The run that the options of :data:`INPUT` ask for."""
    from ._runner import Options
    from .api import precondition_words

    settings = (*precondition_words(precondition), *settings)
    return Options(workload=workloads[0], merge=workloads[1:], settings=settings, **given)


@commands.command()
@_of_a_run
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
@click.option("--quiet", "-q", is_flag=True, help="No table, no progress bar.")
def run(
    *,
    repeat: int,
    threads: int | None,
    json_out: str | None,
    requests_out: str | None,
    series_out: str | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Replay a workload on a device.

    \b
    ssdlab run --device mqsim --workload trace.csv.gz --replay closed:32 --json out.json
    ssdlab run --age pec=2000,retention=6mo --set chip.t_read=60us --repeat 5
    """
    from ._runner import for_seed

    for option, path in (("--json", json_out), ("--requests-out", requests_out), ("--series-out", series_out)):
        if path == "":
            raise click.UsageError(f"{option} is empty: give a path")
    options = _options(requests_out=requests_out, series_out=series_out, **given)
    seed = options.seed
    result = _play(options, repeat, threads, json_out, bar=not quiet and sys.stderr.isatty())
    if not quiet and json_out != "-":
        _show(result)
    if json_out is not None:
        _write_json(json_out, result)
    if not quiet:
        seeds = range(seed, seed + repeat)
        logs = [(requests_out, "a row a request"), (series_out, "time series")]
        for path, what in [(json_out if json_out != "-" else None, "results"), *logs]:
            if path is not None:
                shown = path if repeat == 1 or what == "results" else f"{for_seed(path, seeds[0])} … seed{seeds[-1]}"
                click.echo(f"wrote {shown} ({what})", err=json_out == "-")


@commands.command()
@_of_a_run
@click.option("--slowest", type=Whole(0), metavar="N", help="The slowest N  [default: 3, or 0 with --request]")
@click.option("--request", "numbers", type=Whole(0), multiple=True, metavar="N", help="Number N; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: every stage with its times.")
def explain(*, slowest: int | None, numbers: tuple[int, ...], as_json: bool, **given: Any) -> None:
    """Tell where the time of the slowest requests went.

    Stages add up to a request's latency exactly; of a read they follow the part that arrived last.

    \b
    ssdlab explain --device asplos21 --workload asplos21/usr_1 --age pec=2000,retention=6mo --requests 20000
    """
    from .explain import explain as explained
    from .explain import of_explanation

    if slowest is None:
        slowest = 0 if numbers else 3
    found = explained(_options(**given), slowest, numbers)
    missing = set(numbers) - {of.request for of in found}
    if missing:
        raise click.UsageError(f"request {min(missing)} did not complete: the run has fewer requests")
    if as_json:
        import json

        stages = [of._asdict() | {"stages": [stage._asdict() for stage in of.stages]} for of in found]
        click.echo(json.dumps(stages))
        return
    from .table import show

    show(of_explanation(of) for of in found)


def _play(options: Options, repeat: int, threads: int | None, json_out: str | None, bar: bool) -> Result | Runs:
    from .api import play_checked

    try:
        with _bar() if bar else nullcontext((None, _say)) as (progress, note):
            return play_checked(options, repeat, threads, json_out, progress=progress, note=note)
    except KeyboardInterrupt as error:
        # The terminal has echoed "^C" at the start of the line.
        start = "\n" if sys.stderr.isatty() else ""
        _say(f"{start}interrupted: {getattr(error, 'kept', 'nothing was kept')}")
        raise click.exceptions.Exit(INTERRUPTED) from None


def _bar() -> AbstractContextManager[tuple[Progress, Callable[[str], None]]]:
    from .progress import bar

    return bar()


def _show(result: Result | Runs) -> None:
    from . import table
    from .result import Result

    tables, footnotes = table.of_result(result) if isinstance(result, Result) else table.of_runs(result)
    table.show(tables, footnotes)


def _write_json(path: str, result: Result | Runs) -> None:
    from ._runner import write

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
    from . import table
    from .api import presets as all_presets

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
        _say(f"error: preset `{name}`: there is no such preset\n  help: {hint}")
        raise click.exceptions.Exit(BAD_INPUT)
    print(texts[0].rstrip())


@commands.group()
def trace() -> None:
    """Describe, convert and cut block traces."""


def _reading(command: Callable[..., None]) -> Callable[..., None]:
    """The options of everything that reads traces."""
    for option in (
        click.option("--sort-window", type=Whole(0), metavar="N", help="A line may stand N requests too late."),
        click.option("--skip-bad-lines", type=Whole(0), default=0, metavar="N", help="Leave out up to N bad lines."),
        click.option("--format", metavar="FORMAT", help="Of the traces, where it cannot be told."),
    ):
        command = option(command)
    return command


@trace.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE…")
@_reading
@click.option("--page", type=Whole(1), default=4096, show_default=True, metavar="BYTES", help="What footprints count.")
@click.option("--plot", metavar="FILE", help="Draw it (PNG, PDF or SVG; needs matplotlib).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(
    traces: tuple[str, ...],
    format: str | None,
    skip_bad_lines: int,
    sort_window: int | None,
    page: int,
    plot: str | None,
    as_json: bool,
) -> None:
    """What is in a trace: mix, sizes, gaps, footprint, sequentiality, skew. Several are merged by time."""
    from . import table
    from . import trace as module

    frame = module.read(traces, format=format, skip_bad_lines=skip_bad_lines, sort_window=sort_window)
    found = module.info(frame, page)
    if as_json:
        import json

        print(json.dumps(found, indent=2))
    else:
        table.show(table.of_trace(", ".join(os.path.basename(path) for path in traces), found))
    if plot is not None:
        module.plot(frame, plot, ", ".join(os.path.basename(path) for path in traces), page)
        click.echo(f"wrote {plot}", err=as_json)


def _bounds(command: Callable[..., None]) -> Callable[..., None]:
    """The bounds of a part of a trace."""
    for option in (
        click.option("--range", nargs=2, metavar="FROM TO", help="Those that touch these bytes: 0B 1GiB."),
        click.option("--device", type=Whole(0), metavar="N", help="Those of one device."),
        click.option("--requests", type=Whole(1), metavar="N", help="N requests at most."),
        click.option("--until", metavar="TIME", help="Requests before this time."),
        click.option("--from", "start", metavar="TIME", help="Requests from this time on, such as 10s."),
    ):
        command = option(command)
    return command


@trace.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE…")
@click.argument("out", metavar="OUT")
@click.option("--to", metavar="msr|mqsim|fio|parquet", help="By OUT's ending if not given.")
@_bounds
@_reading
def convert(traces: tuple[str, ...], out: str, to: str | None, **options: Any) -> None:
    """Write a trace in another format; several are merged by time.

    \b
    ssdlab trace convert trace.csv.gz trace.parquet
    """
    _convert(traces, out, to, options)


@trace.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE…")
@click.argument("out", metavar="OUT")
@click.option("--to", metavar="msr|mqsim|fio|parquet", help="By OUT's ending if not given.")
@_bounds
@_reading
def cut(traces: tuple[str, ...], out: str, to: str | None, **options: Any) -> None:
    """Write a part of a trace: by time, count, device or range; times count from its first request.

    \b
    ssdlab trace cut trace.csv.gz part.csv --from 10s --until 20s --device 0
    """
    if not any(options[name] is not None for name in ("start", "until", "requests", "device", "range")):
        raise click.UsageError("nothing is cut: give --from, --until, --requests, --device or --range")
    _convert(traces, out, to, options)


def _convert(traces: tuple[str, ...], out: str, to: str | None, options: dict[str, Any]) -> None:
    from . import trace as module

    done = module.convert(traces, out, to=to, **options)
    for note in done.notes:
        _say(note)
    losses = [
        f"{count:,} {name.replace('_', ' ')}" for name, count in done.counts.items() if count and name != "requests"
    ]
    click.echo(f"wrote {out}: " + ", ".join([f"{done.counts['requests']:,} requests", *losses]))


@commands.command()
@click.argument("file", metavar="FILE")
@click.option("--out", metavar="FILE", help="Write the table (.csv, .parquet or .json).")
@click.option("--cache", default="results/cache", show_default=True, metavar="DIR", help="Where results are kept.")
@click.option("--retry-failed", is_flag=True, help="Run the cases again that failed before.")
@click.option("--quick", is_flag=True, help="Only the cases of the file's [quick].")
@click.option("--traces", metavar="DIR", help="Real traces, which take the place of the twins called as they are.")
@click.option("--files", metavar="DIR", help="Write each case's result (JSON) into this folder.")
@click.option("--threads", type=Whole(1), metavar="N", help="Cases at once  [default: cores]")
@click.option("--show", "shown", multiple=True, metavar="NAME", help="A statistic to be shown; may be repeated.")
def sweep(
    file: str,
    out: str | None,
    cache: str,
    retry_failed: bool,
    quick: bool,
    traces: str | None,
    files: str | None,
    threads: int | None,
    shown: tuple[str, ...],
) -> None:
    """Run the cases of FILE that are missing; show all of them, a row a case.

    \b
    ssdlab sweep sweep.toml --out sweep.csv --show host.read.latency_ns.p99
    """
    from . import cases, table
    from ._runner import check_outputs

    check_outputs({"--out": out}, (file,))
    with _listening(os.path.basename(file)) as progress:
        outcome = cases.sweep(
            file,
            cache=cache,
            threads=threads,
            retry_failed=retry_failed,
            quick=quick,
            traces=traces,
            files=files,
            progress=progress,
        )
    if out is not None:
        cases.write_table(outcome.table, out)
    table.show([table.of_sweep(outcome.table, shown)])
    total = outcome.table.height
    click.echo(f"{total} cases: {outcome.played} played, {total - outcome.played} kept in {cache}")
    if out is not None:
        click.echo(f"wrote {out}")
    _complain(
        [f"{_label(failed.labels)}: {failed.error}" for failed in outcome.failed], "--retry-failed runs them again"
    )


def _label(labels: dict[str, Any]) -> str:
    from .study import label_of

    return label_of(labels)


def _complain(failures: list[str], remedy: str) -> None:
    """Tells which cases failed, and ends with status 1 if any did."""
    if failures:
        _say(f"error: {len(failures)} cases failed\n  help: {remedy}")
        for line in failures[:20]:
            _say("  " + line.replace("\n", "\n  "))
        if len(failures) > 20:
            _say(f"  and {len(failures) - 20} more")
        raise click.exceptions.Exit(1)


@contextmanager
def _listening(what: str) -> Iterator[Callable[[Any], None] | None]:
    """A progress bar for cases on a terminal; Ctrl-C ends with a word on what is kept."""
    try:
        if sys.stderr.isatty():
            from .progress import cases

            with cases(what) as progress:
                yield progress
        else:
            yield None
    except KeyboardInterrupt as error:
        start = "\n" if sys.stderr.isatty() else ""
        done = getattr(error, "kept", (0,))[0]
        _say(f"{start}interrupted: the results of {done} cases are kept; the same command goes on from there")
        raise click.exceptions.Exit(INTERRUPTED) from None


@commands.command()
@click.argument("table_path", metavar="TABLE")
@click.option("--by", default="scheme", show_default=True, metavar="AXIS", help="The axis whose labels are compared.")
@click.option("--baseline", metavar="LABEL", help="The label that the others are compared with  [default: the first]")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="A statistic; may be repeated.")
@click.option("--plot", metavar="FILE", help="Draw the first metric as bars (PNG, SVG or PDF; needs matplotlib).")
@click.option("--out", metavar="FILE", help="Write the numbers of the first metric (.csv, .parquet or .json).")
def compare(
    table_path: str, by: str, baseline: str | None, metrics: tuple[str, ...], plot: str | None, out: str | None
) -> None:
    """Compare schemes with a baseline in a TABLE that `ssdlab sweep` wrote.

    Cases of the same seed are paired; ± is the half width of a 95 % confidence interval over seeds.

    \b
    ssdlab compare sweep.csv --by scheme --baseline rps --metric host.read.latency_ns.p99_99
    """
    from . import cases, table
    from .comparison import compare as compared

    found = cases.read_table(table_path)
    comparisons = [compared(found, m, baseline=baseline, by=by) for m in metrics or ("host.read.latency_ns.mean",)]
    for comparison in comparisons:
        tables, footnotes = table.of_comparison(comparison)
        table.show(tables, footnotes)
    if out is not None:
        cases.write_table(comparisons[0].frame(), out)
        click.echo(f"wrote {out}")
    if plot is not None:
        from . import plot as drawing

        drawing.save(drawing.bars(comparisons[0]), plot)
        click.echo(f"wrote {plot}")


@commands.command()
@click.argument("chip", metavar="CHIP")
@click.option("--out", default=None, metavar="DIR", help="Where tables go  [default: results/CHIP]")
@click.option("--figures", is_flag=True, help="Draw the papers' figures too (PNG; needs matplotlib).")
@click.option("--chips", type=Whole(1), default=160, show_default=True, metavar="N", help="Chips of the population.")
@click.option("--blocks", type=Whole(1), default=120, show_default=True, metavar="N", help="Blocks of each chip.")
@click.option("--seed", type=Whole(0), default=1, show_default=True, metavar="S", help="Of the population.")
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
    from . import characterize as module
    from . import table
    from .cases import write_table

    unknown = [name for name in only if name not in module.TABLES]
    if unknown:
        raise click.UsageError(f"no table is called {unknown[0]}: there are {', '.join(module.TABLES)}")
    found = module.load(chip, chips=chips, blocks=blocks, seed=seed)
    if constants:
        rows: list[tuple[str, ...]] = [(f"{part}.{key}", value, why) for part, key, value, _, why in found.constants]
        table.show([table.Table(f"{chip}: {found.about}", ("constant", "value", "source"), rows, left=3)])
        return
    folder = out or os.path.join("results", os.path.splitext(os.path.basename(chip))[0])
    _make_folder(folder)
    tables = {}
    names = list(only) or list(module.TABLES)
    with _measuring() as progress:
        for index, name in enumerate(names):

            def tell(share: float, index: int = index, name: str = name) -> None:
                progress(name, (index + share) / len(names))

            tell(0.0)
            tables[name] = module.TABLES[name](found, tell)
            write_table(tables[name], os.path.join(folder, f"{name}.csv"))
    click.echo(f"wrote {', '.join(f'{name}.csv' for name in tables)} in {folder}")
    if figures:
        from . import chip_figures, plot

        drawn: dict[str, Any] = {}
        if {"steps", "m_err", "cuts", "both", "rpt"} <= tables.keys():
            drawn |= chip_figures.reading(tables)
        if {"erase_times", "fail_ranges", "fail_bits", "life", "wordlines", "gate", "ept"} <= tables.keys():
            drawn |= chip_figures.erasing(tables, module.constant(found, "erasing", "requirement"))
        if "days" in tables:
            drawn["fig4"] = chip_figures.first_days(tables["days"])
        for name, figure in drawn.items():
            plot.save(figure, os.path.join(folder, f"{name}.png"))
        click.echo(f"wrote {', '.join(f'{name}.png' for name in drawn)} in {folder}")


@commands.command()
@click.argument("chip", metavar="CHIP", default="tlc48-reo")
@click.option(
    "--scheme", "schemes", multiple=True, metavar="NAME", help="An erase scheme; may be repeated  [default: all]"
)
@click.option(
    "--requirement", type=float, metavar="ERRORS", help="Errors per KiB of a usable block  [default: the chip's]"
)
@click.option("--mispredictions", type=float, default=0.0, show_default=True, metavar="SHARE", help="Of REO's pulses.")
@click.option("--chips", type=Whole(1), default=120, show_default=True, metavar="N", help="Chips of the population.")
@click.option("--blocks", type=Whole(1), default=1, show_default=True, metavar="N", help="Blocks of each chip.")
@click.option("--step", type=Whole(1), default=50, show_default=True, metavar="N", help="Cycles between two looks.")
@click.option("--last", type=Whole(1), default=10_000, show_default=True, metavar="N", help="P/E cycles at the end.")
@click.option("--seed", type=Whole(0), default=1, show_default=True, metavar="S", help="Of the population.")
@click.option("--device", metavar="NAME|FILE", help="Also tell what a device's host may write, and for how many years.")
@click.option(
    "--waf", type=float, metavar="X", default=1.0, show_default=True, help="The device's write amplification (ftl.waf)."
)
@click.option(
    "--dwpd", type=float, metavar="X", default=1.0, show_default=True, help="Its load: capacities written a day."
)
@click.option("--out", metavar="FILE", help="Write what was seen at every look (.csv, .parquet or .json).")
@click.option("--plot", metavar="FILE", help="Draw M_RBER over P/E cycles (PNG, SVG or PDF; needs matplotlib).")
def lifetime(
    *,
    chip: str,
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
    30 C, has more errors per KiB than the requirement; what is given is where the mean over blocks does.

    \b
    ssdlab lifetime
    ssdlab lifetime tlc48-reo --scheme ispe --scheme reo --requirement 40 --out lives.csv --plot lives.png
    ssdlab lifetime --device electronics25 --waf 2.6 --dwpd 3
    """
    from . import characterize, table
    from . import lifetime as module
    from .cases import write_table

    found = characterize.load(chip, chips=chips, blocks=blocks, seed=seed)
    names = schemes or tuple(module.SCHEMES)
    if requirement is None:
        requirement = characterize.constant(found, "erasing", "requirement")
    lives = module.cycle(found, names, requirement=requirement, mispredictions=mispredictions, step=step, last=last)
    drives = None
    if device is not None:
        cycles = module.lifetimes(lives, requirement)
        drives = {n: None if life is None else module.endurance(life, device, waf, dwpd) for n, life in cycles.items()}
    table.show([table.of_lives(lives, requirement, drives)])
    if out is not None:
        write_table(lives, out)
        click.echo(f"wrote {out}")
    if plot is not None:
        from . import plot as drawing

        drawing.save(drawing.lives(lives, requirement), plot)
        click.echo(f"wrote {plot}")


def _make_folder(folder: str) -> None:
    """Makes the folder that ``--out`` asks for."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        from ._core import InputError

        raise InputError(f"--out {folder}: cannot be made: {error.strerror}\n  help: give another folder") from None


@contextmanager
def _measuring() -> Iterator[Callable[[str, float], None]]:
    """A progress bar for measurements on a terminal."""
    if not sys.stderr.isatty():
        yield lambda name, share: None
        return
    from .progress import shares

    with shares() as progress:
        yield progress


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
    "--schedule",
    type=click.Choice(["flooding", "layered"]),
    default="flooding",
    show_default=True,
    help="Of the decoder; flooding is that of hpca24's figures.",
)
@click.option(
    "--threshold",
    type=Whole(0),
    metavar="N",
    help="A pruned syndrome weight above it predicts failure  [default: that expected at RBER 0.0085]",
)
@click.option("--seed", type=Whole(0), default=1, show_default=True, metavar="S", help="Of all random streams.")
@click.option("--threads", type=Whole(1), metavar="N", help="Threads  [default: cores]")
@click.option(
    "--out",
    type=_ending(".csv"),
    default="results/ecc.csv",
    show_default=True,
    metavar="FILE",
    help="Where the table is kept.",
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
    from . import ecc, table
    from ._runner import check_outputs

    _make_folder(os.path.dirname(out) or ".")
    check_outputs({"--out": out, "--plot": plot}, ())
    try:
        with _measuring() as progress:
            found = ecc.simulate(
                rber, words=words, failures=failures, threads=threads, progress=progress, out=out, **given
            )
    except KeyboardInterrupt:
        start = "\n" if sys.stderr.isatty() else ""
        kept = f"{out} is kept; the same command goes on from there" if os.path.exists(out) else "nothing was kept"
        _say(f"{start}interrupted: {kept}")
        raise click.exceptions.Exit(INTERRUPTED) from None
    table.show([table.of_ecc(found)])
    click.echo(f"wrote {out}")
    if plot is not None:
        from . import plot as drawing

        drawing.save(drawing.frame_errors(found), plot)
        click.echo(f"wrote {plot}")


@commands.group()
def study() -> None:
    """Run the studies and see which claims of the papers hold."""


@study.command("list")
def list_studies() -> None:
    """List the studies, their claims and how many hold."""
    from . import table
    from .study import studies

    rows = []
    for found in studies():
        passed = [verdict.passed for verdict in found.verdicts()]
        counts = (len(passed), passed.count(True), passed.count(False), passed.count(None))
        rows.append((found.id, found.about, *(f"{count}" for count in counts)))
    table.show([table.Table("Studies", ("study", "about", "claims", "hold", "fail", "not measured"), rows, left=2)])


@study.command("run")
@click.argument("id", metavar="STUDY")
@click.option("--quick", is_flag=True, help="Run some of the cases and compare them exactly with the kept results.")
@click.option("--traces", metavar="DIR", help="Real traces, which take the place of the twins called as they are.")
@click.option(
    "--results", metavar="DIR", help="Where tables go  [default: the study's folder; with --traces results/STUDY]"
)
@click.option("--cache", default="results/cache", show_default=True, metavar="DIR", help="Where results are kept.")
@click.option("--threads", type=Whole(1), metavar="N", help="Cases at once  [default: cores]")
@click.option("--retry-failed", is_flag=True, help="Run the cases again that failed before.")
@click.option("--figures", metavar="DIR", help="Draw the study's figures into this folder (needs matplotlib).")
def run_study(
    id: str,
    quick: bool,
    traces: str | None,
    results: str | None,
    cache: str,
    threads: int | None,
    retry_failed: bool,
    figures: str | None,
) -> None:
    """Run a study: its sweeps, tables and figures. What is in the cache is not run again."""
    from pathlib import Path

    from .study import study as find

    found = find(id)
    if quick and (traces is not None or results is not None or figures is not None):
        raise click.UsageError("--quick compares with the kept results: leave out --traces, --results and --figures")
    with ExitStack() as stack:

        def progress(name: str) -> Callable[[Any], None] | None:
            stack.close()
            return stack.enter_context(_listening(f"{id} {name}"))

        if quick:
            compared, differences = found.check(cache=cache, threads=threads, progress=progress)
        else:
            folder = Path(results) if results else Path("results", id) if traces else found.folder / "results"
            failures = found.run(
                folder, cache=cache, threads=threads, traces=traces, retry_failed=retry_failed, progress=progress
            )
    if quick:
        for line in differences[:20]:
            _say(f"  {line.table} {line.case}: {line.statistic} is {line.now}, was {line.kept}")
        click.echo(f"{compared} cases compared, {len(differences)} statistics differ")
        if differences:
            _say("error: results are not those that are kept\n  help: if the model was meant to change, raise")
            _say("        RESULTS_VERSION (crates/ssd/src/lib.rs) and run the studies again")
            raise click.exceptions.Exit(1)
        return
    click.echo(f"wrote {', '.join(str(folder / f'{name}.csv') for name in found.sweeps)}")
    if figures is not None:
        from . import plot

        os.makedirs(figures, exist_ok=True)
        for name, figure in found.figures(folder).items():
            plot.save(figure, os.path.join(figures, f"{name}.png"))
            click.echo(f"wrote {os.path.join(figures, f'{name}.png')}")
    _complain(failures, "--retry-failed runs them again")


@study.command()
@click.argument("id", required=False, metavar="[STUDY]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@click.option("--results", metavar="DIR", help="Tables other than those in the study's folder.")
def claims(id: str | None, as_json: bool, results: str | None) -> None:
    """What the papers published, what was measured, and whether it is within the accepted range."""
    from pathlib import Path

    from . import table
    from .study import studies
    from .study import study as find

    if id is None and results is not None:
        raise click.UsageError("--results belongs to one study: name it")
    found = studies() if id is None else [find(id)]
    verdicts = {each: each.verdicts(None if results is None else Path(results)) for each in found}
    if as_json:
        import json

        print(json.dumps([verdict.to_dict() for part in verdicts.values() for verdict in part], indent=1))
        return
    table.show([table.of_claims(each.id, each.about, part) for each, part in verdicts.items()])
    all_passed = [verdict.passed for part in verdicts.values() for verdict in part]
    click.echo(
        f"{len(all_passed)} claims: {all_passed.count(True)} hold, {all_passed.count(False)} fail, "
        f"{all_passed.count(None)} not measured"
    )


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
    from .api import schema as all_keys

    keys = all_keys()
    known = list(dict.fromkeys(key.section for key in keys))
    if section is not None and section not in known:
        _say(f"error: section `{section}`: there is no such section\n  help: the sections are {', '.join(known)}")
        raise click.exceptions.Exit(BAD_INPUT)
    return [key for key in keys if section in (None, key.section)]
