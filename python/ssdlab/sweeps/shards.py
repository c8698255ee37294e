"""Parts of a sweep that are played on machines which know nothing of each other, and their tables put together.

A shard is ``i/N``: which cases it has follows from their numbers alone. It writes its part of the table
with what is needed to check it, and :func:`merge` makes of all parts the table that one machine would have written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ssdlab._core import InputError
from ssdlab.common.frames import read_csv, write_table
from ssdlab.runs.findings import Finding
from ssdlab.sweeps.spec import Cases, Value
from ssdlab.sweeps.table import Statistics

if TYPE_CHECKING:
    import polars

SPREAD = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio (Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, 6.4): neighbours go
to different shards, whatever the axes' lengths, and shards differ by a few cases."""
ENDING = ".parquet"
HEADER, NUMBER, SHAPE, CASE, FINDINGS, ERROR = "sweep", "number", "shape", "case", "findings", "error"
"""The columns of a part beside statistics."""


class Shard(NamedTuple):
    """A part of a sweep's cases."""

    number: int
    """From 1 on."""
    of: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """Reads ``i/N``.

        Raises:
            InputError: it is something else.
        """
        number, _, of = text.partition("/")
        if number.isdecimal() and of.isdecimal() and len(of) < 10 and 1 <= int(number) <= int(of):
            return cls(int(number), int(of))
        raise InputError(f"--shard {text}: is no part of a whole\n  help: write i/N with i from 1 to N, such as 3/16")

    def numbers(self, cases: int) -> Iterator[int]:
        """The numbers of its cases, out of all cases of the sweep."""
        first, end = (-(-(number << 64) // self.of) for number in (self.number - 1, self.number))
        at = 0
        for number in range(cases):
            if first <= at < end:
                yield number
            at = at + SPREAD & (1 << 64) - 1

    @classmethod
    def of_case(cls, number: int, of: int) -> Shard:
        """The shard that has a case."""
        return cls((number * SPREAD % (1 << 64) * of >> 64) + 1, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class Header(NamedTuple):
    """What a part is one of. All parts of a table agree in it, but for the shard and the inputs."""

    file: str
    """How the sweep was called."""
    digest: str
    """Of what the sweep's file says."""
    quick: bool
    traces: bool
    """Whether real traces have taken the place of synthetic ones."""
    build: str
    """The ssdlab that played it (:func:`ssdlab.sweeps.task.build`)."""
    axes: dict[str, list[Value]]
    inputs: dict[str, str]
    """The files that its cases read, as seen from the sweep's file, with the SHA-256 of their contents."""
    shard: str


class Line(NamedTuple):
    """A case as a part has it."""

    number: int
    case: str | None
    findings: tuple[Finding, ...]
    error: str | None


def write_part(path: str, header: Header, lines: Sequence[Line], statistics: Statistics) -> None:
    """Writes a part of a table. A part without cases has one line, of no case."""
    import polars

    columns = statistics.frame()
    about = json.dumps({**header._asdict(), "shapes": statistics.shapes}, default=str)
    numbers: list[int | None] = [line.number for line in lines] or [None]
    shapes = [None if shape < 0 else shape for shape in statistics.shape_of] or [None]
    frame = polars.DataFrame(
        [
            polars.Series(HEADER, [about, *[None] * (len(numbers) - 1)], dtype=polars.String),
            polars.Series(NUMBER, numbers, dtype=polars.Int64),
            polars.Series(SHAPE, shapes, dtype=polars.Int32),
            polars.Series(CASE, [line.case for line in lines] or [None], dtype=polars.String),
            polars.Series(FINDINGS, [_findings_text(line.findings) for line in lines] or [None], dtype=polars.String),
            polars.Series(ERROR, [line.error for line in lines] or [None], dtype=polars.String),
        ]
    )
    write_table(frame.hstack(columns) if columns.width else frame, path)


def _findings_text(findings: Sequence[Finding]) -> str | None:
    return json.dumps([of._asdict() for of in findings], default=dict) if findings else None


class Part(NamedTuple):
    """A part of a table that has been read."""

    path: str
    header: Header
    shapes: list[tuple[str, ...]]
    frame: polars.DataFrame


def read_part(path: str) -> Part:
    """Reads a part.

    Raises:
        InputError: it is something else.
    """
    remedy = "`ssdlab sweep FILE --shard i/N --out PART.parquet` writes one"
    if not path.lower().endswith(ENDING):
        raise InputError(f"{path}: is no part of a sweep's table\n  help: {remedy}")
    frame = read_csv(path)
    try:
        about = json.loads(frame[HEADER][0])
        shapes = [tuple(names) for names in about.pop("shapes")]
        return Part(path, Header(**about), shapes, frame.drop(HEADER).filter(frame[NUMBER].is_not_null()))
    except Exception:
        raise InputError(f"{path}: is no part of a sweep's table of this ssdlab\n  help: {remedy}") from None


def header_of(cases: Cases, shard: Shard, *, quick: bool, build: str, inputs: Mapping[str, str]) -> Header:
    """What a part says of itself."""
    traces = cases.traces is not None
    return Header(
        cases.sweep.origin, cases.sweep.digest, quick, traces, build, cases.labels_of, dict(inputs), str(shard)
    )
