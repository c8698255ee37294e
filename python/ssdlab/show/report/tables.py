"""Tables of a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab.common.wording import better, words
from ssdlab.runs.options import value_text
from ssdlab.runs.reproduce import flat
from ssdlab.sweeps.table import WARNINGS

if TYPE_CHECKING:
    import polars


Json = dict[str, Any]
MOST_FRACTIONS = 10
"""A column of fractions with at most this many different values is an axis."""

DERIVED = ("ssdlab", "device.capacity_bytes", "device.cells.", "device.rpt", "device.code")
"""What follows from other parts of a manifest."""


def table_of_runs(runs: list[Json]) -> tuple[polars.DataFrame, list[str]]:
    """Runs as the table of a sweep: what of their manifests differs are the axes. Also the columns that an axis before
    them decides, as ``scheme`` decides ``read.pipeline``: they are no axes of their own."""
    import polars

    manifests = [flat(run["manifest"]) for run in runs]
    columns: dict[str, list[Any]] = {
        "device": [manifest["device.name"] for manifest in manifests],
        "scheme": [manifest["scheme"] for manifest in manifests],
        "workload": [run["workload"] for run in runs],
    }
    for key in dict.fromkeys(key for manifest in manifests for key in manifest if not key.startswith(DERIVED)):
        short = key.removeprefix("device.config.").removeprefix("workload.generator.")
        columns.setdefault(short, [manifest.get(key) for manifest in manifests])
    columns.pop("device.name", None)

    axes: dict[str, Sequence[str | int | float]] = {}
    decided: list[str] = []
    for name, found in columns.items():
        plain = [value if type(value) in (int, float, str) else value_text(value) for value in found]
        values = plain if all(type(value) in (int, float) for value in plain) else [str(value) for value in plain]
        if len(set(values)) == 1:
            continue
        deciding = (of for axis, of in axes.items() if axis not in decided)
        if any(len(set(zip(of, values, strict=True))) == len(set(of)) for of in deciding):
            decided.append(name)
        axes[name] = values
    frame = [polars.Series(name, values, strict=False) for name, values in axes.items()]
    frame.append(polars.Series("case", [run["name"] for run in runs]))
    marks = [", ".join(of["id"] for of in run["warnings"]) or None for run in runs]
    frame.append(polars.Series(WARNINGS, marks, dtype=polars.String))
    for key in dict.fromkeys(key for run in runs for key in run["statistics"]):
        numbers = [run["statistics"].get(key) for run in runs]
        frame.append(polars.Series(key, numbers, dtype=polars.Float64, strict=False))
    return polars.DataFrame(frame), decided


def table_data(
    name: str,
    table: polars.DataFrame,
    file: str,
    *,
    command: str = "",
    source: Path | None = None,
    decided: Sequence[str] = (),
) -> Json:
    """A table by columns. In that of a sweep the axes stand before ``case``; elsewhere texts, and the first columns
    as far as they look like axes."""
    from itertools import takewhile

    swept = "case" in table.columns
    if swept:
        axes = table.columns[: table.columns.index("case")]
    else:
        first = set(takewhile(lambda column: _like_axis(table[column]), table.columns))
        axes = [column for column in table.columns if column in first or not table[column].dtype.is_numeric()]
    columns = []
    for column in table.columns:
        role = "axis" if column in axes else "key" if column == "case" else "statistic"
        if column in decided:
            role = "decided"
        if column == WARNINGS:
            role = "warnings"
        columns.append({"name": column, "role": role, **_values(table[column])})
    text = source.read_text(encoding="utf-8") if source is not None else ""
    about = ""
    if source is not None:
        from ssdlab.sweeps.spec import Sweep

        about = Sweep.read(source).about
    return {
        "name": name,
        "file": file,
        "about": about,
        "rows": table.height,
        "swept": swept,
        "columns": columns,
        "command": command,
        "source": text,
        "cases": [],
    }


def _like_axis(column: polars.Series) -> bool:
    """Whether a column holds texts, or numbers that come again: whole ones, or few."""
    if not column.dtype.is_numeric():
        return True
    found = column.drop_nulls().unique().cast(float)
    return found.len() * 2 <= column.len() and (found.len() <= MOST_FRACTIONS or bool((found % 1 == 0).all()))


def _values(column: polars.Series) -> Json:
    """A column's values, once only where all are the same."""
    numeric = column.dtype.is_numeric()
    values = [finite_values(value) for value in column] if numeric else [None if v is None else str(v) for v in column]
    if len(values) > 1 and all(value == values[0] for value in values):
        return {"numeric": numeric, "all": values[0]}
    return {"numeric": numeric, "values": values}


def table_columns(table: polars.DataFrame) -> Json:
    return {name: [finite_values(value) for value in table[name]] for name in table.columns}


def finite_values(value: Any) -> Any:
    """A number as JSON can hold it: whole ones without a fraction, none in place of what is not finite."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def described_statistics() -> dict[str, list[str]]:
    """Unit and description of each statistic, as a run reports them."""
    from ssdlab.runs.api import run

    return {name: [unit, about] for name, _, unit, about in run(requests=1).scalars() if not name.startswith("run.")}


def statistics_in_words(names: Iterable[str]) -> dict[str, list[str]]:
    """What the axes of charts call statistics, and which way each is better, where there is something to say."""
    found = {name: [words(name), better(name)] for name in names}
    return {name: said for name, said in found.items() if said != [name, ""]}


def student_quantiles() -> list[float]:
    """Student's t of 95 % by degrees of freedom, from 1."""
    from ssdlab.common.confidence import t_quantile

    return [round(t_quantile(0.95, freedom), 6) for freedom in range(1, 41)]
