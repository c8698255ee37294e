"""Where the time of requests went: from arrival to completion without a gap, along the part that arrived last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ssdlab.common.shown import html, text
from ssdlab.runs.findings import Finding, of_data

if TYPE_CHECKING:
    import pandas
    import polars

    from ssdlab._core import Simulation, Stretch
    from ssdlab.common.tables import Table
    from ssdlab.runs.kept import Interrupted
    from ssdlab.runs.options import Options


class Stage(NamedTuple):
    """A stretch of a request's time."""

    what: str
    """``host queue``, ``firmware``, ``map``, ``die``, ``command``, ``sense``, ``bus``, ``transfer``, ``ecc``,
    ``decode``, ``send``; of writes ``buffer``, ``receive``, ``store``, ``program``; of an array also ``stripe``,
    ``to drive``, ``from drive`` (docs/inspect.md)."""
    step: int
    """Senses of the page before: 0 for its first, and for what is no sense."""
    from_ns: int
    """When it began [ns]."""
    to_ns: int
    """When it ended [ns]."""
    die: dict[str, int]
    """While a part waited for its die: what that did, or, where it was idle, waited for (``bus wait``, ``chip wait``,
    ``collection wait``, ``energy wait``) [ns]."""
    drive: str | None = None
    """In an array, the drive that it went to."""
    purpose: str | None = None
    """What that drive was asked for: ``read``, ``read to reconstruct``, ``hedge``, ``write of parity``, …"""

    @property
    def took_ns(self) -> int:
        """How long it took [ns]."""
        return self.to_ns - self.from_ns


class Explanation(NamedTuple):
    """A request and where its time went."""

    request: int
    """Its number, from 0."""
    op: str
    """``read``, ``write``, ``trim`` or ``flush``."""
    bytes: int
    """How much it asked for."""
    arrival_ns: int
    """When the host sent it [ns]."""
    finish_ns: int
    """When the host saw it complete [ns]."""
    stages: tuple[Stage, ...]
    """In order; they add up to its latency exactly."""
    parts: tuple[tuple[Stage, ...], ...] = ()
    """Of a read, the stages of each of its pages that came from flash, until it was decoded."""
    first_senses: tuple[dict[str, int], ...] = ()
    """Of a read of a drive with decision trees (``read.trees``), for each of these pages what the controller knew
    before its first sense (docs/formats.md lists the features), and what came of it: ``hasty`` (1: by the RPT's tPRE),
    ``ahead`` (1: a retry followed at once), ``corrected`` (1: by that sense) and ``read_by``, the step that read the
    page."""

    @property
    def latency_ns(self) -> int:
        """From arrival to completion [ns]."""
        return self.finish_ns - self.arrival_ns

    @property
    def retries(self) -> int:
        """Retry steps of the part that arrived last."""
        return max((stage.step for stage in self.stages), default=0)

    @property
    def drives(self) -> tuple[str, ...]:
        """In an array, the drives that it waited for, one after another."""
        return tuple(dict.fromkeys(stage.drive for stage in self.stages if stage.drive is not None))

    def table(self) -> polars.DataFrame:
        """A row for each stage: what, step, from_ns, to_ns, took_ns, drive, purpose."""
        import polars

        rows = [(s.what, s.step, s.from_ns, s.to_ns, s.took_ns, s.drive, s.purpose) for s in self.stages]
        schema = {"what": polars.String} | dict.fromkeys(("step", "from_ns", "to_ns", "took_ns"), polars.Int64)
        schema |= dict.fromkeys(("drive", "purpose"), polars.String)
        return polars.DataFrame(rows, schema=schema, orient="row")

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each stage (:meth:`table`), as a pandas frame (``pip install 'ssdlab[pandas]'``)."""
        from ssdlab.common.frames import to_pandas

        return to_pandas(self.table())

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)


class Explanations(list[Explanation]):
    """Explained requests, which print and show themselves as a sentence and a table each."""

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)


class Explained(NamedTuple):
    """What a run that was played to be explained has shown."""

    requests: list[Explanation]
    warnings: tuple[Finding, ...]
    """What puts the run in doubt (docs/warnings.md); ``interrupted`` where a signal ended it."""


Listener = Callable[[str, "float | None"], None]
"""Called with what is being done, and the share of it that is done (None where it cannot be known)."""


def counted_requests(
    options: Options, doing: str, progress: Listener | None
) -> tuple[polars.DataFrame, Interrupted | None]:
    """Plays a run: its request log, of the requests that count, and what ended it before its workload."""
    import json

    import polars

    from ssdlab.runs.counted import Counted
    from ssdlab.runs.kept import Interrupted, Kept
    from ssdlab.runs.simulation import open_simulation

    simulation = open_simulation(options.replace(keep_requests=True))
    told = None if progress is None else requests_of(progress, doing)
    interrupted = None
    try:
        while not simulation.step(10_000):
            if told is not None:
                at = simulation.progress()
                told(at["share"], at["submitted"], at["completed"])
    except KeyboardInterrupt:
        interrupted = Interrupted(Kept(simulation.progress()["completed"]))
    finished = simulation.finish(interrupted=interrupted is not None)
    log, result = finished["requests"], json.loads(finished["result"])
    if interrupted is not None:
        interrupted.found = Explained([], of_data(result))
    assert log is not None, "Invariant: a log was asked for"
    return Counted.of(options.warmup, result["host"]).requests(polars.read_parquet(log[1])), interrupted


def explain(
    options: Options,
    slowest: int,
    requests: Sequence[int],
    progress: Listener | None = None,
    doing: str = "explaining",
) -> Explained:
    """Runs a simulation and explains ``requests``, by number, and the ``slowest`` others of those that count; where
    a steady state is looked for it is played twice to find them. ``doing`` is what ``progress`` is told of it.

    Raises:
        InputError: a number is none.
        Interrupted: Ctrl-C; ``error.found`` is what had been shown until then.
    """
    from ssdlab.runs.options import whole_number
    from ssdlab.runs.simulation import open_simulation

    slowest = whole_number("slowest", slowest, 0)
    requests = [whole_number("request", request, 0) for request in requests]
    if slowest and options.until_steady is not None:
        # Which rounds count is known at their end.
        log, interrupted = counted_requests(options.without_outputs(), "finding the slowest", progress)
        if interrupted is not None:
            raise interrupted
        others = log.filter(~log["request"].is_in(list(requests)))
        others = others.sort("latency_ns", "request", descending=[True, False])
        slowest, requests = 0, [*requests, *others["request"].head(slowest)]
    told = None if progress is None else requests_of(progress, doing)
    return explain_played(open_simulation(options.without_outputs()), slowest, requests, told)


def requests_of(progress: Listener, doing: str) -> Callable[[float | None, int, int], None]:
    """What tells how far a run is, by the requests that have completed."""
    return lambda share, _, completed: progress(f"{doing}: {completed:,} requests", share)


def explain_played(
    simulation: Simulation,
    slowest: int,
    requests: Sequence[int],
    progress: Callable[[float | None, int, int], None] | None = None,
) -> Explained:
    """Plays a run that has been opened, and explains its requests."""
    import json

    found = simulation.explain(slowest, list(requests), progress)

    def stage(of: Stretch) -> Stage:
        times = of["from_ns"], of["to_ns"]
        return Stage(of["what"], of["step"], *times, dict(of["die"]), of["drive"], of["purpose"])

    def stages(stretches: Iterable[Stretch]) -> tuple[Stage, ...]:
        return tuple(map(stage, stretches))

    explanations = [
        Explanation(
            of["request"],
            of["op"],
            of["bytes"],
            of["arrival_ns"],
            of["finish_ns"],
            stages(of["stages"]),
            tuple(map(stages, of["parts"])),
            tuple(of["first_senses"]),
        )
        for of in found["requests"]
    ]
    explained = Explained(explanations, of_data({"warnings": json.loads(found["findings"])}))
    if found["interrupted"]:
        from ssdlab.runs.kept import Interrupted, Kept

        error = Interrupted(Kept(int(explained.warnings[0].numbers["requests"])))
        error.found = explained
        raise error
    return explained


def of_explanation(of: Explanation) -> Table:
    """An explanation for people: what the time went into, first senses and retries apart."""
    from ssdlab.common.numbers import time_text
    from ssdlab.common.tables import Table

    sums: dict[tuple[str | None, str | None, str, bool], list[Stage]] = {}
    for stage in of.stages:
        sums.setdefault((stage.drive, stage.purpose, stage.what, stage.step > 0), []).append(stage)
    rows: list[tuple[str, ...]] = []
    before = None
    for (drive, purpose, what, retry), stages in sums.items():
        if drive is not None and (drive, purpose) != before:
            before = (drive, purpose)
            whole = sum(stage.took_ns for stage in of.stages if (stage.drive, stage.purpose) == before)
            share = f"{100 * whole / max(1, of.latency_ns):.1f}"
            rows.append((f"{drive}: {purpose}", "", time_text(whole), share, ""))
        took = sum(stage.took_ns for stage in stages)
        die: dict[str, int] = {}
        for stage in stages:
            for cause, ns in stage.die.items():
                die[cause] = die.get(cause, 0) + ns
        retries = max(stage.step for stage in of.stages if (stage.drive, stage.purpose) == (drive, purpose))
        name = f"{what}, {retries} retries" if retry else what
        name = name if drive is None else f"  {name}"
        count = str(len(stages)) if len(stages) > 1 else ""
        rows.append((name, count, time_text(took), f"{100 * took / max(1, of.latency_ns):.1f}", die_text(die)))
    title = (
        f"request {of.request}: {of.op} of {of.bytes:,} B at {time_text(of.arrival_ns)} took {time_text(of.latency_ns)}"
    )
    return Table(title, ("", "times", "took", "%", DIE), rows, right=1)


DIE = "while its die did"
"""The column of :func:`die_text`."""


def die_text(die: Mapping[str, float], least: float = 0.0) -> str:
    """The cell of a table for what dies did while requests waited for them, the longest first, in more than ``least``
    [ns]."""
    from ssdlab.common.numbers import time_text
    from ssdlab.common.wording import cause_words

    longest = sorted(die.items(), key=lambda item: -item[1])
    return ", ".join(f"{cause_words(cause)} {time_text(ns)}" for cause, ns in longest if ns > least)
