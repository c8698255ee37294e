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
    """Reads a table that was written as CSV or Parquet."""
    import polars

    path = os.fspath(path)
    try:
        if path.lower().endswith(".parquet"):
            return polars.read_parquet(path)
        return polars.read_csv(path, infer_schema_length=None)
    except (OSError, polars.exceptions.PolarsError) as error:
        raise InputError(
            f"{path}: cannot be read: {error}\n  help: give a table that `ssdlab sweep` has written"
        ) from None
