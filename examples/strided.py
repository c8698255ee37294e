"""A read policy to try: `ssdlab run --policy next=examples/strided.py:every_fourth` (docs/prototypes.md)."""

from __future__ import annotations

from ssdlab.policy import Failed, Reference


def every_fourth(failed: Failed) -> Reference | None:
    """Every fourth step of the retry table from the start on, then those behind them, until all have been tried."""
    return stride(failed, 4)


def every_eighth(failed: Failed) -> Reference | None:
    """Every eighth step of the retry table from the start on, then those behind them, until all have been tried."""
    return stride(failed, 8)


def stride(failed: Failed, by: int) -> Reference | None:
    assert isinstance(failed.reference, int)
    steps = failed.last + 1
    tried = (failed.reference - failed.start) % steps
    ahead = tried + by
    if ahead < steps:
        return (failed.start + ahead) % steps
    behind = tried % by + 1
    return (failed.start + behind) % steps if behind < min(by, steps) else None
