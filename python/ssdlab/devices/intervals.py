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
CORRECTIONS = 10
"""Steps that the others may take beside a constant that is held,"""
FALLING = 0.8
"""as long as each lowers chi-squared to this part or less."""
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
    """What the other constants are beside one that is held: from the last place within the interval they follow as the
    derivatives say, and then as Gauss and Newton do, with the derivatives at the best place."""

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

    def allowed(self, place: Array, step: float, most: float) -> Array | None:
        """A place so far on from another, on a logarithmic scale, whose chi-squared is ``most`` or less; None where
        none is found."""
        import numpy

        place, least = numpy.clip(place + step * self.follow, *self.bounds), math.inf
        for _ in range(CORRECTIONS):
            found = self.residuals(place)
            chi2 = float((found**2).sum())
            if chi2 <= most:
                return place
            if chi2 > FALLING * least:
                break
            least, place = chi2, place.copy()
            place[self.others] -= self.inverse @ found
            place = numpy.clip(place, *self.bounds)
        return None

    def limit(self, sign: float) -> float:
        """How far it may go."""
        return float(abs((self.bounds[1] if sign > 0 else self.bounds[0])[self.index] - self.logs[self.index]))


def _end(beside: _Beside, sign: float, most: float) -> float | None:
    limit = beside.limit(sign)
    place, inside, step = beside.logs, 0.0, min(FIRST, limit)
    while (further := beside.allowed(place, sign * (step - inside), most)) is not None:
        if step >= limit:
            return None
        place, inside, step = further, step, min(2.0 * step, limit)
    for _ in range(HALVINGS):
        middle = 0.5 * (inside + step)
        further = beside.allowed(place, sign * (middle - inside), most)
        if further is None:
            step = middle
        else:
            place, inside = further, middle
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
