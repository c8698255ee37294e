"""Block traces: as tables, described, converted and cut."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.common.output import check_outputs, replacing
from ssdlab.runs.options import PathLike

if TYPE_CHECKING:
    import polars


TARGETS = {".csv": "msr", ".mqsim": "mqsim", ".trace": "mqsim", ".iolog": "fio", ".parquet": None}
"""What a file's ending asks for, where no format is given; None is Parquet."""


class Converted(NamedTuple):
    """What a conversion wrote."""

    counts: dict[str, int]
    """``requests`` written; ``times_rounded``, ``widened`` (to whole sectors) and ``left_out`` (trims, flushes),
    ``hints_left_out``: what the format cannot hold; ``bad_lines``, ``other_lines`` and ``reordered`` of the reading."""
    notes: tuple[str, ...]
    """Which formats were detected."""


def read(
    traces: PathLike | Sequence[PathLike],
    *,
    format: str | None = None,
    skip_bad_lines: int = 0,
    sort_window: int | None = None,
) -> polars.DataFrame:
    """Reads a trace, or several merged by time, into a polars frame.

    Columns: time_ns (from the first request), op (0 read, 1 write, 2 trim, 3 flush), offset [B], bytes, device,
    hint (0 for none); a row a request, in order of time. Raises :class:`ssdlab.InputError` with file, line, field
    and remedy.
    """
    import polars

    paths = _paths(traces)
    table = _core.convert(paths, None, None, format=format, skip_bad_lines=skip_bad_lines, sort_window=sort_window)
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
        requests: keep so many at most.
        device: keep those of one device.
        range: keep those that touch bytes from the first up to the second, such as ``("0B", "1GiB")``.

    Raises:
        InputError: bad input, or a format that cannot be recognized.
    """
    paths, target = _paths(traces), os.fspath(out)
    if to is None:
        ending = os.path.splitext(target)[1]
        if ending not in TARGETS:
            raise InputError(
                f"{target}: the ending tells no format\n  help: say --to msr, mqsim, fio or parquet, or end it in "
                + ", ".join(TARGETS)
            )
        to = TARGETS[ending]
    elif to == "parquet":
        to = None
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
    assert not done["data"], "what goes to a file is not returned"
    return Converted(dict(done["counts"]), tuple(done["notes"]))


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
