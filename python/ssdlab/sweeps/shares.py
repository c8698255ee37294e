"""What each part of a whole product buys: alone, on top of all others, and its share (Shapley's value).

A sweep over axes of two labels each, what it is without a part first, plays every combination of parts. A part's gain
is by how many times a statistic falls when it joins others. Its Shapley value is the mean gain over all orders in which
the parts may join: the product of these values is the gain of all parts together, a part that changes nothing has 1,
and two that do the same have the same (L. Shapley, A value for n-person games, 1953; here of logarithms).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ssdlab._core import InputError
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.runs.findings import ACCEPT
from ssdlab.sweeps.table import axes_of, usable

if TYPE_CHECKING:
    import polars

Gains = Sequence[float]
"""By the parts that are there, as bits: the logarithm of by how many times the statistic falls, for all of them."""


def shares(
    table: polars.DataFrame, metric: str, parts: Sequence[str] | None = None, *, accept_warnings: bool = False
) -> polars.DataFrame:
    """What each part buys under each of the other axes' labels: those axes, then part, alone, on_top (of all others),
    share (Shapley's), each with ``_ci95``: by how many times ``metric`` falls, and half a 95 % interval over seeds.
    ``parts`` are axes of a sweep's table; all that have two labels if not given.

    Raises:
        InputError: they are no whole product, ``metric`` is not positive everywhere, or the result of a case carries a
            warning (docs/warnings.md) and ``accept_warnings`` is not set.
    """
    import polars

    _refuse_marked(table, accept_warnings)
    parts, contexts, found = _gains(table, metric, parts)
    everything = (1 << len(parts)) - 1
    rows = []
    for labels, by_seed in found.items():
        for place, part in enumerate(parts):
            bit = 1 << place
            row = dict(zip(contexts, labels, strict=True)) | {"part": part}
            row |= _factor("alone", [of[bit] - of[0] for of in by_seed])
            row |= _factor("on_top", [of[everything] - of[everything ^ bit] for of in by_seed])
            row |= _factor("share", [_shapley(of, [place], len(parts)) for of in by_seed])
            rows.append(row)
    return polars.DataFrame(rows)


def pairs(table: polars.DataFrame, metric: str, parts: Sequence[str] | None = None) -> polars.DataFrame:
    """How parts meet: by how many times a part's gain is larger where another one is there, on Shapley's mean over all
    others: those axes, then part, other, factor, factor_ci95. Below 1 one does what the other does too; above 1 they
    help each other. Raises as :func:`shares` does."""
    import polars

    parts, contexts, found = _gains(table, metric, parts)
    rows = []
    for labels, by_seed in found.items():
        for first, second in itertools.combinations(range(len(parts)), 2):
            row = dict(zip(contexts, labels, strict=True)) | {"part": parts[first], "other": parts[second]}
            rows.append(row | _factor("factor", [_shapley(of, [first, second], len(parts)) for of in by_seed]))
    return polars.DataFrame(rows)


def _refuse_marked(table: polars.DataFrame, accept_warnings: bool) -> None:
    """A product without one of its cases has no shares: all of them must hold."""
    _, left_out = usable(table, accept_warnings)
    if left_out is not None:
        raise InputError(
            f"{left_out.cases:,} of {left_out.of:,} cases carry warnings: {', '.join(left_out.ids)}\n  help: the "
            f"column `warnings` of the table names them, and docs/warnings.md says what to do;"
            f" {ACCEPT} takes them as they are"
        )


def _shapley(gains: Gains, of: Sequence[int], parts: int) -> float:
    """The mean over all orders of what a part adds, or of what two together add beyond each by itself: Shapley's
    value, and the interaction index of Grabisch and Roubens (1999)."""
    own = sum(1 << place for place in of)
    left = parts - len(of)
    total = 0.0
    for others in range(1 << parts):
        if others & own:
            continue
        size = others.bit_count()
        weight = 1.0 / ((left + 1) * math.comb(left, size))
        added = 0.0
        for chosen in itertools.product((0, 1), repeat=len(of)):
            joined = sum(1 << place for place, there in zip(of, chosen, strict=True) if there)
            added += (-1) ** (len(of) - sum(chosen)) * gains[others | joined]
        total += weight * added
    return total


def _factor(name: str, logs: list[float]) -> dict[str, float | None]:
    mean, half = mean_and_half_width(logs)
    assert mean is not None, "Invariant: a product has a seed"
    return {name: math.exp(mean), f"{name}_ci95": None if half is None else math.exp(mean) * half}


def _gains(
    table: polars.DataFrame, metric: str, given: Sequence[str] | None
) -> tuple[list[str], list[str], dict[tuple[object, ...], list[Gains]]]:
    """The parts, the other axes but ``seed``, and by their labels the gains of each seed."""
    axes = axes_of(table)
    parts = [axis for axis in axes if axis != "seed" and table[axis].n_unique() == 2] if given is None else list(given)
    odd = [name for name in (metric, *parts) if name not in table.columns]
    if odd or not parts or any(table[part].n_unique() != 2 for part in parts):
        what = f"the table has no column {odd[0]}" if odd else "parts are axes of two labels"
        raise InputError(f"{what}\n  help: sweep axes of two labels, what it is without the part first")
    others = [axis for axis in axes if axis not in parts and axis != "seed"]
    keys = [*others, *(["seed"] if "seed" in axes else [])]
    found: dict[tuple[object, ...], list[Gains]] = {}
    second = {part: table[part].unique(maintain_order=True)[1] for part in parts}
    for labels, of in _groups(table, keys):
        values = {}
        for *joined, value in of.select(*parts, metric).iter_rows():
            bits = sum(1 << place for place, part in enumerate(parts) if joined[place] == second[part])
            if value is not None and value > 0.0:
                values[bits] = value
        if of.height != 1 << len(parts) or len(values) != of.height:
            where = ", ".join(f"{key}={label}" for key, label in zip(keys, labels, strict=True))
            raise InputError(
                f"{where or 'the table'}: has {len(values)} positive {metric} in {of.height} cases, for "
                f"{1 << len(parts)} combinations of {', '.join(parts)}\n  help: play the whole product"
            )
        gains = [math.log(values[0] / values[bits]) for bits in range(1 << len(parts))]
        found.setdefault(labels[: len(others)], []).append(gains)
    return parts, others, found


def _groups(table: polars.DataFrame, keys: Sequence[str]) -> Iterable[tuple[tuple[object, ...], polars.DataFrame]]:
    return table.group_by(keys, maintain_order=True) if keys else [((), table)]
