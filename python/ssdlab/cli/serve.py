"""The command that serves drives to real programs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from ssdlab.cli.base import (
    Whole,
    check_timeline,
    commands,
    echo,
    echo_error,
    handling_closed_stdout,
    options,
    run_option,
    takes_timeline,
)
from ssdlab.common import signals

if TYPE_CHECKING:
    from ssdlab.runs.serving import Drive, Served, Serving


DRIVE = (
    *("device", "array", "scheme", "age", "precondition", "settings", "warmup", "seed", "checkpoint"),
    *("policies", "ftl"),
)
_takes_drive = options(*(run_option(name) for name in DRIVE))
"""The options of a run that concern the drive alone."""
_takes_place = options(
    click.option("--socket", metavar="PATH", help="NBD: listen at a socket in the file system."),
    click.option("--listen", "address", metavar="HOST:PORT", help="NBD: listen at a TCP address; port 0 finds one."),
    click.option("--control", metavar="PATH", help="A socket at which `ssdlab tell` lets time pass, saves, asks."),
    click.option("--nvme", metavar="HOST:PORT", help="NVMe/TCP: listen at a TCP address; port 0 finds one."),
    click.option(
        "--allow-host", "hosts", metavar="NQN", multiple=True, help="NVMe/TCP: let in this host only; repeat."
    ),
    click.option(
        "--dhchap-secrets",
        "secrets",
        metavar="FILE",
        help="NVMe/TCP: let in hosts only that prove by DH-HMAC-CHAP that they have a secret of this file.",
    ),
)
"""Where clients come to."""


@commands.command()
@click.argument("drives", required=False, metavar="[DRIVES.toml]")
@_takes_place
@_takes_drive
@click.option("--data", metavar="FILE", help="Keep the data in this sparse file  [default: in memory]")
@click.option(
    "--memory", metavar="SIZE", default="4GiB", show_default=True, help="Keep at most this much data in memory."
)
@click.option(
    "--clock",
    type=click.Choice(["virtual", "real"]),
    default="virtual",
    show_default=True,
    help="Answer at once, or when the simulated drive would.",
)
@click.option(
    "--think",
    metavar="TIME|measured",
    default="0",
    show_default=True,
    help="Virtual clock: simulated time from a reply to the next request.",
)
@click.option(
    "--grace",
    metavar="TIME|none",
    default="5ms",
    show_default=True,
    help="Virtual clock: how long (real time) a client that cannot be watched may be silent before the drive goes on.",
)
@click.option(
    "--depth",
    type=Whole(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Virtual clock: requests that each client begins with that cannot be watched.",
)
@click.option(
    "--lag-bound",
    metavar="TIME",
    default="100us",
    show_default=True,
    help="Real clock: warn if 1 % of the replies leave later than this after the simulated completion.",
)
@click.option(
    "--age-after-load",
    "after_load",
    metavar="TIME",
    help="When the first clients have left, the drive rests so long, such as 6mo; then it is measured.",
)
@click.option("--once", is_flag=True, help="End when all clients have left.")
@click.option("--json", "json_out", metavar="FILE", help='Write the results as JSON; "-" is standard output.')
@run_option("requests_out")
@run_option("series_out")
@run_option("save")
@takes_timeline
@click.option("--explain", type=Whole(1), metavar="N", help="Show where the time of the N slowest requests went.")
@click.option("--quiet", "-q", is_flag=True, help="No table; only what is wrong.")
def serve(
    *,
    drives: str | None,
    data: str | None,
    memory: str,
    clock: str,
    think: str,
    grace: str,
    depth: int,
    lag_bound: str,
    after_load: str | None,
    once: bool,
    json_out: str | None,
    requests_out: str | None,
    series_out: str | None,
    save: str | None,
    timeline: str | None,
    windows: tuple[str, ...],
    slowest: int | None,
    explain: int | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Serve simulated drives to real programs, as network block devices (NBD) or NVMe drives (NVMe/TCP).

    Ctrl-C ends it and writes what a run writes. DRIVES.toml has a section for each of several drives.

    \b
    ssdlab serve --age pec=2000,retention=6mo --socket /tmp/drive.sock
    fio --name=a --ioengine=nbd --uri='nbd+unix:///?socket=/tmp/drive.sock' --rw=randread --size=1g
    ssdlab serve --clock real --data drive.img --listen 127.0.0.1:10809 --once --json out.json
    ssdlab serve --clock real --nvme 127.0.0.1:4420
    nvme connect -t tcp -a 127.0.0.1 -s 4420 -n nqn.2026-01.internal.ssdlab:drive
    """
    from ssdlab.cli.playing import Outputs
    from ssdlab.runs.serving import Pace, Serving

    place = _place(given)
    check_timeline(timeline, windows, slowest)
    outputs = Outputs(json_out, requests_out, series_out, save, None, timeline, windows, slowest)
    served = [drive.with_outputs(requests_out, series_out) for drive in _drives(drives, data, given)]
    _check(served, outputs, drives)
    pace = Pace("real" if clock == "real" else "virtual", think, grace, depth, lag_bound)
    records = timeline is not None or explain is not None
    rests = "--age-after-load" if after_load is not None else "--control"
    if (after_load is not None or place["control"] is not None) and (records or given["warmup"]):
        raise click.UsageError(
            f"{rests}: what comes before a rest is a warm-up, and a session with one cannot be played again: leave "
            "--warmup, --timeline and --explain out; or load with --save, then `ssdlab age`, then serve --from"
        )
    with Serving(served, pace, **place, memory=memory, records=records, after_load=after_load) as serving:
        for note in serving.notes:
            echo_error(f"note: {note}")
        uris = serving.start()
        with suppress(KeyboardInterrupt):
            _attend(serving, [] if quiet else uris, once, err=json_out == "-")
        _tell(serving)
        # A signal has ended it, perhaps: what is found out is written all the same.
        with signals.held():
            for of in serving.stop():
                _report(of, outputs, explain, quiet)


def _place(given: dict[str, Any]) -> dict[str, Any]:
    """Takes where clients come to out of what is given."""
    place = {name: given.pop(name) for name in ("socket", "address", "nvme")}
    if list(place.values()).count(None) != 2:
        raise click.UsageError(
            "clients need one place to come to: give --socket PATH, --listen HOST:PORT or --nvme HOST:PORT"
        )
    hosts = given.pop("hosts")
    if hosts and place["nvme"] is None:
        raise click.UsageError("--allow-host names hosts of NVMe: give it with --nvme HOST:PORT, or leave it out")
    secrets = given.pop("secrets")
    if secrets is not None and place["nvme"] is None:
        raise click.UsageError("--dhchap-secrets are of NVMe: give them with --nvme HOST:PORT, or leave them out")
    return {**place, "hosts": hosts or None, "secrets": secrets, "control": given.pop("control")}


def _drives(path: str | None, data: str | None, given: dict[str, Any]) -> list[Drive]:
    """The drives that are asked for: those of a file, or one."""
    from ssdlab.runs.options import flag_of, options_of
    from ssdlab.runs.serving import Drive, drives_of

    if path is None:
        return [Drive("", options_of(given), data)]
    context = click.get_current_context()
    for name in (*given, "data"):
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            flag = "--data" if name == "data" else flag_of(name)
            raise click.UsageError(f"{flag} is given beside {path}: write it there, below the drive's name")
    return drives_of(path)


def _check(drives: list[Drive], outputs: Any, path: str | None) -> None:
    """Refuses outputs that cannot be written, that are read, or that two drives would write."""
    from ssdlab.common.output import check_outputs

    if outputs.json == "-" and len(drives) > 1:
        raise click.UsageError("--json -: each of several drives has a result of its own: give a file")
    for option, file in outputs.paths().items():
        if file == "" or (file == "-" and option != "--json"):
            raise click.UsageError(f"{option} {file or 'is empty'}: give a path")
    files = {
        f"{option} ({drive.name})" if drive.name else option: drive.renamed(file)
        for drive in drives
        for option, file in outputs.paths().items()
    }
    read = [path, *(file for drive in drives for file in (drive.data, drive.options.checkpoint))]
    check_outputs(files, [file for file in read if file is not None])
    if outputs.windows:
        from ssdlab.runs.timeline import check

        check(outputs.windows)


def _attend(serving: Serving, uris: list[str], once: bool, err: bool) -> None:
    """Serves clients until the end."""
    with handling_closed_stdout(needed=True):
        for drive, uri in zip(serving.drives, uris, strict=False):
            echo(f"serving {drive.options.device} at {uri}", err=err)
    while not (serving.attend() and once):
        _tell(serving)


def _tell(serving: Serving) -> None:
    """Says what goes on, since this was said last."""
    for note in serving.said():
        echo_error(f"note: {note}")


def _report(of: Served, outputs: Any, explain: int | None, quiet: bool) -> None:
    """Writes and shows what has come of a drive."""
    from ssdlab.cli.playing import show_result, warn_of
    from ssdlab.common.output import replacing, write
    from ssdlab.common.tables import show

    to_stdout = outputs.json == "-"
    json_out = outputs.json if to_stdout else of.drive.renamed(outputs.json)
    wrote = [(of.drive.options.requests_out, "a row a request"), (of.drive.options.series_out, "time series")]
    if json_out is not None and not to_stdout:
        write(json_out, of.result.to_json().encode())
        wrote.insert(0, (json_out, "results"))
    if outputs.save is not None:
        path = of.drive.renamed(outputs.save)
        assert path is not None, "Invariant: a path is renamed to a path"
        with replacing(path) as temporary:
            of.session.save(temporary)
        wrote.append((path, "a checkpoint, for --from"))
    if outputs.timeline is not None:
        from ssdlab.runs.timeline import write_played

        path = of.drive.renamed(outputs.timeline)
        assert path is not None, "Invariant: a path is renamed to a path"
        size = write_played(of.session.replay, path, outputs.windows, outputs.slowest)
        wrote.append((path, f"timeline, {size / 1e6:,.1f} MB; open it in ui.perfetto.dev"))
    with handling_closed_stdout(needed=True):
        if to_stdout:
            click.echo(of.result.to_json(), nl=False)
        if quiet or to_stdout:
            warn_of(of.result)
        else:
            show_result(of.result)
        if explain is not None:
            from ssdlab.runs.explain import explain_played, of_explanation

            show(of_explanation(found) for found in explain_played(of.session.replay(), explain, ()).requests)
        for path, what in wrote:
            if path is not None and not quiet:
                echo(f"wrote {path} ({what})", err=to_stdout)
    if of.session.ended is not None:
        echo_error(f"{of.drive.name or of.drive.options.device}: {of.session.ended}")
