"""Tables of sweeps and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ssdlab.common.effects import LEAST_SHARE
from ssdlab.common.numbers import value_text, with_interval
from ssdlab.common.tables import Table, wrapped
from ssdlab.common.wording import headings, listed, words
from ssdlab.show.runs import NOTHING_COLLECTED
from ssdlab.show.verdicts import shares_text

if TYPE_CHECKING:
    import polars

    from ssdlab.sweeps.comparison import Comparison


SHOWN = (
    "host.read.latency_ns.mean",
    "host.read.latency_ns.p99",
    "host.write.latency_ns.mean",
    "host.all.iops",
    "ftl.waf",
)
"""What is shown of a sweep if nothing is asked for."""


def of_sweep(table: polars.DataFrame, shown: Sequence[str] = ()) -> Table:
    """The table of a sweep: the axes and some statistics."""
    from ssdlab.sweeps.table import WARNINGS, axes_of, statistics_of

    axes = axes_of(table)
    check_shown(shown, statistics_of(table))
    names = list(shown) or shown_of(table)
    marked = WARNINGS in table.columns and table[WARNINGS].null_count() < table.height
    rows = [
        (
            *(str(row[axis]) for axis in axes),
            *(
                ("~" if name == "ftl.waf" and _nothing_collected(row) else "") + value_text(name, row[name])
                for name in names
            ),
            *((row[WARNINGS] or "",) if marked else ()),
        )
        for row in table.iter_rows(named=True)
    ]
    columns = (*axes, *headings(names), *((WARNINGS,) if marked else ()))
    return Table("Cases", columns, rows, left=len(axes), right=int(marked))


def check_shown(shown: Sequence[str], statistics: Sequence[str]) -> None:
    """Refuses to show what is no statistic of a table.

    Raises:
        InputError: one of ``shown`` is none.
    """
    for name in shown:
        if name not in statistics:
            from difflib import get_close_matches

            from ssdlab._core import InputError

            near = get_close_matches(name, statistics, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(statistics[:8])}, …"
            raise InputError(f"--show {name}: there is no such statistic in the table\n  help: {hint}")


def _nothing_collected(row: Mapping[str, Any]) -> bool:
    return row["ftl.waf"] is not None and row.get("ftl.gc_runs") == 0


def notes_of(cells: Table) -> list[str]:
    """The footnotes of the table of a sweep."""
    return [NOTHING_COLLECTED] if any(cell.startswith("~") for row in cells.rows for cell in row) else []


def shown_of(table: polars.DataFrame) -> list[str]:
    """The statistics that are shown of a sweep if nothing is asked for; the first is that of its sentence."""
    from ssdlab.sweeps.table import statistics_of

    statistics = statistics_of(table)
    return [name for name in SHOWN if name in statistics and table[name].count()] or statistics[:4]


def of_comparison(comparison: Comparison) -> tuple[list[Table], list[str]]:
    """A comparison: the metric itself, and its ratios to the baseline's."""
    schemes = comparison.schemes
    values = [
        (row, *(value_text(comparison.metric, *cells[scheme].value) for scheme in schemes))
        for row, cells in comparison.rows.items()
        if any(cell.value.mean is not None for cell in cells.values())
    ]
    ratios = [
        (row, *(with_interval(*cells[scheme].ratio) for scheme in schemes)) for row, cells in comparison.rows.items()
    ]
    pairs = min((cell.pairs for cells in comparison.rows.values() for cell in cells.values()), default=0)
    from ssdlab.sweeps.comparison import GEOMEAN

    footnotes = [f"± 95 % confidence interval over seeds; pairs of a seed: {pairs} or more"] if pairs > 1 else []
    if pairs == 1:
        footnotes.append("one seed each: nothing can be said about chance; give the sweep an axis of seeds")
    if comparison.zeros:
        rows = f"{len(comparison.zeros):,} of {len(comparison.rows) - (GEOMEAN in comparison.rows):,} rows"
        footnotes.append(f"no ratio where {comparison.baseline} has 0 with a seed: in {rows}")
    for same in comparison.ties():
        footnotes.append(f"the same in every row: {listed(same)}")
    if idle := {axis: share for axis, share in comparison.axes if share < LEAST_SHARE}:
        footnotes += wrapped(
            f"changes nothing here, by its share of all differences between cases: {shares_text(idle)}"
        )
    if comparison.left_out is not None:
        footnotes.append(str(comparison.left_out))
        lost = [f"{scheme} {out:,} of {of:,}" for scheme, out, of in comparison.lost]
        footnotes.append(f"  left out of {listed(lost)}")
    if comparison.failed:
        footnotes += wrapped(comparison.failures())
    if comparison.fewest_beyond is not None:
        footnotes.append(
            f"{comparison.fewest_beyond:,.1f} samples lie beyond the percentile in the case with the fewest"
        )
    return [
        Table(words(comparison.metric), ("", *schemes), values),
        Table(f"{words(comparison.metric)}, over {comparison.baseline}'s", ("", *schemes), ratios),
    ], footnotes


def of_shares(found: polars.DataFrame, meet: polars.DataFrame, metric: str) -> list[Table]:
    """What parts buy, and how they meet."""
    contexts = found.columns[: found.columns.index("part")]
    tables = []
    for about, table, names in ((f"{metric} falls by this factor", found, ("alone", "on_top", "share")),) + (
        (("A part's gain grows by this factor with the other part", meet, ("factor",)),) if meet.height else ()
    ):
        keys = [*contexts, *(name for name in ("part", "other") if name in table.columns)]
        rows = [
            (*(str(row[key]) for key in keys), *(with_interval(row[name], row[f"{name}_ci95"]) for name in names))
            for row in table.iter_rows(named=True)
        ]
        heads = [name.replace("_", " ") for name in (*keys, *names)]
        tables.append(Table(about, tuple(heads), rows, left=len(keys)))
    return tables
