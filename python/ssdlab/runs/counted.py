"""Which requests of a log count."""

from __future__ import annotations


def first_counted(warmup: int | None, settled: int | None) -> int:
    """The number of the first request that counts, in a request log: those of the warm-up have lower ones, and so have
    those of a load that settles (``host.settled_requests``). A run does not have both."""
    return (warmup or 0) + (settled or 0)
