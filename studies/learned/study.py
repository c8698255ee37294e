"""What a learned controller adds: first senses by fixed choices, rules, decision trees and an oracle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.common.frames import read_csv
from ssdlab.common.tables import markdown
from ssdlab.show import plot
from ssdlab.study.claims import Tables
from ssdlab.study.folder import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TREES = Path(__file__).parent / "trees"
MEAN = "host.read.latency_ns.mean"
FAMILIES = ("near-zero", "rif", "pnar2")
HASTE = ("never", "always", "rule", "tree", "oracle")
STARTS = (
    "rif, never", "rif, start by tree", "rif, start by oracle", "rif, both by trees", "rif, both by oracle",
    "near-zero, never", "near-zero, both by trees", "near-zero, both by oracle",
)  # fmt: skip
DRIVES = ("new", "1.2K, 4 mo", "1.7K, 0 to 12 mo", "other chip")


def _depth(rows: list[dict[str, Any]], at: int) -> int:
    """The most comparisons from a node on."""
    if rows[at]["feature"] == "leaf":
        return 0
    return 1 + max(_depth(rows, at + 1), _depth(rows, int(rows[at]["otherwise"])))


def _trees(progress: object) -> pl.DataFrame:
    """Each tree: its nodes, its memory, its depth, and what it looks at."""
    found = []
    for path in sorted(TREES.glob("*.csv")):
        table = read_csv(path)
        for question in table["question"].unique(maintain_order=True):
            rows = table.filter(question=question).to_dicts()
            looks = sorted({row["feature"] for row in rows} - {"leaf"})
            found.append((path.stem, question, len(rows), 5 * len(rows), _depth(rows, 0), " ".join(looks)))
    return pl.DataFrame(found, orient="row", schema=["file", "question", "nodes", "bytes", "depth", "features"])


TABLES = {"trees": _trees}


def _of(table: pl.DataFrame, policy: str, drive: str, name: str = MEAN) -> list[float]:
    return [float(of) for of in table.filter(policy=policy, drive=drive).sort("seed")[name].to_list()]


def _cell(table: pl.DataFrame, policy: str, drive: str) -> str:
    mean, half = mean_and_half_width(_of(table, policy, drive))
    return f"{number(mean) / 1e3:.1f} ± {number(half) / 1e3:.1f}"


def remains(table: pl.DataFrame, family: str, policy: str, drive: str) -> tuple[float, float]:
    """The share of the oracle's gain over `never` that a policy has, seed by seed: mean and half its interval."""
    never, oracle = (_of(table, f"{family}, {name}", drive) for name in ("never", "oracle"))
    mine = _of(table, f"{family}, {policy}", drive)
    shares = [(a - b) / (a - c) for a, b, c in zip(never, mine, oracle, strict=True)]
    mean, half = mean_and_half_width(shares)
    return number(mean), number(half)


# The tables of README.md. A test compares them; `pytest --update-golden` writes them.


def findings(tables: Tables) -> dict[str, str]:
    """The tables of README.md by name, as Markdown."""
    table = tables["policies"]
    haste = [[f"{family}, {name}", *(_cell(table, f"{family}, {name}", drive) for drive in DRIVES)]
             for family in FAMILIES for name in HASTE]  # fmt: skip
    shares = []
    for family in FAMILIES:
        for name in ("always", "rule", "tree"):
            of = (remains(table, family, name, drive) for drive in DRIVES)
            shares.append([f"{family}, {name}", *(f"{100 * mean:.0f} ± {100 * half:.0f}" for mean, half in of)])
    starts = [[name, *(_cell(table, name, drive) for drive in DRIVES)] for name in STARTS]
    trees = [[row["file"], row["question"], str(row["nodes"]), str(row["bytes"]), str(row["depth"]), row["features"]]
             for row in tables["trees"].fill_null("").to_dicts()]  # fmt: skip
    return {
        "haste": markdown(["policy", *DRIVES], haste),
        "shares": markdown(["% of the oracle's gain", *DRIVES], shares),
        "starts": markdown(["policy", *DRIVES], starts),
        "trees": markdown(["file", "question", "nodes", "B", "depth", "looks at"], trees),
    }


def figures(tables: Tables) -> dict[str, Figure]:
    """Each by name: learned (mean latency by policy over the oracle's, a part for each scheme)."""
    table = tables["policies"]
    figure = blank(10, 3.6)
    for axes, family in zip(figure.subplots(1, len(FAMILIES), sharey=True), FAMILIES, strict=True):
        for at, name in enumerate(HASTE[:-1]):
            over = []
            for drive in DRIVES:
                mine, oracle = (_of(table, f"{family}, {of}", drive) for of in (name, "oracle"))
                over.append(100 * (sum(mine) / sum(oracle) - 1))
            places = [place + 0.2 * at for place in range(len(DRIVES))]
            axes.bar(places, over, width=0.19, color=plot.COLOURS[at], label=name)
        axes.set_xticks([place + 0.3 for place in range(len(DRIVES))], DRIVES, rotation=20, fontsize=8)
        axes.set_title(family, fontsize=10)
        axes.grid(axis="y", alpha=0.3)
    figure.axes[0].set_ylabel("mean read latency over the oracle's (%)")
    figure.axes[0].legend(fontsize=8)
    return {"learned": figure}
