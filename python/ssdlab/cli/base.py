"""What the commands share: their group, the options of a run, progress, and how errors are told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from ssdlab._version import __version__
from ssdlab.common import signals
from ssdlab.common.tables import escaped, one_line

if TYPE_CHECKING:
    from ssdlab.runs.options import Options

INTERNAL, BAD_INPUT = 1, 2
"""Exit statuses: a run that could not go on, a user's mistake. A signal gives 128 + its number, 130 for Ctrl-C."""


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


def say(text: str) -> None:
    """Prints to standard error. Labels and names of files cannot steer the terminal."""
    # Where nobody reads it, the exit status still tells.
    with suppress(OSError):
        print(escaped(text), file=sys.stderr, flush=True)


def tell(text: str, *, err: bool = False) -> None:
    """Prints to standard output, or to standard error; escaped like :func:`say`."""
    click.echo(escaped(text), err=err)


def abandon_stdout() -> None:
    """Whoever read standard output has gone: keeps Python from complaining when it flushes at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def heard(*, needed: bool) -> Iterator[None]:
    """Prints to standard output. Where its reader has gone, the command goes on unheard if it is ``needed`` for more
    than what it prints, and ends otherwise."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:  # rich makes the one into the other
        if not needed or (isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError)):
            raise
        abandon_stdout()


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
        metavar="TIME|auto",
        help="Play until the state is steady by rounds of at least TIME (SNIA); the last five rounds are the result.",
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


def of_a_run(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of :data:`INPUT`."""
    for option in reversed(INPUT):
        command = option(command)
    return command


def options_of(
    *,
    workloads: tuple[str, ...],
    precondition: str | None,
    settings: tuple[str, ...],
    **given: Any,
) -> Options:
    """The run that the options of :data:`INPUT` ask for."""
    from ssdlab.runs.options import Options, precondition_words

    settings = (*precondition_words(precondition), *settings)
    return Options(workload=workloads[0], merge=workloads[1:], settings=settings, **given)


def complain(failures: list[str], remedy: str) -> None:
    """Tells which cases failed, and ends with status 1 if any did."""
    if failures:
        say(f"error: {len(failures)} cases failed\n  help: {remedy}")
        for line in failures[:20]:
            say("  " + line.replace("\n", "\n  "))
        if len(failures) > 20:
            say(f"  and {len(failures) - 20} more")
        raise click.exceptions.Exit(1)


@contextmanager
def listening(what: str) -> Iterator[Callable[[Any], None]]:
    """Shows how many cases are done, as a bar on a terminal; a signal ends with a word on what is kept."""
    import warnings

    what = one_line(what)
    told = warnings.showwarning
    warnings.showwarning = lambda message, *_, **__: say(f"note: {message}")
    try:
        if sys.stderr.isatty():
            from ssdlab.show.progress import cases

            with cases(what) as progress:
                yield progress
        else:
            from ssdlab.show import lines

            yield lines.cases(what, say)
    except KeyboardInterrupt as error:
        done = getattr(error, "kept", (0,))[0]
        say(
            f"{signals.newline()}{signals.word()}: the results of {done} cases are kept; the same command goes on "
            "from there"
        )
        raise click.exceptions.Exit(signals.status()) from None
    finally:
        warnings.showwarning = told


def make_folder(folder: str, option: str = "--out") -> None:
    """Makes the folder that an option asks for."""
    from ssdlab.common.output import check_folder

    check_folder(option, folder)


@contextmanager
def measuring() -> Iterator[Callable[[str, float], None]]:
    """Shows what share of measurements is done, as a bar on a terminal."""
    if not sys.stderr.isatty():
        from ssdlab.show import lines

        yield lines.shares(say)
        return
    from ssdlab.show.progress import shares

    with shares() as progress:
        yield progress
