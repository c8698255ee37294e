"""Commands for devices: `ssdlab fit-device`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ssdlab.cli.base import MARKED, Whole, commands, echo, echo_error, exit_if_marked, takes_accept, takes_strict

if TYPE_CHECKING:
    from ssdlab.devices.fitting import Fit


@commands.command("fit-device")
@click.argument("measurements", nargs=-1, required=True, metavar="MEASUREMENTS…")
@click.option(
    "--device", default="tlc", show_default=True, metavar="NAME|FILE", help="The device that the fit starts from."
)
@click.option("--out", metavar="FILE", help="Write the fitted drive, a device file (.toml).")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="A key whose value is known; may be repeated."
)
@click.option("--unknown", "more", multiple=True, metavar="KEY=LOW..HIGH", help="A further unknown; may be repeated.")
@click.option("--capacity", metavar="SIZE", help="The drive's capacity, such as 1024GB  [default: the device's]")
@click.option(
    "--steady", multiple=True, metavar="JOB", help="A job that was measured in steady state; may be repeated."
)
@click.option("--hold-out", multiple=True, metavar="JOB", help="Do not fit this job, compare it; may be repeated.")
@click.option(
    "--robust", is_flag=True, help="Let figures that no candidate gives count less: by their distance, not its square."
)
@click.option(
    "--folds", type=Whole(2), metavar="N", help="Also fit N times, each without a part of the jobs: 2 are halves."
)
@click.option("--budget", type=Whole(1), metavar="RUNS", help="Begin nothing new after N runs  [default: 6000]")
@click.option("--requests", type=Whole(100), metavar="N", help="Play at most N requests of a job  [default: 20000]")
@click.option(
    "--seeds",
    type=Whole(1),
    default=5,
    show_default=True,
    metavar="N",
    help="Play so many seeds for the figures that are shown.",
)
@click.option("--threads", type=Whole(1), metavar="N", help="Runs at once  [default: cores]")
@takes_accept
@takes_strict
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def fit_device(
    measurements: tuple[str, ...],
    device: str,
    out: str | None,
    steady: tuple[str, ...],
    folds: int | None,
    accept_warnings: bool,
    strict: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Find the constants of a drive that was measured: tR, tPROG, dies, link, buffer, firmware.

    MEASUREMENTS are results of fio (`--output-format=json`), tables of published figures (.csv, .toml), or folders of
    these. Candidates are simulated until they give the measured figures. Ctrl-C keeps the best one until then. Needs
    SciPy: pip install 'ssdlab[fit]'.

    \b
    ssdlab fit-device results/ --device tlc --out drive.toml --folds 2
    ssdlab run --device drive.toml
    """
    from ssdlab import devices
    from ssdlab.cli.playing import interrupted
    from ssdlab.common.output import check_ending, check_outputs, write
    from ssdlab.foreign.files import INPUTS
    from ssdlab.runs.findings import ACCEPT
    from ssdlab.runs.kept import Interrupted
    from ssdlab.show.lines import fits

    jobs = devices.read(measurements, steady=steady)
    check_ending("--out", out, (".toml",))
    check_outputs({"--out": out}, (device, *INPUTS))
    options = {name: value for name, value in given.items() if value is not None}
    listener = fits(echo_error)
    checks: Sequence[Fit] = ()
    cut = False
    try:
        found = devices.fit(jobs, device, progress=listener, **options)
    except Interrupted as error:
        if error.found is None:
            raise KeyboardInterrupt from None
        if out is not None:
            write(out, devices.device_toml(error.found).encode())
        _show(error.found, (), as_json)
        interrupted("this is the best candidate until then", [out] if out is not None else [])
    try:
        if folds:
            options.pop("hold_out")
            checks = devices.cross_check(jobs, device, folds=folds, progress=listener, **options)
    except Interrupted as error:
        checks, cut = error.found, True
    wanted = out is not None and (accept_warnings or not found.warnings)
    if out is not None and wanted:
        write(out, devices.device_toml(found).encode())
    _show(found, checks, as_json)
    if out is not None and wanted and not as_json:
        echo(f"wrote {out}")
    if cut:
        interrupted(f"the fit is whole, and {len(checks)} of its {folds} cross-checks", [out] if out and wanted else [])
    if out is not None and not wanted:
        echo_error(f"error: {out} was not written: figures carry warnings\n  help: {ACCEPT} writes it all the same")
        raise click.exceptions.Exit(MARKED)
    exit_if_marked(strict, bool(found.warnings))


def _show(found: Fit, checks: Sequence[Fit], as_json: bool) -> None:
    """Shows a fit, what puts it in doubt first."""
    import json

    from ssdlab.common import tables
    from ssdlab.runs.findings import lines
    from ssdlab.show import devices as shown
    from ssdlab.show import verdicts

    if as_json:
        echo(json.dumps({**shown.to_json(found), "checks": [shown.to_json(each) for each in checks]}, indent=1))
        return
    for line in lines(found.warnings):
        echo(line)
    tables.show(*shown.of_fit(found, checks), verdict=verdicts.of_fit(found))
