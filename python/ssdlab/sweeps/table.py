"""The table of a sweep: axes, ``case``, ``warnings``, statistics."""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Iterable
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

PLACE = "#"
"""The column of a part of a table that says which line each of its lines is. No statistic has this name."""


class Statistics:
    """The statistics of the lines of a table, gathered in any order.

    A column stands where it stands in the first line that has it: which lines were gathered first, and how, changes
    nothing.
    """

    def __init__(self, lines: int) -> None:
        self.shape_of = array("i", [-1]) * lines
        """Which names the statistics of each line have; -1 where it has none."""
        self.shapes: list[tuple[str, ...]] = []
        self._numbers: dict[tuple[str, ...], int] = {}
        self._rows: list[dict[str, Any]] = []
        self._frames: list[polars.DataFrame] = []

    def add(self, place: int, statistics: dict[str, Any]) -> None:
        """Gathers a line."""
        self.shape_of[place] = self.shape(tuple(statistics))
        self._rows.append({PLACE: place, **statistics})
        if len(self._rows) == ROWS:
            self._flush()

    def shape(self, names: tuple[str, ...]) -> int:
        """The number of statistics of these names, in this order."""
        number = self._numbers.setdefault(names, len(self.shapes))
        if number == len(self.shapes):
            self.shapes.append(names)
        return number

    def extend(self, frame: polars.DataFrame, shapes: Iterable[int]) -> None:
        """Gathers lines at once: a frame of their statistics, and of :data:`PLACE`; and their shapes."""
        for place, shape in zip(frame[PLACE], shapes, strict=True):
            self.shape_of[place] = shape
        self._frames.append(frame)

    def frame(self) -> polars.DataFrame:
        """The columns of the table: null where a line has none."""
        import polars

        self._flush()
        used = dict.fromkeys(shape for shape in self.shape_of if shape >= 0)
        names = list(dict.fromkeys(name for shape in used for name in self.shapes[shape]))
        if not names:
            return polars.DataFrame()
        places = polars.DataFrame({PLACE: polars.Series(range(len(self.shape_of)), dtype=polars.Int64)})
        found = polars.concat(self._frames, how="diagonal")
        return places.join(found, on=PLACE, how="left").sort(PLACE).select(names)

    def _flush(self) -> None:
        import polars

        if not self._rows:
            return
        names = dict.fromkeys(name for row in self._rows for name in row)
        columns = [
            polars.Series(
                name,
                [row.get(name) for row in self._rows],
                dtype=polars.Int64 if name == PLACE else polars.Float64,
                strict=False,
            )
            for name in names
        ]
        self._frames.append(polars.DataFrame(columns))
        self._rows = []


def sweep_frame(
    labels: dict[str, list[Value]],
    cases: list[str | None],
    marks: list[str | None],
    statistics: Statistics,
) -> polars.DataFrame:
    """The table: ``labels`` by axis, the hashes of cases, the ids of their warnings, and their statistics."""
    import polars

    columns = []
    for axis, values in labels.items():
        kinds = {type(value) for value in values}
        kind = polars.Int64 if kinds == {int} else polars.Float64 if kinds <= {int, float} else polars.String
        if any(isinstance(value, int) and not -(1 << 63) <= value < 1 << 63 for value in values):
            kind = polars.String
        given = [str(value) for value in values] if kind == polars.String else values
        columns.append(polars.Series(axis, given, dtype=kind, strict=False))
    columns.append(polars.Series("case", cases, dtype=polars.String))
    columns.append(polars.Series(WARNINGS, marks, dtype=polars.String))
    found = statistics.frame()
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
    """Reads a table that a sweep has written as CSV, Parquet or JSON.

    Raises:
        InputError: it cannot be read, or a statistic is no number.
    """
    import polars

    table = read_csv(path)
    columns = []
    for name in statistics_of(table):
        try:
            columns.append(table[name].cast(polars.Float64))
        except polars.exceptions.PolarsError:
            texts = table[name]
            wrong = next((text for text in texts if text is not None and _number(text) is None), None)
            raise InputError(
                f"{os.fspath(path)}: {name}: {wrong!r} is no number\n  help: columns behind `case` are statistics; "
                "those before it are axes"
            ) from None
    return table.with_columns(columns)


def _number(text: object) -> float | None:
    try:
        return float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
