"""Figures, on matplotlib: latency distributions, normalised bars, usage, heat maps, time series,
frame errors, lives of blocks, fronts of searches.

Every function draws on ``ax``, or on a figure of its own, and returns the figure; labels and units are those of the
statistics. :func:`save` writes PNG, SVG or PDF, the same bytes for the same figure.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ssdlab.common.canvas import blank
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.common.numbers import three_digits, value_text
from ssdlab.common.output import FIGURES, check_ending, replacing
from ssdlab.common.wording import axis_words, better, better_text, cause_words, scale_of, words
from ssdlab.runs.result import Result, Runs
from ssdlab.runs.title import title
from ssdlab.sweeps.comparison import GEOMEAN, Comparison

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ssdlab.searches.campaign import SearchResult

INK = "#333333"
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222255", "#225555", "#663333")
"""P. Tol's bright scheme, which the colour-blind can distinguish, and darker ones behind it."""


def _axes(ax: Axes | None, width: float = 7.0, height: float = 3.6) -> tuple[Figure, Axes]:
    if ax is not None:
        figure = ax.get_figure(root=True)
        assert figure is not None
        return figure, ax
    figure = blank(width, height)
    ax = figure.add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    return figure, ax


def _titled(figure: Figure, ax: Axes, text: str) -> None:
    """What a figure compares, above it; where it is drawn on an axis of another figure, above that axis."""
    if len(figure.axes) <= 2 and figure.get_suptitle() == "":
        figure.suptitle(text, fontsize="medium")
    else:
        ax.set_title(text, fontsize="medium")


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes a figure as PNG, SVG or PDF, by the path's ending."""
    import matplotlib as mpl

    path = os.fspath(path)
    check_ending("", path, FIGURES)
    ending = os.path.splitext(path)[1].lower()
    metadata = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[ending]
    with mpl.rc_context({"svg.hashsalt": "ssdlab"}), replacing(path) as temporary:
        figure.savefig(temporary, dpi=150, metadata=metadata, format=ending[1:])


def cdf(results: Mapping[str, Result], kind: Literal["read", "write"] = "read", *, ax: Axes | None = None) -> Figure:
    """The latency distributions of runs, on a scale of nines to p99.9999; a curve ends where ten samples lie beyond."""
    figure, ax = _axes(ax)
    for at, (colour, (name, result)) in enumerate(zip(_cycle(len(results)), results.items(), strict=True)):
        _curve(ax, result, kind, name, colour, DASHES[at % len(DASHES)])
    _nines(ax)
    ax.set_xlabel(f"{kind} latency [µs] (lower is better)")
    ax.legend(title="requests", frameon=False, fontsize="small")
    _titled(figure, ax, f"{kind.capitalize()} latency: which share of requests takes no longer")
    return figure


NINES = 6
MOST_NAMED_BARS = 60
"""Of more bars the groups have no room for the baseline's own value."""
DASHES = ("-", "--", "-.", ":")
HATCHES = ("", "//", "..", "xx", "\\\\", "--", "oo")
"""Lines and bars differ in grey print too."""


def _curve(ax: Axes, result: Result, kind: Literal["read", "write"], name: str, colour: str, dash: str = "-") -> None:
    """A latency distribution, as far as ten samples lie beyond."""
    import numpy as np

    points = result.latency_distribution(kind)
    count = int(result[f"host.{kind}.requests"])
    if count == 0:
        return
    beyond = 1.0 - points["share"].to_numpy()
    known = beyond >= 10.0 / count
    if not known.any():
        return
    nines = np.minimum(-np.log10(np.maximum(beyond[known], 1e-9)), NINES)
    latencies = points["latency_ns"].to_numpy()[known] / 1e3
    # From the first latency up: no request has a shorter one.
    ax.plot([latencies[0], *latencies], [0.0, *nines], label=f"{name} ({count:,})", color=colour, ls=dash)


def _nines(ax: Axes) -> None:
    """Axes of latency distributions."""
    from matplotlib.ticker import FuncFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.{0 if value >= 1.0 else 1}f}"))
    ax.set_ylim(0, NINES)
    ax.set_yticks(range(NINES + 1), ["0", "90", "99", "99.9", "99.99", "99.999", "99.9999"])
    ax.set_ylabel("share of requests [%]")
    ax.grid(alpha=0.3)


def overview(result: Result | Runs) -> Figure:
    """A run in a picture: the latency distributions of its reads and writes, and, where its time series is there, its
    bandwidth over time. Of repeats the distributions of all seeds."""
    figure, _ = _axes(None)
    figure.clear()
    results = [result] if isinstance(result, Result) else list(result)
    first = results[0]
    with_series = len(results) == 1 and first.has_series
    figure.set_size_inches(7.0, 6.4 if with_series else 3.6)
    axes = figure.subplots(2 if with_series else 1, squeeze=False)[:, 0]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    for one in results:
        _curve(axes[0], one, "read", "reads" if one is first else "_", COLOURS[0])
        _curve(axes[0], one, "write", "writes" if one is first else "_", COLOURS[1], "--")
    _nines(axes[0])
    axes[0].set_xlabel("latency [µs] (lower is better)")
    axes[0].legend(title="requests", frameon=False, fontsize="small")
    if with_series:
        _series(axes[1], first)
        axes[1].spines["top"].set_visible(False)
    seeds = "" if len(results) == 1 else f": {len(results)} seeds"
    figure.suptitle(f"{title(first)}{seeds}", fontsize="medium")
    return figure


def grouped(axes: Axes, table: polars.DataFrame, value: str, *, rows: str, by: str, unit: float = 1.0) -> None:
    """A column of a sweep's table as horizontal bars: a group for each label of the axis ``rows``, a bar for each of
    the axis ``by``; means over what else differs, in ``unit``, with 95 % confidence intervals."""
    names, labels = (table[axis].unique(maintain_order=True).to_list() for axis in (rows, by))
    width = 0.8 / len(labels)
    for place, label in enumerate(labels):
        cases = [table.filter(**{rows: name, by: label})[value].drop_nulls().to_list() for name in names]
        found = [mean_and_half_width(of) if of else (None, None) for of in cases]
        means, errors = ([(part or 0.0) / unit for part in parts] for parts in zip(*found, strict=True))
        axes.barh([row + width * place for row in range(len(names))], means, width, xerr=errors, label=label)
    axes.set_yticks([row + 0.4 - width / 2 for row in range(len(names))], names)
    axes.grid(alpha=0.3, axis="x")


def bars(*comparisons: Comparison, ax: Axes | None = None) -> Figure:
    """Comparisons as bars over the baseline, a group for each row, with 95 % confidence intervals; those of several
    metrics one below the other, on a figure of their own."""
    shown = [_compared(comparison) for comparison in comparisons]
    groups = max(
        len(comparison.rows) * (len(schemes) + 1.5) for comparison, schemes in zip(comparisons, shown, strict=True)
    )
    figure, first = _axes(ax, max(7.0, 0.16 * groups), 3.6 if len(comparisons) == 1 else 2.6 * len(comparisons))
    axes = [first]
    if len(comparisons) > 1:
        figure.clear()
        axes = list(figure.subplots(len(comparisons), sharex=True))
    for one, comparison, schemes in zip(axes, comparisons, shown, strict=True):
        one.spines[["top", "right"]].set_visible(False)
        _bars(one, comparison, schemes)
    rows = list(comparisons[0].rows)
    slanted = max(len(row) for row in rows) > 6 and len(rows) > 3
    axes[-1].set_xticks(range(len(rows)), rows, rotation=30 if slanted else 0, ha="right" if slanted else "center")
    figure.legend(
        *axes[0].get_legend_handles_labels(), ncols=min(6, len(shown[0])), loc="outside lower center", frameon=False
    )
    if ax is None:
        first_one = comparisons[0]
        others = {comparison.baseline for comparison in comparisons}
        beside = first_one.baseline if len(others) == 1 else "the baseline"
        text = f"What each {first_one.by} changes: its value as a multiple of {beside}'s (= 1)"
        figure.suptitle(text, fontsize="medium")
    return figure


def _compared(comparison: Comparison) -> list[str]:
    """The schemes of which there is something to draw."""
    rows = comparison.rows.values()
    return [scheme for scheme in comparison.schemes if any(cells[scheme].ratio.mean is not None for cells in rows)]


def _bars(ax: Axes, comparison: Comparison, schemes: Sequence[str]) -> None:
    rows = comparison.rows
    step = 0.8 / max(1, len(schemes))
    for index, (colour, scheme) in enumerate(zip(_cycle(len(schemes)), schemes, strict=True)):
        ratios = [cells[scheme].ratio for cells in rows.values()]
        positions = [row + (index - (len(schemes) - 1) / 2) * step for row in range(len(rows))]
        heights, errors = [ratio.mean or 0.0 for ratio in ratios], [ratio.half_width or 0.0 for ratio in ratios]
        error = {"lw": 0.8}
        ax.bar(
            positions,
            heights,
            step * 0.92,
            yerr=errors,
            label=scheme,
            color=colour,
            hatch=HATCHES[index % len(HATCHES)],
            edgecolor="white",
            ecolor=INK,
            error_kw=error,
        )
    ax.axhline(1.0, color=INK, lw=0.6)
    _absolute(ax, comparison, len(schemes))
    if GEOMEAN in rows:
        ax.axvline(len(rows) - 1.5, color=INK, lw=0.6, ls=":")
    ends = f"\n({better(comparison.metric)} is better)" if better(comparison.metric) else ""
    ax.set_ylabel(f"{words(comparison.metric)}\nover {comparison.baseline}'s{ends}", fontsize="small")
    ax.grid(axis="y", alpha=0.3)
    ax.set_axisbelow(True)


def _absolute(ax: Axes, comparison: Comparison, schemes: int) -> None:
    """The baseline's own value above each group of bars: ratios alone have no scale."""
    groups = len(comparison.rows)
    if groups * schemes > MOST_NAMED_BARS or comparison.baseline not in comparison.schemes:
        return
    for place, (row, cells) in enumerate(comparison.rows.items()):
        mean = cells[comparison.baseline].value.mean
        if row != GEOMEAN and mean is not None:
            value = value_text(comparison.metric, mean)
            # Many groups leave no room for the name, which stands beside the axis.
            text = value if len(comparison.rows) > 5 else f"{comparison.baseline} = {value}"
            ax.annotate(
                text,
                (place, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 1),
                textcoords="offset points",
                ha="center",
                fontsize="x-small",
                color=INK,
            )


def usage(results: Mapping[str, Result], of: Literal["die", "channel"] = "die", *, ax: Axes | None = None) -> Figure:
    """Where the time of dies or channels went, stacked to 100 %, a bar for each run."""
    figure, ax = _axes(ax)
    shares = {name: dict(result[f"usage.{of}"]) for name, result in results.items()}
    causes = list(next(iter(shares.values()), {}))
    left = [0.0] * len(shares)
    ordered = sorted(causes, key=lambda cause: cause == "idle")
    for place, (colour, cause) in enumerate(zip(_cycle(len(causes)), ordered, strict=True)):
        values = [share[cause] or 0.0 for share in shares.values()]
        colour = "#e5e5e5" if cause == "idle" else colour
        hatch = "" if cause == "idle" else HATCHES[place % len(HATCHES)]
        ax.barh(
            list(shares),
            values,
            left=left,
            label=cause_words(cause),
            color=colour,
            height=0.7,
            hatch=hatch,
            edgecolor="white",
        )
        left = [a + b for a, b in zip(left, values, strict=True)]
    ax.set_xlim(0, 100)
    ax.invert_yaxis()
    ax.set_xlabel(f"share of a {of}'s time [%]")
    figure.legend(*ax.get_legend_handles_labels(), ncols=min(6, len(causes)), loc="outside lower center", frameon=False)
    _titled(figure, ax, f"What {of}s did, share of their time")
    return figure


def heatmap(table: polars.DataFrame, x: str, y: str, value: str, *, unit: str = "", ax: Axes | None = None) -> Figure:
    """The mean of a column over two others, such as P/E cycles and retention; every cell shows its number. Of a sweep's
    table the title says over which further axes the mean is; a star stands in cells of cases that comparisons leave out
    for their warnings."""
    figure, ax = _axes(ax, 6.4, 4.2)
    import numpy as np
    import polars

    columns, rows = (list(table[axis].unique(maintain_order=True)) for axis in (x, y))
    grid = np.full((len(rows), len(columns)), np.nan)
    for *point, mean in table.group_by(x, y, maintain_order=True).agg(polars.col(value).mean()).iter_rows():
        grid[rows.index(point[1]), columns.index(point[0])] = np.nan if mean is None else mean
    scale, label = (1.0, f"{value} [{unit}]") if unit else scale_of(value, float(np.nanmax([*grid.flat, 0.0])))
    others, doubtful = _beside(table, x, y, value)
    grid /= scale
    shown = ax.imshow(grid, aspect="auto", origin="lower", cmap="viridis")
    middle = (np.nanmin(grid) + np.nanmax(grid)) / 2 if not np.isnan(grid).all() else 0.0
    for row in range(len(rows)):
        for column in range(len(columns)):
            if not np.isnan(grid[row, column]):
                number = grid[row, column]
                colour = "white" if number < middle else "black"
                text = three_digits(number) + ("*" if (rows[row], columns[column]) in doubtful else "")
                ax.text(column, row, text, ha="center", va="center", color=colour, fontsize="small")
    ax.set_xticks(range(len(columns)), [str(label) for label in columns])
    ax.set_yticks(range(len(rows)), [str(label) for label in rows])
    ax.set_xlabel(axis_words(x))
    ax.set_ylabel(axis_words(y))
    figure.colorbar(shown, ax=ax, label=label + better_text(value))
    name = words(value)
    over = f"; mean over {' and '.join(map(axis_words, others))}" if others else ""
    over += "; * warnings put it in doubt" if doubtful else ""
    _titled(figure, ax, f"{name[0].upper()}{name[1:]}, by {axis_words(x)} and {axis_words(y)}{over}")
    return figure


def _beside(table: polars.DataFrame, x: str, y: str, value: str) -> tuple[list[str], set[tuple[object, object]]]:
    """Of a sweep's table the other axes that vary, and the places (y, x) of cases that warnings put in doubt."""
    from ssdlab.runs.findings import excluded_by
    from ssdlab.sweeps.table import WARNINGS, axes_of

    axes = axes_of(table) if "case" in table.columns else []
    others = [axis for axis in axes if axis not in (x, y, "seed") and table[axis].n_unique() > 1]
    if WARNINGS not in table.columns:
        return others, set()
    lines = table.select(y, x, value, WARNINGS).iter_rows()
    return others, {(row, column) for row, column, at, ids in lines if at is not None and excluded_by(ids)}


def series(result: Result, *, ax: Axes | None = None) -> Figure:
    """Bandwidth of reads and writes over the time of a run, and how many requests were under way."""
    figure, ax = _axes(ax)
    _series(ax, result)
    _titled(figure, ax, "Bandwidth and outstanding requests over time")
    return figure


def _series(ax: Axes, result: Result) -> None:
    import numpy as np

    rows = _coarse(result.series)
    ends = rows["time_ns"].to_numpy() / 1e9
    lengths = np.diff(ends, prepend=0.0)
    lengths[lengths <= 0] = np.nan
    for name, colour, dash in (("read", COLOURS[0], "-"), ("write", COLOURS[1], "--")):
        ax.plot(ends, rows[f"{name}_bytes"].to_numpy() / lengths / 1e6, dash, color=colour, label=f"{name}s", lw=1)
    ax.set_xlabel("simulated time [s]")
    ax.set_ylabel("bandwidth [MB/s]")
    ax.set_ylim(bottom=0)
    other = ax.twinx()
    other.plot(ends, rows["outstanding"].to_numpy(), color="#999999", lw=0.8, ls=":", label="outstanding")
    other.set_ylabel("outstanding requests")
    other.set_ylim(bottom=0)
    other.spines["top"].set_visible(False)
    handles, labels = ax.get_legend_handles_labels()
    more, names = other.get_legend_handles_labels()
    ax.legend(handles + more, labels + names, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)


MOST_INTERVALS = 300
"""The most intervals of a time series that are drawn: more are noise at this width."""


def _coarse(rows: polars.DataFrame) -> polars.DataFrame:
    """A time series with several intervals taken together."""
    import polars

    together = -(-rows.height // MOST_INTERVALS)
    return (
        rows.with_row_index("row")
        .group_by(polars.col("row") // together, maintain_order=True)
        .agg(
            polars.col("time_ns").last(),
            polars.col("read_bytes", "write_bytes").sum(),
            polars.col("outstanding").mean(),
        )
    )


def frame_errors(table: polars.DataFrame, *, ax: Axes | None = None) -> Figure:
    """Frame-error rate with its 95 % interval, and mean iterations, over RBER (hpca24 Fig. 3), of a table of
    :func:`ssdlab.chip.ecc.simulate`. Where no word failed, a triangle stands at the interval's upper end."""
    figure, ax = _axes(ax)
    import polars

    failed, fine = table.filter(polars.col("failures") > 0), table.filter(polars.col("failures") == 0)
    rber, rate = failed["rber"].to_numpy(), failed["fer"].to_numpy()
    interval = (rate - failed["fer_low"].to_numpy(), failed["fer_high"].to_numpy() - rate)
    ax.errorbar(rber, rate, interval, fmt="o-", ms=4, lw=1, capsize=2, color=COLOURS[0], label="frame-error rate")
    if fine.height:
        bounds = fine["fer_high"].to_numpy()
        ax.plot(fine["rber"].to_numpy(), bounds, "v", ms=5, mfc="none", color=COLOURS[0], label="below (no failure)")
    ax.set_yscale("log")
    ax.set_ylim(top=2.0)
    ax.set_xlabel("raw bit error rate")
    ax.set_ylabel("frame-error rate, 95 % interval\n(lower is better)")
    ax.grid(alpha=0.3)
    other = ax.twinx()
    rber, iterations = table["rber"].to_numpy(), table["iterations"].to_numpy()
    other.plot(rber, iterations, "s--", ms=3, lw=1, color=COLOURS[1], label="iterations")
    other.set_ylabel("mean iterations")
    other.set_ylim(bottom=0)
    handles, labels = ax.get_legend_handles_labels()
    more, names = other.get_legend_handles_labels()
    figure.legend(handles + more, labels + names, ncols=3, loc="outside lower center", frameon=False)
    _titled(figure, ax, "The code: how often decoding fails, and how long it takes, as errors grow")
    return figure


def _cycle(count: int) -> Sequence[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(count)]


def lives(table: polars.DataFrame, requirement: float, *, ax: Axes | None = None) -> Figure:
    """Mean M_RBER over P/E cycles under erase schemes (electronics25 Fig. 21), of a table of
    :func:`ssdlab.chip.lifetime.cycle`."""
    figure, ax = _axes(ax)
    names = list(table["scheme"].unique(maintain_order=True))
    for at, (colour, name) in enumerate(zip(_cycle(len(names)), names, strict=True)):
        of = table.filter(scheme=name)
        ax.plot(of["pec"].to_list(), of["m_rber"].to_list(), color=colour, ls=DASHES[at % len(DASHES)], label=name)
    ax.axhline(requirement, color=INK, lw=0.8, ls=":")
    ax.annotate(
        "end of life", (0.01, requirement), xycoords=("axes fraction", "data"), va="bottom", fontsize="small", color=INK
    )
    ax.set_ylim(0, 1.6 * requirement)
    ax.set_xlabel("P/E cycles")
    ax.set_ylabel("errors per KiB of the worst page\n(lower is better)")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    _titled(figure, ax, "Errors as blocks are cycled, by erase scheme")
    return figure


def front(found: SearchResult, *, ax: Axes | None = None) -> Figure:
    """The front of a search over its first two objectives, by the seeds of the verification with 95 % intervals; beside
    it the other candidates that were played at full length. Only one objective: over the candidates' numbers."""
    figure, ax = _axes(ax, 6.4, 4.4)
    y, *others = (each.name for each in found.search.objectives)
    x = others[0] if others else "candidate"
    (x_unit, x_label), (y_unit, y_label) = (_unit_of(found, name) for name in (x, y))
    states = (("behind", "surely behind", COLOURS[0], "x"), ("near", "not surely behind", COLOURS[3], "s"))
    for state, label, colour, marker in states:
        table = found.candidates.filter(state=state)
        if table.height:
            ax.plot(table[x] / x_unit, table[y] / y_unit, marker, ms=4, color=colour, label=label)
    shown = found.front.sort(x)
    ax.errorbar(
        shown[x].to_numpy() / x_unit,
        shown[y].to_numpy() / y_unit,
        yerr=shown[f"{y}_ci95"].to_numpy() / y_unit,
        xerr=None if x == "candidate" else shown[f"{x}_ci95"].to_numpy() / x_unit,
        fmt="o",
        ms=6,
        elinewidth=1,
        capsize=2,
        color=COLOURS[1],
        label="front, new seeds",
    )
    places = [
        (number, (at / x_unit, up / y_unit))
        for number, at, up in shown.select("candidate", x, y).drop_nulls().iter_rows()
    ]
    for numbers, at in _close_together(ax, places):
        ax.annotate(numbers, at, xytext=(5, 5), textcoords="offset points", fontsize="small", color=INK)
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    ax.grid(alpha=0.3)
    figure.legend(*ax.get_legend_handles_labels(), ncols=4, loc="outside lower center", frameon=False)
    count = f"{found.front.height} of {found.candidates.height} configurations"
    _titled(figure, ax, f"{count} are not surely beaten by any other (numbers: candidates)")
    return figure


def _close_together(
    ax: Axes, places: Sequence[tuple[int, tuple[float, float]]]
) -> list[tuple[str, tuple[float, float]]]:
    """Labels of points: those of points that lie on each other in one."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    found: list[tuple[list[int], tuple[float, float]]] = []
    for number, at in places:

        def is_near(other: tuple[float, float], at: tuple[float, float] = at) -> bool:
            return abs(other[0] - at[0]) < 0.03 * (right - left) and abs(other[1] - at[1]) < 0.03 * (top - bottom)

        group = next((group for group, other in found if is_near(other)), None)
        if group is None:
            found.append(([number], at))
        else:
            group.append(number)
    return [(", ".join(map(str, group)), at) for group, at in found]


def _unit_of(found: SearchResult, name: str) -> tuple[float, str]:
    """What an objective is shown in, and its label: latencies in the unit that fits the largest of the front."""
    statistics = {each.name: each.statistic for each in found.search.objectives}
    goals = {each.name: "higher" if each.goal == "max" else "lower" for each in found.search.objectives}
    goal = f" ({goals[name]} is better)" if name in goals else ""
    if statistics.get(name) == name:
        most = max((value for value in found.front[name] if value is not None), default=0.0)
        unit, label = scale_of(name, most)
        return unit, label + goal
    if "_ns" not in statistics.get(name, ""):
        return 1.0, name + goal
    most = max((value for value in found.front[name] if value is not None), default=0.0)
    unit, text = next(
        (unit, text) for unit, text in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if most >= unit or unit == 1e3
    )
    return unit, f"{name} [{text}]{goal}"
