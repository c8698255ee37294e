"""Generators fitted to traces: a preset of phases that imitates a trace, and how far it does (docs/fit.md).

The preset is a hidden Markov model: phases, each with its mix of kinds of requests, gaps and places. It is fitted by
expectation maximization (L. E. Baum, T. Petrie, G. Soules, N. Weiss, Annals of Mathematical Statistics 41(1), 1970).
"""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ._core import InputError
from .trace import PathLike, info, of_workload

if TYPE_CHECKING:
    import numpy as np
    import polars
    from numpy.typing import NDArray

    Whole = NDArray[np.int64]
    Real = NDArray[np.float64]

PHASES = 64
"""How many phases a fit has. Fitted, as are the constants below: chosen by replays of shared traces (docs/fit.md)."""
GAPS = (
    *(1_000, 4_000, 12_000, 40_000, 120_000, 400_000, 2_000_000, 30_000_000),
    *(300_000_000, 3_000_000_000, 30_000_000_000),
)
"""Where one class of gaps ends and the next begins [ns]."""
LONG = 8
"""This class and those of longer gaps are one to the search for the chain."""
SIZES = (4096, 16384, 65536, 262144, 1048576)
"""The largest sizes of the classes of sizes [B]; the last class has no largest."""
FREQUENT, MOST_FREQUENT = 0.05, 6
"""Sizes of such a share of an operation's requests or bytes are classes of their own; so many at most."""
PLACES = ("new", "next", "skip", "recent", "earlier")
NEW, NEXT, SKIP, RECENT, EARLIER = range(5)
HEADS = 32
"""Streams of each operation that the generator remembers."""
REACH = 1 << 18
"""What starts at most this far from the end of a stream is near it [B]."""
REMEMBERED = 1 << 15
"""Requests after which an address is forgotten."""
OPS = ("read", "write", "trim")
LEAST_REQUESTS, LEAST_SHARE = 1000, 0.01
"""Latencies are compared of kinds with so many requests and such a share of all."""
WITHIN = 0.10
SPEEDS = ("timed", "timed:x10")


def _numpy() -> Any:
    try:
        import numpy
    except ModuleNotFoundError:
        raise InputError("a fit needs numpy\n  help: pip install 'ssdlab[fit]'") from None
    return numpy


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
) -> Fitted:
    """Fits a generator to a trace (a frame as :func:`ssdlab.trace.read` gives it).

    Args:
        trace: columns time_ns, op, offset, bytes, device, in order of time. Flushes are left out.
        about: a line on what it is.
        phases: how many phases the chain has.
        seed: where the search for the chain starts; same trace and seed, same preset.

    Raises:
        InputError: fewer than 100 requests, or numpy is missing.
    """
    np = _numpy()
    import polars as pl

    kept = trace.filter(pl.col("op") < len(OPS))
    if kept.height < 100:
        raise InputError(f"the trace has {kept.height} requests that can be fitted\n  help: give one of 100 or more")
    notes = [f"{trace.height - kept.height:,} flushes are left out"] if kept.height < trace.height else []
    time, op, offset, size, device = (
        kept[name].to_numpy().astype(np.int64) for name in ("time_ns", "op", "offset", "bytes", "device")
    )
    queues = len(np.unique(device))
    if queues > 1:
        notes.append(f"the {queues} devices' shares: requests are dealt to as many queues in turn")
    gap = np.diff(time)
    gap = np.append(gap, int(np.median(gap)))
    place, depth, step, lag, before = _places(op, offset, size, device)
    gaps, sizes = np.searchsorted(GAPS, gap, side="right"), _size_classes(op, size)
    # What a phase emits, and the coarser symbols that the chain is found by.
    follows = (place == NEXT) + 2 * (place == SKIP)
    symbols, emitted = np.unique(np.stack([op, sizes, gaps, place]), axis=1, return_inverse=True)
    _, coarse = np.unique(np.stack([op, sizes, np.minimum(gaps, LONG), follows]), axis=1, return_inverse=True)
    steps, mix, often = _chain(coarse.ravel(), emitted.ravel(), max(2, min(phases, kept.height // 50)), seed)
    phase = int(np.bincount(offset % 4096).argmax())
    names = [f"{OPS[o][0]}{s}" for o, s in zip(symbols[0], symbols[1], strict=True)]
    words = [f"{n}.g{g}.{PLACES[p]}" for n, g, p in zip(names, symbols[2], symbols[3], strict=True)]
    lines = [
        f'about = "{about}"',
        "",
        "[workload]",
        f"requests = {kept.height}",
        f'offset = "{_bytes(phase)}"',
        *([f"queues = {queues}"] if queues > 1 else []),
        "",
        "[gap]",
    ]
    for number in sorted(set(gaps.tolist())):
        edges = np.quantile(gap[gaps == number], np.linspace(0, 1, 7))
        lines.append(f'g{number} = {{ quantiles = "{":".join(_span(edge) for edge in edges)}" }}')
    for o, s in sorted({(int(o), int(s)) for o, s in zip(symbols[0], symbols[1], strict=True)}):
        own = (op == o) & (sizes == s)
        lines += ["", f"[kind.{OPS[o][0]}{s}]", f'rw = "{OPS[o]}"', f'bs = "{_split(size[own])}"']
        new = own & (place == NEW)
        if new.sum() < 50:
            new = (op == o) & (place == NEW)
        if not new.any():
            new = own
        edges = np.quantile(np.maximum(offset[new] - phase, 0), np.linspace(0, 1, 25)).astype(np.int64) // 512 * 512
        edges[-1] = max(edges[-1], edges[0] + 4096)
        lines.append(f'zones = "{":".join(_bytes(edge) for edge in edges)}"')
        lines.append(f'align = "{_align(offset[new] - phase)}"')
        for where, streams in ((NEXT, "streams"), (SKIP, "skip_streams")):
            if (own & (place == where)).any():
                lines.append(f'{streams} = "{_shares(Counter(depth[own & (place == where)].tolist()))}"')
        skips = own & (place == SKIP)
        if skips.any():
            lines.append(f'skips = "{_steps(step[skips])}"')
            lines.append(f'skip_align = "{_align(offset[skips] - phase)}"')
        for where in (RECENT, EARLIER):
            again = own & (place == where)
            if again.any():
                ago = zip(before[again].tolist(), lag[again].tolist(), strict=True)
                counted = Counter(f"{OPS[b]}@{1 << (a.bit_length() - 1)}" for b, a in ago)
                lines.append(f'{PLACES[where]} = "{_shares(counted)}"')
    lines += ["", "[phase]"]
    for number in range(len(mix)):
        drawn = {words[i]: mix[number, i] for i in np.flatnonzero(mix[number])}
        after = {f"p{i}": steps[number, i] for i in np.flatnonzero(steps[number])}
        deck = max(1, round(often[number] * kept.height))
        lines.append(f'p{number} = {{ mix = "{_shares(drawn)}", next = "{_shares(after)}", deck = {deck} }}')
    return Fitted("\n".join(lines) + "\n", tuple(notes))


def _size_classes(op: Whole, size: Whole) -> Whole:
    """The class of each size: those between :data:`SIZES`, and frequent sizes by themselves. A host cuts large requests
    into pieces of one size, which follow one another."""
    np = _numpy()
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


def _places(op: Whole, offset: Whole, size: Whole, device: Whole) -> tuple[Whole, Whole, Whole, Whole, Whole]:
    """Where each request goes, as the generator says it: place, depth of its stream, step from its end, and how many
    requests ago the address was met last and by which operation."""
    np = _numpy()
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
    return place, depth, step, lag, before


def _chain(coarse: Whole, emitted: Whole, phases: int, seed: int) -> tuple[Real, Real, Real]:
    """Transitions between phases, what they emit, and how often they are met, as shares: by expectation maximization on
    windows of the trace."""
    np = _numpy()
    most, longest = 60_000, 256
    random = np.random.default_rng(seed)
    n, kinds, words = len(coarse), int(coarse.max()) + 1, int(emitted.max()) + 1
    length = min(longest, n)
    windows = coarse[: n // length * length].reshape(-1, length)
    some = len(windows)
    if some * length > most:
        some = most // length
    chosen = windows[np.sort(random.choice(len(windows), some, replace=False))]
    share = np.bincount(coarse, minlength=kinds) / n
    # Begun as a chain of the symbols themselves, the frequent ones several times over.
    own = np.argsort(-share)[:phases]
    while len(own) < phases:
        own = np.append(own, np.argmax(share / (1 + np.bincount(own, minlength=kinds))))
    pairs = np.zeros((kinds, kinds))
    np.add.at(pairs, (coarse[:-1], coarse[1:]), 1)
    pairs = (pairs + share) / (pairs.sum(1, keepdims=True) + 1)
    steps = pairs[own][:, own] * random.uniform(0.5, 1.5, (phases, phases)) + 1e-4
    steps /= steps.sum(1, keepdims=True)
    mix = 0.1 * share + 0.9 * (own[:, None] == np.arange(kinds))
    mix *= random.uniform(0.8, 1.2, mix.shape)
    mix /= mix.sum(1, keepdims=True)
    first = np.full(phases, 1 / phases)
    before = -math.inf
    for turn in range(80):
        there, moves, first, likely = _expect(chosen, first, steps, mix)
        flat = chosen.T.ravel()
        mix = np.stack([np.bincount(flat, weights=there[:, p], minlength=kinds) for p in range(phases)])
        mix = mix + 1e-3 * share
        mix /= mix.sum(1, keepdims=True)
        steps = moves + 1e-9
        steps /= steps.sum(1, keepdims=True)
        if turn > 40 and likely - before < 2e-5:
            break
        before = likely
    # All of the trace tells what the phases emit.
    there, moves, _, _ = _expect(windows, first, steps, mix)
    flat = emitted[: n // length * length].reshape(-1, length).T.ravel()
    mix = np.stack([np.bincount(flat, weights=there[:, p], minlength=words) for p in range(phases)])
    # What is seen less than once goes, and what is rare beside the rest.
    used = there.sum(0) >= 1
    mix, moves = mix[used], moves[used][:, used]
    mix[mix < np.minimum(1.0, mix.max(1, keepdims=True))] = 0
    # Of a phase's steps the least frequent go, as many as together are taken less than once in four fits: rare ways out
    # of a phase count, each for little.
    order = np.argsort(moves, axis=1)
    ascending = np.take_along_axis(moves, order, axis=1)
    np.put_along_axis(moves, order, np.where(ascending.cumsum(1) < 0.25, 0.0, ascending), axis=1)
    steps = moves / moves.sum(1, keepdims=True)
    seen = np.bincount(emitted, minlength=words) / n
    mix /= mix.sum(1, keepdims=True)
    # What all phases emit together is what the trace has: iterative proportional fitting.
    often = there.sum(0)[used] / len(there)
    for _ in range(50):
        made = often @ mix
        scaled = mix * np.where(made > 1e-9, seen / np.maximum(made, 1e-9), 1.0)
        total = scaled.sum(1, keepdims=True)
        mix = np.where(total > 1e-9, scaled / np.maximum(total, 1e-9), mix)
    # The phase that is met most comes first.
    order = np.argsort(-often, kind="stable")
    return steps[order][:, order], mix[order], often[order]


def _expect(windows: Whole, first: Real, steps: Real, mix: Real) -> tuple[Real, Real, Real, float]:
    """For every request of every window (in order of position, then window) the probabilities of the phases, expected
    steps between them, the phases at the start, and the mean log likelihood of a request."""
    np = _numpy()
    across = windows.T
    length, count, phases = len(across), len(windows), len(steps)
    odds, scale = np.empty((length, count, phases)), np.empty((length, count))
    by_symbol = np.ascontiguousarray(mix.T)
    row = first * by_symbol[across[0]]
    for at in range(length):
        if at:
            row = (row @ steps) * by_symbol[across[at]]
        scale[at] = row.sum(1)
        row = row / scale[at][:, None]
        odds[at] = row
    moves, back = np.zeros((phases, phases)), np.ones((count, phases))
    for at in range(length - 1, -1, -1):
        here = odds[at] * back
        here /= here.sum(1, keepdims=True)
        if at:
            ahead = by_symbol[across[at]] * back / scale[at][:, None]
            moves += odds[at - 1].T @ ahead
            back = ahead @ steps.T
        odds[at] = here
    first = 0.5 * first + 0.5 * np.maximum(odds[0].mean(0), 1e-6)
    return odds.reshape(-1, phases), moves * steps, first / first.sum(), float(np.log(scale).mean())


def _align(offsets: Whole) -> str:
    """Which powers of two the offsets are multiples of, beyond what chance makes of coarser ones."""
    np = _numpy()
    powers = range(9, 25)
    share = [float(np.mean(offsets % (1 << power) == 0)) for power in powers]
    # Of what is a multiple of 2^k by chance half is one of 2^(k+1).
    least = [1.0]
    for one, two in itertools.pairwise(share):
        least.append(min(least[-1], max(0.0, 2 * two - one)))
    own = {1 << p: a - b for p, a, b in zip(powers, least, [*least[1:], 0.0], strict=True)}
    return _shares({_bytes(size): part for size, part in own.items() if part > 0.01}) or "512B"


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
    """The most frequent sizes, and of the rest some quantiles."""
    np = _numpy()
    counted = Counter(sizes.tolist())
    top = dict(counted.most_common(6))
    rest = np.sort(sizes[~np.isin(sizes, list(top))])
    for part in np.array_split(rest, min(6, len(rest))) if len(rest) else ():
        middle = int(part[len(part) // 2])
        top[middle] = top.get(middle, 0) + len(part)
    return _shares({_bytes(size): times for size, times in sorted(top.items())})


def _shares(counted: dict[Any, float] | Counter[Any]) -> str:
    """Words with their shares in %."""
    total = sum(counted.values())
    ordered = sorted(counted.items(), key=lambda item: -item[1])
    return ":".join(f"{word}/{share:.4g}" for word, count in ordered if (share := 100 * count / total) > 0)


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
    from . import api
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


def twin_of(preset: PathLike, seed: int = 1) -> polars.DataFrame:
    """The requests of a fitted preset, as a frame."""
    return of_workload(preset, seed=seed)


def furthest(rows: Sequence[Property]) -> Property | None:
    """The property by which trace and twin differ most."""
    known = [row for row in rows if row.trace > 0 and row.twin > 0]
    return max(known, key=lambda row: abs(math.log(row.ratio)), default=None)


def write(fitted: Fitted, out: PathLike) -> None:
    """Writes a preset."""
    Path(out).write_text(fitted.text)
