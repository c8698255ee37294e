"""Timelines of runs for the Perfetto UI (https://ui.perfetto.dev): what every resource did."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssdlab._core import Simulation
    from ssdlab.runs.explain import Explanation
    from ssdlab.runs.options import Options
    from ssdlab.runs.statistics import Host


def write(options: Options, path: str, windows: Sequence[str] = (), slowest: int | None = None) -> int:
    """Plays a run and writes a timeline of ``windows`` (``FROM:TO`` each, times with units) and of the surroundings of
    the ``slowest`` so many requests; of all of it if neither is given. Returns the file's size [B].

    An operation or request that a window shows a part of is shown whole.

    Raises:
        InputError: a window that is none.
        SimulationError: the file cannot be written.
    """
    from ssdlab.runs.simulation import open_simulation

    quiet = options.without_outputs()
    shown = list(windows)
    if slowest is not None:
        from ssdlab.runs.explain import explain

        shown += [surroundings(of) for of in explain(quiet, slowest, ()).requests]
    return write_played(lambda: open_simulation(quiet), path, shown, None)


def write_played(begin: Callable[[], Simulation], path: str, windows: Sequence[str], slowest: int | None) -> int:
    """Writes the timeline of the run that ``begin`` opens; it is called for each pass."""
    from ssdlab.common.output import replacing

    shown = list(windows)
    if slowest is not None:
        from ssdlab.runs.explain import explain_played

        shown += [surroundings(of) for of in explain_played(begin(), slowest, ()).requests]
    with replacing(path) as temporary:
        return begin().timeline(temporary, shown)


def check(windows: Sequence[str]) -> None:
    """Refuses windows that are none, at once: the core reads them, and plays one request.

    Raises:
        InputError: a window that is none.
    """
    from ssdlab._core import Simulation

    Simulation("tlc", "default", requests=1).timeline(os.devnull, list(windows))


NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9, "d": 86_400e9}


def beyond(windows: Sequence[str], options: Options, host: Host) -> Iterator[str]:
    """The windows that begin after the end of a run; none where requests were run before those that count, whose time
    alone is known."""
    if options.warmup or options.until_steady is not None or host.get("settled_requests"):
        return
    for window in windows:
        begin = re.match(r"\s*([\d.]+)\s*([a-z]+)\s*:", window)
        if begin and float(begin[1]) * NS.get(begin[2], math.inf) > host.elapsed_s * 1e9:
            yield window


def surroundings(of: Explanation) -> str:
    """The window of a request and half of its latency on either side."""
    margin = of.latency_ns // 2 + 1
    return f"{max(0, of.arrival_ns - margin)}ns:{of.finish_ns + margin}ns"
