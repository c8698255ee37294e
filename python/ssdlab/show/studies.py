"""Tables of studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ssdlab.common.numbers import number_text, with_interval
from ssdlab.common.tables import Table

if TYPE_CHECKING:
    from ssdlab.study.claims import Verdict


def of_claims(id: str, about: str, verdicts: Sequence[Verdict]) -> Table:
    """The claims of a study."""
    verdict_texts = {True: "holds", False: "FAILS", None: "-"}
    rows: list[tuple[str, ...]] = []
    for verdict in verdicts:
        claim, measured = verdict.claim, verdict.measured
        low, high = (number_text(end) for end in claim.accept)
        # What moves a predicted claim is in --json and in reports.
        reason = "" if verdict.proves in ("", "predicted") else str(verdict.proof)
        rows.append(
            (
                claim.id,
                claim.says if len(claim.says) <= 60 else claim.says[:59] + "…",
                claim.unit,
                number_text(claim.published),
                with_interval(measured.value, measured.ci95),
                f"{low} … {high}",
                verdict_texts[verdict.passed],
                verdict.proves,
                "; ".join(part for part in (measured.note, reason) if part),
            )
        )
    columns = ("claim", "says", "unit", "published", "measured", "accepted", "", "proves", "note")
    return Table(f"{id}: {about}", columns, rows, left=3, right=2)
