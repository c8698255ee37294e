"""Empirical distributions as a preset writes them."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

from ssdlab.trace.fit import hidden
from ssdlab.trace.fit.classes import EARLIER, NEW, NEXT, OPS, PATTERNS, RECENT, SKIP, AccessPatterns

if TYPE_CHECKING:
    from ssdlab.trace.fit.hidden import IntArray


def request_class_lines(
    op: IntArray, offset: IntArray, size: IntArray, accesses: AccessPatterns, own: Any
) -> list[str]:
    """The lines of the class that the requests ``own`` are of; offsets are less those of [workload]."""
    np = hidden.numpy()
    pattern, depth, step, lag, before = accesses
    mine = op[own][0]
    lines = [f'rw = "{OPS[mine]}"', f'bs = "{_split(size[own])}"']
    new = own & (pattern == NEW)
    # Without new requests: zones for what finds no stream and nothing to meet again.
    parts = 24 if new.any() else 1
    if new.sum() < 50:
        new = (op == mine) & (pattern == NEW)
    if not new.any():
        new = own
    edges = np.quantile(np.maximum(offset[new], 0), np.linspace(0, 1, parts + 1)).astype(np.int64) // 512 * 512
    edges[-1] = max(edges[-1], edges[0] + 4096)
    lines.append(f'zones = "{":".join(size_text(edge) for edge in edges)}"')
    lines.append(f'align = "{_align(offset[new])}"')
    for where, streams in ((NEXT, "streams"), (SKIP, "skip_streams")):
        if (own & (pattern == where)).any():
            lines.append(f'{streams} = "{shares(Counter(depth[own & (pattern == where)].tolist()))}"')
    skips = own & (pattern == SKIP)
    if skips.any():
        lines.append(f'skips = "{_steps(step[skips])}"')
        lines.append(f'skip_align = "{_align(offset[skips])}"')
    for where in (RECENT, EARLIER):
        again = own & (pattern == where)
        if again.any():
            ago = zip(before[again].tolist(), lag[again].tolist(), strict=True)
            counted = Counter(f"{OPS[b]}@{1 << (a.bit_length() - 1)}" for b, a in ago)
            lines.append(f'{PATTERNS[where]} = "{shares(counted)}"')
    return lines


def dwell_times(lengths: IntArray) -> str:
    """The most frequent lengths, and of the rest the means of some quantiles."""
    np = hidden.numpy()
    counted = Counter(lengths.tolist())
    top = dict(counted.most_common(12))
    rest = np.sort(lengths[~np.isin(lengths, list(top))])
    for part in np.array_split(rest, min(8, len(rest))) if len(rest) else ():
        middle = round(float(part.mean()))
        top[middle] = top.get(middle, 0) + len(part)
    return shares(dict(sorted(top.items())))


def _align(offsets: IntArray) -> str:
    """Which powers of two the offsets are multiples of, beyond what chance makes of coarser ones."""
    np = hidden.numpy()
    powers = range(9, 25)
    share = [float(np.mean(offsets % (1 << power) == 0)) for power in powers]
    # Of what is a multiple of 2^k by chance half is one of 2^(k+1).
    least = [1.0]
    for one, two in itertools.pairwise(share):
        least.append(min(least[-1], max(0.0, 2 * two - one)))
    own = {1 << p: round(1000 * (a - b)) for p, a, b in zip(powers, least, [*least[1:], 0.0], strict=True)}
    return shares({size_text(size): part for size, part in own.items() if part > 10}) or "512B"


def _steps(steps: IntArray) -> str:
    """The most frequent steps, and of the rest the middles of powers of two."""
    counted = Counter(steps.tolist())
    top = dict(counted.most_common(12))
    for step, times in counted.items():
        if step not in top:
            middle = max(3 * (1 << abs(step).bit_length()) // 4 // 512 * 512, 512)
            top[middle if step > 0 else -middle] = top.get(middle if step > 0 else -middle, 0) + times
    return shares({("-" if step < 0 else "") + size_text(abs(step)): times for step, times in top.items()})


def _split(sizes: IntArray) -> str:
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
    return shares({size_text(size): times for size, times in sorted(top.items())})


def shares(counted: dict[Any, int] | Counter[Any]) -> str:
    """Values with their counts, the most frequent first."""
    return ":".join(f"{value}/{count}" for value, count in sorted(counted.items(), key=lambda item: -item[1]))


def size_text(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count and count % size == 0:
            return f"{count // size}{unit}"
    return f"{count}B"


def span_text(gap: float) -> str:
    """Three digits of a time."""
    whole = int(float(f"{gap:.3g}"))
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if whole and whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{whole}ns"
