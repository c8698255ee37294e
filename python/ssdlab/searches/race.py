"""The rule of the race: which candidates of a rung are surely behind, and what the front is.

Scores are numbers that are to be small: of each candidate, of each objective, one for every seed. All candidates of a
rung have played the same seeds, so that differences are taken seed by seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from ssdlab.common.confidence import t_quantile

Scores = Sequence[Sequence[float]]
"""Of one candidate: by objective, by seed."""
MOST_FREEDOM = 1000
"""Student's t changes no more beyond."""


class Field:
    """The candidates of a rung, to be compared.

    Args:
        values: by candidate, by objective, by seed, as measured.
        goals: ``min`` or ``max`` of each objective.
        confidence: of the intervals of differences.
        indifference: a share by which a candidate may be worse and still count as no worse.
    """

    def __init__(
        self, values: Mapping[int, Scores], goals: Sequence[str], confidence: float, indifference: float
    ) -> None:
        scales = [_Scale(goal, [each[place] for each in values.values()]) for place, goal in enumerate(goals)]
        self._scores = {
            number: [[scale.score(value) for value in seeds] for scale, seeds in zip(scales, each, strict=True)]
            for number, each in values.items()
        }
        self._confidence = confidence
        self._indifferent = [scale.tolerance(indifference) for scale in scales]
        self._spreads = [_residual([each[place] for each in self._scores.values()]) for place in range(len(goals))]
        self.means = {number: tuple(map(mean, each)) for number, each in self._scores.items()}

    def surely_beats(self, one: int, other: int) -> bool:
        """Whether one candidate is surely no worse than another in every objective, and surely better in one: by the
        upper ends of the intervals of the differences. Half an interval is t s sqrt(2 / n): s² is the variance that
        candidates and seeds leave unexplained, of the pair or of all candidates, whichever is larger."""
        better = False
        for place, (mine, theirs) in enumerate(zip(self._scores[one], self._scores[other], strict=True)):
            differences = [a - b for a, b in zip(mine, theirs, strict=True)]
            pooled, freedom = self._spreads[place]
            spread = max(pooled, _variance(differences) / 2.0)
            t = _quantile(self._confidence, min(freedom, MOST_FREEDOM)) if freedom else math.inf
            half = t * math.sqrt(2.0 * spread / len(differences)) if spread else 0.0
            upper = mean(differences) + half
            if upper > self._indifferent[place]:
                return False
            better = better or upper < 0.0
        return better

    def front(self, among: Iterable[int]) -> list[int]:
        """The candidates whose means no other's are as good as or better than in every objective; equal ones stay."""
        return front_of({number: self.means[number] for number in among})

    def layers(self, among: Iterable[int]) -> list[int]:
        """Candidates in the order of their promise: the front, then the front of what is left, and so on."""
        left = {number: self.means[number] for number in among}
        ordered: list[int] = []
        while left:
            first = front_of(left)
            ordered += first
            for number in first:
                del left[number]
        return ordered


class _Scale:
    """How an objective is compared: by logarithms, so that differences are ratios, where all values are positive."""

    def __init__(self, goal: str, values: Iterable[Sequence[float]]) -> None:
        every = [value for seeds in values for value in seeds]
        self._sign = 1.0 if goal == "min" else -1.0
        self._log = min(every, default=0.0) > 0.0
        self._size = math.fsum(map(abs, every)) / max(1, len(every))

    def score(self, value: float) -> float:
        return self._sign * (math.log(value) if self._log else value)

    def tolerance(self, share: float) -> float:
        return math.log1p(share) if self._log else share * self._size


def mean(values: Sequence[float]) -> float:
    """The mean; the same value where all are the same."""
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    middle = mean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1) if len(values) > 1 else 0.0


def _residual(rows: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The variance that is left of a table of candidates by seeds without the means of both, and its freedom."""
    candidates, seeds = len(rows), len(rows[0]) if rows else 0
    if candidates < 2 or seeds < 2:
        return 0.0, 0
    freedom = (candidates - 1) * (seeds - 1)
    of_rows = [mean(row) for row in rows]
    of_seeds = [mean([row[seed] for row in rows]) for seed in range(seeds)]
    middle = mean(of_rows)
    squares = math.fsum(
        (value - of_row - of_seeds[seed] + middle) ** 2
        for row, of_row in zip(rows, of_rows, strict=True)
        for seed, value in enumerate(row)
    )
    return squares / freedom, freedom


@lru_cache(maxsize=1024)
def _quantile(level: float, freedom: int) -> float:
    return t_quantile(level, freedom)


def front_of(points: Mapping[int, Sequence[float]]) -> list[int]:
    """Those that no other point is as good as in all and better than in one number; less is better."""
    found: list[int] = []
    for number in sorted(points, key=lambda number: (tuple(points[number]), number)):
        mine = points[number]
        # What dominates it comes before it in this order.
        if not any(
            points[each] != mine and all(a <= b for a, b in zip(points[each], mine, strict=True)) for each in found
        ):
            found.append(number)
    return sorted(found)


def hypervolume(points: Sequence[Sequence[float]], reference: Sequence[float]) -> float:
    """The volume between a front and a reference point that is worse in all objectives; less is better."""
    inside = sorted({tuple(point) for point in points if all(a < b for a, b in zip(point, reference, strict=True))})
    if not inside:
        return 0.0
    if len(reference) == 1:
        return reference[0] - inside[0][0]
    volume = 0.0
    for place, point in enumerate(inside):
        end = inside[place + 1][0] if place + 1 < len(inside) else reference[0]
        if end > point[0]:
            volume += (end - point[0]) * hypervolume([each[1:] for each in inside[: place + 1]], reference[1:])
    return volume
