"""Figures as the papers have them: their schemes' names, published values beside the bars, and small SVG files."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ssdlab._core import InputError
from ssdlab.show.plot import COLOURS, INK
from ssdlab.study.paper import BEGIN, END, replaced, section

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ssdlab.study.folder import Study

NAMES = {
    "fifo": "FIFO",
    "rps": "RPS",
    "per": "PER",
    "pe0": "PE0",
    "pes-ips": "PES_IPS",
    "pes-ipc": "PES_IPC",
    "baseline": "Baseline",
    "pr2": "PR²",
    "ar2": "AR²",
    "pnar2": "PnAR²",
    "norr": "NoRR",
    "pso": "PSO",
    "pso-pnar2": "PSO+PnAR²",
    "ssd-one": "SSDone",
    "ssd-zero": "SSDzero",
    "senc": "SENC",
    "swr": "SWR",
    "swr-plus": "SWR+",
    "rpssd": "RPSSD",
    "rif": "RiFSSD",
    "ispe": "Baseline",
    "i-ispe": "i-ISPE",
    "dpes": "DPES",
    "reo-minus": "REO−",
    "reo": "REO",
    "reo-plus": "REO+",
}
"""The schemes' names in their papers."""
PUBLISHED = "published"


def names(schemes: Sequence[str]) -> list[str]:
    """What the papers call these schemes."""
    return [NAMES.get(scheme, scheme) for scheme in schemes]


def groups(
    axes: Axes,
    labels: Sequence[str],
    bars: Mapping[str, Sequence[float]],
    published: Mapping[tuple[str, str], float] | None = None,
    errors: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Groups of bars side by side, a bar for each scheme (under its paper's name), and a mark at what was published of
    (scheme, label)."""
    width = 0.8 / len(bars)
    marked = published or {}
    for index, (scheme, heights) in enumerate(bars.items()):
        places = [place - 0.4 + width * (index + 0.5) for place in range(len(labels))]
        axes.bar(
            places,
            heights,
            width,
            yerr=errors[scheme] if errors else None,
            label=NAMES.get(scheme, scheme),
            color=COLOURS[index % len(COLOURS)],
            error_kw={"elinewidth": 0.7},
        )
        at = [
            (place, marked[scheme, label])
            for place, label in zip(places, labels, strict=True)
            if (scheme, label) in marked
        ]
        if at:
            axes.plot(*zip(*at, strict=True), "D", ms=4.5, mfc="white", mec=INK, ls="none", label=f"_{PUBLISHED}")
    axes.set_xticks(range(len(labels)), labels)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend(figure: Figure, axes: Axes, marks: bool = True, columns: int = 7) -> None:
    """One legend below all panels; with ``marks`` what the marks are."""
    from matplotlib.lines import Line2D

    handles, labels = axes.get_legend_handles_labels()
    if marks:
        handles = [*handles, Line2D([], [], marker="D", ms=4.5, mfc="white", mec=INK, ls="none")]
        labels = [*labels, PUBLISHED]
    figure.legend(handles, labels, ncols=min(columns, len(labels)), loc="outside lower center", frameon=False)


def svg(figure: Figure) -> str:
    """A figure as SVG whose text stays text, without what makes two files of the same picture differ."""
    import matplotlib as mpl

    buffer = io.StringIO()
    # Verdana is as wide as the font that the layout is made for; most others are narrower.
    fonts = ["DejaVu Sans", "Verdana"]
    with mpl.rc_context({"svg.hashsalt": "ssdlab", "svg.fonttype": "none", "font.sans-serif": fonts}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor="white")
    return _smaller(buffer.getvalue())


def files(study: Study, results: Path | None = None) -> dict[Path, str]:
    """What ``ssdlab study figures`` writes of a study: the paper's figures that are drawn, and its README with them.

    Raises:
        InputError: the README has no place for them, or a figure is named that ``study.py`` does not draw.
    """
    shown = study.paper
    drawings = study.figures(results) if shown else {}
    written: dict[Path, str] = {}
    for each in shown:
        if each.drawn and each.drawn not in drawings:
            raise InputError(f"{study.id}: {each.label}: {each.drawn} is none of its drawings: {', '.join(drawings)}")
        if each.drawn:
            written[study.folder / "figures" / f"{each.drawn}.svg"] = svg(drawings[each.drawn])
    readme = study.folder / "README.md"
    if shown:
        text = replaced(readme.read_text(encoding="utf-8"), section(shown, study.verdicts(results)))
        if text is None:
            raise InputError(f"{readme}: has no place for figures\n  help: add the lines {BEGIN} and {END}")
        written[readme] = text
    return written


FONT = "font-family:'DejaVu Sans', 'Verdana', sans-serif"


def _smaller(text: str) -> str:
    """Coordinates to a hundredth of a point, and nothing said twice."""
    text = re.sub(r'="[^"]*"', lambda found: re.sub(r"-?\d+\.\d{3,}", _rounded, found[0]), text)
    text = re.sub(r"\n\s*", "\n", text)
    text = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", text)
    text = re.sub(r'<g id="[^"]*">', "<g>", text)
    text = re.sub(r'style="[^"]*"', lambda found: found[0].replace(": ", ":").replace("; ", ";"), text)
    text = text.replace(FONT + ";", "").replace(";" + FONT, "").replace('<style type="text/css">*{', f"{_STYLE}*{{")
    # Paths are written a command a line.
    return re.sub(r" \n(?=[LCQz\"])", " ", text)


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


_STYLE = f'<style type="text/css">text{{{FONT}}}'
