"""Generators fitted to traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssdlab.trace.fit.hidden import IntArray

import itertools
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ssdlab._core import InputError
from ssdlab.common.toml import toml_text
from ssdlab.trace.fit import hidden
from ssdlab.trace.fit.classes import (
    GAPS,
    NEXT,
    OPS,
    PLACES,
    RECENT,
    SHORT_LAG,
    SHORT_STEP,
    SKIP,
    _bursts,
    _places,
    _shapes,
    _size_classes,
    _told,
)
from ssdlab.trace.fit.distributions import _bytes, _kind, _shares, _span, _stays

if TYPE_CHECKING:
    import polars


PHASES = 64
"""How many phases a fit has. Fitted, as are the constants below: chosen by replays of shared traces (docs/fit.md)."""


MOST_PHASES = 1024
"""Memory and time grow with their square."""


LONG = 11
"""This class and those of longer gaps are one to the search for the chain."""


LONGEST_NS = 365 * 86_400 * 10**9
"""No gap of a preset, and no fitted trace, is longer [ns]."""


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


def _check_clock(time: IntArray) -> None:
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
