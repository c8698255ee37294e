"""Classes of requests and bursts, by which a generator is fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.trace.fit import hidden

if TYPE_CHECKING:
    from ssdlab.trace.fit.hidden import IntArray

GAPS = (
    *(1_000, 4_000, 12_000, 40_000, 120_000, 400_000),
    *(1_000_000, 2_500_000, 6_000_000, 15_000_000, 40_000_000),
    *(120_000_000, 400_000_000, 3_000_000_000, 30_000_000_000),
)
"""Where one class of gaps ends and the next begins [ns]."""
SIZES = (4096, 16384, 65536, 262144, 1048576)
"""The largest sizes of the classes of sizes [B]; the last class has no largest."""
FREQUENT, MOST_FREQUENT = 0.05, 6
"""A size with at least this share of an operation's requests or bytes is a class of its own; the most classes."""
BURST_GAP = 400_000
"""Requests closer than this are one burst [ns]."""
LONGEST_BURST = 1024
"""Of a longer one each request stands for itself."""
BURSTS, BURSTS_SHARE = 512, 0.25
"""How many bursts a preset has at most, and which share of the trace's."""
PATTERNS = ("new", "next", "skip", "recent", "earlier")
"""The access patterns of single requests, by their numbers."""
NEW, NEXT, SKIP, RECENT, EARLIER = range(5)
HEADS = 32
"""Streams of each operation that the generator remembers."""
REACH = 1 << 18
"""What starts at most this far from the end of a stream is near it [B]."""
REMEMBERED = 1 << 15
"""Requests after which an address is forgotten."""
SHORT_STEP, SHORT_LAG = 32768, 7
"""Skips [B] and re-accesses [requests] up to these are distinguished from longer ones."""
OPS = ("read", "write", "trim")


class Columns(NamedTuple):
    """The requests of a trace; arrays of shape (requests,)."""

    op: IntArray
    offset: IntArray
    size: IntArray
    gap: IntArray
    """From a request's arrival to the next one's [ns]."""
    device: IntArray


class AccessPatterns(NamedTuple):
    """Where requests go; arrays of shape (requests,)."""

    pattern: IntArray
    """NEW, NEXT, SKIP, RECENT or EARLIER."""
    depth: IntArray
    """How many streams have gone on since that stream did."""
    step: IntArray
    """From the stream's end [B]."""
    lag: IntArray
    """How many requests ago the address was met last."""
    before: IntArray
    """By which operation."""


class Classes(NamedTuple):
    """The classes of the requests of a trace, arrays of shape (requests,), and the names that a preset gives them."""

    size: IntArray
    gap: IntArray
    request_class: IntArray
    """By operation, size and access pattern."""
    class_names: list[str]
    gap_class: IntArray
    """By operation, size and gap: classes whose gaps have one distribution."""
    gap_names: list[str]
    labels: list[str]
    """Each request as a preset writes it: its class, the class of its gap, and its access pattern."""


def classify(requests: Columns, accesses: AccessPatterns) -> Classes:
    """The classes of requests."""
    np = hidden.numpy()
    op, pattern = requests.op, accesses.pattern
    gap, size = np.searchsorted(GAPS, requests.gap, side="right"), _size_classes(op, requests.size)
    # Each access pattern has variants: whether it is of the stream that went on last, and how far away.
    variant = np.where((pattern == NEXT) | (pattern == SKIP), accesses.depth > 0, False) + np.select(
        [pattern == SKIP, pattern == RECENT],
        [2 * (np.abs(accesses.step) > SHORT_STEP), accesses.lag > SHORT_LAG],
        0,
    )
    found, request_class = np.unique(np.stack([op, size, variant]), axis=1, return_inverse=True)
    request_class = request_class.ravel()
    class_names = [f"{OPS[o][0]}{s}{'abcd'[x]}" for o, s, x in found.T]
    found, gap_class = np.unique(np.stack([op, size, gap]), axis=1, return_inverse=True)
    gap_class = gap_class.ravel()
    gap_names = [f"{OPS[o][0]}{s}g{g}" for o, s, g in found.T]
    labels = [
        f"{class_names[k]}.{gap_names[g]}.{PATTERNS[p]}"
        for k, g, p in zip(request_class.tolist(), gap_class.tolist(), pattern.tolist(), strict=True)
    ]
    return Classes(size, gap, request_class, class_names, gap_class, gap_names, labels)


def _size_classes(op: IntArray, size: IntArray) -> IntArray:
    """The class of each size: those between :data:`SIZES`, and frequent sizes by themselves. A host cuts large requests
    into pieces of one size, which follow one another."""
    np = hidden.numpy()
    classes: IntArray = np.searchsorted(SIZES, size, side="left").astype(np.int64)
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


def access_patterns(requests: Columns) -> AccessPatterns:
    """Where each request goes, in the generator's terms."""
    np = hidden.numpy()
    op, offset, size, _, device = requests
    pattern, depth, step, lag, before = (np.zeros(len(op), np.int64) for _ in range(5))
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
            pattern[i], depth[i], step[i] = (SKIP if best else NEXT), found, start - mine[found]
            del mine[found]
        elif met is not None and again:
            lag[i], before[i] = i - met, op[met]
            pattern[i] = RECENT if i - met < 64 else EARLIER
        mine.insert(0, start + length)
        del mine[HEADS:]
        last[start] = i
    return AccessPatterns(pattern, depth, step, lag, before)


def bursts_of(gap: IntArray) -> tuple[IntArray, IntArray]:
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


def burst_features(requests: Columns, pattern: IntArray, starts: IntArray, ends: IntArray) -> Any:
    """The features of bursts, a row for each: logarithms of length, bytes read, bytes written and duration, and the
    share of requests that follow a stream. The weights are assumed."""
    np = hidden.numpy()
    op, _, size, gap, _ = requests
    count = ends - starts
    read, written = (np.add.reduceat(np.where(op == o, size, 0), starts) / 4096 for o in (0, 1))
    lasts = (np.add.reduceat(gap, starts) - gap[ends - 1]) / 1000
    follow = np.add.reduceat(((pattern == NEXT) | (pattern == SKIP)).astype(np.int64), starts) / count
    return np.stack(
        [np.log2(count), np.log2(1 + read), np.log2(1 + written), np.log2(1 + lasts) / 2, 2 * follow], axis=1
    )


def representatives(features: Any, count: IntArray, burst: Any, seed: int) -> IntArray:
    """For every burst the number of the one that stands for it: that nearest to the middle of its cluster (k-means)."""
    np = hidden.numpy()
    standing_for: IntArray = np.arange(len(count))
    which = np.flatnonzero(burst)
    if not len(which):
        return standing_for
    try:
        from sklearn.cluster import KMeans
        from sklearn.metrics import pairwise_distances_argmin
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        raise InputError(hidden.LACKING) from None

    points = features[which]
    most = min(max(1, min(BURSTS, int(len(which) * BURSTS_SHARE))), len(np.unique(points, axis=0)))
    # On several threads sums have no fixed order, and a fit is to be the same each time.
    with threadpool_limits(1):
        means = KMeans(most, n_init=1, random_state=seed).fit(points, sample_weight=np.sqrt(count[which]))
    nearest = pairwise_distances_argmin(means.cluster_centers_, points)
    standing_for[which] = which[nearest[means.labels_]]
    return standing_for
