"""Tables, sentences and figures of fleets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ssdlab.common.numbers import percent_text, time_text, value_text
from ssdlab.common.tables import Table

MARKS = "osD^vP"
"""Of rules, one after another."""

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

    from ssdlab.lives.fleet import Fleet


def of_fleet(found: Fleet) -> tuple[list[Table], list[str]]:
    """The fleet by scheme and rule, its tail by the share of old drives, and the interpolation's error."""
    rows = found.table.to_dicts()

    served = [
        (row["scheme"], row["rule"], *(value_text("_ns", row[f"{name}_ns"], row[f"{name}_ns_ci95"])
                                       for name in ("p99", "p99_9", "p99_99")), f"{row['life_months']:.1f}")
        for row in rows
    ]  # fmt: skip
    costs = [
        (row["scheme"], row["rule"], f"{row['pec']:,.0f}", percent_text(row["worn"]),
         percent_text(row["retired"]),
         *(f"{row[name]:.4g}" for name in ("energy_kwh", "operation_kg", "embodied_kg", "carbon_kg")))
        for row in rows
    ]  # fmt: skip
    shares = found.shares.to_dicts()
    every = list(dict.fromkeys(row["old"] for row in shares))
    mixed = []
    for row in rows:
        mine = [
            time_text(of["p99_99_ns"]) for of in shares if (of["scheme"], of["rule"]) == (row["scheme"], row["rule"])
        ]
        mixed.append((row["scheme"], row["rule"], *mine))
    errors: list[tuple[str, ...]] = [
        (
            of.scheme,
            of.axis,
            of.statistic.replace("_", "."),
            str(of.points),
            percent_text(of.median),
            percent_text(of.worst),
        )
        for of in found.errors
    ]
    head = ("scheme", "replaced")
    spec = found.spec
    tables = [
        Table(
            "The service's reads, and how long drives serve",
            (*head, "p99", "p99.9", "p99.99", "months"),
            served,
            2,
        ),
        Table(
            "A year of a drive in service: what goes; of each TB kWh, and kg CO2e of running and making it",
            (*head, "P/E", "worn", "retired", "kWh", "running", "making", "all"),
            costs,
            2,
        ),
        Table("p99.99 by the share of reads from old drives", (*head, *map(percent_text, every)), mixed, 2),
        Table("Error of the interpolation", ("scheme", "axis", "of", "points", "median", "worst"), errors, 3),
    ]
    constants = [f"{name} = {of.value:g} ({of.source})" for name, of in spec.constants.items()]
    drawn = [
        f"{name}: {'mean' if of.normal else 'median'} {of.middle:g} ({of.source})" for name, of in spec.draw.items()
    ]
    return tables, [
        f"{spec.drives:,} drives in {spec.replicates} replicates; ± 95 % interval of sampling them, not of the model",
        "old: in the last fifth of a life, the others in the first",
        "a point is left out and predicted by its neighbours on an axis, at twice the grid's step",
        *constants,
        *drawn,
    ]


def draw(found: Fleet) -> Figure:
    """p99.99 by the share of old drives; of drives bought together by month; what the tail is made of; carbon."""
    from ssdlab.show.curves import DASHES
    from ssdlab.show.plot import COLOURS, _axes

    figure, _ = _axes(None, 11.0, 7.4)
    figure.clear()
    (mixed, monthly), (made, carbon) = figure.subplots(2, 2)
    schemes, rules = list(found.spec.schemes), list(found.spec.replace)
    # The legend is filled column by column: a column a rule, a line a scheme.
    for of, rule in enumerate(rules):
        for at, scheme in enumerate(schemes):
            style = {"color": COLOURS[at % len(COLOURS)], "ls": DASHES[of % len(DASHES)]}
            mark = {"marker": MARKS[of % len(MARKS)], "ms": 5}
            name = f"{scheme}, {rule}" if len(rules) > 1 else scheme
            rows = found.shares.filter(scheme=scheme, rule=rule)
            mixed.plot(100 * rows["old"], rows["p99_99_ns"] / 1e6, label=name, **style, **mark)
            rows = found.months.filter(scheme=scheme, rule=rule)
            monthly.plot(rows["month"], rows["p99_99_ns"] / 1e6, **style)
            rows = found.tail.filter(scheme=scheme, rule=rule)
            made.plot(10 * rows["part"] + 5, 100 * rows["beyond"], **style)
            row = found.table.row(by_predicate=_is(scheme, rule), named=True)
            carbon.plot(row["carbon_kg"], row["p99_99_ns"] / 1e6, ls="", color=style["color"], **mark | {"ms": 7})
    for ax, title, x, y in (
        (mixed, "old drives beside young ones", "reads from old drives [%]", "p99.99 of reads [ms]"),
        (monthly, "drives bought together", "month", "p99.99 of reads [ms]"),
        (made, "whose reads are slow", "part of a drive's life [%]", "of reads beyond p99.99 [%]"),
        (carbon, "what a tail costs", "CO2e a TB and year [kg]", "p99.99 of reads [ms]"),
    ):
        ax.set_title(title, loc="left")
        ax.set_xlabel(x)
        ax.set_ylabel(y)
        ax.set_ylim(bottom=0.0)
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    handles, labels = mixed.get_legend_handles_labels()
    figure.legend(handles, labels, ncols=min(5, len(rules)), loc="outside lower center", frameon=False)
    return figure


def _is(scheme: str, rule: str) -> polars.Expr:
    import polars

    return (polars.col("scheme") == scheme) & (polars.col("rule") == rule)
