"""What is left of what was interrupted or could not go on."""

from __future__ import annotations

from typing import Any, NamedTuple


class Kept(NamedTuple):
    """What an unfinished run leaves behind."""

    completed: int
    """Requests that had completed."""
    logs: tuple[tuple[str, int], ...] = ()
    """The request logs that are complete and readable: path and rows."""
    broken: tuple[str, ...] = ()
    """Request logs that could not be completed: nothing of them is left, and earlier ones are as they were."""
    result: Any = None
    """The :class:`ssdlab.Result` until then where a request had completed, or the :class:`ssdlab.Runs` of the seeds
    that had ended; marked by the finding ``interrupted``."""

    def __str__(self) -> str:
        parts = [f"{self.completed:,} requests had completed"]
        if self.logs:
            parts.append("kept: " + ", ".join(f"{path} with {rows:,} rows" for path, rows in self.logs))
        if self.broken:
            parts.append("could not be kept: " + ", ".join(self.broken))
        if self.result is None and not self.logs and not self.broken:
            parts.append("nothing was kept (a request log, --requests-out, would be)")
        return "; ".join([*parts, "no results were written"] if self.result is None else parts)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run; :attr:`kept` lists what is left of it."""

    def __init__(self, kept: Kept) -> None:
        super().__init__(str(kept))
        self.kept = kept
        self.finished: Any = None
        self.found: Any = None
        """What a search (:class:`ssdlab.SearchResult`) or a fit had found, marked by the finding ``interrupted``."""
