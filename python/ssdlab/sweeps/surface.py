"""Latency and throughput surfaces of a drive: their file, and what they say between the points of their grid.

The arithmetic is that of the crate ``tier``, which other programs may use without Python.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.common.frames import write_table
from ssdlab.common.numbers import binary_size, percent_text, time_text
from ssdlab.common.output import write
from ssdlab.common.shown import html, text

if TYPE_CHECKING:
    import pandas
    import polars

LATENCIES = ("mean", "p50", "p99", "p99_9")
"""The latencies of a surface, as statistics have them."""
QUANTITIES = (
    "bytes_per_s",
    "requests_per_s",
    *(f"{op}.latency_ns.{name}" for op in ("read", "write") for name in LATENCIES),
)
"""What a surface has of each point."""
NAMES = {
    "bytes_per_s": "throughput",
    "read.latency_ns.mean": "reads: mean",
    "read.latency_ns.p50": "reads: p50",
    "read.latency_ns.p99": "reads: p99",
    "read.latency_ns.p99_9": "reads: p99.9",
    "write.latency_ns.mean": "writes: mean",
    "write.latency_ns.p50": "writes: p50",
    "write.latency_ns.p99": "writes: p99",
    "write.latency_ns.p99_9": "writes: p99.9",
}
"""Quantities, for people: requests a second are throughput over size."""


class SurfaceValue(NamedTuple):
    """A mean over seeds, and half the width of its 95 % confidence interval; None where there is one seed. Between
    points of the grid the half width is that of the points around, and not the error of the interpolation."""

    value: float
    half_width: float | None


class Latencies(NamedTuple):
    """Latencies of reads or of writes [ns]."""

    mean: SurfaceValue
    p50: SurfaceValue
    p99: SurfaceValue
    p99_9: SurfaceValue


class Reading(NamedTuple):
    """What a surface says of a point."""

    bytes_per_s: SurfaceValue
    requests_per_s: SurfaceValue
    read: Latencies | None
    """None where a point of the grid that the answer is made from has no reads."""
    write: Latencies | None
    """None where one has no writes."""
    findings: tuple[str, ...]
    """The kinds of what puts the numbers in doubt that the answer is made from (docs/warnings.md)."""


class Axes(NamedTuple):
    """The values of the axes, numbers in growing order."""

    age: tuple[str, ...]
    """As ``--age`` takes them; ``default`` is the drive's own."""
    scheme: tuple[str, ...]
    """Likewise."""
    reads: tuple[float, ...]
    """Shares of requests that read."""
    bytes: tuple[int, ...]
    """Sizes of requests [B]."""
    qd: tuple[int, ...]
    """Queue depths."""


class Check(NamedTuple):
    """How well a quantity is predicted where a point is left out: by its two neighbours on an axis."""

    value: str
    """Of :data:`QUANTITIES`."""
    axis: str | None
    """``reads``, ``bytes`` or ``qd``; None is each."""
    predictions: int
    """One for each point and axis on which it has neighbours on both sides."""
    median: float
    """Of the relative errors."""
    worst: float
    """The largest of them."""
    worst_at: dict[str, Any]
    """The point of that."""


class Tier:
    """The latency and throughput of a drive over request size, queue depth, read share, age and scheme.

    >>> surface = Tier.load("tier.json")                          # doctest: +SKIP
    >>> surface.read(bytes=131072, qd=8).bytes_per_s.value        # doctest: +SKIP
    6612345678.0

    Between the points of the grid values are interpolated: linear in the logarithms of size and depth and in the read
    share, of the logarithm of the value. Outside it a question is an error. :meth:`cross_validation` states the error.
    """

    __slots__ = ("_core", "failed", "warnings")

    def __init__(self, core: _core.Tier, warnings: Sequence[str] | None = None, failed: Sequence[str] = ()) -> None:
        self._core = core
        self.failed = list(failed)
        """Cases that could not be played when it was measured, a line each."""
        self.warnings = self._found() if warnings is None else list(warnings)
        """What puts numbers in doubt, a line each."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tier:
        """Reads the JSON file of a surface.

        Raises:
            InputError: it cannot be read, or is no surface.
        """
        return cls(_core.Tier.load(os.fspath(path)))

    @classmethod
    def parse(cls, text: str, origin: str = "surface") -> Tier:
        """Reads the text of one; ``origin`` is how errors call it."""
        return cls(_core.Tier.parse(text, origin))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the surface (``.json``), or :attr:`table` (``.parquet`` or ``.csv``).

        Raises:
            InputError: the ending is another.
            SimulationError: the file cannot be written.
        """
        if os.fspath(path).lower().endswith(".json"):
            write(path, self.json.encode())
        else:
            write_table(self.table, os.fspath(path))

    @property
    def json(self) -> str:
        """The text of its file."""
        return self._core.json

    @property
    def assumed(self) -> dict[str, Any]:
        """What was assumed: the drive, its settings and start, how it was measured, the version of results."""
        found: dict[str, Any] = json.loads(self._core.assumed)
        return found

    @property
    def name(self) -> str:
        """What a person calls the drive, or the array."""
        return str(self.assumed.get("device") or self.assumed.get("array"))

    @property
    def axes(self) -> Axes:
        """The grid."""
        return Axes(*(tuple(values) for values in self._core.axes.values()))  # type: ignore[arg-type]

    def read(
        self,
        *,
        bytes: int,
        qd: float = 1.0,
        reads: float | None = None,
        age: str | None = None,
        scheme: str | None = None,
    ) -> Reading:
        """All values at a point within the grid.

        Args:
            bytes: the size of a request [B].
            qd: the queue depth; it may lie between whole numbers, as a mean does.
            reads: the share of requests that read; may be left out where the surface has one.
            age: as the axis names it; may be left out where the surface has one.
            scheme: likewise.

        Raises:
            InputError: the point lies outside the grid, which the message names.
        """
        found = self._core.ask(bytes, qd, self._share(reads, None), age, scheme)
        read, write = (None if of is None else _latencies(of) for of in (found["read"], found["write"]))
        rates = SurfaceValue(*found["bytes_per_s"]), SurfaceValue(*found["requests_per_s"])
        return Reading(*rates, read, write, tuple(found["findings"]))

    def latency_ns(
        self,
        op: Literal["read", "write"],
        bytes: int,
        qd: float = 1.0,
        *,
        reads: float | None = None,
        age: str | None = None,
        scheme: str | None = None,
        of: str = "mean",
    ) -> float:
        """The latency of a read or a write [ns]: ``of`` is ``"mean"``, ``"p50"``, ``"p99"`` or ``"p99_9"``.

        ``reads`` is the share of reads  [default: that of ``op`` alone, or the only one of the surface]. For the others
        see :meth:`read`.

        Raises:
            InputError: the point lies outside the grid, or nothing of the kind was measured there.
        """
        if op not in ("read", "write") or of not in LATENCIES:
            raise InputError(f"there is no {of} of {op!r}\n  help: op is read or write; of is {', '.join(LATENCIES)}")
        return self._core.value(f"{op}.latency_ns.{of}", bytes, qd, self._share(reads, op), age, scheme)[0]

    def cross_validation(self) -> list[Check]:
        """The error of the interpolation: for each quantity over all axes, and over each that has inner points."""
        return [
            Check(of["value"], of["axis"], of["predictions"], of["median"], of["worst"], {**of["worst_at"]})
            for of in self._core.cross_validation()
        ]

    @property
    def table(self) -> polars.DataFrame:
        """A row a point of the grid: the axes, each of :data:`QUANTITIES` and its ``half_width``, and ``warnings``."""
        import itertools

        import polars

        whole = json.loads(self.json)
        places = list(itertools.product(*self.axes))
        kinds = (polars.String, polars.String, polars.Float64, polars.Int64, polars.Int64)
        columns = [
            polars.Series(name, [place[at] for place in places], dtype=kind)
            for at, (name, kind) in enumerate(zip(Axes._fields, kinds, strict=True))
        ]
        for quantity in QUANTITIES:
            cells = whole["values"][quantity]
            columns.append(polars.Series(quantity, cells["mean"], dtype=polars.Float64))
            columns.append(polars.Series(f"{quantity}.half_width", cells["half_width"], dtype=polars.Float64))
        marks = [",".join(found) or None for found in whole["findings"]]
        return polars.DataFrame([*columns, polars.Series("warnings", marks, dtype=polars.String)])

    def to_pandas(self) -> pandas.DataFrame:
        """The table, as a pandas frame (``pip install 'ssdlab[pandas]'``)."""
        from ssdlab.common.frames import to_pandas

        return to_pandas(self.table)

    def verdict(self) -> str:
        """What came out, in sentences."""
        rows = self.table.to_dicts()
        best = max(rows, key=lambda row: row["bytes_per_s"] or 0.0)
        at = f"{percent_text(best['reads'])} reads of {binary_size(best['bytes'])} at queue depth {best['qd']}"
        at = at if best["reads"] else at.replace("0 % reads", "writes")
        most = (best["bytes_per_s"] or 0.0) / 1e6

        def mean(row: dict[str, Any]) -> float | None:
            value: float | None = row[f"{'read' if row['reads'] else 'write'}.latency_ns.mean"]
            return value

        measured = [row for row in rows if mean(row) is not None] or rows
        least = min(measured, key=lambda row: (-row["reads"], row["bytes"], row["qd"]))
        op = "read" if least["reads"] else "write"
        first = (
            f"{self.name}: a {op} of {binary_size(least['bytes'])} at queue depth {least['qd']} takes "
            f"{time_text(mean(least))} on average; at most {most:,.0f} MB/s ({at})."
        )
        checks = [check for check in self.cross_validation() if check.axis is None]
        if not checks:
            return f"{first} No axis of numbers has three values, so the error of the interpolation is not known."
        of = next((check for check in checks if check.value == f"{op}.latency_ns.mean"), checks[0])
        worst = max((check for check in checks if check.value in NAMES), key=lambda check: check.worst)
        median, largest = percent_text(of.median), percent_text(of.worst)
        return (
            f"{first} Between its {len(rows):,} points values are interpolated. A point left out is predicted with an "
            f"error of {median} in the median and {largest} at worst ({NAMES[of.value]}); the largest error of all is "
            f"{percent_text(worst.worst)} ({NAMES[worst.value]})."
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tier) and self.json == other.json

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        lengths = " x ".join(f"{len(values)} {name}" for name, values in self.axes._asdict().items())
        return f"<ssdlab.Tier of {self.name}: {lengths}>"

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    def _share(self, reads: float | None, op: str | None) -> float:
        """The share of reads that a question is about."""
        if reads is not None:
            return reads
        known = self.axes.reads
        if len(known) == 1:
            return known[0]
        if op is None:
            shares = ", ".join(f"{share:g}" for share in known)
            raise InputError(f"the surface has several values of reads\n  help: say which share: {shares}")
        return 1.0 if op == "read" else 0.0

    def _found(self) -> list[str]:
        """A line for each kind of finding of its points."""
        findings = json.loads(self.json)["findings"]
        counts = Counter(kind for of in findings for kind in of)
        return [
            f"warning: {kind}: at {count:,} of {len(findings):,} points\n  help: docs/warnings.md says what to do"
            for kind, count in counts.most_common()
        ]


def _latencies(pairs: Sequence[tuple[float, float | None]]) -> Latencies:
    return Latencies(*(SurfaceValue(*pair) for pair in pairs))
