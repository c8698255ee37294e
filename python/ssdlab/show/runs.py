"""Tables for the terminal. rich draws them on a terminal; elsewhere they are plain aligned text, without its import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ssdlab.common.numbers import percent_text, time_text, value_text
from ssdlab.common.tables import Table
from ssdlab.common.wording import cause_words
from ssdlab.runs.findings import lines, shared
from ssdlab.runs.title import title

if TYPE_CHECKING:
    from ssdlab.runs.result import Result, Runs
    from ssdlab.runs.sections import Section
    from ssdlab.runs.statistics import Requests, Tasks


PERCENTILES = (
    ("p50", 0.5),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
    ("p99_9999", 0.999999),
)
FEW = 10
"""A percentile with fewer samples beyond it says little."""
OPERATIONS = {
    "read": "reads",
    "write": "writes",
    "append": "appends",
    "trim": "trims",
    "flush": "flushes",
    "all": "all",
}
"""Kinds of requests that have a row, by their names in results."""
NOTHING_COLLECTED = "~ of a WAF: no block was collected, so that it says nothing of a longer run"
FEW_BEYOND = f"~ fewer than {FEW} requests lie beyond this percentile"


def of_result(result: Result) -> tuple[list[Table], list[str]]:
    """The tables of one run, and the footnotes below them."""
    host, cost = result.host, result.process
    kinds = [(name, host[key]) for key, name in OPERATIONS.items() if key in host]
    kinds = [(name, part) for name, part in kinds if part.requests or name == "all"]
    queues = [(f"queue {number}", part) for number, part in host.queue.items()]
    shown = kinds + (queues if len(queues) > 1 else [])

    tasks = [(name, host[key]) for key, name in tasks_of(result).items() if key in host]
    columns = ("latency", "mean", *(name.replace("_", ".") for name, _ in PERCENTILES), "max")
    latency = Table(title(result), columns, [(name, *_latencies(part)) for name, part in [*shown, *tasks]])
    rates = Table(
        "Throughput",
        ("", "requests", "IOPS", "MB/s"),
        [(name, f"{p.requests:,}", f"{p.iops:,.0f}", f"{p.bandwidth_mb_s:,.1f}") for name, p in shown],
    )
    flash = result.flash
    pages = Table(
        f"Flash: pages of {result.manifest.device.config.geometry.page_size}; relocated data in pages of the map",
        ("reads", "programs", "erases", "WAF", "relocated"),
        [
            (
                f"{flash.reads:,}",
                f"{flash.programs:,}",
                f"{flash.erases:,}",
                "-" if result.ftl.waf is None else f"{'~' if nothing_collected(result) else ''}{result.ftl.waf:.3f}",
                f"{result.ftl.pages_relocated:,}",
            )
        ],
        left=0,
    )
    footnotes = []
    if any(cell.startswith("~") for row in latency.rows for cell in row):
        footnotes.append(FEW_BEYOND)
    if result.ftl.waf is not None and nothing_collected(result):
        footnotes.append(NOTHING_COLLECTED)
    footnotes += [*_refused(result), *_cuts(result), *_start(result)]
    if "steady" in host and host.steady.reached:
        footnotes.append(
            f"a steady state after {host.steady.rounds} rounds of {host.steady.round_s:g} s: its last five are shown"
        )
    footnotes += _retries(result)
    footnotes.append(_speed(host.all.requests, cost.wall_s, result.run.events, cost.peak_rss_bytes))
    return [latency, rates, *_array(result), *_usage(result), pages, *_serve(result)], footnotes


def tasks_of(result: Result) -> dict[str, str]:
    """What a workload waits for as a whole: the parts of ``host`` that have its times, and what it is called."""
    return {"task": "prompts", "load": "loads"} if "kv" in result.manifest.workload else {"task": "tasks"}


def nothing_collected(result: Result) -> bool:
    """Whether a drive that collects has not done so in the run: its WAF then says nothing of a longer one."""
    return not result.ftl.gc_runs and result.manifest.device.config.ftl.mapping != "zoned"


def _refused(result: Result) -> list[str]:
    """How many requests zones have refused, where that is so few that no warning says it."""
    zones = result.to_dict().get("zones")
    if not zones or not zones["refused"] or any(of.id == "refused" for of in result.warnings):
        return []
    return [f"refused: {zones['refused']:,} requests, by the rules of zones; they are in no latency (zones.refused)"]


def _cuts(result: Result) -> list[str]:
    """What power cuts have cost, where there were any."""
    power = result.power
    if power is None or not power.cuts:
        return []
    cuts = f"{power.cuts:,} power cut{'s' if power.cuts > 1 else ''}"
    ready = time_text(power.ready_ns.mean) + (" on average" if power.cuts > 1 else "")
    lost = f"{power.lost:,} pages of acknowledged data lost" if power.lost else "no acknowledged data lost"
    return [f"{cuts}: {ready} to ready, {lost}, {power.aborted:,} requests not completed (docs/model-failures.md)"]


def _start(result: Result) -> list[str]:
    """Which load the drive's past is taken to have been, where it starts in the middle of its life."""
    past = result.host.get("past_load")
    if past is None:
        return []
    manifest = result.manifest
    wrote = "wrote as fast as it could" if past >= 1.0 else f"programmed {percent_text(past)} of each plane's time"
    given = manifest.device.config.age.load != "auto"
    known = "given" if given else "assumed" if result.host.past_assumed else "found from this load"
    return [f"start: the drive's past {wrote} (age.load, {known})"]


KEPT_UP_TO_DATE = {
    "patrolled": "its patrols have found",
    "tracked": "last worked near by",
    "recorded": "its records say",
}
"""Where reads begin that rarely need retries, however old the data is."""


def _retries(result: Result) -> list[str]:
    """How often aged data is sensed again, and why that is so seldom where it is."""
    config, scheme = result.manifest.device.config, result.manifest["scheme"]
    steps = result.flash.retry.steps if "retry" in result.flash else None
    if steps is None or (mean := steps.mean) is None:
        return []
    if not (config.age.pec or config.age.retention not in ("0s", "0ns")):
        if scheme is None or steps.max or not result.host.read.requests or not _is_of_retries(scheme):
            return []
        return [
            f"retries: none that {scheme} could avoid or shorten; a worn drive has some: --age pec=2000,retention=6mo"
        ]
    age = f"data of before the run is {config.age.retention} old, after {config.age.pec} P/E cycles"
    text = f"retries: {mean:.3g} a page read on average; {age}"
    kept = KEPT_UP_TO_DATE.get(config.read.start)
    if kept is not None and mean < FEW_RETRIES:
        text += f"; reads begin where {kept} (read.start); --scheme baseline walks the vendor's retry table"
    device = result.manifest.device.name
    if scheme is not None and kept is None and (own := _own_start(device)) in KEPT_UP_TO_DATE:
        text += f"; without --scheme {scheme} reads of {device} begin where {KEPT_UP_TO_DATE[own]}"
    return [text]


def _is_of_retries(scheme: str) -> bool:
    """Whether what a scheme chooses comes into play where a read is retried."""
    from ssdlab import _core

    choices = next((row["choices"] for row in _core.schemes() if row["name"] == scheme), [])
    return any(axis in RETRIED for axis, _ in choices)


def _own_start(device: str) -> str | None:
    """Where the reads of a preset begin under no scheme (``read.start``)."""
    import tomllib

    from ssdlab import _core

    texts = {row["name"]: row["text"] for row in _core.devices()}
    while text := texts.pop(device, None):
        document = tomllib.loads(text)
        if (own := document.get("read", {}).get("start")) is not None:
            return str(own)
        device = document.get("base", "")
    return None


RETRIED = ("start", "next", "pipeline", "sensing", "predictor")
"""The axes of a scheme that come into play where a read is retried."""
FEW_RETRIES = 0.5
"""So few a page say little of how old data is (assumed)."""


def _array(result: Result) -> list[Table]:
    """What an array asked of its drives, and how they answered."""
    array = result.array
    if array is None:
        return []
    asked = array.requests_to_drives
    name = f"Array: {array.layout}, {array.data} + {array.parity} chunks of {array.chunk_bytes >> 10} KiB"
    purposes = {purpose.replace("_", " "): f"{count:,}" for purpose, count in asked.items() if count}
    counts = (
        *(
            "reads_reconstructed",
            "reads_given_up",
            "reads_around",
            "hedges_sent",
            "hedges_won",
            "extra_reads_won",
            "lock_waits",
        ),
        *("stripes_scrubbed", "scrub_errors", "scrub_lost", "repairs", "lost_requests"),
    )
    shown = {count.replace("_", " "): f"{array[count]:,}" for count in counts if array[count]}
    tables = [Table(f"{name}; requests to drives", tuple(purposes), [tuple(purposes.values())], left=0)]
    if array.data_lost_ns is not None:
        shown["data lost at"] = time_text(array.data_lost_ns)
    if shown:
        tables.append(Table("Array: what came of them", tuple(shown), [tuple(shown.values())], left=0))
    rows = []
    for drive in array.drives:
        reads, writes = drive.host.read, drive.host.write
        latency = reads.latency_ns
        failed = "-" if drive.failed_ns is None else time_text(drive.failed_ns)
        cells = (f"{reads.requests:,}", *(time_text(latency[key]) for key in ("mean", "p99", "p99_9")))
        rows.append((drive.name, *cells, f"{writes.requests:,}", failed))
    columns = ("drive", "reads", "mean", "p99", "p99.9", "writes", "failed at")
    tables.append(Table("Drives: requests of the array to each", columns, rows))
    if array.rebuilds:
        rebuilt: list[tuple[str, ...]] = [
            (
                of.drive,
                time_text(of.began_ns),
                "-" if of.ended_ns is None else time_text(of.ended_ns),
                f"{of.rows:,} of {array.rows:,}",
                f"{of.rows_lost:,}",
            )
            for of in array.rebuilds
        ]
        tables.append(Table("Rebuilds", ("onto", "began", "ended", "chunks", "lost"), rebuilt))
    return tables


def _serve(result: Result) -> list[Table]:
    """How the drive was served to programs, where it was."""
    serve = result.serve
    if serve is None:
        return []
    cells = {"clients": f"{serve.connections:,}", "errors": f"{serve.errors:,}", "clock": serve.clock}
    if serve.clock == "virtual":
        cells |= {"think": serve.think, "grace": serve.grace, "grace ran out": f"{serve.grace_expired:,} times"}
    else:
        lag = serve.lag_ns or dict.fromkeys(("p50", "p99", "p99_9", "max"))
        names = {"p50": "lag p50", "p99": "lag p99", "p99_9": "lag p99.9", "max": "lag max"}
        cells |= {name: time_text(lag[key]) for key, name in names.items()}
    return [Table("Served", tuple(cells), [tuple(cells.values())], left=0)]


def of_runs(runs: Runs) -> tuple[list[Table], list[str]]:
    """The tables of repeated runs: means with their 95 % confidence intervals."""
    found = {name: (mean, ci95) for name, mean, ci95, _, _ in runs.intervals()}
    first = runs[0]
    kinds = [kind for kind in ("read", "write", "all") if found[f"host.{kind}.requests"][0]]
    names = {"read": "reads", "write": "writes", "all": "all"}

    def cell(name: str) -> str:
        return value_text(name, *found[name])

    keys = ("mean", *(name for name, _ in PERCENTILES), "max")
    latency = Table(
        f"{title(first)}: {len(runs)} repeats, mean ± 95 % confidence interval",
        ("latency", *(names[kind] for kind in kinds)),
        [(key.replace("_", "."), *(cell(f"host.{kind}.latency_ns.{key}") for kind in kinds)) for key in keys],
    )
    rates = Table(
        "Throughput",
        ("", "IOPS", "MB/s"),
        [(names[k], cell(f"host.{k}.iops"), cell(f"host.{k}.bandwidth_mb_s")) for k in kinds],
    )
    events = sum(result.run.events for result in runs)
    requests = sum(result.host.all.requests for result in runs)
    return [latency, rates], [_speed(requests, runs.wall_s, events, runs.peak_rss_bytes)]


def warnings_of(result: Result | Runs) -> list[str]:
    """What stands above the tables: what puts their numbers in doubt."""
    from ssdlab.runs.result import Runs

    if not isinstance(result, Runs):
        return lines(result.warnings)
    return [*lines(result.findings), *shared(run.warnings for run in result)]


def says_little(requests: float, share: float) -> bool:
    """Whether fewer than :data:`FEW` of the requests lie beyond a percentile."""
    return requests * (1.0 - share) < FEW - 1e-6


def count_of(part: Requests | Tasks) -> int:
    """How many requests, or tasks, a part of the host's statistics is of."""
    count: int = part["requests" if "requests" in part else "count"]
    return count


def _latencies(part: Requests | Tasks) -> list[str]:
    latency = part.latency_ns
    count = count_of(part)
    cells = [time_text(latency.mean)]
    for name, share in PERCENTILES:
        few = count and says_little(count, share)
        cells.append(("~" if few else "") + time_text(latency[name]))
    return [*cells, time_text(latency.max)]


def _usage(result: Result) -> list[Table]:
    usage = result.usage
    tables = []
    for name, causes, each in (("Dies", usage.die, usage.dies), ("Channels", usage.channel, usage.channels)):
        busy = [100.0 - one.idle for one in each]
        spread = (f"{min(busy):.1f}", f"{max(busy):.1f}")
        title = f"{name}: share of time [%], mean of {len(each)}; least and most busy of them"
        tables.append(_causes(title, causes, spread))
    others = [("ecc", usage.ecc), ("link in", usage.link_in), ("link out", usage.link_out), ("DRAM", usage.dram)]
    if "firmware" in usage:
        others.append(("firmware", usage.firmware))
    tables.append(
        Table("Busy [%]", tuple(name for name, _ in others), [tuple(f"{share:.1f}" for _, share in others)], left=0)
    )
    return tables


def _causes(title: str, causes: Section, spread: tuple[str, str]) -> Table:
    names = tuple(map(cause_words, causes))
    shares = tuple(f"{causes[name]:.1f}" for name in causes)
    return Table(title, (*names, "least", "most"), [(*shares, *spread)], left=0)


def _speed(requests: int, wall_s: float, events: int, rss: int) -> str:
    rate = requests / wall_s if wall_s > 0 else 0.0
    return f"simulated in {wall_s:.2f} s: {rate:,.0f} requests/s, {events:,} events, peak RSS {rss / 2**20:,.0f} MiB"
