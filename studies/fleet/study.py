"""Fleets: how long drives serve at equal tail under each read scheme, its carbon, and whose reads are slow."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl

from ssdlab.common.canvas import blank
from ssdlab.common.tables import markdown
from ssdlab.common.toml import Document
from ssdlab.lives.fleet import Fleet, fleet
from ssdlab.show import plot
from ssdlab.study.claims import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE = Path(__file__).parent / "fleets" / "fleet.toml"
SCHEMES = ("baseline", "pnar2", "tracked", "rif")
TAILS_MS = (1.0, 2.0, 3.0)
"""p99.99 of the service that schemes are compared at."""
SHOWN = (1, 3, 5, 8, 10)
"""Years that are shown."""


def _document(schemes: tuple[str, ...]) -> Document:
    """The fleet's file with some of its schemes."""
    import tomllib

    found: Document = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return found | {"schemes": {name: found["schemes"][name] for name in schemes}}


@lru_cache(maxsize=2)
def _fleet(schemes: tuple[str, ...]) -> Fleet:
    # What an earlier build has left in a cache is not what this one gives.
    with TemporaryDirectory() as folder:
        return fleet(_document(schemes), cache=folder)


def _renewed(schemes: tuple[str, ...]) -> pl.DataFrame:
    return _fleet(schemes).table


def _shares(schemes: tuple[str, ...]) -> pl.DataFrame:
    return _fleet(schemes).shares.filter(pl.col("rule").is_in(["5 years", "8 years"]))


def _tail(schemes: tuple[str, ...]) -> pl.DataFrame:
    return _fleet(schemes).tail.filter(pl.col("rule").is_in(["5 years", "8 years"]))


def _months(schemes: tuple[str, ...]) -> pl.DataFrame:
    return _fleet(schemes).months.filter(rule="10 years")


def _errors(schemes: tuple[str, ...]) -> pl.DataFrame:
    return pl.DataFrame(_fleet(schemes).errors, orient="row", schema=[
        "scheme", "axis", "statistic", "points", "median", "worst"])  # fmt: skip


MADE = {"renewed": _renewed, "shares": _shares, "tail": _tail, "months": _months, "errors": _errors}
TABLES = {name: (lambda progress, made=made: made(SCHEMES)) for name, made in MADE.items()}
QUICK = {name: (lambda progress, made=made: made(("rif",))) for name, made in MADE.items()}
"""In CI one scheme only."""


def years_at(table: pl.DataFrame, scheme: str, tail_ms: float) -> float | None:
    """After how many years drives must be replaced so that the service's p99.99 is no more than so long: on a line
    between two rules; infinity where ten years keep it, None where one year does not."""
    rows = table.filter(scheme=scheme)
    points = [(float(rule.split()[0]), of / 1e6) for rule, of in zip(rows["rule"], rows["p99_99_ns"], strict=True)]
    if points[0][1] > tail_ms:
        return None
    for (low, below), (high, above) in pairwise(points):
        if below <= tail_ms < above:
            return float(low + (tail_ms - below) / (above - below) * (high - low))
    return float("inf")


def carbon_at(table: pl.DataFrame, scheme: str, years: float) -> float:
    """CO2e a TB and year [kg] where drives are replaced after this many years: between two rules a line in
    1 / years."""
    rows = table.filter(scheme=scheme)
    points = [(1.0 / float(rule.split()[0]), of) for rule, of in zip(rows["rule"], rows["carbon_kg"], strict=True)]
    place = 1.0 / min(years, 10.0)
    for (high, above), (low, below) in pairwise(points):
        if low <= place <= high:
            return float(below + (place - low) / (high - low) * (above - below))
    raise AssertionError("Invariant: years are within the rules")


# The tables of README.md. A test compares them; `pytest --update-golden` writes them.


def findings(tables: Tables) -> dict[str, str]:
    """The tables of README.md by name, as Markdown."""
    return {
        "tails": _tails(tables["renewed"]),
        "months": _equal(tables["renewed"]),
        "carbon": _carbon(tables["renewed"]),
        "mixed": _mixed(tables["shares"]),
        "made": _made(tables["tail"]),
        "errors": _left_out(tables["errors"]),
    }


def _row(table: pl.DataFrame, scheme: str, years: int) -> dict[str, Any]:
    return table.row(by_predicate=(pl.col("scheme") == scheme) & (pl.col("rule") == f"{years} years"), named=True)


def _tails(table: pl.DataFrame) -> str:
    rows = []
    for scheme in SCHEMES:
        cells = []
        for years in SHOWN:
            row = _row(table, scheme, years)
            cells.append(f"{row['p99_99_ns'] / 1e6:.2f} ± {row['p99_99_ns_ci95'] / 1e6:.2f}")
        rows.append([scheme, *cells])
    return markdown(["scheme", *(f"{years} y" for years in SHOWN)], rows)


def _equal(table: pl.DataFrame) -> str:
    rows = []
    for scheme in SCHEMES:
        cells = []
        for tail in TAILS_MS:
            years = years_at(table, scheme, tail)
            if years is None:
                cells.append("not in the first year")
            else:
                beyond = years == float("inf")
                cells.append(
                    f"{'over 120' if beyond else f'{12 * years:.0f}'}; {carbon_at(table, scheme, years):.0f} kg"
                )
        rows.append([scheme, *cells])
    return markdown(["scheme", *(f"p99.99 of {tail:g} ms" for tail in TAILS_MS)], rows)


def _carbon(table: pl.DataFrame) -> str:
    rows = []
    for scheme in ("baseline", "rif"):
        for years in SHOWN:
            row = _row(table, scheme, years)
            kept = (f"{row[name]:.1f}" for name in ("energy_kwh", "operation_kg", "embodied_kg", "carbon_kg"))
            rows.append([scheme, str(years), f"{row['pec']:,.0f}", *kept])
    head = ["scheme", "years", "P/E cycles at the end", "kWh", "kg of running", "kg of making", "together"]
    return markdown(head, rows)


def _mixed(table: pl.DataFrame) -> str:
    shares = sorted(set(table["old"]))
    rows = []
    for scheme in SCHEMES:
        mine = table.filter(scheme=scheme, rule="8 years").sort("old")
        rows.append([scheme, *(f"{of / 1e6:.2f}" for of in mine["p99_99_ns"])])
    return markdown(["scheme", *(f"{100 * share:.0f} % old" for share in shares)], rows)


def _made(table: pl.DataFrame) -> str:
    rows = []
    for scheme in SCHEMES:
        mine = table.filter(scheme=scheme, rule="8 years").sort("part")["beyond"].to_list()
        parts = (sum(mine[low:high]) for low, high in ((0, 5), (5, 8), (8, 10)))
        rows.append([scheme, *(f"{100 * part:.0f} %" for part in parts)])
    return markdown(["scheme", "first half of their lives", "next three tenths", "last fifth"], rows)


def _left_out(table: pl.DataFrame) -> str:
    rows = []
    for scheme in SCHEMES:
        mine = table.filter(scheme=scheme, statistic="p99")
        rows.append([scheme, *(f"{100 * row['median']:.1f} %; {100 * row['worst']:.0f} %" for row in mine.to_dicts())])
    return markdown(["scheme", "writes a day", "cycles", "age of data"], rows)


def figures(tables: Tables) -> dict[str, Figure]:
    """Each by name: fleet (p99.99 over the age at which drives are replaced, and over carbon)."""
    table = tables["renewed"]
    figure = blank(10.5, 4.4)
    ages, carbon = figure.subplots(1, 2, sharey=True)
    for at, scheme in enumerate(SCHEMES):
        rows = table.filter(scheme=scheme)
        years = [float(rule.split()[0]) for rule in rows["rule"]]
        tail = rows["p99_99_ns"] / 1e6
        ages.plot(years, tail, "o-", ms=3.5, color=plot.COLOURS[at], label=scheme)
        carbon.plot(rows["carbon_kg"], tail, "o-", ms=3.5, color=plot.COLOURS[at])
    ages.set_ylabel("p99.99 of the service's reads [ms]")
    ages.set_xlabel("drives are replaced after [years]")
    carbon.set_xlabel("CO2e a TB and year [kg]")
    for axes in (ages, carbon):
        axes.set_yscale("log")
        axes.grid(alpha=0.3, which="both")
        axes.spines[["top", "right"]].set_visible(False)
    ages.legend(frameon=False)
    return {"fleet": figure}
