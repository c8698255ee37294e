"""Where the time of all reads beyond a percentile went: the sum of their explanations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ssdlab._core import InputError
from ssdlab.common.shown import html, text
from ssdlab.runs.explain import DIE, Explained, Explanation, Listener, counted_requests, die_text, explain
from ssdlab.runs.findings import Finding
from ssdlab.runs.kept import Interrupted

if TYPE_CHECKING:
    import pandas
    import polars

    from ssdlab.common.tables import Table
    from ssdlab.runs.options import Options


class TailStage(NamedTuple):
    """A stage of the reads beyond a percentile, and of as many reads around the median."""

    what: str
    """As in :class:`ssdlab.runs.explain.Stage`."""
    retry: bool
    """Whether it belongs to the second sense of a page or a later one."""
    mean_ns: float
    """What it took of a read beyond the percentile, on the mean [ns]."""
    share: float
    """Its share of the time of all reads beyond the percentile."""
    median_mean_ns: float
    """What it took of a read around the median, on the mean [ns]."""
    median_share: float
    """Its share of the time of the reads around the median."""
    die: dict[str, float]
    """While reads beyond the percentile waited for their dies: what these did, on the mean [ns]."""


class Tail(NamedTuple):
    """Where the time of all reads beyond a percentile went."""

    percentile: float
    threshold_ns: int
    """The percentile itself [ns]: the slowest of the other reads."""
    reads: int
    """Reads that took longer."""
    of_reads: int
    """All reads of the run that count: not those of its warm-up, nor those out of the rounds of a steady state."""
    mean_ns: float
    """Mean latency of the reads beyond the percentile [ns]."""
    median_mean_ns: float
    """Mean latency of the reads around the median [ns]."""
    stages: tuple[TailStage, ...]
    """The longest of the reads beyond the percentile first; their means add up to the mean latency. None where a signal
    ended the run before any had been explained."""
    warnings: tuple[Finding, ...] = ()
    """What puts the run in doubt (docs/warnings.md); ``interrupted`` where a signal ended it: these are then the reads
    until there."""

    def table(self) -> polars.DataFrame:
        """A row for each stage: what, retry, mean_ns, share, median_mean_ns, median_share."""
        import polars

        numbers = dict.fromkeys(TailStage._fields[2:-1], polars.Float64)
        schema = {"what": polars.String, "retry": polars.Boolean, **numbers}
        return polars.DataFrame([stage[:-1] for stage in self.stages], schema=schema, orient="row")

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each stage (:meth:`table`), as a pandas frame (``pip install 'ssdlab[pandas]'``)."""
        from ssdlab.common.frames import to_pandas

        return to_pandas(self.table())

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)


def tail(options: Options, percentile: float, progress: Listener | None = None) -> Tail:
    """Plays a run twice: to find the reads beyond a percentile, and to explain them and as many around the median.

    Raises:
        InputError: the percentile is none, or no read lies beyond it.
        Interrupted: Ctrl-C; ``error.found`` is the :class:`Tail` of the reads until then, without stages where none had
            been explained, or None where no read lies beyond the percentile yet.
    """
    if not 50.0 <= percentile < 100.0:
        raise InputError(f"percentile is {percentile:g}\n  help: write one from 50 to below 100, such as 99 or 99.9")
    options = options.without_outputs()
    log, interrupted = counted_requests(options, f"finding p{percentile:g}", progress)
    reads = log.filter(log["op"] == 0).sort("latency_ns", "request")
    below = math.ceil(reads.height * percentile / 100.0)
    beyond = reads.height - below
    if not beyond:
        if interrupted is not None:
            interrupted.found = None
            raise interrupted
        if not reads.height:
            raise InputError(
                "no read was measured, and a tail is of reads\n"
                "  help: --slowest N explains the slowest requests, writes as well (result.explain(slowest=N))"
            )
        more = "help: give it more --requests, or a lower percentile"
        raise InputError(f"no read lies beyond p{percentile:g}: the run has {reads.height:,}\n  {more}")
    numbers, latencies = reads["request"].to_list(), reads["latency_ns"].to_list()
    first = (reads.height - beyond) // 2
    slow, median = set(numbers[below:]), set(numbers[first : first + beyond])
    mean, usual = math.fsum(latencies[below:]) / beyond, math.fsum(latencies[first : first + beyond]) / beyond
    found = Tail(percentile, latencies[below - 1], beyond, reads.height, mean, usual, ())
    try:
        if interrupted is not None:
            raise interrupted
        doing = f"explaining {len(slow | median):,} reads"
        return _explained(found, explain(options, 0, sorted(slow | median), progress, doing), slow, median)
    except Interrupted as error:
        explained = {of.request for of in error.found.requests}
        if explained & slow and explained & median:
            error.found = _explained(found, error.found, slow, median)
        else:
            error.found = found._replace(warnings=error.found.warnings)
        raise


def _explained(of: Tail, explained: Explained, slow: set[int], median: set[int]) -> Tail:
    """This tail with the sum of explanations."""
    found = explained.requests
    long, dies = _means([each for each in found if each.request in slow])
    short, _ = _means([each for each in found if each.request in median])
    whole, usual = math.fsum(long.values()), math.fsum(short.values())
    stages = []
    for key in sorted({**long, **short}, key=lambda key: (-long.get(key, 0.0), key)):
        mine, other = long.get(key, 0.0), short.get(key, 0.0)
        stages.append(TailStage(*key, mine, mine / whole, other, other / usual, dies.get(key, {})))
    return of._replace(mean_ns=whole, median_mean_ns=usual, stages=tuple(stages), warnings=explained.warnings)


Key = tuple[str, bool]


def _means(group: list[Explanation]) -> tuple[dict[Key, float], dict[Key, dict[str, float]]]:
    """What stages, retries apart, took of a request on the mean, and what dies did meanwhile [ns]."""
    took: dict[Key, float] = {}
    dies: dict[Key, dict[str, float]] = {}
    for of in group:
        for stage in of.stages:
            key = (stage.what, stage.step > 0)
            took[key] = took.get(key, 0.0) + stage.took_ns / len(group)
            die = dies.setdefault(key, {})
            for cause, ns in stage.die.items():
                die[cause] = die.get(cause, 0.0) + ns / len(group)
    return took, dies


def of_tail(of: Tail) -> Table:
    """Where the time of the reads beyond a percentile went, for people; without what dies did for less than a
    thousandth of it."""
    from ssdlab.common.numbers import time_text
    from ssdlab.common.tables import Table

    rows: list[tuple[str, ...]] = []
    for stage in of.stages:
        name = f"{stage.what}, retries" if stage.retry else stage.what
        beyond = (time_text(stage.mean_ns), f"{100 * stage.share:.1f}")
        usual = (time_text(stage.median_mean_ns), f"{100 * stage.median_share:.1f}")
        rows.append((name, *beyond, *usual, die_text(stage.die, of.mean_ns / 1000)))
    rows.append(("all", time_text(of.mean_ns), "100.0", time_text(of.median_mean_ns), "100.0", ""))
    longer = f"{of.reads:,} of {of.of_reads:,} reads took longer than {time_text(of.threshold_ns)}"
    title = f"{longer}, their p{of.percentile:g}; median: as many around it"
    columns = ("mean of a read", f"beyond p{of.percentile:g}", "%", "median", "%", DIE)
    return Table(title, columns, rows, right=1)
