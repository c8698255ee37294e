"""The table of a sweep: axes, ``case``, ``warnings``, statistics."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.common.frames import read_csv
from ssdlab.runs.findings import ACCEPT, excluded_by
from ssdlab.sweeps.spec import Value

if TYPE_CHECKING:
    import polars


WARNINGS = "warnings"
"""The column of the ids of what puts a case's numbers in doubt, with commas between; null where nothing does. Tables
that were written before there were any lack it."""

ROWS = 1000
"""Lines of a table that are held as Python's numbers, which take ten times the room of polars'."""


def statistics_frame(rows: list[dict[str, Any]]) -> polars.DataFrame:
    import polars

    names = dict.fromkeys(name for row in rows for name in row)
    columns = [[row.get(name) for row in rows] for name in names]
    frame = polars.DataFrame(
        [
            polars.Series(name, values, dtype=polars.Float64, strict=False)
            for name, values in zip(names, columns, strict=True)
        ]
    )
    # A frame without columns has no lines: the number of lines is what counts here.
    return frame if names else polars.DataFrame({"": [None] * len(rows)})


def sweep_frame(
    labels: list[dict[str, Value]],
    cases: list[str | None],
    marks: list[str | None],
    statistics: list[polars.DataFrame],
) -> polars.DataFrame:
    import polars

    columns = []
    for axis in labels[0] if labels else []:
        values: list[Any] = [each[axis] for each in labels]
        kinds = {type(value) for value in values}
        kind = polars.Int64 if kinds == {int} else polars.Float64 if kinds <= {int, float} else polars.String
        if any(isinstance(value, int) and not -(1 << 63) <= value < 1 << 63 for value in values):
            kind = polars.String
        values = [str(value) for value in values] if kind == polars.String else values
        columns.append(polars.Series(axis, values, dtype=kind, strict=False))
    columns.append(polars.Series("case", cases, dtype=polars.String))
    columns.append(polars.Series(WARNINGS, marks, dtype=polars.String))
    found = polars.concat(statistics, how="diagonal") if statistics else polars.DataFrame()
    found = found.select(name for name in found.columns if name)
    return polars.DataFrame(columns).hstack(found) if found.width else polars.DataFrame(columns)


def axes_of(table: polars.DataFrame) -> list[str]:
    """The columns of a sweep's table that are axes: those before ``case``."""
    if "case" not in table.columns:
        raise InputError("this is no table of a sweep: it has no column `case`\n  help: write one with `ssdlab sweep`")
    return table.columns[: table.columns.index("case")]


def statistics_of(table: polars.DataFrame) -> list[str]:
    """The columns of a sweep's table that are statistics: those behind ``case`` and ``warnings``."""
    axes_of(table)
    return [name for name in table.columns[table.columns.index("case") + 1 :] if name != WARNINGS]


class LeftOut(NamedTuple):
    """Cases of a table that are left out since their results carry warnings."""

    cases: int
    of: int
    ids: tuple[str, ...]
    """The kinds that leave them out, the most frequent first."""

    def __str__(self) -> str:
        out = f"{self.cases:,} of {self.of:,} cases are left out"
        return f"{out} for their warnings ({', '.join(self.ids)}): {ACCEPT} takes them"


def usable(table: polars.DataFrame, accept_warnings: bool) -> tuple[polars.DataFrame, LeftOut | None]:
    """The cases of a sweep's table whose results may be compared, and what is left out of it.

    Raises:
        InputError: nothing is left.
    """
    import polars

    if accept_warnings or WARNINGS not in table.columns:
        return table, None
    reasons = [excluded_by(listed) for listed in table[WARNINGS]]
    marked = [bool(ids) for ids in reasons]
    if not any(marked):
        return table, None
    counts = Counter(id for ids in reasons for id in ids)
    left_out = LeftOut(sum(marked), table.height, tuple(id for id, _ in counts.most_common()))
    if all(marked):
        raise InputError(
            f"every case carries a warning: {', '.join(left_out.ids)}\n  help: `ssdlab run` of a case says what to do, "
            f"and docs/warnings.md; {ACCEPT} takes them as they are"
        )
    return table.filter(~polars.Series(marked)), left_out


def read_table(path: str | os.PathLike[str]) -> polars.DataFrame:
    """Reads a table that a sweep has written as CSV or Parquet."""
    import polars

    table = read_csv(path)
    return table.with_columns(polars.col(name).cast(polars.Float64) for name in statistics_of(table))
