"""What the commands share: their group, the options of a run, progress, and how errors are reported."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from ssdlab._version import __version__
from ssdlab.common import signals
from ssdlab.common.reasons import reasons_of
from ssdlab.common.tables import escaped, one_line
from ssdlab.runs.options import OPTIONS, Option, flag_of

INTERNAL, BAD_INPUT, MARKED = 1, 2, 3
"""Exit statuses: a run that could not go on, a user's mistake, with ``--strict`` a result that carries a warning. A
signal gives 128 + its number, 130 for Ctrl-C."""


if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _IntParam = click.ParamType[int]
    _FloatParam = click.ParamType[float]
else:
    _IntParam = _FloatParam = click.ParamType


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


class Percentile(_FloatParam):
    """A percentile, such as ``p99`` or ``99.9``."""

    name = "percentile"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(str(value).removeprefix("p"))
        except ValueError:
            number = math.nan
        if math.isnan(number):
            self.fail(f"{value} is not accepted: write a percentile such as p99 or p99.9", param, ctx)
        return number


def echo_error(text: str) -> None:
    """Prints to standard error. Labels and names of files cannot steer the terminal."""
    # Where nobody reads it, the exit status still shows it.
    with suppress(OSError):
        print(escaped(text), file=sys.stderr, flush=True)


def echo(text: str, *, err: bool = False) -> None:
    """Prints to standard output, or to standard error; escaped like :func:`echo_error`."""
    click.echo(escaped(text), err=err)


def suggest(*steps: str) -> None:
    """Prints what to try next, a line a step."""
    for number, step in enumerate(steps):
        echo(f"{'next: ' if number == 0 else '      '}{step}")


def abandon_stdout() -> None:
    """Whoever read standard output has gone: keeps Python from complaining when it flushes at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def handling_closed_stdout(*, needed: bool) -> Iterator[None]:
    """Prints to standard output. Where its reader has gone, the command goes on unheard if it is ``needed`` for more
    than what it prints, and ends otherwise."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:  # rich makes the one into the other
        if not needed or (isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError)):
            raise
        abandon_stdout()


SECTIONS = {
    "Runs": {
        "run": "runs", "curve": "curves", "explain": "runs", "device": "lists", "presets": "lists", "schema": "lists",
    },
    "Many runs": {
        "sweep": "sweeps", "merge": "sweeps", "compare": "sweeps", "shares": "sweeps", "tier": "tiers", "life": "lives",
        "fleet": "lives", "search": "searching", "faults": "faulting", "report": "studies", "study": "studies",
    },
    "Drives for other programs, and drives that exist": {
        "serve": "serve", "tell": "tell", "age": "age", "fit-device": "devices",
    },
    "Chips and codes": {"characterize": "chips", "lifetime": "chips", "ecc": "chips"},
    "Traces": {"trace": "traces"},
    "The shell": {"completion": "lists"},
}  # fmt: skip
"""The commands in the order of the help, each with its module, which is imported when it is asked for."""
MODULES = {name: module for names in SECTIONS.values() for name, module in names.items()}


class Once(click.Command):
    """A command that refuses an option which is given twice and takes one value: the first would be lost."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the words of a command line."""
        given = list(args)
        rest = super().parse_args(ctx, args)
        _, _, order = self.make_parser(ctx).parse_args(given)
        for option in order:
            if isinstance(option, click.Option) and not (option.multiple or option.is_flag) and order.count(option) > 1:
                name = max(option.opts, key=len)
                raise click.UsageError(f"{name} is given twice, and takes one value: give it once", ctx)
        return rest


class Subcommands(click.Group):
    """A group of commands in a command."""

    command_class = Once


class Sectioned(click.Group):
    """A group whose help lists its commands by section, each with the whole first sentence of what it does."""

    command_class = Once
    group_class = Subcommands

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, whether their modules are imported or not."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command, with its module."""
        if cmd_name not in self.commands and cmd_name in MODULES:
            import_module(f"ssdlab.cli.{MODULES[cmd_name]}")
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the sections."""
        width = max(map(len, MODULES))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                every = [(name, self.get_command(ctx, name)) for name in names]
                formatter.write_dl([(name.ljust(width), _sentence(command)) for name, command in every if command])


def _sentence(command: click.Command) -> str:
    """The first sentence of a command's help."""
    import inspect

    text = " ".join(inspect.cleandoc(command.help or "").partition("\n\n")[0].split())
    return text.partition(". ")[0].removesuffix(".") + "."


@click.group(
    cls=Sectioned,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Begin with `ssdlab run --device asplos21 --workload asplos21/usr_1 --age pec=2000,retention=6mo`, a worn "
    "drive whose reads take eleven times as long as without `--age`, and `ssdlab curve tlc --plot curve.png`; "
    "`ssdlab COMMAND --help` shows an example of each; docs/glossary.md explains the words of tables.",
)
@click.version_option(__version__, prog_name="ssdlab")
def commands() -> None:
    """A laboratory for NAND-flash SSDs: replays a workload on a simulated drive and reports what happened."""


Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def run_option(name: str) -> Decorator:
    """The option of the command line for an option of a run, as :data:`ssdlab.runs.options.OPTIONS` declares it."""
    option = OPTIONS[name]
    several = option.kind in ("workload", "settings", "age")
    callback = {"device": _if_given, "age": _joined}.get(name)
    return click.option(
        flag_of(name),
        name,
        type=Whole(option.least) if option.kind == "number" else None,
        multiple=several,
        default=(option.default,) if option.kind == "workload" else option.default,
        show_default=option.shows_default,
        metavar=option.metavar or None,
        is_flag=option.kind == "flag",
        help=option.help,
        callback=callback,
        shell_complete=preset_names(name) if name in ("device", "workload", "scheme") else _paths,
    )


Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def preset_names(kind: str) -> Completer:
    """Completes names of presets; a path is completed by the shell."""

    def complete(context: click.Context, option: click.Parameter, begun: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from ssdlab.runs.catalogue import presets

        names = [preset for preset in presets() if preset.kind == kind and preset.name.startswith(begun)]
        found = [CompletionItem(preset.name, help=preset.about) for preset in names]
        return found or _paths(context, option, begun)

    return complete


def _paths(context: click.Context, option: click.Parameter, begun: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(begun, type="file")]


def _if_given(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """The value of an option, and None for its default: another option may stand for it then."""
    from click.core import ParameterSource

    return value if context.get_parameter_source(option.name or "") != ParameterSource.DEFAULT else None


def _joined(context: click.Context, option: click.Parameter, value: tuple[str, ...]) -> str | None:
    """An age that is given in several parts."""
    return ",".join(value) if value else None


def options(*each: Decorator) -> Decorator:
    """Several options of the command line as one decorator, in their order in the help."""

    def give(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(each):
            command = option(command)
        return command

    return give


takes_strict = click.option("--strict", is_flag=True, help="Exit with status 3 if a result carries a warning.")
"""Whether a result in doubt is a failure."""

takes_accept = click.option(
    "--accept-warnings", is_flag=True, help="Take results that carry warnings, which are left out otherwise."
)
"""Whether results in doubt are taken all the same."""


def exit_if_marked(strict: bool, marked: bool) -> None:
    """Ends with status 3 where results carry warnings and none may."""
    if strict and marked:
        raise click.exceptions.Exit(MARKED)


takes_timeline = options(
    click.option(
        "--timeline", metavar="FILE", help="Write a timeline of every resource, for the Perfetto UI (ui.perfetto.dev)."
    ),
    click.option(
        "--window",
        "windows",
        multiple=True,
        metavar="FROM:TO",
        help="Show this window in the timeline, such as 10ms:12ms; may be repeated.",
    ),
    click.option(
        "--slowest",
        type=Whole(1),
        metavar="N",
        help="Show what happened around the N slowest requests in the timeline.",
    ),
)
"""The timeline of a run, and what it shows."""


def check_timeline(timeline: str | None, windows: tuple[str, ...], slowest: int | None) -> None:
    """Refuses a choice of what a timeline shows where none is written."""
    if timeline is None and (windows or slowest is not None):
        raise click.UsageError("--window and --slowest choose what a timeline shows: give --timeline FILE")


def _says_what_is_run(option: Option) -> bool:
    return bool(option.help) and not option.is_output and option.kind != "flag"


takes_run_options = options(*(run_option(name) for name, option in OPTIONS.items() if _says_what_is_run(option)))
"""The options that specify what is run."""


@contextmanager
def naming_qd(given: Mapping[str, Any]) -> Iterator[None]:
    """Errors about the pace name ``--qd`` where the pace was given by it: the core knows ``--replay`` alone."""
    from ssdlab._core import InputError

    try:
        yield
    except InputError as error:
        if given.get("qd") is not None and str(error).startswith("--replay"):
            error.args = (str(error).replace("--replay", "--qd", 1),)
        raise


def report_failures(failures: list[str], remedy: str) -> None:
    """Tells which cases failed (``case: why``), alike ones together, and ends with status 1 if any did."""
    if failures:
        echo_error(f"error: {len(failures)} cases failed\n  help: {remedy}")
        reasons = reasons_of((name, why) for name, _, why in (line.partition(": ") for line in failures))
        for reason in reasons[:20]:
            more = "" if reason.cases == 1 else f" and {reason.cases - 1:,} more"
            echo_error(f"  {reason.first}{more}: {reason.problem}")
            if reason.remedy:
                echo_error(f"    help: {reason.remedy}")
        if len(reasons) > 20:
            echo_error(f"  and {len(reasons) - 20} more reasons")
        raise click.exceptions.Exit(1)


@contextmanager
def case_progress(what: str) -> Iterator[Callable[[Any], None]]:
    """Shows how many cases are done, as a bar on a terminal; a signal ends it with a message on what is kept."""
    import warnings

    what = one_line(what)
    earlier = warnings.showwarning
    warnings.showwarning = lambda message, *_, **__: echo_error(f"note: {message}")
    try:
        if sys.stderr.isatty():
            from ssdlab.show.progress import cases

            with cases(what) as progress:
                yield progress
        else:
            from ssdlab.show import lines

            yield lines.cases(what, echo_error)
    except KeyboardInterrupt as error:
        done = getattr(error, "kept", (0,))[0]
        echo_error(
            f"{signals.newline()}{signals.signal_name()}: the results of {done} cases are kept; the same command goes "
            "on from there"
        )
        raise click.exceptions.Exit(signals.status()) from None
    finally:
        warnings.showwarning = earlier


def make_folder(folder: str, option: str = "--out") -> None:
    """Makes the folder that an option asks for."""
    from ssdlab.common.output import check_folder

    check_folder(option, folder)


@contextmanager
def share_progress() -> Iterator[Callable[[str, float | None], None]]:
    """Shows what is being done, and what share of it is, as a bar on a terminal."""
    if not sys.stderr.isatty():
        from ssdlab.show import lines

        yield lines.shares(echo_error)
        return
    from ssdlab.show.progress import shares

    with shares() as progress:
        yield progress
