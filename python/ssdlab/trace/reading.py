"""Block traces: as tables, described, converted and cut."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.common.output import check_folder, check_outputs, replacing
from ssdlab.runs.options import PathLike

if TYPE_CHECKING:
    import polars


TARGETS = {".csv": "msr", ".mqsim": "mqsim", ".trace": "mqsim", ".iolog": "fio", ".parquet": None}
"""What a file's ending asks for, where no format is given; None is Parquet."""


class Converted(NamedTuple):
    """What a conversion wrote."""

    counts: dict[str, int]
    """``requests`` written; ``bad_lines``, ``other_lines`` and ``reordered`` of the reading; of text formats what they
    cannot hold: ``times_rounded``, ``widened`` (to whole sectors), ``left_out`` (trims, flushes, those of zones) and
    ``hints_left_out``."""
    notes: tuple[str, ...]
    """Which formats were detected."""


def read(
    traces: PathLike | Sequence[PathLike],
    *,
    format: str | None = None,
    skip_bad_lines: int = 0,
    sort_window: int | None = None,
    requests: int | None = None,
) -> polars.DataFrame:
    """Reads a trace, or several merged by time, into a polars frame; the first ``requests`` of them.

    Columns: time_ns (from the first request), op (0 read, 1 write, 2 trim, 3 flush, and those of zones:
    docs/formats.md), offset [B], bytes, device, hint (0 for none); a row a request, in order of time. Raises
    :class:`ssdlab.InputError` with file, line, field and remedy.
    """
    import polars

    paths = _paths(traces)
    reading = {"format": format, "skip_bad_lines": skip_bad_lines, "sort_window": sort_window}
    table = _core.convert(paths, None, None, requests=requests, **reading)  # type: ignore[arg-type]
    return polars.read_parquet(io.BytesIO(table["data"]))


def convert(
    traces: PathLike | Sequence[PathLike],
    out: PathLike,
    *,
    to: str | None = None,
    format: str | None = None,
    skip_bad_lines: int = 0,
    sort_window: int | None = None,
    start: str | None = None,
    until: str | None = None,
    requests: int | None = None,
    device: int | None = None,
    range: tuple[str, str] | None = None,
) -> Converted:
    """Writes a trace, or several merged by time, in another format, streamed.

    Args:
        traces: a path or several.
        out: the file to write.
        to: ``"msr"``, ``"mqsim"``, ``"fio"`` (iolog version 2) or ``"parquet"``; by the file's ending if not given.
        format: of the traces, where it cannot be recognized from their content.
        skip_bad_lines: malformed lines that may be left out.
        sort_window: how many requests too late a line may stand.
        start: keep requests from this time on, such as ``"10s"``.
        until: keep requests before this time.
        requests: keep this many at most.
        device: keep those of one device.
        range: keep those that touch bytes from the first up to the second, such as ``("0B", "1GiB")``.

    Raises:
        InputError: bad input, a format that cannot be recognized, or a part that holds no request.
    """
    paths, target = _paths(traces), os.fspath(out)
    to = target_of(target, to)
    check_outputs({"OUT": target}, paths)
    with replacing(target) as temporary:
        done = _core.convert(
            paths,
            temporary,
            to,
            format=format,
            skip_bad_lines=skip_bad_lines,
            sort_window=sort_window,
            from_=start,
            until=until,
            requests=requests,
            device=device,
            range=range,
        )
        counts = dict(done["counts"])
        if not counts["requests"] and not counts.get("left_out"):  # Parquet holds everything
            reading = {"format": format, "skip_bad_lines": skip_bad_lines, "sort_window": sort_window}
            raise _nothing_left(paths, start, until, device, range, reading)
    assert not done["data"], "what goes to a file is not returned"
    return Converted(counts, tuple(done["notes"]))


def target_of(out: str, to: str | None) -> str | None:
    """The format that a file is written in: ``to``, or what its ending asks for; None is Parquet.

    Raises:
        InputError: the ending tells no format.
    """
    if to is not None:
        return None if to == "parquet" else to
    ending = os.path.splitext(out)[1]
    if ending not in TARGETS:
        raise InputError(
            f"{out}: the ending tells no format\n  help: say --to msr, mqsim, fio or parquet, or end it in "
            + ", ".join(TARGETS)
        )
    return TARGETS[ending]


def _nothing_left(
    paths: list[str],
    start: str | None,
    until: str | None,
    device: int | None,
    range: tuple[str, str] | None,
    reading: dict[str, Any],
) -> InputError:
    """Why a part of traces holds no request: what was asked for, and what there is."""
    import polars

    trace = read(paths, **reading)
    asked = {"--from": start, "--until": until, "--device": device, "--range": range and " ".join(range)}
    given = ", ".join(f"{option} {value}" for option, value in asked.items() if value is not None)
    devices = trace["device"].unique().sort().to_list()
    shown = ", ".join(map(str, devices[:8])) + (", …" if len(devices) > 8 else "")
    ends = (polars.col("offset") + polars.col("bytes")).max().alias("ends")
    last, begin, end = trace.select(polars.col("time_ns").max() / 1e9, polars.col("offset").min(), ends).row(0)
    order = "; --from must be before --until" if start is not None and until is not None else ""
    return InputError(
        f"{' and '.join(paths)}: no request lies in {given}\n  help: the {trace.height:,} requests come from 0 s to "
        f"{last:.9g} s, on device {shown}, from byte {begin} to {end}{order}"
    )


class Split(NamedTuple):
    """What a split wrote."""

    volumes: dict[int, int]
    """The requests of each device."""
    counts: dict[str, int]
    """``widened`` (to whole sectors), ``left_out`` and ``hints_left_out``: what MQSim ASCII cannot hold; ``bad_lines``,
    ``other_lines`` and ``reordered`` of the reading."""
    notes: tuple[str, ...]


def split(
    traces: PathLike | Sequence[PathLike],
    out: PathLike,
    *,
    requests: int = 100_000,
    format: str | None = None,
    skip_bad_lines: int = 0,
    sort_window: int | None = None,
) -> Split:
    """Writes each device's requests into a file of its own: what has many volumes as a folder of volumes.

    The traces are merged by time and read once, whatever the number of devices; the files are MQSim ASCII, which keeps
    nanoseconds, and are called by the devices' numbers.

    Args:
        traces: a path or several.
        out: the folder, which must not be there yet: it is there when all of it is written.
        requests: at most this many of each device, its first ones.
        format: of the traces, where it cannot be recognized from their content.
        skip_bad_lines: malformed lines that may be left out.
        sort_window: how many requests too late a line may stand.

    Raises:
        InputError: the folder is there, bad input, or a format that cannot be recognized.
        SimulationError: the disk is full, or another reason why a file cannot be written.
    """
    paths, target = _paths(traces), os.fspath(out)
    if os.path.lexists(target):
        raise InputError(f"{target}: is there already\n  help: give the name of a new folder")
    partial = f"{target.rstrip(os.sep)}.{os.urandom(4).hex()}.tmp"
    check_folder("OUT", partial)
    try:
        reading = {"format": format, "skip_bad_lines": skip_bad_lines, "sort_window": sort_window}
        volumes, counts, notes = _core.split(paths, partial, requests, **reading)  # type: ignore[arg-type]
        os.rename(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return Split(dict(volumes), dict(counts), tuple(notes))


class Inspection(NamedTuple):
    """What a trace is read as."""

    trace: str
    read_as: str
    """Format and units, and which other formats the content would do as."""
    doubts: tuple[str, ...]
    """What looks wrong: columns in other units, rates that no drive takes, jumps of the clock with their lines."""


def inspect(
    traces: PathLike | Sequence[PathLike], *, format: str | None = None, skip_bad_lines: int = 0
) -> list[Inspection]:
    """What traces are read as, and what looks as if they were read wrong."""
    found = []
    for path in _paths(traces):
        read_as, doubts = _core.inspect(path, format=format, skip_bad_lines=skip_bad_lines)
        found.append(Inspection(path, read_as, tuple(doubts)))
    return found


def _paths(traces: PathLike | Sequence[PathLike]) -> list[str]:
    paths = [os.fspath(trace) for trace in ([traces] if isinstance(traces, str | os.PathLike) else traces)]
    if not paths:
        raise InputError("no trace is given\n  help: give one path or more")
    return paths
