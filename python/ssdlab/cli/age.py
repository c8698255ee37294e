"""The command that lets time pass for a drive in a checkpoint."""

from __future__ import annotations

import os

import click

from ssdlab.cli.base import commands, echo


@commands.command()
@click.argument("checkpoint", metavar="FILE.ckpt")
@click.option("--for", "span", required=True, metavar="TIME", help="How long the drive rests, such as 6mo.")
@click.option("--at", metavar="TEMP", help="At which temperature, such as 40C  [default: the drive's at rest]")
@click.option("--save", metavar="FILE", help="Write the drive here  [default: over FILE.ckpt]")
def age(*, checkpoint: str, span: str, at: str | None, save: str | None) -> None:
    """Let time pass for the drive of a checkpoint: its data grows old.

    The drive is powered and idle. Data older than refresh.period is refreshed, as configured.

    \b
    ssdlab run --set workload.rw=write --save loaded.ckpt
    ssdlab age loaded.ckpt --for 6mo --save old.ckpt
    ssdlab run --from old.ckpt --set workload.rw=read
    """
    from ssdlab._core import InputError
    from ssdlab.runs.device import Device, is_checkpoint

    if not is_checkpoint(checkpoint):
        problem = "is no checkpoint" if os.path.exists(checkpoint) else "there is no such file"
        raise InputError(f"{checkpoint}: {problem}\n  help: make a checkpoint with `ssdlab run --save FILE`")
    device = Device.load(checkpoint)
    device.rest(span, at)
    path = checkpoint if save is None else save
    device.save(path)
    echo(f"wrote {path} (a checkpoint, for --from; its data is {span} older)")
