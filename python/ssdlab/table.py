"""Tables for the terminal. rich draws them on a terminal; elsewhere they are plain aligned text, without its import."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import polars

    from .comparison import Comparison
    from .fit import Agreement, Missing, Property
    from .lifetime import Endurance
    from .result import Requests, Result, Runs, Section
    from .study import Verdict


class Table(NamedTuple):
    """Cells to be shown. A cell that begins with "~" is drawn dim on a terminal."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    left: int = 1
    """So many columns from the left are text; the others are numbers, flush right."""
    right: int = 0
    """So many columns from the right are text too."""

    def is_text(self, column: int) -> bool:
        """Whether a column is text: flush left, and wrapped where there is no room."""
        return column < self.left or column >= len(self.columns) - self.right


_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that steer a terminal: all of C0 and C1 but tab and newline, and those that turn the direction of text."""


def escaped(text: str) -> str:
    """Text with visible escapes in place of what steers a terminal: labels and names of files may hold anything."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """:func:`escaped`, newlines and tabs too."""
    return escaped(text).replace("\n", "\\n").replace("\t", "\\t")


def show(tables: Iterable[Table], footnotes: Iterable[str] = ()) -> None:
    """Prints to standard output."""
    tables = [_escaped(table) for table in tables]
    footnotes = [escaped(line) for line in footnotes]
    if sys.stdout.isatty():
        _show_rich(tables, footnotes)
        return
    for table in tables:
        print("\n".join(_plain(table)), end="\n\n")
    for line in footnotes:
        print(line)


def _escaped(table: Table) -> Table:
    rows = [tuple(map(one_line, row)) for row in table.rows]
    return table._replace(title=one_line(table.title), columns=tuple(map(one_line, table.columns)), rows=rows)


def _plain(table: Table) -> list[str]:
    rows = [table.columns, *table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    lines = [table.title]
    for row in rows:
        cells = (
            c.ljust(w) if table.is_text(i) else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


def _show_rich(tables: Iterable[Table], footnotes: Iterable[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(highlight=False)
    for table in tables:
        drawn = Drawn(
            title=Text(table.title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, header_style="cyan"
        )
        for i, name in enumerate(table.columns):
            drawn.add_column(
                Text(name), justify="left" if table.is_text(i) else "right", no_wrap=i > 0 and not table.is_text(i)
            )
        for row in table.rows:
            drawn.add_row(*(Text(cell, style="dim" if cell.startswith("~") else "") for cell in row))
        console.print(drawn)
    for line in footnotes:
        console.print(Text(line, style="dim"))


PERCENTILES = (
    ("p50", 0.5),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
    ("p99_9999", 0.999999),
)
NOTHING = "no request was measured: all are warm-up, or none completed in the rounds shown"
FEW = 10
"""A percentile with fewer samples beyond it says little."""


def of_result(result: Result) -> tuple[list[Table], list[str]]:
    """The tables of one run, and the footnotes below them."""
    host, cost = result.host, result.process
    kinds = [(name, part) for name, part in (("reads", host.read), ("writes", host.write), ("all", host.all))]
    kinds = [(name, part) for name, part in kinds if part.requests or name == "all"]
    queues = [(f"queue {number}", part) for number, part in host.queue.items()]
    shown = kinds + (queues if len(queues) > 1 else [])

    columns = ("latency", "mean", *(name.replace("_", ".") for name, _ in PERCENTILES), "max")
    latency = Table(_title(result), columns, [(name, *_latencies(part)) for name, part in shown])
    rates = Table(
        "Throughput",
        ("", "requests", "IOPS", "MB/s"),
        [(name, f"{p.requests:,}", f"{p.iops:,.0f}", f"{p.bandwidth_mb_s:,.1f}") for name, p in shown],
    )
    flash = result.flash
    pages = Table(
        "Flash",
        ("reads", "programs", "erases", "WAF", "moved by GC"),
        [
            (
                f"{flash.reads:,}",
                f"{flash.programs:,}",
                f"{flash.erases:,}",
                "-" if result.ftl.waf is None else f"{result.ftl.waf:.3f}",
                f"{result.ftl.pages_relocated:,}",
            )
        ],
        left=0,
    )
    footnotes = []
    if not host.all.requests:
        footnotes.append(NOTHING)
    if any(cell.startswith("~") for row in latency.rows for cell in row):
        footnotes.append(f"~ fewer than {FEW} requests lie beyond this percentile")
    if "missing_requests" in host.trace:
        footnotes.append(ended_early(result) or "")
    if host.wrapped:
        footnotes.append(f"{host.wrapped:,} requests lay beyond the device and were wrapped around")
    if "steady" in host:
        found = (
            f"a steady state after {host.steady.rounds} rounds of {host.steady.round_s:g} s: its last five are shown"
        )
        none = f"no steady state in {host.steady.rounds} rounds of {host.steady.round_s:g} s: all of them are shown"
        footnotes.append(found if host.steady.reached else none)
    footnotes.append(_speed(host.all.requests, cost.wall_s, result.run.events, cost.peak_rss_bytes))
    return [latency, rates, *_usage(result), pages], footnotes


def of_runs(runs: Runs) -> tuple[list[Table], list[str]]:
    """The tables of repeated runs: means with their 95 % confidence intervals."""
    found = {name: (mean, ci95) for name, mean, ci95, _, _ in runs.intervals()}
    first = runs[0]
    kinds = [kind for kind in ("read", "write", "all") if found[f"host.{kind}.requests"][0]]
    names = {"read": "reads", "write": "writes", "all": "all"}

    def cell(name: str, scale: float, unit: str) -> str:
        mean, ci95 = found[name]
        return "-" if mean is None else f"{mean / scale:,.4g} ± {(ci95 or 0.0) / scale:,.2g}{unit}"

    keys = ("mean", *(name for name, _ in PERCENTILES), "max")
    latency = Table(
        f"{_title(first)}: {len(runs)} repeats, mean ± 95 % confidence interval",
        ("latency [µs]", *(names[kind] for kind in kinds)),
        [(key.replace("_", "."), *(cell(f"host.{kind}.latency_ns.{key}", 1e3, "") for kind in kinds)) for key in keys],
    )
    rates = Table(
        "Throughput",
        ("", "IOPS", "MB/s"),
        [(names[k], cell(f"host.{k}.iops", 1, ""), cell(f"host.{k}.bandwidth_mb_s", 1, "")) for k in kinds],
    )
    events = sum(result.run.events for result in runs)
    requests = sum(result.host.all.requests for result in runs)
    footnotes = [told for told in (NOTHING if not kinds else None, ended_early(first)) if told is not None]
    return [latency, rates], [*footnotes, _speed(requests, runs.wall_s, events, runs.peak_rss_bytes)]


def _title(result: Result) -> str:
    manifest = result.manifest
    work = manifest.workload
    if "trace" in work:
        what = work.trace
    elif "phases" in work:
        what = f"{sum(name.startswith('phase.') for name in work.phases)} phases"
    elif "traces" in work:
        what = " + ".join(of.trace for of in work.traces)
    elif "generator" in work:
        what = _access(work.generator, manifest.device.capacity_bytes)
    else:
        jobs = work.jobs.items()
        what = " + ".join(f"{name}: {_access(job, manifest.device.capacity_bytes)}" for name, job in jobs)
    scheme = f", {manifest.scheme}" if manifest.scheme else ""
    seconds = f"{result.host.elapsed_s:,.3f} s simulated"
    return f"{manifest.device.name}{scheme}: {what}, {manifest.replay}, {seconds}"


def _access(job: Section, capacity: int) -> str:
    """What a job does, and of random accesses how they are distributed: "randread 8KiB, uniform over 480 GiB"."""
    what = f"{job.rw} {job.bs}"
    if not job.rw.startswith("rand"):
        return what
    law = "uniform" if job.random_distribution == "random" else job.random_distribution
    copies = job.numjobs if job.numjobs > 1 else 1
    over = (capacity - _bytes(job.offset)) // copies if job.footprint == "none" else _bytes(job.footprint)
    return f"{what}, {law} over {binary(over)}"


SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZES |= {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def _bytes(size: str) -> int:
    """A size of the manifest, such as "16KiB", in bytes."""
    digits = size.rstrip("BkKMGTi")
    return int(digits) * SIZES[size[len(digits) :]]


def _latencies(part: Requests) -> list[str]:
    latency = part.latency_ns
    cells = [duration(latency.mean)]
    for name, share in PERCENTILES:
        few = part.requests * (1.0 - share) < FEW - 1e-6
        cells.append(("~" if few and part.requests else "") + duration(latency[name]))
    return [*cells, duration(latency.max)]


def _usage(result: Result) -> list[Table]:
    usage = result.usage
    tables = []
    for name, causes, each in (("Dies", usage.die, usage.dies), ("Channels", usage.channel, usage.channels)):
        busy = [100.0 - one.idle for one in each]
        spread = (f"{min(busy):.1f}", f"{max(busy):.1f}")
        tables.append(_causes(f"{name}: share of time [%], mean of {len(each)}", causes, spread))
    others = ("ecc", usage.ecc), ("link in", usage.link_in), ("link out", usage.link_out), ("DRAM", usage.dram)
    tables.append(
        Table("Busy [%]", tuple(name for name, _ in others), [tuple(f"{share:.1f}" for _, share in others)], left=0)
    )
    return tables


def ended_early(result: Result) -> str | None:
    """What to say of a workload that ended before the requests asked for."""
    missing = result.host.trace.get("missing_requests")
    if missing is None:
        return None
    asked = result.manifest.requests
    return f"the workload ended after {asked - missing:,} of the {asked:,} requests asked for"


def _causes(title: str, causes: Section, spread: tuple[str, str]) -> Table:
    names = tuple(name.replace("_", " ") for name in causes)
    shares = tuple(f"{causes[name]:.1f}" for name in causes)
    return Table(title, (*names, "least busy", "most busy"), [(*shares, *spread)], left=0)


def _speed(requests: int, wall_s: float, events: int, rss: int) -> str:
    rate = requests / wall_s if wall_s > 0 else 0.0
    return (
        f"simulated {requests:,} requests in {wall_s:.2f} s: {rate:,.0f} requests/s, "
        f"{events:,} events, peak RSS {rss / 2**20:,.0f} MiB"
    )


def duration(ns: float | None) -> str:
    """A latency in the unit that fits, to three digits: "61.2 µs"."""
    if ns is None:
        return "-"
    for limit, scale, unit in ((1e6, 1e3, "µs"), (1e9, 1e6, "ms"), (float("inf"), 1e9, "s")):
        if ns < limit:
            value = ns / scale
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"
    raise AssertionError("Invariant: the last limit is infinite")


def size(count: int) -> str:
    """A capacity: "1.08 TB"."""
    for scale, unit in ((1e12, "TB"), (1e9, "GB")):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count / 1e6:.3g} MB"


def binary(count: int) -> str:
    """A size in the unit that fits, powers of 1024: "480 GiB"."""
    value, names = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(names) > 1:
        value /= 1024
        del names[0]
    return f"{value:.0f} {names[0]}" if value >= 99.5 else f"{value:.3g} {names[0]}"


def of_trace(name: str, info: dict[str, Any]) -> list[Table]:
    """The tables of a trace's description (see :func:`ssdlab.trace.info`)."""

    def percent(share: float | None) -> str:
        return "-" if share is None else f"{100 * share:.1f} %"

    plain: list[tuple[str, ...]] = [
        ("requests", f"{info['requests']:,}"),
        ("reads", f"{info['reads']:,}"),
        ("writes", f"{info['writes']:,}"),
        *((kind, f"{info[kind]:,}") for kind in ("trims", "flushes") if info[kind]),
        ("devices", f"{info['devices']:,}"),
        ("read ratio", percent(info["read_ratio"])),
        ("cold-read ratio (of reads, no page ever written)", percent(info["cold_read_ratio"])),
        ("duration", f"{info['duration_s']:,.3f} s"),
        ("requests a second", "-" if info["iops"] is None else f"{info['iops']:,.1f}"),
        ("bytes read", size(info["bytes_read"])),
        ("bytes written", size(info["bytes_written"])),
        ("footprint", size(info["footprint_bytes"])),
        ("footprint read", size(info["footprint_read_bytes"])),
        ("footprint written", size(info["footprint_written_bytes"])),
        ("highest byte", size(info["highest_byte"])),
        ("sequential requests", percent(info["sequential_ratio"])),
        *((f"accesses to the hottest {share} %", percent(info[f"hot_{share}"])) for share in (1, 10, 20)),
    ]
    columns = ("", "mean", "min", "p50", "p90", "p99", "max")
    rows = []
    for label, key, scale in (
        ("read [KiB]", "size_read", 1024),
        ("write [KiB]", "size_written", 1024),
        ("gap [us]", "gap_ns", 1000),
    ):
        values = [info[key][column] for column in columns[1:]]
        rows.append((label, *("-" if value is None else f"{value / scale:,.1f}" for value in values)))
    return [Table(name, ("", ""), plain), Table("sizes and gaps", columns, rows)]


def of_properties(name: str, rows: Sequence[Property]) -> Table:
    """The properties of a trace and of its twin (see :func:`ssdlab.fit.properties`)."""
    cells: list[tuple[str, ...]] = [
        (f"{row.name} [{row.unit}]" if row.unit else row.name, number(row.trace), number(row.twin), f"{row.ratio:.2f}")
        for row in rows
    ]
    return Table(name, ("", "trace", "twin", "ratio"), cells)


def of_agreements(name: str, rows: Sequence[Agreement]) -> Table:
    """The latencies of a trace's replay and of its twin's (see :func:`ssdlab.fit.check`)."""
    cells: list[tuple[str, ...]] = []
    for row in rows:
        spread = "" if row.half_width_us is None else f" ± {row.half_width_us:.3g}"
        label = f"{row.replay} {row.kind} {row.metric} [us]"
        verdict = "yes" if row.agrees else "no"
        cells.append((label, f"{row.trace_us:.4g}", f"{row.twin_us:.4g}{spread}", f"{row.ratio:.2f}", verdict))
    return Table(name, ("", "trace", "twin", "ratio", "within 10 %"), cells)


def of_missing(name: str, rows: Sequence[Missing]) -> Table:
    """What twins miss (see :func:`ssdlab.fit.missing`)."""
    cells = [
        (
            f"{row.replay} {row.kind} {row.metric}",
            *(f"{ratio:.2f}" for ratio in (row.gaps, row.places, row.in_order, row.twin)),
            row.what,
        )
        for row in rows
    ]
    return Table(name, ("twin/trace", "gaps drawn", "sizes, places drawn", "both", "order too", "missing"), cells)


def number(value: float | None) -> str:
    """Five significant digits, whole numbers with separators."""
    if value is None:
        return "-"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.5g}"


def with_interval(mean: float | None, half_width: float | None) -> str:
    """A mean with its confidence interval; the mean has the digits that the interval leaves sense in."""
    if mean is None or half_width is None or half_width <= 1e-12 * abs(mean):
        return number(mean)
    import math

    digits = max(0, 1 - math.floor(math.log10(half_width)))
    return f"{mean:,.{digits}f} ± {half_width:,.{digits}f}"


SHOWN = (
    "host.read.latency_ns.mean",
    "host.read.latency_ns.p99",
    "host.write.latency_ns.mean",
    "host.all.iops",
    "ftl.waf",
)
"""What is shown of a sweep if nothing is asked for."""


def of_sweep(table: polars.DataFrame, shown: Sequence[str] = ()) -> Table:
    """The table of a sweep: the axes and some statistics."""
    from ._core import InputError
    from .cases import axes_of, statistics_of

    axes, statistics = axes_of(table), statistics_of(table)
    for name in shown:
        if name not in statistics:
            from difflib import get_close_matches

            near = get_close_matches(name, statistics, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(statistics[:8])}, …"
            raise InputError(f"--show {name}: there is no such statistic in the table\n  help: {hint}")
    names = shown or [name for name in SHOWN if name in statistics] or statistics[:4]
    rows = [
        (*(str(row[axis]) for axis in axes), *(number(row[name]) for name in names))
        for row in table.iter_rows(named=True)
    ]
    return Table("Cases", (*axes, *names), rows, left=len(axes))


def of_comparison(comparison: Comparison) -> tuple[list[Table], list[str]]:
    """A comparison: the metric itself, and its ratios to the baseline's."""
    schemes = comparison.schemes
    values = [
        (row, *(with_interval(*cells[scheme].value) for scheme in schemes))
        for row, cells in comparison.rows.items()
        if any(cell.value.mean is not None for cell in cells.values())
    ]
    ratios = [
        (row, *(with_interval(*cells[scheme].ratio) for scheme in schemes)) for row, cells in comparison.rows.items()
    ]
    pairs = min((cell.pairs for cells in comparison.rows.values() for cell in cells.values()), default=0)
    footnotes = [f"± 95 % confidence interval over seeds; pairs of a seed: {pairs} or more"] if pairs > 1 else []
    if pairs == 1:
        footnotes.append("one seed each: nothing can be said about chance; give the sweep an axis of seeds")
    if comparison.fewest_beyond is not None:
        footnotes.append(
            f"{comparison.fewest_beyond:,.1f} samples lie beyond the percentile in the case with the fewest"
        )
    return [
        Table(comparison.metric, ("", *schemes), values),
        Table(f"over {comparison.baseline}", ("", *schemes), ratios),
    ], footnotes


def of_claims(id: str, about: str, verdicts: Sequence[Verdict]) -> Table:
    """The claims of a study."""
    words = {True: "holds", False: "FAILS", None: "-"}
    rows: list[tuple[str, ...]] = []
    for verdict in verdicts:
        claim, measured = verdict.claim, verdict.measured
        low, high = (number(end) for end in claim.accept)
        # What moves a predicted claim is in --json and in reports.
        reason = "" if verdict.proves in ("", "predicted") else str(verdict.proof)
        rows.append(
            (
                claim.id,
                claim.says if len(claim.says) <= 60 else claim.says[:59] + "…",
                claim.unit,
                number(claim.published),
                with_interval(measured.value, measured.ci95),
                f"{low} … {high}",
                words[verdict.passed],
                verdict.proves,
                "; ".join(part for part in (measured.note, reason) if part),
            )
        )
    columns = ("claim", "says", "unit", "published", "measured", "accepted", "", "proves", "note")
    return Table(f"{id}: {about}", columns, rows, left=3, right=2)


def of_ecc(found: polars.DataFrame) -> Table:
    """The table of a simulation of the ECC."""
    rows: list[tuple[str, ...]] = [
        (
            f"{row['rber']:g}",
            f"{row['words']:,}",
            _share(row["fer"]),
            f"{_share(row['fer_low'])} … {_share(row['fer_high'])}",
            f"{row['iterations']:.2f}",
            f"{100 * row['accuracy']:.2f} %",
        )
        for row in found.iter_rows(named=True)
    ]
    first = found.row(0, named=True)
    title = f"QC-LDPC, {first['schedule']}, {first['errors']} errors, threshold {first['threshold']}"
    return Table(title, ("RBER", "words", "FER", "95 %", "iterations", "accuracy"), rows)


def _share(share: float) -> str:
    return f"{share:.3f}" if share >= 0.1 else f"{share:.2g}"


def of_lives(
    lives: polars.DataFrame, requirement: float, drives: Mapping[str, Endurance | None] | None = None
) -> Table:
    """Lifetimes under erase schemes, what erases are like at some ages, and what a drive makes of it."""
    from .lifetime import lifetimes

    cycles = lifetimes(lives, requirement)
    first = next(iter(cycles.values()), None)
    rows: list[tuple[str, ...]] = []
    for name, life in cycles.items():
        of = {row["pec"]: row for row in lives.filter(scheme=name).iter_rows(named=True)}
        at = min(of, key=lambda pec: abs(pec - 2500))
        rows.append(
            (
                name,
                "beyond" if life is None else f"{life:,.0f}",
                "" if life is None or first is None else f"{100 * (life / first - 1):+.1f}",
                f"{of[0]['m_rber']:.1f}",
                f"{of[at]['m_rber']:.1f}",
                f"{of[0]['erase_ms']:.2f}",
                f"{of[at]['erase_ms']:.2f}",
            )
        )
        if drives is not None:
            drive = drives[name]
            rows[-1] += ("", "") if drive is None else (f"{drive.terabytes:,.0f}", f"{drive.years:.1f}")
    heads = ["", "P/E cycles", "%", "errors, fresh", f"at {at:,}", "ms an erase, fresh", f"at {at:,}"]
    if drives is not None:
        heads += ["TB written", "years"]
    return Table(f"cycles to {requirement:g} errors per KiB, mean over blocks", tuple(heads), rows)
