"""Schemes against a baseline, as the papers' figures show them: paired by seed, normalised, with geometric means."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ssdlab._core import InputError
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.common.effects import shares_of_axes
from ssdlab.common.numbers import percent_text
from ssdlab.common.shown import html, text
from ssdlab.common.wording import better, listed, phrase
from ssdlab.sweeps.table import LeftOut, axes_of, statistics_of, usable

if TYPE_CHECKING:
    import pandas
    import polars

GEOMEAN = "geometric mean"

PERCENTILES = {"p50": 0.5, "p99": 0.01, "p99_9": 1e-3, "p99_99": 1e-4, "p99_9999": 1e-6}
"""The share of samples that lies beyond a percentile."""


Row = dict[str, dict[object, float]]
"""The values of a row, by scheme, then by seed."""


class Interval(NamedTuple):
    """A mean and half the width of its 95 % confidence interval (Student's t); None for what cannot be known."""

    mean: float | None
    half_width: float | None


class Cell(NamedTuple):
    """One scheme on one row."""

    value: Interval
    """The metric itself."""
    ratio: Interval
    """Over the baseline's, pair by pair; nothing where the baseline has 0 in a pair."""
    difference: Interval
    """Minus the baseline's, pair by pair."""
    pairs: int
    """Seeds that both have; of a geometric mean, those with a mean."""


class Comparison(NamedTuple):
    """A metric of several schemes against one of them."""

    metric: str
    by: str
    baseline: str
    schemes: list[str]
    rows: dict[str, dict[str, Cell]]
    """By row (the labels of the other axes, in quotes where rows would read alike without), then by scheme; the last
    row holds the geometric means of the ratios, over the rows that all schemes have."""
    fewest_beyond: float | None
    """For a percentile: how many samples lie beyond it in the case that has the fewest."""
    left_out: LeftOut | None = None
    """Cases that are left out since their results carry warnings."""
    axes: tuple[tuple[str, float], ...] = ()
    """The other axes, each with its share of all differences between cases, alone or with another axis [%]."""
    lost: tuple[tuple[str, int, int], ...] = ()
    """Of the schemes that warnings leave cases out of: the scheme, cases left out, and all of them."""
    failed: tuple[tuple[str, int, int], ...] = ()
    """Of the schemes with cases that failed: the scheme, cases without any statistic, and all of them."""
    shared: int = 0
    """Rows that all schemes have, which the geometric means are of; a scheme without any pair does not count."""
    zeros: tuple[str, ...] = ()
    """Rows in which the baseline has 0 with a seed: they have no ratios, and geometric means leave them out."""

    def ties(self) -> list[list[str]]:
        """Schemes that have the same values in every row, together."""
        found: dict[tuple[Cell | None, ...], list[str]] = {}
        for scheme in self.schemes:
            cells = tuple(cells.get(scheme) for row, cells in self.rows.items() if row != GEOMEAN)
            if any(cell is not None and cell.value.mean is not None for cell in cells):
                found.setdefault(tuple(cell and cell._replace(pairs=0) for cell in cells), []).append(scheme)
        return [schemes for schemes in found.values() if len(schemes) > 1]

    def frame(self) -> polars.DataFrame:
        """A line for each row and scheme: row, scheme, then value, ratio, difference with their ``_ci95``, pairs."""
        import polars

        lines = [
            (row, scheme, *cell.value, *cell.ratio, *cell.difference, cell.pairs)
            for row, cells in self.rows.items()
            for scheme, cell in cells.items()
        ]
        numbers = ("value", "value_ci95", "ratio", "ratio_ci95", "difference", "difference_ci95")
        texts = {"row": polars.String, self.by: polars.String}
        schema = {**texts, **dict.fromkeys(numbers, polars.Float64), "pairs": polars.Int64}
        return polars.DataFrame(lines, schema=schema, orient="row")

    def to_pandas(self) -> pandas.DataFrame:
        """A line for each row and scheme (:meth:`frame`), as a pandas frame (``pip install 'ssdlab[pandas]'``)."""
        from ssdlab.common.frames import to_pandas

        return to_pandas(self.frame())

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    def takeaway(self) -> str:
        """The comparison in a sentence: by how much each scheme differs from the baseline over all rows, the best
        first."""
        row, cells = list(self.rows.items())[-1] if self.rows else ("", {})
        surely: list[tuple[float, str]] = []
        unclear = []
        for scheme in self.schemes:
            mean, half = cells[scheme].ratio if cells else Interval(None, None)
            if mean is None or scheme == self.baseline:
                continue
            if half and abs(mean - 1.0) <= half:
                unclear.append(scheme)
            else:
                surely.append((mean, scheme))
        surely.sort(reverse=better(self.metric) == "higher")
        parts = [f"{scheme} {_change(mean)}" for mean, scheme in surely]
        if unclear:
            parts.append(f"{listed(unclear)} no different beyond chance")
        if nothing := self._without_mean():
            parts.append(f"{listed(nothing)} without one (0 in a row, or no seed in all rows)")
        name = phrase(self.metric)
        name = name[0].upper() + name[1:] if name.startswith("mean") else name
        over = f" ({self._over()})" if row == GEOMEAN else ""
        return f"{name}, beside {self.baseline}'s{over}: {', '.join(parts) or self._nothing()}."

    def _over(self) -> str:
        """What the geometric means are of."""
        rows = len(self.rows) - 1 - len(self.zeros)
        if not rows:
            return f"{self.baseline} has 0 in every row"
        without = f", without {len(self.zeros):,} in which {self.baseline} has 0" if self.zeros else ""
        if not self.shared:
            return f"none of {rows:,} rows has all schemes{without}"
        which = (
            f"{rows:,} rows" if self.shared == rows else f"the {self.shared:,} of {rows:,} rows that all schemes have"
        )
        return f"{GEOMEAN} of {which}{without}"

    def _without_mean(self) -> list[str]:
        """The schemes that have ratios and no geometric mean of them, though rows have all schemes."""
        means = self.rows.get(GEOMEAN, {}) if self.shared else {}
        rows = [cells for row, cells in self.rows.items() if row != GEOMEAN]
        known = {name for cells in rows for name, cell in cells.items() if cell.ratio.mean is not None}
        return [scheme for scheme, cell in means.items() if cell.ratio.mean is None and scheme in known]

    def _nothing(self) -> str:
        """That there is nothing to compare, and why cases are missing."""
        reasons = [*([self.failures()] if self.failed else []), *([str(self.left_out)] if self.left_out else [])]
        if self.zeros and len(self.rows) == 1:
            reasons.insert(0, f"{self.baseline} has 0, and nothing has a ratio to that")
        return ": ".join(["nothing to compare", *(["; ".join(reasons)] if reasons else [])])

    def failures(self) -> str:
        """How many cases have no result, by scheme, and what says why."""
        count = sum(failed for _, failed, _ in self.failed)
        each = listed([f"{scheme} {failed:,} of {cases:,}" for scheme, failed, cases in self.failed])
        have = "case has" if count == 1 else "cases have"
        return f"{count:,} {have} no result ({each}); `ssdlab sweep` of the same file says why a case failed"


def _change(ratio: float) -> str:
    if ratio >= 2.0:
        return f"{ratio:.3g} times as much"
    if ratio == 1.0:
        return "the same"
    return f"{percent_text(abs(ratio - 1.0))} {'lower' if ratio < 1.0 else 'higher'}"


def compare(
    table: polars.DataFrame,
    metric: str = "host.read.latency_ns.mean",
    *,
    baseline: str | None = None,
    by: str = "scheme",
    accept_warnings: bool = False,
) -> Comparison:
    """Compares the labels of one axis of a sweep's table with one of them.

    Cases that agree in every other axis but the seed make a row; within a row, cases of the same seed make a pair. The
    geometric means are over the rows that all schemes have: else a scheme that fails on the hard rows would look best.

    Args:
        table: what :func:`ssdlab.sweep` gives.
        metric: a statistic.
        baseline: a label of the axis; the first if not given.
        by: the axis.
        accept_warnings: take cases whose results carry warnings; without, they are left out (docs/warnings.md).

    Raises:
        InputError: there is no such axis, label or statistic, two cases have the same labels, or every case carries a
            warning.
    """
    axes = axes_of(table)
    _known(by, axes, "axis")
    _known(metric, statistics_of(table), "statistic")
    schemes = [str(label) for label in table[by].unique(maintain_order=True)]
    if baseline is None:
        baseline = schemes[0]
    baseline = str(baseline)
    _known(baseline, schemes, f"label of {by}")
    others = [axis for axis in axes if axis not in (by, "seed") and table[axis].n_unique() > 1]
    whole = table
    table, left_out = usable(table, accept_warnings)
    values: dict[tuple[str, ...], Row] = {}
    for line in table.select([*axes, metric]).iter_rows(named=True):
        if line[metric] is not None:
            row = tuple(str(line[axis]) for axis in others)
            of_scheme = values.setdefault(row, {}).setdefault(str(line[by]), {})
            if line.get("seed") in of_scheme:
                labels = ", ".join(f"{axis}={line[axis]}" for axis in axes)
                raise InputError(
                    f"two cases of the table are {labels or 'alike'}\n  help: give the table of one sweep: no two "
                    "cases of it have the same labels"
                )
            of_scheme[line.get("seed")] = line[metric]
    names = _names(list(values))
    rows = {
        name: {scheme: _cell(of.get(scheme, {}), of.get(baseline, {})) for scheme in schemes}
        for name, of in zip(names, values.values(), strict=True)
    }
    zeros = tuple(name for name, of in zip(names, values.values(), strict=True) if _has_zero(of.get(baseline, {})))
    shared = _shared(list(values.values()), baseline)
    if len(rows) > 1:
        rows[GEOMEAN] = {scheme: _geometric_mean(shared, scheme, baseline) for scheme in schemes}
    shares = _shares(table, [by, *others], metric)
    moves = tuple((axis, shares[axis]) for axis in others if axis in shares)
    lost, failed = _lost(whole, table, by), _lost(whole, _played(whole), by)
    fewest = _fewest_beyond(table, metric)
    return Comparison(metric, by, baseline, schemes, rows, fewest, left_out, moves, lost, failed, len(shared), zeros)


def _names(rows: list[tuple[str, ...]]) -> list[str]:
    """What rows are called: their labels one after the other, in quotes where rows would read alike without."""
    plain = [" ".join(labels) or "all" for labels in rows]
    counts = Counter(plain)
    return [" ".join(map(repr, labels)) if counts[name] > 1 else name for labels, name in zip(rows, plain, strict=True)]


def _shares(table: polars.DataFrame, axes: list[str], metric: str) -> dict[str, float]:
    """The share of all differences between cases that each axis contributes, alone or with another one [%]."""
    by_seed: dict[object, list[tuple[tuple[str, ...], float]]] = {}
    for line in table.select([*axes_of(table), metric]).iter_rows(named=True):
        if line[metric] is not None:
            row = (tuple(str(line[axis]) for axis in axes), float(line[metric]))
            by_seed.setdefault(line.get("seed"), []).append(row)
    return shares_of_axes(axes, list(by_seed.values()))


def moved_by(table: polars.DataFrame, axis: str, metric: str) -> float:
    """By which factor the means of an axis's labels differ at most; 1 where there is nothing to compare, and infinite
    where they differ and one is not above 0."""
    import polars

    means = [mean for _, mean in table.group_by(axis).agg(polars.col(metric).mean()).iter_rows() if mean is not None]
    if not means or max(means) == min(means):
        return 1.0
    return max(means) / min(means) if min(means) > 0.0 else math.inf


def _played(table: polars.DataFrame) -> polars.DataFrame:
    """The cases of a table that have a result: any statistic at all."""
    import polars

    return table.filter(polars.any_horizontal(polars.col(name).is_not_null() for name in statistics_of(table)))


def _lost(whole: polars.DataFrame, kept: polars.DataFrame, by: str) -> tuple[tuple[str, int, int], ...]:
    """Of each label that lost cases: how many, and how many it had."""
    counts = {
        label: (whole.filter(whole[by] == label).height, kept.filter(kept[by] == label).height)
        for label in whole[by].unique(maintain_order=True)
    }
    return tuple((str(label), had - has, had) for label, (had, has) in counts.items() if has < had)


def _known(name: str, known: list[str], what: str) -> None:
    if name not in known:
        from difflib import get_close_matches

        near = get_close_matches(name, known, 1)
        shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
        hint = f"did you mean `{near[0]}`?" if near else f"there are {shown or 'none'}"
        raise InputError(f"{name}: there is no such {what} in the table\n  help: {hint}")


def _cell(mine: dict[object, float], base: dict[object, float]) -> Cell:
    pairs = [(mine[seed], base[seed]) for seed in mine if seed in base]
    ratios = [] if any(not other for _, other in pairs) else [value / other for value, other in pairs]
    return Cell(
        Interval(*mean_and_half_width(list(mine.values()))),
        Interval(*mean_and_half_width(ratios)),
        Interval(*mean_and_half_width([value - other for value, other in pairs])),
        len(pairs),
    )


def _has_zero(base: dict[object, float]) -> bool:
    """Whether a row has no ratios: the baseline has 0 with a seed."""
    return any(not value for value in base.values())


def _shared(rows: list[Row], baseline: str) -> list[Row]:
    """The rows in which all schemes have a pair with the baseline, which is nowhere 0; a scheme without any pair does
    not count."""
    rows = [row for row in rows if not _has_zero(row.get(baseline, {}))]
    paired = [
        {scheme for scheme, of in row.items() if any(seed in row.get(baseline, {}) for seed in of)} for row in rows
    ]
    schemes = set().union(*paired)
    return [row for row, of in zip(rows, paired, strict=True) if of and of == schemes]


def _geometric_mean(rows: list[Row], scheme: str, baseline: str) -> Cell:
    """Of the ratios over rows that all schemes have, seed by seed; a row that lacks a seed leaves that seed out. A
    scheme that has 0 in one has none."""
    of = [(row.get(scheme, {}), row[baseline]) for row in rows]
    seeds = [seed for seed in (of[0][0] if of else {}) if all(seed in mine and seed in base for mine, base in of)]
    ratios = [[mine[seed] / base[seed] for mine, base in of] for seed in seeds]
    means = [math.exp(math.fsum(map(math.log, each)) / len(each)) for each in ratios if min(each) > 0]
    if len(means) < len(ratios):
        means = []
    nothing = Interval(None, None)
    return Cell(nothing, Interval(*mean_and_half_width(means)), nothing, len(means))


def _fewest_beyond(table: polars.DataFrame, metric: str) -> float | None:
    part, _, last = metric.rpartition(".latency_ns.")
    beyond = PERCENTILES.get(last)
    counts = f"{part}.requests"
    if beyond is None or counts not in table.columns:
        return None
    fewest = table.filter(table[metric].is_not_null())[counts].min()
    return None if fewest is None else float(fewest) * beyond  # type: ignore[arg-type]
