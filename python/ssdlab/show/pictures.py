"""Pictures of a sweep's table: lines over an axis of numbers, bars over one of names, a heat map over two axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab._core import InputError
from ssdlab.common.confidence import mean_and_half_width
from ssdlab.common.numbers import SIZES, TIMES, number_text, three_digits
from ssdlab.common.wording import axis_words, better_text, scale_of, words
from ssdlab.runs.findings import excluded_by
from ssdlab.sweeps.table import WARNINGS, axes_of, statistics_of

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""Of lines, which then differ in grey print too."""
WIDE = 20.0
"""Values whose ends differ by this factor are drawn on a logarithmic scale."""


class Point(NamedTuple):
    """What is drawn at a place of an axis."""

    mean: float
    half: float | None
    """Half of the 95 % confidence interval over seeds."""
    doubtful: bool
    """Whether a case carries a warning for which comparisons leave it out."""


def sweep(table: polars.DataFrame, x: str, y: str, series: str | None = None) -> Figure:
    """A statistic of a sweep over one of its axes: lines where the axis is of numbers, bars where it is of names, with
    95 % confidence intervals over seeds. Where ``x`` and ``y`` are both axes, a heat map of the statistic ``series``.

    Args:
        table: what :func:`ssdlab.sweep` gives.
        x: an axis.
        y: a statistic, or for a heat map a second axis.
        series: the axis (or several with a + between) whose labels are a line each; all others if not given. Over axes
            that are not named the mean is drawn, and the title says so.

    Raises:
        InputError: there is no such axis or statistic.
    """
    axes = axes_of(table)
    check(axes, statistics_of(table), x, y, series)
    if y in axes and series is not None:
        return _heatmap(table, x, y, series)
    vary = [axis for axis in axes if axis not in (x, "seed") and table[axis].n_unique() > 1]
    by = vary if series is None else series.split("+")
    others = [axis for axis in vary if axis not in by]
    places = table[x].unique(maintain_order=True).to_list()
    numbers = numbers_of(places)
    if numbers is not None:
        places = [place for _, place in sorted(zip(numbers, places, strict=True), key=lambda pair: pair[0])]
        numbers = sorted(numbers)
    lines = _lines(table, x, y, by, places)
    if not any(line for line in lines.values()):
        raise InputError(f"{y}: no case has a value\n  help: see which failed, or name another statistic")
    return _drawn(lines, x, y, by, others, places, numbers)


def check(axes: Sequence[str], statistics: Sequence[str], x: str, y: str, series: str | None = None) -> None:
    """Refuses a picture (:func:`sweep`) of a table that has no such axes or statistics.

    Raises:
        InputError: it has not.
    """
    _known(x, axes, "axis")
    if y not in axes:
        _known(y, statistics, "axis or statistic")
        for name in series.split("+") if series is not None else ():
            _known(name, axes, "axis")
    elif series is None:
        raise InputError(f"{x},{y}: two axes make a heat map\n  help: name what it shows: {x},{y},STATISTIC")
    else:
        _known(series, statistics, "statistic")


def _known(name: str, known: Sequence[str], what: str) -> None:
    if name not in known:
        from difflib import get_close_matches

        near = get_close_matches(name, known, 1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known[:12])}"
        raise InputError(f"{name}: there is no such {what} in the table\n  help: {hint}")


def numbers_of(labels: Sequence[object]) -> list[float] | None:
    """The labels of an axis as numbers: 16, "16", "4KiB", "200us", "closed:16"; None where they are names."""
    found = [_number(label) for label in labels]
    kinds = {kind for _, kind in found}
    if len(labels) < 2 or len(kinds) > 1 or any(number is None for number, _ in found):
        return None
    return [number for number, _ in found if number is not None]


def _number(label: object) -> tuple[float | None, str]:
    if isinstance(label, int | float) and not isinstance(label, bool):
        return float(label), ""
    kind, colon, text = str(label).rpartition(":")
    digits = text.rstrip("BkKMGTinumsx")
    ending = text[len(digits) :]
    scale = {**SIZES, **TIMES}.get(ending, 1 if ending == "" else None)
    try:
        number = float(digits)
    except ValueError:
        return None, ""
    if scale is None or not math.isfinite(number):
        return None, ""
    return number * scale, kind + colon + ("B" if ending in SIZES else "s" if ending in TIMES else "")


def _lines(
    table: polars.DataFrame, x: str, y: str, by: Sequence[str], places: Sequence[object]
) -> dict[str, dict[int, Point]]:
    """By the label of a line, the points by their place on the axis."""
    lines: dict[str, dict[int, dict[Any, list[float]]]] = {}
    doubtful: set[tuple[str, int]] = set()
    for row in table.iter_rows(named=True):
        if row[y] is None:
            continue
        label, place = ", ".join(str(row[axis]) for axis in by), places.index(row[x])
        lines.setdefault(label, {}).setdefault(place, {}).setdefault(row.get("seed"), []).append(row[y])
        if excluded_by(row.get(WARNINGS)):
            doubtful.add((label, place))
    return {
        label: {
            place: Point(*_mean([math.fsum(of) / len(of) for of in seeds.values()]), (label, place) in doubtful)
            for place, seeds in of_line.items()
        }
        for label, of_line in lines.items()
    }


def _mean(values: list[float]) -> tuple[float, float | None]:
    mean, half = mean_and_half_width(values)
    assert mean is not None, "Invariant: a place has a value"
    return mean, half


def _drawn(
    lines: dict[str, dict[int, Point]],
    x: str,
    y: str,
    by: Sequence[str],
    others: Sequence[str],
    places: Sequence[object],
    numbers: list[float] | None,
) -> Figure:
    from ssdlab.show.plot import INK, _axes

    points = [point for line in lines.values() for point in line.values()]
    scale, label = scale_of(y, max(point.mean for point in points))
    figure, ax = _axes(None, 7.0 if numbers else max(7.0, 0.22 * len(places) * (len(lines) + 1)), 4.2)
    if numbers is not None:
        _draw_lines(ax, lines, numbers, places, scale)
        low = min(point.mean for point in points)
        if low > 0 and max(point.mean for point in points) >= WIDE * low:
            ax.set_yscale("log")
            plain_ticks(ax.yaxis)
        else:
            ax.set_ylim(bottom=0)
    else:
        _draw_bars(ax, lines, places, scale)
    ax.set_xlabel(axis_words(x))
    ax.set_ylabel(label + better_text(y))
    ax.grid(alpha=0.3, axis="both" if numbers is not None else "y")
    ax.set_axisbelow(True)
    name = words(y)
    title = f"{name[0].upper()}{name[1:]}, by {axis_words(x).partition(' [')[0]}"
    title += f" and {', '.join(axis_words(axis).partition(' [')[0] for axis in by)}" if by else ""
    title += f"; mean over {', '.join(others)}" if others else ""
    figure.suptitle(title, fontsize="medium")
    if len(lines) > 1:
        figure.legend(
            *ax.get_legend_handles_labels(),
            title=", ".join(map(axis_words, by)),
            ncols=min(4, len(lines)),
            loc="outside lower center",
            frameon=False,
        )
    notes = []
    if any(point.half for point in points):
        notes.append(
            "band: 95 % confidence interval over seeds"
            if numbers
            else "error bars: 95 % confidence interval over seeds"
        )
    if any(point.doubtful for point in points):
        notes.append("hollow: carries a warning" if numbers else "pale: carries a warning")
    if notes:
        ax.set_title("; ".join(notes), fontsize="x-small", color=INK, loc="right")
    return figure


def _draw_lines(
    ax: Axes, lines: dict[str, dict[int, Point]], numbers: list[float], places: Sequence[object], scale: float
) -> None:
    from ssdlab.show.plot import COLOURS, DASHES

    for at, (name, line) in enumerate(lines.items()):
        order = sorted(line)
        colour, marker = COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)]
        xs, ys = [numbers[place] for place in order], [line[place].mean / scale for place in order]
        ax.plot(xs, ys, color=colour, ls=DASHES[at % len(DASHES)], marker=marker, ms=5, lw=1.5, label=name)
        halves = [(line[place].half or 0.0) / scale for place in order]
        if any(halves):
            low, high = ([y + sign * half for y, half in zip(ys, halves, strict=True)] for sign in (-1, 1))
            ax.fill_between(xs, low, high, color=colour, alpha=0.2, lw=0)
        doubtful = [number for number, place in enumerate(order) if line[place].doubtful]
        ax.plot([xs[n] for n in doubtful], [ys[n] for n in doubtful], marker, ms=5, mfc="white", mec=colour, label="_")
    if numbers[0] > 0 and numbers[-1] >= WIDE * numbers[0]:
        ax.set_xscale("log")
    shown = _apart(numbers, logarithmic=ax.get_xscale() == "log")
    ax.set_xticks([numbers[at] for at in shown], [_label(places[at]) for at in shown], minor=False)
    ax.xaxis.set_minor_locator(_no_ticks())


def _label(place: object) -> str:
    return number_text(place) if isinstance(place, int | float) else str(place)


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def plain_ticks(axis: Any) -> None:
    """Ticks of a logarithmic axis as plain numbers, at 1, 2 and 5."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(10.0, (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def _apart(numbers: list[float], *, logarithmic: bool) -> list[int]:
    """The numbers that have room for a label, the last among them."""
    at = [math.log(number) for number in numbers] if logarithmic else numbers
    least = (at[-1] - at[0]) / 14
    shown = [len(at) - 1]
    for place in range(len(at) - 2, -1, -1):
        if at[shown[-1]] - at[place] >= least:
            shown.append(place)
    return shown[::-1]


def _draw_bars(ax: Axes, lines: dict[str, dict[int, Point]], places: Sequence[object], scale: float) -> None:
    from ssdlab.show.plot import COLOURS, HATCHES, INK

    step = 0.8 / len(lines)
    for at, (name, line) in enumerate(lines.items()):
        order = sorted(line)
        xs = [place + (at - (len(lines) - 1) / 2) * step for place in order]
        ys = [line[place].mean / scale for place in order]
        halves = [(line[place].half or 0.0) / scale for place in order]
        drawn = ax.bar(
            xs,
            ys,
            step * 0.92,
            yerr=halves if any(halves) else None,
            label=name,
            color=COLOURS[at % len(COLOURS)],
            hatch=HATCHES[at % len(HATCHES)] if len(lines) > 1 else "",
            edgecolor="white",
            ecolor=INK,
            error_kw={"lw": 0.8},
        )
        for bar, place in zip(drawn, order, strict=True):
            if line[place].doubtful:
                bar.set_alpha(0.45)
            if len(places) * len(lines) <= 12:
                height = bar.get_height()
                ax.annotate(
                    three_digits(height),
                    (bar.get_x() + bar.get_width() / 2, height + (line[place].half or 0.0) / scale),
                    ha="center",
                    va="bottom",
                    fontsize="small",
                    color=INK,
                )
    long = max(len(str(place)) for place in places) > 10 and len(places) > 3
    ax.set_xticks(
        range(len(places)), list(map(str, places)), rotation=25 if long else 0, ha="right" if long else "center"
    )


def _heatmap(table: polars.DataFrame, x: str, y: str, value: str) -> Figure:
    from ssdlab.show.plot import heatmap

    for axis in (x, y):
        labels = table[axis].unique(maintain_order=True).to_list()
        numbers = numbers_of(labels)
        if numbers is not None:
            order = dict(zip(labels, numbers, strict=True))
            table = table.sort(table[axis].replace_strict(order, default=None), maintain_order=True)
    return heatmap(table, x, y, value)
