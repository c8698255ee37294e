"""Tables of searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ssdlab.common.numbers import number_text, value_text
from ssdlab.common.tables import Table
from ssdlab.runs.findings import ACCEPT

if TYPE_CHECKING:
    from ssdlab.searches.campaign import SearchResult

LEAST_SHARE = 1.0
"""Axes and pairs that contribute less are not shown [%]."""
NEAR_END = 0.99
"""The share of its hypervolume at the end at which a front is nearly what it becomes."""
STATES = {
    "front": "on the front",
    "near": "not surely behind",
    "behind": "surely behind, at full length",
    "dropped": "dropped, surely behind in short runs",
    "infeasible": "break a constraint",
    "marked": "left out: results carry warnings",
    "refused": "refused",
    "failed": "failed",
    "unplayed": "not played to their end: the budget was spent",
}


def of_search(found: SearchResult) -> tuple[list[Table], list[str]]:
    """What a search found: the front, what each axis contributes, what became of the candidates."""
    return [_front(found), *_shares(found), _states(found)], _footnotes(found)


def _front(found: SearchResult) -> Table:
    axes = list(found.search.space.axes)
    judged = [each.name for each in found.search.objectives]
    rows = [
        (
            str(row["candidate"]),
            *(str(row[axis]) for axis in axes),
            *(value_text(name, row[name], row[f"{name}_ci95"]) for name in judged),
            "yes" if row["holds"] else "no",
        )
        for row in found.front.iter_rows(named=True)
    ]
    title = f"Front: {found.front.height} of {found.candidates.height} candidates, with new seeds"
    return Table(title, ("", *axes, *judged, "holds"), rows, left=1 + len(axes), right=1)


def _shares(found: SearchResult) -> list[Table]:
    """A table: by axis and pair the share of each objective's differences."""
    import polars

    objectives = [each.name for each in found.search.objectives]
    shares = found.effects.filter(polars.col("label") == "")
    rows = []
    for axis, other in shares.select("axis", "with_axis").unique(maintain_order=True).iter_rows():
        of = {row["objective"]: row for row in shares.filter(axis=axis, with_axis=other).iter_rows(named=True)}
        if any(row["share"] >= LEAST_SHARE for row in of.values()):
            cells = (_percent(of[name]["share"], of[name]["share_ci95"]) if name in of else "-" for name in objectives)
            rows.append((f"{axis} with {other}" if other else axis, *cells))
    title = "What the axes contribute: shares of all differences between candidates [%]"
    return [Table(title, ("", *objectives), rows)] if rows else []


def _percent(share: float, half: float | None) -> str:
    return f"{share:.1f}" if half is None else f"{share:.1f} ± {half:.1f}"


def _states(found: SearchResult) -> Table:
    counts = found.counts()
    rows: list[tuple[str, ...]] = [
        (text, number_text(counts[state])) for state, text in STATES.items() if state in counts
    ]
    return Table("Candidates", ("", "number"), rows)


def _footnotes(found: SearchResult) -> list[str]:
    lines = ["± 95 % confidence interval over seeds that the race has not seen; holds: on the front with them too"]
    near = found.progress.filter(found.progress["hypervolume"] >= NEAR_END)
    if near.height:
        lines.append(
            f"the front had {100 * NEAR_END:.0f} % of its final hypervolume after {near['cases'][0]:g} of "
            f"{found.spent:g} full cases"
        )
    marked = found.candidates.filter(found.candidates["state"] == "marked")
    if marked.height:
        lines.append(f"left out: {marked['why'][0]} (candidate {marked['candidate'][0]}); {ACCEPT} takes them")
    if not found.front.height:
        lines.append("no candidate keeps the constraints to the end: see why in candidates.csv (--out)")
    return lines
