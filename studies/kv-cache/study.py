"""KV cache: how long prompts wait for their first token by cells, age and read scheme, and what is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width, mean_text
from ssdlab.common.tables import markdown
from ssdlab.show import plot
from ssdlab.study.claims import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELLS = ("tlc", "qlc", "plc")
AGES = {"fresh": "fresh", "500": "500 P/E cycles", "1K": "1K P/E cycles"}
OWN = "the drive's own"
SCHEMES = (OWN, "baseline", "pnar2", "rif")
FIRST, LOAD = "host.task.latency_ns.mean", "host.kv.load_ns"
PARTS = {"loading": "host.kv.load_ns", "waiting": "host.kv.wait_ns", "computing": "host.kv.compute_ns"}
BLOCKS = ("32", "128", "512")
SHARES = ("100 %", "90 %", "75 %")
PLACEMENTS = ("all data together", "relocated data apart", "a handle")
VICTIMS = ("greedy", "fifo")
RECLAIMS = ("none", "block", "wordline")

RATE, INPUT, NEW, TOKEN = 0.8, 7_590, 0.5, 128 << 10
"""Of the preset: prompts a second, tokens of one, the share that is computed, bytes of a token."""
CAPACITY, CYCLES = {"tlc": 1.08e12, "qlc": 1.45e12, "plc": 1.81e12}, {"tlc": 3_000, "qlc": 1_000, "plc": 500}
"""Capacity of each drive [B]; P/E cycles that parts of such cells are sold with (assumed; of PLC none is sold)."""
DAY = 86_400
UNIT = 4096
"""What the drives count pages in (`mapping.unit`) [B]."""


def of(table: pl.DataFrame, name: str, **labels: str) -> list[float]:
    """A statistic of each seed."""
    found = table.with_columns(pl.col(list(labels)).cast(pl.String)).filter(**labels).sort("seed")[name]
    return [float(value) for value in found]


def findings(tables: Tables) -> dict[str, str]:
    """The tables of README.md by name, as Markdown."""
    found: dict[str, str] = {}
    if "loads" in tables:
        table = tables["loads"]
        found |= {"loads": _loads(table), "first": _first(table), "parts": _parts(table)}
    if "recompute" in tables:
        found["recompute"] = _recompute(tables["recompute"])
    if "writes" in tables:
        found |= {"writes": _writes(tables["writes"]), "life": _life(tables["writes"])}
    if "placement" in tables:
        found["placement"] = _placement(tables["placement"])
    if "reclaim" in tables:
        found["reclaim"] = _reclaim(tables["reclaim"])
    return found


def ms(values: Sequence[float]) -> list[float]:
    """Nanoseconds as milliseconds."""
    return [value / 1e6 for value in values]


def against(table: pl.DataFrame, name: str, cells: str, scheme: str, age: str) -> list[float]:
    """A statistic over that of the same prompts on the fresh drive, of each seed."""
    fresh = of(table, name, cells=cells, scheme=OWN, age="fresh")
    return [now / then for now, then in zip(of(table, name, cells=cells, scheme=scheme, age=age), fresh, strict=True)]


def _loads(table: pl.DataFrame) -> str:
    rows = []
    for cells in CELLS:
        for scheme in SCHEMES:
            ratios = (mean_text(against(table, LOAD, cells, scheme, age), 2) for age in AGES)
            retries = mean_text(of(table, "flash.retry.steps.mean", cells=cells, scheme=scheme, age="1K"), 1)
            rows.append([cells, scheme, *ratios, retries])
    return markdown(["drive", "reads", *AGES.values(), "retries a page, 1K"], rows)


def _first(table: pl.DataFrame) -> str:
    rows = []
    for cells in CELLS:
        for scheme in SCHEMES:
            ratios = (mean_text(against(table, FIRST, cells, scheme, age), 2) for age in AGES)
            rows.append([cells, scheme, *ratios])
    return markdown(["drive", "reads", *AGES.values()], rows)


def _parts(table: pl.DataFrame) -> str:
    rows = []
    for cells in CELLS:
        for scheme in (OWN, "baseline"):
            labels = {"cells": cells, "scheme": scheme, "age": "1K"}
            rows.append([cells, scheme, *(mean_text(ms(of(table, name, **labels))) for name in PARTS.values())])
    return markdown(["drive", "reads", *PARTS], rows)


def _recompute(table: pl.DataFrame) -> str:
    rows = []
    for scheme in ("baseline", "rif"):
        for prefill in ("8000", "16000", "32000"):
            labels = {"scheme": scheme, "prefill": prefill}
            recomputed = of(table, "host.kv.tokens_recomputed", recompute="faster", **labels)
            asked = of(table, "host.kv.tokens", recompute="faster", **labels)
            share = [100 * part / all for part, all in zip(recomputed, asked, strict=True)]
            times = (mean_text(ms(of(table, FIRST, recompute=choice, **labels))) for choice in ("never", "faster"))
            rows.append([scheme, f"{int(prefill):,}", *times, mean_text(share)])
    head = ["reads", "engine, tokens/s", "always read", "computed where faster", "computed though stored, % of tokens"]
    return markdown(head, rows)


def _writes(table: pl.DataFrame) -> str:
    rows = []
    for block in BLOCKS:
        cells = (mean_text(of(table, "ftl.waf", block=block, share=share), 2) for share in SHARES)
        rows.append([block, f"{int(block) * 2:,} KiB", *cells])
    return markdown(["tokens of a block", "its size here", *(f"{share} of the drive" for share in SHARES)], rows)


def _placement(table: pl.DataFrame) -> str:
    rows = []
    for placement in PLACEMENTS:
        cells = (mean_text(of(table, "ftl.waf", placement=placement, victim=victim), 2) for victim in VICTIMS)
        rows.append([placement, *cells])
    return markdown(["placement", *VICTIMS], rows)


def _reclaim(table: pl.DataFrame) -> str:
    rows = []
    for cells in ("tlc", "qlc"):
        for reclaim in RECLAIMS:
            labels = {"cells": cells, "reclaim": reclaim}
            pages = of(table, "ftl.relocated_by.read_reclaim.pages", **labels)
            times = (mean_text(ms(of(table, name, **labels))) for name in (LOAD, FIRST))
            rows.append([cells, reclaim, mean_text([each * UNIT / 1e9 for each in pages], 1), *times])
    return markdown(["drive", "read reclaim", "moved, GB", "loading, ms", "first token, ms"], rows)


def waf(table: pl.DataFrame, block: str, share: str) -> float:
    """Mean write amplification."""
    return mean_and_half_width(of(table, "ftl.waf", block=block, share=share))[0] or 1.0


def _life(table: pl.DataFrame) -> str:
    written = RATE * INPUT * NEW * TOKEN * DAY
    rows = []
    for cells in CELLS:
        days = {
            share: CYCLES[cells] * CAPACITY[cells] / (written * waf(table, "512", share)) for share in ("100 %", "75 %")
        }
        rows.append(
            [
                cells,
                f"{CYCLES[cells]:,}",
                f"{written / CAPACITY[cells]:,.0f}",
                *(f"{each:,.0f} days" for each in days.values()),
            ]
        )
    head = ["drive", "P/E cycles", "drive writes a day", "lasts, all of it used", "lasts, 75 % used"]
    return markdown(head, rows)


def figures(tables: Tables) -> dict[str, Figure]:
    """Each by name: kv-cache (time of loads by age, of each kind of cells)."""
    figure = blank(11, 3.8)
    table = tables["loads"]
    grid = figure.subplots(1, len(CELLS), sharey=True)
    for axes, cells in zip(grid, CELLS, strict=True):
        for place, scheme in enumerate(SCHEMES):
            found = [mean_and_half_width(against(table, LOAD, cells, scheme, age)) for age in AGES]
            means, halves = [mean or 0.0 for mean, _ in found], [half or 0.0 for _, half in found]
            style = {"marker": "osv^"[place], "color": plot.COLOURS[place], "capsize": 3, "label": scheme}
            axes.errorbar([0, 500, 1000], means, yerr=halves, **style)
        axes.set_title(cells)
        axes.set_xlabel("P/E cycles")
        axes.grid(alpha=0.3)
    grid[0].set_ylim(bottom=0)
    grid[0].set_ylabel("time of loads over that when fresh\nlower is better")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=len(labels), loc="outside upper center", frameon=False, title="What reads do")
    return {"kv-cache": figure}
