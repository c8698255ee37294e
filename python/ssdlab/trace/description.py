"""What is in a trace, as numbers and as a figure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ssdlab.common.canvas import blank
from ssdlab.common.output import replacing
from ssdlab.runs.options import PathLike

if TYPE_CHECKING:
    from pathlib import Path

    import polars


APPEND = 4
"""The number of a zone append; those above are zone commands and updates of reclaim unit handles."""
WRITES = (1, APPEND)


def info(trace: polars.DataFrame, page: int = 4096) -> dict[str, Any]:
    """Describes a trace (a frame as :func:`read` gives it); pages of ``page`` bytes are what is touched.

    ``read_ratio`` is the share of reads among reads and writes; ``cold_read_ratio`` the share of reads none of whose
    pages the trace ever writes (asplos21 section 7.1, hpca24 section VI-A); ``sequential_ratio`` the share of
    requests that start where the one before them on the device ended; ``hot_1``, ``hot_10`` and ``hot_20`` the shares
    of accesses that go to the most accessed 1, 10 and 20 % of the touched pages. Memory grows with the pages touched.
    Appends are writes, but of no known address: what is said of pages is without them.
    """
    import polars as pl

    data = trace.filter(pl.col("op") < 2)
    read, written = trace.filter(op=0)["bytes"], trace.filter(pl.col("op").is_in(WRITES))["bytes"]
    reads, writes = read.len(), written.len()
    gaps = trace["time_ns"].diff().drop_nulls()
    duration = int(trace["time_ns"][-1] - trace["time_ns"][0]) if trace.height else 0
    ends = (pl.col("offset") + pl.col("bytes")).shift(1).over("device")
    sequential = data.select((pl.col("offset") == ends).fill_null(False).mean()).item() if data.height else None
    last = (pl.col("offset") + pl.col("bytes") - 1) // page
    spans = data.select("op", "device", page=pl.int_ranges(pl.col("offset") // page, last + 1))
    pages = spans.with_row_index("request").explode("page")
    counted = pages.group_by("device", "page").agg(
        reads=(pl.col("op") == 0).sum().cast(pl.Int64), writes=(pl.col("op") == 1).sum().cast(pl.Int64)
    )
    overwritten = counted.filter(pl.col("writes") > 0)
    warm = pages.filter(op=0).join(overwritten, on=["device", "page"], how="semi")["request"].n_unique()
    accesses = (counted["reads"] + counted["writes"]).sort(descending=True)

    def hot(share: float) -> float | None:
        top = max(1, round(accesses.len() * share))
        return int(accesses.head(top).sum()) / int(accesses.sum()) if accesses.len() else None

    def quantiles(values: pl.Series) -> dict[str, float | None]:
        known = values.len() > 0
        named = {"mean": float(values.mean()) if known else None}  # type: ignore[arg-type]
        for name, share in (("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)):
            named[name] = float(values.quantile(share, "lower")) if known else None  # type: ignore[arg-type]
        return named

    return {
        "requests": trace.height,
        "reads": reads,
        "writes": writes,
        "trims": trace.filter(op=2).height,
        "flushes": trace.filter(op=3).height,
        "others": trace.filter(pl.col("op") > APPEND).height,
        "devices": trace["device"].n_unique(),
        "read_ratio": reads / (reads + writes) if reads + writes else None,
        "cold_read_ratio": (reads - warm) / reads if reads else None,
        "duration_s": duration / 1e9,
        "iops": trace.height / (duration / 1e9) if duration else None,
        "bytes_read": int(read.sum()),
        "bytes_written": int(written.sum()),
        "size_read": quantiles(read),
        "size_written": quantiles(written),
        "gap_ns": quantiles(gaps),
        "footprint_bytes": counted.height * page,
        "footprint_read_bytes": counted.filter(pl.col("reads") > 0).height * page,
        "footprint_written_bytes": counted.filter(pl.col("writes") > 0).height * page,
        "highest_byte": int((data["offset"] + data["bytes"]).max()) if data.height else 0,  # type: ignore[arg-type]
        "sequential_ratio": sequential,
        "hot_1": hot(0.01),
        "hot_10": hot(0.10),
        "hot_20": hot(0.20),
    }


def plot(trace: polars.DataFrame, path: PathLike, title: str = "", page: int = 4096) -> Path:
    """Draws a trace: addresses over time, sizes, gaps, and how skewed its accesses are. Needs matplotlib."""
    from pathlib import Path

    import polars as pl

    figure = blank(11, 7)

    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axes = figure.subplots(2, 2)
    figure.suptitle(f"{title}: {trace.height:,} requests" if title else f"{trace.height:,} requests")
    # Of kinds that are many the points are small: what is rare lies above them.
    colours = {"reads": ("#4477aa", "-", 0), "writes": ("#ee6677", "--", 1)}
    shown = trace.sample(20_000, seed=1).sort("time_ns") if trace.height > 20_000 else trace
    ordered = sorted(colours.items(), key=lambda of: -trace.filter(op=of[1][2]).height)
    for name, (colour, dash, op) in ordered:
        part = shown.filter(op=op)
        axes[0, 0].plot(part["time_ns"] / 1e9, part["offset"] / 2**30, ".", ms=2, color=colour, label=name)
        sizes = trace.filter(op=op)["bytes"]
        if sizes.len():
            counts = sizes.value_counts(sort=True).sort("bytes")
            share = counts["count"].cum_sum() / sizes.len()
            axes[0, 1].step(counts["bytes"] / 1024, share, dash, where="post", color=colour, label=name)
    axes[0, 0].set(xlabel="time [s]", ylabel="address [GiB]")
    axes[0, 0].set_title("where requests go", loc="left")
    axes[0, 1].set(
        xlabel="size [KiB]", ylabel="share of requests up to it", title="sizes", xscale="log", ylim=(0, 1.02)
    )
    gaps = trace["time_ns"].diff().drop_nulls().sort() / 1e3
    if gaps.len():
        shares = [index / gaps.len() for index in range(1, gaps.len() + 1)]
        axes[1, 0].step(gaps.clip(lower_bound=1e-3), shares, where="post", color="#333333")
    axes[1, 0].set(
        xlabel="time between requests [µs]", ylabel="share of gaps up to it", title="gaps", xscale="log", ylim=(0, 1.02)
    )
    data = trace.filter(pl.col("op") < 2)
    last = (pl.col("offset") + pl.col("bytes") - 1) // page
    touched = data.select("op", "device", page=pl.int_ranges(pl.col("offset") // page, last + 1)).explode("page")
    accesses = touched.group_by("device", "page").len()["len"].sort(descending=True)
    if accesses.len():
        steps = max(1, accesses.len() // 2000)
        share = (accesses.cum_sum() / accesses.sum()).gather_every(steps)
        axes[1, 1].plot([100 * index * steps / accesses.len() for index in range(share.len())], share, color="#333333")
    axes[1, 1].set(
        xlabel="hottest pages [% of those touched]",
        ylabel="share of accesses",
        title="skew",
        xlim=(0, 100),
        ylim=(0, 1.02),
    )
    # Points are everywhere: their legend stands above them.
    axes[0, 0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, markerscale=4, frameon=False)
    axes[0, 1].legend(loc="best", frameon=False)
    for axis in axes.flat:
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in (axes[0, 1], axes[1, 0]):
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
    # Sizes are powers of two, more often than not.
    axes[0, 1].xaxis.set_major_locator(LogLocator(2.0, numticks=12))
    axes[0, 1].xaxis.set_minor_locator(NullLocator())
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, format=os.path.splitext(path)[1][1:] or None)
    return Path(path)
