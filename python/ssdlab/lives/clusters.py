"""Clusters of similar volumes: a fleet's workload as a few twins with their shares, and the error of that.

A cluster is stood for by the twin of its middle (medoid), the volume to which the others are nearest: a workload that
exists, where a mean of volumes would be none. L. Kaufman, P. J. Rousseeuw, "Finding Groups in Data" (Wiley 1990),
chapter 2: partitioning around medoids, and silhouettes, by which the number of clusters is chosen.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from statistics import median_high
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.common.output import write
from ssdlab.common.toml import toml_text
from ssdlab.lives.volumes import FEATURES, Volume
from ssdlab.runs.options import PathLike
from ssdlab.trace.fit.hidden import numpy

if TYPE_CHECKING:
    import polars

MOST_CLUSTERS = 16
"""This many at most, where their number is chosen."""
MOST_VOLUMES = 20_000
"""Distances between this many take 1.6 GB."""
LEAST_WRITTEN = 0.01
"""A cluster is no workload of a fleet if its twin writes less than this share of its bytes: drives of a fleet are told
apart by what they write in a day (assumed)."""
WORKLOADS = "workloads.toml"


class Cluster(NamedTuple):
    """Volumes that are alike."""

    middle: Volume
    """Its twin stands for them."""
    volumes: tuple[Volume, ...]
    """The middle first, then by their distance from it."""
    share: float
    """Of all volumes."""
    radius: float
    """The mean distance from the middle, in deviations of features."""

    @property
    def writes(self) -> bool:
        """Whether it can be a workload of a fleet."""
        return self.middle.features["written"] >= LEAST_WRITTEN


class Clusters(NamedTuple):
    """Volumes in clusters."""

    clusters: tuple[Cluster, ...]
    """The largest first."""
    silhouette: float | None
    """Their mean silhouette, from -1 to 1: how much nearer volumes are to their own cluster than to the next one; None
    for one cluster."""


class TwinError(NamedTuple):
    """How far twins are from volumes in one property: relative, or in percentage points for what is a share."""

    name: str
    points: bool
    """Whether the property is a share."""
    volumes: int
    """That have it."""
    own_median: float
    """Of the volumes' own twins."""
    own_worst: float
    worst: str
    """The volume whose own twin is furthest off."""
    cluster_median: float
    """Of the twins that stand for the volumes' clusters."""
    cluster_worst: float
    mean: float
    """Of the volumes."""
    fleet_mean: float
    """Of the clusters' twins by their shares."""
    distance: float
    """The largest gap between the distribution over volumes and the one over twins (Kolmogorov-Smirnov)."""


def cluster(volumes: Sequence[Volume], count: int | None = None) -> Clusters:
    """Puts volumes into clusters: ``count`` of them, or as many as have the largest mean silhouette.

    Raises:
        InputError: more clusters than volumes, or more volumes than distances can be held of.
    """
    np = numpy()
    if count is not None and not 1 <= count <= len(volumes):
        raise InputError(f"--clusters {count}: there are {len(volumes)} volumes\n  help: write 1 to {len(volumes)}")
    if len(volumes) > MOST_VOLUMES:
        raise InputError(
            f"{len(volumes):,} volumes: are more than {MOST_VOLUMES:,}\n  help: fit a folder with a sample of them"
        )
    distances = _distances(volumes)
    if count is None:
        counts = range(2, min(MOST_CLUSTERS, len(volumes) - 1) + 1) if len(volumes) > 2 else (len(volumes),)
    else:
        counts = (count,)
    found = [(middles, _nearest(distances, middles)) for middles in map(_medoids(distances), counts)]
    scored = [(_silhouette(distances, of) if len(middles) > 1 else None, middles, of) for middles, of in found]
    score, middles, nearest = max(scored, key=lambda one: -math.inf if one[0] is None else one[0])
    clusters = []
    for number, middle in enumerate(middles):
        own = np.flatnonzero(nearest == number)
        own = own[np.lexsort((own, distances[own, middle], own != middle))]
        clusters.append(
            Cluster(volumes[middle], tuple(volumes[one] for one in own), len(own) / len(volumes),
                    float(distances[own, middle].mean()))
        )  # fmt: skip
    return Clusters(tuple(sorted(clusters, key=lambda of: (-of.share, of.middle.name))), score)


def _distances(volumes: Sequence[Volume]) -> Any:
    """Between all pairs of volumes: Euclidean, of features in units of their deviations; shape (volumes, volumes)."""
    np = numpy()
    rows = np.array([[of.features[name] for name in FEATURES] for of in volumes])
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    squares = (rows**2).sum(axis=1)
    found = np.maximum(squares[:, None] + squares[None] - 2.0 * rows @ rows.T, 0.0) ** 0.5
    np.fill_diagonal(found, 0.0)
    return found.astype(np.float32)


def _medoids(distances: Any) -> Callable[[int], list[int]]:
    """Finds this many medoids: each next one where it helps most, then swaps as long as one helps."""
    np = numpy()
    built: list[int] = [int(distances.sum(axis=1).argmin())]

    def find(count: int) -> list[int]:
        while len(built) < count:
            nearest = distances[:, built].min(axis=1)
            gain = np.minimum(distances, nearest[:, None]).sum(axis=0)
            gain[built] = math.inf
            built.append(int(gain.argmin()))
        middles = built[:count]
        cost = float(distances[:, middles].min(axis=1).sum())
        while True:
            swaps = []
            for place in range(count):
                others = middles[:place] + middles[place + 1 :]
                left = distances[:, others].min(axis=1) if others else np.full(len(distances), np.inf, np.float32)
                sums = np.minimum(distances, left[:, None]).sum(axis=0)
                sums[middles] = math.inf
                swaps.append((float(sums.min()), place, int(sums.argmin())))
            best, place, one = min(swaps)
            if not best < cost * (1.0 - 1e-6):
                return middles
            middles[place], cost = one, best

    return find


def _nearest(distances: Any, middles: list[int]) -> Any:
    """Which medoid each volume is nearest to; of several that are alike each is in its own cluster."""
    np = numpy()
    found = np.argmin(distances[:, middles], axis=1)
    found[middles] = np.arange(len(middles))
    return found


def _silhouette(distances: Any, nearest: Any) -> float:
    """The mean silhouette of clusters; 0 for a volume that is alone."""
    np = numpy()
    sizes = np.bincount(nearest)
    sums = np.stack([distances[:, nearest == number].sum(axis=1) for number in range(len(sizes))], axis=1)
    rows = np.arange(len(nearest))
    own = sums[rows, nearest] / np.maximum(sizes[nearest] - 1, 1)
    others = sums / sizes
    others[rows, nearest] = np.inf
    other = others.min(axis=1)
    score = np.where(sizes[nearest] > 1, (other - own) / np.maximum(np.maximum(own, other), 1e-12), 0.0)
    return float(score.mean())


def write_workloads(found: Clusters, folder: PathLike, about: str) -> list[Cluster]:
    """Writes the clusters' twins with their shares, as the workloads of a fleet (``[workloads] file = …``); gives back
    those that are none, as they write next to nothing: the shares are of the others."""
    kept = [of for of in found.clusters if of.writes]
    number = sum(len(of.volumes) for of in found.clusters)
    count = sum(len(of.volumes) for of in kept)
    lines = [f"about = {toml_text(about)}"]
    for of in kept:
        source = f"fitted: the twin of {of.middle.name} stands for {len(of.volumes)} of {number} volumes ({about})"
        lines += [
            "",
            f"[{toml_text(of.middle.name)}]",
            f"share = {len(of.volumes) / count!r}",
            f"workload = {toml_text(of.middle.preset)}",
            f"source = {toml_text(source)}",
        ]
    write(os.path.join(os.fspath(folder), WORKLOADS), ("\n".join(lines) + "\n").encode())
    return [of for of in found.clusters if not of.writes]


def twin_errors(found: Clusters) -> list[TwinError]:
    """How far twins are from volumes, property by property: each volume's own twin, its cluster's, and all twins by
    their shares beside all volumes. Latencies too, where they were compared."""
    middles = {of.name: one.middle for one in found.clusters for of in one.volumes}
    every = [of for one in found.clusters for of in one.volumes]
    values = {of.name: _values(of) for of in every}
    names = dict.fromkeys(name for of in every for name in values[of.name])
    rows = []
    for name, points in ((name, any(name in of and of[name][2] for of in values.values())) for name in names):
        own, of_cluster, trace, twins = [], [], [], []
        for volume in (of for of in every if name in values[of.name]):
            here, twin, _ = values[volume.name][name]
            own.append((_apart(here, twin, points), volume.name))
            standing = values[middles[volume.name].name].get(name)
            if standing is not None:
                of_cluster.append(_apart(here, standing[1], points))
                trace.append(here)
                twins.append(standing[1])
        if of_cluster:
            rows.append(
                TwinError(name, points, len(own), median_high([error for error, _ in own]), *max(own),
                          median_high(of_cluster), max(of_cluster), sum(trace) / len(trace), sum(twins) / len(twins),
                          _gap(trace, twins))
            )  # fmt: skip
    return rows


def frame_of(errors: Sequence[TwinError]) -> polars.DataFrame:
    """Errors of twins as a table, a row a property."""
    import polars

    return polars.DataFrame([of._asdict() for of in errors], schema=list(TwinError._fields))


SHARES = ("read ratio", "sequential requests", "cold-read ratio", "accesses to the hottest 1 %",
          "accesses to the hottest 10 %", "reads of pages written before")  # fmt: skip
"""Properties that are shares."""


def _values(volume: Volume) -> dict[str, tuple[float, float, bool]]:
    """What a volume and its twin are like: value, the twin's, and whether it is a share."""
    found = {
        f"{of.name} [{of.unit}]" if of.unit else of.name: (of.trace, of.twin, of.name in SHARES)
        for of in volume.properties
    }
    return found | {
        f"{of.replay} {of.op} {of.metric} [us]": (of.trace_us, of.twin_us, False) for of in volume.agreements
    }


def _apart(value: float, twin: float, points: bool) -> float:
    if points:
        return abs(twin - value)
    if value == twin:
        return 0.0
    return math.exp(abs(math.log(twin / value))) - 1.0 if value > 0.0 and twin > 0.0 else math.inf


def _gap(one: Sequence[float], two: Sequence[float]) -> float:
    """The largest gap between two empirical distributions."""
    np = numpy()
    places = np.unique(np.concatenate([one, two]))
    shares = [np.searchsorted(np.sort(of), places, side="right") / len(of) for of in (one, two)]
    return float(np.abs(shares[0] - shares[1]).max())
