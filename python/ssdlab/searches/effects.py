"""What each axis contributes: an objective as the sum of a mean, a part of every axis, a part of every pair of axes.

Each seed gives an estimate of its own, from candidates that were chosen without regard to their results (the whole
product, or its own draw); intervals are Student's over seeds.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ssdlab.common.confidence import mean_and_half_width

ROUNDS = 100
"""Turns of the fit, at most; a whole product needs one."""
IN_A_CELL = 4
"""A pair of axes is fitted to a draw that has so many candidates for each combination of their labels."""

Term = tuple[int, ...]
"""An axis, or two."""
Row = tuple[tuple[str, ...], float]
"""The labels of a candidate, and what was measured."""


class Decomposition(NamedTuple):
    """An objective by one seed."""

    effects: dict[Term, dict[tuple[str, ...], float]]
    """What labels add to the mean: ratios less one where all values are positive, differences otherwise."""
    shares: dict[Term, float]
    """Of the sum of squares about the mean [%]."""
    rest: float
    """What no term explains [%]."""
    ratios: bool


def decompose(rows: Sequence[Row], whole: bool) -> Decomposition:
    """Fits main effects, then pairs to what they leave, by least squares. ``whole``: the rows are a product."""
    ratios = all(value > 0.0 for _, value in rows)
    values = [math.log(value) if ratios else value for _, value in rows]
    labels = [of for of, _ in rows]
    middle = math.fsum(values) / len(values)
    left = [value - middle for value in values]
    total = math.fsum(value * value for value in left)
    axes = [axis for axis in range(len(labels[0])) if len({of[axis] for of in labels}) > 1]
    mains: list[Term] = [(axis,) for axis in axes]
    pairs = [pair for pair in itertools.combinations(axes, 2) if whole or _is_filled(labels, pair)]
    effects: dict[Term, dict[tuple[str, ...], float]] = {}
    shares = {}
    for terms in (mains, pairs):
        fitted = _fit(labels, left, terms)
        for term, of in fitted.items():
            parts = [of[tuple(row[axis] for axis in term)] for row in labels]
            shares[term] = 100.0 * math.fsum(part * part for part in parts) / total if total else 0.0
            left = [value - part for value, part in zip(left, parts, strict=True)]
            effects[term] = {key: math.expm1(value) if ratios else value for key, value in of.items()}
    rest = 100.0 * math.fsum(value * value for value in left) / total if total else 0.0
    return Decomposition(effects, shares, rest, ratios)


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
    parts = [decompose(rows, whole) for rows in by_seed if len(rows) > 1]
    if not parts:
        return []
    ratio = all(part.ratios for part in parts)
    parts = [part for part in parts if part.ratios == ratio]
    lines = []
    terms = dict.fromkeys(term for part in parts for term in part.shares)
    for term in sorted(terms, key=lambda term: (len(term), term)):
        first, second = axes[term[0]], axes[term[1]] if len(term) > 1 else ""
        share = mean_and_half_width([part.shares[term] for part in parts if term in part.shares])
        lines.append(Effect(objective, first, "", second, "", None, None, ratio, *share))
        keys = dict.fromkeys(key for part in parts for key in part.effects.get(term, ()))
        for key in keys:
            found = [part.effects[term][key] for part in parts if key in part.effects.get(term, {})]
            effect = mean_and_half_width(found)
            lines.append(Effect(objective, first, key[0], second, key[1] if second else "", *effect, ratio, None, None))
    rest = mean_and_half_width([part.rest for part in parts])
    lines.append(Effect(objective, "rest", "", "", "", None, None, ratio, *rest))
    return lines
