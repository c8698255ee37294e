"""How far a fitted generator agrees with its trace when both are replayed."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ssdlab.runs import api
from ssdlab.runs.options import PathLike
from ssdlab.trace.fit.classes import OPS
from ssdlab.trace.fit.generator import FittedGenerator, fit
from ssdlab.trace.generated import of_workload

if TYPE_CHECKING:
    import polars


LEAST_REQUESTS, LEAST_SHARE = 1000, 0.01
"""The latencies of reads, and of writes, are compared if there are this many and they are this share of all."""
WITHIN = 0.10
SPEEDS = ("timed", "timed:x10")


class Agreement(NamedTuple):
    """A latency of a trace's replay and of its twin's."""

    replay: str
    op: str
    metric: str
    requests: int
    """Of this operation, in the trace."""
    trace_us: float
    twin_us: float
    """Mean over the seeds."""
    half_width_us: float | None
    """Half of its 95 % confidence interval."""

    @property
    def ratio(self) -> float:
        """Twin over trace."""
        return self.twin_us / self.trace_us

    @property
    def agrees(self) -> bool:
        """Whether the two differ by 10 % at most."""
        return abs(self.ratio - 1) <= WITHIN


def check(
    traces: PathLike | Sequence[PathLike],
    preset: PathLike,
    *,
    device: PathLike = "tlc",
    seeds: int = 5,
    replays: Sequence[str] = SPEEDS,
    format: str | None = None,
    skip_bad_lines: int = 0,
    sort_window: int | None = None,
    requests: int | None = None,
) -> list[Agreement]:
    """Replays a trace and its twin on a device and compares mean and p99 latency of reads and of writes.

    An operation is compared if it has 1,000 requests or more that are 1 % of the trace or more. The trace is replayed
    once, no more than its first ``requests``, the twin with ``seeds`` seeds, and its latencies are averaged.
    """
    from ssdlab.common.confidence import mean_and_half_width

    paths = [os.fspath(path) for path in ([traces] if isinstance(traces, str | os.PathLike) else traces)]
    reading = {"format": format, "skip_bad_lines": skip_bad_lines, "sort_window": sort_window}
    if requests is not None:
        reading["requests"] = requests
    rows = []
    for replay in replays:
        one = api.run(device, paths, replay=replay, **reading)  # type: ignore[call-overload]
        many = [api.run(device, preset, replay=replay, seed=seed) for seed in range(1, seeds + 1)]
        total = one.host.all.requests
        for op in ("read", "write"):
            there = getattr(one.host, op)
            if there.requests < LEAST_REQUESTS or there.requests < LEAST_SHARE * total:
                continue
            for metric in ("mean", "p99"):
                twins = [getattr(getattr(result.host, op).latency_ns, metric) for result in many]
                mean, half = mean_and_half_width([value / 1e3 for value in twins if value is not None])
                if mean is not None:
                    known = getattr(there.latency_ns, metric) / 1e3
                    rows.append(Agreement(replay, op, metric, there.requests, known, mean, half))
    return rows


class Missing(NamedTuple):
    """A latency that differs, and what it would be if the twin had more of the trace: ratios to the trace's."""

    replay: str
    op: str
    metric: str
    twin: float
    in_order: float
    """Requests in the trace's order; sizes, gaps and addresses drawn."""
    gaps: float
    """Only the gaps drawn, all else the trace's."""
    addresses: float
    """Only sizes and addresses drawn."""

    @property
    def what(self) -> str:
        """What of the trace the twin misses most."""
        parts = {"gaps": self.gaps, "sizes and addresses": self.addresses, "order": self.twin / self.in_order}
        return max(parts, key=lambda part: abs(math.log(parts[part])))


def missing(
    trace: polars.DataFrame,
    rows: Sequence[Agreement],
    *,
    device: PathLike = "tlc",
    seeds: int = 5,
) -> list[Missing]:
    """What the twin misses where its latencies differ from the trace's.

    Replays the trace with its gaps drawn again, with its sizes and addresses drawn again, and with both: from the
    empirical distributions of a fitted preset, in the order of the trace. The order explains what differs between the
    last and the twin. Trims are left out.

    Args:
        trace: as :func:`fit` takes it.
        rows: what :func:`check` found.
        device: the one that they were found on.
        seeds: how many draws the latencies are the means of.
    """
    import polars as pl

    differ = [row for row in rows if not row.agrees]
    if not differ:
        return []
    own = trace.filter(pl.col("op") < len(OPS))
    found: dict[tuple[str, str, str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write(fit(own, in_order=True), path / "drawn.toml")
        for seed in range(1, seeds + 1):
            drawn = of_workload(path / "drawn.toml", seed=seed).drop("device")
            for name, frame in (
                ("in_order", own.with_columns(drawn)),
                ("gaps", own.with_columns(drawn["time_ns"])),
                ("addresses", own.with_columns(drawn["offset"], drawn["bytes"])),
            ):
                _write_mqsim(frame, path / "trace.txt")
                for replay in dict.fromkeys(row.replay for row in differ):
                    host = api.run(device, path / "trace.txt", replay=replay, format="mqsim").host
                    for row in differ:
                        if row.replay == replay:
                            latency = getattr(getattr(host, row.op).latency_ns, row.metric)
                            found.setdefault((name, *row[:3]), []).append(latency / 1e3 / row.trace_us)
    mean = {key: sum(ratios) / len(ratios) for key, ratios in found.items()}
    return [
        Missing(*row[:3], row.ratio, *(mean[name, *row[:3]] for name in ("in_order", "gaps", "addresses")))
        for row in differ
    ]


def _write_mqsim(trace: polars.DataFrame, path: Path) -> None:
    """Writes the reads and writes of a frame as an MQSim ASCII trace: time [ns], device, sector, sectors, 1 = read."""
    import polars as pl

    trace.filter(pl.col("op") < 2).select(
        "time_ns", "device", pl.col("offset") // 512, (pl.col("bytes") + 511) // 512, 1 - pl.col("op")
    ).write_csv(path, include_header=False, separator=" ")


def twin_of(preset: PathLike, seed: int = 1) -> polars.DataFrame:
    """The requests of a fitted preset, as a frame."""
    return of_workload(preset, seed=seed)


def write(fitted: FittedGenerator, out: PathLike) -> None:
    """Writes a preset."""
    from ssdlab.common.output import write as written

    written(out, fitted.text.encode())
