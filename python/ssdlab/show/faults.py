"""Tables of a campaign of faults."""

from __future__ import annotations

from ssdlab.common.numbers import number_text
from ssdlab.common.tables import Table
from ssdlab.faults.campaign import OUTCOMES, Found


def of_campaign(found: Found) -> tuple[list[Table], list[str]]:
    """The tables and what stands below them."""
    counts = found.counts()
    shown = [outcome for outcome in OUTCOMES if any(count[outcome] for count in counts.values())]
    rows = [
        (f"{name} = {value}" if name else value, *(number_text(count[outcome]) for outcome in shown))
        for (name, value), count in counts.items()
    ]
    cuts, checked = (sum(getattr(each, what) for each in found.outcomes) for what in ("cuts", "checked"))
    broken = sum(each.broken for each in found.outcomes)
    lines = [f"{number_text(cuts)} power cuts, {number_text(checked)} pages checked after them"] if cuts else []
    lines += [f"{number_text(broken)} planes and blocks broke with their data"] if broken else []
    lines += [f"{number_text(count)} refused: {why}" for count, why in found.refused()]
    for failure in found.failures:
        lines += [f"case {failure.number}: {failure.why}", f"  {failure.command}"]
    return [Table("Cases by what was drawn and by outcome", ("", *shown), rows)], lines
