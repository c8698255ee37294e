"""The command that does something to a drive while it is served."""

from __future__ import annotations

import os

import click

from ssdlab.cli.base import commands, echo


@commands.group()
def tell() -> None:
    """Let time pass for a drive that is served, save it, cut its power, or ask how it is.

    SOCKET is that of `ssdlab serve --control SOCKET`. With several drives --drive names one.

    \b
    ssdlab serve --nvme 127.0.0.1:4420 --control drive.ctl
    ssdlab tell rest drive.ctl --for 6mo --at 40C
    ssdlab tell health drive.ctl
    """


_takes_drive = click.option("--drive", metavar="NAME", help="Which one of several drives.")
_takes_socket = click.argument("path", metavar="SOCKET")


def _asked(do: str, drive: str | None, **given: str | None) -> dict[str, str]:
    named = {name.rstrip("_"): value for name, value in {"drive": drive, **given}.items() if value is not None}
    return {"do": do, **named}


@tell.command()
@_takes_socket
@click.option("--for", "span", required=True, metavar="TIME", help="How long the drive rests, such as 6mo.")
@click.option("--at", metavar="TEMP", help="At which temperature, such as 40C  [default: the drive's at rest]")
@_takes_drive
def rest(*, path: str, span: str, at: str | None, drive: str | None) -> None:
    """Let time pass: the drive's data grows old.

    Nothing may be under way. What is measured begins then; what came before is a warm-up.
    """
    from ssdlab.runs.control import tell as ask

    ask(path, _asked("rest", drive, for_=span, at=at))
    echo(f"its data is {span} older, and what is measured begins now")


@tell.command()
@_takes_socket
@click.argument("file", metavar="FILE")
@_takes_drive
def save(*, path: str, file: str, drive: str | None) -> None:
    """Write a checkpoint of the drive, for --from. Nothing may be under way; what is buffered is written first."""
    from ssdlab.runs.control import tell as ask

    ask(path, _asked("save", drive, file=os.path.abspath(file)))
    echo(f"wrote {file} (a checkpoint, for --from)")


@tell.command()
@_takes_socket
@click.option("--stay-off", is_flag=True, help="The power stays off until `ssdlab tell restore`; requests are aborted.")
@_takes_drive
def cut(*, path: str, stay_off: bool, drive: str | None) -> None:
    """Cut the power of the drive, which comes back at once.

    What is under way is aborted, and what was not durable is gone from the data that clients read. The drive must be
    served with --set 'power.cut_at=["on-demand"]' (or other cuts).
    """
    from ssdlab.runs.control import tell as ask

    ask(path, _asked("cut", drive, until="restore" if stay_off else None))
    echo("the power was cut, and is off" if stay_off else "the power was cut, and has come back")


@tell.command()
@_takes_socket
@_takes_drive
def restore(*, path: str, drive: str | None) -> None:
    """Switch the power of the drive on again that was cut with --stay-off."""
    from ssdlab.runs.control import tell as ask

    ask(path, _asked("restore", drive))
    echo("the power has come back")


@tell.command()
@_takes_socket
@_takes_drive
def health(*, path: str, drive: str | None) -> None:
    """Show how the drive is, as JSON: what its SMART log has."""
    import json

    from ssdlab.runs.control import tell as ask

    echo(json.dumps(ask(path, _asked("health", drive)), indent=2))
