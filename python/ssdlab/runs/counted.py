"""Which requests of a log count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import polars


class Counted(NamedTuple):
    """What tells the requests that count from the others in a run's log: those of the numbers from ``first`` on; where
    a steady state was reached, of these the ones that completed within its five rounds."""

    first: int
    """Those of the warm-up have lower numbers, and so have those of a load that settles (``host.settled_requests``). A
    run does not have both."""
    from_ns: int | None = None
    """They completed later than this, from the start of the workload [ns] (``host.steady.from_ns``)."""
    to_ns: int | None = None
    """They completed not later than this (``host.steady.to_ns``)."""

    @classmethod
    def of(cls, warmup: int | None, host: Mapping[str, Any]) -> Counted:
        """That of a run with this warm-up, whose result says this of the host.

        Raises:
            InputError: the result was kept before it said when its rounds began.
        """
        from ssdlab._core import InputError

        steady = host.get("steady") or {}
        if steady.get("reached") and steady.get("from_ns") is None:
            raise InputError(
                "this result does not say when its steady rounds began, and so not which requests of its log count\n"
                "  help: it is of an earlier version; run it again"
            )
        first = (warmup or 0) + (host.get("settled_requests") or 0)
        return cls(first, steady.get("from_ns"), steady.get("to_ns"))

    def requests(self, log: polars.DataFrame) -> polars.DataFrame:
        """The requests of a log that count."""
        import polars

        counts = polars.col("request") >= self.first
        if self.from_ns is not None:
            counts &= (polars.col("finish_ns") > self.from_ns) & (polars.col("finish_ns") <= self.to_ns)
        return log.filter(counts)
