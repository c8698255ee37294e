"""polars frames as files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ssdlab._core import InputError
from ssdlab.common.output import TABLES, check_ending, write

if TYPE_CHECKING:
    import pandas
    import polars


def write_table(table: polars.DataFrame, path: str) -> None:
    """Writes a table as CSV, Parquet or JSON, by the path's ending."""
    import io

    buffer = io.BytesIO()
    check_ending("", path, TABLES)
    ending = os.path.splitext(path)[1].lower()
    if ending == ".csv":
        table.write_csv(buffer)
    elif ending == ".parquet":
        table.write_parquet(buffer)
    else:
        table.write_json(buffer)
    write(path, buffer.getvalue())


def to_pandas(table: polars.DataFrame) -> pandas.DataFrame:
    """A polars frame as a pandas one, without pyarrow: numbers as numpy holds them, which makes whole numbers floats
    where some are null.

    Raises:
        InputError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise InputError(
            "pandas is not installed\n  help: pip install 'ssdlab[pandas]', or go on with the polars frame"
        ) from None

    def values(column: polars.Series) -> object:
        return column.to_numpy() if column.dtype.is_numeric() or column.dtype.is_temporal() else column.to_list()

    return pandas.DataFrame({column.name: values(column) for column in table}, columns=table.columns)


def read_csv(path: str | os.PathLike[str]) -> polars.DataFrame:
    """Reads a table that was written as CSV, Parquet or JSON.

    Columns before ``case`` hold labels: those of a CSV are numbers only where each is written as its number is, for
    "2.1" and "2.10" are two versions of a firmware; ``true`` and ``false`` are booleans.
    """
    import json

    import polars

    path = os.fspath(path)
    try:
        if path.lower().endswith(".parquet"):
            return polars.read_parquet(path)
        if path.lower().endswith(".json"):
            with open(path, "rb") as file:
                return polars.DataFrame(json.load(file), infer_schema_length=None)
        names = polars.read_csv(path, n_rows=0).columns
        labels = names[: names.index("case")] if "case" in names else []
        found = polars.read_csv(path, infer_schema_length=None, schema_overrides=dict.fromkeys(labels, polars.String))
        return found.with_columns(_labels(found[name]) for name in labels)
    except (OSError, ValueError, TypeError, RecursionError, polars.exceptions.PolarsError) as error:
        raise InputError(
            f"{path}: cannot be read: {error}\n  help: give a table that `ssdlab sweep` has written"
        ) from None


TRUTHS = ("True", "False", "true", "false")
"""Booleans as Python and as polars write them."""


def _labels(texts: polars.Series) -> polars.Series:
    """Labels as numbers if all of them are written as numbers are, as booleans if all are those; as the texts that
    they are otherwise."""
    import polars

    known = texts.drop_nulls().unique()
    if len(known) and known.is_in(TRUTHS).all():
        return texts.str.to_lowercase() == "true"
    for kind in (polars.Int64, polars.Float64):
        numbers = known.cast(kind, strict=False)
        if numbers.null_count() or numbers.n_unique() < len(known) or not len(known):
            continue
        if all(text in (str(n), f"{n:.0f}", _written(n)) for text, n in zip(known, numbers, strict=True)):
            return texts.cast(kind)
    return texts


def _written(number: float) -> str:
    """A number as tables have it."""
    import polars

    return polars.DataFrame([polars.Series([number])]).write_csv(include_header=False).rstrip()
