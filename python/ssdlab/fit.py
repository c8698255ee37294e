"""Generators fitted to traces: a preset of phases that imitates a trace, and how far it does (docs/fit.md).

The preset is a hidden Markov model: phases, each with its mix of requests and of bursts, and of the gaps behind them.
"""

from __future__ import annotations

import itertools
import math
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import api, hidden
from ._core import InputError
from .foreign import toml_text
from .trace import PathLike, info, of_workload

if TYPE_CHECKING:
    import numpy as np
    import polars
    from numpy.typing import NDArray

    Whole = NDArray[np.int64]

PHASES = 64
"""How many phases a fit has. Fitted, as are the constants below: chosen by replays of shared traces (docs/fit.md)."""
MOST_PHASES = 1024
"""Memory and time grow with their square."""
GAPS = (
    *(1_000, 4_000, 12_000, 40_000, 120_000, 400_000),
    *(1_000_000, 2_500_000, 6_000_000, 15_000_000, 40_000_000),
    *(120_000_000, 400_000_000, 3_000_000_000, 30_000_000_000),
)
"""Where one class of gaps ends and the next begins [ns]."""
LONG = 11
"""This class and those of longer gaps are one to the search for the chain."""
SIZES = (4096, 16384, 65536, 262144, 1048576)
"""The largest sizes of the classes of sizes [B]; the last class has no largest."""
FREQUENT, MOST_FREQUENT = 0.05, 6
"""Sizes of such a share of an operation's requests or bytes are classes of their own; so many at most."""
BURST_GAP = 400_000
"""Requests closer than this are one burst [ns]."""
LONGEST_BURST = 1024
"""Of a longer one each request stands for itself."""
BURSTS, BURSTS_SHARE = 512, 0.25
"""How many bursts a preset has at most, and which share of the trace's."""
PLACES = ("new", "next", "skip", "recent", "earlier")
NEW, NEXT, SKIP, RECENT, EARLIER = range(5)
HEADS = 32
"""Streams of each operation that the generator remembers."""
REACH = 1 << 18
"""What starts at most this far from the end of a stream is near it [B]."""
REMEMBERED = 1 << 15
"""Requests after which an address is forgotten."""
SHORT_STEP, SHORT_LAG = 32768, 7
"""Skips [B] and re-accesses [requests] up to these are told from longer ones."""
OPS = ("read", "write", "trim")
LONGEST_NS = 365 * 86_400 * 10**9
"""No gap of a preset, and no fitted trace, is longer [ns]."""
LEAST_REQUESTS, LEAST_SHARE = 1000, 0.01
"""Latencies are compared of kinds with so many requests and such a share of all."""
WITHIN = 0.10
SPEEDS = ("timed", "timed:x10")


class Property(NamedTuple):
    """A property of a trace and of its twin."""

    name: str
    unit: str
    trace: float
    twin: float

    @property
    def ratio(self) -> float:
        """Twin over trace; 1 where both are 0."""
        if self.trace == self.twin:
            return 1.0
        return self.twin / self.trace if self.trace else math.inf


class Places(NamedTuple):
    """Where requests go; arrays of shape (requests,)."""

    place: Whole
    """NEW, NEXT, SKIP, RECENT or EARLIER."""
    depth: Whole
    """How many streams have gone on since that stream did."""
    step: Whole
    """From the stream's end [B]."""
    lag: Whole
    """How many requests ago the address was met last."""
    before: Whole
    """By which operation."""


class Fitted(NamedTuple):
    """A generator fitted to a trace."""

    text: str
    """The preset: a workload file (TOML)."""
    notes: tuple[str, ...]
    """What of the trace the generator leaves out."""


def fit(
    trace: polars.DataFrame,
    *,
    about: str = "fitted to a trace",
    phases: int = PHASES,
    seed: int = 1,
    in_order: bool = False,
) -> Fitted:
    """Fits a generator to a trace (a frame as :func:`ssdlab.trace.read` gives it).

    Args:
        trace: columns time_ns, op, offset, bytes, device, in order of time. Flushes are left out.
        about: a line on what it is.
        phases: how many phases the chain has.
        seed: where the search for the chain starts; same trace and seed, same preset.
        in_order: the requests come in the trace's order and only sizes, gaps and places are drawn. Such a preset is as
            long as the trace; :func:`missing` tells by it what the chain of phases misses, and what the laws miss.

    Raises:
        InputError: fewer than 100 requests, or numpy is missing.
    """
    np = hidden.numpy()
    import polars as pl

    if phases > MOST_PHASES:
        remedy = "leave it out: 64 suit 100,000 requests"
        raise InputError(f"--phases {phases}: is more than {MOST_PHASES}\n  help: {remedy}")
    kept = trace.filter(pl.col("op") < len(OPS))
    if kept.height < 100:
        found = f"{kept.height:,} reads, writes and trims" + (
            f" beside {trace.height - kept.height:,} flushes" if kept.height < trace.height else ""
        )
        raise InputError(f"the trace has {found}, which is too few to fit\n  help: give one of 100 or more")
    notes = [f"{trace.height - kept.height:,} flushes are left out"] if kept.height < trace.height else []
    time, op, offset, size, device = (
        kept[name].to_numpy().astype(np.int64) for name in ("time_ns", "op", "offset", "bytes", "device")
    )
    _check_clock(time)
    known, device = np.unique(device, return_inverse=True)
    queues = len(known)
    if queues > 1:
        notes.append(f"the {queues} devices' shares: requests are dealt to as many queues in turn")
    gap = np.diff(time)
    gap = np.append(gap, int(np.median(gap)))
    places = _places(op, offset, size, device)
    place, depth, step, lag, _ = places
    gaps, sizes = np.searchsorted(GAPS, gap, side="right"), _size_classes(op, size)
    # Of each place there are sorts: whether it is of the stream that went on last, and how far away.
    sort = np.where((place == NEXT) | (place == SKIP), depth > 0, False) + np.select(
        [place == SKIP, place == RECENT], [2 * (np.abs(step) > SHORT_STEP), lag > SHORT_LAG], 0
    )
    kinds, kind = np.unique(np.stack([op, sizes, sort]), axis=1, return_inverse=True)
    kind = kind.ravel()
    kind_names = [f"{OPS[o][0]}{s}{'abcd'[x]}" for o, s, x in kinds.T]
    classes, gap_class = np.unique(np.stack([op, sizes, gaps]), axis=1, return_inverse=True)
    gap_class = gap_class.ravel()
    gap_names = [f"{OPS[o][0]}{s}g{g}" for o, s, g in classes.T]
    words = [
        f"{kind_names[k]}.{gap_names[g]}.{PLACES[p]}"
        for k, g, p in zip(kind.tolist(), gap_class.tolist(), place.tolist(), strict=True)
    ]
    if in_order:
        starts, ends = np.array([0]), np.array([kept.height])
    else:
        starts, ends = _bursts(gap)
    burst = ends - starts > 1
    told = _told(op, size, gap, place, starts, ends)
    shape = _shapes(told, ends - starts, burst)
    drawn = [
        f"b{shape[i]}.{gap_names[gap_class[end - 1]]}" if burst[i] else words[start]
        for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True))
    ]
    # What the chain is found by: of a request its operation, size and whether it follows a stream, of a burst its
    # length, bytes and share of writes, and of both the gap behind them.
    one = np.stack([op, sizes, (place == NEXT) + 2 * (place == SKIP)])[:, starts]
    wrote = np.add.reduceat((op == 1).astype(np.int64), starts) / (ends - starts)
    load = np.add.reduceat(size, starts) / 4096
    row = np.stack([len(OPS) + told[:, 0], np.log2(np.maximum(load, 1)) / 2, np.round(2 * wrote)]).astype(np.int64)
    behind = np.minimum(gaps[ends - 1], LONG)
    _, symbols = np.unique(np.concatenate([np.where(burst, row, one), behind[None]]), axis=1, return_inverse=True)
    path = hidden.path(symbols.ravel(), max(2, min(phases, len(starts) // 50)), seed)
    phase = int(np.bincount(offset % 4096).argmax())
    lines = [
        f"about = {toml_text(about)}",
        "",
        "[workload]",
        f"requests = {kept.height}",
        f'offset = "{_bytes(phase)}"',
        *([f"queues = {queues}"] if queues > 1 else []),
        "",
        "[gap]",
    ]
    for number, name in enumerate(gap_names):
        own = gap[gap_class == number]
        edges = np.quantile(own, np.linspace(0, 1, min(7, max(2, len(own)))))
        lines.append(f'{name} = {{ quantiles = "{":".join(_span(edge) for edge in edges)}" }}')
    for number, name in enumerate(kind_names):
        lines += ["", f"[kind.{name}]", *_kind(op, offset - phase, size, places, kind == number)]
    lines += ["", "[burst]"] if burst.any() else []
    for number in np.unique(shape[burst]).tolist():
        runs = ((word, len(list(run))) for word, run in itertools.groupby(words[starts[number] : ends[number]]))
        said = " ".join(word if times == 1 else f"{word}*{times}" for word, times in runs)
        lines.append(f'b{number} = {{ requests = "{said}" }}')
    lines += ["", "[phase]"]
    begins = np.flatnonzero(np.append(True, np.diff(path) != 0))
    lengths, stays = np.diff(np.append(begins, len(path))), path[begins]
    for number in range(int(path.max()) + 1):
        own = stays == number
        mix = _shares(Counter(drawn[i] for i in np.flatnonzero(path == number)))
        after = _shares(Counter(f"p{i}" for i in np.roll(stays, -1)[own]))
        stay = _stays(lengths[own])
        lines.append(f'p{number} = {{ mix = "{mix}", stay = "{stay}", next = "{after}", deck = {own.sum()} }}')
    return Fitted("\n".join(lines) + "\n", tuple(notes))


def _check_clock(time: Whole) -> None:
    """Refuses traces that no run holds, which are those whose clock was set."""
    np = hidden.numpy()
    lasts = int(time[-1] - time[0])
    if lasts <= LONGEST_NS:
        return
    step = int(np.diff(time).argmax())
    ahead = int(time[step + 1] - time[step])
    part = f"{step + 1:,} requests before it" if step + 1 >= len(time) // 2 else "requests behind it"
    cut = f"--requests {step + 1}" if step + 1 >= len(time) // 2 else f"--from {int(time[step + 1])}ns"
    raise InputError(
        f"the trace lasts {lasts / 1e9 / 86400:,.0f} days, and its longest gap, ahead of request {step + 2:,}, "
        f"{ahead / 1e9 / 86400:,.0f} days: a year is the most that can be fitted\n"
        f"  help: the clock was set there, or the unit of time is another (--format): fit the {part} "
        f"(`ssdlab trace cut {cut}`)"
    )


def _kind(op: Whole, offset: Whole, size: Whole, places: Places, own: Any) -> list[str]:
    """The lines of the kind that the requests ``own`` are of; offsets are less those of [workload]."""
    np = hidden.numpy()
    place, depth, step, lag, before = places
    mine = op[own][0]
    lines = [f'rw = "{OPS[mine]}"', f'bs = "{_split(size[own])}"']
    new = own & (place == NEW)
    # Without new requests: zones for what finds no stream and nothing to meet again.
    parts = 24 if new.any() else 1
    if new.sum() < 50:
        new = (op == mine) & (place == NEW)
    if not new.any():
        new = own
    edges = np.quantile(np.maximum(offset[new], 0), np.linspace(0, 1, parts + 1)).astype(np.int64) // 512 * 512
    edges[-1] = max(edges[-1], edges[0] + 4096)
    lines.append(f'zones = "{":".join(_bytes(edge) for edge in edges)}"')
    lines.append(f'align = "{_align(offset[new])}"')
    for where, streams in ((NEXT, "streams"), (SKIP, "skip_streams")):
        if (own & (place == where)).any():
            lines.append(f'{streams} = "{_shares(Counter(depth[own & (place == where)].tolist()))}"')
    skips = own & (place == SKIP)
    if skips.any():
        lines.append(f'skips = "{_steps(step[skips])}"')
        lines.append(f'skip_align = "{_align(offset[skips])}"')
    for where in (RECENT, EARLIER):
        again = own & (place == where)
        if again.any():
            ago = zip(before[again].tolist(), lag[again].tolist(), strict=True)
            counted = Counter(f"{OPS[b]}@{1 << (a.bit_length() - 1)}" for b, a in ago)
            lines.append(f'{PLACES[where]} = "{_shares(counted)}"')
    return lines


def _size_classes(op: Whole, size: Whole) -> Whole:
    """The class of each size: those between :data:`SIZES`, and frequent sizes by themselves. A host cuts large requests
    into pieces of one size, which follow one another."""
    np = hidden.numpy()
    classes: Whole = np.searchsorted(SIZES, size, side="left").astype(np.int64)
    found: list[tuple[float, int]] = []
    for each in range(len(OPS)):
        own = size[op == each]
        for one, times in zip(*np.unique(own, return_counts=True), strict=True):
            share = max(times / len(own), times * one / own.sum())
            if share >= FREQUENT:
                found.append((float(share), int(one)))
    frequent = list(dict.fromkeys(one for _, one in sorted(found, reverse=True)))[:MOST_FREQUENT]
    for number, one in enumerate(frequent, len(SIZES) + 1):
        classes[size == one] = number
    return classes


def _places(op: Whole, offset: Whole, size: Whole, device: Whole) -> Places:
    """Where each request goes, as the generator says it."""
    np = hidden.numpy()
    place, depth, step, lag, before = (np.zeros(len(op), np.int64) for _ in range(5))
    heads: list[list[int]] = [[] for _ in OPS]
    last: dict[int, int] = {}
    # Devices' addresses lie apart.
    starts = (offset + (device << 50)).tolist()
    for i, (o, start, length) in enumerate(zip(op.tolist(), starts, size.tolist(), strict=True)):
        mine, met = heads[o], last.get(start)
        best, found = REACH + 1, -1
        for at, end in enumerate(mine):
            away = abs(start - end)
            if away < best:
                best, found = away, at
                if not away:
                    break
        again = met is not None and i - met < REMEMBERED
        if found >= 0 and (best == 0 or not again):
            place[i], depth[i], step[i] = (SKIP if best else NEXT), found, start - mine[found]
            del mine[found]
        elif met is not None and again:
            lag[i], before[i] = i - met, op[met]
            place[i] = RECENT if i - met < 64 else EARLIER
        mine.insert(0, start + length)
        del mine[HEADS:]
        last[start] = i
    return Places(place, depth, step, lag, before)


def _bursts(gap: Whole) -> tuple[Whole, Whole]:
    """Where bursts and single requests start and end."""
    np = hidden.numpy()
    starts = np.flatnonzero(np.append(True, gap[:-1] >= BURST_GAP))
    counts = np.diff(np.append(starts, len(gap)))
    apart = counts > LONGEST_BURST
    # A few bursts are no sample.
    if (counts[~apart] > 1).sum() < 1 / BURSTS_SHARE:
        apart[:] = True
    starts = np.union1d(starts, np.flatnonzero(np.repeat(apart, counts)))
    return starts, np.append(starts[1:], len(gap))


def _told(op: Whole, size: Whole, gap: Whole, place: Whole, starts: Whole, ends: Whole) -> Any:
    """What bursts are told apart by, a row for each: logarithms of length, bytes read, bytes written and duration, and
    the share of requests that follow a stream. The weights are assumed."""
    np = hidden.numpy()
    count = ends - starts
    read, written = (np.add.reduceat(np.where(op == o, size, 0), starts) / 4096 for o in (0, 1))
    lasts = (np.add.reduceat(gap, starts) - gap[ends - 1]) / 1000
    follow = np.add.reduceat(((place == NEXT) | (place == SKIP)).astype(np.int64), starts) / count
    return np.stack(
        [np.log2(count), np.log2(1 + read), np.log2(1 + written), np.log2(1 + lasts) / 2, 2 * follow], axis=1
    )


def _shapes(told: Any, count: Whole, burst: Any) -> Whole:
    """For every burst the number of the one that stands for it: that nearest to the middle of its cluster (k-means from
    seeds far apart: D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007)."""
    np = hidden.numpy()
    shape: Whole = np.arange(len(count))
    which = np.flatnonzero(burst)
    if not len(which):
        return shape
    points, weight = told[which], np.sqrt(count[which])
    random = np.random.default_rng(1)
    most = max(1, min(BURSTS, int(len(which) * BURSTS_SHARE)))
    chosen = [int(random.choice(len(points), p=weight / weight.sum()))]
    away = ((points - points[chosen[0]]) ** 2).sum(1)
    while len(chosen) < most and away.max() > 0:
        odds = weight * away
        chosen.append(int(random.choice(len(points), p=odds / odds.sum())))
        away = np.minimum(away, ((points - points[chosen[-1]]) ** 2).sum(1))
    middle = points[chosen]
    for turn in range(12):
        apart = (points**2).sum(1)[:, None] - 2 * points @ middle.T + (middle**2).sum(1)
        nearest = apart.argmin(1)
        if turn < 11:
            total = np.bincount(nearest, weights=weight, minlength=len(middle))
            for axis in range(points.shape[1]):
                sums = np.bincount(nearest, weights=weight * points[:, axis], minlength=len(middle))
                middle[:, axis] = np.where(total > 0, sums / np.maximum(total, 1e-9), middle[:, axis])
    for number in np.unique(nearest):
        mine = np.flatnonzero(nearest == number)
        shape[which[mine]] = which[mine[apart[mine, number].argmin()]]
    return shape


def _stays(lengths: Whole) -> str:
    """The most frequent lengths, and of the rest the means of some quantiles."""
    np = hidden.numpy()
    counted = Counter(lengths.tolist())
    top = dict(counted.most_common(12))
    rest = np.sort(lengths[~np.isin(lengths, list(top))])
    for part in np.array_split(rest, min(8, len(rest))) if len(rest) else ():
        middle = round(float(part.mean()))
        top[middle] = top.get(middle, 0) + len(part)
    return _shares(dict(sorted(top.items())))


def _align(offsets: Whole) -> str:
    """Which powers of two the offsets are multiples of, beyond what chance makes of coarser ones."""
    np = hidden.numpy()
    powers = range(9, 25)
    share = [float(np.mean(offsets % (1 << power) == 0)) for power in powers]
    # Of what is a multiple of 2^k by chance half is one of 2^(k+1).
    least = [1.0]
    for one, two in itertools.pairwise(share):
        least.append(min(least[-1], max(0.0, 2 * two - one)))
    own = {1 << p: round(1000 * (a - b)) for p, a, b in zip(powers, least, [*least[1:], 0.0], strict=True)}
    return _shares({_bytes(size): part for size, part in own.items() if part > 10}) or "512B"


def _steps(steps: Whole) -> str:
    """The most frequent steps, and of the rest the middles of powers of two."""
    counted = Counter(steps.tolist())
    top = dict(counted.most_common(12))
    for step, times in counted.items():
        if step not in top:
            middle = max(3 * (1 << abs(step).bit_length()) // 4 // 512 * 512, 512)
            top[middle if step > 0 else -middle] = top.get(middle if step > 0 else -middle, 0) + times
    return _shares({("-" if step < 0 else "") + _bytes(abs(step)): times for step, times in top.items()})


def _split(sizes: Whole) -> str:
    """The most frequent sizes, and of the rest the means of twelve parts that have equally many bytes."""
    np = hidden.numpy()
    counted = Counter(sizes.tolist())
    top = dict(counted.most_common(6))
    rest = np.sort(sizes[~np.isin(sizes, list(top))])
    parts = (rest.cumsum() - rest / 2) * 12 // max(rest.sum(), 1)
    for number in np.unique(parts):
        part = rest[parts == number]
        mean = max(512, round(part.mean() / 512) * 512)
        top[mean] = top.get(mean, 0) + len(part)
    return _shares({_bytes(size): times for size, times in sorted(top.items())})


def _shares(counted: dict[Any, int] | Counter[Any]) -> str:
    """Words with their counts, the most frequent first."""
    return ":".join(f"{word}/{count}" for word, count in sorted(counted.items(), key=lambda item: -item[1]))


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count and count % size == 0:
            return f"{count // size}{unit}"
    return f"{count}B"


def _span(gap: float) -> str:
    """Three digits of a time."""
    whole = int(float(f"{gap:.3g}"))
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if whole and whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{whole}ns"


SCALES_NS = {"100 us": 10**5, "1 ms": 10**6, "10 ms": 10**7, "100 ms": 10**8, "1 s": 10**9}
"""Time scales at which burstiness is told."""


def properties(trace: polars.DataFrame, twin: polars.DataFrame) -> list[Property]:
    """What a trace and its twin are like (frames as :func:`ssdlab.trace.read` gives them), property by property.

    ``bytes in T around a request`` is the mean number of bytes that come within the time T that a request comes in:
    how bursty the load is at that scale. ``reads of pages written before`` is the share of reads that begin in a page
    which the workload has written by then.
    """
    import polars as pl

    # Requests of one queue or several: the addresses lie over each other, as in a replay.
    one, two = (info(frame.with_columns(device=pl.lit(0))) for frame in (trace, twin))
    rows = [
        Property("read ratio", "", one["read_ratio"] or 0.0, two["read_ratio"] or 0.0),
        Property("requests a second", "1/s", one["iops"] or 0.0, two["iops"] or 0.0),
    ]
    for name, key in (("reads", "size_read"), ("writes", "size_written")):
        for word in ("mean", "p50", "p99"):
            if one[key][word] is not None and two[key][word] is not None:
                rows.append(Property(f"size of {name}, {word}", "B", one[key][word], two[key][word]))
    for word in ("p50", "p90", "p99"):
        if one["gap_ns"][word] is not None and two["gap_ns"][word] is not None:
            rows.append(Property(f"gap, {word}", "us", one["gap_ns"][word] / 1e3, two["gap_ns"][word] / 1e3))
    for name, scale in SCALES_NS.items():
        rows.append(Property(f"bytes in {name} around a request", "B", _around(trace, scale), _around(twin, scale)))
    for label, key in (
        ("sequential requests", "sequential_ratio"),
        ("cold-read ratio", "cold_read_ratio"),
        ("accesses to the hottest 1 %", "hot_1"),
        ("accesses to the hottest 10 %", "hot_10"),
        ("footprint", "footprint_bytes"),
        ("footprint written", "footprint_written_bytes"),
    ):
        if one[key] is not None and two[key] is not None:
            rows.append(Property(label, "B" if key.endswith("bytes") else "", one[key], two[key]))
    if one["reads"] and two["reads"] and one["writes"] and two["writes"]:
        rows.append(Property("reads of pages written before", "", _written_before(trace), _written_before(twin)))
    return rows


def _around(trace: polars.DataFrame, scale: int) -> float:
    """The mean over requests of the bytes in the interval of ``scale`` ns that the request lies in."""
    import polars as pl

    slots = trace.group_by(pl.col("time_ns") // scale).agg(load=pl.col("bytes").sum(), count=pl.len())
    return int((slots["load"] * slots["count"]).sum()) / int(slots["count"].sum())


def _written_before(trace: polars.DataFrame, page: int = 16384) -> float:
    written: set[int] = set()
    reads = met = 0
    for op, offset, size in trace.select("op", "offset", "bytes").iter_rows():
        if op == 0:
            reads += 1
            met += offset // page in written
        elif op == 1:
            written.update(range(offset // page, (offset + size - 1) // page + 1))
    return met / reads


class Agreement(NamedTuple):
    """A latency of a trace's replay and of its twin's."""

    replay: str
    kind: str
    metric: str
    requests: int
    """Of the kind, in the trace."""
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
) -> list[Agreement]:
    """Replays a trace and its twin on a device and compares mean and p99 latency of reads and of writes.

    Compared are kinds with 1,000 requests or more that are 1 % of the trace or more. The trace is replayed once, the
    twin with ``seeds`` seeds, and its latencies are averaged.
    """
    from .confidence import mean_and_half_width

    paths = [os.fspath(path) for path in ([traces] if isinstance(traces, str | os.PathLike) else traces)]
    reading = {"format": format, "skip_bad_lines": skip_bad_lines, "sort_window": sort_window}
    rows = []
    for replay in replays:
        one = api.run(device, paths, replay=replay, **reading)  # type: ignore[call-overload]
        many = [api.run(device, preset, replay=replay, seed=seed) for seed in range(1, seeds + 1)]
        total = one.host.all.requests
        for kind in ("read", "write"):
            there = getattr(one.host, kind)
            if there.requests < LEAST_REQUESTS or there.requests < LEAST_SHARE * total:
                continue
            for metric in ("mean", "p99"):
                twins = [getattr(getattr(result.host, kind).latency_ns, metric) for result in many]
                mean, half = mean_and_half_width([value / 1e3 for value in twins if value is not None])
                if mean is not None:
                    known = getattr(there.latency_ns, metric) / 1e3
                    rows.append(Agreement(replay, kind, metric, there.requests, known, mean, half))
    return rows


class Missing(NamedTuple):
    """A latency that differs, and what it would be if the twin had more of the trace: ratios to the trace's."""

    replay: str
    kind: str
    metric: str
    twin: float
    in_order: float
    """Requests in the trace's order; sizes, gaps and places drawn."""
    gaps: float
    """Only the gaps drawn, all else the trace's."""
    places: float
    """Only sizes and places drawn."""

    @property
    def what(self) -> str:
        """What of the trace the twin misses most."""
        parts = {"gaps": self.gaps, "sizes and places": self.places, "order": self.twin / self.in_order}
        return max(parts, key=lambda part: abs(math.log(parts[part])))


def missing(
    trace: polars.DataFrame,
    rows: Sequence[Agreement],
    *,
    device: PathLike = "tlc",
    seeds: int = 5,
) -> list[Missing]:
    """What the twin misses where its latencies differ from the trace's.

    Replays the trace with its gaps drawn anew, with its sizes and places drawn anew, and with both, as the laws of a
    fitted preset say and in the order of the trace. What differs between the last and the twin is due to the order.
    Trims are left out.

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
                ("places", own.with_columns(drawn["offset"], drawn["bytes"])),
            ):
                _write_mqsim(frame, path / "trace.txt")
                for replay in dict.fromkeys(row.replay for row in differ):
                    host = api.run(device, path / "trace.txt", replay=replay, format="mqsim").host
                    for row in differ:
                        if row.replay == replay:
                            latency = getattr(getattr(host, row.kind).latency_ns, row.metric)
                            found.setdefault((name, *row[:3]), []).append(latency / 1e3 / row.trace_us)
    mean = {key: sum(ratios) / len(ratios) for key, ratios in found.items()}
    return [
        Missing(*row[:3], row.ratio, *(mean[name, *row[:3]] for name in ("in_order", "gaps", "places")))
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


def write(fitted: Fitted, out: PathLike) -> None:
    """Writes a preset."""
    from .output import write as written

    written(out, fitted.text.encode())
