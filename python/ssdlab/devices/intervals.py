"""How well constants are known: profile likelihoods, and combinations that the figures leave open."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float64]]

FIRST = 0.02
"""The first step of a profile: 2 %."""
HALVINGS = 3
"""An end lies within an eighth of its last step."""
LEAST_POWER = 0.2
"""Constants with a smaller share of a combination, over its largest, are not named."""


def seen_by(matrix: Array, least: float) -> Array:
    """Which columns move the residuals, by more than ``least`` for a factor of 2."""
    import numpy

    seen: Array = numpy.sqrt(numpy.sum(matrix**2, axis=0)) * math.log(2.0) > least
    return seen


def profiles(
    residuals: Callable[[Array], Array],
    logs: Array,
    matrix: Array,
    seen: Array,
    bounds: tuple[Array, Array],
    allowed: float,
) -> list[tuple[float | None, float | None]]:
    """The interval of each constant that the likelihood allows, with the others where they fit best beside it. None for
    an end that nothing sets within the bounds."""
    best = float((residuals(logs) ** 2).sum())
    out: list[tuple[float | None, float | None]] = []
    for index in range(len(logs)):
        beside = _Beside(residuals, logs, matrix, seen, bounds, index)
        ends = (_end(beside, sign, best + allowed) if seen[index] else None for sign in (-1.0, 1.0))
        out.append((next(ends), next(ends)))
    return out


class _Beside:
    """The smallest chi-squared beside a constant that is held: the others follow as the derivatives say, and then go
    one step of Gauss and Newton on."""

    def __init__(
        self,
        residuals: Callable[[Array], Array],
        logs: Array,
        matrix: Array,
        seen: Array,
        bounds: tuple[Array, Array],
        index: int,
    ) -> None:
        import numpy

        self.residuals, self.logs, self.bounds, self.index = residuals, logs, bounds, index
        self.others = [other for other in range(len(logs)) if other != index and seen[other]]
        # Directions that nothing holds are left alone.
        self.inverse = numpy.linalg.pinv(matrix[:, self.others], rcond=0.002)
        self.follow = numpy.zeros(len(logs))
        self.follow[index] = 1.0
        self.follow[self.others] = -self.inverse @ matrix[:, index]

    def chi2(self, step: float) -> float:
        """With the constant so far away from its best value, on a logarithmic scale."""
        import numpy

        at = numpy.clip(self.logs + step * self.follow, *self.bounds)
        first = self.residuals(at)
        corrected = at.copy()
        corrected[self.others] -= self.inverse @ first
        second = self.residuals(numpy.clip(corrected, *self.bounds))
        return float(min((first**2).sum(), (second**2).sum()))

    def limit(self, sign: float) -> float:
        """How far it may go."""
        return float(abs((self.bounds[1] if sign > 0 else self.bounds[0])[self.index] - self.logs[self.index]))


def _end(beside: _Beside, sign: float, allowed: float) -> float | None:
    limit = beside.limit(sign)
    inside, step = 0.0, min(FIRST, limit)
    while beside.chi2(sign * step) <= allowed:
        if step >= limit:
            return None
        inside, step = step, min(2.0 * step, limit)
    for _ in range(HALVINGS):
        middle = 0.5 * (inside + step)
        inside, step = (middle, step) if beside.chi2(sign * middle) <= allowed else (inside, middle)
    return math.exp(beside.logs[beside.index] + sign * step)


def left_open(matrix: Array, moved: Array, prior: Array, scale: float) -> Array:
    """One standard deviation of the logarithms of figures that were not fitted, which move with the constants by
    ``moved``: the constants are known from the figures that were, whose residuals move by ``matrix``, and from what was
    known before."""
    import numpy

    spread = numpy.linalg.inv(matrix.T @ matrix / scale + numpy.diag(prior**-2.0))
    widths: Array = numpy.sqrt(numpy.einsum("ij,jk,ik->i", moved, spread, moved))
    return widths


def blurs(
    matrix: Array, seen: Array, names: Sequence[str], scale: float, least: float
) -> list[tuple[float, tuple[tuple[str, float], ...]]]:
    """Combinations of constants that the figures leave open: eigenvectors of the Fisher information with small
    eigenvalues, each with the factor of its 95 % interval and the powers of the constants in it; the vaguest first."""
    import numpy

    places = [index for index in range(len(names)) if seen[index]]
    if not places:
        return []
    values, vectors = numpy.linalg.eigh(matrix[:, places].T @ matrix[:, places] / scale)
    out = []
    for value, vector in zip(values, vectors.T, strict=True):
        width = 1.96 / math.sqrt(value) if value > 1e-9 else math.inf
        powers = vector / vector[numpy.argmax(numpy.abs(vector))]
        named = [(names[place], float(power)) for place, power in zip(places, powers, strict=True)]
        kept = tuple(sorted((row for row in named if abs(row[1]) >= LEAST_POWER), key=lambda row: -abs(row[1])))
        # The width is along the vector, whose largest part is less than 1.
        width *= float(numpy.max(numpy.abs(vector)))
        if width > least and len(kept) > 1:
            out.append((math.exp(min(width, 700.0)), kept))
    return out
