"""How far a prediction of a fitted drive may lie from the drive itself.

The intervals of a fit know what its jobs leave open. They do not know what else the model is wrong by: that is measured
on drives that were bought, each job of which was predicted by a fit that had not seen it (``studies/products``). What
both together leave open is an interval that has been tried: of each of those drives it was made from the others alone,
and it holds nine of ten figures.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ssdlab.devices.measured import MeasuredJob

SHARE = 0.95
"""Of the figures that an interval is to hold."""

KINDS = ("reads", "reads, p99", "writes", "writes, p99", "steady writes")
"""Of figures (:func:`kind_of`)."""

OF_MODEL = {
    "known": {
        "reads": 1.226,
        "reads, p99": 1.793,
        "writes": 1.785,
        "writes, p99": 22.09,
        "steady writes": 1.0,
    },
    "not known": {"reads": 3.516, "reads, p99": 2.801, "writes": 3.305, "writes, p99": 7.138},
}
"""What the model is wrong by beside what a fit leaves open, as a factor to either side: where it is known what had been
written to the drives before they were measured, and where it is not; by kind of figure. From ``studies/products`` (its
README), by :func:`of_model`; a test compares."""


class Missed(NamedTuple):
    """A figure that was predicted and then measured."""

    drive: str
    kind: str
    error: float
    """The natural logarithm of simulated over measured."""
    left_open: float
    """What the fit left open of it, as a factor to either side."""


def kind_of(job: MeasuredJob, op: str, metric: str) -> str:
    """The kind of a figure: rates, means and medians, or tails, of reads or of writes; or of random writes in a steady
    state."""
    if job.overwriting:
        return "steady writes"
    tail = metric.startswith("p") and metric != "p50"
    return f"{op}s, p99" if tail else f"{op}s"


def of_model(figures: Sequence[Missed]) -> float:
    """What the model is wrong by, as a factor to either side: together with what the fit leaves open of each figure it
    holds :data:`SHARE` of them. Every drive counts alike, however many figures it has."""
    if not figures:
        return math.inf
    of_drive = Counter(each.drive for each in figures)
    beyond = sorted(
        (math.sqrt(max(0.0, each.error**2 - math.log(each.left_open) ** 2)), 1.0 / of_drive[each.drive])
        for each in figures
    )
    held = 0.0
    for least, weight in beyond:
        held += weight
        if held >= SHARE * len(of_drive) - 1e-9:
            return math.exp(least)
    return math.exp(beyond[-1][0])


def together(left_open: float, model: float) -> float:
    """What is left open of a figure by the fit and by the model, as a factor to either side."""
    return math.exp(math.hypot(math.log(left_open), math.log(model)))


def expected(value: float, left_open: float, kind: str) -> tuple[float, float]:
    """Where the figure of the drive itself is to be expected, given what is simulated: :data:`SHARE` of the figures of
    its kind are. It has to be known what had been written to the drive before it was measured."""
    factor = together(left_open, OF_MODEL["known"][kind])
    return value / factor, value * factor
