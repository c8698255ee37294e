"""Every figure of ssdlab by one name: ``ssdlab.plot.sweep(table, "qd", "host.read.latency_ns.p99")``.

Each function returns a matplotlib figure; :func:`save` writes it as PNG, SVG or PDF.
"""

from ssdlab.show.curves import draw as curve
from ssdlab.show.pictures import sweep
from ssdlab.show.plot import (
    bars,
    cdf,
    frame_errors,
    front,
    heatmap,
    lives,
    overview,
    save,
    series,
    usage,
)

__all__ = [
    "bars",
    "cdf",
    "curve",
    "frame_errors",
    "front",
    "heatmap",
    "lives",
    "overview",
    "save",
    "series",
    "sweep",
    "usage",
]


def __dir__() -> list[str]:
    return list(__all__)
