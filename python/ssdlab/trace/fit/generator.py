"""Generators fitted to traces."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.common.toml import toml_text
from ssdlab.common.wording import listed
from ssdlab.trace.description import APPEND
from ssdlab.trace.fit import hidden
from ssdlab.trace.fit.classes import (
    NEXT,
    OPS,
    SKIP,
    Classes,
    Columns,
    access_patterns,
    burst_features,
    bursts_of,
    classify,
    representatives,
)
from ssdlab.trace.fit.distributions import dwell_times, request_class_lines, shares, size_text, span_text

if TYPE_CHECKING:
    import polars

    from ssdlab.trace.fit.hidden import IntArray

PHASES = 64
"""How many phases a fit has. Fitted, as are the constants below: chosen by replays of shared traces (docs/fit.md)."""
MOST_PHASES = 1024
"""Memory and time grow with their square."""
LONG = 11
"""This class and those of longer gaps are one to the search for the chain."""
LONGEST_NS = 365 * 86_400 * 10**9
"""No gap of a preset, and no fitted trace, is longer [ns]."""


class FittedGenerator(NamedTuple):
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
) -> FittedGenerator:
    """Fits a generator to a trace (a frame as :func:`ssdlab.trace.read` gives it).

    Args:
        trace: columns time_ns, op, offset, bytes, device, in order of time. Flushes, appends and zone commands are left
            out.
        about: a line on what it is.
        phases: how many phases the chain has.
        seed: where the searches for bursts and for the chain start; same trace and seed, same preset.
        in_order: the requests come in the trace's order, and only sizes, gaps and addresses are drawn. Such a preset is
            as long as the trace; :func:`missing` finds with it what the chain of phases misses, and what the empirical
            distributions miss.

    Raises:
        InputError: fewer than 100 requests, or scikit-learn is missing.
    """
    np = hidden.numpy()
    if phases > MOST_PHASES:
        remedy = "leave it out: 64 suit 100,000 requests"
        raise InputError(f"--phases {phases}: is more than {MOST_PHASES}\n  help: {remedy}")
    requests, queues, notes = _columns(trace)
    accesses = access_patterns(requests)
    classes = classify(requests, accesses)
    if in_order:
        starts, ends = np.array([0]), np.array([len(requests.op)])
    else:
        starts, ends = bursts_of(requests.gap)
    features = burst_features(requests, accesses.pattern, starts, ends)
    bursts = _Bursts(starts, ends, representatives(features, ends - starts, ends - starts > 1, seed))
    symbols = _symbols(requests, accesses.pattern, classes, bursts, features)
    path = hidden.path(symbols, max(2, min(phases, len(starts) // 50)), seed)
    phase = int(np.bincount(requests.offset % 4096).argmax())
    lines = [
        f"about = {toml_text(about)}",
        "",
        "[workload]",
        f"requests = {len(requests.op)}",
        f'offset = "{size_text(phase)}"',
        *([f"queues = {queues}"] if queues > 1 else []),
        *_gap_lines(requests.gap, classes),
    ]
    for number, name in enumerate(classes.class_names):
        own = classes.request_class == number
        found = request_class_lines(requests.op, requests.offset - phase, requests.size, accesses, own)
        lines += ["", f"[kind.{name}]", *found]
    lines += [*_burst_lines(classes, bursts), *_phase_lines(classes, bursts, path)]
    return FittedGenerator("\n".join(lines) + "\n", tuple(notes))


class _Bursts(NamedTuple):
    """The bursts of a trace and the requests that stand alone; arrays of shape (bursts,)."""

    starts: IntArray
    ends: IntArray
    standing_for: IntArray
    """The number of the burst that stands for it."""

    @property
    def several(self) -> Any:
        """Which of them have more than one request."""
        return self.ends - self.starts > 1


def _columns(trace: polars.DataFrame) -> tuple[Columns, int, list[str]]:
    """What of a trace is fitted, how many devices it is of, and notes on what is left out."""
    np = hidden.numpy()
    import polars as pl

    kept = trace.filter(pl.col("op") < len(OPS))
    counts = {
        "flushes": trace.filter(op=3).height,
        "appends": trace.filter(op=APPEND).height,
        "zone commands and handle updates": trace.filter(pl.col("op") > APPEND).height,
    }
    others = listed([f"{count:,} {name}" for name, count in counts.items() if count]) if any(counts.values()) else ""
    if kept.height < 100:
        found = f"{kept.height:,} reads, writes and trims" + (f" beside {others}" if others else "")
        raise InputError(f"the trace has {found}, which is too few to fit\n  help: give one of 100 or more")
    notes = [f"{others} are left out"] if others else []
    time, op, offset, size, device = (
        kept[name].to_numpy().astype(np.int64) for name in ("time_ns", "op", "offset", "bytes", "device")
    )
    _check_clock(time)
    known, device = np.unique(device, return_inverse=True)
    if len(known) > 1:
        notes.append(f"the {len(known)} devices' shares: requests are dealt to as many queues in turn")
    gap = np.diff(time)
    gap = np.append(gap, int(np.median(gap)))
    return Columns(op, offset, size, gap, device), len(known), notes


def _symbols(requests: Columns, pattern: IntArray, classes: Classes, bursts: _Bursts, features: Any) -> IntArray:
    """What the chain of phases is found by: of a request its operation, size and whether it follows a stream, of a
    burst its length, bytes and share of writes, and of both the gap behind them."""
    np = hidden.numpy()
    starts, ends = bursts.starts, bursts.ends
    single = np.stack([requests.op, classes.size, (pattern == NEXT) + 2 * (pattern == SKIP)])[:, starts]
    written = np.add.reduceat((requests.op == 1).astype(np.int64), starts) / (ends - starts)
    load = np.add.reduceat(requests.size, starts) / 4096
    burst = np.stack([len(OPS) + features[:, 0], np.log2(np.maximum(load, 1)) / 2, np.round(2 * written)])
    behind = np.minimum(classes.gap[ends - 1], LONG)
    rows = np.concatenate([np.where(bursts.several, burst.astype(np.int64), single), behind[None]])
    _, symbols = np.unique(rows, axis=1, return_inverse=True)
    flat: IntArray = symbols.ravel()
    return flat


def _gap_lines(gap: IntArray, classes: Classes) -> list[str]:
    """The empirical distributions of the gaps."""
    np = hidden.numpy()
    lines = ["", "[gap]"]
    for number, name in enumerate(classes.gap_names):
        own = gap[classes.gap_class == number]
        edges = np.quantile(own, np.linspace(0, 1, min(7, max(2, len(own)))))
        lines.append(f'{name} = {{ quantiles = "{":".join(span_text(edge) for edge in edges)}" }}')
    return lines


def _burst_lines(classes: Classes, bursts: _Bursts) -> list[str]:
    """The bursts that stand for all, request by request."""
    np = hidden.numpy()
    lines = ["", "[burst]"] if bursts.several.any() else []
    for number in np.unique(bursts.standing_for[bursts.several]).tolist():
        labels = classes.labels[bursts.starts[number] : bursts.ends[number]]
        runs = ((label, len(list(run))) for label, run in itertools.groupby(labels))
        text = " ".join(label if times == 1 else f"{label}*{times}" for label, times in runs)
        lines.append(f'b{number} = {{ requests = "{text}" }}')
    return lines


def _phase_lines(classes: Classes, bursts: _Bursts, path: IntArray) -> list[str]:
    """The phases: what each emits, its dwell times, and which follows."""
    np = hidden.numpy()
    several = bursts.several
    emitted = [
        f"b{bursts.standing_for[i]}.{classes.gap_names[classes.gap_class[end - 1]]}"
        if several[i]
        else classes.labels[start]
        for i, (start, end) in enumerate(zip(bursts.starts.tolist(), bursts.ends.tolist(), strict=True))
    ]
    lines = ["", "[phase]"]
    begins = np.flatnonzero(np.append(True, np.diff(path) != 0))
    lengths, visited = np.diff(np.append(begins, len(path))), path[begins]
    for number in range(int(path.max()) + 1):
        own = visited == number
        mix = shares(Counter(emitted[i] for i in np.flatnonzero(path == number)))
        after = shares(Counter(f"p{i}" for i in np.roll(visited, -1)[own]))
        dwell = dwell_times(lengths[own])
        lines.append(f'p{number} = {{ mix = "{mix}", stay = "{dwell}", next = "{after}", deck = {own.sum()} }}')
    return lines


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
