"""Timelines of runs for the Perfetto UI (https://ui.perfetto.dev): what every resource did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._runner import Options
    from .explain import Explanation


def write(options: Options, path: str, windows: Sequence[str] = (), slowest: int | None = None) -> int:
    """Plays a run and writes a timeline of ``windows`` (``FROM:TO`` each, times with units) and of the surroundings of
    the ``slowest`` so many requests; of all of it if neither is given. Returns the file's size [B].

    An operation or request that a window shows a part of is shown whole.

    Raises:
        InputError: a window that is none.
        SimulationError: the file cannot be written.
    """
    from ._runner import _open

    quiet = options._replace(requests_out=None, series_out=None, keep_requests=False)
    shown = list(windows)
    if slowest is not None:
        from .explain import explain

        shown += [surroundings(of) for of in explain(quiet, slowest, ())]
    return _open(quiet).timeline(path, shown)


def surroundings(of: Explanation) -> str:
    """The window of a request and half of its latency on either side."""
    margin = of.latency_ns // 2 + 1
    return f"{max(0, of.arrival_ns - margin)}ns:{of.finish_ns + margin}ns"
