"""Shares of a run's time as whole nanoseconds: how batches keep what each channel and die did with its time.

Such a share is ``100.0 * time / elapsed`` [%]. Its time is a tenth of it as text, and is often the same in many parts
and results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TIMED = ("channels", "dies")
"""What of ``usage`` has such shares, for each of many parts."""
TIMES = "times."
"""What the names of their columns begin with: ``times.dies.read`` has a list of times [ns] for each result."""


def _elapsed_ns(data: Mapping[str, Any]) -> int:
    """How long a run was, 0 where that is not known."""
    return round((data.get("host", {}).get("elapsed_s") or 0.0) * 1e9)


def packed(data: dict[str, Any]) -> dict[str, list[int]]:
    """The times of what has shares of the run's time, as columns; the names of the shares take their place in ``data``.

    A share is ``100.0 * time / elapsed``, and whole nanoseconds are a tenth of what such floats are as text. Shares of
    which that is not the value to the last bit stay as they are. Of the first share of each part, which is its idle
    time, only what the others leave unexplained is kept: nothing, as a rule.
    """
    elapsed, usage = _elapsed_ns(data), data.get("usage", {})
    columns: dict[str, list[int]] = {}
    for part in TIMED if elapsed else ():
        rows = usage.get(part)
        if not rows or not isinstance(rows[0], dict):
            continue
        names = list(rows[0])
        try:
            times = [[round(row[name] * elapsed / 100.0) for row in rows] for name in names]
            exact = all(
                100.0 * time / elapsed == row[name] and type(row[name]) is float and len(row) == len(names)
                for name, column in zip(names, times, strict=True)
                for row, time in zip(rows, column, strict=True)
            )
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
        if exact:
            times[0] = [elapsed - sum(of_part) for of_part in zip(*times, strict=True)]
            columns |= {f"{TIMES}{part}.{name}": column for name, column in zip(names, times, strict=True)}
            usage[part] = names
    return columns


def unpack(data: dict[str, Any], found: Mapping[str, Any]) -> None:
    """Puts the shares back that :func:`packed` has taken, from the columns of a row."""
    elapsed, usage = _elapsed_ns(data), data.get("usage", {})
    for part in TIMED:
        names = usage.get(part)
        if names and isinstance(names[0], str):
            times = [found[f"{TIMES}{part}.{name}"] for name in names]
            times[0] = [elapsed - sum(of_part) for of_part in zip(*times, strict=True)]
            usage[part] = [
                {name: 100.0 * time / elapsed for name, time in zip(names, of_part, strict=True)}
                for of_part in zip(*times, strict=True)
            ]
