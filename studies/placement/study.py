"""Placement: what a cache and a key-value store write, wear and wait for: without hints, with handles, with zones."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import ssdlab
from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width, mean_text
from ssdlab.common.tables import markdown
from ssdlab.show import plot
from ssdlab.study.claims import Measured, Tables, fitted, key, measures, predicted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BRIEF: dict[str, dict[str, Any]] = {
    "cache-writes": {"requests": 30_000, "drive": ["no hints", "handles"], "seed": [1]},
    "warp-alone": {"requests": 400_000, "map": ["each block once"], "seed": [1]},
    "warp-streams": {"requests": 900_000, "seed": [1]},
    "warp-spare": {"requests": 400_000, "seed": [1]},
}
"""For the levers of what is predicted: ssdlab.study.levers."""

LOADS = {"cache": "cache", "lsm": "key-value store"}
PLAIN, HANDLES, ZONES = DRIVES = ("no hints", "handles", "zones")
SCHEMES = ("baseline", "pnar2", "rif")
CYCLES = {"fresh": 0, "1K": 1000, "3K": 3000}
WAF, P99, P99_9 = "ftl.waf", "host.read.latency_ns.p99", "host.read.latency_ns.p99_9"
ERASES = "ftl.wear.erases"
SUSPENSIONS = ("none", "of erases", "both")
SUSPENDED = SUSPENSIONS[2]
"""What reads suspend on the drives of the claim, which does not say."""


def of(table: pl.DataFrame, name: str, **labels: str) -> list[float]:
    """A statistic of each seed."""
    return [float(value) for value in table.filter(**labels).sort("seed")[name]]


def writes(tables: Tables, load: str) -> pl.DataFrame:
    """What a load writes; where reads suspend something, the drives on which they do not."""
    table = tables[f"{load}-writes"]
    return table.filter(suspension=SUSPENSIONS[0]) if "suspension" in table.columns else table


def ratios(table: pl.DataFrame, name: str, one: str, other: str) -> list[float]:
    """A statistic of one drive over that of another, of each seed."""
    pairs = zip(of(table, name, drive=one), of(table, name, drive=other), strict=True)
    return [above / below for above, below in pairs]


@measures({"placement.handles.waf": predicted(key("ftl.hints", 1))})
def _waf(tables: Tables) -> dict[str, Measured]:
    return {"placement.handles.waf": Measured(*mean_and_half_width(of(tables["cache-writes"], WAF, drive=HANDLES)))}


@measures({"placement.zones.tail": fitted("studies/placement/study.py", "SUSPENDED")})
def _tail(tables: Tables) -> dict[str, Measured]:
    times = ratios(tables["lsm-writes"].filter(suspension=SUSPENDED), P99_9, PLAIN, ZONES)
    return {"placement.zones.tail": Measured(*mean_and_half_width(times))}


STREAMS = {"each": "a handle each", "two": "two handles", "none": "no hints"}
"""Who has a handle of WARP's three streams, in its claims and in the table."""
OVERWRITES = {"zipf2.2": "zipf:2.2", "zipf1.2": "zipf:1.2", "zoned": "zoned"}
SPARE = {"initial": (7, 10, 14), "persistent": (14, 20, 24)}
"""What is published of each isolation, in % of over-provisioning."""


@measures({"placement.warp.alone": predicted(key("gc.victim", "fifo"))})
def _alone(tables: Tables) -> dict[str, Measured]:
    found = of(tables["warp-alone"], WAF, map="each block once")
    return {"placement.warp.alone": Measured(*mean_and_half_width(found))}


@measures(
    {
        f"placement.warp.{handles}.{overwrites}": predicted(key("gc.victim", "fifo"))
        for handles in STREAMS
        for overwrites in OVERWRITES
        if (handles, overwrites) != ("each", "zoned")
    }
)
def _streams(tables: Tables) -> dict[str, Measured]:
    table = tables["warp-streams"]
    return {
        f"placement.warp.{handles}.{overwrites}": Measured(
            *mean_and_half_width(of(table, WAF, handles=label, overwrites=law))
        )
        for handles, label in STREAMS.items()
        for overwrites, law in OVERWRITES.items()
        if (handles, overwrites) != ("each", "zoned")
    }


@measures(
    {
        f"placement.warp.{isolation}.{spare}": predicted(key("gc.victim", "fifo"))
        for isolation, spares in SPARE.items()
        for spare in spares
    }
)
def _spare(tables: Tables) -> dict[str, Measured]:
    table = tables["warp-spare"]
    return {
        f"placement.warp.{isolation}.{spare}": Measured(
            *mean_and_half_width(of(table, WAF, isolation=isolation, spare=f"{spare} %"))
        )
        for isolation, spares in SPARE.items()
        for spare in spares
    }


KIB, MIB = 1 << 10, 1 << 20


def _zn540() -> pl.DataFrame:
    """What the drive of the preset zn540 takes for what its maker's was measured at."""
    drive = ssdlab.Device("zn540")
    begun, full, *_ = drive.zones(count=2)

    def took(op: Any, offset: int, length: int) -> float:
        """How long a request takes [ms]."""
        began = drive.now
        drive.submit(began, op, offset, length)
        return (drive.advance_to_completion()[-1].finish_ns - began) / 1e6

    took("write", begun.start, 4 * KIB)
    # Its blocks are erased while the next zone is written.
    finish = took("zone-finish", begun.start, begun.capacity)
    for offset in range(0, full.capacity, MIB):
        took("write", full.start + offset, MIB)
    drive.flush()
    reset = took("zone-reset", full.start, full.capacity)
    rows = {"finish [ms]": finish, "reset [ms]": reset, "writes [GB/s]": _four_writers()}
    return pl.DataFrame({"what": list(rows), "value": list(rows.values())})


def _four_writers() -> float:
    """Bandwidth of writes of 64 KiB to four zones, one at a time each [GB/s]."""
    drive = ssdlab.Device("zn540")
    written, starts = [0] * 4, [zone.start for zone in drive.zones(count=4)]
    writers: dict[int, int] = {}

    def write(writer: int) -> None:
        number = drive.submit(drive.now, "write", starts[writer] + written[writer], 64 * KIB)
        writers[number] = writer
        written[writer] += 64 * KIB

    for writer in range(4):
        write(writer)
    began = 0, 0
    while sum(written) < 1000 * MIB:
        for done in drive.advance_to_completion():
            write(writers.pop(done.request))
        # The buffer is full by then, and takes as much as the flash does.
        if not began[0] and sum(written) >= 300 * MIB:
            began = drive.now, sum(written)
    return (sum(written) - began[1]) / (drive.now - began[0])


TABLES: dict[str, Callable[[Any], pl.DataFrame]] = {"zn540": lambda progress: _zn540()}


@measures(
    {
        "placement.zn540.finish": fitted("presets/devices/zn540.toml", "chip.t_prog"),
        "placement.zn540.reset": fitted("presets/devices/zn540.toml", "chip.t_bers"),
        "placement.zn540.writes": fitted("presets/devices/zn540.toml", "chip.t_prog"),
    }
)
def _product(tables: Tables) -> dict[str, Measured]:
    values = dict(tables["zn540"].iter_rows())
    rows = {"finish": "finish [ms]", "reset": "reset [ms]", "writes": "writes [GB/s]"}
    return {f"placement.zn540.{name}": Measured(float(values[row])) for name, row in rows.items()}


# The tables of README.md. A test compares them; `pytest --update-golden` writes them.


def findings(tables: Tables) -> dict[str, str]:
    """The tables of README.md by name, as Markdown."""
    return {
        "writes": _writes(tables),
        "tails": _tails(tables["lsm-writes"]),
        "reads": _reads(tables),
        "same": _same(tables),
        "streams": _beside(tables["warp-streams"], "handles", "overwrites"),
        "spare": _beside(tables["warp-spare"], "isolation", "spare"),
    }


def shown(values: Sequence[float], digits: int = 2) -> str:
    """The mean over seeds, with its interval where that shows."""
    return mean_text(values, digits)


def _writes(tables: Tables) -> str:
    rows = []
    for load, words in LOADS.items():
        table = writes(tables, load)
        for drive in DRIVES:
            spread = zip(*(of(table, f"{ERASES}.{part}", drive=drive) for part in ("deviation", "mean")), strict=True)
            rows.append(
                [
                    words,
                    drive,
                    shown(of(table, WAF, drive=drive)),
                    shown(of(table, f"{ERASES}.mean", drive=drive)),
                    shown(of(table, f"{ERASES}.max", drive=drive), 0),
                    shown([deviation / mean for deviation, mean in spread]),
                ]
            )
    head = ["load", "drive", "write amplification", "erases of a block, mean", "most", "deviation / mean"]
    return markdown(head, rows)


def published(claim: str) -> float | None:
    """What is published of a claim, if there is such a claim."""
    claims = tomllib.loads((Path(__file__).parent / "claims.toml").read_text())["claims"]
    return next((found["published"] for found in claims if found["id"] == claim), None)


def _beside(table: pl.DataFrame, rows: str, columns: str) -> str:
    """Write amplification, and what is published in brackets."""
    names = [list(dict.fromkeys(table[name])) for name in (rows, columns)]
    short = {label: name for name, label in {**STREAMS, **OVERWRITES}.items()}

    def cell(row: str, column: str) -> str:
        claim = f"placement.warp.{short.get(row, row)}.{short.get(column, column).removesuffix(' %')}"
        found, theirs = shown(of(table, WAF, **{rows: row, columns: column})), published(claim)
        return found if theirs is None else f"{found} ({theirs:.2f})"

    cells = [[row, *(cell(row, column) for column in names[1])] for row in names[0]]
    return markdown([rows, *names[1]], cells)


def _tails(table: pl.DataFrame) -> str:
    rows = []
    for suspension in SUSPENSIONS:
        found = table.filter(suspension=suspension)
        cells = [shown([value / 1e6 for value in of(found, P99_9, drive=drive)]) for drive in DRIVES]
        rows.append([suspension, *cells, shown(ratios(found, P99_9, PLAIN, ZONES), 1)])
    return markdown(["suspended", *DRIVES, f"{PLAIN} / {ZONES}"], rows)


def _reads(tables: Tables) -> str:
    rows = []
    for load, words in LOADS.items():
        for scheme in SCHEMES:
            for drive in DRIVES:
                cells = (of(tables[load], P99, drive=drive, scheme=scheme, age=age) for age in CYCLES)
                rows.append([words, scheme, drive, *(shown([value / 1e6 for value in cell]) for cell in cells)])
    return markdown(["load", "scheme", "drive", *CYCLES], rows)


def host_writes(tables: Tables, load: str, drive: str, cycles: int) -> float:
    """How often the host has written all of the flash when its blocks have this many P/E cycles."""
    return cycles / (mean_and_half_width(of(writes(tables, load), WAF, drive=drive))[0] or 1.0)


def _same(tables: Tables) -> str:
    rows = []
    for load, words in LOADS.items():
        for drive in DRIVES:
            rows.append(
                [words, drive, *(f"{host_writes(tables, load, drive, cycles):,.0f}" for cycles in CYCLES.values())]
            )
    return markdown(["load", "drive", *(f"{age} P/E cycles" if age != "fresh" else age for age in CYCLES)], rows)


def figures(tables: Tables) -> dict[str, Figure]:
    """Each by name: placement (write amplification; p99 of reads over what the host has written)."""
    figure = blank(12.5, 6.2)
    grid = figure.subplots(len(LOADS), 1 + len(SCHEMES), width_ratios=[1.0, 1.3, 1.3, 1.3], squeeze=False)
    for row, (load, words) in zip(grid, LOADS.items(), strict=True):
        _bars(row[0], writes(tables, load))
        row[0].set_title(words, fontsize=10)
        row[0].set_ylabel("write amplification")
        row[0].set_ylim(0, 4.5)
        for axes, scheme in zip(row[1:], SCHEMES, strict=True):
            for place, drive in enumerate(DRIVES):
                found = [
                    mean_and_half_width(of(tables[load], P99, drive=drive, scheme=scheme, age=age)) for age in CYCLES
                ]
                written = [host_writes(tables, load, drive, cycles) for cycles in CYCLES.values()]
                means, halves = [(mean or 0.0) / 1e6 for mean, _ in found], [(half or 0.0) / 1e6 for _, half in found]
                axes.errorbar(
                    written, means, yerr=halves, marker="os^"[place], color=plot.COLOURS[place], capsize=3, label=drive
                )
            axes.set_yscale("log")
            axes.set_ylim(0.9, 20)
            axes.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
            axes.minorticks_off()
            axes.xaxis.set_major_formatter("{x:,.0f}")
            axes.set_title(f"{words}, {scheme}", fontsize=10)
            axes.grid(alpha=0.3)
        row[1].set_ylabel("p99 of reads (ms)")
    for axes in grid[-1][1:]:
        axes.set_xlabel("host writes (times the flash)")
    handles, labels = grid[0][1].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        ncols=len(labels),
        loc="outside upper center",
        frameon=False,
        title="Points: fresh, and 1K and 3K P/E cycles with 3 months of retention",
    )
    return {"placement": figure}


def _bars(axes: Any, table: pl.DataFrame) -> None:
    for place, drive in enumerate(DRIVES):
        mean, half = mean_and_half_width(of(table, WAF, drive=drive))
        axes.bar(drive, mean or 0.0, yerr=half or 0.0, color=plot.COLOURS[place], capsize=3)
        axes.text(place, (mean or 0.0) + (half or 0.0) + 0.05, f"{mean:.2f}", ha="center", va="bottom", fontsize=9)
