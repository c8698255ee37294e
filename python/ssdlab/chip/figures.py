"""The papers' figures of a chip, drawn from the tables of :mod:`ssdlab.chip.characterize`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from ssdlab._core import Chip
from ssdlab.chip.characterize import RANGES, constant, grains_of, loops_of
from ssdlab.common.canvas import blank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDS = ("γ", "δ", *(f"{n}δ" for n in range(2, len(RANGES))))
"""The upper ends of the EPT's ranges."""


def reading(tables: Mapping[str, pl.DataFrame]) -> dict[str, Figure]:
    """asplos21 Fig. 5, 7, 8, 9, 10 and 11, of the tables steps, m_err, cuts, both and rpt."""
    return {
        "fig5": _fig5(tables["steps"]),
        "fig7": _fig7(tables["m_err"]),
        "fig8": _fig8(tables["cuts"]),
        "fig9": _fig9(tables["both"]),
        "fig10": _fig10(tables["cuts"]),
        "fig11": _fig11(tables["rpt"]),
    }


def erasing(tables: Mapping[str, pl.DataFrame], chip: Chip) -> dict[str, Figure]:
    """electronics25 Fig. 9 and 16, and an overview of Fig. 11, 15, 17a, 18a, 21 and Table 1, of a chip's tables
    erase_times, fail_ranges, fail_bits, life, wordlines, gate and ept."""
    return {
        "erase_times": _erase_times(tables["erase_times"], chip),
        "fail_ranges": _fail_ranges(tables["fail_ranges"], chip),
        "erasing": _overview(tables, chip),
    }


def first_days(days: pl.DataFrame, published: Mapping[int, float] | None = None) -> Figure:
    """hpca24 Fig. 4 as the first day of each wear, beside published ones."""
    figure = blank(5, 3.2)
    ax = figure.subplots()
    _styled([ax])
    ax.plot(days["pec"].to_numpy(), days["day"].to_numpy(), "o-", color="#4477aa", label="virtual chip")
    if published:
        ax.plot(list(published), list(published.values()), "x", color="#ee6677", label="hpca24 Fig. 4")
    ax.set_xlabel("P/E cycles")
    ax.set_ylabel("first day beyond RBER 0.0085\n(higher is better)")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return _titled(figure, "How long data lies until a page needs a retry, by wear")


COLOURS = {0: "#228833", 1000: "#4477aa", 2000: "#ee6677"}
MARKERS = {0: "o", 1000: "s", 2000: "^"}
"""P/E cycles differ in grey print too."""
CAPABILITY = 72
"""Errors per KiB that the ECC of asplos21 corrects."""


def _titled(figure: Figure, text: str) -> Figure:
    """What a figure compares, above it."""
    figure.suptitle(text, fontsize="medium")
    return figure


def _capability(ax: Any) -> None:
    """Where the ECC ends."""
    ax.axhline(CAPABILITY, color="#333333", lw=0.8, ls="--")
    ax.annotate(
        "ECC's capability",
        (0.02, CAPABILITY),
        xycoords=("axes fraction", "data"),
        va="bottom",
        fontsize="x-small",
        color="#333333",
    )


def _panels(count: int, width: float = 3.4, height: float = 3.2) -> tuple[Figure, list[Any]]:
    figure = blank(width * count, height)
    axes = figure.subplots(1, count, squeeze=False, sharey=True)[0].tolist()
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.3)
    return figure, axes


def _fig5(steps: pl.DataFrame) -> Figure:
    figure, axes = _panels(3)
    shown: Any = None
    for ax, pec in zip(axes, (0, 1000, 2000), strict=True):
        of = steps.filter(pec=pec)
        of = of.with_columns(share=pl.col("pages") / pl.col("pages").sum().over("months")).drop_nulls("steps")
        months = of["months"].to_numpy()
        shown = ax.scatter(
            months, of["steps"].to_numpy(), c=of["share"].to_numpy(), cmap="Blues", vmin=0, vmax=0.8, marker="s", s=26
        )
        by = of.group_by("months", maintain_order=True)
        ranges = by.agg(
            low=pl.col("steps").min(),
            high=pl.col("steps").max(),
            mean=(pl.col("steps") * pl.col("share")).sum() / pl.col("share").sum(),
        )
        for column, style in (("high", ":"), ("mean", "-"), ("low", "--")):
            ax.plot(ranges["months"].to_numpy(), ranges[column].to_numpy(), style, color="#333333", lw=1, label=column)
        ax.set_title(f"{pec:,} P/E cycles", fontsize="medium")
        ax.set_xticks(sorted(set(months.tolist()) - {1.0}))
        ax.set_xlabel("retention age [months]")
    axes[0].set_ylabel("retry steps (lower is better)")
    axes[0].legend(frameon=False, fontsize="small")
    figure.colorbar(shown, ax=axes, label="share of pages")
    return _titled(figure, "Retry steps that pages need, by wear and age of the data")


def _fig7(m_err: pl.DataFrame) -> Figure:
    figure, axes = _panels(3)
    for ax, celsius in zip(axes, (85.0, 55.0, 30.0), strict=True):
        for pec, colour in COLOURS.items():
            of = m_err.filter(pec=pec, celsius=celsius)
            ax.plot(
                of["months"].to_numpy(),
                of["m_err"].to_numpy(),
                f"{MARKERS[pec]}-",
                ms=4,
                color=colour,
                label=f"{pec:,} P/E",
            )
        _capability(ax)
        ax.set_title(f"{celsius:.0f} °C", fontsize="medium")
        ax.set_xlabel("retention age [months]")
        ax.set_ylim(0, 80)
    axes[0].set_ylabel("M_ERR [errors per KiB]\n(lower is better)")
    axes[0].legend(frameon=False, fontsize="small")
    return _titled(figure, "Most errors left in the last retry step, by wear, age of the data and temperature")


def _fig8(cuts: pl.DataFrame) -> Figure:
    figure, axes = _panels(3)
    for ax, phase in zip(axes, ("pre", "eval", "disch"), strict=True):
        for pec, colour in COLOURS.items():
            for months, style in ((0.0, "--"), (12.0, "-")):
                of = cuts.filter(pec=pec, months=months, celsius=85.0, phase=phase)
                label = f"{pec:,} P/E, {months:.0f} mo"
                ax.plot(
                    100 * of["cut"].to_numpy(),
                    of["added"].to_numpy(),
                    style,
                    marker=MARKERS[pec],
                    ms=3,
                    color=colour,
                    lw=1.2,
                    label=label,
                )
        ax.set_ylim(0, 100)
        ax.set_xlabel(f"cut of t{phase.upper()} [%]")
    axes[0].set_ylabel("errors added per KiB\n(lower is better)")
    axes[0].legend(frameon=False, fontsize="x-small")
    return _titled(figure, "Errors that cutting a phase of the sense adds, by wear and age of the data, at 85 °C")


def _fig9(both: pl.DataFrame) -> Figure:
    conditions = both.select("pec", "months").unique(maintain_order=True).rows()
    figure, axes = _panels(len(conditions), 2.7)
    for ax, (pec, months) in zip(axes, conditions, strict=True):
        of = both.filter(pec=pec, months=months)
        for disch in of["disch"].unique(maintain_order=True):
            line = of.filter(pl.col("disch") == disch)
            ax.plot(100 * line["pre"].to_numpy(), line["m_err"].to_numpy(), lw=1.2, label=f"{100 * disch:.0f} %")
        _capability(ax)
        ax.set_ylim(0, 80)
        ax.set_title(f"{pec:,} P/E, {months:.0f} months", fontsize="medium")
        ax.set_xlabel("cut of tPRE [%]")
    axes[0].set_ylabel("M_ERR [errors per KiB]\n(lower is better)")
    figure.legend(*axes[0].get_legend_handles_labels(), title="cut of tDISCH", loc="outside right upper", frameon=False)
    return _titled(figure, "Most errors where tPRE and tDISCH are cut together, by wear and age of the data")


def _fig10(cuts: pl.DataFrame) -> Figure:
    figure, axes = _panels(2)
    for ax, months in zip(axes, (0.0, 12.0), strict=True):
        for pec, colour in COLOURS.items():
            of = cuts.filter(pec=pec, months=months, phase="pre").pivot("celsius", index="cut", values="m_err")
            for celsius, style in (("55.0", "--"), ("30.0", "-")):
                line = (of[celsius] - of["85.0"]).to_numpy()
                ax.plot(
                    100 * of["cut"].to_numpy(),
                    line,
                    style,
                    marker=MARKERS[pec],
                    ms=3,
                    color=colour,
                    lw=1.2,
                    label=f"{pec:,} P/E, {celsius[:2]} °C",
                )
        ax.set_title(f"{months:.0f} months", fontsize="medium")
        ax.set_xlabel("cut of tPRE [%]")
    axes[0].set_ylabel("errors per KiB more than at 85 °C")
    axes[0].legend(frameon=False, fontsize="x-small")
    return _titled(figure, "Errors that a colder read adds where tPRE is cut, by wear and age of the data")


def _fig11(rpt: pl.DataFrame) -> Figure:
    figure, axes = _panels(1, 5.0)
    for pec in rpt["pec"].unique(maintain_order=True):
        of = rpt.filter(pl.col("pec") == pec)
        axes[0].plot(of["months"].to_numpy(), 100 * (1 - of["cut"].to_numpy()), "o-", ms=4, lw=1, label=f"{pec:,} P/E")
    axes[0].set_ylim(0, 100)
    axes[0].set_xlabel("retention age [months]")
    axes[0].set_ylabel("least tPRE [%] (lower is faster)")
    axes[0].legend(frameon=False, fontsize="small")
    return _titled(figure, "How short tPRE may be, by wear and age of the data")


def _styled(axes: Any) -> None:
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.3)


def _erase_times(times: pl.DataFrame, chip: Chip) -> Figure:
    figure = blank(6, 3.4)
    ax = figure.subplots()
    _styled([ax])
    for pec in (0, 1000, 2000, 3000, 4000, 5000):
        of = times.filter(pl.col("pec") == pec)
        share = of["blocks"].cum_sum() / of["blocks"].sum()
        ax.step(
            chip.grain_ms * of["grains"].to_numpy(), share.to_numpy(), where="post", marker=".", label=f"{pec:,} P/E"
        )
    for loop in range(1, loops_of(chip) + 1):
        ax.axvline(chip.grain_ms * grains_of(chip) * loop, color="#999999", lw=0.6, ls=":")
    ax.set_xlabel("minimum erase time [ms], pulses only")
    ax.set_ylabel("share of blocks")
    figure.legend(loc="outside right center", frameon=False, fontsize="small")
    return _titled(figure, "How long blocks must be erased at least, by wear (dotted: ends of loops)")


def _fail_ranges(ranges: pl.DataFrame, chip: Chip) -> Figure:
    import numpy as np

    loops_at_most, grains = loops_of(chip), grains_of(chip)
    figure = blank(14, 3.2)
    axes = figure.subplots(1, loops_at_most, sharey=True, squeeze=False)[0]
    for loops, ax in enumerate(axes, 1):
        of = ranges.filter(pl.col("loops") == loops)
        # The last column is beyond the EPT.
        grid = np.zeros((grains, len(ENDS) + 1))
        for row in of.iter_rows(named=True):
            grid[row["grains"] - 1, row["range"]] += row["blocks"]
        shown = len(ENDS) + int(grid[:, -1].any())
        sums = grid.sum(axis=0)
        share = (grid / np.where(sums > 0, sums, 1))[:, :shown]
        ax.imshow(share, origin="lower", cmap="Greys", vmin=0, vmax=1, aspect="auto")
        ax.set_xticks(range(shown), [*ENDS, "more"][:shown])
        ax.set_yticks(range(grains), [f"{chip.grain_ms * (grain + 1):g}" for grain in range(grains)])
        ax.set_title(f"N_ISPE = {loops}", fontsize="medium")
        ax.set_xlabel("fail bits before the last pulse, up to")
    axes[0].set_ylabel("minimum of the last pulse [ms]")
    return _titled(figure, "How long the last pulse must be, by the fail bits before it: share of blocks")


def _overview(tables: Mapping[str, pl.DataFrame], chip: Chip) -> Figure:
    requirement, loops = constant(chip, "erasing", "requirement"), range(1, loops_of(chip) + 1)
    figure = blank(13, 6.4)
    (fail, margin, life), (wordlines, gate, table) = figure.subplots(2, 3)
    _styled((fail, margin, life, wordlines, gate))
    bits = tables["fail_bits"]
    fail.plot(chip.grain_ms * bits["left"].to_numpy(), bits["fail_bits"].to_numpy(), "o-", ms=4)
    fail.set_xlabel("pulse still to go [ms]")
    fail.set_ylabel("fail bits (Fig. 15)")
    of = tables["fail_ranges"].group_by("loops").agg(pl.col("m_rber_max").max()).sort("loops")
    margin.bar(of["loops"].to_numpy(), of["m_rber_max"].to_numpy(), color="#4477aa")
    margin.axhline(requirement, color="#333333", lw=0.8, ls="--")
    margin.set_xlabel("N_ISPE")
    margin.set_ylabel("largest M_RBER (Fig. 17a)")
    lives = tables["life"]
    life.plot(lives["pec"].to_numpy(), lives["m_rber"].to_numpy(), label="mean of the blocks")
    life.plot(lives["pec"].to_numpy(), lives["m_rber_max"].to_numpy(), ls=":", label="worst block")
    life.axhline(requirement, color="#333333", lw=0.8, ls="--")
    life.set_ylim(0, 100)
    life.set_xlabel("P/E cycles, Baseline")
    life.set_ylabel("M_RBER (Fig. 21)")
    life.legend(frameon=False)
    speeds = tables["wordlines"]
    wordlines.plot(speeds["wordline"].to_numpy(), speeds["shift"].to_numpy())
    wordlines.set_xlabel("wordline")
    wordlines.set_ylabel("erase shift over the slowest's (Fig. 11)")
    gates = tables["gate"]
    gate.plot(gates["gate_v"].to_numpy(), gates["shift"].to_numpy(), "o-", ms=3)
    gate.set_xlabel("V_WG [V]")
    gate.set_ylabel("erase shift over that at 0 V (Fig. 18a)")
    table.axis("off")
    rows = tables["ept"].sort("loops", "range")
    cells = [
        [f"{row['t1_ms']:g}/{row['t2_ms']:g}" for row in rows.filter(pl.col("loops") == n).iter_rows(named=True)]
        for n in loops
    ]
    shown = table.table(
        cells,
        rowLabels=[f"N = {n}" for n in loops],
        colLabels=ENDS,
        loc="center",
    )
    shown.auto_set_font_size(False)
    shown.set_fontsize(8)
    table.set_title("EPT [ms] (Table 1)", fontsize="medium")
    return _titled(figure, "What erases of this chip are like (figures of electronics25)")
