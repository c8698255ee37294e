"""Recovery after power cuts: how long it takes, which step takes it, and what keeping the map for it writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.study.claims import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLOCKS, READY, WORST, CUTS = "geometry.blocks", "power.ready_ns.mean", "power.ready_ns.max", "power.cuts"
STEPS = ("headers", "journal", "blocks", "map")
DIES, PLANES, PAGES = 4, 8, 144
"""Of the drive that the sweeps set up; its blocks are superblocks of two planes."""
SPARE = 0.28
LINES = {"": "--", "journal": "-", "whole map": ":"}
"""By what is kept beside the checkpoints, or cached."""
BOUNDS = (75, 100, 125, 150, 200, 500)
"""Milliseconds in which the drive is to be ready."""


def headers(blocks: int) -> int:
    """Pages that say when blocks were opened: one a superblock."""
    return DIES * blocks


def pages(blocks: int) -> int:
    """Flash pages of the drive."""
    return PLANES * blocks * PAGES


def map_pages(blocks: int) -> int:
    """Translation pages: one for 1,024 pages of 4 KiB, of which four are in a flash page."""
    return -(-int(pages(blocks) * 4 / (1 + SPARE)) // 1024)


# The tables of README.md. A test compares them; `pytest --update-golden` writes them.


def findings(tables: Tables) -> dict[str, str]:
    """The tables of README.md by name, as Markdown."""
    return {
        "time": _time(tables),
        "steps": _steps(tables["cuts"]),
        "start": _start(tables),
        "read": _read(tables),
        "waf": _waf(tables["waf"]),
        "bound": _bound(tables),
        "cached": _cached(tables["cached"]),
        "plp": _plp(tables["plp"]),
    }


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])


def shown(values: pl.Series, digits: int = 0) -> str:
    """The mean over seeds, with its interval where that shows."""
    mean, half = mean_and_half_width(values.to_list())
    if mean is None:
        return ""
    if half is None or half < 0.5 * 10**-digits:
        return f"{mean:,.{digits}f}"
    return f"{mean:,.{digits}f} ± {half:,.{digits}f}"


def labels(table: pl.DataFrame, axis: str) -> list[str]:
    """The labels of an axis, in their order."""
    return [str(label) for label in table[axis].unique(maintain_order=True)]


def capacities(table: pl.DataFrame) -> list[int]:
    """The numbers of blocks."""
    return [int(blocks) for blocks in labels(table, BLOCKS)]


def of(table: pl.DataFrame, blocks: int, **labels: str | bool) -> pl.DataFrame:
    """The rows of a capacity."""
    return table.filter(pl.col(BLOCKS) == blocks, **labels)


def named(blocks: int) -> str:
    """A capacity in words."""
    return f"{blocks} ({pages(blocks) / 65_536:.1f} GiB)"


def milliseconds(rows: pl.DataFrame, name: str = READY) -> str:
    """A time to ready."""
    return shown(rows[name] / 1e6)


def a_cut(rows: pl.DataFrame, name: str) -> pl.Series:
    """A count, for each cut."""
    return rows[name] / rows[CUTS]


def _time(tables: Tables) -> str:
    cuts, scan = tables["cuts"], tables["scan"]
    rows = [["none", *(milliseconds(of(scan, blocks)) for blocks in capacities(cuts))]]
    rows += [
        [kept, *(milliseconds(of(cuts, blocks, kept=kept)) for blocks in capacities(cuts))]
        for kept in labels(cuts, "kept")
    ]
    return markdown(["kept", *map(named, capacities(cuts))], rows)


def _steps(cuts: pl.DataFrame) -> str:
    ends = (capacities(cuts)[0], capacities(cuts)[-1])
    rows = []
    for blocks in ends:
        for kept in labels(cuts, "kept"):
            rows.append(
                [
                    str(blocks),
                    kept,
                    *(shown(a_cut(of(cuts, blocks, kept=kept), f"power.reads.{step}")) for step in STEPS),
                ]
            )
    return markdown([BLOCKS, "kept", "headers", "journal", "young blocks", "map"], rows)


def _start(tables: Tables) -> str:
    start, scan = tables["start"], tables["scan"]
    rows = []
    for blocks in capacities(start):
        empty, full = (of(start, blocks).filter(pl.col("age.fill") == fill) for fill in (0.001, 1.0))
        more = full[READY] - empty[READY]
        a_map = more * PLANES / (full["power.reads.map"] - empty["power.reads.map"])
        pages_alone = of(scan, blocks)[READY] - empty[READY]
        a_page = pages_alone * PLANES / of(scan, blocks)["power.reads.blocks"]
        a_header = empty[READY] * DIES / empty["power.reads.headers"]
        cells = [empty[READY] / 1e6, more / 1e6]
        rows.append(
            [
                str(blocks),
                *(shown(cell, 1) for cell in cells),
                *(shown(cell / 1e3, 1) for cell in (a_header, a_map, a_page)),
            ]
        )
    head = ["headers [ms]", "map [ms]", "a header [us]", "a translation page [us]", "a page of a block [us]"]
    return markdown([BLOCKS, *head], rows)


def _read(tables: Tables) -> str:
    cuts, scan = tables["cuts"], tables["scan"]
    rows = []
    for blocks in capacities(cuts):
        rows.append(
            [
                str(blocks),
                f"{headers(blocks):,}",
                shown(a_cut(of(cuts, blocks), "power.reads.headers")),
                f"{map_pages(blocks):,}",
                shown(a_cut(of(cuts, blocks), "power.reads.map")),
                f"{pages(blocks):,}",
                shown(a_cut(of(scan, blocks), "power.reads.blocks")),
            ]
        )
    head = ["superblocks", "headers read", "translation pages", "map read", "flash pages", "read without a map"]
    return markdown([BLOCKS, *head], rows)


def _waf(waf: pl.DataFrame) -> str:
    rows = []
    for kept in labels(waf, "kept"):
        cells = []
        for blocks in capacities(waf):
            found = of(waf, blocks, kept=kept)
            parts = [shown(found["ftl.waf"], 2)]
            # Without a map nothing is programmed for it.
            written = ("padding",) if kept == "none" else ("checkpoint", "journal", "padding")
            parts += [shown(found[f"ftl.waf_by.{part}"], 3 if part == "journal" else 2) for part in written]
            cells.append(" / ".join(parts))
        rows.append([kept, *cells])
    return markdown(["kept", *map(named, capacities(waf))], rows)


def _bound(tables: Tables) -> str:
    cuts, waf = tables["cuts"], tables["waf"]
    rows = []
    for bound in BOUNDS:
        cells = []
        for blocks in capacities(cuts):
            found = {}
            for kept in labels(cuts, "kept"):
                worst = of(cuts, blocks, kept=kept)[WORST].max()
                if isinstance(worst, float) and worst <= bound * 1e6:
                    found[kept] = mean_and_half_width(of(waf, blocks, kept=kept)["ftl.waf"].to_list())[0] or 0.0
            best = min(found, key=lambda kept: found[kept], default="none")
            cells.append(f"{best}: {found[best]:.2f}" if found else "none is")
        rows.append([f"{bound} ms", *cells])
    return markdown(["ready within", *map(named, capacities(cuts))], rows)


def _cached(cached: pl.DataFrame) -> str:
    rows = []
    for blocks in capacities(cached):
        for kept in labels(cached, "kept"):
            found = of(cached, blocks, kept=kept)
            rows.append(
                [
                    str(blocks),
                    kept,
                    milliseconds(found),
                    *(shown(a_cut(found, f"power.reads.{step}")) for step in ("blocks", "map")),
                    shown(found["ftl.map.checkpoints"]),
                    *(shown(found[f"ftl.waf_by.{part}"], 2) for part in ("map", "checkpoint", "journal")),
                ]
            )
    head = ["ready [ms]", "young blocks", "map", "checkpoints", "WAF: map", "checkpoint", "journal"]
    return markdown([BLOCKS, "kept", *head], rows)


def _plp(plp: pl.DataFrame) -> str:
    rows = []
    for protected in (False, True):
        for kept in labels(plp, "kept"):
            found = plp.filter(pl.col("power.plp") == protected, kept=kept)
            rows.append(
                [
                    "with" if protected else "without",
                    kept,
                    milliseconds(found),
                    shown(a_cut(found, "power.reads.blocks")),
                    shown(a_cut(found, "power.buffer_lost")),
                    shown(a_cut(found, "power.lost")),
                ]
            )
    return markdown(["capacitors", "kept", "ready [ms]", "young blocks", "buffer lost", "acknowledged lost"], rows)


def figures(tables: Tables) -> dict[str, Figure]:
    """Each by name: recovery (time to ready over capacity), costs (write amplification over time to ready)."""
    return {"recovery": _over_capacity(tables), "costs": _costs(tables)}


def _style(kept: str) -> dict[str, str]:
    sizes = ("8MiB", "32MiB", "128MiB")
    size, _, more = kept.partition(", ")
    return {"color": f"C{sizes.index(size)}", "linestyle": LINES[more], "marker": "s" if more == "" else "o"}


def _over_capacity(tables: Tables) -> Figure:
    figure = blank(10.5, 4.4)
    both = figure.subplots(1, 2, sharey=True)
    for axes, name in zip(both, ("cuts", "cached"), strict=True):
        table = tables[name]
        ticks = capacities(table)
        for kept in labels(table, "kept"):
            found = [mean_and_half_width((of(table, blocks, kept=kept)[READY] / 1e6).to_list()) for blocks in ticks]
            means, halves = [mean or 0.0 for mean, _ in found], [half or 0.0 for _, half in found]
            # On an axis of logarithms no bar may go to nothing.
            below = [min(half, 0.9 * mean) for mean, half in zip(means, halves, strict=True)]
            axes.errorbar(ticks, means, yerr=[below, halves], label=kept, capsize=3, **_style(kept))
        if name == "cuts":
            scan = tables["scan"]
            means = [mean_and_half_width((of(scan, blocks)[READY] / 1e6).to_list())[0] or 0.0 for blocks in ticks]
            axes.plot(ticks, means, "k:x", label="no map kept")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(ticks, [named(blocks).replace(" ", "\n", 1) for blocks in ticks])
        axes.set_xlabel("blocks a plane (raw capacity)")
        axes.set_title("map in memory" if name == "cuts" else "cached map", fontsize=10)
        axes.grid(alpha=0.3, which="both")
    both[0].set_ylabel("time to ready (ms)")
    legend: dict[str, Any] = {}
    for axes in both:
        handles, names = axes.get_legend_handles_labels()
        legend |= dict(zip(names, handles, strict=True))
    figure.legend(
        handles=list(legend.values()), labels=list(legend), ncols=4, loc="outside upper center", frameon=False
    )
    return figure


def _costs(tables: Tables) -> Figure:
    figure = blank(10.5, 4.4)
    ends = (capacities(tables["cuts"])[0], capacities(tables["cuts"])[-1])
    for axes, blocks in zip(figure.subplots(1, 2), ends, strict=True):
        for kept in labels(tables["cuts"], "kept"):
            ready, wide = mean_and_half_width((of(tables["cuts"], blocks, kept=kept)[READY] / 1e6).to_list())
            waf, high = mean_and_half_width(of(tables["waf"], blocks, kept=kept)["ftl.waf"].to_list())
            axes.errorbar([ready], [waf], xerr=[wide], yerr=[high], label=kept, capsize=3, **_style(kept))
        none, _ = mean_and_half_width(of(tables["waf"], blocks, kept="none")["ftl.waf"].to_list())
        axes.axhline(none or 0.0, color="k", linestyle=":", label="no map kept")
        axes.set_xlim(0)
        axes.set_xlabel("time to ready (ms)")
        axes.set_ylabel("write amplification")
        axes.set_title(named(blocks), fontsize=10)
        axes.grid(alpha=0.3)
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, ncols=4, loc="outside upper center", frameon=False)
    return figure
