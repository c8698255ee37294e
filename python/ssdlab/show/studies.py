"""Tables of studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ssdlab.common.numbers import number_text, with_interval
from ssdlab.common.tables import Table

if TYPE_CHECKING:
    from ssdlab.study.claims import Verdict
    from ssdlab.study.infer import Inferred
    from ssdlab.study.shapes import Told

BEST = 10
"""Points that are shown of a search."""


def of_claims(id: str, about: str, verdicts: Sequence[Verdict]) -> Table:
    """The claims of a study."""
    verdict_texts = {True: "yes", False: "NO", None: "-"}
    rows: list[tuple[str, ...]] = []
    for verdict in verdicts:
        claim, measured = verdict.claim, verdict.measured
        low, high = (number_text(end) for end in claim.accept)
        # What moves a predicted claim is in --json and in reports.
        basis = "" if verdict.proves in ("", "predicted") else verdict.basis
        rows.append(
            (
                claim.id,
                f"{number_text(claim.published)} {claim.unit}".rstrip(),
                with_interval(measured.value, measured.ci95),
                f"{low}…{high}",
                verdict_texts[verdict.passed],
                claim.says,
                ", ".join(part for part in (verdict.proves, f"{verdict.half} half" if verdict.half else "") if part),
                "; ".join(part for part in (*(verdict.reason or ()), measured.note, basis) if part),
            )
        )
    columns = ("claim", "published", "measured", "accepted", "in range", "says", "evidence", "note")
    return Table(f"{id}: {about}", columns, rows, left=1, right=3)


def of_shapes(id: str, shapes: Sequence[Told]) -> Table:
    """The shapes of a study's figures."""
    rows: list[tuple[str, ...]] = [
        (
            told.shape.id,
            "-" if told.seen is None else "yes" if told.seen.holds else "NO",
            told.shape.says,
            told.shape.where,
            "; ".join(part for part in (*(told.reason or ()), "" if told.seen is None else told.seen.what) if part),
        )
        for told in shapes
    ]
    return Table(f"{id}: shapes of its figures", ("shape", "holds", "says", "where", "seen"), rows, left=1)


def of_inferred(id: str, inferred: Inferred) -> tuple[Table, Table]:
    """What was inferred: the best points, and the claims that are outside their range at every point."""
    from ssdlab.study.claims import HALVES

    settings = inferred.open.settings
    rows: list[tuple[str, ...]] = []
    for point in inferred.ranked[:BEST]:
        held = (f"{inferred.held(point, of)} of {inferred.claims_of(of)}" for of in HALVES)
        rows.append((*map(str, point.labels), *held, number_text(inferred.miss(point)), point.error.split("\n")[0]))
    space = "all of the space" if inferred.whole else "searched setting by setting"
    best = Table(
        f"{id}: {len(inferred.points)} points, {space}; the first is chosen",
        (*(setting.name for setting in settings), *(f"{of} half" for of in HALVES), "miss", ""),
        rows,
        left=len(settings),
    )
    never = [
        tuple(str(row[name]) for name in ("claim", "half", "published", "low", "high", "nearest", "where"))
        for row in inferred.table_of_claims().iter_rows(named=True)
        if row["holds_at"] == 0
    ]
    columns = ("claim", "half", "published", "low", "high", "nearest", "at")
    return best, Table("Claims outside their range at every point", columns, never, left=2)
