"""Tables of searches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ssdlab.common.effects import LEAST_SHARE
from ssdlab.common.numbers import number_text, percent_text, value_text
from ssdlab.common.tables import Table, wrapped
from ssdlab.common.wording import heading, listed
from ssdlab.runs.findings import ACCEPT
from ssdlab.show.runs import KEPT_UP_TO_DATE
from ssdlab.show.verdicts import shares_text

if TYPE_CHECKING:
    from ssdlab.searches.campaign import SearchResult

NEAR_END = 0.99
"""The share of its hypervolume at the end at which a front is nearly what it becomes."""
MOST_TIED = 4
"""The most candidates of the same result that are named."""
MOST_NEAR = 5
"""The most results that are shown of those not surely behind the front."""
MOST_REASONS = 8
"""The most reasons that are shown of each state."""
STATES = {
    "front": "on the front",
    "near": "not surely behind",
    "behind": "surely behind, at full length",
    "dropped": "dropped, surely behind in short runs",
    "infeasible": "break a constraint",
    "marked": "left out: results carry warnings",
    "refused": "refused",
    "failed": "failed",
    "unplayed": "not run to their end: the budget was spent",
}


def of_search(found: SearchResult) -> tuple[list[Table], list[str]]:
    """What a search found: the front, what each axis contributes, what became of the candidates."""
    tables = [_front(found), *_near(found), *_shares(found), _states(found), *_reasons(found)]
    return tables, _footnotes(found)


def _front(found: SearchResult) -> Table:
    """The front: results that chance does not tell apart are a row, and what all points share stands in the title."""
    shared, differing = found.axes_of_front()
    ties = found.ties()
    rows = [(*_row(found, of, differing), "yes" if any(row["holds"] for row in of) else "no") for of in ties]
    if found.given is not None:
        rows.append(("as given", *("" for _ in differing), *_values(found, found.given), ""))
    count = f"{found.front.height} of {found.candidates.height} candidates"
    several = (
        "" if len(ties) == found.front.height else f" ({len(ties)} different result{'s' if len(ties) > 1 else ''})"
    )
    common = f"; all with {', '.join(f'{axis} {label}' for axis, label in shared.items())}" if shared else ""
    columns = ("", *differing, *_heads(found), "on it still")
    return Table(f"Front: {count}{several}, with new seeds{common}", columns, rows, left=1 + len(differing), right=1)


def _row(found: SearchResult, of: list[dict[str, Any]], axes: list[str]) -> tuple[str, ...]:
    """Candidates that chance does not tell apart: their numbers, the labels that they have, what was measured."""
    labels = (" | ".join(dict.fromkeys(str(row[axis]) for row in of)) for axis in axes)
    numbers = ", ".join(str(row["candidate"]) for row in of[:MOST_TIED]) + (" …" if len(of) > MOST_TIED else "")
    return (numbers, *labels, *_values(found, of[0]))


def _values(found: SearchResult, row: Mapping[str, Any]) -> list[str]:
    return [value_text(each.statistic, row[each.name], row[f"{each.name}_ci95"]) for each in found.search.objectives]


def _near(found: SearchResult) -> list[Table]:
    """What may be as good as the front, by what differs from its first point: alike results are a row."""
    near = found.near()
    if not near or not found.front.height:
        return []
    first = found.front.row(0, named=True)
    rows = []
    for of in near[:MOST_NEAR]:
        numbers, *labels = _row(found, of, list(found.search.space.axes))[: 1 + len(found.search.space.axes)]
        pairs = zip(found.search.space.axes, labels, strict=True)
        what = ", ".join(f"{axis} {label}" for axis, label in pairs if label != str(first[axis]))
        rows.append((numbers, what, *_values(found, of[0])))
    rest = f"; the {MOST_NEAR} first of {len(near)} results" if len(near) > MOST_NEAR else ""
    title = f"Not surely behind the front: {sum(map(len, near)):,} candidates, with the seeds of the race{rest}"
    return [Table(title, ("", f"other than {first['candidate']}", *_heads(found)), rows, left=2)]


def _heads(found: SearchResult) -> list[str]:
    """The objectives as heads of columns: those that are called as their statistics are, in words."""
    return [heading(each.name) if each.name == each.statistic else each.name for each in found.search.objectives]


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
    return [Table(title, ("", *_heads(found)), rows)] if rows else []


def _percent(share: float, half: float | None) -> str:
    return f"{share:.1f}" if half is None else f"{share:.1f} ± {half:.1f}"


def _states(found: SearchResult) -> Table:
    counts = found.counts()
    rows: list[tuple[str, ...]] = [
        (text, number_text(counts[state])) for state, text in STATES.items() if state in counts
    ]
    return Table("Candidates", ("", "number"), rows)


def _reasons(found: SearchResult) -> list[Table]:
    """Why candidates were left out, and what helps."""
    rows: list[tuple[str, ...]] = []
    for state in ("refused", "infeasible", "marked", "failed"):
        of = found.reasons(state)
        for reason in of[:MOST_REASONS]:
            remedy = f"{ACCEPT} takes them" if state == "marked" else reason.remedy
            rows.append((number_text(reason.cases), STATES[state].partition(":")[0], reason.problem, remedy))
        if len(of) > MOST_REASONS:
            rest = sum(reason.cases for reason in of[MOST_REASONS:])
            rows.append((number_text(rest), STATES[state].partition(":")[0], "for other reasons: candidates.csv", ""))
    table = Table("Why candidates were left out", ("", "what became of them", "why", "what helps"), rows, left=4)
    return [table] if rows else []


def _starts(found: SearchResult) -> list[str]:
    """Points of the front that rest on reads beginning near the right references, whatever the age of the data."""
    lines = []
    for start, kept in KEPT_UP_TO_DATE.items():
        if numbers := [str(number) for number, of in found.read_starts.items() if of == start]:
            of_all = "every point of the front" if len(numbers) == found.front.height else f"points {listed(numbers)}"
            lines.append(
                f"{of_all}: reads begin where {kept} (read.start = {start}), an assumption under which age costs few "
                'retries; "read.start" = "default" in [run] searches without it'
            )
    return lines


def _footnotes(found: SearchResult) -> list[str]:
    lines = ["± 95 % confidence interval over new seeds; on it still: on the front with them too"]
    doubts = found.doubts()
    lines += [f"warning: candidate {number} is {why}" for number, why in list(doubts.items())[:MOST_REASONS]]
    if len(doubts) > MOST_REASONS:
        lines.append(f"warning: {len(doubts) - MOST_REASONS} further points carry warnings: front.csv")
    if found.given is not None and found.given["why"]:
        lines.append(f"the drive as given has no result: {found.given['why']}")
    idle, deciding = found.without_effect(), found.deciding()
    if none := {axis: share for axis, share in idle.items() if axis not in deciding}:
        lines.append(f"changes nothing here, by its share of any objective's differences: {shares_text(none)}")
    lines += [
        f"{axis} contributes little ({percent_text(idle[axis] / 100.0)} of all differences), and yet all that may be "
        f"best have {label}: it decides among the best"
        for axis, label in deciding.items()
    ]
    lines += _starts(found)
    near = found.progress.filter(found.progress["hypervolume"] >= NEAR_END)
    if near.height:
        lines.append(
            f"the front had {100 * NEAR_END:.0f} % of its final hypervolume after {near['cases'][0]:g} of "
            f"{found.spent:g} full cases"
        )
    return [part for line in lines for part in wrapped(line)]
