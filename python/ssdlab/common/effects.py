"""What each axis contributes: an objective as the sum of a mean, a part of every axis, a part of every pair of axes.

It is fitted to candidates that were chosen without regard to their results, for each seed the whole product or a draw
of its own: to the mean over the seeds that played a combination. Intervals are the jackknife's: by what the fit becomes
without each of the seeds, with Student's t.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ssdlab.common.confidence import t_quantile

ROUNDS = 100
"""Turns of the fit, at most; a whole product needs one."""
LEAST_SHARE = 1.0
"""Axes and pairs that contribute less change nothing that is worth a line [%] (assumed)."""
IN_A_CELL = 4
"""A pair of axes is fitted to a draw that has at least this many candidates for each combination of their labels."""

Term = tuple[int, ...]
"""An axis, or two."""
Row = tuple[tuple[str, ...], float]
"""The labels of a candidate, and what was measured."""


class Decomposition(NamedTuple):
    """An objective by its parts."""

    effects: dict[Term, dict[tuple[str, ...], float]]
    """What labels add to the mean: ratios less one where all values are positive, differences otherwise."""
    shares: dict[Term, float]
    """Of the sum of squares about the mean [%]."""
    rest: float
    """What no term explains [%]."""


def decompose(by_seed: Sequence[Sequence[Row]], whole: bool, ratios: bool) -> Decomposition:
    """Fits main effects, then pairs to what they leave, by least squares. ``whole``: the rows are a product;
    ``ratios``: by logarithms."""
    labels, left = _averaged(by_seed, ratios)
    total = math.fsum(value * value for value in left)
    axes = [axis for axis in range(len(labels[0])) if len({of[axis] for of in labels}) > 1]
    mains: list[Term] = [(axis,) for axis in axes]
    pairs: list[Term] = [pair for pair in itertools.combinations(axes, 2) if whole or _is_filled(labels, pair)]
    effects: dict[Term, dict[tuple[str, ...], float]] = {}
    shares = {}
    for terms in (mains, pairs):
        for term, of in _fit(labels, left, terms).items():
            parts = [of[tuple(row[axis] for axis in term)] for row in labels]
            shares[term] = 100.0 * math.fsum(part * part for part in parts) / total if total else 0.0
            left = [value - part for value, part in zip(left, parts, strict=True)]
            effects[term] = {key: math.expm1(value) if ratios else value for key, value in of.items()}
    rest = 100.0 * math.fsum(value * value for value in left) / total if total else 0.0
    return Decomposition(effects, shares, rest)


def _averaged(by_seed: Sequence[Sequence[Row]], ratios: bool) -> tuple[list[tuple[str, ...]], list[float]]:
    """Every combination that was played, and its mean over seeds, about the mean of all; seeds count by what differs
    from their own mean."""
    found: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for rows in by_seed:
        values = [math.log(value) if ratios else value for _, value in rows]
        middle = math.fsum(values) / len(values)
        for (labels, _), value in zip(rows, values, strict=True):
            found[labels].append(value - middle)
    means = [math.fsum(values) / len(values) for values in found.values()]
    middle = math.fsum(means) / len(means)
    return list(found), [value - middle for value in means]


def _is_filled(labels: Sequence[tuple[str, ...]], pair: Term) -> bool:
    cells = math.prod(len({of[axis] for of in labels}) for axis in pair)
    return len(labels) >= IN_A_CELL * cells


def _fit(
    labels: Sequence[tuple[str, ...]], values: Sequence[float], terms: Sequence[Term]
) -> dict[Term, dict[tuple[str, ...], float]]:
    """Least squares by turns: each term takes the means of what the others leave, until none changes."""
    keys = {term: [tuple(of[axis] for axis in term) for of in labels] for term in terms}
    fitted: dict[Term, dict[tuple[str, ...], float]] = {term: dict.fromkeys(keys[term], 0.0) for term in terms}
    left = list(values)
    scale = max(map(abs, values), default=0.0)
    for _ in range(ROUNDS):
        most = 0.0
        for term in terms:
            sums: dict[tuple[str, ...], list[float]] = defaultdict(list)
            for key, value in zip(keys[term], left, strict=True):
                sums[key].append(value)
            moves = {key: math.fsum(of) / len(of) for key, of in sums.items()}
            for key, move in moves.items():
                fitted[term][key] += move
                most = max(most, abs(move))
            left = [value - moves[key] for key, value in zip(keys[term], left, strict=True)]
        if most <= 1e-12 * scale:
            break
    return fitted


def shares_of_axes(axes: Sequence[str], by_seed: Sequence[Sequence[Row]]) -> dict[str, float]:
    """What each axis contributes to all differences [%], alone or with another one; ``by_seed`` has the rows of each
    seed."""
    by_seed = [rows for rows in by_seed if rows]
    if not by_seed:
        return {}
    product = math.prod(len({labels[axis] for rows in by_seed for labels, _ in rows}) for axis in range(len(axes)))
    whole = all(len({labels for labels, _ in rows}) == product for rows in by_seed)
    found = decompose(by_seed, whole, all(value > 0.0 for rows in by_seed for _, value in rows))
    return {
        name: math.fsum(share for term, share in found.shares.items() if axis in term) for axis, name in enumerate(axes)
    }


class Effect(NamedTuple):
    """A line of the table of effects."""

    objective: str
    axis: str
    label: str
    """Empty for the axis or the pair as a whole."""
    with_axis: str
    with_label: str
    effect: float | None
    """What the label adds: a share of the mean over the axis where ``ratio``; else in the objective's unit."""
    effect_ci95: float | None
    ratio: bool
    share: float | None
    """Of all differences between candidates [%], for an axis or a pair as a whole; ``rest`` is an axis too."""
    share_ci95: float | None


def effects_of(objective: str, axes: Sequence[str], by_seed: Sequence[Sequence[Row]], whole: bool) -> list[Effect]:
    """The table of effects on an objective; ``by_seed`` has the rows of each seed."""
    by_seed = [rows for rows in by_seed if rows]
    if not by_seed:
        return []
    ratio = all(value > 0.0 for rows in by_seed for _, value in rows)
    full = decompose(by_seed, whole, ratio)
    without = [
        decompose([*by_seed[:place], *by_seed[place + 1 :]], whole, ratio)
        for place in range(len(by_seed) if len(by_seed) > 1 else 0)
    ]
    lines = []
    for term, share in full.shares.items():
        first, second = axes[term[0]], axes[term[1]] if len(term) > 1 else ""
        half = _half_width(share, [each.shares.get(term) for each in without])
        lines.append(Effect(objective, first, "", second, "", None, None, ratio, share, half))
        for key, effect in full.effects[term].items():
            half = _half_width(effect, [each.effects.get(term, {}).get(key) for each in without])
            of_pair = key[1] if second else ""
            lines.append(Effect(objective, first, key[0], second, of_pair, effect, half, ratio, None, None))
    half = _half_width(full.rest, [each.rest for each in without])
    lines.append(Effect(objective, "rest", "", "", "", None, None, ratio, full.rest, half))
    return lines


def _half_width(value: float, without: Sequence[float | None]) -> float | None:
    """Half of a 95 % interval by the jackknife: of a value, and of what it is without each of the seeds."""
    known = [each for each in without if each is not None]
    if len(known) < 2 or len(known) < len(without):
        return None
    count = len(known)
    middle = math.fsum(known) / count
    variance = math.fsum((each - middle) ** 2 for each in known) * (count - 1) / count
    return t_quantile(0.95, count - 1) * math.sqrt(variance)
