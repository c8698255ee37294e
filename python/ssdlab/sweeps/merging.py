"""The parts of a table that shards of a sweep have written, put together."""

from __future__ import annotations

import json
import math
import os
from array import array
from collections.abc import Mapping, Sequence

from ssdlab._core import InputError
from ssdlab.common.frames import write_table
from ssdlab.common.output import TABLES, check_ending, check_outputs
from ssdlab.runs.findings import Finding
from ssdlab.sweeps.campaign import SweepResult, result_of
from ssdlab.sweeps.shards import CASE, ERROR, FINDINGS, NUMBER, SHAPE, Line, Part, Shard, read_part
from ssdlab.sweeps.spec import Value, labels_at
from ssdlab.sweeps.table import PLACE, Statistics

SHOWN = 5
"""The most cases that an error names."""


def merge(paths: Sequence[str | os.PathLike[str]], *, out: str | os.PathLike[str] | None = None) -> SweepResult:
    """Puts the parts of a sweep together: the table is that of one machine, to the byte.

    Args:
        paths: the files that ``ssdlab sweep --shard i/N --out`` has written, in any order.
        out: write the table to this file (.csv, .parquet or .json).

    Raises:
        InputError: a file is no part; parts are of different sweeps, builds of ssdlab or input files; cases are
            missing, or in two parts.
    """
    out = None if out is None else os.fspath(out)
    check_ending("--out", out, TABLES)
    check_outputs({"--out": out}, [os.fspath(path) for path in paths])
    parts = [read_part(os.fspath(path)) for path in paths]
    if not parts:
        raise InputError("no part of a sweep is given\n  help: ssdlab merge PART.parquet …")
    for part in parts[1:]:
        _check_alike(parts[0], part)
    axes = parts[0].header.axes
    count = math.prod(map(len, axes.values()))
    _check_whole(parts, count)
    statistics = Statistics(count)
    lines: list[Line | None] = [None] * count
    for part in parts:
        _take(part, lines, statistics)
    found = result_of(axes, [line for line in lines if line is not None], statistics)
    if out is not None:
        write_table(found.table, out)
    return found


def _check_alike(first: Part, part: Part) -> None:
    one, other = first.header, part.header
    both = f"{first.path} and {part.path}"
    remedy = "run the shards again with the same files and the same ssdlab, or merge those that belong together"
    if (one.digest, one.axes) != (other.digest, other.axes):
        raise InputError(f"{both}: are of different sweeps ({one.file}, {other.file})\n  help: {remedy}")
    for name, what in (("quick", "--quick"), ("traces", "--traces")):
        if getattr(one, name) != getattr(other, name):
            raise InputError(f"{both}: {what} was given for one of them\n  help: {remedy}")
    if one.build != other.build:
        raise InputError(f"{both}: were played by different builds:\n  {one.build}\n  {other.build}\n  help: {remedy}")
    for name in sorted(set(one.inputs) & set(other.inputs)):
        if one.inputs[name] != other.inputs[name]:
            raise InputError(f"{both}: {name} was another file for each\n  help: {remedy}")
    # What the first part has not read, a later one is held against.
    first.header.inputs.update(other.inputs)


def _check_whole(parts: Sequence[Part], count: int) -> None:
    """Refuses parts that have a case twice, or lack one."""
    axes = parts[0].header.axes
    owner = array("i", [-1]) * count
    twice: dict[tuple[int, int], list[int]] = {}
    for place, part in enumerate(parts):
        for number in part.frame[NUMBER]:
            if not 0 <= number < count:
                raise InputError(f"{part.path}: has a case {number}, of {count:,}\n  help: run the shard again")
            if owner[number] >= 0:
                twice.setdefault((owner[number], place), []).append(number)
            owner[number] = place
    for (before, place), numbers in twice.items():
        raise InputError(
            f"{parts[before].path} and {parts[place].path}: {len(numbers):,} cases are in both: {_named(numbers, axes)}"
            "\n  help: leave one of them out"
        )
    missing = [number for number, place in enumerate(owner) if place < 0]
    if missing:
        header = parts[0].header
        of = Shard.read(header.shard).of
        flags = " --quick" * header.quick + " --traces DIR" * header.traces
        absent = sorted({Shard.of_case(number, of) for number in missing})
        which = ", ".join(map(str, absent[:SHOWN])) + (", …" if len(absent) > SHOWN else "")
        raise InputError(
            f"{len(missing):,} of {count:,} cases are missing, those of shards {which}: {_named(missing, axes)}\n"
            f"  help: ssdlab sweep {header.file}{flags} --shard {absent[0]} --out PART.parquet runs some of them"
        )


def _named(numbers: Sequence[int], axes: Mapping[str, Sequence[Value]]) -> str:
    shown = [
        ", ".join(f"{axis}={label}" for axis, label in labels_at(axes, number).items()) for number in numbers[:SHOWN]
    ]
    return "; ".join(shown) + ("; …" if len(numbers) > SHOWN else "")


def _take(part: Part, lines: list[Line | None], statistics: Statistics) -> None:
    import polars

    frame = part.frame
    texts = {text: _findings(text) for text in set(frame[FINDINGS])}
    rows = zip(frame[NUMBER], frame[CASE], frame[FINDINGS], frame[ERROR], strict=True)
    for number, case, findings, error in rows:
        lines[number] = Line(number, case, texts[findings], error)
    known = [statistics.shape(names) for names in part.shapes]
    names = [name for name in frame.columns if name not in (NUMBER, SHAPE, CASE, FINDINGS, ERROR)]
    shapes = [-1 if shape is None else known[shape] for shape in frame[SHAPE]]
    statistics.extend(frame.select(polars.col(NUMBER).alias(PLACE), *names), shapes)


def _findings(text: str | None) -> tuple[Finding, ...]:
    return () if text is None else tuple(Finding(**of) for of in json.loads(text))
