"""Surfaces are measured: a drive on a grid of request size, queue depth, read share, age and scheme."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab._version import __version__
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.common.numbers import size_of
from ssdlab.runs.documents import Given, title_of, word_of
from ssdlab.sweeps.curve import depths, doubled
from ssdlab.sweeps.surface import LATENCIES, QUANTITIES, Axes, Tier

if TYPE_CHECKING:
    from ssdlab.sweeps.campaign import SweepProgress, SweepResult

DEPTHS = "1..256"
SIZES = "4KiB..1MiB"
SHARES = "1,0.5,0"
REQUESTS = 20_000
"""Of a point: half of them reads leaves ten beyond their 99.9th percentile."""
WRITTEN, READ = "closed-form", "none"
"""The starts of points that write and of points that read alone. A drive that is written to has been written for long:
otherwise writes find free blocks, and none is collected. Under reads alone the collections of such a start come to
their end, so that nothing but a long run is free of them: they are left out."""
OWN = "default"
"""How the axes call the drive's own age and scheme."""
PATTERNS = {"random": ("randread", "randwrite", "randrw"), "sequential": ("read", "write", "rw")}
"""Access patterns: of reads alone, writes alone and both."""
STATISTICS = [
    "host.all.iops",
    *(f"host.{op}.requests" for op in ("read", "write")),
    *(f"host.{op}.latency_ns.{name}" for op in ("read", "write") for name in LATENCIES),
]
Place = tuple[str, str, float, int, int]


def tier(
    device: Given | None = None,
    *,
    array: str | os.PathLike[str] | None = None,
    qd: str | Sequence[int] = DEPTHS,
    bs: str | Sequence[int | str] = SIZES,
    reads: str | Sequence[float] = SHARES,
    ages: Sequence[str] = (),
    schemes: Sequence[str] = (),
    pattern: str = "random",
    settings: Mapping[str, Any] | Sequence[str] = (),
    precondition: str | None = None,
    requests: int = REQUESTS,
    warmup: int | None = None,
    seeds: int = 3,
    cache: str | os.PathLike[str] = "results/cache",
    threads: int | None = None,
    progress: Callable[[SweepProgress], None] | None = None,
) -> Tier:
    """Measures the latency and throughput surfaces of a drive, or of an array, in a closed loop.

    Args:
        device: a preset, device file or dict  [default: tlc].
        array: an array file in its place.
        qd: queue depths: ``"1..256"`` (powers of two), ``"1,4,16"`` or a sequence.
        bs: request sizes: ``"4KiB..1MiB"`` (powers of two), ``"4KiB,64KiB"`` or a sequence.
        reads: shares of requests that read, the others write: ``"1,0.5,0"`` or a sequence.
        ages: as of :func:`ssdlab.run`, such as ``"pec=1000,retention=3mo"``; none is the drive's own.
        schemes: likewise.
        pattern: ``"random"`` or ``"sequential"`` addresses.
        settings: keys of the drive and of the generator, but for what the axes set.
        precondition: as of :func:`ssdlab.run`, of all points  [default: ``"closed-form"`` of those that write,
            ``"none"`` of those that read alone, under which nothing is collected in the long run].
        requests: requests of a point that are measured.
        warmup: those before them  [default: a tenth, and the queue depth].
        seeds: seeds of each point: the intervals are over them.
        cache: the folder that keeps results; the same case is run once.
        threads: cases at once; None is one a core.
        progress: called when cases are done.

    Raises:
        InputError: something is refused, or no case could be run.
    """
    from ssdlab.runs.options import setting_texts
    from ssdlab.sweeps.campaign import sweep

    texts = (text.partition("=") for text in setting_texts(settings))
    shared: dict[str, Any] = {key.strip(): value.strip() for key, _, value in texts}
    if device is not None and array is not None:
        raise InputError("a device and an array are both given\n  help: give one of them")
    _check(pattern, seeds, shared)
    drive = {"array": os.fspath(array)} if array is not None else {"device": word_of("device", device or "tlc")}
    shared |= drive | {"workload": "default", "workload.rate_iops": "none"}
    axes = Axes(
        tuple(dict.fromkeys(ages)) or (OWN,),
        tuple(dict.fromkeys(schemes)) or (OWN,),
        tuple(_shares(reads)),
        tuple(_sizes(bs)),
        tuple(depths(qd)),
    )

    def pace(depth: int) -> dict[str, Any]:
        skipped = max(requests // 10, depth) if warmup is None else warmup
        return {"qd": depth, "warmup": skipped, "requests": requests + skipped}

    spec = {"statistics": STATISTICS, "run": shared, "axes": _sweep_axes(axes, pattern, precondition, pace, seeds)}
    found = sweep(spec, cache=cache, threads=threads, progress=progress)
    start = precondition or f"{WRITTEN}; {READ} where all requests read"
    measured = {"start": start, "pattern": pattern, "requests": requests, "warmup": warmup, "seeds": seeds}
    return _surface(found, axes, _assumed(drive, shared, measured))


def _check(pattern: str, seeds: int, settings: Mapping[str, Any]) -> None:
    """Refuses what no surface can be measured with."""
    if pattern not in PATTERNS:
        raise InputError(f"--pattern {pattern}: expected {' or '.join(PATTERNS)}\n  help: write --pattern random")
    if seeds < 1:
        raise InputError("there is nothing to run\n  help: give one seed or more")
    for key in ("workload.rw", "workload.bs", "workload.read_ratio"):
        if key in settings:
            raise InputError(f"{key} is set, and is an axis of a surface\n  help: use --bs, --reads or --pattern")


def _sweep_axes(
    axes: Axes, pattern: str, precondition: str | None, pace: Callable[[int], dict[str, Any]], seeds: int
) -> dict[str, Any]:
    """What each value of an axis sets."""
    reading, writing, mixed = PATTERNS[pattern]

    def mix(share: float) -> dict[str, Any]:
        start = {"precondition": precondition or (READ if share == 1.0 else WRITTEN)}
        if share in (0.0, 1.0):
            return {"workload.rw": reading if share else writing, **start}
        return {"workload.rw": mixed, "workload.read_ratio": share, **start}

    return {
        "age": {age: {} if age == OWN else {"age": age} for age in axes.age},
        "scheme": {scheme: {} if scheme == OWN else {"scheme": scheme} for scheme in axes.scheme},
        "reads": {share: mix(share) for share in axes.reads},
        "bytes": {size: {"workload.bs": f"{size}B"} for size in axes.bytes},
        "qd": {depth: pace(depth) for depth in axes.qd},
        "seed": list(range(1, seeds + 1)),
    }


def _surface(found: SweepResult, axes: Axes, assumed: Mapping[str, Any]) -> Tier:
    """The surface of a sweep that has been run."""
    import itertools

    rows: dict[Place, list[dict[str, Any]]] = {}
    for row in found.table.iter_rows(named=True):
        rows.setdefault(tuple(row[name] for name in Axes._fields), []).append(row)
    cells = [_cells(rows[place], place[3]) for place in itertools.product(*axes)]
    values = {
        quantity: {
            "mean": [means[quantity][0] for means in cells],
            "half_width": [means[quantity][1] for means in cells],
        }
        for quantity in QUANTITIES
    }
    findings = [
        sorted({kind.strip() for row in rows[place] for kind in (row["warnings"] or "").split(",")} - {""})
        for place in itertools.product(*axes)
    ]
    failed = [
        f"{', '.join(f'{name} {value}' for name, value in case.labels.items())}: {case.error}" for case in found.failed
    ]
    whole = {"format": "ssdlab tier", "version": 1, "assumed": assumed, "axes": axes._asdict()}
    text = json.dumps({**whole, "values": values, "findings": findings})
    return Tier(_core.Tier.parse(text, "surface"), found.warning_lines(), failed)


def _cells(rows: Sequence[Mapping[str, Any]], size: int) -> dict[str, tuple[float | None, float | None]]:
    """The means of a point over its seeds; None where one of them has none."""

    def mean(name: str, scale: float = 1.0) -> tuple[float | None, float | None]:
        values = [row.get(name) for row in rows]
        if any(value is None or value <= 0.0 for value in values):
            return None, None
        return mean_and_half_width([value * scale for value in values if value is not None])

    found = {"bytes_per_s": mean("host.all.iops", size), "requests_per_s": mean("host.all.iops")}
    for op in ("read", "write"):
        for name in LATENCIES:
            found[f"{op}.latency_ns.{name}"] = mean(f"host.{op}.latency_ns.{name}")
    return found


def _assumed(drive: Mapping[str, str], shared: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, Any]:
    """What a surface says of how it was measured."""
    kept = ("workload", "workload.rate_iops", "device", "array")
    settings = {key: value for key, value in shared.items() if key not in kept}
    return {
        **{what: title_of(word) for what, word in drive.items()},
        "settings": settings,
        "replay": "closed loop: qd requests are outstanding all the time",
        **measured,
        "warmup": measured["warmup"]
        if measured["warmup"] is not None
        else "a tenth of the requests, and the queue depth",
        "interval": "95 % of the mean over seeds (Student's t)",
        "results_version": _core.RESULTS_VERSION,
        "ssdlab": __version__,
    }


def _shares(given: str | Sequence[float]) -> list[float]:
    """Shares of reads in growing order."""
    parts = given.split(",") if isinstance(given, str) else given
    try:
        shares = sorted({float(part) for part in parts})
    except ValueError:
        shares = []
    if not shares or not all(0.0 <= share <= 1.0 for share in shares):
        raise InputError(f"--reads {given}: expected shares from 0 to 1\n  help: write 1,0.5,0")
    return shares


def _sizes(given: str | Sequence[int | str]) -> list[int]:
    """Sizes of requests [B] in growing order: of a range the powers of two, and its end."""

    def size(part: int | str) -> int:
        text = str(part).strip()
        return int(text) if text.isdecimal() else size_of(text)

    try:
        if isinstance(given, str) and ".." in given:
            low, _, high = given.partition("..")
            sizes = doubled(size(low), size(high))
        else:
            sizes = sorted({size(part) for part in (given.split(",") if isinstance(given, str) else given)})
    except (ValueError, KeyError):
        sizes = []
    if not sizes or sizes[0] < 1 or sizes[-1] > 1 << 40:
        raise InputError(f"--bs {given}: expected sizes of requests\n  help: write 4KiB..1MiB, or 4KiB,64KiB")
    return sizes
