"""The entry point of the command line, and how a command ends. The commands are in :data:`ssdlab.cli.base.SECTIONS`."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from ssdlab.cli.base import BAD_INPUT, INTERNAL, abandon_stdout, commands, echo_error
from ssdlab.common import signals
from ssdlab.common.output import discard_all

__all__ = ["commands", "main"]


def main() -> NoReturn:
    """The entry point of ``ssdlab``. Every failure is a line on standard error and an exit status, no traceback."""
    try:
        signals.raising(discard_all)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        status = _status()
    except (click.Abort, KeyboardInterrupt):
        echo_error(signals.message())
        status = signals.status()
    signals.leaving()
    sys.exit(status)


def _status() -> int:
    """Carries out the command, and gives its exit status."""
    try:
        status = commands.main(standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        echo_error(error.format_message())
        return BAD_INPUT
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        name = context.command_path if context else "ssdlab"
        echo_error(f"error: {error.format_message()}\n  help: see `{name} --help`")
        return BAD_INPUT
    except (click.Abort, KeyboardInterrupt, SystemExit):
        raise
    except BrokenPipeError:
        abandon_stdout()
        return INTERNAL
    except BaseException as error:
        return _fail(error)


def _fail(error: BaseException) -> int:
    from ssdlab._core import InputError, SimulationError

    if isinstance(error, InputError | SimulationError):
        echo_error("\n  ".join([f"error: {error}", *(f"note: {note}" for note in getattr(error, "__notes__", []))]))
        return BAD_INPUT if isinstance(error, InputError) else INTERNAL
    if isinstance(error, OSError):
        echo_error(f"error: {error.filename or 'output'}: {error.strerror or error}")
        return INTERNAL
    # The core's own assertions arrive here too, as pyo3's PanicException.
    import os

    if os.environ.get("SSDLAB_DEBUG"):
        raise error
    echo_error(
        f"error: internal fault: {type(error).__name__}: {error}\n"
        "  help: please report this with the command; SSDLAB_DEBUG=1 shows where it happened"
    )
    return INTERNAL
